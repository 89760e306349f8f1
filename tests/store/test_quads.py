"""Explicit facts against a set of quads: any changes, and the log worked off at any moment."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from corollary.index.pairs import Pairs
from corollary.index.triples import TripleIndex
from corollary.store.quads import Changes, Quads

Quad = tuple[int, int, int, int]
Facts = set[tuple[int, int, int]]

small = st.integers(0, 3)
quads = st.tuples(st.integers(0, 2), small, st.integers(0, 1), small)  # graph, subject, predicate, object
changes = st.tuples(st.sampled_from(("add", "remove", "add many")), st.lists(quads, min_size=1, max_size=9))
steps = st.lists(st.one_of(changes, st.just("apply")), max_size=60)

Steps = list[str | tuple[str, list[Quad]]]


def facts(index: TripleIndex) -> Facts:
    subjects, predicates, values = (column.tolist() for column in index.columns(legal=False))
    assert len(subjects) == index.fact_count()
    return set(zip(subjects, predicates, values, strict=True))


def changed(changes: Changes) -> Facts:
    keys = [(p, key) for p, column in changes.items() for key in column.tolist()]
    assert keys == sorted(set(keys), key=lambda item: ([*changes].index(item[0]), item[1])), (
        "sorted and unique"
    )
    return {(key >> 32, p, key & 0xFFFFFFFF) for p, key in keys}


def union(model: set[Quad]) -> Facts:
    return {(s, p, o) for _, s, p, o in model}


@given(steps)
def test_any_changes_in_any_batches(script: Steps) -> None:
    store, model, applied = Quads(), set[Quad](), set[Quad]()
    kept = []
    for step in [*script, "apply"]:
        if isinstance(step, tuple):
            change(store, model, *step)
            assert all(store.holds(*quad) == (quad in model) for quad in step[1])
            assert store.is_changed or step[0] == "add many"
            continue
        gained, lost = store.apply()
        assert changed(gained) == union(model) - union(applied)
        assert changed(lost) == union(applied) - union(model)
        applied = set(model)
        assert not store.is_changed
        check(store, model)
        kept.append((store.snapshot(), store.copy(), set(model)))
    for snapshot, copy, then in kept:
        assert facts(snapshot.union) == union(then)
        check(copy, then)


def check(store: Quads, model: set[Quad]) -> None:
    """Every graph, the union, and what is shared are as the model says."""
    for graph in range(3):
        index = store.graphs.get(graph, TripleIndex())
        assert facts(index) == {(s, p, o) for g, s, p, o in model if g == graph}
    assert facts(store.union) == union(model)
    holders = [fact for fact in union(model) if sum((g, *fact) in model for g in range(3)) > 1]
    assert facts(store._shared) == set(holders)


@given(steps, steps)
def test_a_copy_goes_its_own_way(before: Steps, after: Steps) -> None:
    store, model = Quads(), set[Quad]()
    play(store, model, before)
    copy, copied = store.copy(), set(model)
    play(copy, copied, after)
    for quads, expected in ((store, model), (copy, copied)):
        quads.apply()
        check(quads, expected)


def play(store: Quads, model: set[Quad], script: Steps) -> None:
    for step in script:
        if isinstance(step, tuple):
            change(store, model, *step)
        else:
            store.apply()


def change(store: Quads, model: set[Quad], verb: str, quads: list[Quad]) -> None:
    """Change store and model alike. Quads that are added many at once are all of one graph and predicate."""
    if verb == "add many":
        graph, _, predicate, _ = quads[0]
        keys = np.array([s << 32 | o for _, s, _, o in quads], np.uint64)
        expected = {(graph, s, predicate, o) for _, s, _, o in quads} - model
        new = store.log_many(graph, predicate, Pairs.of(keys)).tolist()
        assert new == sorted(s << 32 | o for _, s, _, o in expected)
        model.update(expected)
        return
    for quad in quads:
        store.log(*quad, added=verb == "add")
        (model.add if verb == "add" else model.discard)(quad)
