"""What the tasks of partition-parallel reasoning do: cut facts into partitions, close one, write files.

A partition has the facts whose subject is at home there, and the copies (``program_cut``) whose object is.
Everything that a task knows it reads from rows; everything that it finds out leaves it as rows:

| row | its facts |
|---|---|
| ``explicit`` | explicit facts at home in the partition |
| ``added`` | explicit facts at home in the partition that a closed data set lacks, whose change is followed |
| ``own`` | inferred facts at home in the partition |
| ``kept`` | other facts that the partition has derived, so that it hands out none twice |
| ``sent`` | facts at home in the partition that another one derived |
| ``report`` | none: the counts of a round, and a sample of the new facts, as JSON |
"""

from __future__ import annotations

import json
from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from hashlib import sha256
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray
from pyarrow import parquet

from corollary.columns import FIRST_VIRTUAL, Candidates, Delta, TripleIndex
from corollary.columns.pairs import among, difference, distinct, firsts, pack, seconds
from corollary.columns.triples import grouped
from corollary.evaluate import CannotAdopt, adopt, materialise
from corollary.evaluate.engine import Engine
from corollary.kernels.sorted import Keys, Mask
from corollary.language import Program, format_program
from corollary.loaders.encoded_format import COLUMNS, GENERALISED, INFERRED
from corollary.loaders.formats import input_error
from corollary.loaders.spark.encoded_tables import FACTS
from corollary.loaders.spark.packed_facts import TaskIds, gather, homes, large_tables, packed_rows, row
from corollary.loaders.spark.tuning import FACTS_PER_SAMPLE, MAX_BYTES_PER_ROW
from corollary.loaders.tuning import ROWS_PER_GROUP
from corollary.modules.module import ModuleRejectsRule
from corollary.terms.dictionary import FIRST_BLANK_NODE, FIRST_LITERAL, KIND_SHIFT, Kind, TermDictionary

if TYPE_CHECKING:
    from corollary.loaders.spark.program_cut import ProgramCut

Batches = Iterator[pa.RecordBatch]

Fact = tuple[int, int, int]
"""The predicate, subject and object of a fact, as global ids."""

EXPLICIT, ADDED, OWN, KEPT, SENT, REPORT = "explicit", "added", "own", "kept", "sent", "report"

FIRST, FOLLOWING, LATER = "first", "following", "later"
"""What a round begins with: explicit facts; a closed data set, and facts that are added; earlier rounds."""

FILES = "name string, content binary, rows long, digest string"
"""The rows for finished files of a data set."""

_FILES = pa.schema(
    [("name", pa.string()), ("content", pa.binary()), ("rows", pa.int64()), ("digest", pa.string())]
)


