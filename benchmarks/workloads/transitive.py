"""One transitive property over a random acyclic graph: computing the closure compared with sorting it.

General evaluation is slowest for rules that join their own conclusions. The closure of 100,000 edges over
10,000 nodes has some 22 million facts, and each of them has very many derivations.
"""

from __future__ import annotations

import numpy as np
from benchmarks.engine import Facts, build_task, reason_task, sort_task
from benchmarks.measure import Demand, Results, Settings, measure

from corollary.generators.drawn_edges import acyclic
from corollary.language import parse_program
from corollary.terms.dictionary import TermDictionary

NAME = "transitive"
TITLE = "the transitive closure of a random acyclic graph of 10,000 nodes and 100,000 edges"

PREFIX = "https://corollary.example/graph#"
RULE = f"[?x, <{PREFIX}above>, ?z] :- [?x, <{PREFIX}above>, ?y], [?y, <{PREFIX}above>, ?z] ."

MOST_OVER_SORT = 25.0


def generate(nodes: int, edges: int, seed: int = 0) -> Facts:
    """Different edges from lower to higher numbers, drawn uniformly."""
    dictionary = TermDictionary()
    above = dictionary.encode(f"<{PREFIX}above>")
    ids = np.array([dictionary.encode(f"<{PREFIX}node{i}>") for i in range(nodes)], np.uint32)
    low, high = acyclic(nodes, edges, np.random.default_rng(seed))
    return Facts(dictionary, (ids[low], np.full(edges, above, np.uint32), ids[high]))


def run(settings: Settings) -> Results:
    """The seconds to build the index and close it, over the seconds to sort the result."""
    nodes, edges = (100, 1_000) if settings.small else (10_000, 100_000)
    facts = generate(nodes, edges)
    program = parse_program(RULE)
    size = f"{nodes} nodes"
    tasks = [
        reason_task(facts, size, program),
        build_task(facts, size),
        sort_task(facts.close(program).index, size),
    ]
    measurements = measure(NAME, tasks, settings.repeat)
    reason, build, sort = (measurement.median for measurement in measurements)
    text = "building the index and closing, over sorting the result"
    return Results(measurements, [Demand(NAME, text, (build + reason) / sort, MOST_OVER_SORT)])
