"""Ways: the rule instances that lead to a fact, found backwards over the materialisation.

Every rule has a form with its head as one more body atom (as for rederivation in ``modules.semi_naive``).
The facts to explain are matched with that atom, so one run of a plan finds the instances for many of them,
whatever module derived them. Of a hub's thousands of instances those with the fewest inferred premises are
kept. A transitivity rule is applied along whole paths: to pairs of edges there are as many ways as nodes
in between, and hardly any bound on what each costs.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import dataclass, replace
from itertools import pairwise
from weakref import WeakKeyDictionary

import numpy as np

from corollary.algebra.bindings import Batch
from corollary.algebra.execute import run, run_delta, sizes
from corollary.evaluate import Materialisation
from corollary.explain.lists import ListReader
from corollary.explain.paths import Weights, find_paths
from corollary.explain.proof import FALSE, Application, Fact, Group, Meaning, Reading
from corollary.index.pairs import pack
from corollary.index.triples import TripleIndex
from corollary.kernels.sorted import Column, Keys, Rows
from corollary.language import Constant, Rule, Term, Variable, parse_constant, substitute
from corollary.language.variables import substitute_element
from corollary.modules.semi_naive import viable
from corollary.modules.transitive import closed_predicate
from corollary.plan.compile import Atom, CompiledRule, Grouping, compile_rule, is_virtual
from corollary.plan.order import Age, DeltaPlan, Join, delta_plan, full_plan
from corollary.plan.program import CompiledProgram

MOST_SHOWN = 10
"""Of so many matches that an aggregate was computed from the facts are told."""


@dataclass(frozen=True, slots=True, eq=False)
class Way:
    """One way to conclude a fact: from all of these facts, each named once."""

    reason: Application | Reading | Meaning
    premises: tuple[Fact, ...]


class Backward:
    """A rule with one of its heads as the last body atom."""

    def __init__(self, rule: CompiledRule, head: Atom) -> None:
        self.rule = rule
        self.head = head
        self.form = replace(rule, atoms=(*rule.atoms, head), heads=(head,))
        self.is_closure = closed_predicate(rule) is not None
        self.order = _closure_order(rule) if self.is_closure else tuple(range(len(rule.atoms)))
        self._plan: DeltaPlan | None = None

    def run(self, facts: TripleIndex, wanted: TripleIndex, program: CompiledProgram) -> Batch:
        """The bindings of all instances with a wanted head."""
        ages = {Age.ALL: facts, Age.RECENT: wanted, Age.OLD: facts}
        if not viable(self.form, ages, len(self.rule.atoms)):
            return Batch.none()
        if self._plan is None:
            self._plan = delta_plan(self.form, len(self.rule.atoms), sizes(facts))
        return run_delta(self._plan, ages, self.form, program.dictionary)


_FORMS: WeakKeyDictionary[CompiledProgram, dict[int, tuple[CompiledRule, list[Backward]]]] = (
    WeakKeyDictionary()
)
"""The backward forms of a program's rules, by number: their plans are made once."""


def _forms(program: CompiledProgram) -> Iterator[Backward]:
    known = _FORMS.setdefault(program, {})
    for rule in program.rules:
        entry = known.get(rule.number)
        if entry is None or entry[0] is not rule:
            entry = known[rule.number] = rule, [Backward(rule, head) for head in rule.heads]
        yield from entry[1]


