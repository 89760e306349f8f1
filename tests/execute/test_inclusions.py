"""Closed inclusions: which classes lead to all others of some, and which sources need not be read."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from corollary.closure.reachability import close_keys
from corollary.columns import Pairs
from corollary.columns.pairs import NO_PAIRS
from corollary.execute.inclusions import End, Inclusions, Source
from corollary.execute.tuning import MAX_CLASSES_COMPARED, MAX_SOURCES_COMPARED

classes = st.integers(0, 7)
edges = st.frozensets(st.tuples(classes, classes), max_size=14)


@given(edges, st.frozensets(classes))
def test_least_classes(graph: frozenset[tuple[int, int]], some: frozenset[int]) -> None:
    """They lead to all others, and none of them to another."""
    closed = close_keys(np.array([a << 32 | b for a, b in sorted(graph)], np.uint64))
    leads = {(key >> 32, key & 0xFFFFFFFF) for key in closed.tolist()}
    included = Inclusions(Pairs(np.array([a << 32 | b for a, b in sorted(leads) if a != b], np.uint64)))
    least = included.least(tuple(sorted(some)))
    assert set(least) <= some
    assert all(one in least or any((other, one) in leads for other in least) for one in some)
    assert not any((one, other) in leads for one in least for other in least if one != other)


def test_many_classes_are_not_compared() -> None:
    many = tuple(range(MAX_CLASSES_COMPARED + 1))
    chain = Pairs(np.array([a << 32 | b for a in many for b in many if a < b], np.uint64))
    assert Inclusions(chain).least(many) == many
    assert Inclusions(chain).least(many[1:]) == (1,)


properties = st.integers(0, 5)
copies = st.frozensets(st.tuples(properties, properties, st.booleans()), max_size=8)
"""(source, target, whether inverted)"""
typed = st.frozensets(st.tuples(properties, st.booleans()), max_size=4)
"""The ends of properties whose terms are in a class."""
facts_of = st.dictionaries(
    properties, st.frozensets(st.tuples(st.integers(0, 3), st.integers(0, 3)), max_size=4)
)

Faces = dict[End, set[tuple[int, int]]]


def closed(edges: frozenset[tuple[int, int, bool]]) -> set[tuple[End, End]]:
    """All (source, target) of ends of properties that are included in each other, but for themselves."""
    found = {((p, end), (q, end != inverse)) for p, q, inverse in edges for end in (False, True)}
    while more := {(a, d) for a, b in found for c, d in found if b == c} - found:
        found |= more
    return {(a, b) for a, b in found if a != b}


def inclusions(edges: frozenset[tuple[int, int, bool]], ends: frozenset[End]) -> Inclusions:
    """The closure of copies between properties, and of domains and ranges in class 9."""
    leads = closed(edges)
    straight = [(a[0], b[0]) for a, b in leads if not a[1] and not b[1]]
    inverse = [(a[0], b[0]) for a, b in leads if not a[1] and b[1]]
    typing = set(ends) | {a for a, b in leads if b in ends}
    kinds: tuple[list[tuple[int, int]], ...] = (
        [],
        straight,
        inverse,
        [(p, 9) for p, end in typing if not end],
        [(p, 9) for p, end in typing if end],
    )
    return Inclusions(*(Pairs(np.array(sorted(a << 32 | b for a, b in kind), np.uint64)) for kind in kinds))


def faces(facts: dict[int, frozenset[tuple[int, int]]]) -> Faces:
    """The facts of each property, and their inverses."""
    straight: Faces = {(p, False): set(facts.get(p, ())) for p in range(6)}
    return straight | {(p, True): {(y, x) for x, y in straight[p, False]} for p in range(6)}


def read(sources: list[Source], complete: frozenset[int], known: Faces) -> set[tuple[int, int]]:
    """What is copied from the sources that are not within a complete one."""
    kept = [source for source in sources if complete.isdisjoint(source.within)]
    return {fact for source in kept for fact in known[source.predicate, source.inverse]}


@given(copies, typed, facts_of, facts_of, st.frozensets(properties))
def test_sources_within_complete_ones_add_nothing(
    edges: frozenset[tuple[int, int, bool]],
    ends: frozenset[End],
    explicit: dict[int, frozenset[tuple[int, int]]],
    proved: dict[int, frozenset[tuple[int, int]]],
    complete: frozenset[int],
) -> None:
    """All facts of complete properties are known, and some of the others: the same is read."""
    included, leads = inclusions(edges, ends), closed(edges)
    given = faces(explicit)
    whole = {end: given[end].union(*(given[a] for a, b in leads if b == end)) for end in given}
    some = faces(proved)
    known = {end: whole[end] if end[0] in complete else whole[end] & some[end] for end in whole}
    for target in range(6):
        sources = [*included.sources(target)]
        not_the_target = complete - {target}
        assert read(sources, not_the_target, known) | known[target, False] == (
            read(sources, frozenset(), known) | known[target, False]
        )
    subjects = {x for x, _ in read([*included.ends(9)], complete, known)}
    assert subjects == {x for x, _ in read([*included.ends(9)], frozenset(), known)}


def test_many_sources_are_not_compared() -> None:
    many = range(1, MAX_SOURCES_COMPARED + 1)

    def within(properties: range) -> set[frozenset[int]]:
        """What the sources of 0 are within, where each is included in the next."""
        chain = [a << 32 | b for a in properties for b in properties if a < b]
        included = Inclusions(
            NO_PAIRS, Pairs.of(np.array([*chain, *(a << 32 for a in properties)], np.uint64))
        )
        return {source.within for source in included.sources(0)}

    assert frozenset() in within(many) and len(within(many)) == len(many)
    assert within(range(1, len(many) + 2)) == {frozenset()}
