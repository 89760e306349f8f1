"""Histories as in ``test_transactions``, where every closure is compressed that may be."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.compression import compress_all
from tests.evaluate.test_against_naive import is_stratified
from tests.few_rows import followed_together
from tests.maintain.histories import (
    History,
    assert_exact,
    follow,
    histories,
    histories_of_rules,
    same_visible,
)
from tests.maintain.test_transactions import CLIQUES, ontologies, written
from tests.modules import kinds, test_equality, test_linear
from tests.strategies import EXAMPLE, thorough

from corollary.columns import Delta
from corollary.language import IRI, Program, parse_program
from corollary.maintain.deletion import FALLBACK
from corollary.maintain.deletion.backward_forward import BackwardForward
from corollary.maintain.deletion.prover import Prover
from corollary.profiles import load_profile
from corollary.reasoner import Reasoner

BACKWARD_FORWARD = BackwardForward.name
RDF_TYPE = "<http://www.w3.org/1999/02/22-rdf-syntax-ns#type>"
TRANSITIVE = "<http://www.w3.org/2002/07/owl#TransitiveProperty>"


@pytest.fixture(autouse=True, scope="module", params=["intervals", "bits", "beside"])
def compressing(request: pytest.FixtureRequest) -> Iterator[str]:
    """Compress closures of a few pairs, as larger ones are."""
    with pytest.MonkeyPatch.context() as patch:
        compress_all(patch, request.param)
        yield str(request.param)


@thorough(100)
@given(histories(kinds.fact_sets), kinds.positive_programs)
def test_modules_feed_each_other(history: History, program: Program) -> None:
    assert_exact(history, program)


@thorough(200)
@given(histories(test_linear.graphs_closed_twice), test_linear.programs_closing_twice)
def test_a_linear_rule_extends_what_is_compressed(history: History, program: Program) -> None:
    assert_exact(history, program)


@thorough(50)
@given(histories_of_rules(test_linear.graphs_closed_twice, test_linear.programs_closing_twice))
def test_rules_of_two_closures_come_and_go(drawn: tuple[History, list[Program]]) -> None:
    assert_exact(*drawn)


@thorough(30)
@given(histories(kinds.fact_sets), kinds.programs_with_not.filter(is_stratified))
def test_modules_and_negation(history: History, program: Program) -> None:
    assert_exact(history, program)


@thorough(50)
@given(histories_of_rules(kinds.fact_sets, kinds.positive_programs))
def test_rules_come_and_go(drawn: tuple[History, list[Program]]) -> None:
    assert_exact(*drawn)


@thorough(75)
@given(histories(test_equality.fact_sets), test_equality.programs)
def test_copies_come_and_go(history: History, program: Program) -> None:
    assert_exact(history, program)


@thorough(50)
@given(st.data(), histories(test_equality.fact_sets))
def test_rules_of_copies_come_and_go(data: st.DataObject, history: History) -> None:
    assert_exact(history, [data.draw(test_equality.partial) for _ in history])


@thorough(50)
@given(histories(kinds.fact_sets), kinds.positive_programs)
def test_closures_are_listed_by_intervals(history: History, program: Program) -> None:
    with pytest.MonkeyPatch.context() as patch:
        compress_all(patch, "lists")
        assert_exact(history, program)


@pytest.mark.parametrize("rules", ["rdfs-plus", "owl2rl"])
@thorough(20)
@given(histories(ontologies), st.booleans())
def test_ontologies(rules: str, history: History, is_listed: bool) -> None:
    with pytest.MonkeyPatch.context() as patch:
        if is_listed:
            compress_all(patch, "lists")
        assert_exact(history, load_profile(rules), same_visible)


PROVED_ELSEWHERE = written(
    CLIQUES
    + """
    [?x, :same, ?y] :- [?z, :q, ?x], [?z, :q, ?y] .
    """,
    "a same a, a q p, b q p, c same a",
    "a same a, b q p",
    "a same a, a q p, b q p, c same a",
)
"""Once lost: p same p is of another rule, and of the closure again when more comes."""

COPIES = written(
    """
    [?x, ?p, ?z] :- [?p, :is, :transitive], [?x, ?p, ?y], [?y, ?p, ?z] .
    [?y, ?p, ?x] :- [?p, :is, :symmetric], [?x, ?p, ?y] .
    [?x, :over, ?y] :- [?x, :p, ?y] .
    """,
    "p is transitive, p is symmetric, a p b, b p c, c p d",
    "p is transitive, p is symmetric, a p b, c p d",
    "p is transitive, p is symmetric, over is transitive, a p b, b p c, c p d, d p e",
    "p is transitive, over is transitive, a p b, c p d, d p e",
)
"""The inverses and the copies of what is compressed."""


COPIED = written(
    """
    [?x, :p, ?z] :- [?x, :p, ?y], [?y, :p, ?z] .
    [?x, :p, ?y] :- [?x, :q, ?y] .
    [?y, :p, ?x] :- [?x, :r, ?y] .
    """,
    "a q b, b q c, c q d, d r a, a p c",
    "a q b, c q d, d r a, a p c",
    "a q b, c q d, c r a, a p c",
    "a q b, c q d, c r a, a q c",
    "a q b, c q d, c r a",
)
"""Facts that are copied to what is compressed: some are explicit too, or follow by a path as well."""

LOST = written(
    """
    [?x, ?p, ?z] :- [?p, :is, :transitive], [?x, ?p, ?y], [?y, ?p, ?z] .
    [?y, ?p, ?x] :- [?p, :is, :symmetric], [?x, ?p, ?y] .
    [?x, ?q, ?y] :- [?p, :under, ?q], [?x, ?p, ?y] .
    """,
    "p is transitive, over is transitive, c p b, f p d, a p e, b p f, a over b, b over c",
    "p is transitive, over is transitive, f p d, a p e, b p f, a over b, b over c",
    "p is transitive, over is transitive, p is symmetric, f p d, a p e, b p f, a over b, b over c",
    "p is transitive, over is transitive, f p d, a p e, b p f, a over b, b over c",
    "p is transitive, over is transitive, p under over, f p d, a p e, b p f, a over b, b over c",
)
"""Once back: facts that a compressed relation had lost, as copies of its generators."""

CLOSED_NO_MORE = written(
    """
    [?x, ?p, ?z] :- [?p, :is, :transitive], [?x, ?p, ?y], [?y, ?p, ?z] .
    [?x, ?q, ?y] :- [?p, :under, ?q], [?x, ?p, ?y] .
    """,
    "p is transitive, q is transitive, a p b, b p c, d q e, e q f",
    "p is transitive, q is transitive, a p b, b p c, d q e, e q f, d q f",
    "p is transitive, a p b, b p c, d q e, e q f, d q f",
    "p is transitive, p under q, a p b, b p c, d q e, e q f, d q f",
)
"""Once missing: a q c, because what was compressed was taken to be closed."""


STATED = written(
    "[?x, :p, ?z] :- [?x, :p, ?y], [?y, :p, ?z] .",
    "a p b, b p c, c p d, d p e",
    "a p b, b p c, c p d, d p e, b p d",
    "a p b, c p d, d p e, b p d",
    "a p b, c p d, d p e, b p d, f p f",
)
"""Once lost: a p d, whose edge b p d followed before it was stated."""

STATED_INVERSE = written(
    """
    [?y, :p, ?x] :- [?x, :p, ?y] .
    [?x, :p, ?z] :- [?x, :p, ?y], [?y, :p, ?z] .
    """,
    "a p b, b p c, c p d",
    "a p b, b p c, c p d, c p b",
    "a p b, c p d, c p b, e p f",
)
"""Once lost: all between a and d, whose edge c p b followed before it was stated."""


COPIED_AGAIN = written(
    CLIQUES
    + """
    [?y, ?p, ?o] :- [?x, :same, ?y], [?x, ?p, ?o] .
    [?s, ?p, ?y] :- [?s, ?p, ?x], [?x, :same, ?y] .
    """,
    "a same b, a p c, d p e",
    "a same b, a p c",
    "a same b, a p c, b p f",
    "a same b, a p c, b p f, d p e, d same a",
    "a same b, a p c, b p f, d p e",
)
"""A fact without copies is lost from what is compressed, before more copies come."""


COPY_STAYS = written(
    """
    [?x, :p, ?z] :- [?x, :p, ?y], [?y, :p, ?z] .
    [?x, :q, ?z] :- [?x, :p, ?y], [?y, :r, ?z] .
    [?x, :r, ?z] :- [?x, :q, ?y], [?y, :r, ?z] .
    [?x, ?q, ?y] :- [?p, :under, ?q], [?x, ?p, ?y] .
    """,
    "a r c, a r e, d p b, q under p, r under q",
    "a r c, q under p, r under q",
)
"""Once lost: a p c, a copy that stays; the module that copies had named another copy, which goes."""


EDGES_OF_ANOTHER = written(
    """
    [?x, ?p, ?z] :- [?p, :is, :transitive], [?x, ?p, ?y], [?y, ?p, ?z] .
    [?x, :p, ?z] :- [?x, :q, ?y], [?y, :p, ?z] .
    [?x, :q, ?y] :- [?x, :v, ?z], [?z, :w, ?y] .
    """,
    "p is transitive, a p a, b v c, c w a",
    "p is transitive, a p a, b v c, c w a, d v e, e w b",
    "p is transitive, a p a, b v c, d v e, e w b",
)
"""Once missing: b p a, by the edge b q a, which comes when p is compressed already."""

PROVED_BY_EDGES = written(
    """
    [?x, ?p, ?z] :- [?p, :is, :transitive], [?x, ?p, ?y], [?y, ?p, ?z] .
    [?x, :p, ?z] :- [?x, :p, ?y], [?y, :q, ?z] .
    """,
    "p is transitive, a p a, a p b, b q a",
    "p is transitive, a p b, b q a",
)
"""Once lost: a p a, which follows from a p b by the edge b q a."""


PROVED_LATER = written(
    """
    [?x, :p, ?z] :- [?x, :p, ?y], [?y, :p, ?z] .
    [?x, :p, ?y] :- [?x, :v, ?y] .
    [?x, :v, ?y] :- [?x, :p, ?z], [?z, :m, ?y] .
    """,
    "a p b, a p c, c m b, b p d, e p f",
    "a p c, c m b, b p d, e p f",
    "a p c, b p d, e p f",
    "a p c, c m b, e p f",
)
"""a p b stays by a v b, which is not proved when a p b is decided."""


AMONG_COPIES = written(
    CLIQUES
    + """
    [?y, ?p, ?o] :- [?x, :same, ?y], [?x, ?p, ?o] .
    [?s, ?p, ?y] :- [?x, :same, ?y], [?s, ?p, ?x] .
    [?x, :q, ?y] :- [?x, :r, ?y] .
    """,
    "b same d, f r b, f r f, f q f",
    "b same d, f r b, f r f",
    "b same d, f r b",
)
"""Once lost: f q f, which still follows from f r f, and has no copies among those that are compressed."""


@pytest.mark.parametrize(
    "case",
    [
        AMONG_COPIES,
        EDGES_OF_ANOTHER,
        PROVED_BY_EDGES,
        PROVED_LATER,
        COPY_STAYS,
        COPIED_AGAIN,
        PROVED_ELSEWHERE,
        COPIES,
        COPIED,
        LOST,
        CLOSED_NO_MORE,
        STATED,
        STATED_INVERSE,
    ],
)
def test_cases(case: tuple[History, Program]) -> None:
    assert_exact(*case)


CLOSED = "[?x, :p, ?z] :- [?x, :p, ?y], [?y, :p, ?z] ."
GUARDED = "[?x, ?p, ?z] :- [?p, :is, :transitive], [?x, ?p, ?y], [?y, ?p, ?z] ."
PATH = "a p b, b p c, c p d"
ANOTHER = "[?x, :p, ?z] :- [?x, :w, ?y], [?y, :w, ?z] ."
COPYING = "[?x, :p, ?y] :- [?x, :q, ?y] ."
GUARDED_SYMMETRIC = "[?y, ?p, ?x] :- [?p, :is, :symmetric], [?x, ?p, ?y] ."
TWICE = "p is transitive, p is symmetric"
AROUND = "[?x, :v, ?y] :- [?x, :p, ?y], [?x, :m, ?y] . [?x, :p, ?y] :- [?x, :v, ?y] ."
"""Facts that may be lost derive others, from which they follow."""
DERIVED = "loses facts that other rules derive too"


SYMMETRIC = "[?y, :p, ?x] :- [?x, :p, ?y] ."
INVERSE = """
    [?x, :q, ?z] :- [?x, :q, ?y], [?y, :q, ?z] .
    [?y, :q, ?x] :- [?x, :p, ?y] . [?y, :p, ?x] :- [?x, :q, ?y] .
