"""The RDF dataset of a query: its default graph and its named graphs, as triple indexes.

The index of a graph has the facts that the graph's view shows (``reasoner.state``): facts that RDF forbids
are shown if explicit, and hidden if inferred. Invariant: an index does not change while a query reads it.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from rdflib.term import BNode, Identifier, Node, URIRef

from corollary.columns import Pairs, Relation, TripleIndex
from corollary.kernels.sorted import Column, Keys
from corollary.reasoner.state import View
from corollary.sparql.algebra import GraphClause
from corollary.sparql.rdf_terms import EXPLICIT, INFERRED, Terms
from corollary.sparql.rdflib_settings import loads_graphs
from corollary.sparql.user_functions import UserFunction

UNION = "__UNION__"
"""rdflib's name for the union of all graphs."""


def is_union(home: Identifier) -> bool:
    """Whether the default graph is the union of all graphs. ``UNION`` is no term, but a plain text."""
    return type(home) is str and home == UNION


@dataclass(slots=True)
class Source:
    """A snapshot of a store. It never changes (not frozen: that costs 2 µs a query).

    ``view`` gives the view of a graph. ``find_graphs`` finds the ids of the graphs' names, without the blank
    node that names the query's default graph. ``default`` is the id of the default graph's name. ``known``
    caches results that depend on this snapshot only. ``load`` reads the default graph of a document. ``read``
    has the graphs that the store does not have and that were read for one query. ``functions`` are those that
    users registered.
    """

    terms: Terms
    view: Callable[[Node | None], View]
    find_graphs: Callable[[], frozenset[int]]
    default: int
    known: dict[Hashable, Any]
    load: Callable[[URIRef], TripleIndex]
    read: Mapping[Node | None, TripleIndex] = field(default_factory=dict)
    functions: Mapping[URIRef, UserFunction] = field(default_factory=dict)

    def index(self, graph: Node | None) -> TripleIndex:
        """The facts of a graph; the union of all graphs for None."""
        if graph in self.read:
            return self.read[graph]
        return self.view(graph).shown

    def has(self, graph: Node) -> bool:
        """Whether there is a graph with this name; it may be empty."""
        if graph in (EXPLICIT, INFERRED):
            return True
        name = self.terms.find(graph)
        return name is not None and (name == self.default or name in self.find_graphs())

    def missing(self, home: Identifier, clauses: Iterable[GraphClause]) -> list[URIRef]:
        """The graphs in FROM and FROM NAMED that the store does not have, and that have to be loaded.

        Empty if rdflib's ``SPARQL_LOAD_GRAPHS`` is off, or if a named graph is queried: there rdflib ignores
        FROM.
        """
        if not loads_graphs() or (home != UNION and self.terms.find(home) != self.default):
            return []
        return [clause.graph for clause in clauses if clause.is_loaded and not self.has(clause.graph)]

    def nodes(self, index: TripleIndex) -> Column:
        """The distinct subjects and objects of an index, ascending. Cached in ``known``."""
        key = ("nodes", id(index))
        if key not in self.known:
            parts = [column for _, relation in index.relations() for column in ends(relation)]
            column = np.sort(np.concatenate(parts or [np.empty(0, np.uint32)]))
            fresh = np.ones(column.size, np.bool_)
            np.not_equal(column[1:], column[:-1], out=fresh[1:])
            self.known[key] = index, column[fresh]  # the index is kept, so that no other gets its ``id``
        found: Column = self.known[key][1]
        return found


def ends(relation: Relation) -> tuple[Column, Column]:
    """The distinct subjects and the distinct objects of a relation."""
    return relation.subject_terms(), relation.object_terms()


def merged(indexes: Iterable[TripleIndex]) -> TripleIndex:
    """The facts of several indexes, each once."""
    result = TripleIndex()
    for index in indexes:
        for predicate, relation in index.relations():
            keys: Keys = relation.pairs().keys
            known = result.relation(predicate)
            result.add(predicate, Pairs(keys[~known.contains(keys)] if len(known) else keys))
    return result


@dataclass(slots=True)
class QueryDataset:
    """The default graph and the named graphs of one query. It never changes."""

    source: Source
    default: TripleIndex
    named: tuple[Node, ...] | None
    home: Identifier

    @staticmethod
    def of(source: Source, home: Identifier, clauses: Sequence[GraphClause]) -> QueryDataset:
        """The dataset of FROM and FROM NAMED; without clauses, the dataset of the store.

        Graphs that ``source.missing`` finds are loaded, for this query only.
        """
        if not clauses:
            return QueryDataset(source, source.index(None if is_union(home) else home), None, home)
        default = [clause.graph for clause in clauses if not clause.is_named]
        named = dict.fromkeys(clause.graph for clause in clauses if clause.is_named)  # each once
        missing = source.missing(home, clauses)
        parts = [source.load(graph) if graph in missing else source.index(graph) for graph in default]
        # a graph in FROM and FROM NAMED is loaded twice: the default graph shares no blank nodes with others
        read: dict[Node | None, TripleIndex] = {
            graph: source.load(graph) for graph in named if graph in missing
        }
        is_lasting = len(parts) == 1 and not missing  # else nothing is known of the new indexes for long
        source = replace(source, read=read, known=source.known if is_lasting else {})
        return QueryDataset(source, parts[0] if len(parts) == 1 else merged(parts), tuple(named), home)

    def graphs(self) -> list[Node]:
        """The graphs that ``GRAPH ?g`` ranges over: all named graphs, without the default graph."""
        if self.named is not None:
            return list(self.named)
        terms = self.source.terms
        names = [terms[graph] for graph in self.source.find_graphs() if graph != self.source.default]
        blank = any(isinstance(name, BNode) for name in names)
        if blank and self.home == UNION:
            raise NotImplementedError("one of the blank nodes names the default graph; which, rdflib knows")
        return names

    def graph(self, name: Node) -> TripleIndex:
        """The facts of a named graph; no facts if FROM NAMED clauses do not name it."""
        if self.named is not None and name not in self.named:
            return TripleIndex()
        return self.source.index(name)
