"""Histories of facts and rules, followed by every strategy and compared with naive evaluation step by step.

What is compared: all facts, which of them are explicit, every relation by subject and by object, the
directories of open patterns; and the state before a step is still what it was.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from copy import copy
from dataclasses import replace
from functools import lru_cache

import numpy as np
from hypothesis import strategies as st
from tests.engine import Fact, facts_of, load
from tests.evaluate.test_against_naive import by_value
from tests.few_rows import joined_by_columns
from tests.modules.meaning import ground
from tests.oracles import naive
from tests.oracles.integers import INTEGERS

from corollary.columns import TripleIndex
from corollary.columns.delta import Delta
from corollary.columns.pairs import Pairs, firsts, pack, seconds
from corollary.evaluate import MaterialisedView, materialise
from corollary.language import Not, Program, Rule
from corollary.maintain import AUTOMATIC, Report, deletion, maintain
from corollary.terms.dictionary import TermDictionary

History = list[frozenset[Fact]]
"""Sets of explicit facts, one after the other."""

Agreement = Callable[[set[Fact], set[Fact]], bool]
"""Whether the facts found are those wanted."""

FOLLOWING = tuple(name for name in deletion.STRATEGIES if name != deletion.FALLBACK.name)

MIXED = "mixed"
"""Another strategy in every step: what one leaves in the modules, the next one finds."""

TURNS = (AUTOMATIC, *reversed(FOLLOWING))
"""The strategies that are mixed. The cost model hardly ever chooses another one than the last of these."""

STRATEGIES = (*FOLLOWING, MIXED)
"""Starting over is what the others are compared with."""

compared: Counter[str] = Counter()
"""How many states after a step were compared, by what was done."""


@st.composite
def histories(draw: st.DrawFn, facts: st.SearchStrategy[frozenset[Fact]]) -> History:
    """Each time some facts go and some come, or the last step is undone."""
    pool = sorted(draw(facts) | draw(facts), key=str)
    if not pool:
        return [frozenset()]
    few = st.frozensets(st.sampled_from(pool), max_size=max(2, len(pool) // 3))
    one = st.frozensets(st.sampled_from(pool), max_size=1)
    change: st.SearchStrategy[frozenset[Fact]] = st.one_of(st.just(frozenset()), one, few, few)
    history = [frozenset(pool) - draw(change)]
    for _ in range(draw(st.integers(2, 5))):
        is_undone = len(history) > 1 and draw(st.integers(0, 5)) == 0
        history.append(history[-2] if is_undone else history[-1] - draw(change) | draw(change))
    return history


@st.composite
def histories_of_rules(
    draw: st.DrawFn, facts: st.SearchStrategy[frozenset[Fact]], rules: st.SearchStrategy[Program]
) -> tuple[History, list[Program]]:
    """Facts and rules that come and go together."""
    history = draw(histories(facts))
    pool = (*draw(rules).rules, *draw(rules).rules)
    numbers = st.frozensets(st.sampled_from(range(len(pool))))
    return history, [Program(tuple(pool[i] for i in sorted(draw(numbers)))) for _ in history]


def same(found: set[Fact], wanted: set[Fact]) -> bool:
    return found == wanted


def same_values(found: set[Fact], wanted: set[Fact]) -> bool:
    """However a number is written."""
    return by_value(found) == by_value(wanted)


def same_visible(found: set[Fact], wanted: set[Fact]) -> bool:
    """What RDF allows; of what it does not allow the engine derives only what can show."""
    return naive.visible(found) == naive.visible(wanted) and found <= wanted


def assert_exact(
    history: History,
    program: Program | Sequence[Program],
    agree: Agreement = same,
    wanted: Sequence[set[Fact]] | None = None,
    suspended: Sequence[set[Rule]] | None = None,
    also: Callable[[MaterialisedView], bool] = lambda result: True,
    between: Callable[[MaterialisedView], MaterialisedView] = lambda result: result,
) -> None:
    """Under every strategy the state after each step is the naive evaluator's, unless another is wanted.

    No rules are ``suspended``, or those given. What is ``also`` asked of a state holds. ``between`` steps the
    state is replaced. In half of the histories few rows are joined by columns.
    """
    programs = [program] * len(history) if isinstance(program, Program) else program
    if wanted is None:
        wanted = [closure(facts, rules) for facts, rules in zip(history, programs, strict=True)]
    for strategy in STRATEGIES:
        with joined_by_columns(sum(map(len, history)) % 2 == 0):
            for step, (result, report) in enumerate(follow(history, programs, strategy, between)):
                assert_state(result, report, history[step], wanted[step], agree)
                left_out = set() if suspended is None else suspended[step]
                assert {found.rule for found in result.suspended} == left_out, report
                assert also(result), report
                compared[report.strategy] += step > 0


@lru_cache(10_000)
def closure(facts: frozenset[Fact], program: Program) -> set[Fact]:
    """The naive evaluator's answer. Histories return to states, and some tests share their histories."""
    return naive.closure(facts, program, INTEGERS)[0]


