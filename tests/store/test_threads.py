"""Any number of readers beside one writer: everybody sees one moment of the store.

A quarter of a minute of it where ``CI`` is set in the environment, some seconds elsewhere.
"""

from __future__ import annotations

import os
import random
import threading
import time
from collections.abc import Callable, Iterable
from typing import Any

from rdflib import RDF, RDFS, Graph, Literal, Namespace, URIRef
from rdflib.term import Node

from corollary.language import parse_program
from corollary.store import EXPLICIT, INFERRED, CorollaryStore

EX = Namespace("http://example.org/")
SECONDS = 15.0 if os.environ.get("CI") else 2.0
SIZE = 20

ANCESTORS = """
PREFIX : <http://example.org/>
[?x, :ancestor, ?y] :- [?x, :parent, ?y] .
[?x, :ancestor, ?z] :- [?x, :parent, ?y], [?y, :ancestor, ?z] .
"""

Edges = set[tuple[Node, Node]]


def together(seconds: float, *works: Callable[[], None]) -> list[int]:
    """Do each work again and again in a thread of its own. How often; what one raises is raised."""
    failures: list[BaseException] = []
    turns = [0] * len(works)
    stop = threading.Event()

    def repeat(number: int, work: Callable[[], None]) -> None:
        while not stop.is_set():
            try:
                work()
                turns[number] += 1
            except BaseException as failure:
                failures.append(failure)
                stop.set()

    threads = [threading.Thread(target=repeat, args=each) for each in enumerate(works)]
    for thread in threads:
        thread.start()
    stop.wait(seconds)
    stop.set()
    for thread in threads:
        thread.join(30)
    if failures:
        raise failures[0]
    assert not any(thread.is_alive() for thread in threads)
    return turns


def closure(edges: Edges) -> Edges:
    """All (x, y) with a path from x to y."""
    closed = set(edges)
    while more := {(x, z) for x, y in closed for start, z in edges if start == y} - closed:
        closed |= more
    return closed


def check(parents: Iterable[tuple[Node, Node]], ancestors: Iterable[tuple[Node, Node]]) -> None:
    """What follows in a snapshot is what follows from what is explicit in the same one."""
    found = list(ancestors)
    assert len(found) == len(set(found))
    assert set(found) == closure(set(parents))


def test_every_snapshot_is_consistent() -> None:
    """One adds and removes edges one by one; the others compare edges and paths of one look."""
    graph = Graph(CorollaryStore(rules=parse_program(ANCESTORS)), EX.g)
    store = graph.store
    nodes = [EX[f"n{n}"] for n in range(SIZE)]
    chance = random.Random(0)
    edges: Edges = set()
    found = [0]

    def write() -> None:
        for _ in range(chance.randint(1, 4)):
            edge: tuple[Node, Node] = chance.choice(nodes), chance.choice(nodes)
            if len(edges) > SIZE or edge in edges:
                edge = chance.choice(list(edges))
                edges.remove(edge)
                graph.remove((edge[0], EX.parent, edge[1]))
            else:
                edges.add(edge)
                graph.add((edge[0], EX.parent, edge[1]))
        if chance.random() < 0.1:
            time.sleep(0.001)  # so that several readers come upon the same state

    def iterate() -> None:
        seen: dict[Node, list[tuple[Node, Node]]] = {EX.parent: [], EX.ancestor: []}
        for s, p, o in graph:
            seen[p].append((s, o))
            time.sleep(0)
        check(seen[EX.parent], seen[EX.ancestor])

    def sides() -> None:
        rows: Any = graph.query(
            f"SELECT ?x ?y ?side {{ {{ GRAPH <{EXPLICIT}> {{ ?x <{EX.parent}> ?y }} BIND(1 AS ?side) }} "
            f"UNION {{ GRAPH <{INFERRED}> {{ ?x <{EX.ancestor}> ?y }} BIND(2 AS ?side) }} }}"
        )
        pairs: dict[int, list[tuple[Node, Node]]] = {1: [], 2: []}
        for x, y, side in rows:
            pairs[int(side)].append((x, y))
        check(pairs[1], pairs[2])
        found[0] += bool(pairs[1])

    def paths() -> None:
        """Nobody has an ancestor that is not found along the parents, and none is missing."""
        missing = f"ASK {{ ?x <{EX.parent}>+ ?y FILTER NOT EXISTS {{ ?x <{EX.ancestor}> ?y }} }}"
        surplus = f"ASK {{ ?x <{EX.ancestor}> ?y FILTER NOT EXISTS {{ ?x <{EX.parent}>+ ?y }} }}"
        assert not graph.query(missing).askAnswer
        assert not graph.query(surplus).askAnswer

    def look() -> None:
        repr(store)
        statistics = store.statistics()  # type: ignore[attr-defined]
        assert statistics.total == statistics.explicit + statistics.inferred
        time.sleep(0.01)  # the cheapest of all would leave the others no time

    turns = together(SECONDS, write, iterate, sides, paths, look, iterate)
    assert min(*turns, *found) > 0, turns
    assert {(s, o) for s, o in graph.subject_objects(EX.parent)} == edges
    check(edges, graph.subject_objects(EX.ancestor))


def test_readers_see_whole_updates() -> None:
    """Every update swaps all triples of one generation for those of the next."""
    graph = Graph(CorollaryStore(rules="rdfs"), EX.g)
    graph.add((EX.A, RDFS.subClassOf, EX.B))
    for member in range(SIZE):
        graph.add((EX[f"x{member}"], EX.generation, Literal(0)))
        graph.add((EX[f"x{member}"], RDF.type, EX.A))

    def scan() -> None:
        generations = list(graph.objects(None, EX.generation))
        assert len(generations) == SIZE, len(generations)
        assert len(set(generations)) == 1, set(generations)

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

    turns = together(min(SECONDS, 3.0), scan, scan, ask, write)
    assert min(turns) > 0, turns
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
