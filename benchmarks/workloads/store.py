"""The rdflib store compared with rdflib's Memory store: parsing, scans, look-ups, constant-time calls.

Scans and look-ups are compared on equal triples: the explicit ones without rules, and the materialisation
under ``owl2rl``, which is copied into Memory. Parsing under ``owl2rl`` includes the reasoning.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress

from benchmarks.engine import ENGINE
from benchmarks.measure import Demand, Outcome, Results, Settings, Task, measure
from benchmarks.peers import content
from benchmarks.workloads.lubm import files
from rdflib import OWL, RDF, Graph, Namespace, URIRef

from corollary.store import CorollaryStore

EX = Namespace("http://example.org/")

NAME = "store"
TITLE = "the rdflib store beside rdflib's Memory"

MEMORY = "rdflib Memory"
PARSE, SCAN, LOOK_UP = "parse", "scan", "look up 20,000 subjects"
BEGIN, ROLLED_BACK = "transactions, 1,000 times", "change, read, roll back, 50 times"
UNDONE = "change, read, undo by hand, 50 times"
LENGTH, CONSTRUCT = "len(graph), 1,000 times", "Graph(), 1,000 times"

LOOK_UPS = 20_000
CALLS = 1_000
TINY_LINES = 2_000

MOST_OVER_MEMORY_TO_PARSE = 1.0
MOST_OVER_MEMORY = 1.5
MOST_LENGTH_GROWTH = 1.5
MOST_CONSTRUCT_MS = 0.2
MOST_BEGIN_MS = 0.1
MOST_OVER_UNDONE_BY_HAND = 1.25
MOST_ROLLBACK_GROWTH = 2.0

CHAIN = 300
"""Number n of edges of a chain under a transitive property: its closure has about n² / 2 facts."""


def run(settings: Settings) -> Results:
    """One university; for ``len`` and transactions also a tenth of it."""
    with files(settings.corpus, 1) as (size, paths):
        texts = [content(path) for path in paths]
    if settings.small:
        texts = [first_lines(text, TINY_LINES) for text in texts]
    tenth = [first_lines(text, text.count(b"\n") // 10) for text in texts]
    results = Results()

    def compare(text: str, most: float, ours: Task, other: Task) -> None:
        one, two = measure(NAME, [ours, other], settings.repeat)
        results.measurements += one, two
        results.demands.append(Demand(NAME, text, one.median / two.median, most))

    def over_memory(task: Callable[[str, Graph, str], Task], graph: Graph, facts: str) -> None:
        ours, other = task(ENGINE, graph, facts), task(MEMORY, in_memory(graph), facts)
        compare(f"{facts}: {ours.what}, over rdflib's Memory", MOST_OVER_MEMORY, ours, other)

    tasks = parse_task(ENGINE, with_rules, texts, size), parse_task(MEMORY, Graph, texts, size)
    compare(f"{size}: parse, over rdflib's Memory", MOST_OVER_MEMORY_TO_PARSE, *tasks)
    plain, closed = parsed(without_rules(), texts), parsed(with_rules(), texts)
    for task in (scan_task, look_up_task):
        over_memory(task, plain, f"{size}, explicit")
        over_memory(task, closed, f"{size}, closed")
    text = "len(graph), ten times as many facts over one"
    lengths = length_task(closed, size), length_task(parsed(with_rules(), tenth), f"a tenth of {size}")
    compare(text, MOST_LENGTH_GROWTH, *lengths)
    constructs = [construct_task(ENGINE, lambda: Graph(store="Corollary")), construct_task(MEMORY, Graph)]
    constructed = measure(NAME, constructs, settings.repeat)
    results.measurements += constructed
    milliseconds = constructed[0].median / CALLS * 1000
    results.demands.append(Demand(NAME, "Graph() constructed", milliseconds, MOST_CONSTRUCT_MS, "ms"))
    transactions(settings, closed, parsed(with_rules(), tenth), size, results)
    return results


def transactions(settings: Settings, large: Graph, small: Graph, size: str, results: Results) -> None:
    """The cost of begin and rollback, on universities and at the end of a transitive chain."""
    (begun,) = measure(NAME, [begin_task(large, size)], settings.repeat)
    results.measurements.append(begun)
    milliseconds = begun.median / CALLS * 1000
    results.demands.append(Demand(NAME, "begin and end a transaction", milliseconds, MOST_BEGIN_MS, "ms"))
    student = URIRef("http://www.lehigh.edu/~zhp2/2004/0401/univ-bench.owl#GraduateStudent")
    shapes = [
        (size, large, (RDF.type, student)),
        (f"a tenth of {size}", small, (RDF.type, student)),
        (f"chain of {CHAIN}", chain(CHAIN), (EX.next, EX.n0)),
        (f"chain of {CHAIN // 10}", chain(CHAIN // 10), (EX.next, EX.n0)),
    ]
    rolled_back = []
    for facts, graph, (predicate, value) in shapes:
        tasks = [changes_task(graph, predicate, value, facts, by_hand) for by_hand in (False, True)]
        one, two = measure(NAME, tasks, settings.repeat)
        results.measurements += one, two
        rolled_back.append(one.median)
        text = f"{facts}: rolled back and followed, over undone by hand"
        results.demands.append(Demand(NAME, text, one.median / two.median, MOST_OVER_UNDONE_BY_HAND))
    growth = rolled_back[0] / rolled_back[1]
    results.demands.append(
        Demand(NAME, "rollback, ten times as many facts over one", growth, MOST_ROLLBACK_GROWTH)
    )


def begin_task(graph: Graph, size: str) -> Task:
    """Empty transactions."""
    store = graph.store
    assert isinstance(store, CorollaryStore)

    def run(given: Graph) -> Outcome:
        for _ in range(CALLS):
            with store.transaction():
                pass
        return Outcome(len(given))

    return Task(ENGINE, BEGIN, lambda: graph, run, size, warm_up=True)


def changes_task(graph: Graph, predicate: URIRef, value: URIRef, size: str, by_hand: bool) -> Task:
    """Add a triple, read, and undo the addition by rollback or, if ``by_hand``, by removal; read again."""
    store = graph.store
    assert isinstance(store, CorollaryStore)

    def run(_: Graph) -> Outcome:
        for number in range(50):
            triple = EX[f"new{number}"], predicate, value
            if by_hand:
                graph.add(triple)
                assert triple in graph
                graph.remove(triple)
            else:
                with suppress(KeyError), store.transaction():
                    graph.add(triple)
                    assert triple in graph
                    raise KeyError
            assert triple not in graph
        return Outcome(len(graph))

    return Task(ENGINE, UNDONE if by_hand else ROLLED_BACK, lambda: graph, run, size, warm_up=True)


def chain(length: int) -> Graph:
    """A chain under a transitive property, closed."""
    graph = with_rules()
    graph.add((EX.next, RDF.type, OWL.TransitiveProperty))
    for number in range(length):
        graph.add((EX[f"n{number}"], EX.next, EX[f"n{number + 1}"]))
    assert len(graph)
    return graph


def with_rules() -> Graph:
    """An empty graph under ``owl2rl``."""
    return Graph(store=CorollaryStore(rules="owl2rl"))


def without_rules() -> Graph:
    """An empty graph that infers nothing."""
    return Graph(store=CorollaryStore(rules="none"))


def parsed(graph: Graph, texts: Iterable[bytes]) -> Graph:
    """Parse N-Triples into the graph, and complete the reasoning. Returns the graph."""
    for text in texts:
        graph.parse(data=text, format="nt")
    assert len(graph)  # a read: the store derives what follows
    return graph


def in_memory(graph: Graph) -> Graph:
    """A copy of all triples of a graph in rdflib's Memory store."""
    copy = Graph()
    for triple in graph:
        copy.add(triple)
    return copy


