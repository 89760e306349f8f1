"""The transitive closure module against semi-naive evaluation, and against the naive closure."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.engine import Fact, run
from tests.kernels import twins
from tests.maintain.histories import assert_exact
from tests.modules.driver import closed_by_joins, closed_by_modules
from tests.strategies import EXAMPLE, individuals, properties

from corollary.closure import compressed_relation, reachability
from corollary.closure.tuning import MAX_EDGES_BY_PRODUCT as FEW_EDGES
from corollary.kernels.sorted import Keys
from corollary.language import IRI, OWL, RDF_TYPE, Program, parse_program
from corollary.modules import transitive
from corollary.program.compiled_program import CompiledProgram
from corollary.program.shapes import closed_predicate
from corollary.terms.dictionary import TermDictionary

thorough = settings(max_examples=150, deadline=None)

PREFIX = "PREFIX : <http://example.org/>\n"
CONSTANT = "[?x, :p, ?z] :- [?x, :p, ?y], [?y, :p, ?z] ."
TEMPLATE = "[?x, ?p, ?z] :- [?p, a, owl:TransitiveProperty], [?x, ?p, ?y], [?y, ?p, ?z] ."
OTHERS = (
    "[?y, :p, ?x] :- [?x, :p, ?y] .",
    "[?x, :p, ?y] :- [?x, :q, ?y] .",
    "[?x, :r, ?z] :- [?x, :p, ?y], [?y, :q, ?z] .",
    "owl:TransitiveProperty[?y] :- [?x, :r, ?y], [?y, :r, ?y] .",
    "owl:TransitiveProperty[:q] :- [?x, :p, ?x] .",
)


@st.composite
def programs(draw: st.DrawFn) -> Program:
    """One of the two rules or both, and a few that feed them."""
    closing = draw(st.sampled_from(([CONSTANT], [TEMPLATE], [CONSTANT, TEMPLATE])))
    others = draw(st.sets(st.sampled_from(OTHERS), max_size=2))
    return parse_program(PREFIX + "\n".join((*closing, *sorted(others))))


transitive_properties = st.tuples(
    st.one_of(properties, st.just(RDF_TYPE)), st.just(RDF_TYPE), st.just(IRI(OWL + "TransitiveProperty"))
)
edges: st.SearchStrategy[Fact] = st.one_of(
    st.tuples(individuals, properties, individuals),
    st.tuples(individuals, properties, properties),
    st.tuples(individuals, st.just(RDF_TYPE), individuals),
)
batches = st.lists(
    st.lists(st.one_of(edges, edges, edges, edges, transitive_properties), max_size=2 * FEW_EDGES),
    min_size=1,
    max_size=6,
)


@thorough
@given(programs(), batches)
def test_against_semi_naive(program: Program, batches: list[list[Fact]]) -> None:
    assert closed_by_modules(program, batches) == closed_by_joins(program, batches)


nodes = st.integers(0, 9)
few_edges = st.lists(st.tuples(nodes, nodes), max_size=FEW_EDGES)
many_edges = st.lists(st.tuples(nodes, nodes), min_size=FEW_EDGES + 1, max_size=3 * FEW_EDGES)


@thorough
@given(st.lists(st.one_of(few_edges, few_edges, many_edges), min_size=1, max_size=6))
def test_batches_of_edges(batches: list[list[tuple[int, int]]]) -> None:
    """Few new edges are joined with what is there, many make the closure start over."""

    def node(number: int) -> IRI:
        return IRI(f"http://example.org/n{number}")

    p = IRI("http://example.org/p")
    facts = [[(node(u), p, node(v)) for u, v in batch] for batch in batches]
    expected = twins.closure({edge for batch in batches for edge in batch})
    found = closed_by_modules(parse_program(PREFIX + CONSTANT), facts)
    assert found == {(node(u), p, node(v)) for u, v in expected}


def test_what_follows_from_a_derived_fact_that_has_another_proof() -> None:
    """a p d is looked at while nothing is known of the proof that a p c has beside its paths."""

    def facts(text: str) -> frozenset[Fact]:
        return frozenset(tuple(IRI(EXAMPLE + letter) for letter in word) for word in text.split())  # type: ignore[misc]

    copies = "".join(f"[?x, :p, ?y] :- [?x, :{name}, ?y] ." for name in "efg")
    history = [facts("agb bpc cpd"), facts("agb bpc cpd aec afd"), facts("bpc cpd aec")]
    assert_exact(history, parse_program(PREFIX + CONSTANT + copies))


def test_a_guard_may_rest_on_what_a_rule_that_goes_has_closed() -> None:
    """Without the rule nothing closes q, though a guard that followed from its closure says so."""
    guarded = "[?x, ?q, ?z] :- [?q, a, owl:TransitiveProperty], [?x, ?q, ?y], [?y, ?q, ?z] ."
    guard = "[:q, a, owl:TransitiveProperty] :- [?x, :q, ?x] ."
    closing = "[?x, :q, ?z] :- [?x, :q, ?y], [?y, :q, ?z] ."
    rest, whole = (parse_program(PREFIX + text) for text in (guarded + guard, guarded + guard + closing))
    a, b, q = (IRI(EXAMPLE + name) for name in "abq")
    facts = frozenset({(a, q, b), (b, q, a)})
    assert_exact([facts] * 4, [whole, rest, whole, rest])


BOTH_WAYS = """
    [?x, :p, ?z] :- [?x, :p, ?y], [?y, :p, ?z] . [?x, :q, ?z] :- [?x, :q, ?y], [?y, :q, ?z] .
    [?y, :q, ?x] :- [?x, :p, ?y] . [?y, :p, ?x] :- [?x, :q, ?y] . [?x, :p, ?y] :- [?x, :r, ?y] .
