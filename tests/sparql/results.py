"""Comparing query results: as multisets of rows, up to the names of blank nodes."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from decimal import Decimal
from typing import Any

from rdflib import XSD, BNode, Graph, Literal, URIRef
from rdflib.compare import isomorphic
from rdflib.query import Result
from rdflib.term import Node

NUMBERS = (XSD.integer, XSD.decimal, XSD.double, XSD.float)

Row = tuple[Node | None, ...]


def rows(result: Result) -> list[Row]:
    """The rows of a SELECT result, with the variables in alphabetical order, and values in one form."""
    variables = sorted(result.vars or ())
    return [tuple(_normal(solution.get(v)) for v in variables) for solution in result.bindings]


def _normal(term: Any) -> Node | None:
    """A term, with numbers written in one way, and strings without their datatype."""
    if not isinstance(term, Literal):
        return term if term is None or isinstance(term, Node) else Literal(f"no term: {term}")
    if term.datatype in NUMBERS and isinstance(term.value, int | float | Decimal):
        return Literal(f"{float(term.value):.12g}", datatype=term.datatype, normalize=False)
    return Literal(str(term)) if term.datatype == XSD.string else term


def same_rows(left: Iterable[Row], right: Iterable[Row]) -> bool:
    """Whether two multisets of rows differ in nothing but the names of blank nodes."""
    left, right = list(left), list(right)
    if not any(isinstance(term, BNode) for row in [*left, *right] for term in row):
        return Counter(map(_text, left)) == Counter(map(_text, right))
    return len(left) == len(right) and isomorphic(_graph(left), _graph(right))


def same_results(left: Result, right: Result) -> bool:
    """Whether two results of any kind say the same."""
    if left.type == "ASK" or right.type == "ASK":
        return left.askAnswer == right.askAnswer
    if left.type == "SELECT":
        same_variables = sorted(left.vars or ()) == sorted(right.vars or ())
        return same_variables and same_rows(rows(left), rows(right))
    assert left.graph is not None and right.graph is not None
    return isomorphic(left.graph, right.graph)


def _text(row: Row) -> tuple[str, ...]:
    return tuple("" if term is None else term.n3() for term in row)


def _graph(table: list[Row]) -> Graph:
    """A graph with a node for every row, so that blank nodes can be matched."""
    graph = Graph()
    for row in table:
        node = BNode()
        graph.add((node, URIRef("urn:is"), Literal("row")))
        for position, term in enumerate(row):
            if term is not None:
                graph.add((node, URIRef(f"urn:{position}"), term))
    return graph
