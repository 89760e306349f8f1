"""Cyclic and star-shaped queries: intersections beside joins of two patterns, pyoxigraph and DuckDB.

A graph has a million edges between 200,000 nodes, whose ends are drawn by a power law. In the graph for
triangles the paths of two edges are 280 times as many as the edges, in that for cycles of four fewer. In the
stars, each of five predicates has eight facts for a fifth or a half of the subjects, drawn anew; few subjects
have all. A query counts its solutions. First it does so in a process of its own, which is ended after
``MOST_SECONDS``: then that is its time.
"""

from __future__ import annotations

import statistics
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any
from unittest.mock import patch

import numpy as np
from benchmarks.engine import ENGINE
from benchmarks.measure import Demand, Measurement, Results, Settings
from benchmarks.query_sets import Query
from benchmarks.workloads.sparql import (
    MOST_SECONDS,
    NOISE,
    ONCE_SECONDS,
    PYOXIGRAPH,
    Answer,
    answered,
    in_process,
    oxigraph,
    oxigraph_rows,
    rows,
)
from numpy.typing import NDArray
from rdflib import Graph, Literal

from corollary.columns.pairs import distinct
from corollary.sparql import intersections
from corollary.store import CorollaryStore

NAME = "cycles"
TITLE = "triangles, cycles of four and stars: intersections beside joins of two patterns"

ONE_BY_ONE, DUCKDB = "corollary, joined one by one", "duckdb"

PREFIX = "https://corollary.example/graph#"
STAR = "pqrst"
FACTS_PER_SUBJECT = 8
EXPONENTS = {"knows": 0.75, "likes": 0.6}
"""A node of rank n is drawn with a probability in proportion to n ** -EXPONENT."""

Edges = NDArray[np.int64]
Ask = Callable[[list[str]], list[tuple[Any, ...]]]
"""Answers a query of triples of names."""

QUERIES = {
    "triangles": ["a knows b", "b knows c", "c knows a"],
    "transitive triangles": ["a knows b", "b knows c", "a knows c"],
    "cycles of four": ["a likes b", "b likes c", "c likes d", "d likes a"],
    "stars of three": ["x p a", "x q b", "x r c"],
    "stars of four": ["x p a", "x q b", "x r c", "x s d"],
}


