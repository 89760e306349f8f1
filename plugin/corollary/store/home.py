"""Which graph is meant where none is named.

A ``Graph`` made without a name has a blank node for one, and its store hears of it when it is used. What
is loaded before that goes into the default graph; the nameless graph that comes next stands for the default
graph from then on. So ``Graph(store="Corollary")`` shows what its store has loaded, while a graph with a
name of its own, and a Dataset's default graph, are never taken for another.

Where a store is kept in a folder, the nameless graph that opens it stands for the default graph too, or for
the only graph that is kept; else it would have another name each time, and show nothing.
"""

from __future__ import annotations

from dataclasses import dataclass

from rdflib.graph import DATASET_DEFAULT_GRAPH_ID
from rdflib.term import BNode, Node, URIRef

EXPLICIT = URIRef("urn:x-corollary:explicit")
INFERRED = URIRef("urn:x-corollary:inferred")
"""The graphs that show one side of all others."""


@dataclass(slots=True)
class Home:
    """The first graph that came to a store, and which graph it stands for if it is nameless.

    ``kept`` are the graphs that were there before: a blank node that names one of them is a name.
    """

    first: Node | None = None
    stands_for: Node | None = None
    kept: frozenset[Node] = frozenset()

    def meet(self, name: Node) -> Node:
        """The name of the graph that is meant by a name. To be told of every graph that is used."""
        if self.first is None and name not in (EXPLICIT, INFERRED):
            self.first = name
        if self.stands_for is not None and name == self.first and isinstance(name, BNode):
            return name if name in self.kept else self.stands_for
        return name

    def is_of_a_dataset(self) -> None:
        """Note that graphs are named here: then no graph is taken for another."""
        if self.first is None:
            self.first = DATASET_DEFAULT_GRAPH_ID

    def target(self) -> Node:
        """The graph to load into: the nameless one that came first, else the default graph."""
        if self.first is None:
            return self.stands_for or DATASET_DEFAULT_GRAPH_ID
        return self.meet(self.first) if isinstance(self.first, BNode) else DATASET_DEFAULT_GRAPH_ID

    def filled(self) -> Home:
        """After something was loaded into that graph."""
        return self if self.first is not None else Home(None, self.target(), self.kept)
