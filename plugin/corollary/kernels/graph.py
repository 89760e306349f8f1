"""Kernels over directed graphs: strongly connected components and reachability.

A graph with the nodes 0..n-1 is given as compressed sparse rows: ``offsets`` (n + 1 entries) and ``targets``.
The successors of node v are ``targets[offsets[v]:offsets[v + 1]]``.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from corollary.kernels.compiled import Flag, kernel, part

Nodes = NDArray[np.int64]
Bits = NDArray[np.uint8]
Keys = NDArray[np.uint64]
Words = NDArray[np.uint64]

ONES: Nodes = np.array([byte.bit_count() for byte in range(256)], np.int64)
"""The number of set bits of each byte."""

PLACES: Nodes = np.array(
    [
        place
        for byte in range(256)
        for place in sorted(range(8), key=lambda place: (not byte >> place & 1, place))
    ],
    np.int64,
)
"""Eight bit positions for each byte: first those of the set bits, ascending, then the others."""


@kernel
def strong_components(offsets: Nodes, targets: Nodes, component: Nodes) -> int:
    """Tarjan's algorithm (1972) without recursion. Fills ``component`` (n). Returns the number of components.

    Components are numbered in reverse topological order: no edge leads to a higher number. O(nodes + edges).
    """
    n = offsets.size - 1
    order = np.full(n, -1, np.int64)  # discovery order of the node
    low = np.zeros(n, np.int64)
    following = offsets[:n].copy()  # the next edge to follow
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
                pending_size = _take_component(node, components, pending, pending_size, component)
                components += 1
    return components


@part
def _take_component(node: int, number: int, pending: Nodes, size: int, component: Nodes) -> int:
    """Pop the nodes down to ``node`` off the stack ``pending``: they are one component.

    Returns the new size of the stack.
    """
    while True:
        size -= 1
        component[pending[size]] = number
        if pending[size] == node:
            return size


@kernel
def reachable(
    stop: Flag, offsets: Nodes, targets: Nodes, cyclic: NDArray[np.bool_], closed: Nodes, reached: Nodes
) -> int:
    """The transitive closure of a graph of components, as successor lists merged bottom up.

    Precondition: every edge leads to a lower or equal number, as the components of ``strong_components`` do.
    Node v reaches itself iff ``cyclic[v]``. Fills ``closed`` (n + 1) with offsets into ``reached``.
    Returns the size needed. If ``reached`` is shorter, the result is incomplete and the returned size is a
    lower bound: the caller calls again with more room.
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
        for edge in range(offsets[node + 1] - 1, offsets[node] - 1, -1):  # nearest numbers first
            successor = targets[edge]
            if stamp[successor] == node:
                continue
            stamp[successor] = node
            if at < reached.size:
                reached[at] = successor
            at += 1
            if closed[successor + 1] > reached.size:
                continue  # its list is incomplete: from here on, the count is a lower bound
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
    """Write the closure of components as packed pairs of node ids: (node, member of a reached component).

    Node i has the component ``component[i]`` and the id ``ids[i]``. ``closed`` and ``reached`` are as in
    ``reachable``, ``member_offsets`` and ``members`` as in ``reachable_bits``. Pairs are in the order of the
    nodes. Returns the number of pairs. If ``keys`` is shorter, pairs without room are counted, not written.
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
    """The nodes that each source reaches over at least one edge, by one depth-first search per source.

    Fills ``closed`` (sources + 1) with offsets into ``reached``. Returns the number of sources completed
    before ``reached`` was full.
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
    """The starts and all nodes that they reach, by breadth-first search over packed edges.

    The edges are the union of two sets. Each set is sorted keys, sorted added keys and sorted removed keys:
    (keys - removed) + added. ``table`` is a hash set of the nodes met.
    Precondition: ``table`` is all zero, and its length is a power of two greater than that of ``met``.
    Fills ``met``, in the order of the search. Returns the number of nodes, or -1 if ``met`` is too short.
    """
    shift = np.uint64(32)
    low_half = np.uint64(0xFFFFFFFF)
    mask = np.uint64(table.size - 1)
    count = 0
    at = -1  # the first round enters the starts
    while at < count:
        for side in range(4 if at >= 0 else 1):
            run = starts
            begin = 0
            if at >= 0:
                run = keys if side == 0 else added if side == 1 else others if side == 2 else others_added
                begin = np.searchsorted(run, met[at] << shift)
            deleted = removed if side == 0 else others_removed
            for position in range(begin, run.size):
                key = run[position]
                if at >= 0:
                    if key >> shift != met[at]:
                        break
                    if (side == 0 or side == 2) and deleted.size > 0:
                        place = np.searchsorted(deleted, key)
                        if place < deleted.size and deleted[place] == key:
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


