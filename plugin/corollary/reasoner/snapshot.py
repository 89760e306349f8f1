"""A moment of a reasoner to read from, in N-Triples texts and in ids."""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import Any

from corollary.columns.triples import Columns, TripleIndex
from corollary.reasoner.state import Fact, View
from corollary.reasoner.version import Version
from corollary.terms.dictionary import TermDictionary

Triple = tuple[Any, Any, Any]
"""Subject, predicate and object in the terms of the reasoner's owner: without rdflib, N-Triples texts."""


class Snapshot:
    """What held at one moment. A value: no later change reaches it, and any number of threads may read it.

    ``explicit`` and ``inferred`` are the snapshots of one side, ``graph`` that of one graph's explicit facts.
    """

    def __init__(self, version: Version, view: View) -> None:
        """Precondition: what follows from the version has been derived."""
        self._version = version
        self._view = view

    @property
    def explicit(self) -> Snapshot:
        """The explicit facts of all graphs."""
        return Snapshot(self._version, self._version.state.explicit)

    @property
    def inferred(self) -> Snapshot:
        """What follows and is not explicit."""
        return Snapshot(self._version, self._version.state.inferred)

    def graph(self, name: str) -> Snapshot:
        """The explicit facts of a graph; none if there is no such graph."""
        graph = self._version.terms.find(name)
        return Snapshot(self._version, self._version.state.graph(-1 if graph is None else graph))

    def __len__(self) -> int:
        return len(self._view)

    def __contains__(self, triple: Triple) -> bool:
        return any(True for _ in self.match(*triple))

    def __iter__(self) -> Iterator[Triple]:
        return self.match()

    def match(self, subject: Any = None, predicate: Any = None, object: Any = None) -> Iterator[Triple]:
        """The facts that match a pattern; None matches anything. Lazy, each fact once."""
        terms = self._version.terms
        ids = []
        for term in (subject, predicate, object):
            term_id = None if term is None else terms.find(term)
            if term is not None and term_id is None:
                return iter(())
            ids.append(term_id)
        return ((terms[s], terms[p], terms[o]) for s, p, o in self.match_ids(*ids))

    def match_ids(self, s: int | None = None, p: int | None = None, o: int | None = None) -> Iterator[Fact]:
        """The same over the ids of ``dictionary``."""
        return self._view.match(s, p, o)

    @property
    def dictionary(self) -> TermDictionary:
        """The ids of terms."""
        return self._version.terms.dictionary  # type: ignore[no-any-return]

    @property
    def index(self) -> TripleIndex:
        """The facts as sorted columns of ids."""
        return self._view.shown

    def columns(self) -> Columns:
        """Subjects, predicates and objects, as columns of ids."""
        return self.index.columns()

    def write(self, path: str | os.PathLike[str]) -> None:
        """Write the facts to a file, in the format of its suffix: ``.nt``, ``.ttl``, maybe with ``.gz``."""
        from corollary.reasoner.parsed_documents import write

        write(path, self.columns(), self.dictionary)
