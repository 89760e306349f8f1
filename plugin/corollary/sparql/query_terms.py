"""Ids for the terms of a query, without leaving a trace in the store's dictionary.

A query mentions and computes terms that no fact mentions. They get ids of kind reserved, far above
the engine's own names, that live as long as the query's result. Invariant: within a query a term has
one id, so that equality of ids is equality of terms.
"""

from __future__ import annotations

import numpy as np
from rdflib.term import Node

from corollary.kernels.sorted import Column
from corollary.sparql.rdf_terms import Terms
from corollary.terms.dictionary import KIND_SHIFT, Kind

UNBOUND = (1 << 32) - 1
"""What stands in a column where a variable has no value."""

FIRST_LOCAL = (Kind.RESERVED << KIND_SHIFT) | 1 << (KIND_SHIFT - 1)


class QueryTerms:
    """The store's terms, and those that only this query knows."""

    def __init__(self, terms: Terms) -> None:
        self._terms = terms
        self._ids: dict[tuple[type[Node], Node], int] = {}
        self._own: list[Node] = []

    def id_of(self, term: Node) -> int:
        """The id of a term; TypeError for what is no term."""
        key = (type(term), term)
        term_id = self._ids.get(key)
        if term_id is None:
            term_id = self._terms.find(term)
            if term_id is None:
                term_id = FIRST_LOCAL + len(self._own)
                self._own.append(term)
            self._ids[key] = term_id
        return term_id

    def __getitem__(self, term_id: int) -> Node:
        if term_id < FIRST_LOCAL:
            return self._terms[term_id]
        return self._own[term_id - FIRST_LOCAL]

    def decode(self, column: Column) -> list[Node | None]:
        """The terms of a column, None where there is no value."""
        if column.size and int(column.max()) >= FIRST_LOCAL:
            return [None if i == UNBOUND else self[i] for i in column.tolist()]
        terms = self._terms
        return [terms[i] for i in column.tolist()]


def filled(size: int, term_id: int) -> Column:
    """A column that repeats one id."""
    return np.full(size, term_id, np.uint32)
