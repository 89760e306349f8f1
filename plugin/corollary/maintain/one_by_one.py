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

Found = dict[int, set[int]]
"""Packed facts by predicate."""


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
        self.lost: Found = {}
        self.named: dict[int, set[Fact]] = {}
        self._fixpoint = fixpoint
        self._facts = fixpoint.index.snapshot()
        self._deriving = deriving
        self._order = order
        self._given = proved
        self._proved: set[Fact] = set()
        self._open: dict[int, dict[Fact, None]] = {}  # by place in the order
        self._place = -2
        self._left = MAX_FACTS_PROVED_ONE_BY_ONE
        self._count = 0

    def follow(self, candidates: Delta) -> None:
        """Decide the candidates, and all facts that lose a derivation. Raises ``NotFew``."""
        for predicate, relation in candidates.all_relations():
            for key in relation.pairs().keys.tolist():
                self._enqueue((key >> 32, predicate, key & 0xFFFFFFFF))
        while self._open:
            self._place = place = min(self._open)
            fact = next(iter(self._open[place]))
            del self._open[place][fact]
            if not self._open[place]:
                del self._open[place]
            if not self._is_proved(fact, set()):
                self._lose(fact)

    def _place_of(self, predicate: int) -> int:
        return 2 * self._order.levels.get(predicate, -1) + (predicate in self._order.entered)

    def _enqueue(self, fact: Fact) -> None:
        place = self._place_of(fact[1])
        if place < self._place:
            raise NotFew
        self._open.setdefault(place, {})[fact] = None

    def _lose(self, fact: Fact) -> None:
        """Delete a fact, and enqueue what loses a derivation by that."""
        subject, predicate, value = fact
        relation = self._facts.relation(predicate)
        self._count += 1
        if self._count > MAX_FACTS_DELETED_ONE_BY_ONE or relation.is_compressed or predicate >= FIRST_VIRTUAL:
            raise NotFew
        self.lost.setdefault(predicate, set()).add(subject << 32 | value)
        for number in self._fixpoint.receiving(fact, self._order):
            for other in self._fixpoint.modules[number].conclusions_of(fact, self._facts, self._given):
                if not self._holds(other) and self._is_left(other):
                    self.named.setdefault(number, set()).add(other)
                    self._enqueue(other)

    def _is_left(self, fact: Fact) -> bool:
        """Whether a fact is in I, and not deleted."""
        subject, predicate, value = fact
        key = subject << 32 | value
        return key not in self.lost.get(predicate, ()) and self._facts.relation(predicate).has_key(key)

    def _holds(self, fact: Fact) -> bool:
        """Whether a fact is known to be proved. Precondition: it is in I."""
        subject, predicate, value = fact
        key = subject << 32 | value
        if key in self.lost.get(predicate, ()):
            return False
        return fact in self._proved or self._given.relation(predicate).has_key(key)

    def _is_proved(self, fact: Fact, path: set[Fact]) -> bool:
        """Whether a fact has a proof without the facts on the path."""
        if self._holds(fact):
            return True
        self._left -= 1
        if self._left < 0:
            raise NotFew
        path.add(fact)
        later: list[Sequence[Fact]] = []
        for module in self._deriving(fact[1]):
            for premises in module.instances_of(fact, self._facts):
                open_ = [premise for premise in premises if not self._is_final(premise)]
                if not open_:
                    return self._note(fact, path)
                if all(self._is_left(premise) and premise not in path for premise in open_):
                    later.append(open_)
        for open_ in later:
            if all(self._is_proved(premise, path) for premise in open_):
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
        place = self._place_of(fact[1])
        if place > self._place:
            raise NotFew
        if place < self._place:
            return self._is_left(fact)
        return self._holds(fact)

    def deleted(self) -> Delta:
        """The lost facts."""
        return Delta({p: np.array(sorted(keys), np.uint64) for p, keys in self.lost.items()})
