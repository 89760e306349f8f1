"""Rules that are added and removed while the store lives."""

from __future__ import annotations

from pathlib import Path

import pytest
from rdflib import RDF, RDFS, Graph, Namespace

from corollary.language import CorollaryError, parse_program
from corollary.store import CorollaryStore

EX = Namespace("http://example.org/")
PREFIX = f"PREFIX : <{EX}>\n"
ANCESTOR = PREFIX + "@name parents\n:ancestor[?x, ?y] :- :parent[?x, ?y] .\n"
CLOSED = PREFIX + "@name closed\n:ancestor[?x, ?z] :- :ancestor[?x, ?y], :ancestor[?y, ?z] .\n"
CHILDLESS = PREFIX + ":Childless[?x] :- :Person[?x], NOT EXISTS ?y IN ([?y, :parent, ?x]) .\n"


@pytest.fixture
def family() -> Graph:
    graph = Graph(CorollaryStore(rules="owl2rl"))
    graph.add((EX.a, EX.parent, EX.b))
    graph.add((EX.b, EX.parent, EX.c))
    return graph


def store_of(graph: Graph) -> CorollaryStore:
    assert isinstance(graph.store, CorollaryStore)
    return graph.store


def test_rules_derive_at_once_and_what_they_derived_goes_with_them(family: Graph) -> None:
    store = store_of(family)
    assert len(store.add_rules(ANCESTOR, CLOSED)) == 2
    assert (EX.a, EX.ancestor, EX.c) in family
    assert [rule.name for rule in store.remove_rules("closed")] == ["closed"]
    assert (EX.a, EX.ancestor, EX.c) not in family
    assert (EX.a, EX.ancestor, EX.b) in family
    store.remove_rules(ANCESTOR)
    assert not list(family[: EX.ancestor])


def test_what_is_explicit_or_follows_otherwise_stays(family: Graph) -> None:
    store = store_of(family)
    family.add((EX.a, EX.ancestor, EX.b))
    family.add((EX.parent, RDFS.subPropertyOf, EX.ancestor))
    store.add_rules(ANCESTOR)
    store.remove_rules(ANCESTOR)
    assert set(family[: EX.ancestor]) == {(EX.a, EX.b), (EX.b, EX.c)}


def test_rules_are_added_together_with_facts(family: Graph) -> None:
    family.add((EX.c, EX.parent, EX.d))
    family.remove((EX.a, EX.parent, EX.b))
    store_of(family).add_rules(ANCESTOR, CLOSED)
    assert set(family[: EX.ancestor]) == {(EX.b, EX.c), (EX.c, EX.d), (EX.b, EX.d)}


def test_rules_with_negation_follow_changes(family: Graph) -> None:
    for person in (EX.a, EX.b, EX.c):
        family.add((person, RDF.type, EX.Person))
    store = store_of(family)
    store.add_rules(CHILDLESS)
    assert set(family[: RDF.type : EX.Childless]) == {EX.a}
    family.add((EX.d, EX.parent, EX.a))
    assert not set(family[: RDF.type : EX.Childless])
    family.remove((EX.b, EX.parent, EX.c))
    assert set(family[: RDF.type : EX.Childless]) == {EX.c}
    store.remove_rules(CHILDLESS)
    assert not set(family[: RDF.type : EX.Childless])


def test_the_same_rule_is_added_once(family: Graph) -> None:
    store = store_of(family)
    store.add_rules(ANCESTOR)
    assert len(store.add_rules(parse_program(ANCESTOR))) == 0
    store.remove_rules(ANCESTOR)
    assert (EX.a, EX.ancestor, EX.b) not in family


@pytest.mark.parametrize(
    "rules",
    [
        PREFIX + ":q[?x, ?y] :- :p[?x, ?z] .",
        PREFIX + ":q[?x, ?y] :- :p[?x, ?y], NOT :q[?x, ?y] .",
        PREFIX + ":q[?x, ?y] :- :p[?x ?y] .",
    ],
    ids=["unsafe", "circular negation", "no rule"],
)
def test_rules_that_cannot_be_evaluated_leave_the_store_as_it_was(family: Graph, rules: str) -> None:
    store = store_of(family)
    store.add_rules(ANCESTOR)
    before, rules_before = set(family), store.rules()
    family.add((EX.c, EX.parent, EX.d))
    with pytest.raises(CorollaryError):
        store.add_rules(rules)
    assert store.rules() == rules_before
    assert set(family) == before | {(EX.c, EX.parent, EX.d), (EX.c, EX.ancestor, EX.d)} | set(
        family.triples((EX.c, None, None))
    ) | set(family.triples((EX.d, None, None)))


