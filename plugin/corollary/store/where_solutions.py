"""The solutions of an update's WHERE clause, by the store's query evaluator or else by rdflib's.

A WHERE clause is evaluated as a SELECT of the variables in the templates, over the dataset that WITH or USING
describe. USING does not access the network: its graphs are graphs of the store.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING, Any, cast

from rdflib.term import Variable

from corollary.sparql.access import refuse
from corollary.sparql.algebra import InGraph, Modify, Project, Query, services
from corollary.sparql.external import refuse_services
from corollary.sparql.query_passes import optimised
from corollary.sparql.result import SelectResult
from corollary.store.update_scope import Row, Scope

if TYPE_CHECKING:
    from corollary.store.graph_store import GraphStore

Original = Callable[[], Any]
"""Gives rdflib's form of an operation, for WHERE clauses that only rdflib evaluates."""


def solutions(
    store: GraphStore,
    operation: Modify,
    scope: Scope,
    initial: Row,
    variables: list[Variable],
    original: Original,
) -> list[Row]:
    """The solutions of the WHERE clause, with the initial bindings added."""
    query = optimised(_select(operation, variables))
    silenced = refuse_services(query.services, store.external)
    default = "__UNION__" if scope.union else scope.default
    try:
        result = store.query(cast(Any, query), {}, initial, default)
        rows = result.solutions() if isinstance(result, SelectResult) else result.bindings
        return [{**initial, **cast(Row, row)} for row in rows]
    except NotImplementedError:
        pass  # a query that only rdflib evaluates
    if silenced:
        refuse("SERVICE SILENT in an update that is rdflib's to answer", silenced[0].name, store.external)
    from corollary.store.rdflib_where import solutions_by_rdflib

    given = None if operation.using else operation.graph
    return solutions_by_rdflib(store, original(), scope, initial, variables, given)


def _select(operation: Modify, variables: list[Variable]) -> Query:
    """A WHERE clause as a SELECT over the graphs of USING; WITH is GRAPH around it."""
    using = tuple(replace(clause, is_loaded=False) for clause in operation.using)
    where = operation.where
    if operation.graph is not None and not using:
        where = InGraph(where, operation.graph)
    pattern = Project(where, tuple(variables))
    return Query("SELECT", pattern, pattern.variables, using, (), operation.base, services(pattern))
