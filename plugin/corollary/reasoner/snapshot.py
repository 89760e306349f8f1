"""A snapshot of a reasoner: read access to one version, in terms and in ids."""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import Any

from corollary.columns import Columns, TripleIndex
from corollary.reasoner.state import Fact, View
from corollary.reasoner.version import Version
from corollary.terms.dictionary import TermDictionary

Triple = tuple[Any, Any, Any]
"""Subject, predicate and object in the terms of the reasoner's owner: without rdflib, N-Triples texts."""


class Snapshot:
    """The facts of one version. Immutable: no later change modifies it. Any number of threads may read it.

    ``explicit`` and ``inferred`` are snapshots of E and of I - E, ``graph`` is one of a graph's own facts.
    """

    def __init__(self, version: Version, view: View) -> None:
        """Precondition: ``version.state`` is derived."""
        self._version = version
        self._view = view

    @property
    def explicit(self) -> Snapshot:
        """The explicit facts of all graphs."""
        return Snapshot(self._version, self._version.state.explicit)

    @property
    def inferred(self) -> Snapshot:
        """The inferred facts: I - E."""
        return Snapshot(self._version, self._version.state.inferred)

    def graph(self, name: str) -> Snapshot:
        """The explicit facts of a graph; an empty snapshot if the graph does not exist."""
        graph = self._version.terms.find(name)
        return Snapshot(self._version, self._version.state.graph(-1 if graph is None else graph))

    def __len__(self) -> int:
        return len(self._view)

    def __contains__(self, triple: Triple) -> bool:
        return any(True for _ in self.match(*triple))

    def __iter__(self) -> Iterator[Triple]:
        return self.match()

    def match(self, subject: Any = None, predicate: Any = None, object: Any = None) -> Iterator[Triple]:
        """The facts that match a pattern; None matches any term. Lazy; each fact once."""
        terms = self._version.terms
        ids = []
        for term in (subject, predicate, object):
            term_id = None if term is None else terms.find(term)
            if term is not None and term_id is None:
                return iter(())
            ids.append(term_id)
        return ((terms[s], terms[p], terms[o]) for s, p, o in self.match_ids(*ids))

    def match_ids(self, s: int | None = None, p: int | None = None, o: int | None = None) -> Iterator[Fact]:
        """``match`` over the ids of ``dictionary``."""
        return self._view.match(s, p, o)

    @property
    def dictionary(self) -> TermDictionary:
        """The dictionary: ids to N-Triples texts and back."""
        return self._version.terms.dictionary  # type: ignore[no-any-return]

    @property
    def index(self) -> TripleIndex:
        """The facts as an index: one sorted relation for each predicate."""
        return self._view.shown

    def columns(self) -> Columns:
        """Subjects, predicates and objects: three uint32 arrays of ids, of equal length."""
        return self.index.columns()

    def write(self, path: str | os.PathLike[str]) -> None:
        """Write the facts to a file. The suffix gives the format and compression: ``.nt``, ``.ttl.gz``."""
        from corollary.loaders.writing import write

        write(path, self.index, self.dictionary)
