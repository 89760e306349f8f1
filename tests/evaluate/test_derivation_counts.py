"""Counted derivations: those maintained are those from scratch, and those of a naive count."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from tests import strategies as some
from tests.engine import Fact, facts_of, load
from tests.maintain.histories import History, histories_of_rules
from tests.modules import kinds
from tests.oracles.derivations import Weights, weights
from tests.strategies import EXAMPLE, thorough

from corollary.columns import relation, zsets
from corollary.columns.pairs import firsts, seconds
from corollary.evaluate import derivation_counts
from corollary.evaluate.derivation_counts import DerivationCounts
from corollary.kernels.rounds import NEVER
from corollary.language import IRI, Program, parse_program
from corollary.program.compile import CompiledRule
from corollary.program.compiled_program import CompiledProgram
from corollary.terms.dictionary import TermDictionary


@pytest.fixture(autouse=True, scope="module")
def as_if_large() -> Iterator[None]:
    """Small relations keep overlays, and few facts are joined at a time, as with larger ones."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(relation, "MIN_BASE_PER_OVERLAY", 1)
        patch.setattr(zsets, "MIN_BASE_PER_OVERLAY", 1)
        patch.setattr(derivation_counts, "FACTS_JOINED_AT_FIRST", 2)
        patch.setattr(derivation_counts, "MAX_ROWS_JOINED", 4)
        yield


def counted(counts: DerivationCounts, dictionary: TermDictionary) -> Weights:
    """The derivations of all facts, by round."""
    found: Weights = {}
    for component in counts.components:
        for predicate, by_round in component.counts.items():
            keys, rounds, numbers = by_round.rows()
            names = np.full(keys.size, predicate, np.uint32)
            for row in range(keys.size):
                one = slice(row, row + 1)
                (fact,) = facts_of((firsts(keys[one]), names[one], seconds(keys[one])), dictionary)
                found.setdefault(fact, {})[int(rounds[row])] = int(numbers[row])
    for fact in facts_of(counts.facts.columns(legal=False), dictionary):
        found.setdefault(fact, {0: 1})
    return found


def assert_births(counts: DerivationCounts) -> None:
    """A fact is born in its first round, and holds if it is born at all."""
    for component in counts.components:
        for predicate, births in component.births.items():
            keys, rounds = births.rows()
            assert np.array_equal(keys, counts.facts.keys(predicate))
            assert np.array_equal(rounds, component.counts[predicate].next_after(keys, -1))
            assert (births.of(keys[::-1].copy()) == rounds[::-1]).all()
            assert births.of(keys + np.uint64(1 << 60)).tolist() == [NEVER] * keys.size


def rules_of(compiled: CompiledProgram) -> list[CompiledRule]:
    return [rule for rule in compiled.rules if rule.heads]


def assert_counted(history: History, programs: Sequence[Program]) -> None:
    """After each step the counts are those from scratch, and those of the oracle."""
    dictionary = TermDictionary()
    compiled = CompiledProgram(programs[0], dictionary)
    counts = DerivationCounts(dictionary)
    for facts, program in zip(history, programs, strict=True):
        compiled = compiled.changed(program).program
        explicit = load(facts, dictionary)
        counts.change(rules_of(compiled), explicit)
        assert_births(counts)
        anew = DerivationCounts(dictionary)
        anew.change(rules_of(CompiledProgram(program, dictionary)), explicit)
        found = counted(counts, dictionary)
        assert found == counted(anew, dictionary)
        assert found == weights(facts, program)
        assert facts_of(counts.facts.columns(legal=False), dictionary) == found.keys()


texts = [text for text in kinds.POSITIVE if text not in kinds.LISTS + kinds.VALUES]
special = st.one_of(some.rules_with_filter(), some.rules_with_bind(), some.positive_rules())
changing = st.one_of(
    histories_of_rules(some.fact_sets, some.programs()),
    histories_of_rules(some.number_fact_sets, some.programs(special)),
    histories_of_rules(kinds.fact_sets, kinds.programs_of(*texts, least=2, most=5)),
)