def follow(
    history: History,
    programs: Sequence[Program],
    strategy: str,
    between: Callable[[MaterialisedView], MaterialisedView] = lambda result: result,
) -> Iterator[tuple[MaterialisedView, Report]]:
    """The state at first, and after each step."""
    dictionary = TermDictionary()
    result = between(materialise(load(history[0], dictionary), programs[0], dictionary))
    yield result, Report("materialised")
    for step, (explicit, following, program) in enumerate(
        zip(history, history[1:], programs[1:], strict=False)
    ):
        before, columns = result, facts_by_id(result)
        # made before the change, the directories have to follow it
        result.engine.fixpoint.index.predicates_of_subjects()
        result.engine.fixpoint.index.predicates_of_objects()
        removed, added = keys(explicit - following, dictionary), keys(following - explicit, dictionary)
        chosen = TURNS[step % len(TURNS)] if strategy == MIXED else strategy
        result, report = maintain(result, load(following, dictionary), removed, added, chosen, program)
        result = between(result)
        yield result, report
        assert facts_by_id(before) == columns, "what was there before is changed"


def keys(facts: frozenset[Fact], dictionary: TermDictionary) -> Delta:
    """Facts as a set of ids."""
    return Delta.of(load(facts, dictionary))


def facts_by_id(result: MaterialisedView) -> list[list[int]]:
    return [column.tolist() for column in apart(result.index).columns(legal=False)]


def apart(index: TripleIndex) -> TripleIndex:
    """The same facts: reading relations folds their overlays, and those of the index are to stay."""
    return TripleIndex({predicate: copy(index.relation(predicate)) for predicate in index.all_predicates()})


def assert_state(
    result: MaterialisedView, report: Report, explicit: frozenset[Fact], wanted: set[Fact], agree: Agreement
) -> None:
    """Facts, which of them are explicit, and schema, both orders of every relation, and both directories."""
    index = apart(result.index)
    found = facts_of(index.columns(legal=False), result.dictionary)
    assert agree(found, wanted), f"{found - wanted} too many, {wanted - found} missing\n{report}"
    assert facts_of(result.explicit.columns(legal=False), result.dictionary) == explicit, report
    assert result.index.fact_count() == len(found), report
    guards, kept = result.engine.schema.of(index), result.engine.guards(result.index)
    assert not guards - kept and not kept - guards, report
    for relations in index.relations(), result.explicit.relations():
        for _, there in relations:
            pairs = there.pairs()
            inverse = pack(seconds(pairs.by_object), firsts(pairs.by_object))
            assert np.array_equal(np.sort(inverse), pairs.keys), report
    subjects, predicates, objects = index.columns(legal=False)
    for directory, ends in (
        (result.index.predicates_of_subjects(), subjects),
        (result.index.predicates_of_objects(), objects),
    ):
        assert np.array_equal(directory.pairs().keys, Pairs.of(pack(ends, predicates)).keys), report


def closure_judged_by(model: set[Fact], facts: frozenset[Fact], program: Program) -> set[Fact]:
    """All that follows where what is not in the model is taken for false."""
    known, absent = naive.Facts(facts, INTEGERS), naive.Facts(model, INTEGERS)
    split = [
        (
            replace(rule, body=tuple(element for element in rule.body if not isinstance(element, Not))),
            [element.atoms for element in rule.body if isinstance(element, Not)],
        )
        for rule in program
    ]
    while True:
        derived = {
            ground(head, binding)
            for rule, negated in split
            for binding in naive.solutions(rule, known)
            if not any(True for atoms in negated for _ in naive.solve(atoms, absent, binding, set()))
            for head in rule.heads
        }
        if derived <= known.all:
            return known.all
        known.add(derived - known.all)
