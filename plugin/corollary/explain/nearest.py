"""Why not: the rule instances that come nearest to a fact that does not hold, and the facts that they miss.

A beam search over the body of each rule that could conclude the fact: the atom with the most bound ends comes
next, and either a fact matches it or it is missing.

    :p rdfs:subPropertyOf :q; asked for :a :q :b: by prp-spo1 only :a :p :b is missing

A missing fact is searched in turn, up to ``MAX_LEVELS_MISSING`` rules deep, if that leads to data:

    asked for :x a :Meaty, :Meaty owl:equivalentClass (:has some :Meat), :x :has :y: :y a :Meat is missing
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from heapq import nsmallest

from corollary.columns import TripleIndex
from corollary.evaluate import MaterialisedView
from corollary.explain.backward import leading_to
from corollary.explain.proof import Fact
from corollary.explain.tuning import (
    MAX_FACTS_MISSING,
    MAX_FACTS_SEARCHED,
    MAX_INSTANCES_TRIED,
    MAX_LEVELS_MISSING,
    MAX_MATCHES_TRIED,
    MAX_NEAREST,
)
from corollary.program.compile import Atom, CompiledRule, is_virtual
from corollary.terms.dictionary import KIND_SHIFT, Kind

Bindings = Mapping[int, int]
"""From the variables of a compiled rule, which are negative, to term ids."""


@dataclass(frozen=True, slots=True)
class Near:
    """A rule instance some of whose premises do not hold.

    It concludes ``fact``. ``bindings`` are by name. In ``missing`` a negative number is a variable:
    ``variable`` gives its name. ``present`` are the premises that hold. ``has_data``: not only guards are
    among these; ``has_guards``: all guards are. ``below`` has at most one instance for each missing fact,
    which it concludes.
    """

    fact: Fact
    rule: CompiledRule
    bindings: Mapping[str, int]
    present: tuple[Fact, ...]
    missing: tuple[Fact, ...]
    has_data: bool
    has_guards: bool
    below: tuple[Near, ...] = ()

    @property
    def reaches_data(self) -> bool:
        """Whether the instance, or one below, has a premise that holds and is no guard."""
        return self.has_data or any(near.reaches_data for near in self.below)

    def variable(self, term: int) -> str:
        """The name of a variable in ``missing``."""
        return self.rule.names[-1 - term]


@dataclass(frozen=True, slots=True)
class _Partial:
    bound: Bindings
    open: tuple[int, ...]
    present: tuple[Fact, ...] = ()
    missing: tuple[int, ...] = ()
    has_data: bool = False


def nearest(result: MaterialisedView, fact: Fact) -> tuple[Near, ...]:
    """Up to ``MAX_NEAREST`` instances that miss the fewest facts, at most ``MAX_FACTS_MISSING`` each.

    If data come near, by rules whose guards hold, only such instances: nearly any fact would follow if the
    ontology said something else.

    Precondition: the fact does not hold. If the missing facts have no variables and the rule no conditions,
    the fact follows when they are added; likewise when a missing fact is replaced by those that the instance
    below it misses. Rules with negation, aggregates or long lists are left out. Cost:
    ``MAX_INSTANCES_TRIED * MAX_MATCHES_TRIED`` lookups for each atom of each rule that concludes the fact, or
    one of up to ``MAX_FACTS_SEARCHED`` missing facts.
    """
    search = _Deeper(result)
    found: list[Near] = []
    said: set[frozenset[Fact]] = set()
    for near in _one_deep(result, fact):
        if frozenset(near.missing) not in said:
            found.append(search.deepened(near, (fact,)))
            said |= {frozenset(each.missing) for each in _chain(found[-1])}
    by_data = tuple(near for near in found if near.has_guards and near.reaches_data)
    return by_data or tuple(found)


def _chain(near: Near) -> Iterator[Near]:
    """The instance and all below."""
    yield near
    for below in near.below:
        yield from _chain(below)


class _Deeper:
    """The search for instances that conclude missing facts, for one fact that does not hold.

    Those below another miss no guards, and nothing is below one that does: nearly any fact would follow if
    the ontology said something else.
    """

    def __init__(self, result: MaterialisedView) -> None:
        self._result = result
        self._known: dict[Fact, tuple[Near, ...]] = {}

    def deepened(self, near: Near, above: tuple[Fact, ...]) -> Near:
        """The instance with the best instances below. ``above``: the facts from the goal down to its own."""
        if len(above) >= MAX_LEVELS_MISSING or not near.has_guards:
            return near
        below = (self._best(fact, above) for fact in near.missing if min(fact) >= 0)
        return replace(near, below=tuple(one for one in below if one is not None))

    def _best(self, fact: Fact, above: tuple[Fact, ...]) -> Near | None:
        """The instance for a missing fact that reaches data, and needs no fact above; None without one."""
        if fact not in self._known:
            if len(self._known) >= MAX_FACTS_SEARCHED:
                return None
            self._known[fact] = _one_deep(self._result, fact)
        path = (*above, fact)
        fitting = (
            near for near in self._known[fact] if near.has_guards and not set(path) & set(near.missing)
        )
        reaching = [near for near in (self.deepened(one, path) for one in fitting) if near.reaches_data]
        return min(reaching, key=lambda near: (len(near.missing), not near.has_data), default=None)


def _one_deep(result: MaterialisedView, fact: Fact) -> tuple[Near, ...]:
    """As ``nearest``, with nothing below."""
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
            has_data = partial.has_data or number not in rule.guards
            yield _Partial(bound, left, (*partial.present, fact), partial.missing, has_data)
    if not is_virtual(atom.p) and len(partial.missing) < MAX_FACTS_MISSING:
        yield replace(partial, open=left, missing=(*partial.missing, number))


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
    present = tuple(dict.fromkeys(partial.present))
    has_guards = not any(number in rule.guards for number in partial.missing)
    return Near(goal, rule, names, present, missing, partial.has_data, has_guards)


def _rank(rule: CompiledRule, partial: _Partial, near: Near) -> tuple[int, ...]:
    """The least first: not by equality, few missing facts, few of them guards, few terms without a name."""
    terms = [term for fact in near.missing for term in fact]
    nameless = sum(term < 0 or term >> KIND_SHIFT == Kind.BLANK_NODE for term in terms)
    guards = sum(number in rule.guards for number in partial.missing)
    return rule.label.startswith("eq-"), len(near.missing), guards, nameless, rule.number


def _applied(atom: Atom, bound: Bindings) -> Fact:
    return bound.get(atom.s, atom.s), bound.get(atom.p, atom.p), bound.get(atom.o, atom.o)


def _unified(atom: Atom, fact: Fact, bound: Bindings) -> dict[int, int] | None:
    """The bindings with which an atom is a fact; None if there are none."""
    found = dict(bound)
    for term, value in zip(atom.terms, fact, strict=True):
        if (found.setdefault(term, value) if term < 0 else term) != value:
            return None
    return found