def parse_task(engine: str, empty: Callable[[], Graph], texts: Sequence[bytes], size: str) -> Task:
    """From N-Triples to a graph that has been read once."""
    return Task(engine, PARSE, empty, lambda graph: Outcome(len(parsed(graph, texts))), size)


def scan_task(engine: str, graph: Graph, size: str) -> Task:
    """Every triple."""
    return Task(engine, SCAN, lambda: graph, lambda g: Outcome(sum(1 for _ in g)), size, warm_up=True)


def look_up_task(engine: str, graph: Graph, size: str) -> Task:
    """All triples of subjects that are drawn at random; the same subjects for all engines."""
    known = sorted(set(graph.subjects()), key=str)
    subjects = random.Random(0).choices(known, k=LOOK_UPS)

    def run(graph: Graph) -> Outcome:
        return Outcome(sum(1 for subject in subjects for _ in graph.triples((subject, None, None))))

    return Task(engine, LOOK_UP, lambda: graph, run, size, warm_up=True)


def length_task(graph: Graph, size: str) -> Task:
    """``len(graph)``, ``CALLS`` times."""

    def run(graph: Graph) -> Outcome:
        facts = [len(graph) for _ in range(CALLS)]
        return Outcome(facts[-1])

    return Task(ENGINE, LENGTH, lambda: graph, run, size, warm_up=True)


def construct_task(engine: str, empty: Callable[[], Graph]) -> Task:
    """Constructing ``CALLS`` empty graphs."""

    def run(_: None) -> Outcome:
        graphs = [empty() for _ in range(CALLS)]
        return Outcome(len(graphs[0]))

    return Task(engine, CONSTRUCT, lambda: None, run, warm_up=True)


def first_lines(text: bytes, number: int) -> bytes:
    """The first ``number`` lines of a text."""
    return b"".join(text.splitlines(keepends=True)[:number])
