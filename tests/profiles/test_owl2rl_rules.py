"""One small case a rule of OWL 2 RL: what the rule is there for, and that it stops there.

The cases are in the text files beside this one: ``premise => conclusion`` in Turtle, or ``premise =>
false``; ``premise =/=> ...`` is what must not follow. Rules that only owl2rl-full has are tested
with it, all others with owl2rl.
"""

from __future__ import annotations

from pathlib import Path

import pyoxigraph
import pytest
from _pytest.mark import ParameterSet
from tests.conformance.entailment import Closure, Fact, close, entails
from tests.profiles.test_profiles import CLUTTER, GUARDED, OWL2RL

PREFIXES = """
@prefix : <http://example.org/> .
@prefix rdf: <http://www.w3.org/1999/02/22-rdf-syntax-ns#> .
@prefix rdfs: <http://www.w3.org/2000/01/rdf-schema#> .
@prefix owl: <http://www.w3.org/2002/07/owl#> .
@prefix xsd: <http://www.w3.org/2001/XMLSchema#> .
"""


def cases(file: str) -> list[ParameterSet]:
    """One test a line of a text file beside this one: the rule's name, then the case."""
    lines = (Path(__file__).parent / file).read_text("utf-8").splitlines()
    return [pytest.param(*line.split(None, 1), id=line) for line in lines if not line.startswith("#")]


RULES = cases("owl2rl_rules.txt")


def turtle(text: str) -> list[Fact]:
    triples = pyoxigraph.parse(PREFIXES + text, format=pyoxigraph.RdfFormat.TURTLE)
    return [(str(triple.subject), str(triple.predicate), str(triple.object)) for triple in triples]


def follows(premise: str, conclusion: str, profile: str) -> bool:
    closure: Closure = close(turtle(premise), profile)
    if conclusion.strip() == "false":
        return bool(closure.inconsistencies)
    return entails(closure.facts, turtle(conclusion))


@pytest.mark.parametrize(("rule", "case"), RULES)
def test_rule(rule: str, case: str) -> None:
    expected = "=/=>" not in case
    premise, conclusion = case.split("=>" if expected else "=/=>")
    full = rule in CLUTTER | GUARDED
    assert follows(premise, conclusion, "owl2rl-full" if full else "owl2rl") == expected
    if full:
        assert not follows(premise, conclusion, "owl2rl"), "owl2rl leaves this out"


@pytest.mark.parametrize(("rule", "case"), cases("owl2rl_instead.txt"))
def test_what_stands_for_rules_left_out(rule: str, case: str) -> None:
    """What the full rules conclude by way of clutter, owl2rl concludes without."""
    premise, conclusion = case.split("=>")
    assert follows(premise, conclusion, "owl2rl")
    declared = premise + " :C a owl:Class . :D a owl:Class . :E a owl:Class . :p a owl:ObjectProperty ."
    assert follows(declared, conclusion, "owl2rl-full")


@pytest.mark.parametrize(("rule", "case"), cases("owl2rl_full.txt"))
def test_what_only_owl2rl_full_has(rule: str, case: str) -> None:
    premise, conclusion = case.split("=>")
    assert follows(premise, conclusion, "owl2rl-full")
    assert not follows(premise, conclusion, "owl2rl")


def test_numbers_that_a_float_can_hold_are_well_typed() -> None:
    """Zero itself, and the least and greatest numbers."""
    for text in '"0.0"', '"-0e5"', '"00.00E-400"', '"1e-45"', '"3.4028235e38"', '"-INF"', '"NaN"':
        assert not follows(f":x :p {text}^^xsd:float .", "false", "owl2rl-full")


def test_every_rule_has_a_case() -> None:
    assert {case.values[0] for case in RULES} == OWL2RL
