"""The solutions of an update's WHERE clause, by the store's query evaluator or else by rdflib's.

A WHERE clause is evaluated as a SELECT of the variables in the templates, over the dataset that WITH or USING
describe. USING does not access the network: its graphs are graphs of the store.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, cast

from rdflib.graph import Dataset, Graph
from rdflib.plugins.sparql.algebra import (
    BGP,
    Join,
    Project,
    _addVars,
    _traverseAgg,
    analyse,
    simplify,
    traverse,
)
from rdflib.plugins.sparql.algebra import Graph as GraphPattern
from rdflib.plugins.sparql.evaluate import evalPart
from rdflib.plugins.sparql.parserutils import CompValue
from rdflib.plugins.sparql.sparql import Query, QueryContext
from rdflib.plugins.stores.memory import Memory
from rdflib.term import IdentifiedNode, Identifier, Node, Variable

from corollary.sparql.access import refuse
from corollary.sparql.external import refuse_services

if TYPE_CHECKING:
    from rdflib.graph import _TripleType

    from corollary.store.graph_store import GraphStore

Row = Mapping[str, Identifier]
"""One solution: the bindings of variables, which are strings."""


@dataclass(frozen=True, slots=True)
class Scope:
    """The dataset of a request: its default graph. ``union``: the default graph shows all graphs."""

    default: IdentifiedNode
    union: bool

    @property
    def deleted_from(self) -> Node | None:
        """The graph from which DELETE without GRAPH removes facts; None stands for every graph."""
        return None if self.union else self.default


def solutions(
    store: GraphStore, operation: CompValue, scope: Scope, initial: Row, variables: list[Variable]
) -> list[Row]:
    """The solutions of a DELETE WHERE or a DELETE / INSERT WHERE, with the initial bindings added."""
    where = operation.where if operation.name == "Modify" else _pattern(operation)
    using = operation.using or None
    given = None if using else operation.withClause
    query = _select(where, variables, using, operation.prologue)
    silenced = refuse_services(query.algebra, store.external)
    has_all = all(is_there(store, clause.default or clause.named) for clause in using or ())
    if has_all and (given is None or not _has_graph_pattern(where)):
        default = "__UNION__" if scope.union and given is None else given or scope.default
        try:
            result = store.query(query, {}, initial, default)
            return [{**initial, **cast(Row, row)} for row in result.bindings]
        except NotImplementedError:
            pass  # a query that only rdflib evaluates
    if silenced:
        refuse("SERVICE SILENT in an update that is rdflib's to answer", silenced[0].term, store.external)
    query.algebra["datasetClause"] = None
    dataset = _dataset_of(store, using) if using else _StoreDataset(store, scope)
    context = QueryContext(dataset, initBindings=initial)
    context.prologue = query.prologue
    if given is not None:
        context = context.pushGraph(Graph(store, given))
    rows = evalPart(context, query.algebra)["bindings"]
    return [{**initial, **{v: row[v] for v in variables if row.get(v) is not None}} for row in rows]


def _pattern(operation: CompValue) -> CompValue:
    """The pattern of a DELETE WHERE, which is its template."""
    pattern = BGP(operation.triples)
    for graph, triples in operation.quads.items():
        pattern = Join(pattern, GraphPattern(graph, BGP(triples)))
    return pattern


def _select(where: CompValue, variables: list[Variable], using: Any, prologue: Any) -> Query:
    """A WHERE clause as a SELECT, translated as rdflib translates queries."""
    projected = Project(where, variables)
    select = CompValue("SelectQuery", p=projected, datasetClause=using, PV=variables)
    select = traverse(select, visitPost=simplify)
    _traverseAgg(select, visitor=analyse)
    _traverseAgg(select, _addVars)
    return Query(prologue, select)


def _has_graph_pattern(part: object) -> bool:
    """Whether a pattern contains GRAPH."""
    if isinstance(part, CompValue):
        return part.name == "Graph" or any(map(_has_graph_pattern, part.values()))
    return isinstance(part, list | tuple) and any(map(_has_graph_pattern, part))


def is_there(store: GraphStore, name: Node) -> bool:
    """Whether the store has a graph of this name."""
    return any(graph.identifier == name for graph in store.contexts())


class _StoreDataset(Dataset):
    """A store as a dataset with any default graph. Unlike rdflib's Dataset, reading creates no graphs."""

    def __init__(self, store: GraphStore, scope: Scope) -> None:
        super().__init__(store, default_union=scope.union)
        self._default_context = Graph(store, scope.default)

    def contexts(self, triple: _TripleType | None = None) -> Iterator[Graph]:  # type: ignore[override]
        yield from self.store.contexts(triple)


def _dataset_of(store: GraphStore, using: list[CompValue]) -> Dataset:
    """A copy in memory of the dataset that USING and USING NAMED describe."""
    dataset = Dataset(Memory())
    for clause in using:
        name = clause.default or clause.named
        target = dataset.default_graph if clause.default else dataset.graph(name)
        for triple in Graph(store, name):
            target.add(triple)
    return dataset
