"""The alias of the default graph: which stored graph a nameless rdflib graph stands for.

A nameless ``Graph`` has a fresh blank node as its name. rdflib passes the name to the store at the first use
of the graph. Triples that are loaded before any use go into the default graph, and the next nameless graph
becomes an alias of the default graph. So ``Graph(store="Corollary")`` shows what its store has loaded. Never
an alias are: a graph with an IRI as its name, a blank node that already names a stored graph, and the default
graph of a Dataset.

A nameless graph that opens a folder becomes an alias, too: of the default graph, or of the only stored graph.
Otherwise its name, which is new each time, would match no stored graph.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from rdflib.graph import DATASET_DEFAULT_GRAPH_ID
from rdflib.term import BNode, Node


def reopened(first: Node | None, kept: frozenset[Node], *, is_alone: bool) -> DefaultGraphAlias:
    """The alias after the graph ``first`` has opened a folder.

    ``kept`` are the graphs of the folder. ``is_alone``: there is only one, and no Dataset has added it.
    """
    return DefaultGraphAlias(first, next(iter(kept)) if is_alone else DATASET_DEFAULT_GRAPH_ID, kept)


@dataclass(slots=True)
class DefaultGraphAlias:
    """The first nameless graph that used a store, and the stored graph that it stands for.

    ``first`` is a blank node, or the name of a Dataset's default graph, or the graph that opened a folder;
    graphs with an IRI do not count. ``stands_for`` is None if there is no alias. ``kept`` are the graphs that
    existed before: a blank node in ``kept`` is an ordinary name.
    """

    first: Node | None = None
    stands_for: Node | None = None
    kept: frozenset[Node] = frozenset()

    def meet(self, name: Node) -> Node:
        """As ``meant``, and records ``first``. Must be called for every graph that is read or filled."""
        if self.first is None:
            is_nameless = isinstance(name, BNode) and name not in self.kept
            if is_nameless or name == DATASET_DEFAULT_GRAPH_ID:
                self.first = name
        return self.meant(name)

    def meant(self, name: Node) -> Node:
        """The name of the stored graph for a name that rdflib uses."""
        if self.stands_for is None or not isinstance(name, BNode) or name in self.kept:
            return name
        return self.stands_for if name == self.first else name

    def of_a_dataset(self) -> DefaultGraphAlias:
        """The alias after a Dataset has added a graph: a graph that comes later is no alias."""
        return (
            self if self.first is not None else DefaultGraphAlias(DATASET_DEFAULT_GRAPH_ID, None, self.kept)
        )

    def is_nameless(self, name: Node) -> bool:
        """Whether a name is a blank node, or what one stands for; False if a Dataset used the store first."""
        if isinstance(self.first, BNode):
            return isinstance(name, BNode) or name == self.stands_for
        return isinstance(name, BNode) and self.first != DATASET_DEFAULT_GRAPH_ID

    def target(self) -> Node:
        """The graph to load into: that of the first nameless graph, else the default graph."""
        if self.first is None:
            return self.stands_for or DATASET_DEFAULT_GRAPH_ID
        return self.meant(self.first) if isinstance(self.first, BNode) else DATASET_DEFAULT_GRAPH_ID

    def filled(self, graphs: Iterable[Node]) -> DefaultGraphAlias:
        """The alias after a load into ``target()``. ``graphs``: blank nodes that already name graphs."""
        return (
            self
            if self.first is not None
            else DefaultGraphAlias(None, self.target(), self.kept.union(graphs))
        )
