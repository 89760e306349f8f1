"""Every fact of a materialisation has a proof from explicit facts: random ontologies and rules that meet."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st
from tests import ontology_strategies as ontology
from tests import strategies as some
from tests.engine import Fact, run
from tests.explain.checker import Checker

from corollary.evaluate import MaterialisedView
from corollary.explain import Status, explain
from corollary.language import Rule, Triple, parse_program
from corollary.language.model import IRI, OWL, RDF_TYPE, Constant, Variable
from corollary.profiles import load_profile

thorough = some.thorough(100)

MOST_FACTS = 40
"""Of more facts only some are explained, evenly spread."""

X, Y, Z, U = some.VARIABLES
NAMES: tuple[Constant, ...] = (*some.INDIVIDUALS, *some.PROPERTIES[:2], some.CLASSES[0])
"""Individuals, and some properties and classes that are also individuals."""

PREDICATES = (*some.PROPERTIES, IRI(OWL + "sameAs"))

names = st.sampled_from(NAMES)
predicates = st.sampled_from(PREDICATES)
CHARACTERISTICS = st.sampled_from(
    tuple(ontology.owl(name) for name in ("TransitiveProperty", "TransitiveProperty", "SymmetricProperty"))
)

axioms: st.SearchStrategy[ontology.Axiom] = st.one_of(
    st.builds(ontology.statement, some.properties, st.just(RDF_TYPE), CHARACTERISTICS),
    st.builds(ontology.statement, some.properties, st.just(ontology.owl("inverseOf")), some.properties),
    st.builds(ontology.statement, some.properties, st.just(ontology.rdfs("subPropertyOf")), predicates),
    st.builds(
        ontology.with_list,
        some.properties,
        st.just(ontology.owl("propertyChainAxiom")),
        st.lists(some.properties, min_size=1, max_size=3),
    ),
    st.builds(ontology.statement, names, st.just(ontology.owl("sameAs")), names),
    st.builds(
        ontology.restriction,
        ontology.contexts,
        some.properties,
        st.tuples(st.just(ontology.owl("hasValue")), some.individuals),
    ),
    st.builds(
        ontology.restriction,
        ontology.contexts,
        some.properties,
        st.tuples(st.just(ontology.owl("someValuesFrom")), some.classes),
    ),
)

data = some.sets_of(
    st.one_of(
        st.tuples(names, some.properties, names),
        st.tuples(names, some.properties, names),
        st.tuples(names, st.just(RDF_TYPE), some.classes),
    ),
    12,
)


def closing(predicate: Constant | Variable, guard: tuple[Triple, ...] = ()) -> Rule:
    return Rule((Triple(X, predicate, Z),), (*guard, Triple(X, predicate, Y), Triple(Y, predicate, Z)))


closures: st.SearchStrategy[Rule] = st.one_of(
    st.builds(closing, some.properties),
    st.builds(lambda p: Rule((Triple(Y, p, X),), (Triple(X, p, Y),)), some.properties),
    st.builds(lambda p, q: Rule((Triple(X, p, Y),), (Triple(X, q, Y),)), some.properties, some.properties),
    st.builds(
        lambda kind: closing(U, (Triple(U, RDF_TYPE, kind),)),
        some.classes,
    ),
)


def assert_all_explained(result: MaterialisedView, most: int = MOST_FACTS) -> None:
    """Every inferred fact has a proof that holds, and every explicit one has none or such a proof."""
    checker = Checker(result)
    rows = list(zip(*(column.tolist() for column in result.index.columns(legal=False)), strict=True))
    for fact in rows[:: 1 + len(rows) // most]:
        explanation = explain(result, *fact)
        assert explanation.proofs or explanation.status == Status.EXPLICIT, str(explanation)
        for proof in explanation.proofs:
            checker.check(proof, fact)


@thorough
@given(data, st.lists(st.one_of(closures, closures, some.positive_rules()), min_size=2, max_size=6))
def test_rules_over_closures(facts: frozenset[Fact], rules: list[Rule]) -> None:
    assert_all_explained(run(facts, some.program_of(rules)))


@thorough
@given(
    ontology.ontologies(axioms, data=data),
    st.lists(st.one_of(closures, some.positive_rules()), max_size=2),
)
def test_ontologies_and_rules(facts: frozenset[Fact], rules: list[Rule]) -> None:
    program = load_profile("owl2rl") + some.program_of(rules)
    assert_all_explained(run(facts, program))


MANY_EQUAL_TERMS = """
[:f, :q, :g] . [:d, :p, :a] . [:g, :q, :B] . [:B, a, :A] . [:q, a, :B] . [:B, :q, :p] . [:h, :p, :b] .
[:B, owl:sameAs, :c] . [:b, :q, :A] . [:d, :p, :c] . [:A, :p, :e] .
[:r1, owl:onProperty, :q] . [:r1, owl:hasValue, :b] . [:A, rdfs:subClassOf, :r1] .
[:p, rdfs:subPropertyOf, :p] . [:q, a, owl:FunctionalProperty] . [:A, owl:equivalentClass, :r2] .
[?y, :q, ?x] :- [?x, :q, ?y] .
[?x, ?u, ?z] :- [?u, a, :A], [?x, ?u, ?y], [?y, ?u, ?z] .
"""
"""Fifteen equal terms stand in all places of facts: each has some 50 instances of rules for each fact."""


def test_a_budget_that_does_not_suffice_for_all_instances() -> None:
    parsed = parse_program(f"PREFIX : <{some.EXAMPLE}>\n{MANY_EQUAL_TERMS}")
    facts = {(h.subject, h.predicate, h.object) for rule in parsed for h in rule.heads if not rule.body}
    rules = [rule for rule in parsed if rule.body]
    result = run(facts, load_profile("owl2rl") + some.program_of(rules))  # type: ignore[arg-type]
    goal = [result.dictionary.encode(f"<{some.EXAMPLE}{name}>") for name in "aeA"]
    explanation = explain(result, *goal)
    (proof,) = explanation.proofs
    Checker(result).check(proof, proof.conclusion.fact)