@dataclass(frozen=True)
class Work:
    """What every task needs: the rules, the facts that all partitions have, and where terms are at home.

    ``program`` are the rules for partitions, over ``dictionary``. ``everywhere`` are facts that all
    partitions have, closed under the program. ``slots`` has the value of the column ``target`` for each
    partition. The others are those of ``ProgramCut``.
    """

    program: Program
    dictionary: TermDictionary
    ids: TaskIds
    everywhere: dict[int, Keys]
    copies: dict[int, int]
    replicas: frozenset[int]
    steps: frozenset[int]
    away: dict[int, int]
    internal: range
    watched: frozenset[int]
    expected: dict[int, Keys]
    slots: tuple[int, ...]

    @staticmethod
    def of(cut: ProgramCut, ids: TaskIds, slots: tuple[int, ...]) -> Work:
        """The work for a cut. ``ids`` are over its dictionary."""
        return Work(
            cut.program,
            cut.dictionary,
            ids,
            cut.everywhere,
            cut.copies,
            cut.replicas,
            cut.steps,
            cut.away,
            cut.internal,
            cut.watched,
            cut.expected,
            slots,
        )

    def digest(self) -> str:
        """A checksum. Rows of tasks whose work has the same checksum mean the same."""
        content = sha256(format_program(self.program).encode())
        for kind in Kind:
            first = kind << KIND_SHIFT
            terms = self.dictionary.decode_all(range(first, first + self.dictionary.count(kind)))
            content.update("\n".join(("", *terms)).encode("utf-8", "surrogatepass"))
        content.update(self.ids.content())
        for facts in (self.everywhere, self.expected):
            for predicate, keys in sorted(facts.items()):
                content.update(b"%d" % predicate + keys.tobytes())
            content.update(b";")
        names = (self.copies, sorted(self.replicas), sorted(self.steps), self.away, self.internal)
        content.update(repr((names, sorted(self.watched), self.slots)).encode())
        return content.hexdigest()

    def cut(self, what: str, *, copies: bool = False) -> Callable[[Batches], Batches]:
        """The function from facts with global ids to rows at their homes, and to rows of their ``copies``."""

        def cut(batches: Batches) -> Batches:
            for table in large_tables(batches):
                columns = (self.ids.inward(table.column(name).to_numpy()) for name in COLUMNS)
                predicates, subjects, objects = columns
                facts = dict(grouped(predicates, pack(subjects, objects)))
                yield from self._rows(what, facts)
                if copies:
                    yield from self._rows(KEPT, {c: facts[p] for c, p in self.copies.items() if p in facts})

        return cut

    def close(self, stage: str) -> Callable[[Batches], Batches]:
        """The function from all rows of some partitions to the rows that these add in one round.

        A partition to which nothing was sent adds nothing in a LATER round.
        """

        def close(batches: Batches) -> Batches:
            held: dict[int, dict[str, Candidates]] = {}
            for what, target, content in _contents(batches):
                gather(content, held.setdefault(target, {}).setdefault(what, {}))
            for target in sorted(held):
                of_target = held.pop(target)
                if stage != LATER or SENT in of_target:
                    yield from self._closed(target, of_target, stage)

        return close

    def _closed(self, target: int, held: dict[str, Candidates], stage: str) -> Batches:
        explicit, added, own, kept, sent = (
            Delta.gathered(held.get(what, {})) for what in (EXPLICIT, ADDED, OWN, KEPT, SENT)
        )
        everywhere = Delta(self.everywhere)
        known = explicit | own | kept | everywhere
        new = self._new(known, (sent | added) - known, target, stage)
        found: dict[str, dict[int, Keys]] = {OWN: {}, KEPT: {}, SENT: {}}
        for predicate, keys in new.items():
            is_at_home = self._at_home(predicate, keys, target)
            is_own = is_at_home & (predicate not in self.internal)
            _append(found[OWN], predicate, keys[is_own])
            found[KEPT][predicate] = keys[~is_own]
            leaves = self._is_derived_here(keys, target) if predicate in self.replicas else ~is_at_home
            _append(found[SENT], self.away.get(predicate, predicate), keys[leaves])
        if stage != LATER:
            explicit |= added
            stated = self._stated(everywhere, target)
            found[OWN] = dict(((Delta(found[OWN]) | own | stated) - explicit).items())
            found[KEPT] = dict((Delta(found[KEPT]) | kept).items())
            yield from packed_rows(EXPLICIT, target, dict(explicit.items()))
        for what in (OWN, KEPT):
            yield from packed_rows(what, target, found[what])
        yield from self._rows(SENT, found[SENT], but_for=target)
        more = own - everywhere if stage == FOLLOWING else Delta({})
        named = {self.away.get(p, p) for p in new.all_predicates()}.union(more.all_predicates())
        is_void = not self.watched.isdisjoint(named)
        schema = [*self._expected_in(new), *self._expected_in(more)]
        report = {"is_void": is_void, "schema": schema, **self._report(found)}
        yield row(REPORT, target, json.dumps(report).encode())

    def _expected_in(self, facts: Delta) -> list[list[int]]:
        """The facts that are expected schema, as global ids."""
        found: list[list[int]] = []
        for predicate, keys in facts.items():
            name = self.away.get(predicate, predicate)
            if name in self.expected:
                expected = self.expected[name]
                columns = self._columns(name, expected[among(expected, keys)])
                found += np.stack(columns, axis=1).tolist()
        return found

    def _stated(self, everywhere: Delta, target: int) -> Delta:
        """The facts that all partitions have, at their homes."""
        own = everywhere.only(lambda p: p not in self.internal)
        return Delta({p: keys[self._at_home(p, keys, target)] for p, keys in own.items()})

    def _new(self, known: Delta, arrived: Delta, target: int, stage: str) -> Delta:
        """The facts that are new in a partition: those that arrived, and what follows.

        Precondition: unless the stage is FIRST, the known facts are closed under the program, but for facts
        that other partitions have. (Those of a closed data set lack what would go away.)
        """
        facts = TripleIndex(known.relations_of(known.all_predicates()))
        if stage == LATER or (stage == FOLLOWING and not self.steps):  # a closed data set has no steps
            try:
                view = adopt(facts, facts, self.program, self.dictionary, schema_is_alone=True)
                view.engine.add(arrived.candidates())
                return self._settled(view.engine, target) - facts
            except (CannotAdopt, ModuleRejectsRule):
                pass  # start from scratch
        whole = known | arrived
        together = TripleIndex(whole.relations_of(whole.all_predicates()))
        view = materialise(together, self.program, self.dictionary)
        return self._settled(view.engine, target) - facts

    def _settled(self, engine: Engine, target: int) -> Delta:
        """All facts, after those that were to go away, but are at home here, have been added."""
        while True:
            index = engine.fixpoint.index
            coming: Candidates = {}
            for predicate, own in self.away.items():
                keys = index.keys(predicate)
                keys = difference(keys[self._at_home(own, keys, target)], index.keys(own))
                if keys.size:
                    coming[own] = [keys]
            if not coming:
                return Delta.of_relations(
                    index.relations_of(
                        p for p in index.all_predicates() if p < FIRST_VIRTUAL or p in self.internal
                    )
                )
            engine.add(coming)

    def _homes(self, predicate: int, keys: Keys) -> NDArray[np.uint16]:
        """The number of the partition where each fact is at home: by subject, copies by object.

        Precondition: the predicate is not one of replicas.
        """
        return homes(seconds(keys) if predicate in self.copies else firsts(keys), len(self.slots))

    def _at_home(self, predicate: int, keys: Keys, target: int) -> Mask:
        if predicate in self.replicas:
            return np.ones(keys.size, np.bool_)
        found: Mask = self._homes(predicate, keys) == self.slots.index(target)
        return found

    def _is_derived_here(self, keys: Keys, target: int) -> Mask:
        """The replicas of facts that are at home in the partition."""
        found: Mask = homes(firsts(keys), len(self.slots)) == self.slots.index(target)
        return found

    def _rows(self, what: str, facts: Mapping[int, Keys], but_for: int | None = None) -> Batches:
        """Facts as rows at their homes, but for those at home in one partition."""
        parts: dict[int, dict[int, Keys]] = {home: {} for home in range(len(self.slots))}
        for predicate, keys in facts.items():
            if predicate in self.replicas:
                for of_home in parts.values():
                    of_home[predicate] = keys
                continue
            for home, own in grouped(self._homes(predicate, keys).astype(np.uint32), keys):
                parts[home][predicate] = own
        for home, target in enumerate(self.slots):
            if target != but_for:
                yield from packed_rows(what, target, parts[home])

    def _report(self, found: Mapping[str, Mapping[int, Keys]]) -> dict[str, object]:
        sample: list[list[int]] = []
        for predicate, keys in found[OWN].items():
            columns = self._columns(predicate, keys[::FACTS_PER_SAMPLE])
            sample += np.stack(columns, axis=1).tolist()
        sizes = {what: sum(keys.size for keys in facts.values()) for what, facts in found.items()}
        return {**sizes, "sample": sample}

    def _columns(self, predicate: int, keys: Keys) -> list[NDArray[np.int64]]:
        """Predicates, subjects and objects as global ids."""
        names = self.ids.outward(np.full(1, predicate, np.uint32))
        ends = (self.ids.outward(column) for column in (firsts(keys), seconds(keys)))
        return [np.repeat(names, keys.size), *ends]

    def naming(self, predicates: Sequence[int] | None, terms: Sequence[int]) -> Callable[[Batches], Batches]:
        """The function from rows to those of the terms that are in facts of the predicates, by global ids.

        None stands for all predicates.
        """
        wanted = {int(p) for p in self.ids.inward(np.array(predicates or (), np.int64))}
        known = np.sort(self.ids.inward(np.array(terms, np.int64)))

        def find(batches: Batches) -> Batches:
            for predicate, keys in _facts_of(batches):
                is_wanted = predicates is None or predicate in wanted
                for ends in (firsts(keys), seconds(keys)) if is_wanted else ():
                    found = self.ids.outward(distinct(ends[among(ends, known)]))
                    yield pa.RecordBatch.from_arrays([pa.array(found)], names=["id"])

        return find

    # The result

    def sorted_into(self, bounds: Sequence[Fact]) -> Callable[[Batches], Batches]:
        """The function from rows to rows for files of a data set, with global ids.

        The target of a row is the number of its file: that of the ``bounds``, which ascend, up to its facts.
        """

        def into_files(batches: Batches) -> Batches:
            for predicate, keys in _facts_of(batches):
                names, *ends = self._columns(predicate, keys)
                name, ordered = int(names[0]), np.sort(pack(*(end.astype(np.uint32) for end in ends)))
                for number, piece in cut_at(bounds, name, ordered):
                    legal = 0
                    if name < FIRST_BLANK_NODE:
                        legal = int(np.searchsorted(piece, np.uint64(FIRST_LITERAL << 32)))
                    yield from packed_rows(INFERRED, number, {name: piece[:legal]})
                    yield from packed_rows(GENERALISED, number, {name: piece[legal:]})

        return into_files