class Ways:
    """Finds ways over one materialisation: of one rule up to ``most`` for a fact, and the shortest paths.

    If ``most`` is None, all instances, and closures edge by edge.
    """

    def __init__(self, result: Materialisation, most: int | None) -> None:
        self._index = result.index
        self._explicit = result.explicit
        self._program = result.evaluation.compiled
        self._dictionary = result.dictionary
        self._most = most
        self._lists = ListReader(result)

    def to(self, facts: Collection[Fact]) -> dict[Fact, list[Way]]:
        """The ways to each of some facts that hold."""
        found: dict[Fact, list[Way]] = {fact: [] for fact in facts}
        derived = [fact for fact in facts if not is_virtual(fact[1])]
        for fact in found:
            if is_virtual(fact[1]):
                readings = self._lists.readings(fact)
                found[fact] = [Way(*reading) for reading in readings] if readings else [Way(Meaning(), ())]
        if derived:
            wanted = _index_of(derived)
            for backward in self._leading_to(wanted):
                if backward.rule.groupings:
                    for fact in derived:
                        found[fact] += self._aggregated(backward, fact)
                    continue
                batch = backward.run(self._index, wanted, self._program)
                if batch.size:
                    self._take(backward, batch, found)
        return {fact: _distinct(fact, ways) for fact, ways in found.items()}

    def to_false(self, rule: CompiledRule, facts: Collection[Fact]) -> list[Way]:
        """The ways in which just these facts violate a constraint."""
        clash = _index_of(facts)
        plan = tuple(
            replace(step, age=Age.RECENT) if isinstance(step, Join) else step
            for step in full_plan(rule, sizes(clash))
        )
        batch = run(plan, {Age.RECENT: clash, Age.ALL: self._index}, rule, self._dictionary)
        backward = Backward(rule, Atom(*FALSE))
        ways = [self._way(backward, batch, row) for row in range(batch.size)]
        return [way for way in _distinct(FALSE, ways) if set(facts) <= set(way.premises)][:1]

    def weights(self, predicate: int, keys: Keys) -> Weights:
        """For facts of a predicate that rules derive, closures aside: a least number of rules for each.

        Exact for explicit facts, which weigh 0; otherwise one more than the inferred premises.
        """
        explicit = self._explicit.relation(predicate).contains(keys)
        found: Weights = dict.fromkeys(keys[explicit].tolist(), 0)
        wanted = TripleIndex.from_columns(
            *(c.astype(np.uint32) for c in (keys >> np.uint64(32), np.full(keys.size, predicate), keys))
        )
        for backward in self._leading_to(wanted):
            if backward.is_closure or backward.rule.groupings:
                continue
            batch = backward.run(self._index, wanted, self._program)
            if not batch.size:
                continue
            ends = pack(batch.column(backward.head.s), batch.column(backward.head.o))
            for key, inferred in zip(
                ends.tolist(), self._inferred(backward.rule, batch).tolist(), strict=True
            ):
                found[key] = min(found.get(key, inferred + 1), inferred + 1)
        return found

    def _leading_to(self, wanted: TripleIndex) -> Iterator[Backward]:
        predicates = set(wanted.predicates())
        return (b for b in _forms(self._program) if b.head.p < 0 or b.head.p in predicates)

    def _take(self, backward: Backward, batch: Batch, found: dict[Fact, list[Way]]) -> None:
        """Turn rows into ways, or into paths if there are any."""
        head = backward.head
        heads = tuple(map(batch.column, head.terms))
        rows = self._least(heads, self._inferred(backward.rule, batch))
        chosen = batch.take(rows)
        facts = zip(*(chosen.column(term).tolist() for term in head.terms), strict=True)
        paths: dict[Fact, list[list[int]]] = {}
        for row, fact in enumerate(facts):
            way = self._way(backward, chosen, row)
            if backward.is_closure and self._most is not None:
                if fact not in paths:
                    paths[fact] = find_paths(fact, self._index, self._explicit, self.weights)
                found[fact] += [_along(way, fact, path) for path in paths[fact]] or [way]
            else:
                found[fact].append(way)

    def _way(self, backward: Backward, batch: Batch, row: int) -> Way:
        rule = backward.rule
        bindings = {rule.names[-1 - v]: int(column[row]) for v, column in batch.columns.items()}
        reason = Application(rule, bindings)
        premises = tuple(dict.fromkeys(reason.fact(rule.atoms[i]) for i in backward.order))
        if backward.is_closure:
            lasting = {rule.names[-1 - v] for v in rule.guarded | backward.head.variables}
            reason = Application(rule, {n: v for n, v in bindings.items() if n in lasting}, is_path=True)
        if rule.groupings:
            groups = tuple(self._group(rule, grouping, bindings) for grouping in rule.groupings)
            reason = Application(rule, bindings, groups)
            inner = (fact for group in groups for facts in group.shown for fact in facts)
            premises = tuple(dict.fromkeys((*premises, *inner)))
        return Way(reason, premises)

    def _inferred(self, rule: CompiledRule, batch: Batch) -> Rows:
        """How many of a row's premises are inferred, counted once an atom."""
        count = np.zeros(batch.size, np.int64)
        for atom in rule.atoms:
            if is_virtual(atom.p):
                continue
            keys = pack(batch.column(atom.s), batch.column(atom.o))
            predicates = batch.column(atom.p)
            for predicate in [atom.p] if atom.p >= 0 else np.unique(predicates).tolist():
                rows = predicates == predicate
                count[rows] += ~self._explicit.relation(predicate).contains(keys[rows])
        return count

    def _least(self, heads: tuple[Column, ...], weight: Rows) -> Rows:
        """The rows with the least weight, up to ``most`` for each head."""
        order: Rows = np.lexsort([weight, *(column.astype(np.int64) for column in heads)])
        if self._most is None or order.size <= self._most:
            return order
        changes = np.zeros(order.size, np.bool_)
        for column in heads:
            ordered = column[order]
            changes[1:] |= ordered[1:] != ordered[:-1]
        numbers = np.arange(order.size)
        starts = np.maximum.accumulate(np.where(changes, numbers, 0))
        return order[numbers - starts < self._most]

    def _aggregated(self, backward: Backward, fact: Fact) -> Iterator[Way]:
        """The ways to a fact by a rule with aggregates: what the fact tells goes into the rule first."""
        rule, head = backward.rule, backward.head
        ends = _unified(head, fact)
        if ends is None:
            return
        computed = {t for grouping in rule.groupings for t in grouping.targets}
        computed |= {c.target for c in rule.conditions if c.target is not None}
        known = {rule.names[-1 - v]: term for v, term in ends.items() if v not in computed}
        narrow = self._compiled(substitute(rule.source, self._constants(known)), rule.number)
        position = rule.heads.index(head)
        batch = Backward(narrow, narrow.heads[position]).run(self._index, _index_of([fact]), self._program)
        for row in range(batch.size):
            found = {narrow.names[-1 - v]: int(column[row]) for v, column in batch.columns.items()}
            numbers = {v: i for i, v in enumerate(rule.names)}
            columns = {-1 - numbers[n]: np.array([v], np.uint32) for n, v in (known | found).items()}
            yield self._way(backward, Batch(1, columns), 0)

    def _group(self, rule: CompiledRule, grouping: Grouping, bindings: dict[str, int]) -> Group:
        """What matches an aggregate's inner body in one group."""
        names = {rule.names[-1 - v] for v in grouping.group}
        constants = self._constants({name: bindings[name] for name in names})
        inner = tuple(substitute_element(element, constants) for element in grouping.element.body)
        body = self._compiled(Rule((), inner), rule.number)
        batch = run(full_plan(body, sizes(self._index)), {Age.ALL: self._index}, body, self._dictionary)
        shown = batch.take(np.argsort(self._inferred(body, batch), kind="stable")[:MOST_SHOWN])
        backward = Backward(body, Atom(*FALSE))
        return Group(
            grouping.element,
            batch.size,
            tuple(self._way(backward, shown, row).premises for row in range(shown.size)),
        )

    def _compiled(self, rule: Rule, number: int) -> CompiledRule:
        return compile_rule(rule, number, self._dictionary)

    def _constants(self, bindings: dict[str, int]) -> dict[Variable, Term]:
        decode = self._dictionary.decode
        constants: dict[str, Constant] = {n: parse_constant(decode(term)) for n, term in bindings.items()}
        return {Variable(name): constant for name, constant in constants.items()}


