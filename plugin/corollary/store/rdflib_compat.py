"""Workarounds for unexpected behaviour of rdflib.

rdflib calls ``store.open`` and ``store.update`` without passing the calling ``Graph``. The graph is found in
the caller's frame (``graph_that_calls``, ``default_graph_of_caller``). ``Graph.query`` makes a term of every
namespace of the store, which has them already (``are_for_query``).

Other workarounds: services (``sparql.external``), nameless graphs (``default_graph``), queries that rdflib
evaluates (``sparql.handing_on``).
"""

from __future__ import annotations

from types import FrameType
from typing import TYPE_CHECKING, cast

from rdflib.graph import DATASET_DEFAULT_GRAPH_ID, ConjunctiveGraph, Graph
from rdflib.term import IdentifiedNode

if TYPE_CHECKING:
    from corollary.store.graph_store import GraphStore


def graph_that_calls(store: GraphStore, frame: FrameType) -> Graph | None:
    """The graph of ``store`` one of whose methods runs in ``frame``; None if there is none."""
    caller = frame.f_locals.get("self")
    return caller if isinstance(caller, Graph) and caller.store is store else None


def default_graph_of_caller(store: GraphStore, frame: FrameType | None) -> IdentifiedNode:
    """The default graph of the Dataset or ConjunctiveGraph whose ``update`` was called.

    rdflib passes ``"__UNION__"`` without this name, and a ConjunctiveGraph's default graph is a blank node.
    """
    for _ in range(2):
        if frame is None:
            break
        caller = frame.f_locals.get("self")
        if isinstance(caller, ConjunctiveGraph) and caller.store is store:
            return cast(
                IdentifiedNode,
                store.reasoner.versions.current().adapter_state.meet(caller._default_context.identifier),
            )
        frame = frame.f_back
    return DATASET_DEFAULT_GRAPH_ID


def are_for_query(store: GraphStore, frame: FrameType | None) -> bool:
    """Whether namespaces are listed for ``Graph.query``, which passes them back to ``store.query``.

    ``frame`` is that of ``NamespaceManager.namespaces``, which runs in that of ``Graph.namespaces``.
    """
    for _ in range(2):
        frame = None if frame is None else frame.f_back
    if frame is None or frame.f_code is not Graph.query.__code__:
        return False
    given = frame.f_locals
    return bool(given["use_store_provided"]) and given["self"].store is store