def written(*states: tuple[str, str]) -> tuple[History, list[Program]]:
    """Facts, such as ``a p b, b p c``, and rules."""

    def facts(text: str) -> frozenset[Fact]:
        triples = (part.split() for part in text.split(",") if part)
        return frozenset((IRI(EXAMPLE + s), IRI(EXAMPLE + p), IRI(EXAMPLE + o)) for s, p, o in triples)

    return [facts(text) for text, _ in states], [parse_program(kinds.PREFIX + rules) for _, rules in states]


SYMMETRY = "[?y, :q, ?x] :- [?x, :q, ?y] ."
PATHS = "[?x, :q, ?z] :- [?x, :q, ?y], [?y, :q, ?z] ."
COPIES = "[?x, :q, ?y] :- [?x, :p, ?y] ."
BACK = "[?x, :p, ?y] :- [?x, :q, ?y] ."

MUTUAL = written(("a q b", SYMMETRY), ("a q b, b q a", SYMMETRY), ("b q a", SYMMETRY), ("", SYMMETRY))
"""Each of two facts derives the other: both go with the last that is given."""

CYCLE = written(
    ("a q b, b q c, c q a, a q d", PATHS),
    ("a q b, b q c, c q a", PATHS),
    ("a q b, b q c", PATHS),
    ("a q b, b q c, c q b", PATHS),
)
"""Facts of a cycle are born later, or never, when an edge goes."""

MERGED = written(
    ("a p b", COPIES), ("a p b", COPIES + BACK), ("a p b", BACK), ("", COPIES + BACK), ("a q b", "")
)
"""Two predicates become one component, and part again."""

TWICE = written(
    ("a p b", COPIES + COPIES), ("a p b", COPIES), ("a p b, a q b", COPIES + COPIES), ("a p b", ""),
)  # fmt: skip
"""The same rule twice counts once."""

HEADS = written(
    ("a p b", "[?x, :q, ?y], [?x, :q, ?y], [:c, :r, :c], [?y, :p, ?x] :- [?x, :p, ?y] ."),
    ("b p a, c r c", "[?x, :q, ?y], [?x, :q, ?y], [:c, :r, :c], [?y, :p, ?x] :- [?x, :p, ?y] ."),
    ("", "[?x, :q, ?y], [?x, :q, ?y], [:c, :r, :c], [?y, :p, ?x] :- [?x, :p, ?y] ."),
)
"""Several heads in several components, two of them equal."""

OPEN = written(
    ("a p a, p p q", "[?x, ?y, ?z] :- [?x, ?z, ?z], [?z, ?y, ?x] ."),
    (
        "a p a, p p p, p q p",
        "[?x, ?y, ?z] :- [?x, ?z, ?z], [?z, ?y, ?x] . [?x, ?p, ?y] :- [?p, :q, ?q], [?x, ?q, ?y] .",
    ),
    ("p p p, a p p", "[?x, ?p, ?y] :- [?p, :q, ?q], [?x, ?q, ?y] . [:a, :q, :a] ."),
    ("a p p", COPIES),
)
"""Variables for predicates, and repeated ones; a rule without body; then the one component falls apart."""


@thorough(300)
@given(changing)
@example(MUTUAL)
@example(CYCLE)
@example(MERGED)
@example(TWICE)
@example(HEADS)
@example(OPEN)
def test_counts_are_those_from_scratch(both: tuple[History, list[Program]]) -> None:
    assert_counted(*both)


def test_facts_that_derive_each_other_die() -> None:
    history, programs = MUTUAL
    assert weights(history[0], programs[0]) == {
        next(iter(history[0])): {0: 1, 2: 1},
        next(iter(history[2])): {1: 1},
    }
    assert_counted(*MUTUAL)
