"""A query's result as columns. Rows and triples are decoded to rdflib terms when they are read."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from functools import cached_property, lru_cache
from html import escape
from itertools import islice, repeat
from typing import Any

import numpy as np
from rdflib.graph import Graph
from rdflib.query import Result, ResultRow
from rdflib.term import Node, Variable

from corollary.kernels.sorted import Column
from corollary.sparql.query_terms import QueryTerms
from corollary.sparql.rdf_terms import printer
from corollary.sparql.tuning import (
    MAX_ROW_CLASSES_CACHED,
    MAX_ROWS_SEARCHED_AS_LIST,
    MAX_ROWS_SHOWN,
    RESULTS_DECODED_AT_ONCE,
)
from corollary.sparql.written_literals import UNBOUND


class SelectResult(Result):
    """A SELECT result over columns. As in rdflib, ``len`` counts solutions that bind nothing, and iteration
    leaves them out."""

    def __init__(
        self,
        variables: list[Variable],
        size: int,
        ids: list[Column] | None,
        terms: QueryTerms,
        given: Mapping[Variable, Node],
        prefixes: Mapping[str, str],
        few: list[list[int]] | None = None,
    ) -> None:
        """``ids`` has a column for each variable; of few rows, ``few`` has them instead, as lists.

        ``given`` are the bindings that the query was given. ``prefixes`` are for display only.
        """
        super().__init__("SELECT")
        self.vars = variables
        self._size = size
        self._few, self.terms = few, terms
        if ids is not None:
            self.ids = ids
        self._given = given
        self._prefixes = prefixes

    @cached_property
    def ids(self) -> list[Column]:
        """A column for each variable."""
        return [np.array(values, np.uint32) for values in self._few or ()]

    def _repr_html_(self) -> str:
        """The first rows, for Jupyter."""
        names = list(map(str, self.vars or ()))
        return _html(names, self._rows(), self._size, "row", self._prefixes)

    def __len__(self) -> int:
        return self._size

    def __bool__(self) -> bool:
        return self._size > 0

    def __iter__(self) -> Iterator[Any]:
        row: Any = _row_class(tuple(self.vars or ()))
        if 0 < self._size <= MAX_ROWS_SEARCHED_AS_LIST:  # most results, in less time
            values = self._few or [column.tolist() for column in self.ids]
            for ids in values:
                if UNBOUND not in ids:
                    terms = map(self.terms.decode_few, values)
                    return map(tuple.__new__, repeat(row), zip(*terms, strict=True))
        have_terms = False
        for column in self.ids:
            if _has_no(UNBOUND, column):
                have_terms = True
                break
        return _rows_that_bind(row, _chunks(self.ids, self._size, self.terms), are_all=have_terms)

    def _rows(self) -> Iterator[tuple[Node | None, ...]]:
        if not self.vars:
            yield from [()] * self._size
        for columns in _chunks(self.ids, self._size, self.terms):
            yield from zip(*columns, strict=True)

    def solutions(self) -> Iterator[dict[Variable, Node]]:
        """The bound variables of each solution."""
        variables = self.vars or []
        for terms in self._rows():
            yield {v: term for v, term in zip(variables, terms, strict=True) if term is not None}

    @property
    def bindings(self) -> Any:
        """The solutions as mappings from variables to terms, decoded at the first call."""
        if self._bindings is None:
            from rdflib.plugins.sparql.sparql import FrozenBindings, QueryContext

            context = QueryContext(None, initBindings=self._given)
            self._bindings = [FrozenBindings(context, solution) for solution in self.solutions()]
        return self._bindings

    @bindings.setter
    def bindings(self, bindings: Any) -> None:
        self._bindings = bindings


def _rows_that_bind(row: Any, chunks: Iterator[list[list[Node | None]]], *, are_all: bool) -> Iterator[Any]:
    """The rows of a class, without those in which nothing is bound unless all bind something."""
    for columns in chunks:
        rows = map(tuple.__new__, repeat(row), zip(*columns, strict=True))
        yield from rows if are_all else (found for found in rows if found.count(None) < len(found))


def _has_no(term_id: int, column: Column) -> bool:
    """Whether an id is not in a column."""
    if column.size <= MAX_ROWS_SEARCHED_AS_LIST:
        return term_id not in column.tolist()
    return bool((column != term_id).all())


def _chunks(ids: list[Column], size: int, terms: QueryTerms) -> Iterator[list[list[Node | None]]]:
    """The terms of some rows at a time, column by column; None for unbound."""
    if size <= RESULTS_DECODED_AT_ONCE:  # most results: views take time
        yield [terms.decode(column) for column in ids]
        return
    for start in range(0, size, RESULTS_DECODED_AT_ONCE):
        end = min(size, start + RESULTS_DECODED_AT_ONCE)
        yield [terms.decode(column[start:end]) for column in ids]


def _html(names: list[str], rows: Iterator[Any], size: int, what: str, prefixes: Mapping[str, str]) -> str:
    """A table of the first rows, and the number of all."""
    text = printer(prefixes.items())
    head = "".join(f"<th>{escape(name)}</th>" for name in names)
    lines = []
    for row in islice(rows, MAX_ROWS_SHOWN):
        cells = ("" if term is None else escape(text(term)) for term in row)
        lines.append(f"<tr>{''.join(f'<td>{cell}</td>' for cell in cells)}</tr>")
    shown = f", the first {len(lines)} shown" if size > len(lines) else ""
    count = f"<p>{size:,} {what}{'' if size == 1 else 's'}{shown}</p>"
    return f"<table><tr>{head}</tr>{''.join(lines)}</table>{count}"


@lru_cache(maxsize=MAX_ROW_CLASSES_CACHED)
def _row_class(variables: tuple[Variable, ...]) -> type[ResultRow]:
    """rdflib's class of rows, with the variables in the class: a row needs no attributes of its own."""
    labels = {str(variable): i for i, variable in enumerate(variables)}
    return type("ResultRow", (ResultRow,), {"labels": labels})


