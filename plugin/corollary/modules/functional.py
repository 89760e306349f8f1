"""The module of functional properties: terms that have a value in common are equal.

The module takes rules of the form

    [?y, Q, ?z] :- [?x, ?p, ?y], [?x, ?p, ?z], FILTER(!sameTerm(?y, ?z))

or with the common term as object, with guards for ?p, with or without the filter (``prp-fp``, ``prp-ifp``),
where other rules make the constant relation Q symmetric and transitive. n terms with a common value have n²
instances. To close Q, n of these are enough: those that link the least of the terms to the others.

    [b, p, c], [b, p, d], [b, p, e]: the module derives [c, Q, d] and [c, Q, e], and the closure [d, Q, e]

Of facts that were deleted, all instances count, as semi-naive evaluation finds them: where the fact of the
least term is deleted, the others are still equal.

Invariant: after a turn, the closure of Q has the conclusions of all instances.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence, Set

import numpy as np

from corollary.closure.copy_index import facts_with_copies
from corollary.columns import Candidates, Pairs, Relation, TripleIndex
from corollary.columns.pairs import among, distinct, firsts, pack, seconds
from corollary.execute.context import ExecutionContext
from corollary.execute.run_plan import family_rows
from corollary.kernels.sorted import Column, Keys
from corollary.modules.guards import Guards
from corollary.modules.module import Answer, External, Fact, NewModules, NotFew
from corollary.modules.rule_set import RuleSet
from corollary.modules.semi_naive import SemiNaive
from corollary.modules.tuning import MAX_EQUATED_AT_ONCE
from corollary.program.compile import CompiledRule
from corollary.program.compiled_program import CompiledProgram
from corollary.program.shapes import (
    CommonValueShape,
    closed_predicate,
    common_value_shape,
    symmetric_predicate,
)


class Functional(SemiNaive):
    """The module of all rules that equate terms with a common value."""

    name = "functional"
    why = "terms with a common value are equal: each is linked to one of them, the closure does the rest"
    turn = 65
    is_optional = True
    keeps_state = True

    def __init__(self, context: ExecutionContext, rdf_type: int) -> None:
        super().__init__(self.name, context)
        self._rdf_type = rdf_type
        self._guards = Guards(rdf_type)
        self._shapes: dict[int, CommonValueShape] = {}  # by the number of the rule, as the next
        self._sources: dict[int, set[int]] = {}  # the predicates that a rule reads, by its guards

    @classmethod
    def claim(cls, offered: Sequence[CompiledRule], rules: RuleSet) -> Iterable[CompiledRule]:
        """The offered rules that equate terms by a relation which rules make symmetric and transitive."""
        for rule in offered:
            shape = rules.recognised(common_value_shape, rule, rules.rdf_type)
            if shape is not None and shape.equality in rules.equivalences:
                yield rule

    @classmethod
    def minds(cls, rule: CompiledRule, rules: RuleSet) -> bool:
        """Whether the rule makes a relation symmetric or transitive."""
        shapes = (symmetric_predicate, closed_predicate)
        return any(rules.recognised(shape, rule) is not None for shape in shapes)

    @classmethod
    def make(cls, program: CompiledProgram, context: ExecutionContext) -> Functional:
        """A module without rules."""
        return cls(context, program.rdf_type)

    def add_rule(self, rule: CompiledRule, positions: Collection[int] | None = None) -> None:
        """Add a rule. The next ``add`` applies the rule to all facts."""
        super().add_rule(rule, positions)
        shape = common_value_shape(rule, self._rdf_type)
        assert shape is not None
        self._shapes[rule.number] = shape
        self._guards.add(rule)

    def remove_rules(self, numbers: Collection[int], facts: TripleIndex) -> Candidates:
        """Remove rules. Returns all conclusions of their instances; starts over if these are not listed."""
        for rule in self.rules:
            if rule.number in numbers and facts.relation(self._shapes[rule.number].equality).is_compressed:
                raise NewModules("equalities, too many to list, lose a rule")
        lost = super().remove_rules(numbers, facts)
        self._sources = {n: found for n, found in self._sources.items() if n not in numbers}
        self._shapes = {n: shape for n, shape in self._shapes.items() if n not in numbers}
        self._guards = Guards(self._rdf_type)
        for rule in self.rules:
            self._guards.add(rule)
        return lost

    def reads(self, predicate: int) -> bool:
        """Whether it is a property that the rules read, or has guards."""
        has_guards = predicate in self._guards.predicates or predicate == self._rdf_type
        return has_guards or any(predicate in sources for sources in self._sources.values())

    def objects_read(self, predicate: int) -> Set[int] | None:
        """Any of a property that the rules read; of others the objects of guards."""
        is_source = any(predicate in sources for sources in self._sources.values())
        return None if is_source else self._guards.objects_of(predicate)

    def add(self, facts: TripleIndex, recent: TripleIndex) -> Answer:
        """Links from the least term with a value to all terms with the value, if a recent fact has it."""
        candidates: Candidates = {}
        started = {rule.number for rule in self._unstarted}
        self._unstarted, self.is_waiting = [], False
        are_new = self._guards.are_among(recent)
        if are_new or started:
            self.revision += 1
        for rule in self.rules:
            known = self._sources.get(rule.number, set())
            if are_new or rule.number in started:
                self._sources[rule.number] = self._predicates(rule, facts)
            for predicate in self._sources[rule.number]:
                is_whole = rule.number in started or predicate not in known
                changed = facts.relation(predicate) if is_whole else recent.relation(predicate)
                if len(changed):
                    shape = self._shapes[rule.number]
                    links = _links(shape, facts.relation(predicate), changed)
                    candidates.setdefault(shape.equality, []).append(links)
        return Answer(candidates)

    def restore(self, facts: TripleIndex, external: External) -> Candidates:
        """Look up the properties that the rules read."""
        self._sources = {rule.number: self._predicates(rule, facts) for rule in self.rules}
        self.revision += 1
        return super().restore(facts, external)

    def overdelete(self, facts: TripleIndex, deleted: TripleIndex, proved: TripleIndex) -> Answer:
        """The conclusions of all instances over ``facts`` with a deleted premise.

        Starts over if these are many, and not listed.
        """
        equalities = {n: facts.relation(shape.equality) for n, shape in self._shapes.items()}
        if not any(map(len, equalities.values())):
            return Answer({})
        for rule in self.rules:
            if equalities[rule.number].is_compressed:
                self._refuse_many(rule, facts, deleted)
        return super().overdelete(facts, deleted, proved)

    def conclusions_of(self, fact: Fact, facts: TripleIndex, proved: TripleIndex) -> Iterable[Fact]:
        """As ``overdelete``."""
        equalities = [facts.relation(shape.equality) for shape in self._shapes.values()]
        if not any(map(len, equalities)):
            return ()
        if any(equality.is_compressed for equality in equalities):
            raise NotFew
        return super().conclusions_of(fact, facts, proved)

    def commit_deletions(self, facts: TripleIndex, deleted: TripleIndex) -> None:
        """Look the properties up again if guards were deleted."""
        if self._guards.are_among(deleted):
            self.revision += 1
            for number, known in self._sources.items():
                rule = next(rule for rule in self.rules if rule.number == number)
                known &= self._predicates(rule, facts)

    def _predicates(self, rule: CompiledRule, facts: TripleIndex) -> set[int]:
        """The predicates that a rule reads, by its guards among ``facts``."""
        rows = family_rows(rule, facts, self._context)
        predicate = self._shapes[rule.number].predicate
        return set(distinct(rows.column(predicate)).tolist()) if rows.size else set()

    def _refuse_many(self, rule: CompiledRule, facts: TripleIndex, deleted: TripleIndex) -> None:
        """Raise ``NewModules`` if a rule has many instances over ``facts`` with a deleted premise."""
        shape, guards_go, equated = self._shapes[rule.number], self._guards.are_among(deleted), 0
        sources = self._sources.get(rule.number)
        for predicate in self._predicates(rule, facts) if sources is None else sources:  # None: not applied
            relation, removed = facts.relation(predicate), deleted.relation(predicate)
            removed = relation if guards_go else removed
            if not len(removed):
                continue
            if relation.is_compressed:
                raise NewModules("values of equal terms, too many to list, go")
            values = seconds(removed.keys()) if shape.is_inverse else firsts(removed.keys())
            sizes = relation.object_counts(values) if shape.is_inverse else relation.subject_counts(values)
            equated += int(sizes.sum())
        if equated > MAX_EQUATED_AT_ONCE:
            raise NewModules("equalities, too many to list, may be lost")


def _links(shape: CommonValueShape, relation: Relation, changed: Relation) -> Keys:
    """A pair (least, term) for all terms that have a value of a ``changed`` fact in a relation."""
    if len(changed) < len(relation):
        values = changed.object_terms() if shape.is_inverse else changed.subject_terms()
        whole = _starting(shape, relation, values)
    else:
        whole = _by_value(shape, relation)
    values, terms = firsts(whole), seconds(whole)
    starts = np.flatnonzero(np.append(True, values[1:] != values[:-1])) if values.size else values[:0]
    least = np.repeat(terms[starts], np.diff(np.append(starts, terms.size)))
    if shape.is_irreflexive:
        least, terms = least[least != terms], terms[least != terms]
    return pack(least, terms)


def _by_value(shape: CommonValueShape, relation: Relation) -> Keys:
    """The facts of a relation as keys (value, term), or some that have the others as copies."""
    whole = facts_with_copies(relation)
    if not shape.is_inverse:
        return whole
    return Pairs(whole).by_object if relation.is_compressed else relation.pairs().by_object


def _starting(shape: CommonValueShape, relation: Relation, values: Column) -> Keys:
    """As ``_by_value``, for some values. Listed facts are looked up: the latest changes are not folded."""
    if relation.is_compressed:
        whole = _by_value(shape, relation)
        return whole[among(firsts(whole), values)]
    return (relation.inverse() if shape.is_inverse else relation).starting(values)
