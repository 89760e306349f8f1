"""Nodes and edges of the dependency graph, as data: see ``program.dependencies``."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

from corollary.program.compile import CompiledRule
from corollary.terms.dictionary import TermDictionary

Node = int
CLASS = 1 << 32
"""Added to a term's id for its node as a class."""
READ_CLASS, DERIVED_CLASS, READ_PROPERTY, DERIVED_PROPERTY, COPIED_CLASS, COPIED_PROPERTY = range(
    1 << 33, (1 << 33) + 6
)

OPEN_PROPERTIES = frozenset((READ_PROPERTY, DERIVED_PROPERTY))
OPEN_NODES = {
    READ_CLASS: "any class (read)",
    DERIVED_CLASS: "any class (derived)",
    READ_PROPERTY: "any property (read)",
    DERIVED_PROPERTY: "any property (derived)",
    COPIED_CLASS: "the class read (derived again)",
    COPIED_PROPERTY: "the property read (derived again)",
}


def node_text(node: Node, dictionary: TermDictionary) -> str:
    """A node as people read it: the term, with ``[?x]`` behind it if it is a class."""
    if node in OPEN_NODES:
        return OPEN_NODES[node]
    return f"{dictionary.decode(node - CLASS)}[?x]" if node >= CLASS else dictionary.decode(node)


@dataclass(frozen=True, slots=True)
class Edge:
    """From what a rule reads to what it derives; ``negative`` if through negation or an aggregate.

    A ``link`` between an open node and what it may stand for is no rule's own: it names one that needs it.
    """

    source: Node
    target: Node
    rule: CompiledRule
    negative: bool
    link: bool = False


class OwnEdges(NamedTuple):
    """The edges of a rule by itself, their targets, and what nodes it needs to have facts.

    A rule with guards, or with a condition on nothing, is known only by its instances. ``variants`` are the
    rules with rdf:type in the place of a variable.
    """

    needs: frozenset[Node]
    targets: frozenset[Node]
    edges: tuple[Edge, ...]
    has_instances: bool
    variants: tuple[CompiledRule, ...]
