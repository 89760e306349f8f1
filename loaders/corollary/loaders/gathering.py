"""Partitioning rows of term ids by graph and predicate, and sorting them into relations.

A partition holds one packed key (subject << 32 | object) per row.

Invariant: memory is 8 bytes per row, plus one block of rows that are not yet partitioned. A partition that is
being sorted takes twice that.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

import numpy as np

from corollary.columns import grouped
from corollary.columns.pairs import Pairs, pack
from corollary.kernels.memory import give_back
from corollary.kernels.sorted import Keys
from corollary.kernels.threads import spread_over_threads
from corollary.loaders.tuning import MAX_FACTS_SORTED_HERE, MIN_ROWS_GIVEN_BACK, ROWS_PER_BLOCK
from corollary.terms.dictionary import Ids

_NO_GRAPH = 0


class Gathering:
    """Partitions of facts by graph and predicate, which are sorted at the end."""

    def __init__(self) -> None:
        self._parts: dict[tuple[int, int], list[Keys]] = {}
        self._block: list[Ids] = []
        self._waiting = 0

    def add(self, rows: Ids) -> None:
        """Add rows: subject, predicate, object, optionally graph. All calls have the same columns."""
        self._block.append(rows)
        self._waiting += len(rows)
        if self._waiting >= ROWS_PER_BLOCK:
            self._part()

    def facts(self) -> dict[tuple[int, int], Pairs]:
        """The sorted facts by graph (0 if the rows have no graph) and predicate. Empties this object."""
        self._part()
        parts, self._parts = self._parts, {}
        names = list(parts)

        def sorted_part(name: tuple[int, int]) -> Pairs:
            keys = parts.pop(name)
            return Pairs.of(np.concatenate(keys) if len(keys) > 1 else keys[0])

        sizes = {name: sum(keys.size for keys in parts[name]) for name in names}
        large = [name for name in names if sizes[name] > MAX_FACTS_SORTED_HERE]
        large.sort(key=sizes.__getitem__, reverse=True)
        found = dict(
            zip(large, spread_over_threads([partial(sorted_part, name) for name in large]), strict=True)
        )
        facts = {name: found[name] if name in found else sorted_part(name) for name in names}
        if sum(sizes.values()) > MIN_ROWS_GIVEN_BACK:
            give_back()  # the parts were too small for the C library to do so itself
        return facts

    def _part(self) -> None:
        """Move the buffered rows to their partitions."""
        if not self._block:
            return
        rows = np.concatenate(self._block)
        self._block.clear()
        self._waiting = 0
        for graph, chosen in _by_graph(rows):
            for predicate, keys in grouped(chosen[:, 1].copy(), pack(chosen[:, 0], chosen[:, 2])):
                self._parts.setdefault((graph, predicate), []).append(keys)


def _by_graph(rows: Ids) -> Iterator[tuple[int, Ids]]:
    if rows.shape[1] == 3:
        yield _NO_GRAPH, rows
        return
    for graph, numbers in grouped(rows[:, 3].copy(), np.arange(len(rows), dtype=np.uint64)):
        yield graph, rows if numbers.size == len(rows) else rows[numbers]
