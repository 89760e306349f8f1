"""Why not: the missing facts of the nearest rule instances make a fact follow when they are added."""

from __future__ import annotations

from itertools import product

import pytest
from hypothesis import given
from rdflib import RDF, Graph, Namespace
from tests import strategies as some
from tests.engine import Fact, close, run

from corollary.explain import Explanation, Status, explain
from corollary.explain import Fact as IdFact
from corollary.explain.nearest import Near
from corollary.language import Program, constant_text
from corollary.profiles import load_profile
from corollary.store import CorollaryStore

FAMILY = "http://example.org/"
EX = Namespace(FAMILY)


def _why_not(facts: frozenset[Fact], program: Program, goal: Fact) -> Explanation:
    result = run(facts, program)
    return explain(result, *(result.dictionary.encode(constant_text(term)) for term in goal))


def chain_of(near: Near) -> list[Near]:
    """An instance and all below, which conclude facts that it misses."""
    for below in near.below:
        assert below.fact in near.missing
    return [near, *(each for below in near.below for each in chain_of(below))]


def leaves(near: Near) -> list[IdFact]:
    """The missing facts, replaced by those that the instances below miss."""
    below = {each.fact: each for each in near.below}
    return [leaf for fact in near.missing for leaf in (leaves(below[fact]) if fact in below else [fact])]


@some.thorough(40)
@given(some.fact_sets, some.programs())
def test_missing_facts_make_the_fact_follow(facts: frozenset[Fact], program: Program) -> None:
    result = run(facts, program)
    closure, _ = close(facts, program)
    texts = {constant_text(term): term for fact in closure for term in fact}
    terms = sorted({fact[0] for fact in closure}, key=str)
    predicates = sorted({fact[1] for fact in closure}, key=str)
    for goal in list(product(terms, predicates, terms))[:40]:
        if goal in closure:
            continue
        explanation = explain(result, *(result.dictionary.encode(constant_text(t)) for t in goal))
        assert explanation.status == Status.ABSENT
        for near in explanation.near:
            ids = [term for fact in leaves(near) for term in fact]
            present = {
                tuple(map(result.dictionary.decode, fact)) for one in chain_of(near) for fact in one.present
            }
            assert present <= {tuple(map(constant_text, fact)) for fact in closure}
            if min(ids) < 0 or any(one.rule.conditions for one in chain_of(near)):
                continue
            known = [result.dictionary.decode(term) for term in ids]
            if not set(known) <= texts.keys():
                continue
            added = [texts[text] for text in known]
            new = {(added[i], added[i + 1], added[i + 2]) for i in range(0, len(added), 3)}
            assert goal in close(facts | new, program)[0]


def test_one_missing_fact_comes_before_two() -> None:
    from tests.explain.test_proofs import chain

    rules = "[?x, :r, ?z] :- [?x, :p, ?y], [?y, :q, ?z] . [?x, :r, ?z] :- [?x, :s, ?z], :C[?x], :D[?z] ."
    result = chain(2, rules + " :C[:n0] .", ":p")
    goal = [result.dictionary.encode(f"<{FAMILY}{name}>") for name in ("n0", "r", "n9")]
    said = explain(result, *goal)
    first, second = said.near
    assert len(first.missing) == 1 and len(second.missing) == 2
    assert "missing  :n1 :q :n9\n  holds    :n0 :p :n1" in str(said)
    missing = [set(one["missing"]) for one in said.as_dict()["nearest"]]
    assert missing == [{":n1 :q :n9"}, {":n0 :s :n9", ":n9 a :D"}]
    assert '<code class="false">:n1 :q :n9</code> <span class="note">missing</span>' in said.html()
    assert '<code class="stated">:n0 :p :n1</code> <span class="note">holds</span>' in said.html()
    assert ":n1 :q :n9" in said.dot()


@pytest.mark.parametrize("profile", ["rdfs", "owl2rl"])
def test_a_subclass_names_its_members(profile: str) -> None:
    from corollary.language import IRI, RDF_TYPE

    below = IRI("http://www.w3.org/2000/01/rdf-schema#subClassOf")
    dog, animal, rex, tom = (IRI(FAMILY + name) for name in ("Dog", "Animal", "rex", "tom"))
    facts = frozenset({(dog, below, animal), (rex, RDF_TYPE, dog), (tom, below, tom)})
    said = _why_not(facts, load_profile(profile), (tom, RDF_TYPE, animal))
    assert (said.near[0].rule.label, len(said.near[0].missing)) in {("cax-sco", 1), ("rdfs9", 1)}
    assert not _why_not(facts, load_profile(profile), (rex, RDF_TYPE, animal)).near


