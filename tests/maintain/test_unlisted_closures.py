"""Changes of a closure that does not fit into memory as a list."""

from __future__ import annotations

from corollary.kernels.limits import Limits
from corollary.language import parse_program
from corollary.reasoner import Reasoner

Edge = tuple[str, str, str]

CLOSED = parse_program("PREFIX : <n:> [?x, :p, ?z] :- [?x, :p, ?y], [?y, :p, ?z] .")
EDGES = 20_000
MIDDLE = EDGES // 2


def edge(one: object, other: object) -> Edge:
    return f"<n:{one}>", "<n:p>", f"<n:{other}>"


def pairs(nodes: int) -> int:
    """The pairs in the closure of a chain."""
    return nodes * (nodes - 1) // 2


def test_edges_come_and_go() -> None:
    """Apart from a chain and within it, alone and together. A list of the closure takes 3.2 GB."""
    reasoner = Reasoner(CLOSED, limits=Limits(bytes=400_000_000))
    explicit = {edge(i, i + 1) for i in range(EDGES)}
    reasoner.add(*explicit)
    apart, middle, further = edge("a", "b"), edge(MIDDLE, MIDDLE + 1), edge("c", "d")
    changes: list[tuple[set[Edge], set[Edge]]] = [
        ({apart}, set()),
        (set(), {middle}),
        ({middle}, set()),
        (set(), {apart}),
        (set(), {middle}),
        ({middle, further}, set()),
        ({apart}, {further}),
        (set(), {apart, middle}),
    ]
    for added, removed in changes:
        reasoner.add(*added)
        reasoner.remove(*removed)
        explicit = (explicit | added) - removed
        parts = [EDGES + 1] if middle in explicit else [MIDDLE + 1, EDGES - MIDDLE]
        found = reasoner.materialise()
        assert found is not None
        assert len(found.index) == sum(map(pairs, parts)) + len(explicit & {apart, further})
