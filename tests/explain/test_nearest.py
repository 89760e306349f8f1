"""Why not: the missing facts of the nearest rule instances make a fact follow when they are added."""

from __future__ import annotations

from itertools import product

import pytest
from hypothesis import given
from tests import strategies as some
from tests.engine import Fact, close, run

from corollary.explain import Explanation, Status, explain
from corollary.language import Program, constant_text
from corollary.profiles import load_profile

FAMILY = "http://example.org/"


def _why_not(facts: frozenset[Fact], program: Program, goal: Fact) -> Explanation:
    result = run(facts, program)
    return explain(result, *(result.dictionary.encode(constant_text(term)) for term in goal))


@some.thorough(40)
@given(some.fact_sets, some.programs())
def test_missing_facts_make_the_fact_follow(facts: frozenset[Fact], program: Program) -> None:
    result = run(facts, program)
    closure, _ = close(facts, program)
    texts = {constant_text(term): term for fact in closure for term in fact}
    terms = sorted({fact[0] for fact in closure}, key=str)
    predicates = sorted({fact[1] for fact in closure}, key=str)
    for goal in list(product(terms, predicates, terms))[:40]:
        if goal in closure:
            continue
        explanation = explain(result, *(result.dictionary.encode(constant_text(t)) for t in goal))
        assert explanation.status == Status.ABSENT
        for near in explanation.near:
            ids = [term for fact in near.missing for term in fact]
            present = {tuple(map(result.dictionary.decode, fact)) for fact in near.present}
            assert present <= {tuple(map(constant_text, fact)) for fact in closure}
            if min(ids) < 0 or near.rule.conditions:
                continue
            known = [result.dictionary.decode(term) for term in ids]
            if not set(known) <= texts.keys():
                continue
            added = [texts[text] for text in known]
            new = {(added[i], added[i + 1], added[i + 2]) for i in range(0, len(added), 3)}
            assert goal in close(facts | new, program)[0]


def test_one_missing_fact_comes_before_two() -> None:
    from tests.explain.test_proofs import chain

    rules = "[?x, :r, ?z] :- [?x, :p, ?y], [?y, :q, ?z] . [?x, :r, ?z] :- [?x, :s, ?z], :C[?x], :D[?z] ."
    result = chain(2, rules + " :C[:n0] .", ":p")
    goal = [result.dictionary.encode(f"<{FAMILY}{name}>") for name in ("n0", "r", "n9")]
    said = explain(result, *goal)
    first, second = said.near
    assert len(first.missing) == 1 and len(second.missing) == 2
    assert "missing  :n1 :q :n9\n  holds    :n0 :p :n1" in str(said)
    missing = [set(one["missing"]) for one in said.as_dict()["nearest"]]
    assert missing == [{":n1 :q :n9"}, {":n0 :s :n9", ":n9 a :D"}]
    assert '<code class="false">:n1 :q :n9</code> <span class="note">missing</span>' in said.html()
    assert '<code class="stated">:n0 :p :n1</code> <span class="note">holds</span>' in said.html()
    assert ":n1 :q :n9" in said.dot()


@pytest.mark.parametrize("profile", ["rdfs", "owl2rl"])
def test_a_subclass_names_its_members(profile: str) -> None:
    from corollary.language import IRI, RDF_TYPE

    below = IRI("http://www.w3.org/2000/01/rdf-schema#subClassOf")
    dog, animal, rex, tom = (IRI(FAMILY + name) for name in ("Dog", "Animal", "rex", "tom"))
    facts = frozenset({(dog, below, animal), (rex, RDF_TYPE, dog), (tom, below, tom)})
    said = _why_not(facts, load_profile(profile), (tom, RDF_TYPE, animal))
    assert (said.near[0].rule.label, len(said.near[0].missing)) in {("cax-sco", 1), ("rdfs9", 1)}
    assert not _why_not(facts, load_profile(profile), (rex, RDF_TYPE, animal)).near
