"""The components of a live program: what they have, who derives it, and what depends on what."""

from __future__ import annotations

from rdflib import OWL, RDF, RDFS, Graph, Namespace
from tests.engine import run

from corollary.language import parse_program
from corollary.profiles import load_profile
from corollary.program.components import Component, Components
from corollary.program.tuning import MAX_NODES_NAMED
from corollary.store import CorollaryStore

EX = Namespace("http://example.org/")
PREFIX = f"PREFIX : <{EX}>\n"


def components(text: str, profile: str | None = None) -> Components:
    program = parse_program(PREFIX + text)
    if profile:
        program = load_profile(profile) + program
    return run([], program).components(program.prefixes)


def by_node(found: Components) -> dict[str, Component]:
    return {node: component for component in found for node in component.nodes}


def test_modules_facts_and_readers() -> None:
    found = by_node(
        components(
            """
            [:ann, :parent, :bob] . [:bob, :parent, :cid] . :Person[:ann] .
            @name start
            [?x, :ancestor, ?y] :- [?x, :parent, ?y] .
            @name on
            [?x, :ancestor, ?z] :- [?x, :ancestor, ?y], [?y, :ancestor, ?z] .
            @name old
            :Old[?x] :- [?x, :ancestor, ?y], :Person[?x] .
            @name young
            :Young[?y] :- [?x, :ancestor, ?y], NOT :Old[?y] .
            @name idle
            :Cat[?x] :- :Tomcat[?x] .
            """
        )
    )
    assert found.keys() == {":ancestor", ":Old[?x]", ":Young[?x]"}
    ancestor, old, young = found[":ancestor"], found[":Old[?x]"], found[":Young[?x]"]
    assert (ancestor.number, old.number, young.number) == (1, 2, 3)
    assert (ancestor.facts, old.facts, young.facts) == (3, 1, 2)
    assert (ancestor.is_recursive, old.is_recursive) == (True, False)
    assert ancestor.modules == {"inclusion": ("start",), "transitive closure": ("on",)}
    assert old.modules == {"rules": ("old",)}
    assert list(young.modules) == ["stratified"]
    assert (ancestor.given, old.given, young.given) == ((":parent",), (":Person[?x]",), ())
    assert (ancestor.read_by, old.reads, young.reads) == ((2, 3), (1,), (1, 2))


def test_rules_with_variable_predicates_connect_everything_they_may_read() -> None:
    found = by_node(
        components(
            """
            [:a, :q, :b] . [:likes, :copies, :loves] .
            @name copy
            [?x, :loves, ?y] :- [?x, :q, ?y] .
            @name any
            :Used[?p] :- [?x, ?p, ?y] .
            """
        )
    )
    assert ":loves" in found and ":Used[?x]" in found
    assert found[":Used[?x]"].number in found[":loves"].read_by


def test_text_and_picture() -> None:
    found = components("[:a, :p, :b] .\n@name r\n[?y, :q, ?x] :- [?x, :p, ?y] .\n:C[?x] :- [?x, :q, ?y] .")
    assert str(found) == (
        "program: 2 components over 3 facts\n"
        "\n"
        "1. :q: 1 fact\n"
        "     inclusion: r\n"
        "     reads :p\n"
        "     read by 2 (:C[?x])\n"
        "\n"
        "2. :C[?x]: 1 fact\n"
        "     inclusion: rule 3\n"
        "     reads 1 (:q)"
    )
    picture = found.dot()
    assert '  c1 [label=":q\\n1 fact\\ninclusion: r"];\n' in picture
    assert "  c1 -> c2;\n" in picture
    assert "  g1 -> c1 [style=dashed];\n" in picture
    assert '  g1 [label=":p", style=dashed];\n' in picture


def test_long_ones_are_cut() -> None:
    size = 11 * MAX_NODES_NAMED
    rules = "".join(f":C{i + 1}[?x] :- :C{i}[?x] .\n" for i in range(size))
    found = components(":C0[:a] .\n" + rules)
    assert len(found) == size
    assert str(found).endswith(f"... and {size - 10 * MAX_NODES_NAMED} more")
    assert found.dot().count("->") == size


def test_components_of_a_store_follow_its_changes() -> None:
    graph = Graph(CorollaryStore(rules="owl2rl"))
    store = graph.store
    assert isinstance(store, CorollaryStore)
    graph.bind("", EX)
    graph.add((EX.a, EX.p, EX.b))
    graph.add((EX.b, EX.p, EX.c))
    assert ":p" not in by_node(store.components())
    graph.add((EX.p, RDF.type, OWL.TransitiveProperty))
    (transitive,) = (c for c in store.components() if ":p" in c.nodes)
    assert transitive.modules == {"transitive closure": ("prp-trp",)}
    assert transitive.facts == 3
    store.add_rules(PREFIX + "@name far\n:Far[?x] :- [?x, :p, ?y], [?y, :p, ?z] .")
    far = by_node(store.components())[":Far[?x]"]
    assert (far.facts, far.reads) == (1, (by_node(store.components())[":p"].number,))
    graph.remove((EX.p, RDF.type, OWL.TransitiveProperty))
    assert ":p" not in by_node(store.components())
    assert by_node(store.components())[":Far[?x]"].given == (":p",)
    graph.add((EX.Far, RDFS.subClassOf, EX.Near))
    assert by_node(store.components())[":Near[?x]"].facts == 1


def test_a_store_without_rules_has_none() -> None:
    graph = Graph(CorollaryStore(rules="none"))
    graph.add((EX.a, EX.p, EX.b))
    assert str(graph.store.components()) == "no rules: 0 components over 1 facts"  # type: ignore[attr-defined]


def test_anonymous_classes_are_named_by_their_definition() -> None:
    graph = Graph("Corollary").parse(
        data="""
        @prefix : <http://example.org/> . @prefix owl: <http://www.w3.org/2002/07/owl#> .
        :Meaty owl:equivalentClass [ owl:onProperty :topping ; owl:someValuesFrom :Meat ] .
        :p :topping :h . :h a :Meat .
        """,
        format="turtle",
    )
    assert isinstance(graph.store, CorollaryStore)
    found = graph.store.components()
    assert by_node(found).keys() >= {":Meaty[?x]", "(:topping some :Meat)[?x]"}
    for printed in (str(found), found.dot(), graph.store.explain_plan()):
        assert "_:" not in printed and "(:topping some :Meat)[?x]" in printed
