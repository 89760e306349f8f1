"""The number of derivations of every fact, by round, maintained when facts and rules change.

This is DBSP (Budiu, McSherry, Ryzhyk, Tannen, VLDB 2023) on sorted columns: a change is a Z-set of facts, and
so is the change of derivations. The nested iteration of a recursive component becomes a column of rounds.

* A *derivation* of a fact is a head of a rule instance over I. Equal rules count once; each head counts.
* The rules form *components*: predicates that depend on each other. A change goes through them in topological
  order; facts of lower components are final.
* In a recursive component every fact has a *birth*. A given fact is born in round 0. An instance is active
  from the greatest birth of its premises in the component on (0 if it has none), and is a derivation of its
  heads in the round after that. The birth of a fact is its least round with a derivation. So the derivations
  in that round use only facts born before: none of them depends on the fact itself.
* In other components all derivations are in round 0.

``_Settling`` follows a change through a component. The counts are always those that follow from ``births``.
For each round r in which a count changed, ascending:

1. Facts born in r without a derivation in r *leave*. Instances with such a premise are subtracted.
2. Facts with a derivation in r that are born later, or never, *arrive*: they are born in r. Instances with
   such a premise are added. (For those that were born later, step 1 subtracts the former instances.)

Instances of round r count in later rounds, so after step 2 all births up to r are final. A fact that left is
looked at again in its next round with a derivation. Nothing is overdeleted and no proof is searched. Cost:
the instances with a fact whose birth changes; each is subtracted and added at most once for each such
premise, however many rounds there are.

    q symmetric, [a, q, b] explicit: [a, q, b] has derivations in the rounds 0 and 2, [b, q, a] in round 1.
    Remove [a, q, b]: it leaves in round 0, so [b, q, a] loses round 1 and leaves, so [a, q, b] loses round 2.

Invariant between two changes: counts and births are those that a computation from scratch gives.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace
from math import inf

import numpy as np

from corollary.columns import NOTHING, Candidates, Delta, Pairs, TripleIndex, grouped
from corollary.columns.key_sort import sort_keys
from corollary.columns.pairs import gathered, pack
from corollary.columns.relation import EMPTY
from corollary.columns.zsets import Births, Counts
from corollary.evaluate.tuning import FACTS_JOINED_AT_FIRST, MAX_ROWS_JOINED
from corollary.execute.batches import Batch
from corollary.execute.context import ExecutionContext
from corollary.execute.run_plan import emit, run, sizes
from corollary.kernels.limits import check
from corollary.kernels.rounds import NEVER, Rounds
from corollary.kernels.sorted import Keys, Rows
from corollary.language import Rule
from corollary.modules.semi_naive import SemiNaive
from corollary.modules.triggers import viable
from corollary.plan.delta_plans import full_plan
from corollary.plan.steps import Age
from corollary.program.compile import CompiledRule, is_virtual
from corollary.program.dependencies import components_of
from corollary.terms.dictionary import TermDictionary

Names = frozenset[int] | None
"""The predicates of a component; None: all but virtual relations."""

Rules = dict[int, CompiledRule]
"""Distinct rules by number."""


class TooManyDerivations(Exception):
    """More derivations would have to be counted, or subtracted, than the caller allows."""


@dataclass(frozen=True, slots=True)
class NetChange:
    """Facts that were lost and won."""

    lost: Delta = NOTHING
    won: Delta = NOTHING


@dataclass(slots=True)
class RoundChange:
    """Changes of one round, as bags: derivations won and lost, and facts to look at again."""

    won: Candidates = field(default_factory=dict)
    lost: Candidates = field(default_factory=dict)
    touched: Candidates = field(default_factory=dict)

    def predicates(self) -> list[int]:
        """All predicates with a change."""
        return list(dict.fromkeys((*self.won, *self.lost, *self.touched)))

    def of(self, predicate: int) -> tuple[Keys, Rows]:
        """The facts of a predicate, sorted and unique, and by how much the count of each changes."""
        bags = [bag[predicate] for bag in (self.won, self.lost, self.touched) if predicate in bag]
        keys = gathered([part for bag in bags for part in bag])
        changes: Rows = np.zeros(keys.size, np.int64)
        for bag, sign in ((self.won, 1), (self.lost, -1)):
            if predicate in bag:
                found, counts = _counted(bag[predicate])
                changes[np.searchsorted(keys, found)] += sign * counts
        return keys, changes


class Component:
    """Predicates that depend on each other, the rules that derive them, and their derivations.

    Rules have only the heads that are of this component. ``births`` is empty unless ``is_recursive``.
    """

    def __init__(self, names: Names, *, is_recursive: bool, context: ExecutionContext) -> None:
        self.names = names
        self.is_recursive = is_recursive
        self.context = context
        self.rules: Rules = {}
        self.counts: dict[int, Counts] = {}
        self.births: dict[int, Births] = {}
        self.latest = 0  # no fact is born later
        self._joins = SemiNaive("derivations", context)

    def owns(self, predicate: int) -> bool:
        """Whether facts of a predicate belong to this component."""
        return not is_virtual(predicate) if self.names is None else predicate in self.names

    def reads(self, predicate: int) -> bool:
        """Whether a rule may read facts of a predicate."""
        return self._joins.reads(predicate)

    def take(self, rules: Rules) -> None:
        """Replace the rules. The counts are not changed."""
        self._joins.drop_rules(self.rules.keys() - rules.keys())
        for number in rules.keys() - self.rules.keys():
            self._joins.add_rule(rules[number])
        self.rules = rules

    def forget_plans(self) -> None:
        """Plan again at the next use: the sizes of relations are others."""
        self._joins = SemiNaive("derivations", self.context)
        for rule in self.rules.values():
            self._joins.add_rule(rule)

    def instances(self, facts: TripleIndex, recent: Delta) -> Iterator[tuple[CompiledRule, Batch]]:
        """The instances with a recent premise, each once. Precondition: ``recent`` ⊆ ``facts``."""
        recent = recent.only(self.reads)
        if recent:
            old = facts.snapshot()
            for predicate, keys in recent.items():
                old.remove(predicate, keys)
            yield from self._in_parts(self._joins, facts, recent, old)

    def instances_of(self, rule: CompiledRule, facts: TripleIndex) -> Iterator[tuple[CompiledRule, Batch]]:
        """All instances of a rule, from the facts of the atom that has fewest."""
        if not viable(rule, facts):
            return
        sizes_of = sizes(facts)
        named = [position for position, atom in enumerate(rule.atoms) if atom.p >= 0]
        if not named:
            yield rule, run(full_plan(rule, sizes_of), {Age.ALL: facts}, rule, self.context)
            return
        first = min(named, key=lambda position: sizes_of(rule.atoms[position]))
        joins = SemiNaive("derivations", self.context)
        joins.add_rule(rule, {first})
        read = rule.atoms[first].p
        yield from self._in_parts(joins, facts, Delta.of_relations({read: facts.relation(read)}), facts)

    def _in_parts(
        self, joins: SemiNaive, facts: TripleIndex, recent: Delta, old: TripleIndex
    ) -> Iterator[tuple[CompiledRule, Batch]]:
        """As ``SemiNaive.instances``, in parts of the recent facts, so that joins have few rows at once."""
        start, size = 0, FACTS_JOINED_AT_FIRST
        while start < len(recent):
            check()
            rows = self.context.rows
            yield from joins.instances(facts, _slice(recent, start, start + size), old)
            rows = max(1, self.context.rows - rows)
            start, size = start + size, max(1, size * MAX_ROWS_JOINED // rows)

    def rounds(self, rule: CompiledRule, batch: Batch) -> Rounds | int:
        """The round in which each instance is a derivation; one number if it is the same for all."""
        if not self.is_recursive:
            return 0
        rounds: Rounds | None = None
        for atom in rule.atoms:
            every = np.arange(batch.size)
            parts = [(atom.p, every)] if atom.p >= 0 else grouped(batch.columns[atom.p], every)
            for predicate, rows in parts:
                births = self.births.get(predicate)
                if births is None:
                    continue
                rounds = np.zeros(batch.size, np.int32) if rounds is None else rounds
                keys = pack(batch.column(atom.s), batch.column(atom.o))
                if rows.size == batch.size:
                    np.maximum(rounds, births.of(keys), out=rounds)
                else:
                    rounds[rows] = np.maximum(rounds[rows], births.of(keys[rows]))
        return 1 if rounds is None else rounds + 1

    def born(self, predicate: int, keys: Keys, facts: TripleIndex) -> Rounds:
        """The birth of each fact; ``NEVER`` if it does not hold."""
        if self.is_recursive:
            return self.births.get(predicate, NO_BIRTHS).of(keys)
        return np.where(facts.relation(predicate).contains(keys), np.int32(0), np.int32(NEVER))

    def bear(self, facts: Delta, round_: int) -> None:
        """Note the birth of facts; ``NEVER``: they do not hold any more."""
        if self.is_recursive:
            for predicate, keys in facts.items():
                self.births[predicate] = self.births.get(predicate, NO_BIRTHS).put(keys, round_)
            self.latest = max(self.latest, round_ if round_ != NEVER else 0)


NO_COUNTS, NO_BIRTHS = Counts(), Births()

SOURCE = -1
"""A node of the dependency graph that every derived predicate depends on."""


class _Settling:
    """Follows one change through one component: see the head of this file.

    ``facts`` are I: changed below the component, and in the component by ``run``.
    """

    def __init__(self, component: Component, facts: TripleIndex, most: float) -> None:
        """Raises ``TooManyDerivations`` after ``most`` instances."""
        self._component = component
        self._facts = facts
        self.left = most
        self.losing: set[int] = set()  # predicates of facts that lost derivations
        self._changes: dict[int, RoundChange] = {}

    def run(self, before: TripleIndex, below: NetChange, given: NetChange, rules: Rules) -> set[int]:
        """Follow the changes. Returns the predicates whose facts have changed.

        ``before`` is I before the change, ``below`` the change of the lower components' facts, ``given`` the
        change of the given facts. ``rules`` replace the rules of the component.
        """
        component = self._component
        known = component.rules
        for number in known.keys() - rules.keys():
            for rule, batch in component.instances_of(known[number], before):
                self._credit(rule, batch, -1)
        component.take({number: rule for number, rule in known.items() if number in rules})
        for rule, batch in component.instances(before, below.lost):
            self._credit(rule, batch, -1)
        for rule, batch in component.instances(self._facts, below.won):
            self._credit(rule, batch, +1)
        for number in rules.keys() - known.keys():
            for rule, batch in component.instances_of(rules[number], self._facts):
                self._credit(rule, batch, +1)
        component.take(rules)
        first = self._at(0)
        for bag, facts in ((first.lost, given.lost), (first.won, given.won)):
            for predicate, keys in facts.items():
                bag.setdefault(predicate, []).append(keys)
        changed: set[int] = set()
        while self._changes:
            round_ = min(self._changes)
            changed |= self._follow(round_, self._changes.pop(round_))
        return changed

    def _follow(self, round_: int, change: RoundChange) -> set[int]:
        """Follow the changes of a round. Returns the predicates of facts whose births change."""
        component, facts = self._component, self._facts
        self.losing |= change.lost.keys()
        leaving: dict[int, Keys] = {}
        arriving: dict[int, Keys] = {}
        absent: dict[int, Keys] = {}
        for predicate in change.predicates():
            keys, changes = change.of(predicate)
            counts = component.counts.get(predicate, NO_COUNTS)
            now = counts.at(keys, round_) + changes
            assert (now >= 0).all(), "fewer derivations than none"
            changes_any = changes != 0
            component.counts[predicate] = counts.plus(keys[changes_any], round_, changes[changes_any])
            births = component.born(predicate, keys, facts)
            leaves, arrives = (births == round_) & (now == 0), (births > round_) & (now > 0)
            leaving[predicate] = keys[leaves | (arrives & (births < NEVER))]
            arriving[predicate] = keys[arrives]
            absent[predicate] = keys[leaves | ((births == NEVER) & (now == 0))]
        self._remove(Delta(leaving))
        if component.is_recursive:
            self._touch_next(absent, round_)
        self._add(Delta(arriving), round_)
        return {p for part in (leaving, arriving) for p, keys in part.items() if keys.size}

    def _remove(self, leaving: Delta) -> None:
        """Subtract the instances with these premises, which do not hold any more, or not yet."""
        component = self._component
        if component.is_recursive:
            for rule, batch in component.instances(self._facts, leaving):
                self._credit(rule, batch, -1)
        component.bear(leaving, NEVER)
        for predicate, keys in leaving.items():
            self._facts.remove(predicate, keys)

    def _add(self, arriving: Delta, round_: int) -> None:
        """Add the instances with these premises, which hold from this round on."""
        component = self._component
        component.bear(arriving, round_)
        for predicate, keys in arriving.items():
            self._facts.add(predicate, Pairs(keys))
        if component.is_recursive:
            at_once = round_ + 1 if component.latest <= round_ else None
            for rule, batch in component.instances(self._facts, arriving):
                self._credit(rule, batch, +1, at_once)

    def _touch_next(self, absent: dict[int, Keys], round_: int) -> None:
        """Look again at facts that do not hold, in the next round in which they have derivations."""
        for predicate, keys in absent.items():
            if keys.size:
                following = self._component.counts[predicate].next_after(keys, round_)
                known = following < NEVER
                for later, part in grouped(following[known].astype(np.uint32), keys[known]):
                    self._at(later).touched.setdefault(predicate, []).append(part)

    def _credit(self, rule: CompiledRule, batch: Batch, sign: int, round_: int | None = None) -> None:
        """Count instances as derivations, or subtract them: all in one round, if that is known."""
        if not batch.size:
            return
        self.left -= batch.size
        if self.left < 0:
            raise TooManyDerivations
        rounds = self._component.rounds(rule, batch) if round_ is None else round_
        if isinstance(rounds, int):
            parts: Iterable[tuple[int, Batch]] = [(rounds, batch)]
        else:
            rows = grouped(rounds.astype(np.uint32), np.arange(batch.size))
            parts = (
                (number, batch if part.size == batch.size else batch.take(part)) for number, part in rows
            )
        for number, part in parts:
            change = self._at(number)
            emit(rule.heads, part, change.won if sign > 0 else change.lost)

    def _at(self, round_: int) -> RoundChange:
        return self._changes.setdefault(round_, RoundChange())


@dataclass(slots=True)
class _Equal:
    """Equal rules of a program: one that stands for all, and the numbers of all."""

    rule: CompiledRule
    numbers: set[int]


class DerivationCounts:
    """The derivations of all facts that follow from given facts by monotone rules.

    ``facts`` are these facts, ``given`` the given ones. After an exception the state is undefined.
    """

    def __init__(self, dictionary: TermDictionary) -> None:
        self.facts = TripleIndex()
        self.given = TripleIndex()
        self.components: list[Component] = []
        self._context = ExecutionContext(dictionary)
        self._structure: list[tuple[Names, bool, Rules]] = []
        self._sources: dict[int, Rule] = {}  # by number
        self._equal: dict[Rule, _Equal] = {}

    def change(self, rules: Iterable[CompiledRule], given: TripleIndex, most: float = inf) -> set[int]:
        """Replace the rules and the given facts. Returns the predicates of facts that lost derivations.

        Raises ``TooManyDerivations`` after ``most`` instances.

        Preconditions: the rules are monotone, and none is over long lists. A number is never given to another
        rule. The caller does not change ``given`` afterwards.
        """
        are_others = self._take(rules)
        before, changed = self.facts.snapshot(), difference(self.given, given)
        if not (are_others or changed.lost or changed.won):
            return set()
        if are_others:
            self._structure = _structure({equal.rule.number: equal.rule for equal in self._equal.values()})
        known = {(component.names, component.is_recursive): component for component in self.components}
        components = [
            known.get((names, is_recursive))
            or Component(names, is_recursive=is_recursive, context=self._context)
            for names, is_recursive, _ in self._structure
        ]
        new = set(components) - set(self.components)
        free = self._free(changed, given, components)
        self.components, self.given = components, given
        for predicate in self.facts.all_predicates():
            if any(component.owns(predicate) for component in new):
                self.facts.remove_relation(predicate, self.facts.relation(predicate))
        below, losing = difference(before, self.facts, free), set(free)
        for component, (_, _, own) in zip(components, self._structure, strict=True):
            source = NetChange(won=Delta.of(given)) if component in new else changed
            ours = NetChange(source.lost.only(component.owns), source.won.only(component.owns))
            lower = NetChange() if component in new else below
            settling = _Settling(component, self.facts, most)
            touched = settling.run(before, lower, ours, own)
            most = settling.left
            losing |= settling.losing
            if component in new:
                component.forget_plans()
                touched |= {*filter(component.owns, before.all_predicates())}
                losing |= touched
            found = difference(before, self.facts, touched)
            below = NetChange(below.lost | found.lost, below.won | found.won)
        return losing

    def totals(self) -> tuple[int, int, int]:
        """The number of derivations, the greatest round, and the bytes of counts and births."""
        rows = [rows for c in self.components for rows in (counts.rows() for counts in c.counts.values())]
        births = [rows for c in self.components for rows in (births.rows() for births in c.births.values())]
        derivations = sum(int(counts.sum()) for _, _, counts in rows)
        rounds = max((int(rounds.max()) for _, rounds, _ in rows if rounds.size), default=0)
        return derivations, rounds, sum(column.nbytes for part in (*rows, *births) for column in part)

    def _free(self, changed: NetChange, given: TripleIndex, components: list[Component]) -> set[int]:
        """Change the facts of predicates that no rule derives. Returns these predicates."""
        lost_owners = [c for c in self.components if c not in components]
        names = {*changed.lost.all_predicates(), *changed.won.all_predicates()}
        disowned = {p for p in self.facts.all_predicates() if any(c.owns(p) for c in lost_owners)}
        free = {p for p in names | disowned if not any(c.owns(p) for c in components)}
        for predicate in free:
            lost, won = changed.lost.keys(predicate), changed.won.keys(predicate)
            if predicate in disowned:
                lost, won = given.relation(predicate).since(self.facts.relation(predicate))
            self.facts.remove(predicate, lost)
            self.facts.add(predicate, Pairs(won))
        return free

    def _take(self, rules: Iterable[CompiledRule]) -> bool:
        """Replace the rules of the program. Returns whether they differ. Hashes only those that differ."""
        wanted = {rule.number: rule for rule in rules}
        if wanted.keys() == self._sources.keys():
            return False
        for number in self._sources.keys() - wanted.keys():
            source = self._sources.pop(number)
            self._equal[source].numbers.remove(number)
            if not self._equal[source].numbers:
                del self._equal[source]
        for number in sorted(wanted.keys() - self._sources.keys()):
            source = self._sources[number] = wanted[number].source
            self._equal.setdefault(source, _Equal(wanted[number], set())).numbers.add(number)
        return True


def _structure(rules: Rules) -> list[tuple[Names, bool, Rules]]:
    """The components in topological order: predicates, whether they are recursive, and rules.

    With a head whose predicate is a variable, there is one component. A rule with heads in several components
    is a rule of each.
    """
    if any(min(rule.derives) < 0 for rule in rules.values()):
        return [(None, True, rules)]
    derived = {predicate for rule in rules.values() for predicate in rule.derives}
    edges = {(SOURCE, predicate) for predicate in derived}
    for rule in rules.values():
        is_open = min(rule.needs, default=0) < 0
        read = derived if is_open else derived & rule.needs
        edges |= {(source, target) for source in read for target in rule.derives}
    numbers = components_of(sorted(edges))
    members: dict[int, set[int]] = {}
    for predicate in derived:
        members.setdefault(numbers[predicate], set()).add(predicate)
    own: dict[int, Rules] = {number: {} for number in members}
    for rule in rules.values():
        for number in {numbers[predicate] for predicate in rule.derives}:
            heads = tuple(head for head in rule.heads if numbers[head.p] == number)
            own[number][rule.number] = rule if heads == rule.heads else replace(rule, heads=heads)
    return [
        (
            frozenset(members[number]),
            len(members[number]) > 1 or any((p, p) in edges for p in members[number]),
            own[number],
        )
        for number in sorted(members)
    ]


def difference(before: TripleIndex, after: TripleIndex, predicates: Iterable[int] | None = None) -> NetChange:
    """The facts lost and won between two sets, of some predicates. Cost: overlays, where bases are shared."""
    lost: dict[int, Keys] = {}
    won: dict[int, Keys] = {}
    if predicates is None:
        predicates = dict.fromkeys((*before.all_predicates(), *after.all_predicates()))
    for predicate in predicates:
        known = before.relation(predicate)
        if not len(known):  # it may be compressed
            known = EMPTY
        lost[predicate], won[predicate] = after.relation(predicate).since(known)
    return NetChange(Delta(lost), Delta(won))


def _slice(facts: Delta, start: int, end: int) -> Delta:
    """The facts at some positions, counted through all predicates."""
    if start == 0 and end >= len(facts):
        return facts
    found: dict[int, Keys] = {}
    for predicate, keys in facts.items():
        found[predicate] = keys[max(0, start) : max(0, end)]
        start, end = start - keys.size, end - keys.size
    return Delta(found)


def _counted(parts: list[Keys]) -> tuple[Keys, Rows]:
    """The distinct keys of a bag, ascending, and how often each is in it."""
    keys = sort_keys(np.concatenate(parts))
    starts = np.flatnonzero(np.concatenate(([True], keys[1:] != keys[:-1])))
    return keys[starts], np.diff(np.concatenate((starts, [keys.size])))
