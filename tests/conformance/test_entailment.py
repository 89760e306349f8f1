"""The judge of the conformance cases, judged: when a graph maps into a set of facts."""

from __future__ import annotations

from tests.conformance.entailment import Fact, entails

from corollary.language.model import XSD

FACTS: list[Fact] = [
    ("<a>", "<p>", "_:x"),
    ("_:x", "<q>", '"1"^^<' + XSD + "integer>"),
    ("<b>", "<p>", "<c>"),
]


def test_every_graph_entails_itself_and_nothing() -> None:
    assert entails(FACTS, FACTS)
    assert entails(FACTS, [])


def test_blank_nodes_are_variables_shared_by_the_whole_conclusion() -> None:
    assert entails(FACTS, [("_:s", "<p>", "_:o")])
    assert entails(FACTS, [("<a>", "<p>", "_:o"), ("_:o", "<q>", "_:v")])
    assert not entails(FACTS, [("<b>", "<p>", "_:o"), ("_:o", "<q>", "_:v")])
    assert not entails(FACTS, [("_:o", "<p>", "_:o")])


def test_a_blank_node_may_be_named_like_one_of_the_facts() -> None:
    assert entails(FACTS, [("<b>", "<p>", "_:x")])


def test_literals_are_compared_by_value_where_their_datatypes_are_recognised() -> None:
    conclusion = [("_:x", "<q>", '"1.0"^^<' + XSD + "decimal>")]
    assert not entails(FACTS, conclusion)
    assert not entails(FACTS, conclusion, [XSD + "decimal"])
    assert entails(FACTS, conclusion, [XSD + "decimal", XSD + "integer"])
