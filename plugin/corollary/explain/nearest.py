"""Why not: the rule instances that come nearest to a fact that does not hold, and the facts that they miss.

A beam search over the body of each rule that could conclude the fact: the atom with the most bound ends comes
next, and either a fact matches it or it is missing.

    :p rdfs:subPropertyOf :q; asked for :a :q :b: by prp-spo1 only :a :p :b is missing
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from heapq import nsmallest

from corollary.columns import TripleIndex
from corollary.evaluate import MaterialisedView
from corollary.explain.backward import leading_to
from corollary.explain.proof import Fact
from corollary.explain.tuning import (
    MAX_FACTS_MISSING,
    MAX_INSTANCES_TRIED,
    MAX_MATCHES_TRIED,
    MAX_NEAREST,
)
from corollary.program.compile import Atom, CompiledRule, is_virtual

Bindings = Mapping[int, int]
"""From the variables of a compiled rule, which are negative, to term ids."""


@dataclass(frozen=True, slots=True)
class Near:
    """A rule instance some of whose premises do not hold.

    ``bindings`` are by name. In ``missing`` a negative number is a variable: ``variable`` gives its name.
    ``present`` are the premises that hold.
    """

    rule: CompiledRule
    bindings: Mapping[str, int]
    present: tuple[Fact, ...]
    missing: tuple[Fact, ...]

    def variable(self, term: int) -> str:
        """The name of a variable in ``missing``."""
        return self.rule.names[-1 - term]


@dataclass(frozen=True, slots=True)
class _Partial:
    bound: Bindings
    open: tuple[int, ...]
    present: tuple[Fact, ...] = ()
    missing: tuple[int, ...] = ()


def nearest(result: MaterialisedView, fact: Fact) -> tuple[Near, ...]:
    """Up to ``MAX_NEAREST`` instances that miss the fewest facts, at most ``MAX_FACTS_MISSING`` each.

    Precondition: the fact does not hold. If the missing facts have no variables and the rule no conditions,
    the fact follows when they are added. Rules with negation, aggregates or long lists are left out. Cost:
    ``MAX_INSTANCES_TRIED * MAX_MATCHES_TRIED`` lookups for each atom of each rule.
    """
    found: dict[object, tuple[tuple[int, ...], Near]] = {}
    for backward in leading_to(result.compiled, (fact[1],)):
        rule = backward.rule
        bound = _unified(backward.head, fact, {})
        if bound is None or not rule.is_monotone or rule.along is not None or not rule.atoms:
            continue
        for partial in _completed(rule, bound, result.index):
            near = _near(rule, partial, fact)
            if near is not None:
                key = frozenset(near.missing)
                ranked = _rank(rule, partial, near), near
                found[key] = min(found.get(key, ranked), ranked, key=lambda one: one[0])
    return tuple(near for _, near in nsmallest(MAX_NEAREST, found.values(), key=lambda one: one[0]))


def _completed(rule: CompiledRule, bound: Bindings, facts: TripleIndex) -> list[_Partial]:
    """Instances with the fewest missing facts that the search meets."""
    beam = [_Partial(bound, tuple(range(len(rule.atoms))))]
    for _ in rule.atoms:
        following = [after for partial in beam for after in _steps(rule, partial, facts)]
        beam = nsmallest(MAX_INSTANCES_TRIED, following, key=lambda partial: len(partial.missing))
    return beam


def _steps(rule: CompiledRule, partial: _Partial, facts: TripleIndex) -> Iterator[_Partial]:
    """A partial instance with one more atom matched, or missing."""

    def known(number: int) -> tuple[int, bool]:
        terms = rule.atoms[number].terms
        return sum(term >= 0 or term in partial.bound for term in terms), number in rule.guards

    number = max(partial.open, key=known)
    left = tuple(each for each in partial.open if each != number)
    atom = rule.atoms[number]
    for fact in _matches(_applied(atom, partial.bound), facts):
        bound = _unified(atom, fact, partial.bound)
        if bound is not None:
            yield _Partial(bound, left, (*partial.present, fact), partial.missing)
    if not is_virtual(atom.p) and len(partial.missing) < MAX_FACTS_MISSING:
        yield _Partial(partial.bound, left, partial.present, (*partial.missing, number))


def _matches(wanted: Fact, facts: TripleIndex) -> list[Fact]:
    """Up to ``MAX_MATCHES_TRIED`` facts; none if the predicate, or both other terms, are unknown."""
    s, p, o = wanted
    if p < 0 or (s < 0 and o < 0):
        return []
    relation = facts.relation(p)
    if s >= 0 and o >= 0:
        return [wanted] if relation.has(s, o) else []
    if s >= 0:
        return [(s, p, value) for value in relation.column_of_objects(s)[:MAX_MATCHES_TRIED].tolist()]
    return [(subject, p, o) for subject in relation.some_subjects(o, MAX_MATCHES_TRIED).tolist()]


def _near(rule: CompiledRule, partial: _Partial, goal: Fact) -> Near | None:
    """The instance, unless it misses nothing, misses the goal itself, has nothing present or no predicate."""
    missing = tuple(dict.fromkeys(_applied(rule.atoms[i], partial.bound) for i in partial.missing))
    if not missing or not partial.present or goal in missing or any(p < 0 for _, p, _ in missing):
        return None
    names = {rule.names[-1 - variable]: term for variable, term in partial.bound.items()}
    return Near(rule, names, tuple(dict.fromkeys(partial.present)), missing)


def _rank(rule: CompiledRule, partial: _Partial, near: Near) -> tuple[int, ...]:
    """The least first: not by equality, few missing facts, few of them guards, few variables."""
    variables = sum(term < 0 for fact in near.missing for term in fact)
    guards = sum(number in rule.guards for number in partial.missing)
    return rule.label.startswith("eq-"), len(near.missing), guards, variables, rule.number


def _applied(atom: Atom, bound: Bindings) -> Fact:
    return bound.get(atom.s, atom.s), bound.get(atom.p, atom.p), bound.get(atom.o, atom.o)


def _unified(atom: Atom, fact: Fact, bound: Bindings) -> dict[int, int] | None:
    """The bindings with which an atom is a fact; None if there are none."""
    found = dict(bound)
    for term, value in zip(atom.terms, fact, strict=True):
        if (found.setdefault(term, value) if term < 0 else term) != value:
            return None
    return found
