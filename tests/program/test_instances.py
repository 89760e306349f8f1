"""The program of rule instances is ordinary Datalog with the same materialisation."""

from __future__ import annotations

from collections.abc import Iterable

import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st
from tests import ontology_strategies as ontology
from tests.engine import Fact, facts_of, run
from tests.strategies import EXAMPLE, INDIVIDUALS, classes, examples, properties

from corollary.evaluate import MaterialisedView
from corollary.language import IRI, RDF_TYPE, BlankNode, Constant, Program, format_program, parse_program
from corollary.profiles import load_profile

moderate = settings(
    max_examples=examples(40),
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow],
    phases=set(Phase) - {Phase.explain},  # which takes minutes, if ever there is something to explain
)

QUANTIFIERS = tuple(map(ontology.owl, ("someValuesFrom", "allValuesFrom", "hasValue")))
PREFIX = "PREFIX : <http://example.org/>\n"
OWL2RL = load_profile("owl2rl")

without_lists = (
    ontology.rdfs_axioms,
    ontology.equality_axioms,
    ontology.clash_axioms,
    st.builds(ontology.statement, properties, st.just(RDF_TYPE), st.sampled_from(ontology.CHARACTERISTICS)),
    st.builds(
        ontology.restriction,
        ontology.contexts,
        properties,
        st.tuples(st.sampled_from(QUANTIFIERS), classes),
    ),
)


def facts(text: str) -> list[Fact]:
    """Facts written as rules without a body."""
    return [head.terms for rule in parse_program(PREFIX + text) for head in rule.heads]  # type: ignore[misc]


def instances(rules: str, data: str) -> list[str]:
    """The rules of the program of instances, as text."""
    program = run(facts(data), parse_program(PREFIX + rules)).instances()
    return format_program(program).removeprefix(PREFIX).strip().splitlines()


def everything(result: MaterialisedView) -> tuple[set[Fact], set[str]]:
    names = {inconsistency.rule for inconsistency in result.inconsistencies}
    return facts_of(result.index.columns(), result.dictionary), names


def assert_instances_do_the_same(data: Iterable[Fact], program: Program) -> None:
    original = run(data, program)
    printed = format_program(original.instances())
    again = parse_program(printed)
    assert again == original.instances(), "what is printed is the program"
    assert everything(run(data, again)) == everything(original)


def without_blank_properties(data: frozenset[Fact]) -> list[Fact]:
    """Facts whose individuals are all named: inferred schema may take them for properties."""
    named: dict[Constant, Constant] = {
        term: IRI(EXAMPLE + "e") for term in INDIVIDUALS if isinstance(term, BlankNode)
    }
    return [(named.get(s, s), named.get(p, p), named.get(o, o)) for s, p, o in data]


@moderate
@given(ontology.ontologies(*without_lists))
def test_without_lists_under_owl2rl(data: frozenset[Fact]) -> None:
    assert_instances_do_the_same(without_blank_properties(data), OWL2RL)


@moderate
@given(ontology.ontologies(ontology.property_axioms, ontology.class_axioms, ontology.key_axioms))
def test_with_lists_under_owl2rl(data: frozenset[Fact]) -> None:
    assert_instances_do_the_same(without_blank_properties(data), OWL2RL)


@moderate
@given(data=ontology.ontologies(ontology.rdfs_axioms, ontology.meta_axioms))
@pytest.mark.parametrize("profile", ["rhodf", "rdfs-plus"])
def test_inferred_schema(profile: str, data: frozenset[Fact]) -> None:
    assert_instances_do_the_same(without_blank_properties(data), load_profile(profile))


def test_an_anonymous_inverse() -> None:
    """As OWL 2 writes the inverse of a property in an axiom: its facts are no triples, but lead to some."""
    data = "[_:i, owl:inverseOf, :p], [_:i, rdfs:subPropertyOf, :q], [:a, :p, :b] ."
    assert_instances_do_the_same(facts(data), load_profile("rdfs-plus"))


def test_a_list() -> None:
    data = """
        [:p, owl:propertyChainAxiom, _:l1],
        [_:l1, rdf:first, :q], [_:l1, rdf:rest, _:l2], [_:l2, rdf:first, :r], [_:l2, rdf:rest, rdf:nil],
        [:a, :q, :b], [:b, :r, :c] .
    """
    assert_instances_do_the_same(facts(data), OWL2RL)


def test_a_list_of_two_readings() -> None:
    data = """
        [:p, owl:propertyChainAxiom, _:l1],
        [_:l1, rdf:first, :q], [_:l1, rdf:rest, _:l2], [_:l2, rdf:first, :r], [_:l2, rdf:rest, rdf:nil],
        [_:l1, rdf:rest, _:l3], [_:l3, rdf:first, :s], [_:l3, rdf:rest, rdf:nil],
        [:a, :q, :b], [:b, :s, :c] .
    """
    assert_instances_do_the_same(facts(data), OWL2RL)


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
