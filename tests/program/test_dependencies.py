"""The dependency graph: components are what reaches each other, in topological order."""

from __future__ import annotations

from hypothesis import given, settings
from tests import strategies as some
from tests.engine import Fact, run
from tests.kernels import twins

from corollary.evaluate.engine import tables
from corollary.execute.context import ExecutionContext
from corollary.language import Program, parse_program
from corollary.program.dependencies import DependencyGraph, live_edges, with_components
from corollary.program.edges import node_text

PREFIX = "PREFIX : <http://example.org/>\n"


def graph_of(facts: list[Fact], program: Program) -> tuple[DependencyGraph, list[list[str]]]:
    """The graph, and its components as text."""
    result = run(facts, program)
    compiled = result.engine.compiled
    graph = with_components(
        live_edges(compiled, result.index, tables(ExecutionContext(compiled.dictionary), result.index))
    )
    texts = [[node_text(node, result.dictionary) for node in nodes] for nodes in graph.components]
    return graph, [
        [text.replace("<http://example.org/", ":").replace(">", "") for text in nodes] for nodes in texts
    ]


@settings(max_examples=some.examples(150), deadline=None)
@given(some.fact_sets, some.programs())
def test_components(facts: frozenset[Fact], program: Program) -> None:
    graph, _ = graph_of(sorted(facts, key=str), program)
    number = {node: i for i, node in enumerate(graph.nodes)}
    edges = {(number[edge.source], number[edge.target]) for edge in graph.edges}
    found = {frozenset(number[node] for node in nodes) for nodes in graph.components}
    assert found == twins.strong_components(len(number), edges)
    for component, nodes in enumerate(graph.components):
        assert {graph.component_of[node] for node in nodes} == {component}
    for edge in graph.edges:
        assert graph.component_of[edge.source] <= graph.component_of[edge.target]


def test_classes_have_nodes_of_their_own() -> None:
    rules = """
        [?x, a, ?d] :- [?c, rdfs:subClassOf, ?d], [?x, a, ?c] .
        :A[:a] . [:A, rdfs:subClassOf, :B] . [:B, rdfs:subClassOf, :C] . [:C, rdfs:subClassOf, :B] .
    """
    _, components = graph_of([], parse_program(PREFIX + rules))
    assert components.index([":A[?x]"]) < components.index([":B[?x]", ":C[?x]"])


def test_rules_that_cannot_apply_have_no_edges() -> None:
    _, components = graph_of([], parse_program(f"{PREFIX}:B[?x] :- :A[?x] . :C[?x] :- :D[?x] . :A[:a] ."))
    assert components == [[":A[?x]"], [":B[?x]"]]


def test_a_rule_that_copies_facts_does_not_tie_all_properties_together() -> None:
    rules = """
        [?y, ?p, ?z] :- [?x, :same, ?y], [?x, ?p, ?z] .
        [?x, :q, ?y] :- [?x, :p, ?y] .
        [:a, :same, :b] . [:a, :p, :c] .
    """
    _, components = graph_of([], parse_program(PREFIX + rules))
    assert [":p"] in components
    assert [":q"] in components
    assert components.index([":p"]) < components.index([":q"])
