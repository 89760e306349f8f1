"""The closures of a snapshot file: compressed relations, stored by the facts from which the others follow.

The columns are those of docs/snapshots.md. Keys that several closures have in common, such as the cliques of
equal terms, are written once. What a column says is checked before it is used: the table when the file is
opened, keys when they are first used. Indexes are made of the checked keys by the code that makes any other.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import partial

import numpy as np

from corollary.closure.cliques import Cliques
from corollary.closure.copy_index import CopyIndex
from corollary.closure.stored_closure import INDEXES, Generators, StoredClosure
from corollary.columns import Relation
from corollary.columns.column_file import Column, ColumnFile, ColumnWriter
from corollary.columns.mapped_pairs import IdCheck, PartOfPairs
from corollary.columns.pairs import NO_KEYS, among, firsts, seconds
from corollary.columns.relation import Basis
from corollary.kernels.sorted import Keys

_ROWS = {"relation": "u4", "kind": "u1", "basis": "u1", "size": "i8"}
"""The table of closures, and the types of its columns."""

_PARTS = (*Generators._fields[1:], "external")
"""The runs of keys of each closure."""

UNKNOWN, SOME, CERTAIN = 0, 1, 2
"""``basis`` in the table: not stored; from these facts all follow; and besides, all of them are external."""


@dataclass(frozen=True, slots=True)
class Closure:
    """A relation to be stored: its row in the table of relations, and what it is made of."""

    row: int
    relation: Relation
    made_of: Generators
    basis: Basis | None


def closures_of(relations: list[tuple[int, Relation]], bases: Mapping[int, Basis] | None) -> list[Closure]:
    """The relations, in order of their rows, that are stored as closures.

    ``bases`` are as for ``snapshot_file.Contents``.
    """
    if bases is None:
        return []
    found = ((row, p, relation, Generators.of(relation)) for row, (p, relation) in enumerate(relations))
    return [Closure(row, relation, made, bases.get(p)) for row, p, relation, made in found if made]


def write_closures(file: ColumnWriter, closures: list[Closure]) -> None:
    """Write the table of closures, and their keys."""
    runs = _Runs()
    places = []
    for closure in closures:
        external = NO_KEYS if closure.basis is None else closure.basis.external.pairs().keys
        places += [runs.place(keys) for keys in (*closure.made_of[1:], external)]
    rows = [(c.row, c.made_of.kind, _basis_kind(c.basis), len(c.relation)) for c in closures]
    for place, (name, dtype) in enumerate(_ROWS.items()):
        file.add(f"closures.{name}", dtype, [np.array([row[place] for row in rows])])
    for place, name in enumerate(("starts", "ends")):
        file.add(f"closures.{name}", "i8", [np.array([run[place] for run in places])])
    file.add("closures.keys", "u8", runs.keys)


def _basis_kind(basis: Basis | None) -> int:
    return UNKNOWN if basis is None else CERTAIN if basis.is_certain else SOME


class _Runs:
    """Runs of keys, one after the other; equal ones are there once."""

    def __init__(self) -> None:
        self.keys: list[Keys] = []
        self._places: dict[int, list[tuple[int, Keys]]] = {}  # by length
        self._end = 0

    def place(self, keys: Keys) -> tuple[int, int]:
        """Where a run begins and ends."""
        known = self._places.setdefault(keys.size, [])
        for start, others in known:
            if np.array_equal(keys, others):
                return start, start + keys.size
        known.append((self._end, keys))
        self.keys.append(keys)
        self._end += keys.size
        return self._end - keys.size, self._end


class MappedClosures:
    """The closures of a file. ``sizes``: by the rows of their relations, the numbers of facts."""

    def __init__(self, file: ColumnFile, relations: int, ids: IdCheck) -> None:
        """Read the table. Raises DamagedFile if it makes no sense. ``relations``: their number."""
        self._file, self._ids = file, ids
        self.sizes: dict[int, int] = {}
        if file.type_of("closures.relation") is None:  # of an earlier format
            return
        count = file.section("closures.relation", "u4").length
        table = {name: file.column(f"closures.{name}", dtype, count) for name, dtype in _ROWS.items()}
        self._starts, self._ends = (
            file.column(f"closures.{name}", "i8", count * len(_PARTS)) for name in ("starts", "ends")
        )
        self._section = file.section("closures.keys", "u8")
        rows = table["relation"].astype(np.int64)
        is_sane = (np.diff(rows) > 0).all() and (rows < relations).all() and (table["size"] > 0).all()
        is_sane = is_sane and (table["kind"] < len(INDEXES)).all() and (table["basis"] <= CERTAIN).all()
        are_runs = (self._starts >= 0) & (self._starts <= self._ends) & (self._ends <= self._section.length)
        has_edges = self._starts[:: len(_PARTS)] < self._ends[:: len(_PARTS)]
        if not (is_sane and are_runs.all() and has_edges.all()):
            raise file.damage("its table of closures makes no sense")
        self.sizes = dict(zip(rows.tolist(), table["size"].tolist(), strict=True))
        self._numbers = {row: number for number, row in enumerate(self.sizes)}
        self._kinds, self._bases = table["kind"].tolist(), table["basis"].tolist()

    def relation(self, row: int, legal: int) -> Relation:
        """The relation with a row, ``legal`` of whose facts have no literal as subject."""
        number = self._numbers[row]
        kind, basis = self._kinds[number], None
        if self._bases[number] != UNKNOWN:
            keys = partial(self._keys, number, "external")
            external = Relation(PartOfPairs(self._size(number, "external"), keys))
            basis = Basis(external, self._bases[number] == CERTAIN)
        held = sum(self._size(number, name) for name in ("edges", "without", "beside"))
        read = partial(self._generators, number, kind)
        return StoredClosure(self.sizes[row], legal, held, kind, read, self._file.damage, basis)

    def check_all(self, relations: Iterable[Relation]) -> None:
        """Read and check all closures among some relations of the file. Raises DamagedFile."""
        for relation in relations:
            if relation.basis is not None:
                relation.basis.external.pairs().by_object  # noqa: B018 - checked at its first use
            if isinstance(relation, StoredClosure):
                found = relation.plain()
                if found.legal_count() != relation.legal_count():
                    raise self._file.damage("the statistics of a relation are not those of its facts")

    def _generators(self, number: int, kind: int) -> Generators:
        keys = {name: self._keys(number, name) for name in _PARTS[:-1]}
        if INDEXES[kind] is CopyIndex:
            self._refuse_other_cliques(keys["subjects"], firsts(keys["edges"]))
            self._refuse_other_cliques(keys["objects"], seconds(keys["edges"]))
        return Generators(kind, **keys)

    def _refuse_other_cliques(self, pairs: Keys, ends: Column) -> None:
        """Raise DamagedFile unless pairs (member, least) are cliques, and ends of facts are least members."""
        members, least = firsts(pairs), seconds(pairs)
        are_apart = (members[1:] > members[:-1]).all()
        cliques = Cliques(pairs)
        are_named = are_apart and (cliques.least(least) == least).all() and among(least, members).all()
        if not are_named or not (cliques.least(ends) == ends).all():
            raise self._file.damage("equal terms are in two cliques, or a fact is not of their least members")

    def _run(self, number: int, name: str) -> tuple[int, int]:
        place = number * len(_PARTS) + _PARTS.index(name)
        return int(self._starts[place]), int(self._ends[place])

    def _size(self, number: int, name: str) -> int:
        start, end = self._run(number, name)
        return end - start

    def _keys(self, number: int, name: str) -> Keys:
        """A run of keys. Raises DamagedFile unless they ascend, and are of known terms."""
        start, end = self._run(number, name)
        self._file.check(self._section.offset + 8 * start, 8 * (end - start))
        keys: Column = self._file.unchecked(self._section)[start:end]
        if not (keys[1:] > keys[:-1]).all() or not self._ids.are_known(keys.view(np.uint32)):
            raise self._file.damage("the facts of a closure are not in order, or are of unknown terms")
        return keys
