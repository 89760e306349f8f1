"""The list module: RDF lists as virtual relations.

From rdf:first and rdf:rest the module derives, for the lists that rules read:

    MEMBER(l, x)     x is an item of the list l
    REPEATED(l, x)   x is an item at two positions
    READING(l, k)    k is a reading of l
    CELL(k, c)       c is a cell of the reading k
    LONG(l, k)       k is a reading of l with more than ``max_short`` items
    LIST_n(l, k)     k is a reading of l, n items long (n >= 1)
    ITEM_i(k, x)     x is item number i of the reading k

A list is well formed if it ends in rdf:nil; other lists have no reading. A *reading* is a path from cell to
cell along rdf:rest. Its items are all rdf:first values of the cells. A cell has several values if owl:sameAs
gives an item several names. A cell may also have several rests: then paths whose cells have the same values
count as one reading. A reading never mixes paths: the readings (x a b) and (x c d) do not make (x a d).

Nearly all lists have one reading, whose id is the list itself. The ids of further readings are made from
their cells, so that the id of a reading does not change when others are added. ``ExecutionContext.readings``
has the cells of each reading in their order; CELL has no order. Long readings have LIST_n and ITEM_i only if
a rule is unrolled for them.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from hashlib import blake2b
from operator import is_

import numpy as np

from corollary.columns import Candidates, Relation, TripleIndex, grouped
from corollary.columns.key_sort import sort_keys
from corollary.columns.pairs import (
    NO_PAIRS,
    Pairs,
    difference,
    distinct_of_sorted,
    firsts,
    pack,
    seconds,
    sorted_unique,
)
from corollary.execute.context import ExecutionContext
from corollary.kernels.sorted import Column, Keys, Rows
from corollary.modules.module import Answer, Module, NewModules
from corollary.modules.tuning import MAX_READS_KEPT
from corollary.program.compile import CompiledRule
from corollary.program.compiled_program import LIST_BUILTINS, CompiledProgram, ProgramChange
from corollary.terms.dictionary import TermDictionary

RDF = "http://www.w3.org/1999/02/22-rdf-syntax-ns#"


Way = tuple[int, "Way | None"]
"""A path, from its last cell back to the first. Two paths of the same *kind* count as one reading: their
cells have the same rdf:first values."""


class Lists(Module):
    """The module of lists. ``lengths`` are the lengths of all readings so far."""

    name = "lists"
    why = "the cells and members of RDF lists"
    turn = 10
    derives_schema = True

    def __init__(
        self,
        dictionary: TermDictionary,
        leading: Iterable[int] | None,
        max_short: int | None = None,
        numbers_long: bool = True,
        cells: dict[int, tuple[int, ...]] | None = None,
    ) -> None:
        """``leading`` are the predicates whose objects are read as lists; None: every cell starts a list.

        Readings with more than ``max_short`` items are LONG; None: no reading is. They have LIST_n and
        ITEM_i only if ``numbers_long``.
        """
        self._dictionary = dictionary
        self._max_short = max_short
        self._numbers_long = numbers_long
        self._cells = {} if cells is None else cells
        self._first = dictionary.encode(f"<{RDF}first>")
        self._rest = dictionary.encode(f"<{RDF}rest>")
        self._nil = dictionary.encode(f"<{RDF}nil>")
        self._member = dictionary.encode("MEMBER")
        self._repeated = dictionary.encode("REPEATED")
        self._reading = dictionary.encode("READING")
        self._cell = dictionary.encode("CELL")
        self._long = dictionary.encode("LONG")
        self.rules: list[CompiledRule] = []
        self._leading = None if leading is None else frozenset(leading)
        self.sources = frozenset((self._first, self._rest)) | (self._leading or frozenset())
        self.lengths: set[int] = set()
        self._reported: set[int] = set()
        self.is_waiting = False
        self._ordered_sources = sorted(self.sources)
        self._last_read: list[tuple[list[Relation], Candidates]] = []

    @classmethod
    def is_needed(cls, program: CompiledProgram) -> bool:
        """Whether rules use list patterns, or the virtual relations of lists."""
        return program.uses(LIST_BUILTINS)

    @classmethod
    def schema_predicates(cls, program: CompiledProgram) -> Collection[int]:
        """rdf:first, rdf:rest, and the predicates whose objects are read as lists."""
        if not cls.is_needed(program):
            return ()
        return cls(program.dictionary, program.list_predicates()).sources

    @classmethod
    def make(cls, program: CompiledProgram, context: ExecutionContext) -> Lists:
        """A module for the lists that a program reads."""
        return cls(
            program.dictionary,
            program.list_predicates(),
            program.max_unrolled,
            program.unrolls_long_lists,
            context.readings,
        )

    def take_up(self, change: ProgramChange, facts: TripleIndex) -> None:
        """Raises ``NewModules`` if objects of other predicates have to be read as lists."""
        program = change.program
        if not self.is_needed(program):
            return
        asked = program.list_predicates(), program.unrolls_long_lists
        if asked != (self._leading, self._numbers_long):
            raise NewModules("the rules ask for other lists, and need other modules for that")

    def new_rules(self, program: CompiledProgram) -> Sequence[CompiledRule]:
        """The rules over lists of any length, unrolled for the lengths that occur."""
        return program.unroll(self.lengths)

    def reads(self, predicate: int) -> bool:
        """Whether facts of the predicate are cells of lists, or lead to lists."""
        return predicate in self.sources

    def feedback(self, predicate: int, new: Pairs) -> Pairs:
        """None: virtual relations of lists are no premises of the module."""
        return NO_PAIRS

    def add(self, facts: TripleIndex, recent: TripleIndex) -> Answer:
        """All facts of all readings of the lists in ``facts``. Updates ``lengths`` and the known readings."""
        self.is_waiting = False
        read = self._read(facts)
        self._reported.update(read)
        return Answer(read)

    def overdelete(self, facts: TripleIndex, deleted: TripleIndex, proved: TripleIndex) -> Answer:
        """All facts of the virtual relations, except those that follow from proved facts.

        Cost: that of reading all lists of the proved facts, whatever was deleted.
        """
        derived = {predicate: facts.keys(predicate) for predicate in self._reported}
        kept = self._read(proved)
        lost = {p: difference(keys, sorted_unique(kept[p][0])) if p in kept else keys
                for p, keys in derived.items()}  # fmt: skip
        return Answer({predicate: [keys] for predicate, keys in lost.items()})

    def propagate_proved(self, facts: TripleIndex, recent: TripleIndex, wanted: TripleIndex) -> Candidates:
        """The wanted facts among all readings of all lists in ``facts``."""
        return self.rederive(wanted, facts)

    def rederive(self, candidates: TripleIndex, facts: TripleIndex) -> Candidates:
        """The candidates among all readings of all lists in ``facts``."""
        asked = self._reported & set(candidates.all_predicates())
        derived = self._read(facts) if asked else {}
        return {p: list(map(candidates.relation(p).common, derived[p])) for p in asked & derived.keys()}

    def premises(self, candidates: TripleIndex, facts: TripleIndex, proved: TripleIndex) -> Candidates:
        """All facts that the module reads, if any candidate is in a virtual relation of lists."""
        if not self._reported & set(candidates.all_predicates()):
            return {}
        return {predicate: [facts.keys(predicate)] for predicate in self.sources}

    def commit_deletions(self, facts: TripleIndex, deleted: TripleIndex) -> None:
        """Let the next ``add`` read all lists again if facts that the module reads were deleted."""
        self.is_waiting = self.is_waiting or any(map(self.reads, deleted.all_predicates()))
        kept = facts.relation(self._reading)
        for key in deleted.keys(self._reading).tolist():
            if not kept.has_subject(key >> 32):  # the list has no reading now: forget the names
                self._cells.pop(key & 0xFFFFFFFF, None)
                self._last_read = []

    def _read(self, facts: TripleIndex) -> Candidates:
        """All facts of the virtual relations. They are kept for relations that are the same objects."""
        relations = [facts.relation(predicate) for predicate in self._ordered_sources]
        for known, found in self._last_read:
            if all(map(is_, known, relations)):
                return found
        found = self._read_anew(facts)
        self._last_read = [*self._last_read[1 - MAX_READS_KEPT :], (relations, found)]
        return found

    def _read_anew(self, facts: TripleIndex) -> Candidates:
        """As ``_read``. Cost: O(cells of all readings); the paths are followed in Python.

        If every cell starts a list, a list of n cells has n²/2 cells in its readings.
        """
        items = _successors(facts, self._first)
        rests = _successors(facts, self._rest)
        heads: list[int] = []
        names: list[int] = []
        cells: list[int] = []
        lengths: list[int] = []
        for head in self._heads(facts, rests):
            for way in self._readings(head, items, rests):
                heads.append(head)
                names.append(self._name(head, way))
                cells += way
                lengths.append(len(way))
        self.lengths.update(lengths)
        starts, readings, ways = (np.array(column, np.uint32) for column in (heads, names, cells))
        found = self._facts(facts, starts, readings, ways, np.array(lengths, np.int64))
        return {predicate: [keys] for predicate, keys in found if keys.size}

    def _facts(
        self, facts: TripleIndex, heads: Column, names: Column, cells: Column, lengths: Rows
    ) -> Iterator[tuple[int, Keys]]:
        """The facts of the virtual relations, for readings with their heads, names and lengths.

        ``cells`` are those of all readings, one after the other.
        """
        if not heads.size:
            return
        encode = self._dictionary.encode
        readings = np.repeat(np.arange(heads.size), lengths)
        positions = np.arange(cells.size) - np.repeat(np.cumsum(lengths) - lengths, lengths)
        rows, items = facts.relation(self._first).objects_of(cells)
        of_items = readings[rows]
        yield self._reading, pack(heads, names)
        yield self._cell, pack(names[readings], cells)
        yield self._member, pack(heads[of_items], items)
        ordered = sort_keys(pack(of_items.astype(np.uint32), items))
        twice = distinct_of_sorted(ordered[1:][ordered[1:] == ordered[:-1]])
        yield self._repeated, pack(heads[firsts(twice)], seconds(twice))
        is_long = lengths > (np.inf if self._max_short is None else self._max_short)
        yield self._long, pack(heads[is_long], names[is_long])
        numbered = np.ones(heads.size, np.bool_) if self._numbers_long else ~is_long
        of_length = grouped(lengths[numbered].astype(np.uint32), pack(heads[numbered], names[numbered]))
        for length, keys in of_length:
            yield encode(f"LIST_{length}"), keys
        chosen = numbered[of_items]
        at = positions[rows[chosen]].astype(np.uint32)
        for position, keys in grouped(at, pack(names[of_items[chosen]], items[chosen])):
            yield encode(f"ITEM_{position + 1}"), keys

    def _name(self, head: int, cells: tuple[int, ...]) -> int:
        """The id of a reading; its cells are noted. The first reading of a list has the list's id."""
        name = head
        if self._cells.setdefault(head, cells) != cells:
            digest = blake2b(np.array(cells, np.uint32).tobytes(), digest_size=16).hexdigest()
            name = self._dictionary.encode(f"READING_{digest}")
            self._cells[name] = cells
        return name

    def _heads(self, facts: TripleIndex, rests: dict[int, list[int]]) -> list[int]:
        if self._leading is None:
            return list(rests)
        heads: dict[int, None] = {}
        for predicate in sorted(self._leading):
            heads.update(dict.fromkeys(facts.relation(predicate).pairs().distinct_seconds().tolist()))
        return [head for head in heads if head in rests]

    def _readings(
        self, head: int, firsts: dict[int, list[int]], rests: dict[int, list[int]]
    ) -> list[tuple[int, ...]]:
        """The paths from a head to rdf:nil over cells with rdf:first, one path of each kind.

        A path passes no cell twice. Cost: O(cells), if no cell has several rests.
        """
        cells: list[int] = []
        cell = head
        while cell != self._nil:
            further = rests.get(cell, ())
            if len(further) > 1:
                return self._branching(head, firsts, rests)
            if not further or cell not in firsts or len(cells) == len(rests):  # the last: a cycle
                return []
            cells.append(cell)
            cell = further[0]
        return [tuple(cells)]

    def _branching(
        self, head: int, firsts: dict[int, list[int]], rests: dict[int, list[int]]
    ) -> list[tuple[int, ...]]:
        """As ``_readings``, where cells have several rests: of paths that meet, one of each kind continues.

        Cost: O(cells · kinds); in a cycle, O(cells² · kinds).
        """
        is_cyclic = _has_cycle(head, rests)
        numbers: dict[tuple[int, tuple[int, ...]], int] = {}  # of kinds: that of the path before, the values
        complete: dict[int, Way] = {}
        frontier: dict[int, dict[int, Way | None]] = {head: {-1: None}}
        while frontier:
            following: dict[int, dict[int, Way | None]] = {}
            for cell, ways in frontier.items():
                values = tuple(firsts.get(cell, ()))
                for number, way in ways.items() if values else ():
                    if is_cyclic and cell in _cells(way):
                        continue
                    kind = numbers.setdefault((number, values), len(numbers))
                    for rest in rests.get(cell, ()):
                        target = complete if rest == self._nil else following.setdefault(rest, {})
                        target.setdefault(kind, (cell, way))
            frontier = following
        return [_cells(way)[::-1] for way in complete.values()]


def _cells(way: Way | None) -> tuple[int, ...]:
    """The cells of a path, the last one first."""
    found: list[int] = []
    while way is not None:
        cell, way = way
        found.append(cell)
    return tuple(found)


def _has_cycle(head: int, rests: Mapping[int, list[int]]) -> bool:
    """Whether a cycle of rdf:rest can be reached from a cell: depth-first search."""
    open_: dict[int, int] = {}  # cells of the present path: the number of rests that were tried
    done: set[int] = set()
    path = [head]
    while path:
        cell = path[-1]
        further, tried = rests.get(cell, ()), open_.get(cell, 0)
        if tried == len(further):
            open_.pop(cell, None)
            done.add(path.pop())
            continue
        open_[cell] = tried + 1
        if further[tried] in open_:
            return True
        if further[tried] not in done:
            path.append(further[tried])
    return False


def _successors(facts: TripleIndex, predicate: int) -> dict[int, list[int]]:
    """Subject -> objects of a relation, as Python lists. Cost: O(facts of the predicate), in Python."""
    keys = facts.keys(predicate)
    found: dict[int, list[int]] = {}
    for key in keys.tolist():
        found.setdefault(key >> 32, []).append(key & 0xFFFFFFFF)
    return found
