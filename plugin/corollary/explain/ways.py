"""Ways: the rule instances that conclude a fact, found by running rules backward.

A fact may have thousands of instances; those with the fewest inferred premises are kept. A transitivity rule
is applied along whole paths. For pairs of edges there would be as many ways as nodes in between, with weak
lower bounds on their costs.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise, repeat

import numpy as np
from numpy.typing import NDArray

from corollary.columns import Relation, TripleIndex
from corollary.columns.pairs import Pairs, among, distinct, firsts, pack, seconds
from corollary.evaluate import MaterialisedView
from corollary.execute.batches import Batch
from corollary.execute.context import ExecutionContext
from corollary.execute.long_lists import LongListRule
from corollary.execute.run_plan import run, sizes
from corollary.explain.backward import Backward, leading_to, marked
from corollary.explain.least_ways import least_ways
from corollary.explain.list_proofs import ListReader
from corollary.explain.list_ways import LongListWays
from corollary.explain.path_edges import Weighed, least_weights
from corollary.explain.path_proofs import Paths, Weights
from corollary.explain.proof import FALSE, Application, Fact, Group, Meaning, Reading
from corollary.explain.tuning import (
    MAX_INSTANCES,
    MAX_MATCHES_SHOWN,
    MAX_NODES_OF_DERIVED_EDGES,
    NODES_PER_INSTANCE,
    NODES_PER_SEARCH,
    ROWS_PER_INSTANCE,
)
from corollary.kernels.sorted import Column, Keys, Mask, Rows
from corollary.language import Constant, Rule, Term, Variable, parse_constant, substitute
from corollary.language.variables import substitute_element
from corollary.modules.list_rules import long_list_rule
from corollary.plan.delta_plans import full_plan
from corollary.plan.steps import Age, Join
from corollary.program.compile import Atom, CompiledRule, Grouping, compile_rule, is_virtual
from corollary.program.recursion import recursive_aggregate
from corollary.terms.dictionary import KIND_SHIFT, Kind

Counts = NDArray[np.uint16]
"""NumPy sorts 16-bit integers in linear time."""


@dataclass(frozen=True, slots=True, eq=False)
class Way:
    """One way to conclude a fact: the reason, and its premises without duplicates."""

    reason: Application | Reading | Meaning
    premises: tuple[Fact, ...]


MEANING = Way(Meaning(), ())


class Ways:
    """Finds ways in one materialisation: up to ``most`` instances of a rule for a fact, and shortest paths.

    If ``most`` is None: MAX_INSTANCES, and transitivity rules on pairs of edges. ``goal``, ``detours`` and
    ``further`` as in ``Paths``.
    """

    def __init__(
        self, result: MaterialisedView, most: int | None, goal: Fact, detours: int = 0, further: bool = False
    ) -> None:
        self._index = result.index
        self._explicit = result.explicit
        self._program = result.compiled
        self._dictionary = result.dictionary
        self._context = ExecutionContext(result.dictionary)
        self._context.readings = dict(result.cells)
        self._forms: dict[int, LongListRule] = {}
        self._long: dict[int, LongListWays] = {}
        self._most = most
        self._lists = ListReader(result, result.index)
        self._paths = Paths(
            result.index, result.explicit, self._weights, self._leaving, goal, detours, further
        )

    @property
    def cost(self) -> int:
        """The rows that rules were joined to, and the nodes on searches of paths, so far: in instances."""
        return self._context.rows // ROWS_PER_INSTANCE + self._paths.reached // NODES_PER_INSTANCE

    def to(self, facts: Collection[Fact]) -> dict[Fact, list[Way]]:
        """The ways to each of some facts, as far as ``most`` allows. Precondition: the facts hold."""
        found: dict[Fact, list[Way]] = {fact: [] for fact in facts}
        derived = [fact for fact in facts if not is_virtual(fact[1])]
        if len(derived) < len(found):
            for fact in found:
                if is_virtual(fact[1]):
                    readings = self._lists.readings(fact)
                    found[fact] = [Way(*reading) for reading in readings] if readings else [MEANING]
        if derived:
            every = index_of(derived)
            enough = self._along_paths(every, found) if self._most is not None else set()
            others = index_of([fact for fact in derived if fact not in enough]) if enough else every
            for backward in leading_to(self._program, every.predicates()):
                if backward.rule.along is not None:
                    for fact, reason, premises in self._along_lists(backward, every, self._index):
                        found[fact].append(Way(reason, premises))
                elif backward.rule.groupings:
                    for fact in derived:
                        found[fact] += self._by_aggregate(backward, fact)
                elif self._most is None or not backward.is_closure:
                    wanted = every if len(backward.rule.data) == 1 else others
                    self._take(backward, backward.run(self._context, wanted, self._index), found)
        return {fact: distinct_ways(fact, ways) for fact, ways in found.items()}

    def over(self, premises: TripleIndex, wanted: TripleIndex) -> dict[Fact, list[Way]]:
        """The ways to wanted facts all of whose premises are given; facts without such a way are left out.

        Transitivity rules are applied to pairs of edges. Rules with aggregates are left out (``aggregated``).
        Cost: the instances over the ``premises``, and as many join rows as lead to them.
        """
        found: dict[Fact, list[Way]] = {}
        for backward in leading_to(self._program, wanted.predicates()):
            if backward.rule.along is not None:
                for fact, reason, used in self._along_lists(backward, wanted, premises):
                    found.setdefault(fact, []).append(Way(reason, used))
            elif not backward.rule.groupings:
                batch = backward.over(self._context, wanted, self._index, premises)
                self._take(backward, batch, found)
        return {fact: distinct_ways(fact, ways) for fact, ways in found.items()}

    def aggregated(self, facts: Collection[Fact], most: int) -> dict[Fact, list[Way]]:
        """The ways to each of some facts by rules with aggregates; facts without such a way are left out.

        At most ``most`` facts are looked at for each rule.
        """
        found: dict[Fact, list[Way]] = {}
        for backward in leading_to(self._program, {p for _, p, _ in facts}):
            if backward.rule.groupings:
                concluded = [fact for fact in facts if _unified(backward.head, fact) is not None]
                for fact in concluded[:most]:
                    found.setdefault(fact, []).extend(self._by_aggregate(backward, fact))
        return {fact: ways for fact, ways in found.items() if ways}

    def to_false(self, rule: CompiledRule, facts: Collection[Fact]) -> list[Way]:
        """A list with one instance of a constraint over just these facts; empty if there is none."""
        clash = index_of(facts)
        plan = tuple(
            replace(step, age=Age.RECENT) if isinstance(step, Join) else step
            for step in full_plan(rule, sizes(clash))
        )
        batch = run(plan, {Age.RECENT: clash, Age.ALL: self._index}, rule, self._context)
        backward = Backward(rule, Atom(*FALSE))
        ways = list(self._ways_of(backward, batch))
        return [way for way in distinct_ways(FALSE, ways) if set(facts) <= set(way.premises)][:1]

    def _weights(self, predicate: int, keys: Keys) -> Weights:
        """Lower bounds on the rule applications for facts (packed, sorted) of a predicate.

        0 for an explicit fact, else 1 + the inferred premises of its best instance. Facts that only closures
        or aggregates derive are left out.
        """
        explicit = self._explicit.relation(predicate).contains(keys)
        found: Weights = dict.fromkeys(keys[explicit].tolist(), 0)
        wanted = TripleIndex({predicate: Relation(Pairs(keys))})
        for backward in leading_to(self._program, (predicate,)):
            if backward.is_closure or backward.rule.groupings:
                continue
            if backward.rule.along is not None:
                self._weigh_lists(backward, wanted, found)
                continue
            batch = backward.run(self._context, wanted, self._index)
            if batch.size:
                _, ends = backward.heads(batch)
                inferred = self._inferred(backward.rule.atoms, batch).astype(np.int64)
                ends, inferred = least_weights(ends, inferred)
                for key, count in zip(ends.tolist(), inferred.tolist(), strict=True):
                    found[key] = min(found.get(key, count + 1), count + 1)
        return found

    def _leaving(self, predicate: int, nodes: Column, data: TripleIndex) -> Weighed:
        """The facts of a predicate from some nodes that are explicit, or that one rule derives from ``data``.

        The weights are as in ``_weights``; inferred items of long lists are not counted. Guards match all
        facts. Transitivity rules and rules with aggregates are left out.
        """
        rows, objects = self._explicit.relation(predicate).objects_of(nodes)
        keys, weights = [pack(nodes[rows], objects)], [np.zeros(rows.size, np.int64)]
        marks = marked(predicate, nodes)
        for backward in leading_to(self._program, (predicate,)):
            if backward.is_closure or backward.rule.groupings:
                continue
            if backward.rule.along is None:
                atoms: Sequence[Atom] = backward.rule.atoms
                batch = backward.leaving(self._context, marks, self._index, data)
            else:
                form = self._form(backward.rule)
                atoms = (*form.guards, *form.data)
                batch = form.backward(backward.from_subjects, marks, self._beside_lists(form, data))
            if batch.size:
                keys.append(backward.heads(batch)[1])
                weights.append(self._inferred(atoms, batch).astype(np.int64) + 1)
        return np.concatenate(keys), np.concatenate(weights)

    def _form(self, rule: CompiledRule) -> LongListRule:
        """The evaluation of a rule over long lists."""
        if rule.number not in self._forms:
            self._forms[rule.number] = long_list_rule(rule, self._context)
        return self._forms[rule.number]

    def _beside_lists(self, form: LongListRule, data: TripleIndex) -> TripleIndex:
        """The data, but all facts of the predicates of a rule's guards and lists."""
        atoms = form.rule.atoms
        assert form.along is not None
        lists = (*form.guards, atoms[form.along.cell], atoms[form.along.first])
        found = data.snapshot()
        found.share({atom.p for atom in lists}, self._index)
        return found

    def _along_lists(
        self, backward: Backward, wanted: TripleIndex, facts: TripleIndex
    ) -> Iterator[tuple[Fact, Application, tuple[Fact, ...]]]:
        """The ways over ``facts`` by a rule over long lists, as by the rule unrolled for the length."""
        rule = backward.rule
        form = self._form(rule)
        batch = form.backward(backward.head, wanted, facts)
        if not batch.size:
            return
        if rule.number not in self._long:
            self._long[rule.number] = LongListWays(form, self._program.written(rule), self._inferred)
        for fact in dict.fromkeys(_facts(backward.head, batch)):
            for reason in self._long[rule.number].to(fact, backward.head, facts, self._most):
                yield fact, reason, tuple(dict.fromkeys(map(reason.fact, reason.rule.atoms)))

    def _weigh_lists(self, backward: Backward, wanted: TripleIndex, found: Weights) -> None:
        """Lower ``found`` by the ways of a rule over long lists, as ``_weights`` says."""
        for (s, _, o), _, premises in self._along_lists(backward, wanted, self._index):
            data = [fact for fact in premises if not is_virtual(fact[1])]
            count = sum(not self._explicit.relation(p).has(s, o) for s, p, o in data)
            key = s << 32 | o
            found[key] = min(found.get(key, count + 1), count + 1)

    def _along_paths(self, wanted: TripleIndex, found: dict[Fact, list[Way]]) -> set[Fact]:
        """Add the ways by transitivity rules to ``found``: along paths, else by pairs of edges.

        Returns the facts with enough paths. For these only rules with one data atom are tried: others may
        have as many instances as there are nodes in between.
        """
        enough: set[Fact] = set()
        for backward in leading_to(self._program, wanted.predicates()):
            if not backward.is_closure:
                continue
            pathless: list[Fact] = []
            batch = backward.closing(self._context, wanted, self._index)
            for fact, reason in self._closings(backward, batch):
                between = self._paths.between(fact)
                if not between.size:
                    continue
                paths, is_enough = self._paths.find(fact, between)
                if backward.is_loopless and not all(map(_differ, paths)):
                    paths, is_enough = [], False
                found[fact] += [_along(reason, fact, path) for path in paths]
                if is_enough:
                    enough.add(fact)
                if not paths:
                    pathless.append(fact)
            if pathless:
                batch = backward.run(self._context, index_of(pathless), self._index)
                self._take(backward, batch, found)
        return enough

    def _closings(self, backward: Backward, batch: Batch) -> Iterator[tuple[Fact, Application]]:
        """The facts that a transitivity rule may close, each with the guards that have fewest inferred facts.

        Edges that other rules derive are left out as soon as there are many nodes between their ends. A path
        between the ends would be part of a path that leads over such an edge.
        """
        if not batch.size:
            return
        rule, head = backward.rule, backward.head
        guards = [rule.atoms[i] for i in rule.guards]
        batch = batch.take(_least(tuple(map(batch.column, head.terms)), self._inferred(guards, batch), 1))
        predicates, keys = backward.heads(batch)
        kept = np.ones(batch.size, np.bool_)
        for predicate in distinct(predicates).tolist():
            rows = np.flatnonzero(predicates == predicate)
            rows = rows[among(keys[rows], self._paths.derived(predicate))]
            sizes = self._paths.sizes(predicate, keys[rows]) + NODES_PER_SEARCH
            kept[rows] = np.cumsum(sizes) <= MAX_NODES_OF_DERIVED_EDGES
        batch = batch.take(kept)
        for fact, bindings in zip(_facts(head, batch), _bindings(rule, batch), strict=True):
            yield fact, Application(rule, bindings, is_path=True)

    def _take(self, backward: Backward, batch: Batch, found: dict[Fact, list[Way]]) -> None:
        """Add ways of a batch by one rule to ``found``: for each fact those with fewest inferred premises.

        Of those with as many, the ones with the fewest distant premises.
        """
        if batch.size:
            heads = tuple(map(batch.column, backward.head.terms))
            atoms = backward.rule.atoms
            most = MAX_INSTANCES if self._most is None else self._most
            weights = self._inferred(atoms, batch)
            rows = np.flatnonzero(weights)
            if batch.size > most > batch.size - rows.size:  # else there are enough with explicit premises
                weights *= np.uint16(len(atoms) + 1)
                weights[rows] += self._distant(atoms, batch.take(rows))
            chosen = batch.take(_least(heads, weights, most))
            for fact, way in zip(_facts(backward.head, chosen), self._ways_of(backward, chosen), strict=True):
                found.setdefault(fact, []).append(way)

    def _ways_of(self, backward: Backward, batch: Batch) -> Iterator[Way]:
        """The way of each row of a batch."""
        if not batch.size:
            return
        rule = backward.rule
        matches = [_facts(rule.atoms[i], batch) for i in backward.order]
        rows = zip(*matches, strict=True) if matches else repeat((), batch.size)
        for bindings, row in zip(_bindings(rule, batch), rows, strict=True):
            premises = tuple(dict.fromkeys(row))
            if backward.is_closure:
                lasting = {rule.names[-1 - v] for v in rule.guarded | backward.head.variables}
                bindings = {name: term for name, term in bindings.items() if name in lasting}
            groups = tuple(self._group(rule, grouping, bindings) for grouping in rule.groupings)
            if groups:
                inner = (fact for group in groups for facts in group.shown for fact in facts)
                premises = tuple(dict.fromkeys((*premises, *inner)))
            yield Way(Application(rule, bindings, groups, backward.is_closure), premises)

    def _inferred(self, atoms: Iterable[Atom], batch: Batch) -> Counts:
        """The inferred facts that match atoms, for each row. A fact that matches two atoms counts twice."""
        return self._counted(atoms, batch, lambda stated, keys: ~stated.contains(keys))

    def _distant(self, atoms: Iterable[Atom], batch: Batch) -> Counts:
        """As ``_inferred`` for facts both of whose ends are ends of no explicit fact of the predicate.

        A copy (a, b) of an explicit fact (c, d) of equal terms needs two rules, (a, d) and (c, b) need one.
        """

        def is_distant(stated: Relation, keys: Keys) -> Mask:
            first, last = stated.subject_counts(firsts(keys)), stated.object_counts(seconds(keys))
            found: Mask = (first == 0) & (last == 0)
            return found

        return self._counted(atoms, batch, is_distant)

    def _counted(self, atoms: Iterable[Atom], batch: Batch, are: Callable[[Relation, Keys], Mask]) -> Counts:
        """For each row, the number of its facts for which ``are``, given E's relation and keys, is true."""
        count = np.zeros(batch.size, np.uint16)
        for atom in atoms:
            if is_virtual(atom.p):
                continue
            keys = pack(batch.column(atom.s), batch.column(atom.o))
            predicates = batch.column(atom.p)
            if _is_constant(predicates):
                count += are(self._explicit.relation(int(predicates[0])), keys)
                continue
            for predicate in distinct(predicates).tolist():
                rows = predicates == predicate
                count[rows] += are(self._explicit.relation(predicate), keys[rows])
        return count

    def _by_aggregate(self, backward: Backward, fact: Fact) -> Iterator[Way]:
        """The ways to a fact by a rule with aggregates."""
        recursive = recursive_aggregate(backward.rule)
        if recursive is None:
            yield from self._aggregated(backward, fact)
        elif _unified(backward.head, fact) is not None:
            for reason in least_ways(backward, recursive, fact, self._index, self._context):
                yield Way(*reason)

    def _aggregated(self, backward: Backward, fact: Fact) -> Iterator[Way]:
        """The ways to a fact by a rule with aggregates, which is not recursive.

        The fact's terms are substituted into the rule first, except for variables that the rule computes.
        """
        rule, head = backward.rule, backward.head
        ends = _unified(head, fact)
        if ends is None:
            return
        computed = {t for grouping in rule.groupings for t in grouping.targets}
        computed |= {c.target for c in rule.conditions if c.target is not None}
        known = {rule.names[-1 - v]: term for v, term in ends.items() if v not in computed}
        narrow = self._compiled(substitute(rule.source, self._constants(known)), rule.number)
        position = rule.heads.index(head)
        batch = Backward(narrow, narrow.heads[position]).run(self._context, index_of([fact]), self._index)
        for row in range(batch.size):
            found = {narrow.names[-1 - v]: int(column[row]) for v, column in batch.columns.items()}
            numbers = {v: i for i, v in enumerate(rule.names)}
            columns = {-1 - numbers[n]: np.array([v], np.uint32) for n, v in (known | found).items()}
            yield from self._ways_of(backward, Batch(1, columns))

    def _group(self, rule: CompiledRule, grouping: Grouping, bindings: dict[str, int]) -> Group:
        """The matches of an aggregate's inner body in one group, those with few inferred premises first."""
        names = {rule.names[-1 - v] for v in grouping.group}
        constants = self._constants({name: bindings[name] for name in names})
        inner = tuple(substitute_element(element, constants) for element in grouping.element.body)
        body = self._compiled(Rule((), inner), rule.number)
        batch = run(full_plan(body, sizes(self._index)), {Age.ALL: self._index}, body, self._context)
        shown = batch.take(np.argsort(self._inferred(body.atoms, batch), kind="stable")[:MAX_MATCHES_SHOWN])
        backward = Backward(body, Atom(*FALSE))
        return Group(
            grouping.element,
            batch.size,
            tuple(way.premises for way in self._ways_of(backward, shown)),
        )

    def _compiled(self, rule: Rule, number: int) -> CompiledRule:
        return compile_rule(rule, number, self._dictionary)

    def _constants(self, bindings: dict[str, int]) -> dict[Variable, Term]:
        decode = self._dictionary.decode
        constants: dict[str, Constant] = {n: parse_constant(decode(term)) for n, term in bindings.items()}
        return {Variable(name): constant for name, constant in constants.items()}


