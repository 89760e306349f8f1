"""Every kernel over graphs does what its plain twin does, as Python and as machine code."""

from __future__ import annotations

import itertools

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray
from tests.kernels import twins
from tests.kernels.forms import Form, both_forms, form, halves, quick

from corollary.kernels import graph
from corollary.kernels.compiled import go_on


def compressed(nodes: int, edges: set[tuple[int, int]]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Offsets and targets."""
    targets = [[v for u, v in edges if u == node] for node in range(nodes)]
    ends = np.cumsum([0, *map(len, targets)], dtype=np.int64)
    return ends, np.array([v for row in targets for v in row], np.int64)


Graph = tuple[int, set[tuple[int, int]]]


@st.composite
def graphs(draw: st.DrawFn, *, downward: bool = False) -> Graph:
    """A number of nodes, and edges; if ``downward``, none leads to a higher number or to itself."""
    nodes = draw(st.integers(0, 10))
    if not nodes:
        return 0, set()
    edges = draw(st.sets(st.tuples(*[st.integers(0, nodes - 1)] * 2), max_size=25))
    if downward:
        edges = {(max(edge), min(edge)) for edge in edges if edge[0] != edge[1]}
    return nodes, edges


@both_forms
@quick
@given(graphs())
def test_strong_components(written: Form, drawn: Graph) -> None:
    nodes, edges = drawn
    component = np.full(nodes, 99, np.int64)
    count = form(graph.strong_components, written)(*compressed(nodes, edges), component)
    members = [frozenset(np.flatnonzero(component == number).tolist()) for number in range(count)]
    assert set(members) == twins.strong_components(nodes, edges)
    assert count == len(set(members)), "every number has members"
    assert all(component[v] <= component[u] for u, v in edges), "edges lead down or stay"


@both_forms
def test_a_path_longer_than_any_stack(written: Form) -> None:
    nodes = 300_000 if written == "compiled" else 3_000
    offsets = np.minimum(np.arange(nodes + 1), nodes - 1)
    component = np.empty(nodes, np.int64)
    count = form(graph.strong_components, written)(offsets, np.arange(1, nodes), component)
    assert count == nodes
    assert component.tolist() == list(range(nodes - 1, -1, -1))


@both_forms
@quick
@given(graphs(downward=True), st.data())
def test_reachable(written: Form, drawn: Graph, data: st.DataObject) -> None:
    nodes, edges = drawn
    cyclic = data.draw(st.lists(st.booleans(), min_size=nodes, max_size=nodes))
    closed = np.zeros(nodes + 1, np.int64)
    reached = np.empty(nodes * nodes, np.int64)
    arguments = *compressed(nodes, edges), np.array(cyclic, np.bool_), closed
    size = form(graph.reachable, written)(go_on(), *arguments, reached)
    lists = [reached[closed[node] : closed[node + 1]].tolist() for node in range(nodes)]
    expected = twins.reachable(nodes, edges, cyclic)
    assert list(map(set, lists)) == expected
    assert size == closed[nodes] == sum(map(len, expected)), "everything is reached once"


@both_forms
@quick
@given(graphs(downward=True), st.data())
def test_reachable_with_too_little_room(written: Form, drawn: Graph, data: st.DataObject) -> None:
    """Nothing is written past the end, and the answer says that it was too little, if it was."""
    nodes, edges = drawn
    cyclic = data.draw(st.lists(st.booleans(), min_size=nodes, max_size=nodes))
    needed = sum(map(len, twins.reachable(nodes, edges, cyclic)))
    room = data.draw(st.integers(0, needed))
    memory = np.full(needed + 1, -7)
    arguments = *compressed(nodes, edges), np.array(cyclic, np.bool_), np.zeros(nodes + 1, np.int64)
    size = form(graph.reachable, written)(go_on(), *arguments, memory[:room])
    assert (memory[room:] == -7).all()
    assert room < size <= needed if room < needed else size == needed


@both_forms
@quick
@given(st.data())
def test_write_lists(written: Form, data: st.DataObject) -> None:
    """With too little room nothing is written past the end, and the number is right all the same."""
    sizes = data.draw(st.lists(st.integers(1, 4), max_size=5))
    component = np.array(
        data.draw(st.permutations(np.repeat(np.arange(len(sizes)), sizes).tolist())), np.int64
    )
    members = [np.flatnonzero(component == number).tolist() for number in range(len(sizes))]
    some = st.sets(st.sampled_from(range(len(sizes)))) if sizes else st.nothing()
    lists = [data.draw(some) for _ in sizes]
    ids = sorted(data.draw(st.sets(halves, min_size=component.size, max_size=component.size)))
    expected = twins.write_lists(lists, members, ids)
    room = data.draw(st.one_of(st.just(len(expected)), st.integers(0, len(expected))))
    memory = np.zeros(len(expected) + 1, np.uint64)
    count_written = form(graph.write_lists, written)(
        np.cumsum([0, *map(len, lists)], dtype=np.int64),
        np.array([number for reached in lists for number in reached], np.int64),
        component,
        np.cumsum([0, *sizes], dtype=np.int64),
        np.array(list(itertools.chain(*members)), np.int64),
        np.array(ids, np.uint64),
        memory[:room],
    )
    assert count_written == len(expected)
    assert not memory[room:].any()
    if room == count_written:
        assert set(memory[:room].tolist()) == expected
        assert (np.diff(memory[:room] >> np.uint64(32)).astype(np.int64) >= 0).all(), "node by node"


@both_forms
@quick
@given(graphs(), st.data())
def test_walk(written: Form, drawn: Graph, data: st.DataObject) -> None:
    """With too little room nothing is written past the end, and the answer is how many sources were done."""
    nodes, edges = drawn
    sources = data.draw(st.lists(st.integers(0, nodes - 1), max_size=12)) if nodes else []
    expected = twins.walk(edges, sources)
    ends = np.cumsum([0, *map(len, expected)], dtype=np.int64)
    room = data.draw(st.one_of(st.just(ends[-1]), st.integers(0, ends[-1])))
    memory, closed = np.full(ends[-1] + 1, -7), np.zeros(len(sources) + 1, np.int64)
    arguments = *compressed(nodes, edges), np.array(sources, np.int64), closed
    done = form(graph.walk, written)(go_on(), *arguments, memory[:room])
    assert (memory[room:] == -7).all()
    assert done == len(sources) if room == ends[-1] else ends[done] <= room < ends[done + 1]
    assert closed[: done + 1].tolist() == ends[: done + 1].tolist()
    lists = [memory[closed[i] : closed[i + 1]].tolist() for i in range(done)]
    assert list(map(set, lists)) == expected[:done]


edge_sets = st.sets(st.tuples(halves, halves), max_size=20)


def keys_of(edges: set[tuple[int, int]]) -> NDArray[np.uint64]:
    return np.array(sorted(u * twins.HALF + v for u, v in edges), np.uint64)


@both_forms
@quick
@given(edge_sets, edge_sets, edge_sets, edge_sets, st.lists(halves, max_size=5), st.data())
def test_meet(
    written: Form,
    first: set[tuple[int, int]],
    first_added: set[tuple[int, int]],
    second: set[tuple[int, int]],
    second_added: set[tuple[int, int]],
    starts: list[int],
    data: st.DataObject,
) -> None:
    """Every node is met once; with too little room the answer is -1."""
    removed, second_removed = (
        data.draw(st.sets(st.sampled_from(sorted(edges)))) if edges else set() for edges in (first, second)
    )
    first_added, second_added = first_added - first, second_added - second
    expected = twins.meet((first - removed) | first_added | (second - second_removed) | second_added, starts)
    room = data.draw(st.one_of(st.just(len(expected)), st.integers(0, len(expected))))
    met, table = np.zeros(room, np.uint64), np.zeros(2 << room.bit_length(), np.uint64)
    forth = keys_of(first), keys_of(first_added), keys_of(removed)
    back = keys_of(second), keys_of(second_added), keys_of(second_removed)
    count = form(graph.meet, written)(*forth, *back, np.array(starts, np.uint64), table, met)
    if room < len(expected):
        assert count == -1
    else:
        assert count == len(expected)
        assert set(met.tolist()) == expected


def as_bits(rows: list[set[int]], places: int) -> NDArray[np.uint8]:
    """Rows of bits, padded to whole words."""
    bits = np.zeros((len(rows), (places + 63) // 64 * 64), np.bool_)
    for row, members in enumerate(rows):
        bits[row, sorted(members)] = True
    return np.packbits(bits, axis=1, bitorder="little").reshape(-1)


@both_forms
@quick
@given(edge_sets, edge_sets, st.lists(st.tuples(halves, halves), max_size=5), st.data())
def test_split(
    written: Form,
    edges: set[tuple[int, int]],
    added: set[tuple[int, int]],
    pairs: list[tuple[int, int]],
    data: st.DataObject,
) -> None:
    """Pairs that edges join have one search. A search that ended has met all that its start is joined to."""
    removed = data.draw(st.sets(st.sampled_from(sorted(edges)))) if edges else set()
    parts = edges, added - edges, removed
    inverses = [{(v, u) for u, v in part} for part in parts]
    both = (edges - removed) | parts[1] | (inverses[0] - inverses[2]) | inverses[1]
    starts = sorted({node for pair in pairs for node in pair})
    room = data.draw(st.sampled_from([len(starts), 1000]))
    met, label = np.zeros(room, np.uint64), np.zeros(room, np.int64)
    met[: len(starts)] = starts
    heads, table = np.zeros(len(starts), np.int64), np.zeros(2 << room.bit_length(), np.int64)
    ends = [np.array([starts.index(pair[side]) for pair in pairs], np.int64) for side in (0, 1)]
    forth = keys_of(parts[0]), keys_of(parts[1]), keys_of(parts[2])
    back = keys_of(inverses[0]), keys_of(inverses[1]), keys_of(inverses[2])
    count = form(graph.split, written)(*forth, *back, ends[0], ends[1], heads, table, met, label)
    if count < 0:
        assert room < 1000
        return
    searches: dict[int, set[int]] = {}
    for node, search in zip(met[:count].tolist(), label[:count].tolist(), strict=True):
        searches.setdefault(search, set()).add(node)
    assert count == len(set(met[:count].tolist()))
    label_of = dict(zip(met[:count].tolist(), label[:count].tolist(), strict=True))
    for u, v in pairs:
        assert (label_of[u] == label_of[v]) == (v in twins.meet(both, [u]))
    for search, nodes in searches.items():
        reached = twins.meet(both, [starts[search]])
        assert nodes == reached if heads[search] < 0 else nodes <= reached


@both_forms
@quick
@given(graphs(downward=True), st.data())
def test_reachable_bits(written: Form, drawn: Graph, data: st.DataObject) -> None:
    """Members come in any order and more than fill a word; some of them are asked for, or all."""
    components, edges = drawn
    sizes = data.draw(st.lists(st.integers(1, 20), min_size=components, max_size=components))
    cyclic = [size > 1 or data.draw(st.booleans()) for size in sizes]
    numbers = data.draw(st.randoms(use_true_random=False)).sample(range(sum(sizes)), sum(sizes))
    ends = np.cumsum([0, *sizes], dtype=np.int64)
    members = [numbers[start:end] for start, end in itertools.pairwise(ends.tolist())]
    first = data.draw(st.one_of(st.just(0), st.integers(0, len(numbers))))
    end = data.draw(st.one_of(st.just(len(numbers)), st.integers(first, len(numbers))))
    expected = [
        {member - first for member in row if first <= member < end}
        for row in twins.reachable_bits(components, edges, cyclic, members)
    ]
    rows = np.zeros_like(as_bits(expected, end - first))
    form(graph.reachable_bits, written)(
        go_on(),
        *compressed(components, edges),
        np.array(cyclic, np.bool_),
        ends,
        np.array(numbers, np.int64),
        first,
        rows,
    )
    wanted = as_bits(expected, end - first)
    if end < len(numbers):  # a row is whole words, so it may have room for more
        rows, wanted = (bits.reshape(components, -1)[:, : (end - first) // 8] for bits in (rows, wanted))
    assert rows.tolist() == wanted.tolist()


@both_forms
@quick
@given(st.data())
def test_write_bits(written: Form, data: st.DataObject) -> None:
    """``seconds`` may be fewer than fill a word, or more."""
    seconds = sorted(data.draw(st.sets(halves, max_size=data.draw(st.sampled_from((3, 8, 70))))))
    places = st.sets(st.sampled_from(range(len(seconds)))) if seconds else st.just(set())
    rows = data.draw(st.lists(places, min_size=1, max_size=4))
    firsts = sorted(data.draw(st.sets(halves, max_size=5)))
    row_of = [data.draw(st.sampled_from(range(len(rows)))) for _ in firsts]
    every = twins.write_bits(rows, row_of, firsts, seconds)
    keys = np.zeros(len(every), np.uint64)
    count_written = form(graph.write_bits, written)(
        as_bits(rows, len(seconds)),
        np.array(row_of, np.int64),
        np.array(firsts, np.uint64),
        np.array(seconds, np.uint64),
        keys,
    )
    assert count_written == keys.size
    assert keys.tolist() == every


@both_forms
@quick
@given(st.data())
def test_words_beyond(written: Form, data: st.DataObject) -> None:
    """Rows of one or two words, with room for all words or for fewer."""
    places = data.draw(st.sampled_from((64, 128)))
    bits = st.lists(st.sets(st.sampled_from(range(places))), min_size=1, max_size=4)
    rows, others = data.draw(bits), data.draw(bits)
    row_of, other_of = (
        data.draw(st.lists(st.sampled_from(range(len(chosen))), min_size=3, max_size=3))
        for chosen in (rows, others)
    )
    expected = [
        (64 * (place // 64) + i * places, place % 64)
        for i, (row, other) in enumerate(zip(row_of, other_of, strict=True))
        for place in sorted(rows[row] - others[other])
    ]
    count = len({word for word, _ in expected})
    room = data.draw(st.sampled_from((count, max(0, count - 1), count + 1)))
    found, words = np.zeros(room, np.int64), np.zeros(room, np.uint64)
    count_written = form(graph.words_beyond, written)(
        go_on(),
        as_bits(rows, places).view(np.uint64),
        np.array(row_of, np.int64),
        as_bits(others, places).view(np.uint64),
        np.array(other_of, np.int64),
        places // 64,
        found,
        words,
    )
    assert count_written == count
    kept = min(count, room)
    pairs = [
        (64 * place, bit)
        for place, word in zip(found[:kept].tolist(), words[:kept].tolist(), strict=True)
        for bit in range(64)
        if word >> bit & 1
    ]
    assert pairs == expected[: len(pairs)] and (kept < count or len(pairs) == len(expected))