def bounds_of(sample: Sequence[Fact], files: int) -> list[Fact]:
    """The last facts of all files but one, by a sample of facts that ascend."""
    return sorted({sample[len(sample) * n // files] for n in range(1, files)} if sample else ())


def cut_at(bounds: Sequence[Fact], name: int, keys: Keys) -> Iterator[tuple[int, Keys]]:
    """The facts of a predicate by file: the number of the file, that of the ``bounds`` up to them, and keys.

    Bounds and keys ascend.
    """
    first, last = (bisect_right(bounds, (name, end, end)) for end in (-1, 1 << 32))
    inner = np.array([s << 32 | o for _, s, o in bounds[first:last]], np.uint64)
    yield from enumerate(np.split(keys, np.searchsorted(keys, inner)), first)


def _append(facts: dict[int, Keys], predicate: int, keys: Keys) -> None:
    facts[predicate] = np.concatenate((facts[predicate], keys)) if predicate in facts else keys


def written(batches: Batches) -> Batches:
    """From all rows for some files of a data set to the files."""
    held: dict[tuple[str, int], Candidates] = {}
    for what, target, content in _contents(batches):
        gather(content, held.setdefault((what, target), {}))
    for (part, number), found in sorted(held.items()):
        facts = Delta.gathered(found)
        subjects, predicates, objects = facts.columns(legal=False)
        table = pa.table(dict(zip(COLUMNS, (predicates, subjects, objects), strict=True)))
        yield file_row(f"{part}/part-{number:05}.parquet", [table])


def file_row(name: str, tables: Iterable[pa.Table]) -> pa.RecordBatch:
    """A file of a data set as a row. Precondition: there is a table, and all have the same columns.

    Raises InputError, in one line, for more bytes than a row may have.
    """
    sink, rows = pa.BufferOutputStream(), 0
    writer: parquet.ParquetWriter | None = None
    for table in tables:
        writer = writer or parquet.ParquetWriter(
            sink, table.schema, compression="zstd", use_dictionary=["predicate"]
        )
        writer.write_table(table, ROWS_PER_GROUP)
        rows += table.num_rows
    assert writer is not None, name
    writer.close()
    content = sink.getvalue()
    if content.size > MAX_BYTES_PER_ROW:
        raise input_error(f"{name} has {content.size:,} bytes, where 2 GB are the limit: give more --files")
    file = content.to_pybytes()
    columns = [[name], [file], [rows], [sha256(file).hexdigest()]]
    return pa.RecordBatch.from_arrays([pa.array(column) for column in columns], schema=_FILES)


def outlined(known: NDArray[np.int64], any_resource: int, any_literal: int) -> Callable[[Batches], Batches]:
    """The function from facts to their distinct forms with ``any_...`` in place of terms that are not known.

    ``known`` ascends. All ids are global.
    """

    def outline(batches: Batches) -> Batches:
        found: set[Fact] = set()
        for table in large_tables(batches):
            names, *ends = (table.column(name).to_numpy() for name in COLUMNS)
            ends = [end.copy() for end in ends]
            for end in ends:
                is_new = ~among(end, known)
                end[is_new] = np.where(end[is_new] < FIRST_LITERAL, any_resource, any_literal)
            keys = pack(*(end.astype(np.uint32) for end in ends))
            for name, part in grouped(names, keys):
                found |= {(name, key >> 32, key & 0xFFFFFFFF) for key in distinct(part).tolist()}
        columns = np.array(sorted(found), np.int64).reshape(-1, 3).T
        yield pa.RecordBatch.from_arrays([pa.array(column) for column in columns], schema=FACTS)

    return outline


def _contents(batches: Batches) -> Iterator[tuple[str, int, pa.Buffer]]:
    """The columns of all rows."""
    for batch in batches:
        whats, targets = batch.column("what").to_pylist(), batch.column("target").to_pylist()
        for what, target, content in zip(whats, targets, batch.column("content"), strict=True):
            yield what, target, content.as_buffer()


def _facts_of(batches: Batches) -> Iterator[tuple[int, Keys]]:
    """The facts of all rows, by predicate. A batch at a time."""
    for batch in batches:
        found: Candidates = {}
        for content in batch.column("content"):
            gather(content.as_buffer(), found)
        for predicate, parts in found.items():
            yield predicate, np.concatenate(parts)
