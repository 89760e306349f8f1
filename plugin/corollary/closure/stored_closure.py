"""Compressed relations as they are stored: the facts from which the others follow, without an index.

``Generators.of`` takes a relation apart. A ``StoredClosure`` is that relation again: nothing is read, and no
index is made, before facts are asked for. Its number of facts is known.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from corollary.closure.bit_index import BitIndex
from corollary.closure.cliques import Cliques
from corollary.closure.closure_index import ClosureIndex
from corollary.closure.compressed_relation import CompressedRelation, FactIndex
from corollary.closure.copy_index import CopyIndex
from corollary.closure.interval_index import IntervalIndex
from corollary.closure.reachability import Graph
from corollary.columns.pairs import NO_KEYS, Pairs, sorted_unique
from corollary.columns.relation import Basis, Relation
from corollary.kernels.sorted import Keys

INDEXES: tuple[type[ClosureIndex] | type[CopyIndex], ...] = (IntervalIndex, BitIndex, CopyIndex)
"""The indexes that are stored. A file names them by their places here."""


class Generators(NamedTuple):
    """What a compressed relation is made of. All keys are sorted and unique.

    ``kind`` is the place of the index in INDEXES, ``edges`` are its own, and ``without`` and ``beside`` those
    of the relation. Of copies, ``subjects`` and ``objects`` are pairs (member, least member) of cliques.
    """

    kind: int
    edges: Keys
    without: Keys
    beside: Keys
    subjects: Keys = NO_KEYS
    objects: Keys = NO_KEYS

    @staticmethod
    def of(relation: Relation) -> Generators | None:
        """Those of a relation. None if it is listed, or lacks facts of its index that are not listed."""
        if isinstance(relation, StoredClosure) and relation.is_unread:
            return relation.generators_read()
        if not isinstance(relation, CompressedRelation) or relation.missing().is_compressed:
            return None
        index = relation.index
        if type(index) not in INDEXES:
            return None
        cliques = index.cliques if isinstance(index, CopyIndex) else ()
        overlay = (part.pairs().keys for part in relation.overlays)
        return Generators(INDEXES.index(type(index)), sorted_unique(index.edges), *overlay, *cliques)

    def made(self) -> FactIndex:
        """The index. Cost: that of making it. Precondition: there are edges."""
        kind = INDEXES[self.kind]
        if issubclass(kind, ClosureIndex):
            return kind.whole(Graph.of(self.edges))
        return CopyIndex(Pairs(self.edges), Cliques(self.subjects), Cliques(self.objects))


class StoredClosure(CompressedRelation):
    """A compressed relation whose index is made when facts are first asked for."""

    __slots__ = ("_damage", "_held", "_kind", "basis", "generators_read")

    def __init__(
        self,
        size: int,
        legal: int,
        held: int,
        kind: int,
        read: Callable[[], Generators],
        damage: Callable[[str], Exception],
        basis: Basis | None,
    ) -> None:
        """A relation of ``size`` facts, ``legal`` of which have no literal as subject; ``held`` are stored.

        ``read`` returns its generators, which are of ``kind``. If another number of facts follows from these
        than ``size``, the error that ``damage`` makes is raised. ``basis`` is as ``Relation.basis``.
        """
        self.size, self._legal, self._held, self._kind = size, legal, held, kind
        self.generators_read, self._damage, self.basis = read, damage, basis

    def __getattr__(self, name: str) -> Any:
        """The parts of a compressed relation. Two threads may make them at once: both make the same."""
        if name not in ("_closure", "_without", "_beside"):
            raise AttributeError(name)
        found = self.generators_read()
        index, without, beside = found.made(), found.without, found.beside
        is_right = index.contains(without).all() and not index.contains(beside).any()
        if not is_right or len(index) - without.size + beside.size != self.size:
            raise self._damage("a closure has more or less facts than its table says")
        self._without, self._beside = Relation(Pairs(without)), Relation(Pairs(beside))
        self._closure = index
        return getattr(self, name)

    @property
    def held(self) -> int:
        """As ``Relation.held``. Nothing is read."""
        return self._held

    @property
    def closed_by(self) -> str:
        """As ``Relation.closed_by``. Nothing is read."""
        return INDEXES[self._kind].closed_by

    def plain(self) -> CompressedRelation:
        """The same relation, without what is known of it beforehand."""
        return CompressedRelation(self._closure, self._without, self._beside)

    @property
    def is_unread(self) -> bool:
        """Whether no fact was asked for so far."""
        try:
            object.__getattribute__(self, "_closure")
        except AttributeError:
            return True
        return False
