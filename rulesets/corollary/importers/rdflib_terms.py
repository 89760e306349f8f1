"""Conversion of rdflib terms to terms of the rule language."""

from __future__ import annotations

import re
from collections.abc import Collection

from rdflib.term import BNode, Node, URIRef
from rdflib.term import Literal as RdfLiteral

from corollary.language.constants import literal
from corollary.language.model import IRI, BlankNode, Constant, Variable


def constant(term: Node) -> Constant | None:
    """The constant for an RDF term; None for a variable or a formula."""
    if isinstance(term, RdfLiteral):
        return literal(str(term), term.datatype and str(term.datatype), term.language)
    if isinstance(term, URIRef):
        return IRI(str(term))
    return BlankNode(str(term)) if isinstance(term, BNode) else None


def variable(term: Node, taken: Collection[Variable]) -> Variable:
    """A variable not in ``taken``, named by the last part of an IRI or name, or ``node`` for a blank node."""
    label = "node" if isinstance(term, BNode) else re.sub(r"\W", "_", re.split(r"[#/:]", str(term))[-1])
    fresh = (Variable(name) for name in (label, *(f"{label}{i}" for i in range(len(taken)))))
    return next(name for name in fresh if name not in taken)
