"""Few removed facts, followed one by one."""

from __future__ import annotations

import pytest
from rdflib import RDFS, XSD, Graph, Literal, URIRef
from tests.maintain.histories import assert_exact, follow
from tests.maintain.test_levels import facts
from tests.modules import kinds

from corollary.columns import Delta
from corollary.language import parse_program
from corollary.maintain import one_by_one, transaction
from corollary.maintain.one_by_one import FewDeletions
from corollary.store import CorollaryStore

PROGRAMS = {
    "a cycle keeps nothing": (
        "[?y, :q, ?x] :- [?x, :q, ?y], [?y, :s, ?z] . [?x, :q, ?y] :- [?x, :p, ?y] .",
        "a p b, b s b, a s a",
        "a p b",
    ),
    "two facts of a path prove each other, and one has another proof": (
        "[?x, :q, ?y] :- [?x, :p, ?y], [?y, :s, ?z] . [?x, :t, ?y] :- [?x, :q, ?y] ."
        "[?x, :q, ?y] :- [?x, :t, ?y], [?x, :r, ?z] .",
        "a p b, b s b, a r b, c p b, c r b, a t b",
        "b s b",
    ),
    "a join whose other premise is deleted later": (
        "[?x, :q, ?z] :- [?x, :p, ?y], [?y, :r, ?z] . [?x, :s, ?y] :- [?x, :q, ?y], [?y, :q, ?z] ."
        "[?x, :t, ?y] :- [?x, :s, ?y] . [?x, :t, ?y] :- [?y, :p, ?x] .",
        "a p b, b r c, c p b, b r b, b p a",
        "b r c",
    ),
}


@pytest.mark.parametrize("name", PROGRAMS)
@pytest.mark.parametrize("most", ["MAX_FACTS_DELETED_ONE_BY_ONE", "MAX_FACTS_PROVED_ONE_BY_ONE", ""])
def test_each_fact_goes_and_comes(monkeypatch: pytest.MonkeyPatch, name: str, most: str) -> None:
    """Also where the transaction goes on with all candidates, after one fact was followed."""
    rules, before, gone = PROGRAMS[name]
    if most:
        monkeypatch.setattr(one_by_one, most, 1)
    states = [facts(before), facts(before) - facts(gone), facts(before)]
    states += [
        state for fact in sorted(facts(before), key=str) for state in (facts(before) - {fact}, states[0])
    ]
    assert_exact(states, parse_program(kinds.PREFIX + rules))


def test_what_is_followed_one_by_one_is_not_followed_again(monkeypatch: pytest.MonkeyPatch) -> None:
    """b r c goes, with two facts each of q, s and t."""
    followed: list[int] = []
    decide = FewDeletions.follow

    def noted(self: FewDeletions, candidates: Delta) -> None:
        decide(self, candidates)
        followed.append(len(self.lost))

    monkeypatch.setattr(FewDeletions, "follow", noted)
    monkeypatch.setattr(transaction._Transaction, "_delete", lambda *_: pytest.fail("all at once"))
    rules, before, gone = PROGRAMS["a join whose other premise is deleted later"]
    program = parse_program(kinds.PREFIX + rules)
    states = [facts(before), facts(before) - facts(gone)]
    assert len(list(follow(states, [program, program], "backward/forward"))) == 2
    assert followed == [7]


def test_a_free_predicate_matches_no_virtual_relation() -> None:
    """Every predicate is a property under rdfs, but VALUE of a literal is none."""
    graph = Graph(CorollaryStore(rules="rdfs"))
    one, property_, integer = URIRef("urn:a"), URIRef("urn:p"), Literal("1", datatype=XSD.integer)
    states = []
    for value in (Literal("1"), integer):
        graph.add((property_, RDFS.range, value.datatype or XSD.string))
        graph.add((one, property_, value))
        states.append({*graph})
    graph.remove((one, property_, integer))
    assert {*graph} <= states[1]
    graph.add((one, property_, integer))
    assert {*graph} == states[1]
