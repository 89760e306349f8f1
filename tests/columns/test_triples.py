"""The triple index against Python sets of triples."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule
from tests.columns.drawn import Pair, column, sorted_keys, unpacked
from tests.strategies import examples

from corollary.columns import KnownUnions, Pairs, TripleIndex
from corollary.columns import triples as index_module
from corollary.columns.triples import FIRST_VIRTUAL
from corollary.columns.tuning import MAX_IDS_IN_TABLE
from corollary.terms.dictionary import KIND_SHIFT, Kind

Triple = tuple[int, int, int]

BLANK, LITERAL, VIRTUAL = (kind << KIND_SHIFT for kind in (Kind.BLANK_NODE, Kind.LITERAL, Kind.RESERVED))
terms = st.sampled_from((0, 1, 2, 3, BLANK, BLANK + 1, LITERAL, LITERAL + 5))
predicates = st.sampled_from((0, 1, 4, 5, MAX_IDS_IN_TABLE + 9, BLANK, LITERAL, VIRTUAL, VIRTUAL + 1))
iris = st.sampled_from((0, 1, 4, 5, MAX_IDS_IN_TABLE + 9))
triples = st.tuples(terms, st.one_of(iris, predicates), terms)

quick = settings(max_examples=examples(150), deadline=None)


def index_of(facts: list[Triple]) -> TripleIndex:
    return TripleIndex.from_columns(*(column(fact[place] for fact in facts) for place in range(3)))


def facts_of(index: TripleIndex, *, legal: bool = True) -> list[Triple]:
    subjects, names, objects = index.columns(legal=legal)
    assert {part.dtype for part in (subjects, names, objects)} == {np.dtype(np.uint32)}
    return list(zip(subjects.tolist(), names.tolist(), objects.tolist(), strict=True))


def in_order(facts: set[Triple]) -> list[Triple]:
    return sorted(facts, key=lambda fact: (fact[1], fact[0], fact[2]))


def real(facts: set[Triple]) -> set[Triple]:
    """Without the engine's virtual relations."""
    return {fact for fact in facts if fact[1] < VIRTUAL}


def legal(facts: set[Triple]) -> set[Triple]:
    """The facts that RDF allows."""
    return {fact for fact in facts if fact[0] < LITERAL and fact[1] < BLANK}


def assert_is(index: TripleIndex, facts: set[Triple]) -> None:
    assert facts_of(index) == in_order(legal(facts))
    assert facts_of(index, legal=False) == in_order(real(facts))
    assert len(index) == len(legal(facts))
    assert index.fact_count() == len(real(facts))
    assert set(index.predicates()) == {p for _, p, _ in real(facts)}
    assert set(index.all_predicates()) == {p for _, p, _ in facts}
    assert all(relation is index.relation(p) and relation.size for p, relation in index.all_relations())
    assert {p for p, _ in index.all_relations()} == {p for _, p, _ in facts}
    assert index.few_terms(len(facts)) == {end for s, _, o in facts for end in (s, o)}
    assert not facts or index.few_terms(len(facts) - 1) is None
    assert {p for p, _ in index.relations()} == set(index.predicates())
    for predicate in {p for _, p, _ in facts} | {77}:
        expected = sorted((s, o) for s, p, o in facts if p == predicate)
        assert unpacked(index.relation(predicate).keys()) == expected


def assert_directories(index: TripleIndex, facts: set[Triple]) -> None:
    subjects, objects = index.predicates_of_subjects(), index.predicates_of_objects()
    assert unpacked(subjects.keys()) == sorted({(s, p) for s, p, _ in real(facts)})
    assert unpacked(objects.keys()) == sorted({(o, p) for _, p, o in real(facts)})


def test_virtual_predicates_are_the_reserved_terms() -> None:
    assert FIRST_VIRTUAL == VIRTUAL


@quick
@given(st.lists(triples, max_size=40))
def test_from_columns_in_any_order_with_duplicates(drawn: list[Triple]) -> None:
    assert_is(index_of(drawn), set(drawn))
    assert_directories(index_of(drawn), set(drawn))
    if drawn:
        assert_is(index_of(drawn[:1] * 3), {drawn[0]})


@quick
@given(st.lists(triples, max_size=30), st.lists(triples, max_size=30))
def test_difference(left: list[Triple], right: list[Triple]) -> None:
    one, other = index_of(left), index_of(right)
    assert_is(one.difference(other), real(set(left)) - set(right))
    assert_is(one, set(left))
    assert_is(other, set(right))


