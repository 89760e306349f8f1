"""Derivations counted naively, by round: what ``corollary.evaluate.derivation_counts`` must agree with.

For every round all rules are applied to all facts born by then, and all bindings are counted. A round's
derivations are those of all rounds so far, less those of the rounds before.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import replace

from tests.oracles import naive

from corollary.language.model import Rule, Term, Triple, Variable
from corollary.language.program import Program

Fact = naive.Fact
Weights = dict[Fact, dict[int, int]]


def weights(given: Iterable[Fact], program: Program) -> Weights:
    """For every fact the number of its derivations, by round. Being given is one in round 0."""
    rules = [replace(rule, heads=(head,)) for rule in dict.fromkeys(program) for head in rule.heads]
    given, found = set(given), Weights()
    derived = {head.predicate for rule in rules for head in rule.heads}
    for names in components(rules):
        own = [rule for rule in rules if names is None or rule.heads[0].predicate in names]
        ours = {fact for fact in given if names is None or fact[1] in names}
        lower = {fact for fact in given if names is not None and fact[1] not in derived}
        lower |= {fact for fact in found if names is None or fact[1] not in names}
        found |= component(ours, lower, own, is_recursive=names is None or depends(names, rules))
    return found | {fact: {0: 1} for fact in given - found.keys()}


def component(given: set[Fact], lower: set[Fact], rules: list[Rule], *, is_recursive: bool) -> Weights:
    """The derivations in one component, above complete facts."""
    counts: dict[Fact, Counter[int]] = {fact: Counter({0: 1}) for fact in given}
    if not is_recursive:
        for fact, number in derivations(rules, lower).items():
            counts.setdefault(fact, Counter())[0] += number
        return {fact: dict(by_round) for fact, by_round in counts.items()}
    born, before, round_ = set(given), Counter[Fact](), 0
    while True:
        now = derivations(rules, lower | born)
        for fact in now:
            if now[fact] > before[fact]:
                counts.setdefault(fact, Counter())[round_ + 1] = now[fact] - before[fact]
        if now.keys() <= born and now == before:
            return {fact: dict(by_round) for fact, by_round in counts.items()}
        born, before, round_ = born | now.keys(), now, round_ + 1


def derivations(rules: list[Rule], facts: set[Fact]) -> Counter[Fact]:
    """How many bindings of which rules conclude each fact."""
    known, found = naive.Facts(facts, {}), Counter[Fact]()
    for rule in rules:
        for binding in naive.solutions(rule, known):
            s, p, o = (naive.substitute(term, binding) for term in rule.heads[0].terms)
            assert not any(isinstance(term, Variable) for term in (s, p, o))
            found[s, p, o] += 1  # type: ignore[index]
    return found


def components(rules: list[Rule]) -> list[set[Term] | None]:
    """The predicates that depend on each other, sources first; None for all, where a head may have any."""
    derived = {rule.heads[0].predicate for rule in rules}
    if any(isinstance(predicate, Variable) for predicate in derived):
        return [None]
    reach = {p: {p, *reached_from(p, rules)} for p in derived}
    order = sorted(derived, key=lambda p: -len(reach[p]))  # a source reaches more than what depends on it
    sets = (frozenset(q for q in reach[p] if p in reach[q]) for p in order)
    return [set(names) for names in dict.fromkeys(sets)]


def reached_from(predicate: Term, rules: list[Rule]) -> set[Term]:
    """The predicates that depend on one."""
    found: set[Term] = set()
    frontier = [predicate]
    while frontier:
        source = frontier.pop()
        for rule in rules:
            target = rule.heads[0].predicate
            read = {element.predicate for element in rule.body if isinstance(element, Triple)}
            if target not in found and (source in read or any(isinstance(p, Variable) for p in read)):
                found.add(target)
                frontier.append(target)
    return found


def depends(names: set[Term], rules: list[Rule]) -> bool:
    """Whether predicates of a component depend on themselves."""
    return any(name in reached_from(name, rules) for name in names)