TOPPINGS = """
@prefix : <http://example.org/> . @prefix owl: <http://www.w3.org/2002/07/owl#> .
@prefix rdfs: <http://www.w3.org/2000/01/rdf-schema#> .
:Meaty owl:equivalentClass [ owl:onProperty :topping ; owl:someValuesFrom :Meat ] ; rdfs:subClassOf :Pizza .
:Ham rdfs:subClassOf :Meat . :p :topping :h . :h a :Fish . :q a :Cake .
"""


def test_what_a_missing_fact_would_follow_from_is_said_too() -> None:
    """One more type, of the topping, three rules away from the fact; added, the fact follows."""
    graph = Graph("Corollary").parse(data=TOPPINGS, format="turtle")
    store, goal = graph.store, (EX.p, RDF.type, EX.Pizza)
    assert isinstance(store, CorollaryStore)
    said = store.explain(goal)
    assert leaves(said.near[0]) != list(said.near[0].missing)
    assert len(chain_of(said.near[0])) == 3
    lines = str(said).splitlines()
    assert "    :p a (:topping some :Meat) would follow by cls-svf1 if this held:" in lines
    assert "      missing  :h a :Meat" in lines and "      holds    :p :topping :h" in lines
    (one,) = said.as_dict()["nearest"][0]["below"][0]["below"]
    assert (one["rule"], one["missing"], one["below"]) == ("cls-svf1", [":h a :Meat"], [])
    assert '<code class="false">:h a :Meat</code>' in said.html() and ":h a :Meat" in said.dot()
    graph.add((EX.h, RDF.type, EX.Meat))
    assert goal in graph


def test_below_stand_only_instances_that_lead_to_data() -> None:
    graph = Graph("Corollary").parse(data=TOPPINGS, format="turtle")
    assert isinstance(graph.store, CorollaryStore)
    for near in graph.store.explain((EX.q, RDF.type, EX.Pizza)).near:
        assert not near.below and near.missing


VEGETARIAN = """
@prefix : <http://example.org/> . @prefix owl: <http://www.w3.org/2002/07/owl#> .
@prefix rdfs: <http://www.w3.org/2000/01/rdf-schema#> .
:Meaty owl:equivalentClass [ owl:intersectionOf ( :Pizza _:some ) ] .
_:some owl:onProperty :topping ; owl:someValuesFrom :Meat .
:Margherita rdfs:subClassOf :Pizza . :topping rdfs:domain :Pizza .
:p a :Pizza . :ham a :Meat . :x a :Drink .
"""


def test_if_data_come_near_the_ontology_is_not_questioned() -> None:
    """Not: if :Meaty were a union of the list of the intersection. Lists are said to be lists."""
    graph = Graph("Corollary").parse(data=VEGETARIAN, format="turtle")
    assert isinstance(graph.store, CorollaryStore)
    said = graph.store.explain((EX.p, RDF.type, EX.Meaty))
    assert leaves(said.near[0]) and all(near.has_guards and near.reaches_data for near in said.near)
    assert "unionOf" not in str(said)
    assert "holds    (:Pizza (:topping some :Meat)) is a list" in str(said)
    assert "holds    :Pizza is item 1 of the list (:Pizza (:topping some :Meat))" in str(said)


def test_named_classes_come_before_anonymous_ones() -> None:
    graph = Graph("Corollary").parse(data=VEGETARIAN, format="turtle")
    assert isinstance(graph.store, CorollaryStore)
    said = graph.store.explain((EX.x, RDF.type, EX.Pizza))
    missing = [one["missing"] for one in said.as_dict()["nearest"]]
    assert [":x a :Margherita"] in missing[:2] and [":x a :Meaty"] in missing[:2]


def test_nothing_is_near_a_misspelt_class() -> None:
    graph = Graph("Corollary").parse(data=VEGETARIAN, format="turtle")
    assert isinstance(graph.store, CorollaryStore)
    said = graph.store.explain((EX.p, RDF.type, EX.Meety))
    assert str(said) == ":p a :Meety does not hold: no fact mentions :Meety."
