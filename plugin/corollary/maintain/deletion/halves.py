"""Halves of symmetric facts: of p(x, y) and p(y, x), one is searched for a proof, and both have the answer.

Symmetric are predicates by all of their rules (``program.symmetry``), if no fact of theirs is explicit. Facts
between one term and itself, and those with the lesser subject, are the half.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import dataclass

from corollary.columns import Delta, Relation
from corollary.columns.key_sort import sort_keys
from corollary.columns.pairs import Pairs, firsts, seconds, swap, union


@dataclass(frozen=True)
class Halves:
    """The halves of facts of the symmetric ``predicates``. Other facts stay as they are."""

    predicates: Collection[int]

    def half(self, facts: Delta) -> Delta:
        """Of each fact and its inverse, the one in the half, if either is among the facts."""
        return self._each(facts, _half)

    def both(self, facts: Delta) -> Delta:
        """The facts and their inverses."""
        return self._each(facts, _both)

    def _each(self, facts: Delta, change: Callable[[Pairs], Pairs]) -> Delta:
        if not any(p in self.predicates for p in facts.all_predicates()):
            return facts
        found = {
            p: Relation(change(relation.pairs())) if p in self.predicates else relation
            for p, relation in facts.all_relations()
        }
        return Delta.of_relations(found)


def _half(pairs: Pairs) -> Pairs:
    keys = pairs.keys
    others = firsts(keys) > seconds(keys)
    if not others.any():
        return pairs
    return Pairs(union(keys[~others], sort_keys(swap(keys[others]), by_first=True)))


def _both(pairs: Pairs) -> Pairs:
    keys = union(pairs.keys, pairs.by_object)
    return Pairs(keys, keys)
