"""The facts of one state sorted by subject: the pattern (s, ?, ?) costs one binary search.

The triple index has one relation for each predicate, so a subject is probed in several relations. The index
is right for a store that changes between look-ups. ``BySubject`` is for many look-ups in one state: it is
built by one sort, and immutable.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator
from itertools import repeat

import numpy as np

from corollary.columns import TripleIndex
from corollary.columns.key_sort import sort_keys
from corollary.columns.pairs import LOW_HALF, NO_KEYS, distinct_of_sorted, firsts, seconds


class BySubject:
    """The facts of an index as columns, sorted by subject. Cost: one sort of all facts."""

    def __init__(self, index: TripleIndex) -> None:
        relations = list(index.relations())
        keys = np.concatenate([NO_KEYS, *(relation.pairs().keys for _, relation in relations)])
        predicates = np.array([predicate for predicate, _ in relations], np.uint32)
        by_subject = keys & ~LOW_HALF
        by_subject |= np.arange(keys.size, dtype=np.uint64)  # the row of the fact
        by_subject = sort_keys(by_subject)
        order, subjects = seconds(by_subject), firsts(by_subject)
        distinct = distinct_of_sorted(subjects)
        self._subjects = distinct.data
        self._starts = np.append(np.searchsorted(subjects, distinct), keys.size).data
        self._predicates = np.repeat(predicates, [len(relation) for _, relation in relations])[order].data
        self._objects = seconds(keys)[order].data

    def facts_of(self, subject: int) -> Iterator[tuple[int, int, int]]:
        """The facts of a subject. Cost: O(log subjects), and the result."""
        place = bisect_left(self._subjects, subject)
        if place == len(self._subjects) or self._subjects[place] != subject:
            return iter(())
        facts = slice(self._starts[place], self._starts[place + 1])
        return zip(repeat(subject), self._predicates[facts].tolist(), self._objects[facts].tolist())
