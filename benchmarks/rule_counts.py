"""The counts by which the literature describes a program: nonrecursive rules, recursive rules, strata.

Nodes are predicates and classes. Two nodes are in one component if each depends on the other. A rule is
recursive if its head and a body atom are in one component. The stratum of a component that rules derive is
one more than the highest stratum of the components that they read.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache

from corollary.language import Program
from corollary.language.model import IRI, RDF, Rule, Term, Triple


@dataclass(frozen=True, slots=True)
class RuleCounts:
    """Numbers of nonrecursive rules, of recursive rules, and of strata."""

    nonrecursive: int
    recursive: int
    strata: int


def rule_counts(program: Program) -> RuleCounts:
    """The counts of a program.

    Precondition: bodies have triples only, and predicates are constants.
    """
    reading: dict[Term, set[Term]] = {}
    for rule in program:
        for head in map(node_of, rule.heads):
            reading.setdefault(head, set()).update(nodes_read(rule))
    below = {node: _reachable(node, reading) for node in reading}

    def cyclic(one: Term, other: Term) -> bool:
        """Whether ``one``, which rules derive, and ``other``, which it reads, are in one component."""
        return one == other or one in below.get(other, ())

    @cache
    def stratum(node: Term) -> int:
        """All nodes below ``node`` are in its component, or in lower strata."""
        others = {other for other in below.get(node, ()) if not cyclic(node, other)}
        return (node in below) + max(map(stratum, others), default=0)

    recursive = sum(
        any(cyclic(head, node) for head in map(node_of, rule.heads) for node in nodes_read(rule))
        for rule in program
    )
    return RuleCounts(len(program) - recursive, recursive, max(map(stratum, below), default=0))


def nodes_read(rule: Rule) -> Iterator[Term]:
    """The predicates and classes of the body."""
    return (node_of(element) for element in rule.body if isinstance(element, Triple))


def node_of(triple: Triple) -> Term:
    """The class if the triple says that something belongs to one, else the predicate."""
    return triple.object if triple.predicate == IRI(RDF + "type") else triple.predicate


def _reachable(node: Term, reading: dict[Term, set[Term]]) -> set[Term]:
    """The nodes that ``node`` reads, directly or through others."""
    seen: set[Term] = set()
    waiting = [node]
    while waiting:
        fresh = reading.get(waiting.pop(), set()) - seen
        seen |= fresh
        waiting += fresh
    return seen
