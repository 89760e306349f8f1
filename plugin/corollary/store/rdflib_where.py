"""The solutions of an update's WHERE clause by rdflib's evaluator: with SERVICE, or custom evaluation."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

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
from rdflib.plugins.sparql.sparql import QueryContext
from rdflib.plugins.stores.memory import Memory
from rdflib.term import IdentifiedNode, Variable

from corollary.store.update_scope import Row, Scope

if TYPE_CHECKING:
    from rdflib.graph import _TripleType

    from corollary.store.graph_store import GraphStore


def solutions_by_rdflib(
    store: GraphStore,
    operation: CompValue,
    scope: Scope,
    initial: Row,
    variables: list[Variable],
    given: IdentifiedNode | None,
) -> list[Row]:
    """As ``where_solutions.solutions``; ``operation`` is rdflib's, ``given`` is the graph of WITH."""
    where = operation.where if operation.name == "Modify" else _pattern(operation)
    pattern = _translated(where, variables)
    using = operation.using
    dataset = _dataset_of(store, using) if using else _StoreDataset(store, scope)
    context = QueryContext(dataset, initBindings=initial)
    context.prologue = operation.prologue
    if given is not None:
        context = context.pushGraph(Graph(store, given))
    rows = evalPart(context, pattern)["bindings"]
    return [{**initial, **{v: row[v] for v in variables if row.get(v) is not None}} for row in rows]


def _pattern(operation: CompValue) -> CompValue:
    """The pattern of a DELETE WHERE, which is its template."""
    pattern = BGP(operation.triples)
    for graph, triples in operation.quads.items():
        pattern = Join(pattern, GraphPattern(graph, BGP(triples)))
    return pattern


def _translated(where: CompValue, variables: list[Variable]) -> Any:
    """A WHERE clause as a SELECT, translated as rdflib translates queries."""
    select = CompValue("SelectQuery", p=Project(where, variables), datasetClause=None, PV=variables)
    select = traverse(select, visitPost=simplify)
    _traverseAgg(select, visitor=analyse)
    _traverseAgg(select, _addVars)
    return select


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
