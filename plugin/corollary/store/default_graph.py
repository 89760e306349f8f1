"""Which graph is meant where none is named.

A ``Graph`` made without a name has a blank node for one, and its store hears of it when it is used. What
is loaded before that goes into the default graph; the nameless graph that comes next stands for the default
graph from then on. So ``Graph(store="Corollary")`` shows what its store has loaded, while a graph with a
name of its own, a blank node that names a graph already, and a Dataset's default graph are never taken for
another.

Where a store is kept in a folder, the nameless graph that opens it stands for the default graph too, or for
the only graph that is kept; else it would have another name each time, and show nothing.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from rdflib.graph import DATASET_DEFAULT_GRAPH_ID
from rdflib.term import BNode, Node


def reopened(first: Node | None, kept: frozenset[Node], *, is_alone: bool) -> DefaultGraphAlias:
    """After a folder was opened by the graph ``first``: a nameless graph has another name each time.

    ``kept`` are the graphs of the folder, ``is_alone`` says that there is only one, and no Dataset named it.
    """
    return DefaultGraphAlias(first, next(iter(kept)) if is_alone else DATASET_DEFAULT_GRAPH_ID, kept)


@dataclass(slots=True)
class DefaultGraphAlias:
    """The first graph that came to a store, and which graph it stands for if it is nameless.

    ``first`` is a blank node or the default graph of a Dataset, as graphs with names of their own do not
    count; or the graph that opened a folder. ``kept`` are the graphs that were there before: a blank node
    that names one of them is a name.
    """

    first: Node | None = None
    stands_for: Node | None = None
    kept: frozenset[Node] = frozenset()

    def meet(self, name: Node) -> Node:
        """As ``meant``. To be called for every graph that is read or filled: one of them is the first."""
        if self.first is None:
            is_nameless = isinstance(name, BNode) and name not in self.kept
            if is_nameless or name == DATASET_DEFAULT_GRAPH_ID:
                self.first = name
        return self.meant(name)

    def meant(self, name: Node) -> Node:
        """The name of the graph that is meant by a name."""
        if self.stands_for is None or not isinstance(name, BNode) or name in self.kept:
            return name
        return self.stands_for if name == self.first else name

    def of_a_dataset(self) -> DefaultGraphAlias:
        """After a Dataset has named a graph: from then on no graph is taken for another."""
        return (
            self if self.first is not None else DefaultGraphAlias(DATASET_DEFAULT_GRAPH_ID, None, self.kept)
        )

    def is_nameless(self, name: Node) -> bool:
        """Whether a graph goes by a blank node, its own name or one that stands for it; not in a Dataset."""
        if isinstance(self.first, BNode):
            return isinstance(name, BNode) or name == self.stands_for
        return isinstance(name, BNode) and self.first != DATASET_DEFAULT_GRAPH_ID

    def target(self) -> Node:
        """The graph to load into: the nameless one that came first, else the default graph."""
        if self.first is None:
            return self.stands_for or DATASET_DEFAULT_GRAPH_ID
        return self.meant(self.first) if isinstance(self.first, BNode) else DATASET_DEFAULT_GRAPH_ID

    def filled(self, graphs: Iterable[Node]) -> DefaultGraphAlias:
        """After something was loaded into that graph. ``graphs`` have blank nodes for names already."""
        return (
            self
            if self.first is not None
            else DefaultGraphAlias(None, self.target(), self.kept.union(graphs))
        )
