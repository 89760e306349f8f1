"""What tasks do to find the facts that may be in an inconsistency (``clash_count``). All ids are global.

Tasks join premises of a constraint that share a subject or an object (a *meeting*), and hand out the facts
that have partners. Invariant: a fact of a binding of the constraint is never left out.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum

import numpy as np
import pyarrow as pa

from corollary.columns import Candidates, TripleIndex
from corollary.columns.delta import Delta
from corollary.columns.pairs import among, distinct, firsts, pack, seconds
from corollary.columns.triples import grouped
from corollary.execute.batches import Batch
from corollary.execute.context import ExecutionContext
from corollary.execute.run_plan import emit, extend, run, sizes
from corollary.kernels.sorted import Column, Keys, Mask, Rows
from corollary.loaders.encoded_format import COLUMNS
from corollary.loaders.spark.packed_facts import gather, homes, large_tables, packed_rows
from corollary.plan.delta_plans import full_plan
from corollary.plan.steps import Age
from corollary.program.compile import Atom, CompiledRule
from corollary.terms.dictionary import FIRST_LITERAL, TermDictionary

Batches = Iterator[pa.RecordBatch]

NUMBERED = f"number int, {', '.join(f'{name} long' for name in COLUMNS)}"
"""Rows of facts, with the number of the pattern that they match, or of the meeting that they are from."""

_NUMBERED = pa.schema([("number", pa.int32()), *((name, pa.int64()) for name in COLUMNS)])

FACTS = "facts"
"""The ``what`` of packed rows between the tasks."""


@dataclass(frozen=True, slots=True)
class Pattern:
    """A condition on facts: each of their terms is among some ids, which ascend; None stands for all ids.

    ``of_literals``: the subject is a literal.
    """

    predicates: Column | None = None
    subjects: Column | None = None
    objects: Column | None = None
    of_literals: bool = False

    @staticmethod
    def of(atom: Atom, allowed: Mapping[int, Column] | None = None, *, of_literals: bool = False) -> Pattern:
        """The condition that an atom is, with the values that are allowed for some variables."""
        values = allowed or {}

        def ids(term: int) -> Column | None:
            return np.array([term], np.uint32) if term >= 0 else values.get(term)

        return Pattern(ids(atom.p), ids(atom.s), ids(atom.o), of_literals)

    def matches(self, predicate: int, keys: Keys) -> Mask:
        """The facts of a predicate that match."""
        found: Mask = np.ones(keys.size, np.bool_)
        if self.predicates is not None and not among(np.array([predicate], np.uint32), self.predicates)[0]:
            return ~found
        for wanted, ends in ((self.subjects, firsts(keys)), (self.objects, seconds(keys))):
            if wanted is not None:
                found &= among(ends, wanted)
        if self.of_literals:
            found &= firsts(keys) >= FIRST_LITERAL
        return found


Route = tuple[Pattern, bool]
"""Facts, and whether they are joined by their objects, else by their subjects."""


@dataclass(frozen=True, slots=True)
class Meeting:
    """Premises of a constraint that share a variable, or a single one.

    ``rule`` has them as its atoms, and the filters on their variables that ids decide. ``rows`` binds some of
    their variables to what the schema allows. ``wanted`` are those of the atoms whose facts are asked for,
    with patterns for these facts, which get a ``number``.
    """

    rule: CompiledRule
    rows: Batch
    wanted: tuple[tuple[Atom, tuple[Pattern, ...]], ...]
    number: int = 0

    def facts(self, index: TripleIndex) -> Candidates:
        """The wanted facts that have partners in an index."""
        found: Candidates = {}
        if not self.rows.size:
            return found
        plan, context = full_plan(self.rule, sizes(index)), ExecutionContext(TermDictionary())
        for atom, patterns in self.wanted:
            facts: Candidates = {}
            emit((atom,), run(plan, {Age.ALL: index}, self.rule, context, self.rows, atom.variables), facts)
            for predicate, parts in facts.items():
                keys = np.concatenate(parts)
                found.setdefault(predicate, []).append(keys[_any(patterns, predicate, keys)])
        return found


class Share(Enum):
    """Which of the facts that match a pattern are asked for: from each table at least those."""

    ONE = "one, if there is any"
    ONE_OF_EACH_OBJECT = "one of each object"
    ALL = "all"


def numbered(patterns: Sequence[tuple[Pattern, Share]]) -> Callable[[Batches], Batches]:
    """The function from facts to those that match patterns, with their numbers (``NUMBERED``)."""

    def find(batches: Batches) -> Batches:
        for facts in _by_predicate(batches, [pattern for pattern, _ in patterns]):
            for number, (pattern, share) in enumerate(patterns):
                for predicate, keys in facts.items():
                    matching = keys[pattern.matches(predicate, keys)]
                    if share is Share.ONE_OF_EACH_OBJECT:
                        matching = matching[_first_of_each(seconds(matching))]
                    if matching.size:
                        yield _rows(number, predicate, matching[:1] if share is Share.ONE else matching)
                        if share is Share.ONE:
                            break

    return find


def routed(routes: Iterable[Route], slots: Sequence[int]) -> Callable[[Batches], Batches]:
    """The function from facts to packed rows for the partitions of ``slots`` where they are joined."""
    by_end = {is_object: [p for p, end in routes if end is is_object] for is_object in (False, True)}
    patterns = [pattern for those in by_end.values() for pattern in those]

    def route(batches: Batches) -> Batches:
        for facts in _by_predicate(batches, patterns):
            parts: dict[int, Candidates] = {}
            for predicate, keys in facts.items():
                for is_object, those in by_end.items():
                    own = keys[_any(those, predicate, keys)]
                    places = homes(seconds(own) if is_object else firsts(own), len(slots))
                    for place, part in grouped(places.astype(np.uint32), own):
                        parts.setdefault(place, {}).setdefault(predicate, []).append(part)
            for place, found in sorted(parts.items()):
                joined = {predicate: np.concatenate(keys) for predicate, keys in found.items()}
                yield from packed_rows(FACTS, slots[place], joined)

    return route


def joined(meetings: Sequence[Meeting]) -> Callable[[Batches], Batches]:
    """The function from packed rows of partitions to the facts that have partners there (``NUMBERED``)."""

    def join(batches: Batches) -> Batches:
        held: dict[int, Candidates] = {}
        for batch in batches:
            targets = batch.column("target").to_pylist()
            for target, content in zip(targets, batch.column("content"), strict=True):
                gather(content.as_buffer(), held.setdefault(target, {}))
        for target in sorted(held):
            facts = Delta.gathered(held.pop(target))
            index = TripleIndex(facts.relations_of(facts.all_predicates()))
            found: dict[int, Candidates] = {}
            for meeting in meetings:
                extend(found.setdefault(meeting.number, {}), meeting.facts(index))
            for number, candidates in found.items():
                for predicate, keys in Delta.gathered(candidates).items():
                    yield _rows(number, predicate, keys)

    return join


def _first_of_each(column: Column) -> Rows:
    """The positions of the first row of each value."""
    order = np.argsort(column, kind="stable")
    ordered = column[order]
    is_first = np.ones(order.size, np.bool_)
    is_first[1:] = ordered[1:] != ordered[:-1]
    found: Rows = order[is_first]
    return found


def _any(patterns: Iterable[Pattern], predicate: int, keys: Keys) -> Mask:
    """The facts of a predicate that match one of some patterns."""
    found: Mask = np.zeros(keys.size, np.bool_)
    for pattern in patterns:
        found |= pattern.matches(predicate, keys)
    return found


def _by_predicate(batches: Batches, patterns: Iterable[Pattern]) -> Iterator[Mapping[int, Keys]]:
    """The facts of a table at a time whose predicate some pattern has."""
    named = [pattern.predicates for pattern in patterns]
    known = [names for names in named if names is not None]
    some = distinct(np.concatenate([np.empty(0, np.uint32), *known]))
    for table in large_tables(batches):
        names, *ends = (table.column(name).to_numpy().astype(np.uint32) for name in COLUMNS)
        if len(known) == len(named):
            rows = among(names, some)
            names, ends = names[rows], [end[rows] for end in ends]
        yield dict(grouped(names, pack(*ends)))


def _rows(number: int, predicate: int, keys: Keys) -> pa.RecordBatch:
    columns = (
        np.full(keys.size, number, np.int32),
        np.full(keys.size, predicate, np.int64),
        firsts(keys).astype(np.int64),
        seconds(keys).astype(np.int64),
    )
    return pa.RecordBatch.from_arrays([pa.array(column) for column in columns], schema=_NUMBERED)
