"""Loops over directed graphs in compressed rows: strongly connected components and reachability.

A graph of n nodes 0..n-1 is ``offsets`` (n + 1) and ``targets``: the successors of node v are
``targets[offsets[v]:offsets[v + 1]]``.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from corollary.kernels.compiled import Flag, kernel

Nodes = NDArray[np.int64]
Bits = NDArray[np.uint8]
Keys = NDArray[np.uint64]

ONES: Nodes = np.array([byte.bit_count() for byte in range(256)], np.int64)
"""How many bits of a byte are set."""

PLACES: Nodes = np.array(
    [
        place
        for byte in range(256)
        for place in sorted(range(8), key=lambda place: (not byte >> place & 1, place))
    ],
    np.int64,
)
"""Eight numbers a byte: first the places of the bits that are set, ascending."""


@kernel
def strong_components(offsets: Nodes, targets: Nodes, component: Nodes) -> int:
    """Tarjan's algorithm (1972) without recursion. Fills ``component`` (n), returns their number.

    Components are numbered in reverse topological order: an edge leads to the same or a lower number.
    """
    n = offsets.size - 1
    order = np.full(n, -1, np.int64)  # when a node was first met
    low = np.zeros(n, np.int64)
    following = offsets[:n].copy()  # the next edge to look at
    path = np.zeros(n, np.int64)
    pending = np.zeros(n, np.int64)
    path_size = 0
    pending_size = 0
    met = 0
    components = 0
    component[:] = -1
    for root in range(n):
        if order[root] >= 0:
            continue
        path[0] = root
        path_size = 1
        order[root] = met
        low[root] = met
        met += 1
        pending[pending_size] = root
        pending_size += 1
        while path_size > 0:
            node = path[path_size - 1]
            if following[node] < offsets[node + 1]:
                successor = targets[following[node]]
                following[node] += 1
                if order[successor] < 0:
                    order[successor] = met
                    low[successor] = met
                    met += 1
                    pending[pending_size] = successor
                    pending_size += 1
                    path[path_size] = successor
                    path_size += 1
                elif component[successor] < 0 and order[successor] < low[node]:
                    low[node] = order[successor]
                continue
            path_size -= 1
            if path_size > 0 and low[node] < low[path[path_size - 1]]:
                low[path[path_size - 1]] = low[node]
            if low[node] == order[node]:
                while True:
                    pending_size -= 1
                    member = pending[pending_size]
                    component[member] = components
                    if member == node:
                        break
                components += 1
    return components


@kernel
def reachable(
    stop: Flag, offsets: Nodes, targets: Nodes, cyclic: NDArray[np.bool_], closed: Nodes, reached: Nodes
) -> int:
    """Successor lists of a graph whose edges all lead to lower or equal numbers, merged bottom up.

    Such are the components of any graph in Tarjan's order. Node v reaches itself iff ``cyclic[v]``.
    Fills ``closed`` (n + 1) with offsets into ``reached``. Returns the size needed; if ``reached`` is
    shorter than that nothing past its end was written, and the caller asks again with more room.
    """
    n = offsets.size - 1
    stamp = np.full(n, -1, np.int64)
    at = 0
    closed[0] = 0
    for node in range(n):
        if stop[0]:
            break
        if cyclic[node]:
            stamp[node] = node
            if at < reached.size:
                reached[at] = node
            at += 1
        for edge in range(offsets[node + 1] - 1, offsets[node] - 1, -1):  # near ones first
            successor = targets[edge]
            if stamp[successor] == node:
                continue
            stamp[successor] = node
            if at < reached.size:
                reached[at] = successor
            at += 1
            if closed[successor + 1] > reached.size:
                continue  # its list is not there: only the count matters now, and it is a lower bound
            for position in range(closed[successor], closed[successor + 1]):
                further = reached[position]
                if stamp[further] != node:
                    stamp[further] = node
                    if at < reached.size:
                        reached[at] = further
                    at += 1
        closed[node + 1] = at
    return at


@kernel
def write_lists(
    closed: Nodes,
    reached: Nodes,
    component: Nodes,
    member_offsets: Nodes,
    members: Nodes,
    ids: Keys,
    keys: Keys,
) -> int:
    """The successor lists of components as packed pairs: every node with each member of what it reaches.

    Node i is of ``component[i]`` and called ``ids[i]``; lists are as in ``reachable``, members as in
    ``reachable_bits``. Pairs come node by node. Returns how many there are; past the end of ``keys`` nothing
    is written.
    """
    shift = np.uint64(32)
    at = 0
    for node in range(component.size):
        first = ids[node] << shift
        for position in range(closed[component[node]], closed[component[node] + 1]):
            start = member_offsets[reached[position]]
            end = member_offsets[reached[position] + 1]
            if at + end - start <= keys.size:
                for place in range(start, end):
                    keys[at + place - start] = first | ids[members[place]]
            at += end - start
    return at


@kernel
def walk(stop: Flag, offsets: Nodes, targets: Nodes, sources: Nodes, closed: Nodes, reached: Nodes) -> int:
    """What every source reaches over one edge or more, source by source, by depth-first search.

    Fills ``closed`` (sources + 1) with offsets into ``reached``. Returns how many sources were done when the
    room in ``reached`` was used up: all of them if it was enough.
    """
    stamp = np.full(offsets.size - 1, -1, np.int64)
    path = np.zeros(offsets.size, np.int64)
    at = 0
    closed[0] = 0
    for number in range(sources.size):
        if stop[0]:
            break
        path[0] = sources[number]
        depth = 1
        while depth > 0:
            depth -= 1
            node = path[depth]
            for edge in range(offsets[node], offsets[node + 1]):
                successor = targets[edge]
                if stamp[successor] != number:
                    if at == reached.size:
                        return number
                    stamp[successor] = number
                    path[depth] = successor
                    depth += 1
                    reached[at] = successor
                    at += 1
        closed[number + 1] = at
    return sources.size


@kernel
def meet(
    keys: Keys, added: Keys, removed: Keys,
    others: Keys, others_added: Keys, others_removed: Keys,
    starts: Keys, table: Keys, met: Keys,
) -> int:  # fmt: skip
    """The starts and what they reach over edges, packed pairs, by breadth-first search.

    There are two sets of edges, each given as sorted keys, others (sorted) that are added, and keys that are
    removed. Fills ``met`` and returns how many nodes it has, or -1 if there was no room for more. ``table``
    is to work in: a power of two of zeros, more than ``met`` has room for.
    """
    shift = np.uint64(32)
    low_half = np.uint64(0xFFFFFFFF)
    mask = np.uint64(table.size - 1)
    count = 0
    at = -1  # before the first node come the starts
    while at < count:
        for side in range(4 if at >= 0 else 1):
            run = starts
            begin = 0
            if at >= 0:
                run = keys if side == 0 else added if side == 1 else others if side == 2 else others_added
                begin = np.searchsorted(run, met[at] << shift)
            gone = removed if side == 0 else others_removed
            for position in range(begin, run.size):
                key = run[position]
                if at >= 0:
                    if key >> shift != met[at]:
                        break
                    if (side == 0 or side == 2) and gone.size > 0:
                        place = np.searchsorted(gone, key)
                        if place < gone.size and gone[place] == key:
                            continue
                node = key & low_half
                slot = (node * np.uint64(0x9E3779B1) >> np.uint64(12)) & mask
                while table[slot] != 0 and table[slot] != node + np.uint64(1):
                    slot = (slot + np.uint64(1)) & mask
                if table[slot] == 0:
                    if count == met.size:
                        return -1
                    table[slot] = node + np.uint64(1)
                    met[count] = node
                    count += 1
        at += 1
    return count


@kernel
def reachable_bits(
    stop: Flag,
    offsets: Nodes,
    targets: Nodes,
    cyclic: NDArray[np.bool_],
    member_offsets: Nodes,
    members: Nodes,
    first: int,
    rows: Bits,
) -> None:
    """As ``reachable``, in bits: row v has a bit for every member of every component that v reaches.

    ``rows`` are as many as components, one after the other, zero at first. They have room for some of the
    members, from number ``first`` on: bit i of a row, for member first + i, is bit i % 8 of its byte i // 8.
    Component v has the members ``members[member_offsets[v]:member_offsets[v + 1]]``.
    """
    n = offsets.size - 1
    width = rows.size // n if n > 0 else 0
    for node in range(n):
        if stop[0]:
            break
        row = rows[node * width : node * width + width]
        for edge in range(offsets[node + 1] - 1, offsets[node] - 1, -1):  # near ones first
            successor = targets[edge]
            member = members[member_offsets[successor]] - first
            is_here = 0 <= member < 8 * width
            if is_here and row[member >> 3] & np.uint8(1 << (member & 7)):
                continue
            below = rows[successor * width : successor * width + width]
            for byte in range(width):
                row[byte] |= below[byte]
            if is_here:
                row[member >> 3] |= np.uint8(1 << (member & 7))
        if cyclic[node]:
            for position in range(member_offsets[node], member_offsets[node + 1]):
                member = members[position] - first
                if 0 <= member < 8 * width:
                    row[member >> 3] |= np.uint8(1 << (member & 7))


@kernel
def write_bits(rows: Bits, row_of: Nodes, firsts: Keys, seconds: Keys, known: Keys, keys: Keys) -> int:
    """Rows of bits as packed pairs: for every i, ``firsts[i]`` with each ``seconds[j]`` of row ``row_of[i]``.

    Rows are as in ``reachable_bits``, with a bit for each of ``seconds``, padded to words of 64 bits. Pairs
    that are ``known`` are left out; these come in the same order, and all of them come. Fills ``keys``, which
    has room, and returns how many pairs there were.
    """
    width = ((seconds.size + 63) >> 6) << 3
    shift = np.uint64(32)
    at = 0
    skipped = 0
    for i in range(firsts.size):
        first = firsts[i] << shift
        row = row_of[i] * width
        for position in range(width):
            byte = np.int64(rows[row + position])
            for k in range(ONES[byte]):
                key = first | seconds[8 * position + PLACES[8 * byte + k]]
                if skipped < known.size and known[skipped] == key:
                    skipped += 1
                else:
                    keys[at] = key
                    at += 1
    return at
