"""Where a query can be cancelled: between columns, and between parts of long columns."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from rdflib import Graph, Literal, Namespace
from rdflib.term import BNode

from corollary.execute import batches
from corollary.execute.batches import Batch
from corollary.kernels.tuning import MAX_ROWS_UNRESERVED
from corollary.sparql import column_functions, column_values, solutions
from corollary.sparql.query_terms import QueryTerms
from corollary.sparql.rdf_terms import Terms
from corollary.store import CorollaryStore
from corollary.terms.dictionary import TermDictionary

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
    for module in (column_functions, column_values):
        monkeypatch.setattr(module, "ROWS_DECODED_AT_ONCE", 10)

    def ask() -> None:
        rows: list[Any] = list(graph.query("SELECT ?x (?n / 4 AS ?q) { ?x <urn:x:p> ?n }"))
        assert sum(float(row[1]) for row in rows) == 99 * 100 / 2 / 4

    assert checks(monkeypatch, column_functions, ask) >= 10
    assert checks(monkeypatch, column_values, ask) >= 10


def test_blank_nodes_are_made_when_they_are_read() -> None:
    terms = QueryTerms(Terms(TermDictionary()))
    known = terms.id_of(Literal("before"))
    ids = terms.blank_nodes(1000)
    assert set(terms._own[1:]) == {None}
    one, other = terms[int(ids[3])], terms[int(ids[4])]
    assert isinstance(one, BNode) and one == terms[int(ids[3])] != other
    assert terms[known] == Literal("before") and terms.id_of(one) != known
