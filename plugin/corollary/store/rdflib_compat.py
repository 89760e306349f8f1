"""What rdflib does otherwise than one would expect, and what the store does about it.

rdflib calls ``store.open`` and ``store.update`` without saying which ``Graph`` asks. The graph is found in
the caller's frame (``graph_that_calls``, ``default_graph_of_caller``).

Elsewhere: the parser (``sparql.parsing``), services (``sparql.external``), graphs without a name
(``default_graph``), queries that rdflib evaluates (``sparql.handing_on``).
"""

from __future__ import annotations

from types import FrameType
from typing import TYPE_CHECKING, cast

from rdflib.graph import DATASET_DEFAULT_GRAPH_ID, ConjunctiveGraph, Graph
from rdflib.term import IdentifiedNode

if TYPE_CHECKING:
    from corollary.store.store import CorollaryStore


def graph_that_calls(store: CorollaryStore, frame: FrameType) -> Graph | None:
    """The graph of a store whose method a frame runs; None if it is another's."""
    caller = frame.f_locals.get("self")
    return caller if isinstance(caller, Graph) and caller.store is store else None


def default_graph_of_caller(store: CorollaryStore, frame: FrameType | None) -> IdentifiedNode:
    """The default graph of the Dataset or ConjunctiveGraph whose ``update`` was called.

    A union is asked for without its name, and a ConjunctiveGraph's default graph is a blank node of its own.
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
