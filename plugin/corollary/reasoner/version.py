"""Everything that a reasoner holds at one moment, as a value: what transactions and rollbacks are made of.

A change makes another ``Version``, which shares what it leaves alone, and publishes it by one assignment
(``corollary.reasoner.versions``). One thing happens in place: a single change is appended to ``pending``, and
``length`` then says that it has happened. So a version that is to stay as it is, is a ``copy``.

What follows from a version is worked out when it is read. ``derived`` keeps that, for all versions with the
same facts and options.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from corollary.language import CorollaryError
from corollary.reasoner.namespaces import Namespaces
from corollary.reasoner.options import Options
from corollary.reasoner.pending import FIELDS, Pending, Row
from corollary.reasoner.quads import Change, Quads
from corollary.reasoner.state import Fact, State
from corollary.reasoner.term_format import TermView

if TYPE_CHECKING:
    from corollary.reasoner.parsed_documents import BadLine
    from corollary.reasoner.persistence import Persistence


class Derived:
    """What follows from some facts by some options: None until it is worked out."""

    __slots__ = ("state",)

    def __init__(self) -> None:
        self.state: State | None = None


@dataclass
class Version:
    """The facts, names and options of a reasoner, and what persists them.

    ``terms`` is a ``TermView``: the view of the reasoner's owner. ``named`` are the graphs that are kept even
    if they are empty. ``adapter_state`` is a value of the owner, which the reasoner does not look at; it is
    committed and rolled back with the rest. ``committed`` is what a rollback brings back; only that itself
    has none.
    """

    terms: Any
    options: Options
    quads: Quads = field(default_factory=Quads)
    named: frozenset[int] = frozenset()
    namespaces: Namespaces = field(default_factory=Namespaces)
    adapter_state: Any = None
    bad_lines: tuple[BadLine, ...] = ()
    persistence: Persistence | None = None
    committed: Version | None = None
    pending: Pending = field(default_factory=Pending)
    length: int = 0
    derived: Derived = field(default_factory=Derived)

    def changed(self, **changes: Any) -> Version:
        """A version with other facts, options or names; without ``changes`` a copy of this one, for good."""
        version = object.__new__(Version)
        version.__dict__.update(self.__dict__, **changes)  # as dataclasses.replace, at less cost
        if "quads" in changes or "options" in changes:
            version.derived = Derived()
        return version

    def applied(self) -> Version:
        """The version with its single changes worked into the facts."""
        if not self.length:
            return self
        quads = self.quads.changed(self.pending.changes(self.length))
        return self.changed(quads=quads, pending=Pending(), length=0)

    def to_be_written(self) -> Version:
        """The version itself; CorollaryError if its folder must not be changed."""
        if self.persistence is not None and self.persistence.read_only:
            raise CorollaryError(
                f"{self.persistence.place} was opened to be read only: open it without read_only to change it"
            )
        return self

    # Small changes

    def recorded(self, terms: TermView, rows: Iterable[int]) -> Version:
        """With rows of ``Pending`` behind the others, in place. StaleTerms if their ids are others' ids."""
        if self.terms is not terms:
            raise StaleTerms
        self.to_be_written()
        self.length = self.pending.append(self.length, rows)
        return self

    def with_quoted(self, terms: TermView, row: Row) -> Version:
        """With a fact of a formula."""
        version = self.changed()
        if row[0] not in self.quads.formulas:
            version = version.applied()
            version = version.changed(quads=version.quads.with_formula(row[0]))
        return version.recorded(terms, row)

    def without(
        self, terms: TermView, wanted: Iterable[tuple[int | None, int, int, int]], missed: list[Fact]
    ) -> Version:
        """Without some facts of graphs, or of all (None), in place. ``missed`` gets those not there."""
        if self.terms is not terms:
            raise StaleTerms
        self.to_be_written()
        length = self.length
        everywhere: set[int] | None = None
        for graph, s, p, o in wanted:
            if graph is None and everywhere is None:
                everywhere = self.graph_ids()
            before = length
            for name in (everywhere or ()) if graph is None else (graph,):
                if self._holds(length, (name, s, p, o, 0)):
                    length = self.pending.append(length, (name, s, p, o, 0))
            if length == before:
                missed.append((s, p, o))
        self.length = length
        return self

    def _holds(self, length: int, row: Row) -> bool:
        graph, subject, predicate, value, _ = row
        if length:
            word = self.pending.holds(length, graph, subject, predicate, value)
            if word is not None:
                return word
        index = self.quads.index(graph)
        return index is not None and index.relation(predicate).has(subject, value)

    def with_created(self, graph: int) -> Version:
        """With a graph, empty if it is new, that no Dataset has asked for."""
        quads = self.to_be_written().quads.with_graphs([graph])
        return self if quads is self.quads else self.changed(quads=quads)

    def without_graph(self, graph: int) -> Version:
        """Without a graph or formula and its facts; of the default graph, without its facts."""
        version = self.to_be_written().applied()
        return version.changed(quads=version.quads.without_graph(graph), named=version.named - {graph})

    def with_bad_lines(self, lines: tuple[BadLine, ...]) -> Version:
        """With the lines that were left out of what was loaded."""
        return self.changed(bad_lines=lines)

    def bound(self, prefix: str, namespace: str, override: bool) -> Version:
        """With a prefix. In a reasoner that holds nothing yet there is nothing to bring back but that."""
        namespaces = self.namespaces.bound(prefix, namespace, override)
        if namespaces is self.namespaces:
            return self
        bound = self.changed(namespaces=namespaces)
        return bound.as_committed() if self.is_untouched() else bound

    def is_untouched(self) -> bool:
        """Whether nothing but prefixes was put here, and nothing is kept in a folder."""
        before = self.committed
        has_facts = self.length or self.quads.graphs or self.quads.formulas or self.named or self.persistence
        return not has_facts and (
            before is None or (before.is_untouched() and before.options is self.options)
        )

    # The whole

    def copied(self) -> Version:
        """A version in memory that shares no term with this one. Precondition: it is applied."""
        return replace(
            self,
            terms=self.terms.copied(),
            persistence=None,
            committed=None,
            pending=Pending(),
            derived=Derived(),
        )

    def as_committed(self) -> Version:
        """The version, as what a rollback brings back."""
        return self.changed(committed=self.changed(committed=None))

    def rolled_back(self) -> Version:
        """What was committed last."""
        assert self.committed is not None
        return self.committed.changed(committed=self.committed)

    def with_prefixes_of(self, other: Version, since: Namespaces | None = None) -> Version:
        """With the prefixes of another version, as far as prefix and namespace are free.

        If both have come from one table (``since``): also those that only the other has bound anew.
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
        """What follows. Precondition: it has been worked out."""
        assert self.derived.state is not None
        return self.derived.state

    def waiting(self) -> int:
        """How many single changes wait to be worked off."""
        return self.length // FIELDS

    def graph_ids(self) -> set[int]:
        """The graphs that there are, or that a waiting change mentions; formulas among them."""
        graphs = {*self.quads.graphs, *self.quads.formulas}
        return graphs | self.pending.graphs(self.length) if self.length else graphs

    def with_changes(self, changes: Iterable[Change]) -> Version:
        """The version after changes to its facts. Precondition: it is ``applied``."""
        return self.to_be_written().changed(quads=self.quads.changed(changes))


class StaleTerms(Exception):
    """Another data set has taken the place of a reasoner's terms while ids were looked up: look again."""