@quick
@given(st.lists(st.tuples(st.booleans(), st.lists(triples)), max_size=6), st.lists(triples))
def test_known_unions(drawn: list[tuple[bool, list[Triple]]], few: list[Triple]) -> None:
    """An index that changes, and at times those added to it: the union is the same as if it were new."""
    index, others, more, unions = TripleIndex(), few, index_of(few), KnownUnions()
    for is_other, batch in drawn:
        if is_other:
            others, more = batch, index_of(batch)
        for predicate in {fact[1] for fact in batch}:
            index.add_unknown(predicate, index_of(batch).relation(predicate).pairs())
        for _ in range(2):
            into = index.snapshot()
            len(into.predicates_of_subjects())
            unions.add(more, into)
            expected = {*facts_of(index, legal=False), *facts_of(index_of(others), legal=False)}
            assert {*facts_of(into, legal=False)} == expected
            assert len(into) == len(into.legal())
            assert {*into.predicates_of_subjects().pairs().keys.tolist()} >= {
                s << 32 | p for s, p, _ in expected
            }


def test_many_predicates() -> None:
    """More than 16 bits can number."""
    many = 70_000
    names = np.arange(many, dtype=np.uint32)[::-1]
    index = TripleIndex.from_columns(names, names, names)
    assert len(index) == many
    assert facts_of(index) == [(name, name, name) for name in range(many)]


class IndexMachine(RuleBasedStateMachine):
    """Changes of one index; the directories are made early, late or never."""

    def __init__(self) -> None:
        super().__init__()
        self.index = TripleIndex()
        self.facts: set[Triple] = set()
        self.directories = False
        self.snapshots: list[tuple[TripleIndex, set[Triple]]] = []

    @initialize(drawn=st.lists(triples, max_size=30))
    def start(self, drawn: list[Triple]) -> None:
        self.index, self.facts = index_of(drawn), set(drawn)

    @rule(predicate=predicates, pairs=st.sets(st.tuples(terms, terms), max_size=8))
    def add(self, predicate: int, pairs: set[Pair]) -> None:
        known = {(s, o) for s, p, o in self.facts if p == predicate}
        self.index.add(predicate, Pairs(sorted_keys(pairs - known)))
        self.facts = self.facts | {(s, predicate, o) for s, o in pairs}

    @rule(data=st.data(), predicate=predicates)
    def remove(self, data: st.DataObject, predicate: int) -> None:
        known = sorted((s, o) for s, p, o in self.facts if p == predicate)
        gone = data.draw(st.sets(st.sampled_from(known))) if known else set()
        self.index.remove(predicate, sorted_keys(gone))
        self.facts = {f for f in self.facts if f[1] != predicate or (f[0], f[2]) not in gone}

    @rule()
    def ask_for_directories(self) -> None:
        assert_directories(self.index, self.facts)
        self.directories = True

    @rule()
    def snapshot(self) -> None:
        self.snapshots.append((self.index.snapshot(), self.facts))

    @rule()
    def go_on_with_a_snapshot(self) -> None:
        self.index, kept = self.index.snapshot(), self.index
        self.snapshots.append((kept, self.facts))

    @invariant()
    def the_index_is_the_set(self) -> None:
        assert_is(self.index, self.facts)
        if self.directories:
            assert_directories(self.index, self.facts)

    def teardown(self) -> None:
        assert_directories(self.index, self.facts)
        for index, facts in self.snapshots:
            assert_is(index, facts)
            assert_directories(index, facts)


TestTripleIndex = IndexMachine.TestCase
TestTripleIndex.settings = settings(max_examples=examples(50), stateful_step_count=15, deadline=None)


@pytest.mark.parametrize("facts_per_look_up", [0, 1, 1 << 20])
@quick
@given(drawn=st.lists(triples), probes=st.lists(terms, max_size=12))
def test_predicates_of_one_term(facts_per_look_up: int, drawn: list[Triple], probes: list[int]) -> None:
    """All predicates of a term, and maybe others until there is a directory: at once, or later."""
    facts = real({*drawn})
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(index_module, "FACTS_PER_RELATION_LOOKED_UP", facts_per_look_up)
        index = index_of(drawn)
        for probe in probes:
            of_subject, of_object = index.predicates_beside(probe, None), index.predicates_beside(None, probe)
            assert {p for s, p, _ in facts if s == probe} <= {*of_subject} <= {p for _, p, _ in facts}
            assert {p for _, p, o in facts if o == probe} <= {*of_object} <= {p for _, p, _ in facts}
            if facts_per_look_up > len(facts) > 0:
                assert {*of_subject} == {p for s, p, _ in facts if s == probe}
                assert {*of_object} == {p for _, p, o in facts if o == probe}
