"""Explicit facts against a set of quads: any changes, one by one or many at once, and what lies between."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from corollary.columns.delta import Delta
from corollary.columns.pairs import Pairs, difference
from corollary.columns.triples import TripleIndex
from corollary.reasoner.pending import Pending
from corollary.reasoner.quads import Change, Quads, matching

Quad = tuple[int, int, int, int]
Facts = set[tuple[int, int, int]]

small = st.integers(0, 3)
quads = st.tuples(st.integers(0, 2), small, st.integers(0, 1), small)  # graph, subject, predicate, object
rows = st.lists(st.tuples(quads, st.booleans()), min_size=1, max_size=9)  # whether a quad is added
columns = st.tuples(st.lists(quads, max_size=9), st.lists(quads, max_size=9))  # removed, added

FORMULA = 2


def facts(index: TripleIndex) -> Facts:
    subjects, predicates, values = (column.tolist() for column in index.columns(legal=False))
    assert len(subjects) == index.fact_count()
    return set(zip(subjects, predicates, values, strict=True))


def changed(changes: Delta) -> Facts:
    assert all((keys[1:] > keys[:-1]).all() and keys.size for _, keys in changes.items()), "sorted and unique"
    return {(key >> 32, p, key & 0xFFFFFFFF) for p, keys in changes.items() for key in keys.tolist()}


def union(model: Iterable[Quad]) -> Facts:
    return {(s, p, o) for g, s, p, o in model if g != FORMULA}


def check(store: Quads, model: set[Quad]) -> None:
    """Every graph, the union, and what is shared are as the model says."""
    for graph in range(3):
        index = store.index(graph) or TripleIndex()
        assert facts(index) == {(s, p, o) for g, s, p, o in model if g == graph}
    assert facts(store.union) == union(model)
    assert facts(store.shared) == {f for f in union(model) if {(0, *f), (1, *f)} <= model}


def of_columns(removed: Iterable[Quad], added: Iterable[Quad]) -> list[Change]:
    """The quads as changes: what is both removed and added is added."""
    places: dict[tuple[int, int], tuple[set[int], set[int]]] = {}
    for side, given_quads in enumerate((removed, added)):
        for graph, s, p, o in given_quads:
            places.setdefault((graph, p), (set(), set()))[side].add(s << 32 | o)
    changes = []
    for place, (less, more) in places.items():
        add, remove = (np.array(sorted(keys), np.uint64) for keys in (more, less))
        changes.append(Change(*place, difference(remove, add), Pairs(add)))
    return changes


def by_graph(after: Quads, before: Quads) -> tuple[set[Quad], set[Quad]]:
    """What graphs have lost and gained, each once."""
    sides: tuple[list[Quad], list[Quad]] = [], []
    for graph, p, removed, added in after.since_by_graph(before):
        for side, keys in zip(sides, (removed, added.keys), strict=True):
            side += [(graph, key >> 32, p, key & 0xFFFFFFFF) for key in keys.tolist()]
    assert all(len(side) == len(set(side)) for side in sides)
    return set(sides[0]), set(sides[1])


@given(st.lists(st.one_of(rows, columns), max_size=30))
@settings(deadline=None)
def test_any_changes_in_any_batches(script: list[object]) -> None:
    store, model = Quads().with_formula(FORMULA), set[Quad]()
    kept = [(store, set(model))]
    for step in script:
        if isinstance(step, tuple):
            removed, added = step
            after = store.changed(of_columns(removed, added))
            model -= set(removed)
            model |= set(added)
        else:
            assert isinstance(step, list)
            pending, length = Pending(), 0
            for (graph, s, p, o), is_added in step:
                length = pending.append(length, (graph, s, p, o, int(is_added)))
                (model.add if is_added else model.discard)((graph, s, p, o))
            after = store.changed(pending.changes(length))
        check(after, model)
        kept.append((after, set(model)))
        store = after
    for graph in (0, FORMULA):
        store, model = store.without_graph(graph), {quad for quad in model if quad[0] != graph}
        kept.append((store, model))
    for quads_then, then in kept:
        check(quads_then, then)
        for other, model_then in kept:
            lost, gained = other.since(quads_then)
            assert changed(lost) == union(then) - union(model_then)
            assert changed(gained) == union(model_then) - union(then)
            gone, new = by_graph(other, quads_then)
            assert gone == {quad for quad in then - model_then if quad[0] != FORMULA}
            assert new == {quad for quad in model_then - then if quad[0] != FORMULA}


def test_the_union_shares_the_relation_of_a_graph_that_has_all_facts() -> None:
    store = Quads().changed(of_columns([], [(0, 1, 5, 2)]))
    assert store.union.relation(5) is store.graphs[0].relation(5)
    store = store.changed(of_columns([], [(1, 3, 5, 4)]))
    check(store, {(0, 1, 5, 2), (1, 3, 5, 4)})
    store = store.changed(of_columns([(1, 3, 5, 4)], []))
    store = store.changed(of_columns([], [(0, 5, 5, 6)]))
    assert store.union.relation(5) is store.graphs[0].relation(5)
    check(store, {(0, 1, 5, 2), (0, 5, 5, 6)})
    store = store.changed(of_columns([(0, 1, 5, 2)], []))
    assert store.union.relation(5) is store.graphs[0].relation(5)
    check(store, {(0, 5, 5, 6)})


@given(rows, st.integers(0, 9), rows)
def test_rows_behind_the_length_are_nothing(
    first: list[tuple[Quad, bool]], kept: int, second: list[tuple[Quad, bool]]
) -> None:
    """A rollback is an older length: what is appended then takes the place of what was there."""
    pending, length = Pending(), 0
    lengths = [0]
    for (graph, s, p, o), is_added in first:
        length = pending.append(length, (graph, s, p, o, int(is_added)))
        assert pending.holds(length, graph, s, p, o) == is_added
        lengths.append(length)
    length = lengths[min(kept, len(first))]
    words = dict(first[: min(kept, len(first))])
    assert all(pending.holds(length, *quad) == words.get(quad) for quad, _ in first)
    for (graph, s, p, o), is_added in second:
        length = pending.append(length, (graph, s, p, o, int(is_added)))
        words[graph, s, p, o] = is_added
    assert all(pending.holds(length, *quad) == words.get(quad) for quad, _ in (*first, *second))
    model = {quad for quad, is_added in words.items() if is_added}
    assert pending.graphs(length) == {quad[0] for quad in words}
    check(Quads().with_formula(FORMULA).changed(pending.changes(length)), model)


@given(st.lists(quads), st.integers(0, 2), *[st.one_of(st.none(), small)] * 3)
def test_matching(given_quads: list[Quad], graph: int, s: int | None, p: int | None, o: int | None) -> None:
    store = Quads().changed(of_columns((), given_quads[::2])).changed(of_columns(given_quads[::3], ()))
    index = store.index(graph) or TripleIndex()
    found = Delta(dict(matching(index, s, p, o)))
    wanted = (s, p, o)
    expected = {
        f for f in facts(index) if all(w is None or w == term for w, term in zip(wanted, f, strict=True))
    }
    assert changed(found) == expected


def test_a_graph_goes_with_its_facts() -> None:
    quads_of_two = Quads().changed(of_columns((), [(0, 1, 0, 1), (1, 1, 0, 1), (1, 2, 0, 2)]))
    left = quads_of_two.without_graph(1)
    check(left, {(0, 1, 0, 1)})
    assert list(left.graphs) == [0]
    assert [changed(side) for side in left.since(quads_of_two)] == [{(2, 0, 2)}, set()]
    assert left.without_graph(7) is left
