"""Any number of readers beside one writer: everybody sees one moment of the store."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable

from rdflib import RDF, RDFS, Graph, Literal, Namespace, URIRef

from corollary.store import CorollaryStore

EX = Namespace("http://example.org/")
SECONDS = 3.0
SIZE = 20


def test_readers_see_whole_updates() -> None:
    """Every update swaps all triples of one generation for those of the next."""
    graph = Graph(CorollaryStore(rules="rdfs"), EX.g)
    graph.add((EX.A, RDFS.subClassOf, EX.B))
    for member in range(SIZE):
        graph.add((EX[f"x{member}"], EX.generation, Literal(0)))
        graph.add((EX[f"x{member}"], RDF.type, EX.A))
    failures: list[BaseException] = []
    reads = [0]
    stop = threading.Event()

    def guarded(work: Callable[[], None]) -> None:
        while not stop.is_set():
            try:
                work()
            except BaseException as failure:
                failures.append(failure)
                stop.set()

    def scan() -> None:
        generations = list(graph.objects(None, EX.generation))
        assert len(generations) == SIZE, len(generations)
        assert len(set(generations)) == 1, set(generations)
        reads[0] += 1

    def ask() -> None:
        found = list(
            graph.query(f"SELECT ?g (COUNT(*) AS ?n) {{ ?x a <{EX.B}> ; <{EX.generation}> ?g }} GROUP BY ?g")
        )
        assert [row[1].toPython() for row in found] == [SIZE], found  # type: ignore[index, union-attr]

    def write() -> None:
        graph.update(
            f"DELETE {{ ?x <{EX.generation}> ?g }} INSERT {{ ?x <{EX.generation}> ?h }} "
            f"WHERE {{ ?x <{EX.generation}> ?g BIND(?g + 1 AS ?h) }} ;"
            f"DELETE WHERE {{ ?x a <{EX.A}> }} ;"
            f"INSERT {{ ?x a <{EX.A}> }} WHERE {{ ?x <{EX.generation}> ?g }}"
        )

    threads = [threading.Thread(target=guarded, args=(work,)) for work in (scan, scan, ask, write)]
    for thread in threads:
        thread.start()
    stop.wait(SECONDS)
    stop.set()
    for thread in threads:
        thread.join(20)
    assert not failures, failures[0]
    assert reads[0] > 10
    assert int(next(graph.objects(None, EX.generation))) > 0  # type: ignore[call-overload]


def test_an_iteration_is_not_disturbed() -> None:
    graph = Graph(CorollaryStore(rules="none"), EX.g)
    graph.addN((EX[f"s{n}"], EX.p, EX.o, graph) for n in range(40_000))
    seen: set[URIRef] = set()
    started = threading.Event()

    def write() -> None:
        started.wait(10)
        for n in range(0, 40_000, 7):
            graph.remove((EX[f"s{n}"], None, None))
            graph.add((EX[f"t{n}"], EX.p, EX.o))
            if n % 700 == 0:
                len(graph)
                time.sleep(0)

    writer = threading.Thread(target=write)
    writer.start()
    for subject in graph.subjects(EX.p):
        started.set()
        seen.add(subject)  # type: ignore[arg-type]
    writer.join(60)
    assert seen == {EX[f"s{n}"] for n in range(40_000)}
