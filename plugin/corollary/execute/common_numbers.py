"""The numbers of a recursive aggregate, promoted to one datatype and ordered as keys: the least is the best.

SPARQL promotes the operands of one sum. In a recursion this is not monotone: let x have the values 1 and, as
a double, 1.1; adding a large integer rounds the second down, below the exact sum of the first. So all numbers
that take part have one datatype: xsd:integer if all are integers, xsd:decimal if all others are decimals, and
xsd:double otherwise. Then sums are monotone. Left out are: terms that are no numbers; NaN; steps that are
infinite; and the infinity that is worse than every number, INF for min.

A key is the number for min, and its negation for max.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from decimal import Decimal

from corollary.execute.tuning import MAX_ANSWERS_CACHED
from corollary.expressions.operators import (
    EXACT,
    Number,
    Rank,
    Real,
    add,
    literal_of,
    negate,
    number_of,
    promote,
)
from corollary.language import constant_text
from corollary.terms.dictionary import TermDictionary


class CommonNumbers:
    """Keys of terms, and terms of keys, for one ``rank`` (xsd:float counts as xsd:double)."""

    def __init__(self, dictionary: TermDictionary, *, is_max: bool, is_minus: bool) -> None:
        self.rank = Rank.INTEGER
        self._dictionary = dictionary
        self._is_max = is_max
        self._turns_step = is_max != is_minus
        self._numbers: dict[int, Number | None] = {}
        self._values: dict[int, Real | None] = {}
        self._steps: dict[int, Real | None] = {}
        self._terms: dict[Real, int] = {}

    def use(self, rank: Rank) -> None:
        """Promote to ``rank`` from now on."""
        if rank != self.rank:
            self.rank = rank
            for cache in (self._values, self._steps, self._terms):
                cache.clear()

    def trim(self) -> None:
        """Drop caches that have grown large."""
        if len(self._numbers) > MAX_ANSWERS_CACHED or len(self._terms) > MAX_ANSWERS_CACHED:
            for cache in (self._numbers, self._values, self._steps, self._terms):
                cache.clear()

    def rank_of(self, term: int, *, is_step: bool) -> Rank | None:
        """The rank that a term needs; None for a term that takes no part."""
        number = self._number(term)
        if number is None or not self._takes_part(number.value, is_step=is_step):
            return None
        return Rank.DOUBLE if number.rank == Rank.FLOAT else number.rank

    def key(self, term: int) -> Real | None:
        """The key of a value, None if it takes no part. Precondition: ``rank`` is at least the term's."""
        if term not in self._values:
            self._values[term] = self._promoted(term, is_step=False, turns=self._is_max)
        return self._values[term]

    def step(self, term: int) -> Real | None:
        """What a step adds to a key; otherwise as ``key``."""
        if term not in self._steps:
            self._steps[term] = self._promoted(term, is_step=True, turns=self._turns_step)
        return self._steps[term]

    def within_rank(self, term: int, *, is_step: bool) -> bool:
        """Whether a term takes part, and needs no higher rank."""
        rank = self.rank_of(term, is_step=is_step)
        return rank is not None and rank <= self.rank

    def sum(self, value: int, step: int) -> Real | None:
        """The key of the sum of two terms; None if one takes no part or needs a higher rank."""
        if not (self.within_rank(value, is_step=False) and self.within_rank(step, is_step=True)):
            return None
        key, further = self.key(value), self.step(step)
        return None if key is None or further is None else add(key, further)

    def term(self, key: Real) -> int:
        """The id of the canonical literal of a key's number. A computed zero has no sign."""
        found = self._terms.get(key)
        if found is None:
            value = negate(key) if self._is_max else key
            value = value + 0.0 if isinstance(value, float) else value
            text = constant_text(literal_of(Number(self.rank, value)))
            found = self._terms[key] = self._dictionary.encode(text)
        return found

    def _number(self, term: int) -> Number | None:
        if term not in self._numbers:
            lexical, _, datatype = self._dictionary.decode(term).rpartition('"^^<')
            self._numbers[term] = number_of(lexical[1:], datatype[:-1])  # no number needs an escape
        return self._numbers[term]

    def _takes_part(self, value: Real, *, is_step: bool) -> bool:
        if not isinstance(value, float) or math.isfinite(value):
            return True
        return not is_step and not math.isnan(value) and (value < 0) != self._is_max

    def _promoted(self, term: int, *, is_step: bool, turns: bool) -> Real | None:
        if self.rank_of(term, is_step=is_step) is None:
            return None
        number = self._number(term)
        assert number is not None
        value = promote(number, self.rank)
        if isinstance(value, float) and not self._takes_part(value, is_step=is_step):
            return None  # an exact number out of a double's range
        return negate(value) if turns else value


def scaled(keys: Iterable[Real], digits: int) -> list[int]:
    """Integers, or decimals with at most ``digits`` fractional digits, as multiples of 10 ** -digits."""
    return [
        key * 10**digits if isinstance(key, int) else int(EXACT.scaleb(Decimal(key), digits)) for key in keys
    ]


def fractional_digits(keys: Iterable[Real]) -> int:
    """The most fractional digits of decimals."""
    exponents = (key.as_tuple().exponent for key in keys if isinstance(key, Decimal))
    return max((-e for e in exponents if isinstance(e, int)), default=0)
