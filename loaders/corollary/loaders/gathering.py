"""Rows of term ids on their way into sorted relations.

Rows come in by the million; what is kept of them is a key a fact, in the part of its graph and predicate.

Invariant: what has been gathered takes eight bytes a row, and a block of rows waiting to be parted.
"""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import numpy as np

from corollary.columns.pairs import Pairs, pack
from corollary.columns.triples import grouped
from corollary.kernels.sorted import Keys
from corollary.loaders.files import THREADS
from corollary.terms.dictionary import Ids

ROWS_A_BLOCK = 1 << 20
"""So many rows are parted at once."""

FACTS_A_TASK = 1 << 14
"""Fewer facts are sorted before a thread is at it."""

_NO_GRAPH = 0


class Gathering:
    """Facts of graphs and predicates, in parts that are sorted at the end."""

    def __init__(self) -> None:
        self._parts: dict[tuple[int, int], list[Keys]] = {}
        self._block: list[Ids] = []
        self._waiting = 0

    def add(self, rows: Ids) -> None:
        """Take in rows: subject, predicate, object, and maybe graph. All have as many columns."""
        self._block.append(rows)
        self._waiting += len(rows)
        if self._waiting >= ROWS_A_BLOCK:
            self._part()

    def facts(self) -> dict[tuple[int, int], Pairs]:
        """The facts by graph (0 if rows have none) and predicate. They are handed over: nothing stays."""
        self._part()
        parts, self._parts = self._parts, {}
        names = list(parts)

        def sorted_part(name: tuple[int, int]) -> Pairs:
            keys = parts.pop(name)
            return Pairs.of(np.concatenate(keys) if len(keys) > 1 else keys[0])

        with ThreadPoolExecutor(THREADS) as pool:
            sizes = {name: sum(keys.size for keys in parts[name]) for name in names}
            large = {name: pool.submit(sorted_part, name) for name in names if sizes[name] > FACTS_A_TASK}
            return {name: large[name].result() if name in large else sorted_part(name) for name in names}

    def _part(self) -> None:
        """Move the rows of the block to the facts of their graphs and predicates."""
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
