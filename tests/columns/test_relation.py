"""A relation against a Python set: any sequence of changes, read in every way after every step."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule
from tests.columns.drawn import IDS, Pair, column, packed, pairs, sets_of_pairs, sorted_keys, unpacked
from tests.strategies import examples

from corollary.columns import relation as relations
from corollary.columns.pairs import Pairs
from corollary.columns.relation import EMPTY, Relation
from corollary.columns.tuning import MAX_COPIES_PER_BASE, MIN_BASE_PER_OVERLAY
from corollary.terms.dictionary import FIRST_LITERAL

PROBES = column((*IDS, 7, 0))
"""Not ascending, one twice, one never there."""

large_sets = st.frozensets(st.tuples(st.integers(0, 20), st.integers(0, 20)), min_size=60, max_size=120)
"""So large that a few changes stay in the overlay."""


def found(
    rows: np.ndarray[tuple[int], np.dtype[np.int64]], values: np.ndarray[tuple[int], np.dtype[np.uint32]]
) -> list[Pair]:
    """(probe, value) for what a look-up found."""
    return sorted(
        (int(PROBES[row]), value) for row, value in zip(rows.tolist(), values.tolist(), strict=True)
    )


def assert_is(relation: Relation, facts: frozenset[Pair]) -> None:
    """The same facts, without folding the overlay, then with."""
    flipped = [(value, subject) for subject, value in facts]
    probes = [fact for probe in PROBES.tolist() for fact in facts if fact[0] == probe]
    flipped_probes = [fact for probe in PROBES.tolist() for fact in flipped if fact[0] == probe]
    assert len(relation) == len(facts)
    terms = column(sorted({*IDS, 7}))
    have_facts = [any(value == term for _, value in facts) for term in terms.tolist()]
    assert relation.has_objects(terms).tolist() == have_facts
    assert found(*relation.objects_of(PROBES)) == sorted(probes)
    assert found(*relation.subjects_of(PROBES)) == sorted(flipped_probes)
    questions = [*sorted(facts), *flipped, (5, 0)]
    assert relation.contains(packed(questions)).tolist() == [question in facts for question in questions]
    assert [relation.has(*question) for question in questions] == [fact in facts for fact in questions]
    for term in (*IDS, 7):
        assert sorted(relation.objects(term)) == sorted(value for subject, value in facts if subject == term)
        assert relation.column_of_objects(term).tolist() == relation.objects(term)
        assert relation.column_of_subjects(term).tolist() == relation.subjects(term)
        assert relation.count_of_subject(term) == sum(subject == term for subject, _ in facts)
        assert relation.count_of_object(term) == sum(value == term for _, value in facts)
        assert sorted(relation.subjects(term)) == sorted(subject for subject, value in facts if value == term)
        assert relation.has_subject(term) == any(subject == term for subject, _ in facts)
        assert relation.has_object(term) == any(value == term for _, value in facts)
    assert relation.has_objects(terms).tolist() == have_facts  # now both orders exist
    assert relation.legal_count() == sum(subject < FIRST_LITERAL for subject, _ in facts)
    assert relation.has_literals or all(value < FIRST_LITERAL for _, value in facts)
    assert unpacked(relation.starting(column(sorted({*IDS, 7})))) == sorted(facts & set(probes))
    assert found(*relation.inverse().objects_of(PROBES)) == sorted(flipped_probes)


def assert_folds_to(relation: Relation, facts: frozenset[Pair]) -> None:
    assert unpacked(relation.keys()) == sorted(facts)
    assert unpacked(relation.pairs().by_object) == sorted((value, subject) for subject, value in facts)
    assert_is(relation, facts)


class RelationMachine(RuleBasedStateMachine):
    """Changes of one relation, with snapshots taken on the way."""

    def __init__(self) -> None:
        super().__init__()
        self.relation = EMPTY
        self.facts: frozenset[Pair] = frozenset()
        self.snapshots: list[tuple[Relation, frozenset[Pair]]] = []

    @initialize(facts=st.one_of(sets_of_pairs, large_sets), both_orders=st.booleans())
    def start(self, facts: frozenset[Pair], both_orders: bool) -> None:
        base = Pairs(sorted_keys(facts))
        if both_orders:
            assert base.by_object.size == len(facts)
        self.relation, self.facts = Relation(base), facts

    @rule(facts=sets_of_pairs)
    def plus(self, facts: frozenset[Pair]) -> None:
        self.relation = self.relation.plus(sorted_keys(facts))
        self.facts |= facts

    @rule(fact=pairs)
    def plus_one(self, fact: Pair) -> None:
        self.relation = self.relation.plus(sorted_keys([fact]))
        self.facts |= {fact}

    @rule(facts=sets_of_pairs, both_orders=st.booleans())
    def plus_new(self, facts: frozenset[Pair], both_orders: bool) -> None:
        new = Pairs(sorted_keys(facts - self.facts))
        if both_orders:
            assert new.by_object.size == len(new)
        self.relation = self.relation.plus_new(new)
        self.facts |= facts

    @rule(facts=sets_of_pairs)
    def minus(self, facts: frozenset[Pair]) -> None:
        self.relation = self.relation.minus(sorted_keys(facts))
        self.facts -= facts

    @precondition(lambda self: self.facts)
    @rule(data=st.data())
    def minus_one(self, data: st.DataObject) -> None:
        fact = data.draw(st.sampled_from(sorted(self.facts)))
        self.relation = self.relation.minus(sorted_keys([fact]))
        self.facts -= {fact}

    @precondition(lambda self: self.facts)
    @rule(data=st.data(), both_orders=st.booleans())
    def minus_present(self, data: st.DataObject, both_orders: bool) -> None:
        some = data.draw(st.frozensets(st.sampled_from(sorted(self.facts)), max_size=8))
        lost = Pairs(sorted_keys(some))
        if both_orders:
            assert lost.by_object.size == len(lost)
        self.relation = self.relation.minus_present(lost)
        self.facts -= some

    @precondition(lambda self: self.facts)
    @rule(data=st.data())
    def away_and_back(self, data: st.DataObject) -> None:
        some = data.draw(st.frozensets(st.sampled_from(sorted(self.facts)), min_size=1, max_size=5))
        self.relation = self.relation.minus(sorted_keys(some)).plus(sorted_keys(some))

    @rule()
    def snapshot(self) -> None:
        self.snapshots.append((self.relation, self.facts))

    @rule()
    def fold(self) -> None:
        assert_folds_to(self.relation, self.facts)

    @invariant()
    def the_relation_is_the_set(self) -> None:
        assert_is(self.relation, self.facts)

    @invariant()
    def snapshots_stay(self) -> None:
        for relation, facts in self.snapshots:
            assert_is(relation, facts)

    def teardown(self) -> None:
        assert_folds_to(self.relation, self.facts)
        for relation, facts in self.snapshots:
            assert_folds_to(relation, facts)


TestRelation = RelationMachine.TestCase
TestRelation.settings = settings(max_examples=examples(60), stateful_step_count=20, deadline=None)


@settings(max_examples=examples(50), deadline=None)
@given(large_sets, st.frozensets(st.tuples(st.integers(0, 20), st.integers(30, 40)), max_size=40))
def test_a_small_change_stays_in_the_overlay(base: frozenset[Pair], new: frozenset[Pair]) -> None:
    relation = Relation(Pairs(sorted_keys(base))).plus(sorted_keys(new))
    kept = MIN_BASE_PER_OVERLAY * len(new) <= len(base)
    assert (f"overlay +{len(new):,} -0" in repr(relation)) == (kept or not new)
    assert repr(relation).startswith(f"Relation({len(base | new):,} facts")


def test_a_large_addition_enters_the_base_beside_a_small_overlay() -> None:
    """The overlay is not copied: it stays, with what was removed."""
    base, few, many = ({(s, o) for o in range(size)} for s, size in ((1, 64), (2, 4), (3, 80)))
    before = Relation(Pairs(sorted_keys(base))).plus(sorted_keys(few)).minus(sorted_keys({(1, 5)}))
    after = before.plus_new(Pairs(sorted_keys(many)))
    assert after.parts[1:] == before.parts[1:]
    assert_is(after, frozenset(base - {(1, 5)} | few | many))
    further = before.plus_new(Pairs(sorted_keys({(1, 5)} | many)))
    assert_is(further, frozenset(base | few | many))


def test_what_changes_nothing_makes_no_new_relation() -> None:
    relation = Relation(Pairs(sorted_keys([(1, 2), (3, 4)])))
    nothing = np.empty(0, np.uint64)
    assert relation.plus(nothing) is relation
    assert relation.plus(sorted_keys([(1, 2)])) is relation
    assert relation.minus(nothing) is relation
    assert relation.minus(sorted_keys([(2, 1)])) is relation
    assert relation.plus_new(Pairs(nothing)) is relation


def test_keys_cannot_be_written_to() -> None:
    relation = Relation(Pairs(sorted_keys([(1, 2), (3, 4)])))
    with pytest.raises(ValueError, match="read-only"):
        relation.keys()[0] = 0
    assert not relation.plus(sorted_keys([(5, 6)])).keys().flags.writeable
    assert not EMPTY.keys().flags.writeable


def test_the_empty_relation_stays_empty() -> None:
    EMPTY.plus(sorted_keys([(1, 2)]))
    EMPTY.plus_new(Pairs(sorted_keys([(1, 2)])))
    assert_folds_to(EMPTY, frozenset())


def test_the_overlay_is_folded_when_much_was_copied() -> None:
    """However many facts come and go one by one, an update copies few, and a base is made rarely."""
    size = 4000
    relation = Relation(Pairs(np.arange(size, dtype=np.uint64)))
    copied, bases = 0, {id(relation.parts[0]): relation.parts[0]}
    for number in range(size // 2):
        relation = relation.plus_new(Pairs(packed([(1, number)])))
        relation = relation.minus_present(Pairs(packed([(0, number)])))
        base, added, removed = relation.parts
        copied += len(added) + len(removed)
        bases[id(base)] = base
    assert unpacked(relation.keys()) == [(0, n) for n in range(size // 2, size)] + [
        (1, n) for n in range(size // 2)
    ]
    assert copied <= MAX_COPIES_PER_BASE * size * len(bases)
    assert len(bases) <= 1 + size / np.sqrt(2 * MAX_COPIES_PER_BASE * size)


@pytest.mark.parametrize("is_sorted", [False, True])
@given(large_sets, sets_of_pairs, sets_of_pairs, st.lists(st.integers(0, 21), min_size=1, max_size=3))
def test_rows_of_few_objects(
    is_sorted: bool, base: frozenset[Pair], new: frozenset[Pair], lost: frozenset[Pair], objects: list[int]
) -> None:
    """They are looked up by object, if that order exists, as by subject, whatever the overlay has."""
    pairs_of_base = Pairs(sorted_keys(base))
    if is_sorted:
        assert pairs_of_base.by_object.size
    removed = frozenset([*sorted(base)[:3], *(base & lost)])
    relation = Relation(pairs_of_base, Pairs(sorted_keys(new - base)), Pairs(sorted_keys(removed)))
    subjects = column((*range(22), *IDS, *(subject for subject, _ in sorted(new)), 7))
    rows = [(int(subject), value) for value in objects for subject in subjects.tolist()]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(relations, "MIN_ROWS_TURNED", 1)
        found = relation.contains_rows(*(column([row[end] for row in rows]) for end in (0, 1)))
    assert found.tolist() == [row in (base | new) - removed for row in rows]


def test_some_subjects() -> None:
    """From all parts of the order, without those removed; added ones if no others are left."""
    base = Pairs(sorted_keys(frozenset((subject, 5) for subject in range(100)) | {(1, 6)}))
    first = Relation(base, removed=Pairs(packed([(0, 5), (50, 5)])))
    assert first.some_subjects(5, 4).tolist() == [25, 75]
    assert first.some_subjects(6, 4).tolist() == [1]
    assert first.some_subjects(7, 4).tolist() == []
    moved = Relation(base, added=Pairs(packed([(2, 6), (3, 6)])), removed=Pairs(packed([(1, 6)])))
    assert moved.some_subjects(6, 4).tolist() == [2, 3]


def test_facts_that_another_thread_counts_meanwhile(monkeypatch: pytest.MonkeyPatch) -> None:
    """A relation that is being extended is counted by a reader: the larger one has the right count."""
    relation, plus = Relation(Pairs(sorted_keys({(1, 2), (3, 4)}))), Pairs.plus

    def counted(added: Pairs, new: Pairs) -> Pairs:
        assert relation.legal_count() == 2
        return plus(added, new)

    monkeypatch.setattr(Pairs, "plus", counted)
    assert relation.plus_new(Pairs(sorted_keys({(5, 6)}))).legal_count() == 3
