"""Every rule of every profile has a sentence; anonymous classes are printed in Manchester syntax."""

from __future__ import annotations

import re

import pytest
from rdflib import OWL, RDF, RDFS, BNode, Graph, Namespace

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


@pytest.mark.parametrize("nested", ["twice", "deeply"])
def test_definitions_that_are_too_large_to_print(nested: str) -> None:
    """Found: a text of 2^40 parts, and one that exceeds Python's stack."""
    number, again = (40, True) if nested == "twice" else (3_000, False)
    inner = "".join(
        f"_:c{i} owl:unionOf ( _:c{i - 1} {f'_:c{i - 1}' if again else ':B'} ) .\n" for i in range(1, number)
    )
    outer = f":Named rdfs:subClassOf _:c{number - 1} . :x a :Named ."
    data = f"{PREFIXES} {inner} _:c0 owl:complementOf :A . {outer}"
    store = CorollaryStore(rules="rdfs")
    graph = Graph(store).parse(data=data, format="turtle")
    (kind,) = {o for o in graph.objects(EX.Named, RDFS.subClassOf) if isinstance(o, BNode)}
    said = str(store.explain((EX.x, RDF.type, kind)))
    assert " or " in said and re.search(r"_:\w", said)
    (least,) = graph.subjects(OWL.complementOf, EX.A)
    assert "(not :A)" in str(store.explain((least, OWL.complementOf, EX.A)))