def _closure_order(rule: CompiledRule) -> tuple[int, ...]:
    """The body of a transitivity rule: its guards, the first edge, the second."""
    head = rule.heads[0]
    first, second = rule.data
    if rule.atoms[first].s != head.s:
        first, second = second, first
    return (*sorted(rule.guards), first, second)


def _along(way: Way, fact: Fact, nodes: list[int]) -> Way:
    """A closure's rule applied along a path instead of to two edges."""
    assert isinstance(way.reason, Application)
    edges = ((s, fact[1], o) for s, o in pairwise(nodes))
    return Way(way.reason, tuple(dict.fromkeys((*way.reason.guards(), *edges))))


def _distinct(fact: Fact, ways: list[Way]) -> list[Way]:
    """Without those that use the fact itself, and of those by one rule from the same facts the first."""
    found: dict[tuple[int, frozenset[Fact]], Way] = {}
    for way in ways:
        if fact not in way.premises:
            number = way.reason.rule.number if isinstance(way.reason, Application) else -1
            found.setdefault((number, frozenset(way.premises)), way)
    return list(found.values())


def _unified(head: Atom, fact: Fact) -> dict[int, int] | None:
    """What a head's variables stand for if it is the fact."""
    bindings: dict[int, int] = {}
    for term, value in zip(head.terms, fact, strict=True):
        if (bindings.setdefault(term, value) if term < 0 else term) != value:
            return None
    return bindings


def _index_of(facts: Collection[Fact]) -> TripleIndex:
    columns = np.array(list(facts), np.uint32).reshape(-1, 3).T
    return TripleIndex.from_columns(*(np.ascontiguousarray(column) for column in columns))
