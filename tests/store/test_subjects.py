"""Facts by subject, and the views that come to use them: the same facts as from the index, in any order."""

from __future__ import annotations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st
from rdflib import Graph, Literal, Namespace

from corollary.columns import TripleIndex
from corollary.reasoner.state import View
from corollary.reasoner.subjects import BySubject
from corollary.store import CorollaryStore
from corollary.terms.dictionary import FIRST_LITERAL, KIND_SHIFT, Kind

EX = Namespace("http://example.org/")

PREDICATES = [1, 2, Kind.BLANK_NODE << KIND_SHIFT]
ENDS = [0, 1, 2, 3, FIRST_LITERAL - 1, FIRST_LITERAL, FIRST_LITERAL + 1]

facts = st.tuples(st.sampled_from(ENDS), st.sampled_from(PREDICATES), st.sampled_from(ENDS))
fact_sets = st.sets(facts, max_size=30)


def index_of(facts: set[tuple[int, int, int]]) -> TripleIndex:
    columns = np.array(sorted(facts), np.uint32).reshape(-1, 3).T
    return TripleIndex.from_columns(*map(np.ascontiguousarray, columns))


@given(fact_sets)
def test_every_subject_has_its_facts(facts: set[tuple[int, int, int]]) -> None:
    by_subject = BySubject(index_of(facts))
    for subject in [*ENDS, 7]:
        assert sorted(by_subject.facts_of(subject)) == sorted(fact for fact in facts if fact[0] == subject)


@given(fact_sets, fact_sets, fact_sets)
@settings(deadline=None)
def test_a_view_hides_what_rdf_does_not_allow_or_is_elsewhere_unless_it_is_explicit(
    explicit: set[tuple[int, int, int]],
    inferred: set[tuple[int, int, int]],
    elsewhere: set[tuple[int, int, int]],
) -> None:
    union = explicit | elsewhere
    view = View(index_of(union | inferred), index_of(explicit), index_of(union) if elsewhere else None)
    legal = {f for f in inferred if f[0] < FIRST_LITERAL and f[1] >> KIND_SHIFT == Kind.IRI}
    shown = explicit | (legal - elsewhere)
    assert len(view) == len(shown)
    for _ in range(2):  # the second time the facts may be arranged by subject
        for s in (None, *ENDS):
            for p in (None, *PREDICATES):
                for o in (None, *ENDS):
                    expected = {
                        f for f in shown if s in (None, f[0]) and p in (None, f[1]) and o in (None, f[2])
                    }
                    found = list(view.match(s, p, o))
                    assert set(found) == expected
                    assert len(found) == len(expected)


def test_a_change_is_seen_after_many_look_ups() -> None:
    graph = Graph(store=CorollaryStore(rules="none"))
    for number in range(100):
        graph.add((EX[f"s{number}"], EX.p, Literal(number)))
    for number in range(100):
        assert len(list(graph.triples((EX[f"s{number}"], None, None)))) == 1
    graph.add((EX.s1, EX.q, EX.new))
    graph.remove((EX.s2, None, None))
    assert {p for _, p, _ in graph.triples((EX.s1, None, None))} == {EX.p, EX.q}
    assert list(graph.triples((EX.s2, None, None))) == []
