"""Nodes and edges of the dependency graph, as data: see ``program.dependencies``."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import NamedTuple

from corollary.program.compile import Atom, CompiledRule
from corollary.terms.dictionary import TermDictionary

Node = int
CLASS = 1 << 32
"""Added to a term id for the node of a class. The node of a property is its term id."""
READ_CLASS, DERIVED_CLASS, READ_PROPERTY, DERIVED_PROPERTY, COPIED_CLASS, COPIED_PROPERTY = range(
    1 << 33, (1 << 33) + 6
)

SEEDS = 1 << 35
"""Added to a property for the node of its seeds: see ``program.recursion``."""

OPEN_PROPERTIES = frozenset((READ_PROPERTY, DERIVED_PROPERTY))
OPEN_NODES = {
    READ_CLASS: "any class (read)",
    DERIVED_CLASS: "any class (derived)",
    READ_PROPERTY: "any property (read)",
    DERIVED_PROPERTY: "any property (derived)",
    COPIED_CLASS: "the class read (derived again)",
    COPIED_PROPERTY: "the property read (derived again)",
}


def nodes_of(atoms: Iterable[Atom], rdf_type: int) -> frozenset[Node]:
    """The nodes of atoms: of a type by a constant class, that of the class; else that of the predicate.

    The node of rdf:type stands for all classes.
    """
    return frozenset([CLASS + a.o if a.p == rdf_type and a.o >= 0 else a.p for a in atoms])


def nodes_read(rule: CompiledRule, rdf_type: int) -> frozenset[Node]:
    """The nodes of a rule's body."""
    return nodes_of(rule.read, rdf_type) if rdf_type in rule.reads else rule.reads


def nodes_derived(rule: CompiledRule, rdf_type: int) -> frozenset[Node]:
    """The nodes of a rule's heads."""
    return nodes_of(rule.heads, rdf_type) if rdf_type in rule.derives else rule.derives


def names_classes(rule: CompiledRule, rdf_type: int) -> bool:
    """Whether the classes of all types in a rule are constants."""
    return rdf_type not in nodes_read(rule, rdf_type) and rdf_type not in nodes_derived(rule, rdf_type)


def node_text(node: Node, dictionary: TermDictionary) -> str:
    """The text of a node: the term, followed by ``[?x]`` for a class."""
    if node in OPEN_NODES:
        return OPEN_NODES[node]
    if node >= SEEDS:
        return f"{dictionary.decode(node - SEEDS)} (by other rules)"
    return f"{dictionary.decode(node - CLASS)}[?x]" if node >= CLASS else dictionary.decode(node)


@dataclass(frozen=True, slots=True)
class Edge:
    """From a node that a rule reads to a node that it derives; ``negative`` through negation or an aggregate.

    A ``link`` connects an open node, or a virtual relation, with the nodes that it stands for. ``rule`` is
    then one of the rules that need the link.
    """

    source: Node
    target: Node
    rule: CompiledRule
    negative: bool
    link: bool = False


class OwnEdges(NamedTuple):
    """The edges of one rule regardless of the facts, their targets, and the nodes it ``needs`` facts of.

    ``has_instances``: the rule has guards, or a condition without variables, so that its live edges depend on
    its table. ``variants`` are the rules with rdf:type in place of a variable.
    """

    needs: frozenset[Node]
    targets: frozenset[Node]
    edges: tuple[Edge, ...]
    has_instances: bool
    variants: tuple[CompiledRule, ...]
