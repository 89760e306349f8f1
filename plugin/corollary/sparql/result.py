"""A query's result as columns. Rows are decoded to rdflib terms when they are read."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from rdflib.query import Result, ResultRow
from rdflib.term import Node, Variable

from corollary.sparql.tuning import RESULTS_DECODED_AT_ONCE

Columns = Callable[[int, int], list[list[Node | None]]]
"""``columns(start, end)``: the terms of the rows [start, end), column by column; None for unbound."""


class SelectResult(Result):
    """A SELECT result over columns. As in rdflib, ``len`` counts solutions that bind nothing, and iteration
    leaves them out."""

    def __init__(
        self, variables: list[Variable], size: int, columns: Columns, solution: Callable[..., Any]
    ) -> None:
        super().__init__("SELECT")
        self.vars = variables
        self._size = size
        self._columns = columns
        self._solution = solution

    def __len__(self) -> int:
        return self._size

    def __bool__(self) -> bool:
        return self._size > 0

    def __iter__(self) -> Iterator[Any]:
        labels = {str(variable): position for position, variable in enumerate(self.vars or ())}
        new = tuple.__new__
        for terms in self._rows():
            for term in terms:
                if term is not None:
                    row = new(ResultRow, terms)
                    row.labels = labels
                    yield row
                    break

    def _rows(self) -> Iterator[tuple[Node | None, ...]]:
        for start in range(0, self._size, RESULTS_DECODED_AT_ONCE):
            end = min(self._size, start + RESULTS_DECODED_AT_ONCE)
            columns = self._columns(start, end)
            yield from zip(*columns, strict=True) if columns else [()] * (end - start)

    @property
    def bindings(self) -> Any:
        """The solutions as mappings from variables to terms, decoded at the first call."""
        if self._bindings is None:
            variables = self.vars or []
            self._bindings = [
                self._solution(
                    {v: term for v, term in zip(variables, terms, strict=True) if term is not None}
                )
                for terms in self._rows()
            ]
        return self._bindings

    @bindings.setter
    def bindings(self, bindings: Any) -> None:
        self._bindings = bindings


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


__all__ = ["FailedResult", "SelectResult"]
