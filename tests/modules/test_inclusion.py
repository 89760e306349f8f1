"""The inclusion module derives what semi-naive evaluation of the same rules derives."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.engine import Fact
from tests.modules.driver import closed_by_joins, closed_by_modules, feed
from tests.strategies import CLASSES, PROPERTIES, classes, individuals, plain_facts, properties

from corollary.columns import Pairs, TripleIndex
from corollary.evaluate import materialise
from corollary.execute.context import ExecutionContext
from corollary.language import IRI, OWL, RDF_TYPE, RDFS, Program, parse_program
from corollary.modules.inclusion import Inclusion
from corollary.program.compiled_program import CompiledProgram
from corollary.program.shapes import inclusion_shape
from corollary.terms.dictionary import TermDictionary

thorough = settings(max_examples=150, deadline=None)

PREFIX = "PREFIX : <http://example.org/>\n"

INCLUSIONS = (
    "[?x, a, ?d] :- [?c, rdfs:subClassOf, ?d], [?x, a, ?c] .",
    "[?x, ?q, ?y] :- [?p, rdfs:subPropertyOf, ?q], [?x, ?p, ?y] .",
    "[?y, ?q, ?x] :- [?p, owl:inverseOf, ?q], [?x, ?p, ?y] .",
    "[?y, ?p, ?x] :- [?p, owl:inverseOf, ?q], [?x, ?q, ?y] .",
    "[?y, ?p, ?x] :- [?p, a, owl:SymmetricProperty], [?x, ?p, ?y] .",
    "[?x, a, ?c] :- [?p, rdfs:domain, ?c], [?x, ?p, ?y] .",
    "[?y, a, ?c] :- [?p, rdfs:range, ?c], [?x, ?p, ?y] .",
    ":B[?x] :- :A[?x] .",
    ":A[?x] :- :C[?x] .",
    "[?x, :q, ?y] :- [?x, :p, ?y] .",
    "[?y, :p, ?x] :- [?x, :q, ?y] .",
    "[?y, :r, ?x] :- [?x, :r, ?y] .",
    ":C[?x] :- [?x, :p, ?y] .",
    ":C[?y] :- [?x, :r, ?y] .",
    # the schema itself is included in others
    "[?c, rdfs:subClassOf, ?d] :- [?c, :p, ?d] .",
    "[?d, rdfs:subClassOf, ?c] :- [?c, :q, ?d] .",
    "[?p, rdfs:subPropertyOf, ?q] :- [?p, :r, ?q] .",
    "owl:SymmetricProperty[?p] :- :A[?p] .",
)
OTHERS = (
    "[?x, :q, ?z] :- [?x, :p, ?y], [?y, :p, ?z] .",
    "[?x, :r, ?c] :- [?x, a, ?c] .",
    "[?x, rdfs:domain, ?c] :- [?x, a, ?c] .",
)

programs = st.sets(st.sampled_from(INCLUSIONS + OTHERS), min_size=1, max_size=9).map(
    lambda rules: parse_program(PREFIX + "\n".join(sorted(rules)))
)


def rdfs(name: str) -> IRI:
    return IRI(RDFS + name)


any_property = st.one_of(properties, st.sampled_from((RDF_TYPE, rdfs("subClassOf"))))
any_class = st.one_of(classes, classes, st.just(IRI(OWL + "SymmetricProperty")))
schema: st.SearchStrategy[Fact] = st.one_of(
    st.tuples(classes, st.just(rdfs("subClassOf")), any_class),
    st.tuples(any_property, st.just(rdfs("subPropertyOf")), any_property),
    st.tuples(any_property, st.just(IRI(OWL + "inverseOf")), any_property),
    st.tuples(any_property, st.just(RDF_TYPE), st.just(IRI(OWL + "SymmetricProperty"))),
    st.tuples(any_property, st.just(rdfs("domain")), any_class),
    st.tuples(any_property, st.just(rdfs("range")), any_class),
)
punned: st.SearchStrategy[Fact] = st.one_of(
    st.tuples(st.sampled_from(CLASSES + PROPERTIES), properties, st.sampled_from(CLASSES + PROPERTIES)),
    st.tuples(individuals, st.just(RDF_TYPE), st.sampled_from(PROPERTIES)),
)
batches = st.lists(
    st.lists(st.one_of(schema, schema, plain_facts, plain_facts, punned), max_size=8), min_size=1, max_size=4
)


@thorough
@given(programs, batches)
def test_against_semi_naive(program: Program, batches: list[list[Fact]]) -> None:
    assert closed_by_modules(program, batches) == closed_by_joins(program, batches)


@thorough
@given(programs, batches)
def test_batches_make_no_difference(program: Program, batches: list[list[Fact]]) -> None:
    at_once = [[fact for batch in batches for fact in batch]]
    assert closed_by_modules(program, batches) == closed_by_modules(program, at_once)


@pytest.mark.parametrize("text", INCLUSIONS)
def test_inclusions_are_recognised(text: str) -> None:
    compiled = CompiledProgram(parse_program(PREFIX + text), TermDictionary())
    assert inclusion_shape(compiled.rules[0], compiled.rdf_type)


@pytest.mark.parametrize(
    "text",
    [
        *OTHERS,
        "[?x, :p, :a] :- :A[?x] .",
        "[?x, :p, ?x] :- :A[?x] .",
        ":B[?x] :- :A[?x], FILTER(?x != :a) .",
        ":B[?x] :- :A[?x], NOT :C[?x] .",
        ":B[?x], :C[?x] :- :A[?x] .",
        ":B[:a] :- :A[:a] .",
        ":A[?x] :- [?x, :p, ?x] .",
        ":A[?x] :- [?x, :p, :a] .",
        "[?x, :p, ?y] :- [?x, ?p, ?y] .",
        "[?x, a, ?d] :- [?d, :marks, ?x], [?x, a, ?d] .",
        "false :- :A[?x] .",
    ],
)
def test_what_is_no_inclusion(text: str) -> None:
    compiled = CompiledProgram(parse_program(PREFIX + text), TermDictionary())
    assert inclusion_shape(compiled.rules[0], compiled.rdf_type) is None


def test_only_new_inclusions_bring_work() -> None:
    """What the module derives does not come back to it, guards aside."""
    dictionary = TermDictionary()
    compiled = CompiledProgram(parse_program(PREFIX + INCLUSIONS[0]), dictionary)
    inclusion = Inclusion(ExecutionContext(dictionary), compiled.rdf_type)
    (rule,) = compiled.rules
    inclusion.add_rule(rule)
    assert inclusion.is_waiting
    new = Pairs(np.array([1 << 32 | 2], np.uint64))
    assert (
        inclusion.feedback(dictionary.encode(f"<{RDFS}subClassOf>"), new).keys.tolist() == new.keys.tolist()
    )
    assert not len(inclusion.feedback(compiled.rdf_type, new))
    chain = [IRI(f"http://example.org/C{i}") for i in range(100)]
    facts: list[Fact] = [(chain[i], rdfs("subClassOf"), chain[i + 1]) for i in range(99)]
    facts.append((IRI("http://example.org/x"), RDF_TYPE, chain[0]))
    index = feed([inclusion], [facts], dictionary)
    assert len(index.relation(compiled.rdf_type)) == 100
    assert not inclusion.is_waiting


def test_inverse_properties_share_their_orders() -> None:
    """Also a symmetric one with itself; not a property with more facts than come from the other."""
    text = "[?y, :q, ?x] :- [?x, :p, ?y] .\n[?y, :s, ?x] :- [?x, :s, ?y] .\n[?y, :r, ?x] :- [?x, :p, ?y] ."
    dictionary, index = TermDictionary(), TripleIndex()
    p, q, r, s, *others = (dictionary.encode(f"<http://example.org/{name}>") for name in "pqrsabcd")
    facts = np.array([[a << 32 | b for a in others[:2] for b in others[2:]]], np.uint64)[0]
    index.add(p, Pairs.of(facts))
    index.add(s, Pairs.of(facts))
    index.add(r, Pairs.of(facts[:1]))
    result = materialise(index, parse_program(PREFIX + text), dictionary).index
    bases = {predicate: result.relation(predicate).pairs() for predicate in (p, q, r, s)}
    assert bases[p].by_object is bases[q].keys and bases[q].by_object is bases[p].keys
    assert bases[s].by_object is bases[s].keys
    assert len(bases[r]) == len(bases[p]) + 1 and bases[r].by_object is not bases[p].keys