def edges(nodes: int, number: int, exponent: float, random: np.random.Generator) -> Edges:
    """Different edges without loops, in two rows, by a power law."""
    weights = np.arange(1, nodes + 1) ** -exponent
    names = random.permutation(nodes)
    ends = names[random.choice(nodes, (2, number + number // 2), p=weights / weights.sum())]
    keys = distinct(ends[0] * nodes + ends[1])
    keys = random.permutation(keys[keys // nodes != keys % nodes])[:number]
    return np.stack((keys // nodes, keys % nodes))


def tables(nodes: int, number: int) -> dict[str, Edges]:
    """The facts of each predicate: subjects and objects."""
    random = np.random.default_rng(0)
    found = {name: edges(nodes, number, exponent, random) for name, exponent in EXPONENTS.items()}
    for name in STAR:
        subjects = random.choice(nodes, nodes // (2 if name == "p" else 5), replace=False)
        objects = random.integers(0, nodes, (FACTS_PER_SUBJECT, subjects.size))
        keys = distinct(np.tile(subjects, FACTS_PER_SUBJECT) * nodes + objects.ravel())
        found[name] = np.stack((keys // nodes, keys % nodes))
    return found


def run(settings: Settings) -> Results:
    """Each query by each engine, in turns."""
    nodes, number = (60, 400) if settings.small else (200_000, 1_000_000)
    facts = tables(nodes, number)
    results = Results()
    with TemporaryDirectory() as folder:
        path = Path(folder) / "graph.nt"
        with path.open("w") as file:
            for name, (subjects, objects) in facts.items():
                for s, o in zip(subjects.tolist(), objects.tolist(), strict=True):
                    file.write(f"<{PREFIX}n{s}> <{PREFIX}{name}> <{PREFIX}n{o}> .\n")
        engines = dict(_engines(path, facts, settings))
        for what, triples in QUERIES.items():
            results.measurements += _measured(what, triples, f"{number:,} edges", engines, settings.repeat)
    results.demands += _demands(results.measurements)
    return results


def _engines(path: Path, facts: dict[str, Edges], settings: Settings) -> Iterator[tuple[str, Ask]]:
    graph = Graph(CorollaryStore(rules="none"))
    graph.store.load(path)  # type: ignore[attr-defined]
    for name in facts:  # both orders of its facts exist from now on
        graph.query(_sparql([f"a {name} b", f"b {name} a", f"c {name} a", f"a {name} c"]))

    def ask(triples: list[str]) -> list[tuple[Any, ...]]:
        return rows(graph.query(_sparql(triples)))

    def one_by_one(triples: list[str]) -> list[tuple[Any, ...]]:
        with patch.multiple(intersections, MIN_FACTS=1 << 60, MIN_CANDIDATES=1 << 60):
            return ask(triples)

    yield ENGINE, ask
    yield ONE_BY_ONE, one_by_one
    if settings.peers:
        store = oxigraph(path)
        yield PYOXIGRAPH, lambda triples: oxigraph_rows(store.query(_sparql(triples)))
        yield DUCKDB, _duckdb(facts)


def _sparql(triples: list[str]) -> str:
    patterns = " . ".join("?{} :{} ?{}".format(*triple.split()) for triple in triples)
    return f"PREFIX : <{PREFIX}> SELECT (COUNT(*) AS ?n) {{ {patterns} }}"


def _duckdb(facts: dict[str, Edges]) -> Ask:
    """A table for each predicate, sorted by subject; one thread."""
    import duckdb

    database = duckdb.connect()
    database.execute("SET threads = 1")
    for name, (s, o) in facts.items():
        columns = {"s": s.astype(np.int32), "o": o.astype(np.int32)}
        database.register("columns", columns)
        database.execute(f'CREATE TABLE "{name}" AS SELECT * FROM columns ORDER BY s, o')

    def ask(triples: list[str]) -> list[tuple[Any, ...]]:
        tables, places, conditions = [], dict[str, str](), []
        for number, triple in enumerate(triples):
            s, name, o = triple.split()
            tables.append(f'"{name}" t{number}')
            for variable, place in ((s, f"t{number}.s"), (o, f"t{number}.o")):
                if variable in places:
                    conditions.append(f"{places[variable]} = {place}")
                places.setdefault(variable, place)
        where = " AND ".join(conditions)
        ((count,),) = database.execute(f"SELECT count(*) FROM {', '.join(tables)} WHERE {where}").fetchall()
        return [(Literal(count),)]

    return ask


def _measured(
    what: str, triples: list[str], size: str, engines: dict[str, Ask], repeat: int
) -> Iterator[Measurement]:
    """Each engine answers once in a process of its own, and quick ones again in this process, in turns.

    In each turn an engine answers twice, and the second time counts: else the first of two that read the same
    arrays would pay for what the engine before them has left in the caches.
    """
    query = Query(NAME, what, _sparql(triples))
    asks = {engine: partial(_of_text, ask, triples) for engine, ask in engines.items()}
    first = {engine: in_process(ask, query) for engine, ask in asks.items()}
    answers = {engine: [] if _is_quick(answer) else [answer] for engine, answer in first.items()}
    for _ in range(repeat):
        for engine, ask in asks.items():
            if _is_quick(first[engine]):
                ask(query.text)
                answers[engine].append(answered(ask, query))
    for engine, found in answers.items():
        cpu = tuple(MOST_SECONDS if answer is None else answer.cpu for answer in found)
        seconds = tuple(MOST_SECONDS if answer is None else answer.seconds for answer in found)
        yield Measurement(NAME, size, engine, what, seconds, cpu=cpu)
    counted = {row for answer in first.values() if answer is not None for row in answer.rows or ()}
    assert len(counted) <= 1, f"{what}: engines differ, {counted}"


def _is_quick(answer: Answer | None) -> bool:
    return answer is not None and answer.cpu < ONCE_SECONDS


def _of_text(ask: Ask, triples: list[str], _: str) -> list[tuple[Any, ...]]:
    return ask(triples)


def _demands(measurements: list[Measurement]) -> Iterator[Demand]:
    """An intersection takes no longer than joins, nor than pyoxigraph or DuckDB."""
    times = {(m.what, m.engine): statistics.median(m.cpu) for m in measurements}
    for (what, engine), seconds in times.items():
        if engine != ENGINE:
            yield Demand(NAME, f"{what}: over {engine}", times[what, ENGINE] / seconds, NOISE)