def _least(heads: tuple[Column, ...], weights: Counts, most: int) -> Rows:
    """The rows with the least weights, up to ``most`` for each head."""
    varying = [column for column in heads if not _is_constant(column)]
    keys: list[Column | Counts] = [weights, *varying]
    order: Rows = np.lexsort(keys)
    if order.size <= most:
        return order
    if not varying:
        return order[:most]
    changes = np.zeros(order.size, np.bool_)
    for column in varying:
        ordered = column[order]
        changes[1:] |= ordered[1:] != ordered[:-1]
    numbers = np.arange(order.size)
    starts = np.maximum.accumulate(np.where(changes, numbers, 0))
    return order[numbers - starts < most]


def _differ(nodes: list[int]) -> bool:
    """Whether ``!=`` holds between all nodes of a path: no node occurs twice, and no node is a literal."""
    return len(set(nodes)) == len(nodes) and max(nodes) >> KIND_SHIFT < Kind.LITERAL


def _along(reason: Application, fact: Fact, nodes: list[int]) -> Way:
    """The way that applies a transitivity rule along a path."""
    edges = ((s, fact[1], o) for s, o in pairwise(nodes))
    return Way(reason, tuple(dict.fromkeys((*reason.guards(), *edges))))


def distinct_ways(fact: Fact, ways: list[Way]) -> list[Way]:
    """The ways without the fact as a premise; of ways by one rule with the same premises, only the first."""
    if len(ways) == 1:
        return [] if fact in ways[0].premises else ways
    found: dict[tuple[int, frozenset[Fact]], Way] = {}
    for way in ways:
        if fact not in way.premises:
            number = way.reason.rule.number if isinstance(way.reason, Application) else -1
            found.setdefault((number, frozenset(way.premises)), way)
    return list(found.values())