"""
some_edges = st.frozensets(
    st.tuples(
        *(
            st.sampled_from([IRI(EXAMPLE + name) for name in names])
            for names in ("abcdef", "ppppqw", "abcdef")
        )
    ),
    max_size=14,
)


@thorough(150)
@given(histories(some_edges), st.lists(st.sampled_from((SYMMETRIC, INVERSE, ANOTHER, COPYING)), max_size=2))
def test_edges_come_and_go(history: History, more: list[str]) -> None:
    """Explicit edges that follow too, are removed, and follow still or no more."""
    assert_exact(history, parse_program(kinds.PREFIX + "".join((CLOSED, *more))))


@pytest.mark.parametrize(
    ("rules", "before", "after", "strategy", "reason"),
    [
        (CLOSED, PATH, "a p b, c p d", BACKWARD_FORWARD, ""),
        (CLOSED, PATH, "a p b, c p d", "dred", "loses facts"),
        (GUARDED, f"p is transitive, {PATH}", PATH, BACKWARD_FORWARD, "is closed no more"),
        (
            GUARDED + "[?x, :over, ?y] :- [?x, :p, ?y] .",
            f"p is transitive, over is transitive, {PATH}",
            "p is transitive, over is transitive, a p b, c p d",
            BACKWARD_FORWARD,
            "loses facts that were copied",
        ),
        (CLOSED + ANOTHER, f"{PATH}, a w e, e w d", "a p b, c p d, a w e, e w d", BACKWARD_FORWARD, ""),
        (CLOSED + ANOTHER, PATH, "a p b, c p d", BACKWARD_FORWARD, ""),
        (CLOSED + COPYING, f"{PATH}, a q d", "a p b, c p d, a q d", BACKWARD_FORWARD, ""),
        (GUARDED + GUARDED_SYMMETRIC, f"{TWICE}, {PATH}", f"{TWICE}, a p b, c p d", BACKWARD_FORWARD, ""),
        (
            GUARDED + GUARDED_SYMMETRIC,
            f"{TWICE}, {PATH}, d p a, b p c",
            f"{TWICE}, a p b, c p d, d p a",
            BACKWARD_FORWARD,
            "",
        ),
        (CLOSED + AROUND, f"{PATH}, a m d", "a p b, c p d, a m d", BACKWARD_FORWARD, DERIVED),
        (CLOSED + COPYING, f"{PATH}, a q b", "a p b, c p d, a q b", BACKWARD_FORWARD, ""),
    ],
)
def test_when_it_starts_over(
    compressing: str, rules: str, before: str, after: str, strategy: str, reason: str
) -> None:
    """Other rules count only if facts match their bodies; of copies, only those of facts that are lost.

    What is listed beside a closure is followed as any facts.
    """
    history, program = written(rules, before, after)
    if compressing == "beside":
        assert_exact(history, program)
        return
    (_, _), (_, report) = follow(history, [program] * 2, strategy)
    assert report.reason == (f"a closure too large to list {reason}" if reason else "")
    assert report.strategy == (FALLBACK.name if reason else strategy)
    assert_exact(history, program)


CYCLES = {
    "a search proves what the closure starts from": (
        """
        [?y, :t, ?x] :- [?x, :t, ?y] .
        [?x, :t, ?y] :- [?x, :s, ?z], [?z, :p, ?y] .
        [?x, :t, ?y] :- [?x, :p, ?y] .
        [?x, :s, ?y] :- [?x, :t, ?z], [?z, :p, ?y] .
        [?x, :s, ?y] :- [?x, :q, ?z], [?z, :s, ?y] .
        """,
        "a p a, a p b, b p a, b p b, b q a",
        "a p a, b q a",
    ),
    "facts on a path are proved later": (
        """
        [?y, :t, ?x] :- [?x, :t, ?y] .
        [?x, :t, ?y] :- [?x, :p, ?y], [?x, :r, ?z] .
        [?x, :s, ?y] :- [?x, :t, ?y], [?y, :q, ?z] .
        [?x, :s, ?y] :- [?x, :q, ?y], [?y, :m, ?z] .
        [?x, :r, ?y] :- [?x, :p, ?z], [?z, :s, ?y] .
        """,
        "a p b, a p d, b m d, c p b, c p d, d p d, d q b",
        "a p d, b m d, c p b, c p d, d p d, d q b",
    ),
    "a search proves candidates of the next one": (
        """
        [?x, :t, ?y] :- [?x, :u, ?z], [?z, :u, ?y] .
        [?x, :t, ?y] :- [?x, :p, ?y], [?x, :r, ?z] .
        [?x, :s, ?y] :- [?x, :u, ?y], [?y, :q, ?x] .
        [?x, :r, ?y] :- [?x, :t, ?z], [?z, :q, ?y] .
        [?x, :u, ?y] :- [?x, :q, ?y], [?y, :q, ?z] .
        [?x, :u, ?y] :- [?x, :p, ?z], [?z, :r, ?y] .
        [?x, :u, ?y] :- [?y, :s, ?x] .
        """,
        "a p a, a q b, b q a, b q b",
        "a q b, b q a, b q b",
    ),
}
"""Rules about :t, which is closed, and what is searched depends on; facts before and after some go."""


@pytest.mark.parametrize("case", CYCLES)
def test_a_closure_depends_on_what_is_searched(monkeypatch: pytest.MonkeyPatch, case: str) -> None:
    """No fact is searched for again that was proved: proved facts are kept once, and counted."""
    search = Prover.unproved

    def checked(self: Prover, candidates: Delta, *others: Any) -> Delta:
        assert not candidates & self.proved
        return search(self, candidates, *others)

    followed_together(monkeypatch)
    monkeypatch.setattr(Prover, "unproved", checked)
    rules, before, after = CYCLES[case]
    assert_exact(*written("[?x, :t, ?z] :- [?x, :t, ?y], [?y, :t, ?z] ." + rules, before, after))


@pytest.mark.parametrize("after", ["a p b, c p d", "a p b, b p c", "d p a, b p c", "a q b"])
def test_nothing_is_searched_if_only_inverses_follow(monkeypatch: pytest.MonkeyPatch, after: str) -> None:
    """A symmetric, transitive property that depends on no other: its facts start from explicit ones."""
    followed_together(monkeypatch)
    monkeypatch.setattr(Prover, "unproved", None)
    history, program = written(
        GUARDED + GUARDED_SYMMETRIC, *(f"{TWICE}, {e}" for e in (f"{PATH}, d p a", after))
    )
    assert_exact(history, program)


def test_what_is_left_is_closed_both_ways_once_a_rule_says_so() -> None:
    """Once lost: b p a. The same edges had been left before, and closed one way."""
    states = (PATH, "a p b, b p c", PATH, "a p b, b p c")
    history, one_way = written(CLOSED + COPYING, *(state.replace("c p d", "c q d") for state in states))
    _, both_ways = written(CLOSED + COPYING + SYMMETRIC, PATH)
    assert_exact(history, [one_way, one_way, both_ways, both_ways])


def test_it_starts_over_if_a_rule_goes() -> None:
    history, closed = written(CLOSED, PATH, PATH)
    _, open_ = written("", PATH)
    for programs in ([closed, open_], [open_, closed]):
        assert_exact(history, programs)
    (_, _), (_, report) = follow(history, [closed, open_], BACKWARD_FORWARD)
    assert report.reason == "a closure too large to list loses a rule"


def test_what_is_compressed_is_verified() -> None:
    reasoner = Reasoner("rdfs-plus")
    reasoner.add(*((f"<n:{i}>", "<n:p>", f"<n:{i + 1}>") for i in range(4)))
    reasoner.add(("<n:p>", RDF_TYPE, TRANSITIVE))
    result = reasoner.materialise()
    assert result is not None
    assert any(relation.is_compressed for _, relation in result.index.relations())
    assert reasoner.verify().is_sound
