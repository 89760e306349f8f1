"""What every kernel computes, in a few lines of plain Python over lists and sets.

A twin takes what its kernel takes, as lists of integers, and returns what the kernel fills in. The
kernels' doc strings hold for both; nothing is shared with them.
"""

from __future__ import annotations

from collections.abc import Sequence

HALF = 2**32


def locate(keys: Sequence[int], probes: Sequence[int]) -> tuple[list[int], list[int]]:
    """Starts and counts."""
    starts = [sum(key // HALF < probe for key in keys) for probe in probes]
    counts = [sum(key // HALF == probe for key in keys) for probe in probes]
    return starts, counts


def expand(keys: Sequence[int], starts: Sequence[int], counts: Sequence[int]) -> list[tuple[int, int]]:
    """Rows and values, side by side."""
    return [
        (row, key % HALF)
        for row, (start, count) in enumerate(zip(starts, counts, strict=True))
        for key in keys[start : start + count]
    ]


def intersect(
    left: Sequence[int],
    left_starts: Sequence[int],
    left_counts: Sequence[int],
    right: Sequence[int],
    right_starts: Sequence[int],
    right_counts: Sequence[int],
) -> list[tuple[int, int]]:
    """Rows and values, side by side, sorted."""
    found = set(expand(left, left_starts, left_counts))
    return sorted(found & {*expand(right, right_starts, right_counts)})


def follow(
    pairs: Sequence[int], further: Sequence[int], starts: Sequence[int], counts: Sequence[int]
) -> list[int]:
    """Pairs (y, z), packed."""
    return [pairs[row] % HALF * HALF + second for row, second in expand(further, starts, counts)]


def contains(
    base: Sequence[int], added: Sequence[int], removed: Sequence[int], probes: Sequence[int]
) -> list[bool]:
    return [(probe in base and probe not in removed) or probe in added for probe in probes]


def union(left: Sequence[int], right: Sequence[int]) -> list[int]:
    return sorted({*left, *right})


def difference(left: Sequence[int], right: Sequence[int]) -> list[int]:
    return [key for key in left if key not in right]


def sort_by_digits(keys: Sequence[int], shifts: Sequence[int]) -> list[int]:
    """Digits of four bits."""
    return sorted(keys, key=lambda key: [key >> shift & 15 for shift in reversed(shifts)])


def closure(edges: set[tuple[int, int]]) -> set[tuple[int, int]]:
    """All (u, v) such that a path of at least one edge leads from u to v."""
    closed = set(edges)
    while True:
        longer = {(u, w) for u, v in closed for x, w in edges if v == x} - closed
        if not longer:
            return closed
        closed |= longer


def strong_components(nodes: int, edges: set[tuple[int, int]]) -> set[frozenset[int]]:
    """The sets of nodes that reach each other."""
    closed = closure(edges)
    return {frozenset(v for v in range(nodes) if v == u or {(u, v), (v, u)} <= closed) for u in range(nodes)}


def reachable(nodes: int, edges: set[tuple[int, int]], cyclic: Sequence[bool]) -> list[set[int]]:
    """What every node reaches; nodes marked as cyclic reach themselves."""
    closed = closure(edges | {(v, v) for v in range(nodes) if cyclic[v]})
    return [{v for u, v in closed if u == node} for node in range(nodes)]


def walk(edges: set[tuple[int, int]], sources: Sequence[int]) -> list[set[int]]:
    """What every source reaches."""
    closed = closure(edges)
    return [{v for u, v in closed if u == source} for source in sources]


def meet(edges: set[tuple[int, int]], starts: Sequence[int]) -> set[int]:
    return set(starts) | {v for u, v in closure(edges) if u in starts}


def reachable_bits(
    components: int, edges: set[tuple[int, int]], cyclic: Sequence[bool], members: Sequence[Sequence[int]]
) -> list[set[int]]:
    """The places of the bits of every row."""
    reached = reachable(components, edges, cyclic)
    return [{member for component in row for member in members[component]} for row in reached]


def write_lists(lists: Sequence[set[int]], members: Sequence[Sequence[int]], ids: Sequence[int]) -> set[int]:
    """All pairs."""
    return {
        ids[node] * HALF + ids[member]
        for component, reached in enumerate(lists)
        for node in members[component]
        for other in reached
        for member in members[other]
    }


def write_bits(
    rows: Sequence[set[int]], row_of: Sequence[int], firsts: Sequence[int], seconds: Sequence[int]
) -> list[int]:
    """All pairs."""
    return [
        first * HALF + seconds[place]
        for first, row in zip(firsts, row_of, strict=True)
        for place in sorted(rows[row])
    ]
