"""owlrl through our constants, on cases whose answers are known by hand."""

from __future__ import annotations

from tests.oracles.naive import Fact
from tests.oracles.peers import is_clutter, owlrl_closure

from corollary.language.model import IRI, OWL, RDF_TYPE, RDFS, XSD, BlankNode, Constant, Literal

A, B, C, P, Q = (IRI("http://example.org/" + name) for name in "ABCPQ")
SUBCLASS, DOMAIN, SAME = IRI(RDFS + "subClassOf"), IRI(RDFS + "domain"), IRI(OWL + "sameAs")


def test_what_is_no_clutter_is_what_follows() -> None:
    given: set[Fact] = {(A, SUBCLASS, B), (B, SUBCLASS, C), (P, DOMAIN, A), (Q, P, Literal("x", None, "en"))}
    closed, messages = owlrl_closure(given)
    wanted: set[Fact] = {(A, SUBCLASS, C), (P, DOMAIN, B), (P, DOMAIN, C)}
    wanted |= {(Q, RDF_TYPE, A), (Q, RDF_TYPE, B), (Q, RDF_TYPE, C)}
    assert given <= closed
    assert {fact for fact in closed - given if not is_clutter(fact)} == wanted
    assert not messages


def test_constants_survive() -> None:
    terms: list[Constant] = [BlankNode("b"), Literal("01", XSD + "integer"), Literal('a\n"b"'), C]
    given: set[Fact] = {(A, P, term) for term in terms}
    assert {fact for fact in owlrl_closure(given)[0] if not is_clutter(fact)} == given


def test_inconsistency_is_a_message() -> None:
    given: set[Fact] = {(A, SAME, B), (A, IRI(OWL + "differentFrom"), B)}
    closed, messages = owlrl_closure(given)
    assert messages
    assert not any("agent-ont" in str(term) for fact in closed for term in fact)
