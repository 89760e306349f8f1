"""Closures and components of small graphs, by breadth-first search over dictionaries."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping

Pair = tuple[str, str]


def pairs(content: bytes, predicate: str) -> list[Pair]:
    """Subject and object of the lines with a predicate, given by the end of its IRI."""
    lines = (line.split() for line in content.decode().splitlines())
    return [(words[0], words[2]) for words in lines if words[1].endswith(f"{predicate}>")]


def reachable(edges: Iterable[Pair]) -> dict[str, set[str]]:
    """For each source of an edge, the ends of all paths of one edge or more."""
    after: defaultdict[str, list[str]] = defaultdict(list)
    for source, target in edges:
        after[source].append(target)
    found = {}
    for source in list(after):
        seen: set[str] = set()
        waiting = [source]
        while waiting:
            fresh = set(after.get(waiting.pop(), ())) - seen
            seen |= fresh
            waiting += fresh
        found[source] = seen
    return found


def size(reached: Mapping[str, set[str]]) -> int:
    """The number of pairs in a closure."""
    return sum(map(len, reached.values()))


def cycles(reached: Mapping[str, set[str]]) -> list[int]:
    """Sizes of the strongly connected components with a cycle, in descending order."""
    components = {
        frozenset(other for other in ends if node in reached.get(other, ()))
        for node, ends in reached.items()
        if node in ends
    }
    return sorted(map(len, components), reverse=True)


def groups(edges: Iterable[Pair]) -> list[int]:
    """Sizes of the connected components in descending order, edges read in both directions."""
    both = [(end, other) for one, another in edges for end, other in ((one, another), (another, one))]
    return cycles(reachable(both))
