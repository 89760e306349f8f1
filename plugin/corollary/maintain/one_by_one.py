"""Backward/Forward for few candidates, fact by fact in Python: most transactions remove one fact.

The candidates are decided in an order of their predicates, so that all facts of predicates before it are
final: by level, and within a level first those that do not depend on predicates of their group. A candidate
is proved by a search backward, depth first. A proof of least height has no fact twice on a path, so that the
search leaves out premises that it is about to prove. If the search fails, there is no proof.

Nothing changes before the last candidate is decided: where a module cannot follow single facts, or where
these are not few, the transaction goes on with all candidates at once.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from corollary.columns import Delta, TripleIndex
from corollary.columns.triples import FIRST_VIRTUAL
from corollary.evaluate.fixpoint import Fixpoint
from corollary.evaluate.precedence import Precedence
from corollary.maintain.tuning import MAX_FACTS_DELETED_ONE_BY_ONE, MAX_FACTS_PROVED_ONE_BY_ONE
from corollary.modules.module import Fact, Module, NotFew


class FewDeletions:
    """What is deleted if few candidates are: ``lost``, and what each module overdeletes, ``named``."""

    def __init__(
        self,
        fixpoint: Fixpoint,
        deriving: Callable[[int], Sequence[Module]],
        order: Precedence,
        proved: TripleIndex,
    ) -> None:
        """``deriving``: the modules that derive facts of a predicate. ``proved``: E, the axioms, the schema.

        Precondition: nothing was deleted yet in this transaction.
        """
        self.lost: set[Fact] = set()
        self.named: dict[int, set[Fact]] = {}
        self._fixpoint = fixpoint
        self._facts = fixpoint.index.snapshot()
        self._deriving = deriving
        self._order = order
        self._given = proved
        self._proved: set[Fact] = set()
        self._open: dict[int, dict[Fact, None]] = {}  # by place in the order
        self._places: dict[int, int] = {}
        self._place = -2  # of the fact that is decided
        self._left = MAX_FACTS_PROVED_ONE_BY_ONE

    def follow(self, candidates: Delta) -> None:
        """Decide the candidates, and all facts that lose a derivation. Raises ``NotFew``."""
        for predicate, relation in candidates.all_relations():
            for key in relation.pairs().keys.tolist():
                fact = (key >> 32, predicate, key & 0xFFFFFFFF)
                if not self._is_given(fact):
                    self._enqueue(fact)
        while self._open:
            self._place = place = min(self._open)
            fact = next(iter(self._open[place]))
            del self._open[place][fact]
            if not self._open[place]:
                del self._open[place]
            if fact not in self._proved and not self._is_proved(fact, set()):
                self._lose(fact)

    def _place_of(self, predicate: int) -> int:
        place = self._places.get(predicate)
        if place is None:
            place = 2 * self._order.levels.get(predicate, -1) + (predicate in self._order.entered)
            self._places[predicate] = place
        return place

    def _enqueue(self, fact: Fact) -> None:
        place = self._place_of(fact[1])
        if place < self._place:
            raise NotFew
        self._open.setdefault(place, {})[fact] = None

    def _lose(self, fact: Fact) -> None:
        """Delete a fact, and enqueue what loses a derivation by that: I has all conclusions."""
        predicate = fact[1]
        self.lost.add(fact)
        if (
            len(self.lost) > MAX_FACTS_DELETED_ONE_BY_ONE
            or self._facts.relation(predicate).is_compressed
            or predicate >= FIRST_VIRTUAL
        ):
            raise NotFew
        for number in self._fixpoint.receiving(fact, self._order):
            module = self._fixpoint.modules[number]
            for other in module.conclusions_of(fact, self._facts, self._given):
                if not (other in self.lost or self._is_given(other)):
                    self.named.setdefault(number, set()).add(other)
                    self._enqueue(other)

    def _is_given(self, fact: Fact) -> bool:
        """Whether a fact is known to be proved, wherever it is in the order."""
        return fact in self._proved or self._given.relation(fact[1]).has_key(fact[0] << 32 | fact[2])

    def _is_proved(self, fact: Fact, path: set[Fact]) -> bool:
        """Whether a fact that is not given has a proof without the facts on the path."""
        self._left -= 1
        if self._left < 0:
            raise NotFew
        path.add(fact)
        later: list[Sequence[Fact]] = []
        for module in self._deriving(fact[1]):
            for premises in module.instances_of(fact, self._facts):
                open_: Sequence[Fact] = [f for f in premises if not self._is_final(f)]
                if not open_:
                    return self._note(fact, path)
                if self.lost.isdisjoint(open_) and path.isdisjoint(open_):
                    later.append(open_)
        for open_ in later:
            if all(self._is_given(premise) or self._is_proved(premise, path) for premise in open_):
                return self._note(fact, path)
        path.remove(fact)
        return False

    def _note(self, fact: Fact, path: set[Fact]) -> bool:
        """Note that a fact of the path is proved."""
        self._proved.add(fact)
        path.remove(fact)
        return True

    def _is_final(self, fact: Fact) -> bool:
        """Whether a premise in I is known to be proved: all that precedes the present place is decided."""
        if fact in self.lost:
            return False
        place = self._places.get(fact[1])
        if place is None:
            place = self._place_of(fact[1])
        if place > self._place:
            raise NotFew
        return place < self._place or self._is_given(fact)

    def deleted(self) -> Delta:
        """The lost facts."""
        found: dict[int, list[int]] = {}
        for subject, predicate, value in self.lost:
            found.setdefault(predicate, []).append(subject << 32 | value)
        return Delta({p: np.array(sorted(keys), np.uint64) for p, keys in found.items()})
