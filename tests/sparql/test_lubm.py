"""The LUBM queries over what follows under OWL 2 RL: the published answers, and in pyoxigraph's time."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from benchmarks.peers import content
from benchmarks.workloads.queries import QUERIES, oxigraph, published_rows, query_text, rows
from benchmarks.workloads.store import parsed, with_rules
from rdflib import Graph

pytestmark = pytest.mark.corpus

TIMES_SLOWER = 3


@pytest.fixture(scope="module")
def lubm(corpus: Path) -> Path:
    return corpus / "lubm"


@pytest.fixture(scope="module")
def graph(lubm: Path) -> Graph:
    return parsed(with_rules(), (content(lubm / name) for name in ("lubm-1.nt.gz", "univ-bench.nt.gz")))


def own_rows(graph: Graph, query: str) -> list[tuple[Any, ...]]:
    store: Any = graph.store
    return [tuple(row) for row in store.query(query, {}, {}, graph.identifier)]  # not handed back


@pytest.mark.parametrize("number", QUERIES)
def test_published_answers(lubm: Path, graph: Graph, number: int) -> None:
    assert rows(own_rows(graph, query_text(lubm, number))) == published_rows(lubm, number)


def test_time(lubm: Path, graph: Graph) -> None:
    peer = oxigraph(graph)
    queries = [query_text(lubm, number) for number in QUERIES]

    def peer_rows(query: str) -> list[tuple[Any, ...]]:
        return [tuple(row) for row in peer.query(query)]

    def own(query: str) -> list[tuple[Any, ...]]:
        return own_rows(graph, query)

    assert best_time(own, queries) < TIMES_SLOWER * best_time(peer_rows, queries)


def best_time(answer: Callable[[str], object], queries: list[str]) -> float:
    """Seconds for all queries together, the best of three."""
    times = []
    for _ in range(3):
        start = time.perf_counter()
        for query in queries:
            answer(query)
        times.append(time.perf_counter() - start)
    return min(times)