class GraphResult(Result):
    """The result of CONSTRUCT or DESCRIBE over columns of distinct triples: iterated without a graph.

    ``graph`` is built when it is first read, by ``new_graph``.
    """

    def __init__(
        self,
        form: str,
        size: int,
        ids: list[Column],
        terms: QueryTerms,
        new_graph: Callable[[], Graph],
        prefixes: Mapping[str, str],
    ) -> None:
        """``ids`` has the columns of subjects, predicates and objects. ``prefixes`` are for display only."""
        self._size = size
        self.ids, self.terms = ids, terms
        self._new_graph = new_graph
        self._prefixes = prefixes
        self._graph: Graph | None = None
        super().__init__(form)

    @property
    def graph(self) -> Graph:
        """The triples as a graph in memory."""
        if self._graph is None:
            graph = self._new_graph()
            graph.addN((*triple, graph) for triple in self._triples())
            self._graph = graph
        return self._graph

    @graph.setter
    def graph(self, graph: Graph | None) -> None:
        self._graph = graph

    def __len__(self) -> int:
        return self._size if self._graph is None else len(self._graph)

    def __iter__(self) -> Iterator[Any]:
        return iter(self._triples() if self._graph is None else self._graph)

    def _triples(self) -> Iterator[Any]:
        for columns in _chunks(self.ids, self._size, self.terms):
            yield from zip(*columns, strict=True)

    def _repr_html_(self) -> str:
        """The first triples, for Jupyter."""
        return _html(["subject", "predicate", "object"], iter(self), len(self), "triple", self._prefixes)


class AskResult(Result):
    """The result of ASK."""

    def __init__(self, answer: bool) -> None:
        super().__init__("ASK")
        self.askAnswer = answer

    def _repr_html_(self) -> str:
        return f"<p>{'true' if self.askAnswer else 'false'}</p>"


class FailedResult(Result):
    """The result of a SELECT whose evaluation failed: reading it raises the error."""

    def __init__(self, variables: list[Variable], problem: Exception) -> None:
        super().__init__("SELECT")
        self.vars = variables
        self._problem = problem

    def __len__(self) -> int:
        raise self._problem

    def __iter__(self) -> Iterator[Any]:
        raise self._problem

    @property
    def bindings(self) -> Any:
        """Raises the error."""
        raise self._problem

    @bindings.setter
    def bindings(self, bindings: Any) -> None:
        raise self._problem


__all__ = ["AskResult", "FailedResult", "GraphResult", "SelectResult"]