@part
def _root(parents: Nodes, node: int) -> int:
    """The root of a node's tree in a forest, which becomes flatter."""
    while parents[node] != node:
        parents[node] = parents[parents[node]]
        node = parents[node]
    return node


@part
def _unite(parents: Nodes, node: int, other: int, counts: Nodes) -> int:
    """Make one tree of two, whose root has the count of both. Returns the root."""
    root = _root(parents, node)
    below = _root(parents, other)
    if below != root:
        parents[below] = root
        counts[root] += counts[below]
    return root


@part
def _place(table: Nodes, met: Keys, node: np.uint64) -> np.int64:
    """The place of a node in a hash table of nodes met (their numbers, plus 1), or where it is to be."""
    mask = np.uint64(table.size - 1)
    slot = np.int64((node * np.uint64(0x9E3779B1) >> np.uint64(12)) & mask)
    while table[slot] != 0 and met[table[slot] - 1] != node:
        slot = (slot + 1) & (table.size - 1)
    return slot


@part
def _list_ends(keys: Keys, added: Keys, removed: Keys, node: np.uint64, ends: Keys, count: int) -> int:
    """Append the ends of the edges from a node to ``count`` ends. The edges are (keys - removed) + added.

    Returns their number. If it is more than ``ends.size``, some are missing.
    """
    shift = np.uint64(32)
    for run in (keys, added):
        for position in range(np.searchsorted(run, node << shift), run.size):
            key = run[position]
            if key >> shift != node or count > ends.size:
                break
            place = np.searchsorted(removed, key)
            if place == removed.size or removed[place] != key:  # no added key is removed
                if count < ends.size:
                    ends[count] = key & np.uint64(0xFFFFFFFF)
                count += 1
    return count


@part
def _begin(
    table: Nodes, met: Keys, heads: Nodes, ones: Nodes, twos: Nodes, group: Nodes, active: Nodes
) -> None:
    """Enter the starts of all searches, and unite those of pairs to groups."""
    for start in range(heads.size):
        heads[start] = start
        table[_place(table, met, met[start])] = start + 1
    for pair in range(ones.size):
        _unite(group, ones[pair], twos[pair], active)


@part
def _append(heads: Nodes, tails: Nodes, following: Nodes, own: int, first: int, last: int) -> None:
    """Append a linked list to the queue of a search."""
    if heads[own] < 0:
        heads[own] = first
    else:
        following[tails[own]] = first
    tails[own] = last


@part
def _join(
    own: int, other: int, search: Nodes, group: Nodes, active: Nodes,
    heads: Nodes, tails: Nodes, following: Nodes,
) -> None:  # fmt: skip
    """Let one search go on as another one that it has met."""
    search[other] = own
    active[_unite(group, own, other, active)] -= 1
    _append(heads, tails, following, own, heads[other], tails[other])


