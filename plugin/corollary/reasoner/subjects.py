"""All facts of one moment by subject: what "everything about x" reads, at one binary search a question.

The index keeps a relation a predicate, so a subject has to be looked up in each of its relations. That
is right for a store that changes between questions; these arrays are for one that is asked many in a
row. They are made in one sort, for one moment, and never changed.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator
from itertools import repeat

import numpy as np

from corollary.columns.pairs import LOW_HALF, NO_KEYS, distinct_of_sorted, firsts, seconds, sort_keys
from corollary.columns.triples import TripleIndex

FACTS_SORTED_PER_LOOK_UP = 256
"""How many facts are sorted by subject in the time of one look-up in the index."""


class BySubject:
    """Predicates and objects in the order of their subjects."""

    def __init__(self, index: TripleIndex) -> None:
        relations = list(index.relations())
        keys = np.concatenate([NO_KEYS, *(relation.pairs().keys for _, relation in relations)])
        predicates = np.array([predicate for predicate, _ in relations], np.uint32)
        by_subject = keys & ~LOW_HALF
        by_subject |= np.arange(keys.size, dtype=np.uint64)  # where the rest of the fact stands
        by_subject = sort_keys(by_subject)
        order, subjects = seconds(by_subject), firsts(by_subject)
        distinct = distinct_of_sorted(subjects)
        self._subjects = distinct.data
        self._starts = np.append(np.searchsorted(subjects, distinct), keys.size).data
        self._predicates = np.repeat(predicates, [len(relation) for _, relation in relations])[order].data
        self._objects = seconds(keys)[order].data

    def facts_of(self, subject: int) -> Iterator[tuple[int, int, int]]:
        """The facts of a subject."""
        place = bisect_left(self._subjects, subject)
        if place == len(self._subjects) or self._subjects[place] != subject:
            return iter(())
        facts = slice(self._starts[place], self._starts[place + 1])
        return zip(repeat(subject), self._predicates[facts].tolist(), self._objects[facts].tolist())
