"""Small sets of facts by predicate: what a maintenance run passes around."""

from __future__ import annotations

import numpy as np

from corollary.algebra.execute import Candidates
from corollary.index.pairs import Pairs, ascending, difference, intersection, union
from corollary.index.relation import Relation
from corollary.index.triples import TripleIndex
from corollary.kernels.sorted import Keys

Facts = dict[int, Keys]
"""Facts by predicate, sorted and unique; no predicate without facts."""


NO_FACTS = TripleIndex()


def gathered(candidates: Candidates) -> Facts:
    """The candidates, sorted and unique."""
    found: Facts = {}
    for predicate, parts in candidates.items():
        keys = ascending(np.concatenate(parts) if len(parts) > 1 else parts[0])
        if keys.size:
            found[predicate] = keys
    return found


def within(facts: Facts, among: TripleIndex) -> Facts:
    """The facts that are among others."""
    found: Facts = {}
    for predicate, keys in facts.items():
        relation = among.relation(predicate)
        if len(relation):
            keys = relation.common(keys)
            if keys.size:
                found[predicate] = keys
    return found


def collected(candidates: Candidates, among: TripleIndex, known: TripleIndex = NO_FACTS) -> Facts:
    """The candidates that are among some facts, and not among those that are known."""
    possible = {p: parts for p, parts in candidates.items() if len(among.relation(p))}
    return within(without(gathered(possible), known), among)


def without(facts: Facts, *others: TripleIndex) -> Facts:
    """The facts that are in none of the others."""
    found: Facts = {}
    for predicate, keys in facts.items():
        for other in others:
            relation = other.relation(predicate)
            if len(relation) and keys.size:
                keys = keys[~relation.contains(keys)]
        if keys.size:
            found[predicate] = keys
    return found


def less(facts: Facts, others: Facts) -> Facts:
    """The facts that are not among the others."""
    found: Facts = {}
    for predicate, keys in facts.items():
        if predicate in others:
            keys = difference(keys, others[predicate])
        if keys.size:
            found[predicate] = keys
    return found


def shared(facts: Facts, others: Facts) -> Facts:
    """The facts that are among the others too."""
    found: Facts = {}
    for predicate in facts.keys() & others.keys():
        keys = intersection(facts[predicate], others[predicate])
        if keys.size:
            found[predicate] = keys
    return found


def as_index(facts: Facts) -> TripleIndex:
    """The facts for a module to read."""
    return TripleIndex({predicate: Relation(Pairs(keys)) for predicate, keys in facts.items()})


def put(facts: Facts, into: TripleIndex) -> None:
    """Add facts that are not there yet."""
    for predicate, keys in facts.items():
        into.add(predicate, Pairs(keys))


def count(facts: Facts) -> int:
    """How many facts there are."""
    return sum(keys.size for keys in facts.values())


def all_of(facts: TripleIndex) -> Facts:
    """The facts of an index."""
    return {predicate: facts.relation(predicate).pairs().keys for predicate in facts.all_predicates()}


def united(left: Facts, right: Facts) -> Facts:
    """Both sets of facts as one."""
    if not left or not right:
        return left or right
    both = dict(left)
    for predicate, keys in right.items():
        both[predicate] = union(both[predicate], keys) if predicate in both else keys
    return both
