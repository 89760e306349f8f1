"""Every rule of every profile has a sentence; anonymous classes are printed in Manchester syntax."""

from __future__ import annotations

import re

import pytest
from rdflib import RDF, RDFS, BNode, Graph, Namespace

from corollary.explain.sentences import SENTENCES, sentence
from corollary.language import Aggregate, Bind, Not, Rule, variables
from corollary.profiles import load_profile, profile_names
from corollary.store import CorollaryStore

PREFIXES = """
@prefix : <http://example.org/> .
@prefix owl: <http://www.w3.org/2002/07/owl#> .
@prefix rdfs: <http://www.w3.org/2000/01/rdf-schema#> .
@prefix xsd: <http://www.w3.org/2001/XMLSchema#> .
"""

EX = Namespace("http://example.org/")

RULES = [rule for name in profile_names() for rule in load_profile(name)]


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.name)
def test_every_rule_has_a_sentence_about_its_variables(rule: Rule) -> None:
    assert not any(isinstance(element, Aggregate | Bind | Not) for element in rule.body)
    bound = {variable.name: 0 for variable in variables(rule)}
    said = sentence(rule.name or "", bound, lambda _: "X")
    assert said and "{" not in said, f"{rule.name} has no sentence with variables among {sorted(bound)}"


def test_no_sentence_is_left_over() -> None:
    assert set(SENTENCES) == {rule.name for rule in RULES}


@pytest.mark.parametrize(
    ("definition", "text"),
    [
        ("owl:onProperty :hasTopping ; owl:someValuesFrom :Meat", "(:hasTopping some :Meat)"),
        ("owl:onProperty :hasTopping ; owl:allValuesFrom :Meat", "(:hasTopping only :Meat)"),
        ("owl:onProperty :hasTopping ; owl:hasValue 5", "(:hasTopping value 5)"),
        ("owl:onProperty :likes ; owl:hasSelf true", "(:likes Self)"),
        ("owl:onProperty [ owl:inverseOf :on ] ; owl:someValuesFrom :Meat", "((inverse :on) some :Meat)"),
        ('owl:onProperty :p ; owl:maxCardinality "2"^^xsd:nonNegativeInteger', "(:p max 2)"),
        (
            'owl:onProperty :p ; owl:minQualifiedCardinality "1"^^xsd:nonNegativeInteger ; owl:onClass :C',
            "(:p min 1 :C)",
        ),
        ("owl:complementOf :C", "(not :C)"),
        ("owl:intersectionOf ( :A :B )", "(:A and :B)"),
        ("owl:unionOf ( :A [ owl:complementOf :B ] )", "(:A or (not :B))"),
        ("owl:oneOf ( :a :b )", "{:a, :b}"),
        ("owl:onDatatype xsd:integer ; owl:withRestrictions ([xsd:minInclusive 5])", "xsd:integer[>= 5]"),
    ],
)
def test_anonymous_classes(definition: str, text: str) -> None:
    store = CorollaryStore(rules="owl2rl")
    data = f"{PREFIXES} :Named rdfs:subClassOf [ {definition} ] . :x a :Named ."
    graph = Graph(store).parse(data=data, format="turtle")
    (kind,) = {o for o in graph.objects(EX.Named, RDFS.subClassOf) if isinstance(o, BNode)}
    explanation = store.explain((EX.x, RDF.type, kind))
    printed = str(explanation), explanation.html(), explanation.dot(), explanation.as_dict()["verdict"]
    assert not any(re.search(r"_:\w", one) for one in printed)
    assert f":x a {text} follows." in str(explanation)