def _unified(head: Atom, fact: Fact) -> dict[int, int] | None:
    """The bindings under which a head is the fact; None if there are none."""
    bindings: dict[int, int] = {}
    for term, value in zip(head.terms, fact, strict=True):
        if (bindings.setdefault(term, value) if term < 0 else term) != value:
            return None
    return bindings


def _facts(atom: Atom, batch: Batch) -> Iterator[Fact]:
    """The fact of an atom in each row of a batch."""
    s, p, o = (batch.column(term).tolist() if term < 0 else repeat(term, batch.size) for term in atom.terms)
    return zip(s, p, o, strict=True)


def _bindings(rule: CompiledRule, batch: Batch) -> Iterator[dict[str, int]]:
    """The bindings of each row of a batch, by name."""
    names = [rule.names[-1 - variable] for variable in batch.columns]
    columns = [column.tolist() for column in batch.columns.values()]
    rows = zip(*columns, strict=True) if columns else repeat((), batch.size)
    return (dict(zip(names, row, strict=True)) for row in rows)


def _is_constant(column: Column) -> bool:
    return column.size > 0 and bool((column == column[0]).all())


def index_of(facts: Collection[Fact]) -> TripleIndex:
    """An index of facts."""
    columns = np.array(list(facts), np.uint32).reshape(-1, 3).T
    return TripleIndex.from_columns(*(np.ascontiguousarray(column) for column in columns))
