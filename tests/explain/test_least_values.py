"""Proofs of the facts of recursive aggregates: the path, from its seed."""

from __future__ import annotations

from hypothesis import given
from tests.engine import Fact, facts_of, run
from tests.modules.test_recursive_aggregate import INTEGERS, LOWER, SHORTEST, named, networks, parsed
from tests.strategies import thorough

from corollary.explain import Status, explain
from corollary.explain.proof import Application, Proof, Step
from corollary.language import XSD, Constant, Literal, Program, constant_text, parse_constant
from corollary.terms.dictionary import TermDictionary


@thorough(60)
@given(networks(INTEGERS))
def test_every_least_value_has_a_path(facts: frozenset[Fact]) -> None:
    result = run(facts, parsed(SHORTEST, *LOWER[:2]))
    encode = result.dictionary.encode
    for fact in facts_of(result.index.columns(), result.dictionary) - facts:
        s, p, o = (encode(constant_text(term)) for term in fact)
        found = explain(result, s, p, o)
        assert found.status is Status.INFERRED
        assert found.is_complete
        (proof,) = found.proofs
        for step in proof.steps:
            check(step, proof, result.dictionary)
        assert {terms(given, result.dictionary) for given in proof.facts()} <= facts


def test_other_facts_are_asked_for_with_a_least_value() -> None:
    """Two premises: a distance, and the same number as the value of another predicate."""
    rules = parsed(
        SHORTEST,
        *LOWER[:2],
        "[?x, :copy, ?v] :- [?x, :reported, ?v] .",
        "[?x, :both, ?v] :- [?x, :copy, ?v], [?x, :distance, ?v] .",
        "[:a, :start, 1] . [:e, :from, :a] . [:e, :to, :b] . [:e, :length, 2] . [:b, :reported, 3] .",
    )
    facts = {(h.subject, h.predicate, h.object) for rule in rules if not rule.body for h in rule.heads}
    result = run(facts, Program(tuple(rule for rule in rules if rule.body)))  # type: ignore[arg-type]
    goal = (named("b"), named("both"), Literal("3", XSD + "integer"))
    (proof,) = explain(result, *(result.dictionary.encode(constant_text(term)) for term in goal)).proofs
    assert proof.size == 4


def check(step: Step, proof: Proof, dictionary: TermDictionary) -> None:
    """A distance is that of a premise, and a length; other rules copy a number."""
    if not (isinstance(step.reason, Application) and step.reason.groups):
        return
    premises = [terms(proof.steps[i].fact, dictionary) for i in step.premises]
    numbers = [number(o) for _, p, o in premises if p in (named("distance"), named("length"))]
    assert len(numbers) == 2
    assert sum(numbers) == number(terms(step.fact, dictionary)[2])


def terms(fact: tuple[int, int, int], dictionary: TermDictionary) -> Fact:
    s, p, o = map(parse_constant, map(dictionary.decode, fact))
    return s, p, o


def number(term: Constant) -> int:
    assert isinstance(term, Literal)
    return int(term.lexical)
