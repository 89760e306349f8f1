"""Single-source shortest paths by a recursive aggregate, over an RMAT graph of a million weighted edges.

An edge is a node with three facts: from, to and length. The lengths are drawn uniformly from 1 to 1,000; the
source has the most edges. A change gives a random edge another random length: one fact goes, one comes. The
distances after all changes are compared with those from scratch.
"""

from __future__ import annotations

from time import perf_counter

import numpy as np
from benchmarks.engine import ENGINE, Facts, reason_task
from benchmarks.measure import Demand, Measurement, Results, Settings, measure

from corollary.columns import Delta
from corollary.columns.pairs import pack
from corollary.evaluate import materialise
from corollary.generators.drawn_edges import rmat
from corollary.kernels.sorted import Column
from corollary.language import XSD, parse_program
from corollary.maintain import maintain
from corollary.terms.dictionary import TermDictionary

NAME = "paths"
TITLE = "shortest paths by an aggregate in recursion, over a million weighted edges; one length that changes"

PREFIX = "https://corollary.example/graph#"
RULE = f"""
PREFIX : <{PREFIX}>
[?y, :distance, ?d] :- AGGREGATE(
    [?e, :from, ?x], [?e, :to, ?y], [?e, :length, ?w], [?x, :distance, ?v], BIND(?v + ?w AS ?s)
    ON ?y BIND min(?s) AS ?d) .
"""

LENGTHS = 1_000
CHANGES = 1_000
CHANGE = "another length of an edge"
MOST_SECONDS = 1.0
MOST_MS = 10.0


def generate(nodes: int, edges: int, seed: int = 0) -> tuple[Facts, Column, Column]:
    """The facts, the literals 0 to ``LENGTHS``, and the length of each edge; edges are the first subjects."""
    random = np.random.default_rng(seed)
    sources, targets = rmat(nodes, edges, random)
    dictionary = TermDictionary()

    def encoded(text: str, count: int) -> Column:
        return np.array([dictionary.encode(text.format(i)) for i in range(count)], np.uint32)

    ids, own = encoded(f"<{PREFIX}node{{}}>", nodes), encoded(f"<{PREFIX}edge{{}}>", sources.size)
    literals = encoded(f'"{{}}"^^<{XSD}integer>', LENGTHS + 1)
    lengths = literals[random.integers(1, LENGTHS + 1, sources.size)]
    names = (dictionary.encode(f"<{PREFIX}{name}>") for name in ("length", "from", "to", "distance"))
    predicates = np.repeat(np.array(list(names), np.uint32), [*(3 * [sources.size]), 1])
    source = ids[np.argmax(np.bincount(sources))]
    subjects = np.concatenate((own, own, own, [source]))
    objects = np.concatenate((lengths, ids[sources], ids[targets], literals[:1]))
    return Facts(dictionary, (subjects, predicates, objects)), literals, lengths


def run(settings: Settings) -> Results:
    """Distances from nothing, then one changed length at a time."""
    nodes, edges, changes = (100, 1_000, 5) if settings.small else (100_000, 1_000_000, CHANGES)
    facts, literals, lengths = generate(nodes, edges)
    size = f"{edges:,} edges"
    (reason,) = measure(NAME, [reason_task(facts, size, parse_program(RULE))], settings.repeat)
    change = one_by_one(facts, literals, lengths, size, changes)
    worst = 1000 * float(np.percentile(change.seconds, 99))
    return Results(
        [reason, change],
        [
            Demand(NAME, f"distances over {size}", reason.median, MOST_SECONDS, "s"),
            Demand(NAME, f"{CHANGE}, median of {changes:,}", 1000 * change.median, MOST_MS, "ms"),
        ],
        [f"{size}: 99 % of the changes of one length take at most {worst:.1f} ms."],
    )


def one_by_one(facts: Facts, literals: Column, lengths: Column, size: str, changes: int) -> Measurement:
    """Give ``changes`` random edges another length, one by one."""
    random, program = np.random.default_rng(1), parse_program(RULE)
    edges, length = facts.columns[0], int(facts.columns[1][0])
    explicit = facts.index()
    result = materialise(explicit, program, facts.dictionary)
    seconds = []
    for turn in range(changes + changes // 10):
        row, new = int(random.integers(lengths.size)), literals[random.integers(1, LENGTHS + 1)]
        removed, added = (
            Delta({length: pack(edges[row : row + 1], np.array([value], np.uint32))})
            for value in (lengths[row], new)
        )
        if lengths[row] == new:
            continue
        explicit = explicit.snapshot()
        explicit.remove(length, removed.keys(length))
        explicit.add_all(added)
        started = perf_counter()
        result, _ = maintain(result, explicit, removed, added)
        if turn >= changes // 10:  # the first tenth is not counted
            seconds.append(perf_counter() - started)
        lengths[row] = new
    again = materialise(explicit, program, facts.dictionary)
    assert not Delta.of(again.index) - result.index, "changed distances are those from scratch"
    assert len(again.index) == len(result.index)
    return Measurement(NAME, size, ENGINE, CHANGE, tuple(seconds), len(result.index))
