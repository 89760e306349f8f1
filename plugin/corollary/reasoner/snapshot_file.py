"""A snapshot file: E, I, terms and names in one file that is mapped, and so opened without reading it.

``write_snapshot`` writes the columns of docs/snapshots.md. ``MappedSnapshot`` restores relations and texts
when they are used. I is stored in both orders, without virtual relations; relations that are compressed, by
what the others follow from (``snapshot_closures``). E, and each of its graphs, is a part of I: the same
relation, a mask over its facts, or, if that is smaller, a list of keys.

What the columns say is checked before it is used: the tables when the file is opened, keys and texts chunk
by chunk (``columns.mapped_pairs``, ``columns.mapped_texts``). I is taken to be what follows from E by the
rules of the fingerprint.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Set
from dataclasses import dataclass, replace
from functools import cached_property, partial
from importlib.metadata import version as version_of
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from corollary.columns import Relation, TripleIndex
from corollary.columns.column_file import Column, ColumnFile, ColumnWriter, written
from corollary.columns.mapped_pairs import (
    KEYS_PER_CHUNK,
    ORDERS,
    IdCheck,
    MappedOrders,
    MappedPairs,
    PartOfPairs,
)
from corollary.columns.mapped_texts import MappedTextTable, write_texts
from corollary.columns.pairs import Pairs, contains
from corollary.columns.relation import EMPTY, Basis
from corollary.kernels.interrupts import uncollected
from corollary.kernels.limits import Progress, no_progress
from corollary.kernels.sorted import Keys
from corollary.language import format_program
from corollary.program.fingerprint import fingerprint
from corollary.reasoner.closed_under import ClosedUnder
from corollary.reasoner.contents import NAMES, NONSENSE, others_of, with_others
from corollary.reasoner.options import Options
from corollary.reasoner.persistence import Persistence
from corollary.reasoner.quads import Quads
from corollary.reasoner.snapshot_closures import MappedClosures, closures_of, write_closures
from corollary.reasoner.term_format import TermView
from corollary.reasoner.version import Version
from corollary.terms.dictionary import BULK_KINDS, INDEX_MASK, Kind, TermDictionary

FORMAT = "corollary snapshot"

TABLES = {Kind.IRI: "terms.iri", Kind.BLANK_NODE: "terms.blank_node", Kind.LITERAL: "terms.literal"}

SAME, MASK, KEYS = 0, 1, 2
"""How a part of a relation is stored: it is the whole; a bit for each fact of the whole; keys."""

BITS_PER_KEY = 64
"""The size of a key. A part is stored as bits if they take no more space than its keys."""

UNION, SHARED, FIRST_GRAPH = 0, 1, 2
"""The indexes that are parts: E as a part of I; the shared facts, and the graphs, as parts of E."""


class _Part(NamedTuple):
    """A part that is not the whole. ``start`` is a byte of the masks, or a place among the keys."""

    kind: int
    size: int
    legal: int
    start: int


_KINDS, _PLACES = {"holder": "u4", "relation": "u4", "kind": "u1"}, ("size", "legal", "start")
"""The columns of the table of parts, and of those parts that are not the whole, which are of type i8."""


@dataclass(frozen=True, slots=True)
class Contents:
    """What a snapshot holds: terms, I without virtual relations, E by graph, names (``contents.others_of``).

    ``closed`` names the rules by which I is closed. Without a fingerprint, I may be E. ``bases`` has, for
    predicates whose relation is compressed, what their module follows them from; None: that is not known, and
    all facts are listed.
    """

    dictionary: TermDictionary
    facts: TripleIndex
    quads: Quads
    others: Mapping[str, bytes]
    closed: ClosedUnder
    bases: Mapping[int, Basis] | None = None


def write_snapshot(
    place: Path,
    contents: Contents,
    counts: tuple[int, ...] | None = None,
    progress: Progress = no_progress,
) -> int:
    """Write a snapshot: the file appears completely, or not at all. Returns the checksum of its header.

    ``counts`` are the numbers of terms of each kind to be written, by default all. Precondition: E is a
    subset of ``facts``, which have no later terms. Raises CorollaryError if the file cannot be written.
    """
    tables = contents.dictionary.tables()
    counts = tuple(map(len, tables)) if counts is None else counts
    with written(place) as file:
        for kind, table, count in zip(BULK_KINDS, tables, counts, strict=True):
            write_texts(file, TABLES[kind], table, count)
        relations = sorted(contents.facts.relations())
        closures = closures_of(relations, contents.bases)
        _write_facts(file, relations, {closure.row for closure in closures}, progress)
        write_closures(file, closures)
        _write_parts(file, relations, contents.quads)
        for name, content in contents.others.items():
            file.add(f"others.{name}", "u1", [np.frombuffer(content, np.uint8)])
        closed = contents.closed
        return file.finish(
            {
                "format": FORMAT,
                "corollary": closed.version or version_of("corollary"),
                "rules": closed.rules,
                "fingerprint": closed.fingerprint,
                "schema_is_alone": closed.schema_is_alone,
                "program": closed.text,
                "terms": counts,
            }
        )


def _write_facts(
    file: ColumnWriter, relations: list[tuple[int, Relation]], unlisted: Set[int], progress: Progress
) -> None:
    """Write I, but for the relations of the rows ``unlisted``: in both orders, and the table of relations."""
    file.add("facts.predicates", "u4", [np.array([p for p, _ in relations], np.uint32)])
    listed = [EMPTY if row in unlisted else relation for row, (_, relation) in enumerate(relations)]
    sizes = np.array([0, *map(len, listed)], np.int64)
    file.add("facts.starts", "i8", [np.cumsum(sizes)])
    file.add("facts.legal", "i8", [np.array([r.legal_count() for _, r in relations], np.int64)])
    for name, ends, is_inverse in zip(ORDERS, ("subjects", "objects"), (False, True), strict=True):
        fences: list[Keys] = []
        counts: list[int] = []
        done = int(sizes.sum()) if is_inverse else 0
        chunks = _chunks(listed, is_inverse, fences, counts)
        file.add(name, "u8", _reported(chunks, done, 2 * int(sizes.sum()), progress))
        file.add(f"{name}.fences", "u8", fences)
        file.add(f"facts.{ends}", "u4", [np.array(counts, np.uint32)])


def _reported(parts: Iterable[Keys], done: int, total: int, progress: Progress) -> Iterator[Keys]:
    """The parts, of which each is reported. All facts are written twice: ``total`` counts both orders."""
    for keys in parts:
        yield keys
        done += keys.size
        progress("writing facts", done // 2, done / total)


def _chunks(
    relations: list[Relation], is_inverse: bool, fences: list[Keys], counts: list[int]
) -> Iterator[Keys]:
    """All keys of one order, in parts.

    Appends to ``fences`` every KEYS_PER_CHUNK-th key, and to ``counts`` the number of distinct first halves
    of each relation.
    """
    place = 0
    for relation in relations:
        count, last = 0, None
        if relation.is_compressed or not is_inverse:
            parts = (relation.inverse() if is_inverse else relation).chunks(KEYS_PER_CHUNK)
        else:
            by_object = relation.pairs().by_object
            parts = (by_object[n : n + KEYS_PER_CHUNK] for n in range(0, by_object.size, KEYS_PER_CHUNK))
        for keys in parts:
            if not keys.size:
                continue
            halves = keys >> np.uint64(32)
            count += int(np.count_nonzero(halves[1:] != halves[:-1])) + (halves[0] != last)
            last = halves[-1]
            fences.append(keys[-place % KEYS_PER_CHUNK :: KEYS_PER_CHUNK])
            place += keys.size
            yield keys
        counts.append(int(count))


def _write_parts(file: ColumnWriter, relations: list[tuple[int, Relation]], quads: Quads) -> None:
    """Write E, the facts in several graphs, and the graphs."""
    rows_of = {predicate: row for row, (predicate, _) in enumerate(relations)}
    graphs = {graph: index for graph, index in sorted(quads.graphs.items()) if index.fact_count()}
    known = dict(relations)
    masks: list[Any] = []
    keys: list[Keys] = []
    rows: list[tuple[int, int, int]] = []
    parts: list[_Part] = []
    at, place = 0, 0
    for number, index in enumerate((quads.union, quads.shared, *graphs.values())):
        wholes = known if number == UNION else dict(quads.union.relations())
        for predicate, relation in sorted(index.relations()):
            whole, size, kind, start = wholes[predicate], len(relation), KEYS, place
            if size == len(whole) and not whole.is_compressed:
                rows.append((number, rows_of[predicate], SAME))
                continue
            if BITS_PER_KEY * size >= len(whole) and not whole.is_compressed:
                kind, start = MASK, at
                bits = contains(relation.pairs().keys, whole.pairs().keys)
                masks.append(np.packbits(bits, bitorder="little"))
                at += masks[-1].size
            else:
                keys.append(relation.pairs().keys)
                place += size
            rows.append((number, rows_of[predicate], kind))
            parts.append(_Part(kind, size, relation.legal_count(), start))
    file.add("graphs", "u4", [np.array(list(graphs), np.uint32)])
    for place, (name, dtype) in enumerate(_KINDS.items()):
        file.add(f"parts.{name}", dtype, [np.array([row[place] for row in rows])])
    for name in _PLACES:
        file.add(f"parts.{name}", "i8", [np.array([getattr(part, name) for part in parts])])
    file.add("parts.masks", "u1", masks)
    file.add("parts.keys", "u8", keys)


def contents_of(version: Version, home: int | None = None) -> Contents:
    """What a version holds. If the default graph is empty, the graph ``home`` takes its place.

    Precondition: ``version.state`` is derived.
    """
    state, default = version.state, version.terms.default
    quads, result = state.facts, state.materialisation
    graphs = {graph: index for graph, index in quads.graphs.items() if index.fact_count()}
    if home in graphs and default not in graphs:
        graphs[default] = graphs.pop(home)
        version = version.changed(quads=replace(version.quads, graphs=graphs), derived=version.derived)
    title = None if result is None else version.options.title()
    is_whole = result is not None and not result.has_suspended_rules  # else I depends on its history
    is_alone = result is not None and result.schema_is_alone
    digest = fingerprint(result.program) if result and is_whole else None
    text = format_program(result.program) if result and is_whole else None
    closed = ClosedUnder(digest, title, None, schema_is_alone=is_alone, text=text)
    quads = version.quads
    bases = None if result is None else result.bases()
    return Contents(version.terms.dictionary, state.index, quads, others_of(version), closed, bases)


class MappedSnapshot:
    """A snapshot file, opened. Relations and texts are read when they are used."""

    def __init__(self, place: Path, *remedy: str) -> None:
        """Map the file. Raises CorollaryError if it cannot be read, is damaged, or is no snapshot.

        ``remedy`` is as for ``ColumnFile``.
        """
        self._file = file = ColumnFile(place, *remedy)
        self.place, self.header, self.damage, about = place, file.header, file.damage, file.about
        names = (self._text(about.get(name)) for name in ("fingerprint", "rules", "corollary"))
        is_alone, text = about.get("schema_is_alone") is True, self._text(about.get("program"))
        self.closed = ClosedUnder(*names, schema_is_alone=is_alone, text=text)
        counts = about.get("terms")
        if about.get("format") != FORMAT or not isinstance(counts, list) or len(counts) != len(BULK_KINDS):
            raise file.damage("its directory is not that of a snapshot")
        if not all(type(count) is int and 0 <= count <= INDEX_MASK for count in counts):
            raise file.damage("the number of its terms makes no sense")
        self._ids = IdCheck(tuple(counts))
        tables = (MappedTextTable(file, TABLES[k], n) for k, n in zip(BULK_KINDS, counts, strict=True))
        self.dictionary = TermDictionary.of_tables(list(tables))
        self._predicates = file.column("facts.predicates", "u4")
        self._closures = MappedClosures(file, self._predicates.size, self._ids)
        # a relation takes 3 µs with the search for garbage, and 1 µs without
        self._relations = uncollected(self._read_relations)
        predicates = self._predicates.tolist()
        self.facts = TripleIndex(dict(zip(predicates, self._relations, strict=True)))
        self.others = {name: file.column(f"others.{name}", "u1").tobytes() for name in NAMES}
        for name in set(NAMES) - {"prefixes"}:
            if len(self.others[name]) % 4:
                raise file.damage("ids are cut off")
            self._refuse_unknown(np.frombuffer(self.others[name], "<u4"))

    def _text(self, value: object) -> str | None:
        if value is not None and not isinstance(value, str):
            raise self._file.damage("its directory is not that of a snapshot")
        return value

    def _refuse_unknown(self, ids: Any) -> None:
        if not self._ids.are_known(ids):
            raise self._file.damage("it mentions terms that it does not have")

    def _read_relations(self) -> list[Relation]:
        """The relations of I. Raises DamagedFile if the table of relations makes no sense."""
        file = self._file
        count = self._predicates.size
        starts = file.column("facts.starts", "i8", count + 1)
        columns = [file.column("facts.legal", "i8", count)]
        columns += [file.column(f"facts.{name}", "u4", count) for name in ("subjects", "objects")]
        sizes = np.diff(starts)
        self._refuse_unknown(self._predicates)
        closures = self._closures
        is_listed = np.ones(count, np.bool_)
        is_listed[list(closures.sizes)] = False
        ascend = starts[0] == 0 and (np.diff(self._predicates.astype(np.int64)) > 0).all()
        ascend = ascend and (sizes >= 0).all() and np.array_equal(sizes > 0, is_listed)
        sizes[~is_listed] = list(closures.sizes.values())
        if not ascend or any((column < 0).any() or (column > sizes).any() for column in columns):
            raise file.damage("its table of relations makes no sense")
        orders = MappedOrders.of(file, starts, self._ids)
        places = starts.tolist()
        rows = zip(places[:-1], places[1:], *(column.tolist() for column in columns), strict=True)
        relations = [
            Relation.of_known(MappedPairs(orders, start, end, (subjects, objects)), legal)
            for start, end, legal, subjects, objects in rows
        ]
        for row in closures.sizes:
            relations[row] = closures.relation(row, int(columns[0][row]))
        return relations

    @cached_property
    def quads(self) -> Quads:
        """E by graph. Raises DamagedFile if the table of parts makes no sense."""
        graphs = self._file.column("graphs", "u4")
        self._refuse_unknown(graphs)
        names = graphs.tolist()
        if len(set(names)) != len(names):
            raise self._file.damage("a graph is there twice")
        kinds, parts = self._parts(FIRST_GRAPH + len(names))
        predicates = self._predicates.tolist()
        wholes = dict(enumerate(self._relations))
        indexes: list[TripleIndex] = []
        for number in range(FIRST_GRAPH + len(names)):
            first, end = np.searchsorted(kinds["holder"], (number, number + 1)).tolist()
            rows = kinds["relation"][first:end].tolist()
            if not wholes.keys() >= set(rows):
                raise self._file.damage("its table of parts makes no sense")
            found = {row: wholes[row] for row in rows}
            for place in (first + np.flatnonzero(kinds["kind"][first:end] != SAME)).tolist():
                row = rows[place - first]
                found[row] = self._part(next(parts), wholes[row])
            indexes.append(TripleIndex({predicates[row]: relation for row, relation in found.items()}))
            if number == UNION:
                wholes = found
        union, shared, *others = indexes
        return Quads(dict(zip(names, others, strict=True)), union, {}, shared)

    def version(
        self,
        terms_over: Callable[[TermDictionary], TermView],
        options: Options,
        persistence: Persistence[Version] | None,
    ) -> Version:
        """The version that the snapshot holds, without its I. Raises DamagedFile."""
        read = Version(terms_over(self.dictionary), options, self.quads, persistence=persistence)
        try:
            return with_others(read, self.others)
        except NONSENSE as error:
            raise self._file.damage(f"a name makes no sense: {error}") from error

    def _parts(self, indexes: int) -> tuple[dict[str, Column], Iterator[_Part]]:
        """The table of parts, in order and within its bounds, and the parts that are not the whole."""
        file = self._file
        count = file.section("parts.holder", "u4").length
        kinds = {name: file.column(f"parts.{name}", dtype, count) for name, dtype in _KINDS.items()}
        others = kinds["kind"][kinds["kind"] != SAME]
        places = [file.column(f"parts.{name}", "i8", others.size) for name in _PLACES]
        order = kinds["holder"].astype(np.uint64) << np.uint64(32) | kinds["relation"]
        is_sane = (order[1:] > order[:-1]).all() and all((column >= 0).all() for column in places)
        is_sane = is_sane and (kinds["holder"] < indexes).all() and (others <= KEYS).all()
        if not is_sane or (kinds["relation"] >= self._predicates.size).any() or not places[0].all():
            raise file.damage("its table of parts makes no sense")
        return kinds, map(_Part, others.tolist(), *(column.tolist() for column in places))

    def _part(self, part: _Part, whole: Relation) -> Relation:
        """A part of a relation. Raises DamagedFile if it has more facts."""
        if not part.legal <= part.size <= len(whole):
            raise self._file.damage("its table of parts makes no sense")
        return Relation.of_known(PartOfPairs(part.size, partial(self._keys_of, part, whole)), part.legal)

    def _keys_of(self, part: _Part, whole: Relation) -> Keys:
        """The keys of a part. Raises DamagedFile unless the whole has them, and there are as many as said."""
        if whole.is_compressed and part.kind == MASK:
            raise self._file.damage("its table of parts makes no sense")
        section = self._file.section(*(("parts.masks", "u1") if part.kind == MASK else ("parts.keys", "u8")))
        start, end = part.start, part.start + (-(-len(whole) // 8) if part.kind == MASK else part.size)
        if end > section.length:
            raise self._file.damage("its table of parts makes no sense")
        width = section.size // max(section.length, 1)
        self._file.check(section.offset + width * start, width * (end - start))
        content = self._file.unchecked(section)[start:end]
        if part.kind == MASK:
            bits = np.unpackbits(content, count=len(whole), bitorder="little").view(np.bool_)
            keys = whole.pairs().keys[bits]
        else:
            keys = content
            is_part = bool((keys[1:] > keys[:-1]).all() and self._ids.are_known(keys.view(np.uint32)))
            if not is_part or not whole.contains(keys).all():
                raise self._file.damage("a part has facts that the whole lacks")
        if keys.size != part.size:
            raise self._file.damage("a part has more or less facts than its table says")
        return keys

    def check_whole(self) -> None:
        """Read and check everything. Raises DamagedFile."""
        self._file.check_all()
        for table in self.dictionary.tables():
            table.coded(), table.slots(len(table))
        for index in (self.facts, self.quads.union, self.quads.shared, *self.quads.graphs.values()):
            for _, relation in index.relations():
                if not relation.is_compressed:
                    relation.pairs().by_object  # noqa: B018 - checked at its first use
        self._closures.check_all(self._relations)
        for relation in self._relations:
            if not relation.is_compressed:
                self._refuse_other_counts(relation)

    def _refuse_other_counts(self, relation: Relation) -> None:
        """Raise DamagedFile if a relation's statistics are not those of its facts."""
        pairs = Pairs(relation.pairs().keys, relation.pairs().by_object)
        found = Relation(pairs)
        of_known = relation.legal_count(), relation.subject_count(), relation.object_count()
        if of_known != (found.legal_count(), found.subject_count(), found.object_count()):
            raise self._file.damage("the statistics of a relation are not those of its facts")
