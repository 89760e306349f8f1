"""Comparing query results: as multisets of rows, up to the names of blank nodes."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

from rdflib import BNode, Graph, Literal, URIRef
from rdflib.compare import isomorphic
from rdflib.query import Result
from rdflib.term import Node

Row = tuple[Node | None, ...]


def rows(result: Result) -> list[Row]:
    """The rows of a SELECT result, with the variables in alphabetical order."""
    variables = sorted(result.vars or ())
    return [tuple(solution.get(v) for v in variables) for solution in result.bindings]


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
