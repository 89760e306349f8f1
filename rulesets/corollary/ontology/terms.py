"""rdflib's terms as constants of the rule language."""

from __future__ import annotations

from rdflib.term import BNode, Node, URIRef
from rdflib.term import Literal as RdfLiteral

from corollary.language.constants import literal
from corollary.language.model import IRI, BlankNode, Constant


def constant(term: Node) -> Constant | None:
    """The constant; None for what is none in RDF (a variable, a formula)."""
    if isinstance(term, RdfLiteral):
        return literal(str(term), term.datatype and str(term.datatype), term.language)
    if isinstance(term, URIRef):
        return IRI(str(term))
    return BlankNode(str(term)) if isinstance(term, BNode) else None
