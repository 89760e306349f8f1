"""One transitive property: its closure over three graphs, and one edge that goes and comes back.

General evaluation is slowest for rules that join their own conclusions. In a random acyclic graph of 100,000
edges over 10,000 nodes, the closure has some 22 million facts, and each of them has very many derivations.
The closures of a chain of 100,000 and of a clique of 10,000 (linked as a chain, by a symmetric property) have
5,000 and 100 million facts: no list of them is made. Neither is one of the facts of 10,000 individuals that
are ``owl:sameAs`` each other, with one class, and with one value each: 200 million under owl2rl.

Of a property that is declared symmetric and transitive, 353,000 individuals in groups of 150 have 53 million
facts; a hundredth of the edges goes and comes back.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from benchmarks.changes import START_OVER, Track, rows_of
from benchmarks.engine import Facts, build_task, reason_task, sort_task
from benchmarks.measure import Demand, Outcome, Results, Settings, Task, measure
from numpy.typing import NDArray

from corollary.generators.drawn_edges import Numbers, acyclic, groups
from corollary.language import Program, parse_program
from corollary.maintain import AUTOMATIC
from corollary.profiles import load_profile
from corollary.program.compile import RDF_TYPE_TEXT
from corollary.terms.dictionary import TermDictionary

NAME = "transitive"
TITLE = "transitive closures of a random acyclic graph, a chain, a clique and equal individuals"

OWL = "http://www.w3.org/2002/07/owl#"
PREFIX = "https://corollary.example/graph#"
RULE = f"[?x, <{PREFIX}above>, ?z] :- [?x, <{PREFIX}above>, ?y], [?y, <{PREFIX}above>, ?z] ."

SYMMETRIC = f"[?y, <{PREFIX}above>, ?x] :- [?x, <{PREFIX}above>, ?y] ."

MOST_OVER_SORT = 25.0
MOST_OVER_NUMBERS = 1.0
MOST_OVER_STARTING_OVER = 1.3


def generate(nodes: int, edges: int, seed: int = 0) -> Facts:
    """Different edges from lower to higher numbers, drawn uniformly."""
    return _facts(nodes, *acyclic(nodes, edges, np.random.default_rng(seed)))


def chain(nodes: int) -> Facts:
    """A chain of nodes."""
    numbers = np.arange(nodes)
    return _facts(nodes, numbers[:-1], numbers[1:])


def _facts(nodes: int, sources: Numbers, targets: Numbers) -> Facts:
    """Edges of the property between nodes with these numbers."""
    dictionary = TermDictionary()
    above = dictionary.encode(f"<{PREFIX}above>")
    ids = np.array([dictionary.encode(f"<{PREFIX}node{i}>") for i in range(nodes)], np.uint32)
    return Facts(dictionary, (ids[sources], np.full(sources.size, above, np.uint32), ids[targets]))


def equal(nodes: int) -> Facts:
    """A chain of owl:sameAs between nodes, each with the same class and a value of its own."""
    dictionary = TermDictionary()
    same, rdf_type, value, thing = map(
        dictionary.encode, (f"<{OWL}sameAs>", RDF_TYPE_TEXT, f"<{PREFIX}value>", f"<{PREFIX}Thing>")
    )
    ids, values = (
        np.array([dictionary.encode(text.format(i)) for i in range(nodes)], np.uint32)
        for text in (f"<{PREFIX}node{{}}>", '"{}"')
    )
    columns = (
        np.concatenate((ids[:-1], ids, ids)),
        np.repeat(np.array([same, rdf_type, value], np.uint32), (nodes - 1, nodes, nodes)),
        np.concatenate((ids[1:], np.full(nodes, thing, np.uint32), values)),
    )
    return Facts(dictionary, columns)


def owners(nodes: int) -> Facts:
    """Nodes with a common value of an inverse functional property."""
    dictionary = TermDictionary()
    rdf_type, mailbox, box, key = map(
        dictionary.encode,
        (RDF_TYPE_TEXT, f"<{PREFIX}mailbox>", f"<{PREFIX}box>", f"<{OWL}InverseFunctionalProperty>"),
    )
    ids = np.array([dictionary.encode(f"<{PREFIX}node{i}>") for i in range(nodes)], np.uint32)
    predicates = np.append(np.full(nodes, mailbox, np.uint32), np.uint32(rdf_type))
    objects = np.append(np.full(nodes, box, np.uint32), np.uint32(key))
    return Facts(dictionary, (np.append(ids, np.uint32(mailbox)), predicates, objects))


def declared(number: int, size: int) -> Facts:
    """Groups of that size, connected by a property that is declared symmetric and transitive."""
    edges = _facts(number * size, *groups([size] * number, np.random.default_rng(0)))
    dictionary, (subjects, predicates, objects) = edges.dictionary, edges.columns
    kinds = [f"<{OWL}SymmetricProperty>", f"<{OWL}TransitiveProperty>"]
    columns = (
        np.append(subjects, predicates[:2]),
        np.append(predicates, [np.uint32(dictionary.encode(RDF_TYPE_TEXT))] * 2),
        np.append(objects, np.array([dictionary.encode(kind) for kind in kinds], np.uint32)),
    )
    return Facts(dictionary, columns)


def large_groups(settings: Settings) -> Results:
    """A hundredth of the edges out, over starting over, under two profiles."""
    number, size = (20, 20) if settings.small else (2_355, 150)
    facts, results = declared(number, size), Results()
    for profile in ("rdfs-plus", "owl2rl"):
        edges, random = facts.columns[0].size - 2, np.random.default_rng(1)
        rows = [random.choice(edges, edges // 100, replace=False) for _ in range(settings.repeat + 1)]
        changes = [rows_of(facts.columns, some) for some in rows]
        name = f"{number} groups of {size}, {profile}"
        tracks = [Track(facts, load_profile(profile), changes, how) for how in (AUTOMATIC, START_OVER)]
        tasks = [task for track in tracks for task in track.tasks(name, "1 %")]
        measured = measure(NAME, tasks, settings.repeat)
        followed, back, anew, anew_back = (measurement.median for measurement in measured)
        results.measurements += measured
        for what, ratio in (("removing 1 %", followed / anew), ("adding it back", back / anew_back)):
            text = f"{name}: {what}, over starting over"
            results.demands.append(Demand(NAME, text, ratio, MOST_OVER_STARTING_OVER))
        results.notes += [note for track in tracks if (note := track.note())]
    return results


def compressed(
    settings: Settings, shape: str, program: Program, made: Callable[[int], Facts], nodes: int
) -> Results:
    """Closing a chain of nodes, and following its middle edge, over sorting ten million numbers."""
    nodes, numbers = (2_000, 100_000) if settings.small else (nodes, 10_000_000)
    facts = made(nodes)
    middle = rows_of(facts.columns, np.array([nodes // 2]))
    keys = np.random.default_rng(0).integers(0, 1 << 42, numbers, np.uint64)

    def sort(shuffled: NDArray[np.uint64]) -> Outcome:
        return Outcome(int(np.sort(shuffled).size))

    size = f"{shape} of {nodes}"
    tasks = [
        reason_task(facts, size, program),
        *Track(facts, program, [middle]).tasks(size, "one edge"),
        Task("numpy", f"np.sort of {numbers:,}", lambda: keys, sort, size, warm_up=True),
    ]
    measured = measure(NAME, tasks, settings.repeat)
    closing, removing, adding, sorting = (measurement.median for measurement in measured)
    times = f"over sorting {numbers:,} numbers"
    texts = {
        f"closing a {size}, {times}": closing,
        f"removing its middle edge, {times}": removing,
        f"adding the edge back, {times}": adding,
    }
    demands = [Demand(NAME, text, took / sorting, MOST_OVER_NUMBERS) for text, took in texts.items()]
    return Results(measured, demands)


def run(settings: Settings) -> Results:
    """All graphs."""
    parts = [
        random_graph(settings),
        compressed(settings, "chain", parse_program(RULE), chain, 100_000),
        compressed(settings, "clique", parse_program(RULE + SYMMETRIC), chain, 10_000),
        compressed(settings, "clique of equal individuals", load_profile("owl2rl"), equal, 10_000),
        compressed(settings, "mailbox with owners", load_profile("owl2rl"), owners, 10_000),
        large_groups(settings),
    ]
    results = Results()
    for part in parts:
        results.add(part)
    return results


def random_graph(settings: Settings) -> Results:
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
