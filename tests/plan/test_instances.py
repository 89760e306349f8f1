"""The program of rule instances is ordinary Datalog with the same materialisation."""

from __future__ import annotations

import pytest
from hypothesis import HealthCheck, given, settings
from tests import ontology_strategies as ontology
from tests.engine import Fact, facts_of, run

from corollary.evaluate import Materialisation
from corollary.language import Program, format_program, parse_program
from corollary.profiles import load_profile

moderate = settings(max_examples=50, deadline=None, suppress_health_check=[HealthCheck.too_slow])

PREFIX = "PREFIX : <http://example.org/>\n"
OWL2RL = load_profile("owl2rl")


def facts(text: str) -> set[Fact]:
    return {head.terms for rule in parse_program(PREFIX + text) for head in rule.heads}


def instances(rules: str, data: str) -> list[str]:
    """The rules of the program of instances, as text."""
    program = run(sorted(facts(data), key=str), parse_program(PREFIX + rules)).instances()
    return format_program(program).removeprefix(PREFIX).strip().splitlines()


def everything(result: Materialisation) -> tuple[set[Fact], set[str]]:
    names = {inconsistency.rule for inconsistency in result.inconsistencies}
    return facts_of(result.index.columns(legal=False), result.dictionary), names


def assert_instances_do_the_same(data: frozenset[Fact], program: Program) -> None:
    original = run(data, program)
    printed = format_program(original.instances())
    again = parse_program(printed)
    assert again == original.instances(), "what is printed is the program"
    assert everything(run(data, again)) == everything(original)


@moderate
@given(ontology.ontologies(ontology.rdfs_axioms, ontology.property_axioms, ontology.clash_axioms))
def test_properties_under_owl2rl(data: frozenset[Fact]) -> None:
    assert_instances_do_the_same(data, OWL2RL)


@moderate
@given(ontology.ontologies(ontology.rdfs_axioms, ontology.class_axioms, ontology.key_axioms))
def test_classes_under_owl2rl(data: frozenset[Fact]) -> None:
    assert_instances_do_the_same(data, OWL2RL)


@moderate
@given(ontology.ontologies(ontology.rdfs_axioms, ontology.meta_axioms))
@pytest.mark.parametrize("profile", ["rhodf", "rdfs-plus"])
def test_inferred_schema(profile: str, data: frozenset[Fact]) -> None:
    assert_instances_do_the_same(data, load_profile(profile))


def test_one_rule_a_row_with_its_guards() -> None:
    assert instances(
        "[?x, a, ?d] :- [?c, rdfs:subClassOf, ?d], [?x, a, ?c] .",
        "[:A, rdfs:subClassOf, :B], [:B, rdfs:subClassOf, :C] .",
    ) == [
        ":B[?x] :- [:A, rdfs:subClassOf, :B], :A[?x] .",
        ":C[?x] :- [:B, rdfs:subClassOf, :C], :B[?x] .",
    ]


def test_guards_that_are_inferred_count() -> None:
    assert instances(
        "[?x, ?p, ?z] :- [?p, a, owl:TransitiveProperty], [?x, ?p, ?y], [?y, ?p, ?z] .\n"
        "owl:TransitiveProperty[?p] :- [?p, :is, :transitive] .",
        "[:p, :is, :transitive] .",
    ) == [
        "[?x, :p, ?z] :- owl:TransitiveProperty[:p], [?x, :p, ?y], [?y, :p, ?z] .",
        "owl:TransitiveProperty[?p] :- [?p, :is, :transitive] .",
    ]


def test_filters_on_guards_are_settled() -> None:
    assert instances(
        "[?x, :q, ?y] :- [?p, :level, ?n], FILTER(?n > 1), [?x, ?p, ?y], FILTER(?x != ?y) .",
        "[:a, :level, 1], [:b, :level, 2] .",
    ) == ["[?x, :q, ?y] :- [:b, :level, 2], [?x, :b, ?y], FILTER(?x != ?y) ."]


def test_a_rule_whose_guards_match_nothing_has_no_instances() -> None:
    assert instances("[?x, a, ?d] :- [?c, :below, ?d], [?x, a, ?c] .", ":A[:a] .") == []


def test_rules_without_guards_stand_as_they_are() -> None:
    rules = [":B[?x] :- :A[?x], NOT :C[?x] .", "false :- :B[:b] .", ":A[:a] ."]
    assert instances("\n".join(rules), ":C[:c] .") == rules