def test_rules_that_ontologies_make_circular_are_refused(family: Graph) -> None:
    """By the rules themselves D is independent of C; this ontology says that every D is a C."""
    store = store_of(family)
    family.add((EX.D, RDFS.subClassOf, EX.C))
    family.add((EX.x, RDF.type, EX.B))
    before = set(family)
    with pytest.raises(CorollaryError, match="depends on its own conclusion"):
        store.add_rules(PREFIX + ":D[?x] :- :B[?x], NOT :C[?x] .")
    assert set(family) == before


def test_rule_files_and_profiles(family: Graph, tmp_path: Path) -> None:
    store = store_of(family)
    file = tmp_path / "family.dlog"
    file.write_text(ANCESTOR)
    store.add_rules(file, "rdfs")
    assert (EX.a, EX.ancestor, EX.b) in family
    assert "prp-trp" in {rule.name for rule in store.rules()}
    store.remove_rules("owl2rl", "rdfs")
    assert "prp-trp" not in {rule.name for rule in store.rules()}


UNCLES = "{ ?x :parent ?y . ?y :brother ?z } => { ?x :uncle ?z } ."
UNCLES_IN_SWRL = """
@prefix swrl: <http://www.w3.org/2003/11/swrl#> .
:x a swrl:Variable . :y a swrl:Variable . :z a swrl:Variable .
:uncles a swrl:Imp ; swrl:body (
 [ a swrl:IndividualPropertyAtom ; swrl:propertyPredicate :parent ; swrl:argument1 :x ; swrl:argument2 :y ]
 [ a swrl:IndividualPropertyAtom ; swrl:propertyPredicate :brother ; swrl:argument1 :y ; swrl:argument2 :z ]
) ; swrl:head (
 [ a swrl:IndividualPropertyAtom ; swrl:propertyPredicate :uncle ; swrl:argument1 :x ; swrl:argument2 :z ]
) .
"""


@pytest.mark.parametrize(("name", "rules"), [("uncles.n3", UNCLES), ("uncles.ttl", UNCLES_IN_SWRL)])
def test_rules_of_other_languages(family: Graph, tmp_path: Path, name: str, rules: str) -> None:
    file = tmp_path / name
    file.write_text(f"@prefix : <{EX}> .\n{rules}")
    family.add((EX.b, EX.brother, EX.d))
    uncle = (EX.a, EX.uncle, EX.d)
    store = store_of(family)
    assert len(store.add_rules(file)) == 1
    assert len(store.add_rules(str(file))) == 0
    assert uncle in family
    assert len(store.remove_rules(file)) == 1
    assert uncle not in family
    at_once = Graph(CorollaryStore(rules=["owl2rl", file]))
    in_a_string = Graph(CorollaryStore(f"rules=owl2rl;rules={file}"))
    for graph in (at_once, in_a_string):
        for triple in store.explicit():
            graph.add(triple)
        assert uncle in graph


def test_the_text_of_n3_rules(family: Graph) -> None:
    family.add((EX.b, EX.brother, EX.d))
    store_of(family).add_rules(f"@prefix : <{EX}> .\n{UNCLES}")
    assert (EX.a, EX.uncle, EX.d) in family


def test_an_unknown_name_is_reported(family: Graph) -> None:
    store_of(family).add_rules(CLOSED)
    with pytest.raises(CorollaryError, match="did you mean closed"):
        store_of(family).remove_rules("close")


def test_another_profile_on_a_live_store(family: Graph) -> None:
    family.add((EX.parent, RDF.type, EX.Relation))
    family.add((EX.x, RDF.type, EX.C))
    family.add((EX.C, RDFS.subClassOf, EX.D))
    assert (EX.x, RDF.type, EX.D) in family
    family.store.open("rules=none")
    assert (EX.x, RDF.type, EX.D) not in family
    family.store.open("rules=rhodf")
    assert (EX.x, RDF.type, EX.D) in family
    family.store.open("rules=owl2rl")
    assert (EX.x, RDF.type, EX.D) in family


@pytest.mark.parametrize(
    ("rules", "message"),
    [
        ("nope", "no profile is named 'nope'"),
        ("owl2-rl", "did you mean owl2rl"),
        ("nowhere/none.dlog", "cannot read the rule file nowhere/none.dlog"),
    ],
)
def test_rules_that_do_not_exist_are_refused_where_they_are_named(rules: str, message: str) -> None:
    """Not at the first read."""
    with pytest.raises(CorollaryError, match=message):
        CorollaryStore(rules=rules)
    with pytest.raises(CorollaryError, match=message):
        CorollaryStore(rules=["rdfs", rules])
    with pytest.raises(CorollaryError, match=message):
        CorollaryStore().open(f"rules={rules}")