"""


@thorough
@given(st.lists(st.frozensets(edges, max_size=12), min_size=1, max_size=4))
def test_the_inverse_of_what_is_closed_is_closed(history: list[frozenset[Fact]]) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(transitive, "MIN_FACTS_TO_COMPARE_INVERSES", 1)
        assert_exact(history, parse_program(PREFIX + BOTH_WAYS))


def test_of_two_inverse_relations_one_is_closed() -> None:
    chain = frozenset((IRI(f"{EXAMPLE}{n}"), IRI(EXAMPLE + "r"), IRI(f"{EXAMPLE}{n + 1}")) for n in range(99))
    closed = []

    def listed(graph: reachability.Graph) -> Keys:
        closed.append(graph)
        return reachability.listed(graph)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(transitive, "MIN_FACTS_TO_COMPARE_INVERSES", 1)
        patch.setattr(compressed_relation, "listed", listed)
        found = run(chain, parse_program(PREFIX + BOTH_WAYS))
    assert len(closed) == 1
    assert len(found.index) == 99 + 2 * (100 * 99 // 2)


@pytest.mark.parametrize(
    "text",
    [
        CONSTANT,
        TEMPLATE,
        "[?x, :p, ?z] :- [?y, :p, ?z], [?x, :p, ?y] .",
        "[?a, ?q, ?c] :- [?a, ?q, ?b], [?b, ?q, ?c], [?q, :is, :transitive] .",
    ],
)
def test_transitive_rules_are_recognised(text: str) -> None:
    compiled = CompiledProgram(parse_program(PREFIX + text), TermDictionary())
    assert closed_predicate(compiled.rules[0]) is not None


@pytest.mark.parametrize(
    "text",
    [
        "[?x, :q, ?z] :- [?x, :p, ?y], [?y, :p, ?z] .",
        "[?x, :p, ?z] :- [?x, :p, ?y], [?y, :q, ?z] .",
        "[?z, :p, ?x] :- [?x, :p, ?y], [?y, :p, ?z] .",
        "[?x, :p, ?z] :- [?x, :p, ?y], [?z, :p, ?y] .",
        "[?x, :p, ?x] :- [?x, :p, ?y], [?y, :p, ?x] .",
        "[?x, :p, ?z] :- [?x, :p, :a], [:a, :p, ?z] .",
        "[?x, :p, ?z] :- [?x, :p, ?y], [?y, :p, ?z], FILTER(?x != ?z) .",
        "[?x, :p, ?z] :- [?x, :p, ?y], [?y, :p, ?z], NOT [?x, :q, ?z] .",
        "[?x, ?p, ?z] :- [?x, ?p, ?y], [?y, ?p, ?z] .",
        "[?x, ?p, ?z] :- [?p, :in, ?x], [?x, ?p, ?y], [?y, ?p, ?z] .",
        "[?x, :p, ?z], [?z, :p, ?x] :- [?x, :p, ?y], [?y, :p, ?z] .",
    ],
)
def test_what_is_no_transitive_rule(text: str) -> None:
    compiled = CompiledProgram(parse_program(PREFIX + text), TermDictionary())
    assert closed_predicate(compiled.rules[0]) is None
