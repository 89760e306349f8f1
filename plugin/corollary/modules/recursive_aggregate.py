"""The module of one recursive aggregate: least values V(y) over seeds and edges (``program.recursion``).

Facts of the predicate are of two kinds. *Seeds* are explicit, or derived by other rules. For each group y at
most one fact is *derived*: (y, V(y)), unless a seed of y has that value. Seeds are complete before the module
takes its turn, because the strata order it so.

V is computed from scratch on arrays (``execute.sums_along_paths``), and followed through a change by
``modules.least_values``. The module keeps no values: V(y) is the least value of y's facts.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from math import inf

import numpy as np

from corollary.columns import Candidates, Pairs, TripleIndex
from corollary.columns.key_sort import sort_keys
from corollary.columns.numbering import number_keys, numbered
from corollary.columns.pairs import NO_KEYS, distinct, firsts, pack, seconds
from corollary.execute.batches import Batch, concatenate, join
from corollary.execute.common_numbers import CommonNumbers, fractional_digits, scaled
from corollary.execute.context import ExecutionContext
from corollary.execute.filters import values
from corollary.execute.run_plan import inner_matches
from corollary.execute.sums_along_paths import EndlessDescent, exact_least_sums, least_sums
from corollary.expressions.operators import EXACT, Rank, Real
from corollary.kernels.least_sums import Lengths
from corollary.kernels.limits import LimitExceeded, at
from corollary.kernels.sorted import Column, Keys, Rows
from corollary.language import CorollaryError, Diagnostic, Span
from corollary.modules.module import Answer, Module
from corollary.modules.tuning import MAX_EXACT_FLOAT
from corollary.program.compile import CompiledRule, Grouping
from corollary.program.compiled_program import CompiledProgram
from corollary.program.recursion import RecursiveAggregate, recursive_aggregate


@dataclass(frozen=True, slots=True)
class Edges:
    """Edges as columns of ids: from a source to a group, with the term that is added to the value."""

    sources: Column
    groups: Column
    steps: Column

    def __len__(self) -> int:
        return int(self.steps.size)


class NoLeastValue(LimitExceeded):
    """The values of a recursive aggregate fall, or rise, without end: no limit would be enough."""

    def __init__(self, label: str, sense: str, where: str, span: Span | None) -> None:
        message = f"{label}: the values {sense} without end along a cycle of edges"
        remedy = "change or remove one of these edges, or the rule"
        CorollaryError.__init__(self, Diagnostic(message, span, remedy))
        self.limit, self.value, self.where = "terms", inf, where
        self._arguments = label, sense, where, span

    def __reduce__(self) -> tuple[type[NoLeastValue], tuple[str, str, str, Span | None]]:  # type: ignore[override]
        return NoLeastValue, self._arguments


class LeastValues(Module):
    """One recursive aggregate, in a stratum. ``maintain.recursive_stratum`` passes it the changes."""

    name = "recursive aggregate"
    why = "the least or greatest value over all paths: a fixpoint of sums on edges"
    turn = 90
    is_optional = False

    @classmethod
    def make(cls, program: CompiledProgram, context: ExecutionContext) -> LeastValues:
        """Never called: the module claims no monotone rules, and the engine makes it with its rule."""
        raise AssertionError

    def __init__(self, rule: CompiledRule, context: ExecutionContext) -> None:
        """Precondition: the rule is a recursive aggregate."""
        shape = recursive_aggregate(rule)
        assert shape is not None
        self.rules = [rule]
        self.shape: RecursiveAggregate = shape
        self.numbers = CommonNumbers(context.dictionary, is_max=shape.is_max, is_minus=shape.is_minus)
        self.may_fall = False  # whether a step was ever negative
        self.size = 0  # edges, when V was last computed from scratch
        self._context = context
        self.is_waiting = True
        self._witness: tuple[int, ...] = ()  # an edge or a seed that needs the rank of the numbers
        self._others = [_without(shape.edges, position) for position in range(len(shape.edges.atoms))]

    def remove_rules(self, numbers: Iterable[int], facts: TripleIndex) -> Candidates:
        """Remove the rule if it is among these. Returns all facts of its predicate then."""
        if not any(rule.number in numbers for rule in self.rules):
            return {}
        self.rules = []
        return {self.shape.predicate: [facts.keys(self.shape.predicate)]}

    def reads(self, predicate: int) -> bool:
        """False: the module receives no facts. It looks up what changed."""
        return False

    def feedback(self, predicate: int, new: Pairs) -> Pairs:
        """Nothing: V is a fixpoint."""
        return Pairs(NO_KEYS)

    def add(self, facts: TripleIndex, recent: TripleIndex) -> Answer:
        """The first turn: all facts of the predicate are seeds."""
        if not self.is_waiting:
            return Answer({})
        return Answer({self.shape.predicate: [self.evaluate(facts, facts.keys(self.shape.predicate))]})

    def overdelete(self, facts: TripleIndex, deleted: TripleIndex, proved: TripleIndex) -> Answer:
        """Nothing: the stratum's change decides about the predicate."""
        return Answer({})

    def propagate_proved(self, facts: TripleIndex, recent: TripleIndex, wanted: TripleIndex) -> Candidates:
        """Nothing, as ``overdelete``."""
        return {}

    def rederive(self, candidates: TripleIndex, facts: TripleIndex) -> Candidates:
        """Nothing, as ``overdelete``."""
        return {}

    def premises(self, candidates: TripleIndex, facts: TripleIndex, proved: TripleIndex) -> Candidates:
        """Nothing, as ``overdelete``."""
        return {}

    def commit_deletions(self, facts: TripleIndex, deleted: TripleIndex) -> None:
        """The module keeps no facts."""
        return

    def nonmonotone_reads(self) -> set[int]:
        """The predicates of the edges."""
        return {atom.p for atom in self.shape.edges.atoms}

    # Edges

    def edges(self, facts: TripleIndex, start: Batch | None = None) -> Edges:
        """The edges over ``facts`` that extend ``start``."""
        start = Batch.start() if start is None else start
        return self._edges_of(inner_matches(start, self.shape.edges, facts, self.rules[0], self._context))

    def changed_edges(self, facts: TripleIndex, changed: TripleIndex) -> Edges:
        """The edges over ``facts`` with a changed fact. Precondition: ``facts`` contain the changed facts."""
        parts = []
        for atom, others in zip(self.shape.edges.atoms, self._others, strict=True):
            start = join(Batch.start(), atom, changed)
            if start.size:
                parts.append(inner_matches(start, others, facts, self.rules[0], self._context))
        return self._edges_of(concatenate([part for part in parts if part.size]))

    def _edges_of(self, batch: Batch) -> Edges:
        if not batch.size:
            return Edges(*(np.zeros(0, np.uint32) for _ in range(3)))
        steps, valid = values(batch, self.shape.step, self.rules[0], self._context.dictionary)
        columns = batch.column(self.shape.source), batch.column(self.shape.group), steps
        return Edges(*columns) if valid.all() else Edges(*(column[valid] for column in columns))

    # Ranks

    def needs_rank(self, edges: Edges, seeds: Keys) -> Rank:
        """The rank that some edges and seeds need."""
        ranks = [self.numbers.rank_of(term, is_step=True) for term in distinct(edges.steps).tolist()]
        ranks += [self.numbers.rank_of(term, is_step=False) for term in distinct(seconds(seeds)).tolist()]
        return max((rank for rank in ranks if rank is not None), default=Rank.INTEGER)

    def may_follow(self, lost: Edges, new: Edges, lost_seeds: Keys, new_seeds: Keys) -> bool:
        """Whether values can be followed through a change; else they are computed from scratch.

        They cannot if the rank may change, by a higher one or the loss of the witness. They cannot if doubles
        may fall: rounding may end a descent that is given up when it begins from scratch.
        """
        if self._may_change_rank(lost, new, lost_seeds, new_seeds):
            return False
        steps = map(self.numbers.step, distinct(new.steps).tolist())
        self.may_fall |= any(step is not None and step < 0 for step in steps)
        return not (self.may_fall and self.numbers.rank == Rank.DOUBLE)

    def _may_change_rank(self, lost: Edges, new: Edges, lost_seeds: Keys, new_seeds: Keys) -> bool:
        if self.needs_rank(new, new_seeds) > self.numbers.rank:
            return True
        if len(self._witness) == 3:
            columns = zip((lost.sources, lost.groups, lost.steps), self._witness, strict=True)
            return bool(np.logical_and.reduce([column == term for column, term in columns]).any())
        return bool(self._witness) and bool((lost_seeds == np.uint64(self._witness[0])).any())

    def _take_rank(self, edges: Edges, seeds: Keys) -> None:
        """Use the rank that the edges and seeds need, and remember one that needs it."""
        rank = self.needs_rank(edges, seeds)
        self.numbers.use(rank)
        self._witness = ()
        if rank == Rank.INTEGER:
            return
        for terms, is_step in ((edges.steps, True), (seconds(seeds), False)):
            for term in distinct(terms).tolist():
                if self.numbers.rank_of(term, is_step=is_step) == rank:
                    row = int(np.flatnonzero(terms == term)[0])
                    ends = (edges.sources, edges.groups, edges.steps) if is_step else (seeds,)
                    self._witness = tuple(int(column[row]) for column in ends)
                    return

    # From scratch

    def evaluate(self, facts: TripleIndex, seeds: Keys) -> Keys:
        """The derived facts, packed and sorted, from all edges over ``facts`` and all seeds."""
        at(self.rules[0])
        self.is_waiting = False
        edges = self.edges(facts)
        self._take_rank(edges, seeds)
        self.size = len(edges)
        try:
            return self._derived(edges, seeds)
        except EndlessDescent:
            rule, sense = self.rules[0], "rise" if self.shape.is_max else "fall"
            raise NoLeastValue(rule.label, sense, str(rule), rule.source.span) from None
        finally:
            self.numbers.trim()

    def _derived(self, edges: Edges, seeds: Keys) -> Keys:
        steps, has_step = _mapped(edges.steps, self.numbers.step)
        keys, has_key = _mapped(seconds(seeds), self.numbers.key)
        self.may_fall |= any(step < 0 for step in steps)
        sources, groups = edges.sources[has_step.rows], edges.groups[has_step.rows]
        seeded = firsts(seeds)[has_key.rows]
        floats = self._as_floats(steps, keys, sources.size + seeded.size)
        if floats is None:
            listed = [steps[i] for i in has_step.numbers.tolist()]
            best: dict[int, Real] = {}
            for node, number in zip(seeded.tolist(), has_key.numbers.tolist(), strict=True):
                best[node] = min(keys[number], best.get(node, keys[number]))
            found = exact_least_sums(zip(sources.tolist(), groups.tolist(), listed, strict=True), best)
            facts = [n << 32 | self.numbers.term(v) for n, v in found.items() if n not in best or v < best[n]]
            return np.sort(np.array(facts, np.uint64))
        of_steps, of_keys, unscaled = floats
        nodes, least, least_seeds = least_sums(
            sources, groups, of_steps[has_step.numbers], seeded, of_keys[has_key.numbers]
        )
        is_derived = least < least_seeds
        sums = least[is_derived]
        first, number = number_keys((sums + 0.0).view(np.uint64))  # -0.0 is 0.0
        terms = np.array([self.numbers.term(unscaled(v)) for v in sums[first].tolist()], np.uint32)
        return sort_keys(pack(nodes[is_derived], terms[number]))

    def _as_floats(
        self, steps: Sequence[Real], keys: Sequence[Real], size: int
    ) -> tuple[Lengths, Lengths, Callable[[float], Real]] | None:
        """Steps and keys as floats, and the way back; None if a sum of ``size`` of them may be inexact."""
        if self.numbers.rank == Rank.DOUBLE:
            return np.array(steps, np.float64), np.array(keys, np.float64), float
        digits = fractional_digits((*steps, *keys))
        of_steps, of_keys = scaled(steps, digits), scaled(keys, digits)
        most = size * max(map(abs, of_steps), default=0) + max(map(abs, of_keys), default=0)
        if most > MAX_EXACT_FLOAT:
            return None

        def unscaled(value: float) -> Real:
            if self.numbers.rank == Rank.INTEGER:
                return int(value)
            return EXACT.scaleb(EXACT.create_decimal(int(value)), -digits)

        return np.array(of_steps, np.float64), np.array(of_keys, np.float64), unscaled


@dataclass(frozen=True, slots=True)
class Mapped:
    """The rows of a column whose term has a key, and the number of this key."""

    rows: Rows
    numbers: Rows


def _mapped(terms: Column, key_of: Callable[[int], Real | None]) -> tuple[list[Real], Mapped]:
    """The keys of the distinct terms that have one, and which row has which."""
    ids, places = numbered(terms)
    given = [key_of(term) for term in ids.tolist()]
    keys = [key for key in given if key is not None]
    number = np.cumsum([key is not None for key in given], dtype=np.int64) - 1
    if len(keys) == len(given):
        return keys, Mapped(np.arange(terms.size), places)
    rows = np.flatnonzero(np.array([key is not None for key in given], np.bool_)[places])
    return keys, Mapped(rows, number[places[rows]])


def _without(edges: Grouping, position: int) -> Grouping:
    """The edges but for one atom."""
    return replace(edges, atoms=edges.atoms[:position] + edges.atoms[position + 1 :])
