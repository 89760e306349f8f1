"""Where a query can be cancelled: between columns, and between parts of long columns."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pyarrow
import pytest
from rdflib import Graph, Literal, Namespace
from rdflib.term import BNode

from corollary.execute import batches
from corollary.execute.batches import Batch
from corollary.kernels import limits, threads
from corollary.kernels.interrupts import undisturbed
from corollary.kernels.limits import Cancellation, LimitExceeded, Limits, Work
from corollary.kernels.tuning import LOOKS_PER_LIMIT, MAX_ROWS_UNRESERVED, SECONDS_BETWEEN_LOOKS_AT_LIMIT
from corollary.sparql import column_arithmetic, column_values, query_terms, solutions
from corollary.sparql.query_terms import QueryTerms
from corollary.sparql.rdf_terms import Terms
from corollary.store import CorollaryStore
from corollary.terms import texts
from corollary.terms.dictionary import TermDictionary
from corollary.terms.texts import Texts, TextTable

EX = Namespace("urn:x:")

SIZE = MAX_ROWS_UNRESERVED + 1


def checks(monkeypatch: pytest.MonkeyPatch, module: Any, function: Callable[[], object]) -> int:
    """How often a function of a module checks the limits."""
    found: list[None] = []
    with monkeypatch.context() as patch:
        patch.setattr(module, "check", lambda: found.append(None))
        function()
    return len(found)


def batch() -> Batch:
    return Batch(SIZE, {-n: np.arange(SIZE, dtype=np.uint32) for n in (1, 2, 3)})


def test_between_the_columns_of_a_batch(monkeypatch: pytest.MonkeyPatch) -> None:
    rows = np.arange(SIZE)
    assert checks(monkeypatch, batches, lambda: batch().take(rows)) == 3
    assert checks(monkeypatch, solutions, lambda: solutions.stacked((batch(), batch()))) == 3


def test_between_parts_of_quotients(monkeypatch: pytest.MonkeyPatch) -> None:
    graph = Graph(CorollaryStore(rules="none"))
    for number in range(100):
        graph.add((EX[f"x{number}"], EX.p, Literal(number)))
    for module in (column_arithmetic, column_values):
        monkeypatch.setattr(module, "ROWS_DECODED_AT_ONCE", 10)

    def ask() -> None:
        rows: list[Any] = list(graph.query("SELECT ?x (?n / 4 AS ?q) { ?x <urn:x:p> ?n }"))
        assert sum(float(row[1]) for row in rows) == 99 * 100 / 2 / 4

    assert checks(monkeypatch, column_arithmetic, ask) >= 10
    assert checks(monkeypatch, column_values, ask) >= 10


def test_blank_nodes_are_made_when_they_are_read() -> None:
    terms = QueryTerms(Terms(TermDictionary()))
    known = terms.id_of(Literal("before"))
    ids = terms.blank_nodes(1000)
    assert set(terms._own[1:]) == {None}
    one, other = terms[int(ids[3])], terms[int(ids[4])]
    assert isinstance(one, BNode) and one == terms[int(ids[3])] != other
    assert terms[known] == Literal("before") and terms.id_of(one) != known


def test_tables_of_texts_reserve_what_they_grow_by(monkeypatch: pytest.MonkeyPatch) -> None:
    """The old and the new array exist at the same time; hash slots are filled at once."""
    reserved: list[int] = []
    monkeypatch.setattr(texts, "reserve", reserved.append)
    table = TextTable()
    for number in (1, 1000, 5000):
        reserved.clear()
        some = Texts.of_strings([f'"{number} {i}"' for i in range(number)])
        table.append(some, ord('"'), 0, np.empty(number, np.uint32))
    content = sum(len(f'"5000 {i}"') for i in range(5000))
    assert sum(reserved) >= content + (8 + 1 + 4) * 6001  # offsets, shared bytes, slots


def test_memory_is_read_often_enough(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever is allocated between two checks that are more than the interval apart is noticed."""
    now, taken = [0.0], [0]
    monkeypatch.setattr(limits, "perf_counter", lambda: now[0])
    monkeypatch.setattr(limits, "used", lambda: taken[0])
    work = Work(Limits(bytes=10**6), Cancellation())
    taken[0] = 2 * 10**6
    work.check()
    now[0] += SECONDS_BETWEEN_LOOKS_AT_LIMIT
    with pytest.raises(LimitExceeded):
        work.check()
    work = Work(Limits(bytes=10**6), Cancellation())
    taken[0] += 2 * 10**6
    with pytest.raises(LimitExceeded):
        work.reserve(10**6 // LOOKS_PER_LIMIT)


def test_passes_over_many_rows_can_be_left(monkeypatch: pytest.MonkeyPatch) -> None:
    """Distinct rows are numbered and sorted in another thread; texts of literals enter in steps."""
    monkeypatch.setattr(threads, "MIN_ELEMENTS_CUT", 10)
    in_threads: list[None] = []

    def noted(work: Callable[[], Any]) -> Any:
        in_threads.append(None)
        return undisturbed(work)

    monkeypatch.setattr(threads, "undisturbed", noted)
    columns = {-1: np.arange(30, dtype=np.uint32) % 7, -2: np.arange(30, dtype=np.uint32) % 3}
    assert solutions.distinct(Batch(30, columns)).size == 21 and in_threads
    monkeypatch.setattr(query_terms, "ROWS_ON_COLUMNS_AT_ONCE", 10)
    terms = QueryTerms(Terms(TermDictionary()))
    found: list[list[int]] = []

    def enter() -> None:
        found.append(terms.ids_of_literals(large_texts(35)).tolist())

    assert checks(monkeypatch, query_terms, enter) == 4
    assert len(set(found[0])) == 35 and terms.ids_of_literals(large_texts(35)).tolist() == found[0]


def large_texts(number: int) -> Any:
    return pyarrow.array([f'"{i}"' for i in range(number)], pyarrow.large_string())