@kernel
def split(
    keys: Keys, added: Keys, removed: Keys,
    others: Keys, others_added: Keys, others_removed: Keys,
    ones: Nodes, twos: Nodes, heads: Nodes, table: Nodes, met: Keys, label: Nodes,
) -> int:  # fmt: skip
    """Whether undirected edges join pairs of nodes, by searches from all these nodes in turns.

    The edges are as for ``meet``, and the same inverted. ``met`` begins with the nodes of the pairs, as many
    as ``heads``: pair i is ``ones[i]`` and ``twos[i]``. Searches that meet become one. Those whose starts are
    pairs, and so on, are a group; its last one does not go on. Precondition: ``table`` as for ``meet``.
    Fills ``met``, and ``label`` with the search of each: the same for both of a pair that is joined.
    ``heads`` is -1 for a search that has ended. Returns how many are met; -1 if ``met`` is too short.
    """
    count = heads.size
    search, group, tails = np.arange(count), np.arange(count), np.arange(count)
    active = np.ones(count, np.int64)  # searches of a group that have not ended
    near, following = np.empty(met.size, np.uint64), np.full(met.size, -1, np.int64)
    label[:count] = search
    _begin(table, met, heads, ones, twos, group, active)
    paused = 0
    while paused < heads.size:
        paused = 0
        for own in range(heads.size):
            if search[own] != own or heads[own] < 0 or active[_root(group, own)] < 2:
                paused += 1
                continue
            at = heads[own]
            heads[own] = following[at]
            following[at] = -1
            size = _list_ends(keys, added, removed, met[at], near, 0)
            size = _list_ends(others, others_added, others_removed, met[at], near, size)
            if count + size > met.size:
                return -1
            for node in near[:size]:
                slot = _place(table, met, node)
                if table[slot] != 0:
                    other = _root(search, label[table[slot] - 1])
                    if other != own:
                        _join(own, other, search, group, active, heads, tails, following)
                    continue
                met[count], label[count] = node, own
                _append(heads, tails, following, own, count, count)
                count += 1
                table[slot] = count
            if heads[own] < 0:
                active[_root(group, own)] -= 1
    for place in range(count):
        label[place] = _root(search, label[place])
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
    """As ``reachable``, with bit rows: row v has a bit for every member of every component that v reaches.

    ``rows`` has one row per component, end to end, all zero. A row covers the members from number ``first``
    on, as far as its width goes: bit i % 8 of byte i // 8 is member first + i. Component v has the members
    ``members[member_offsets[v]:member_offsets[v + 1]]``.
    """
    n = offsets.size - 1
    width = rows.size // n if n > 0 else 0
    for node in range(n):
        if stop[0]:
            break
        row = rows[node * width : node * width + width]
        for edge in range(offsets[node + 1] - 1, offsets[node] - 1, -1):  # nearest numbers first
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
def write_bits(rows: Bits, row_of: Nodes, firsts: Keys, seconds: Keys, keys: Keys) -> int:
    """Bit rows as packed pairs: for every i, ``firsts[i]`` with ``seconds[j]`` for each set bit j.
    The row of i is ``row_of[i]``. Rows are as in ``reachable_bits``, with one bit for each of ``seconds``,
    padded to 64-bit words.
    Precondition: ``keys`` has room for the pairs. Fills ``keys``. Returns the number of pairs written.
    """
    width = ((seconds.size + 63) >> 6) << 3
    shift = np.uint64(32)
    at = 0
    for i in range(firsts.size):
        first = firsts[i] << shift
        row = row_of[i] * width
        for position in range(width):
            byte = np.int64(rows[row + position])
            for k in range(ONES[byte]):
                keys[at] = first | seconds[8 * position + PLACES[8 * byte + k]]
                at += 1
    return at


@kernel
def words_beyond(
    stop: Flag,
    rows: Words,
    row_of: Nodes,
    others: Words,
    other_of: Nodes,
    width: int,
    places: Nodes,
    words: Words,
) -> int:
    """The bits of rows that other rows do not have, as words that are not 0, in order.

    Bit rows are as in ``reachable_bits``, as ``width`` words each. Number i compares the row ``row_of[i]``
    with the other row ``other_of[i]``. Fills ``places`` with i * ``width`` + the place in the row, and
    ``words``.
    Returns the number of words. If ``words`` is shorter, words without room are counted, not written.
    """
    count = 0
    for i in range(row_of.size):
        if stop[0]:
            break
        row = row_of[i] * width
        other = other_of[i] * width
        for place in range(width):
            word = rows[row + place] & ~others[other + place]
            if word != 0:
                if count < words.size:
                    places[count] = i * width + place
                    words[count] = word
                count += 1
    return count
