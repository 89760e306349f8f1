"""Small sets of facts by predicate: what a maintenance run passes around."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from corollary.algebra.execute import Candidates
from corollary.index.pairs import Pairs, ascending, difference, intersection, union
from corollary.index.relation import Relation
from corollary.index.triples import TripleIndex
from corollary.kernels.sorted import Keys

Facts = dict[int, Keys]
"""Facts by predicate, sorted and unique; no predicate without facts."""


def _filled(facts: Iterable[tuple[int, Keys]]) -> Facts:
    """The predicates that have facts, with these."""
    return {predicate: keys for predicate, keys in facts if keys.size}


def gathered(candidates: Candidates) -> Facts:
    """The candidates, sorted and unique."""
    return _filled(
        (predicate, ascending(np.concatenate(parts) if len(parts) > 1 else parts[0]))
        for predicate, parts in candidates.items()
    )


def within(facts: Facts, among: TripleIndex) -> Facts:
    """The facts that are among others."""
    relations = ((predicate, among.relation(predicate), keys) for predicate, keys in facts.items())
    return _filled((predicate, known.common(keys)) for predicate, known, keys in relations if len(known))


def collected(candidates: Candidates, among: TripleIndex) -> Facts:
    """The candidates that are among some facts."""
    return within(gathered({p: parts for p, parts in candidates.items() if len(among.relation(p))}), among)


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
    return _filled((p, difference(keys, others[p]) if p in others else keys) for p, keys in facts.items())


def shared(facts: Facts, others: Facts) -> Facts:
    """The facts that are among the others too."""
    return _filled((p, intersection(keys, others[p])) for p, keys in facts.items() if p in others)


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
