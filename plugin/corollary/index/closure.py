"""The transitive closure of a graph on arrays: components first, then merged successor lists."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from corollary.index.pairs import distinct, firsts, pack, seconds, sorted_unique
from corollary.kernels.graph import reachable, strong_components
from corollary.kernels.sorted import Keys

Nodes = NDArray[np.int64]


def close_keys(edges: Keys) -> Keys:
    """The transitive closure of a relation given as packed pairs, sorted and unique."""
    if not edges.size:
        return edges
    sources, targets = firsts(edges), seconds(edges)
    nodes = distinct(np.concatenate((sources, targets)))
    start = np.searchsorted(nodes, sources)
    end = np.searchsorted(nodes, targets)
    from_node, to_node = close_graph(nodes.size, start, end)
    paths = pack(nodes[from_node], nodes[to_node])
    paths.sort()
    return paths


def close_graph(size: int, sources: Nodes, targets: Nodes) -> tuple[Nodes, Nodes]:
    """All (u, v) such that a path of at least one edge leads from u to v, in nodes 0..size-1.

    Every pair comes once, in no particular order.
    """
    offsets, successors = compressed(size, sources, targets)
    component = np.empty(size, np.int64)
    count = strong_components(offsets, successors, component)
    start, end = component[sources], component[targets]
    cyclic = np.zeros(count, np.bool_)
    cyclic[start[start == end]] = True
    between = start != end
    edges = sorted_unique(pack(start[between].astype(np.uint32), end[between].astype(np.uint32)))
    component_offsets, component_successors = compressed(
        count, firsts(edges).astype(np.int64), seconds(edges).astype(np.int64)
    )
    closed = np.zeros(count + 1, np.int64)
    room = 4 * (edges.size + count) + 16
    while True:
        reached = np.empty(room, np.int64)
        needed = reachable(component_offsets, component_successors, cyclic, closed, reached)
        if needed <= room:
            break
        room = 2 * max(needed, room)
    # from components back to nodes: every member of one with every member of the other
    members = np.argsort(component, kind="stable")
    member_counts = np.bincount(component, minlength=count)
    member_offsets = np.concatenate((np.zeros(1, np.int64), np.cumsum(member_counts)))
    reach_counts = np.diff(closed)
    from_component = np.repeat(np.arange(count), reach_counts)
    to_component = reached[:needed]
    if count == size:
        return members[from_component], members[to_component]
    # most components are single nodes; the pairs of others are written out
    single = member_counts == 1
    alone = single[from_component]
    alone &= single[to_component]
    several = ~alone
    from_rows, from_node = _members(members, member_offsets, member_counts, from_component[several])
    to_rows, to_node = _members(members, member_offsets, member_counts, to_component[several][from_rows])
    first = members[member_offsets[:-1]]
    return (
        np.concatenate((first[from_component[alone]], from_node[to_rows])),
        np.concatenate((first[to_component[alone]], to_node)),
    )


def compressed(size: int, sources: Nodes, targets: Nodes) -> tuple[Nodes, Nodes]:
    """Edges as compressed rows: offsets (size + 1) and targets."""
    order = np.argsort(sources, kind="stable")
    offsets = np.zeros(size + 1, np.int64)
    np.cumsum(np.bincount(sources, minlength=size), out=offsets[1:])
    return offsets, targets[order]


def _members(members: Nodes, offsets: Nodes, counts: Nodes, groups: Nodes) -> tuple[Nodes, Nodes]:
    """For every group in a column all its members: (row, member)."""
    sizes = counts[groups]
    rows = np.repeat(np.arange(groups.size), sizes)
    within = np.arange(rows.size) - np.repeat(np.cumsum(sizes) - sizes, sizes)
    return rows, members[offsets[groups][rows] + within]
