"""The complete contents of a reasoner as a value, the unit of transactions and rollbacks.

A change makes a new ``Version``, which shares everything unchanged, and is published by one assignment
(``corollary.reasoner.versions``). One exception: a single change is appended to ``pending`` in place, and
takes effect by the assignment of ``length``. So a version that must not change is a copy (``changed()``).

The state of a version is derived on demand. ``derived`` caches the state, for all versions with the same
facts and options.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from itertools import chain
from typing import TYPE_CHECKING, Any

from corollary.language import CorollaryError
from corollary.reasoner.namespaces import Namespaces
from corollary.reasoner.options import Options
from corollary.reasoner.pending import FIELDS, Pending, Row
from corollary.reasoner.persistence import Persistence
from corollary.reasoner.quads import Change, Quads
from corollary.reasoner.state import Fact, State
from corollary.reasoner.term_format import TermView

if TYPE_CHECKING:
    from corollary.loaders.ntriples import BadLine


class Derived:
    """The derived state of versions with the same facts and options: None until it is derived."""

    __slots__ = ("state",)

    def __init__(self) -> None:
        self.state: State | None = None


@dataclass
class Version:
    """The facts, names and options of a reasoner, and their storage.

    ``terms`` is the owner's ``TermView``. ``named`` are the ids of graphs that exist even if they are empty.
    ``adapter_state`` is an opaque value of the owner; it is committed and rolled back with the rest.
    ``last_view`` is a cache of the owner, of this version alone.
    ``committed`` is the version that a rollback restores; None in that version itself. ``pending`` up to
    ``length`` are the changes that are not yet in ``quads``; without such changes the version is *applied*.
    """

    terms: Any
    options: Options
    quads: Quads = field(default_factory=Quads)
    named: frozenset[int] = frozenset()
    namespaces: Namespaces = field(default_factory=Namespaces)
    adapter_state: Any = None
    last_view: Any = field(default=None, compare=False)
    bad_lines: tuple[BadLine, ...] = ()
    persistence: Persistence[Version] | None = None
    committed: Version | None = None
    pending: Pending = field(default_factory=Pending)
    length: int = 0
    derived: Derived = field(default_factory=Derived)

    def changed(self, **changes: Any) -> Version:
        """A copy with other field values. Other facts or options drop the derived state."""
        version = object.__new__(Version)
        version.__dict__.update(self.__dict__, **changes)  # as dataclasses.replace, but cheaper
        version.last_view = None
        if "quads" in changes or "options" in changes:
            version.derived = Derived()
        return version

    def applied(self) -> Version:
        """The version with the pending changes applied to its facts, in one batch."""
        if not self.length:
            return self
        quads = self.quads.changed(self.pending.changes(self.length))
        return self.changed(quads=quads, pending=Pending(), length=0)

    def to_be_written(self) -> Version:
        """Return ``self``. Raises CorollaryError if the folder is read-only, or a data set."""
        if self.persistence is not None and self.persistence.read_only:
            raise CorollaryError(self.persistence.refusal)
        return self

    # Small changes

    def recorded(self, terms: TermView, rows: Iterable[int]) -> Version:
        """Append rows to ``pending``, in place. Raises StaleTerms if their ids are not of ``self.terms``."""
        if self.terms is not terms:
            raise StaleTerms
        self.to_be_written()
        self.length = self.pending.append(self.length, rows)
        return self

    def with_quoted(self, terms: TermView, row: Row) -> Version:
        """With a pending fact of a formula, which is created if it is new."""
        version = self.changed()
        if row[0] not in self.quads.formulas:
            version = version.applied()
            version = version.changed(quads=version.quads.with_formula(row[0]))
        return version.recorded(terms, row)

    def without(
        self, terms: TermView, wanted: Iterable[tuple[int | None, int, int, int]], missed: list[Fact]
    ) -> Version:
        """Append removals to ``pending``, in place. ``wanted``: graph (None: every graph), s, p, o.

        Appends to ``missed`` the facts that were in none of their graphs.
        """
        if self.terms is not terms:
            raise StaleTerms
        self.to_be_written()
        length = self.length
        mentioned: set[int] | None = None
        for graph, s, p, o in wanted:
            if graph is not None:
                names = [graph] if self._holds(length, (graph, s, p, o, 0)) else []
            else:
                if mentioned is None:
                    mentioned = self.pending.graphs(length)
                names = self._graphs_with(length, mentioned, (s, p, o))
            for name in names:
                length = self.pending.append(length, (name, s, p, o, 0))
            if mentioned is not None:
                mentioned.update(names)
            if not names:
                missed.append((s, p, o))
        self.length = length
        return self

    def _graphs_with(self, length: int, mentioned: set[int], fact: Fact) -> list[int]:
        """The graphs and formulas that have a fact. ``mentioned``: those that pending changes mention.

        Cost: one probe in each graph, up to the only one if the fact is in one graph.
        """
        s, p, o = fact
        found = [graph for graph in mentioned if self._holds(length, (graph, s, p, o, 0))]
        quads = self.quads
        is_shared = quads.shared.relation(p).has(s, o)
        graphs = quads.graphs.items() if quads.union.relation(p).has(s, o) else ()
        for graph, index in chain(graphs, quads.formulas.items()):
            if graph not in mentioned and index.relation(p).has(s, o):
                found.append(graph)
                if not is_shared and not quads.formulas:
                    break
        return found

    def _holds(self, length: int, row: Row) -> bool:
        graph, subject, predicate, value, _ = row
        if length:
            word = self.pending.holds(length, graph, subject, predicate, value)
            if word is not None:
                return word
        index = self.quads.index(graph)
        return index is not None and index.relation(predicate).has(subject, value)

    def with_created(self, graph: int) -> Version:
        """With a graph, empty if it is new, that does not count as added by a Dataset (``named``)."""
        quads = self.to_be_written().quads.with_graphs([graph])
        return self if quads is self.quads else self.changed(quads=quads)

    def without_graph(self, graph: int) -> Version:
        """Without a graph or formula and its facts. The default graph, which always exists, is emptied."""
        version = self.to_be_written().applied()
        return version.changed(quads=version.quads.without_graph(graph), named=version.named - {graph})

    def with_bad_lines(self, lines: tuple[BadLine, ...]) -> Version:
        """With the lines that a load skipped."""
        return self.changed(bad_lines=lines)

    def bound(self, prefix: str, namespace: str, override: bool) -> Version:
        """With a prefix bound. In an untouched reasoner this counts as committed: no rollback removes it."""
        namespaces = self.namespaces.bound(prefix, namespace, override)
        if namespaces is self.namespaces:
            return self
        bound = self.changed(namespaces=namespaces)
        return bound.as_committed() if self.is_untouched() else bound

    def is_untouched(self) -> bool:
        """Whether the version, in memory, has nothing but prefixes, and so has the commit before it."""
        before = self.committed
        has_facts = self.length or self.quads.graphs or self.quads.formulas or self.named or self.persistence
        return not has_facts and (
            before is None or (before.is_untouched() and before.options is self.options)
        )

    # The whole

    def copied(self) -> Version:
        """A copy in memory with its own dictionary. Precondition: the version is applied."""
        return replace(
            self,
            terms=self.terms.copied(),
            persistence=None,
            committed=None,
            pending=Pending(),
            derived=Derived(),
        )

    def as_committed(self) -> Version:
        """The version with itself as the target of rollbacks."""
        return self.changed(committed=self.changed(committed=None))

    def rolled_back(self) -> Version:
        """The last commit."""
        assert self.committed is not None
        return self.committed.changed(committed=self.committed)

    def with_prefixes_of(self, other: Version, since: Namespaces | None = None) -> Version:
        """With the prefixes of another version, where prefix and namespace are free.

        If both versions descend from one table (``since``), a binding of ``other`` also wins where this
        version has not changed the bindings of ``since``.
        """
        namespaces = self.namespaces
        for prefix, namespace in other.namespaces:
            is_left_alone = since is not None and (
                namespaces.namespace(prefix) == since.namespace(prefix)
                and namespaces.prefix(namespace) == since.prefix(namespace)
            )
            namespaces = namespaces.bound(prefix, namespace, override=is_left_alone)
        return self.changed(namespaces=namespaces)

    @property
    def state(self) -> State:
        """The derived state. Precondition: it has been derived."""
        assert self.derived.state is not None
        return self.derived.state

    def waiting(self) -> int:
        """The number of pending changes."""
        return self.length // FIELDS

    def graph_ids(self) -> set[int]:
        """All graphs and formulas, including those that pending changes mention."""
        graphs = {*self.quads.graphs, *self.quads.formulas}
        return graphs | self.pending.graphs(self.length) if self.length else graphs

    def with_changes(self, changes: Iterable[Change]) -> Version:
        """With changes made to its facts. Precondition: the version is applied."""
        return self.to_be_written().changed(quads=self.quads.changed(changes))


class StaleTerms(Exception):
    """The dictionary was replaced while ids were looked up: look up again, and retry."""
