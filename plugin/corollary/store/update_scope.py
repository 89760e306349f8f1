"""What the operations of an update share: their dataset, and solutions."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from rdflib.term import IdentifiedNode, Identifier, Node

if TYPE_CHECKING:
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


def is_there(store: GraphStore, name: Node) -> bool:
    """Whether the store has a graph of this name."""
    return any(graph.identifier == name for graph in store.contexts())
