"""Every inferred fact has proofs, and every step of a proof is right."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests import ontology_strategies as ontology
from tests import strategies as some
from tests.engine import Fact, close, facts_of, run
from tests.explain.checker import Checker, cost, least_costs

from corollary.columns.delta import NOTHING, Delta
from corollary.evaluate import MaterialisedView
from corollary.explain import FALSE, Explanation, Status, explain, explain_inconsistency
from corollary.explain.proof import Application
from corollary.language import Program, UnstratifiableError, parse_program
from corollary.maintain import maintain
from corollary.profiles import load_profile

thorough = some.thorough(60)

PROOFS = 3

MOST_FACTS = 50
"""Of more facts only some are explained, evenly spread."""


def all_ids(result: MaterialisedView) -> list[tuple[int, int, int]]:
    return list(zip(*(column.tolist() for column in result.index.columns(legal=False)), strict=True))


def assert_explained(result: MaterialisedView) -> None:
    """Facts have right and different proofs, explicit ones if they follow, and so have inconsistencies."""
    checker = Checker(result)
    facts = all_ids(result)
    for fact in facts[:: 1 + len(facts) // MOST_FACTS]:
        explanation = explain(result, *fact, limit=PROOFS)
        assert explanation.status in (Status.EXPLICIT, Status.INFERRED)
        assert explanation.proofs or explanation.status == Status.EXPLICIT
        assert_different(explanation)
        for proof in explanation.proofs:
            checker.check(proof, fact)
    for found in result.inconsistencies:
        explanation = explain_inconsistency(result, found, limit=PROOFS)
        assert explanation.proofs
        for proof in explanation.proofs:
            checker.check(proof, FALSE)
            conclusion = proof.conclusion
            assert {proof.steps[i].fact for i in conclusion.premises} == set(found.facts)


def assert_different(explanation: Explanation) -> None:
    distinct = {
        frozenset(
            (step.fact, tuple(sorted(proof.steps[i].fact for i in step.premises)), rule_of(step.reason))
            for step in proof.steps
        )
        for proof in explanation.proofs
    }
    paths = any(
        isinstance(step.reason, Application) and step.reason.is_path
        for proof in explanation.proofs
        for step in proof.steps
    )
    assert len(distinct) == len(explanation.proofs) or paths


def rule_of(reason: object) -> int | None:
    return reason.rule.number if isinstance(reason, Application) else None


@thorough
@given(some.fact_sets, some.programs())
def test_positive_programs(facts: frozenset[Fact], program: Program) -> None:
    assert_explained(run(facts, program))


@pytest.mark.parametrize("kind", ["not", "filter", "bind", "aggregate"])
@thorough
@given(data=st.data())
def test_the_whole_language(kind: str, data: st.DataObject) -> None:
    special = getattr(some, f"rules_with_{kind}")()
    program = data.draw(some.programs(special))
    facts = data.draw(some.number_fact_sets)
    try:
        result = run(facts, program)
    except UnstratifiableError:
        return
    assert_explained(result)


ontologies = ontology.ontologies(
    ontology.rdfs_axioms,
    ontology.property_axioms,
    ontology.class_axioms,
    ontology.equality_axioms,
    ontology.key_axioms,
    ontology.clash_axioms,
)


@pytest.mark.parametrize("profile", ["rdfs", "owl2rl"])
@some.thorough(25)
@given(ontologies)
def test_profiles(profile: str, facts: frozenset[Fact]) -> None:
    assert_explained(run(facts, load_profile(profile)))


@thorough
@given(some.fact_sets, some.programs())
def test_the_first_proof_is_a_shortest(facts: frozenset[Fact], program: Program) -> None:
    result = run(facts, program)
    closure = facts_of(result.index.columns(legal=False), result.dictionary)
    least = least_costs(facts, closure, program)
    assert least.keys() == closure
    checker = Checker(result)
    for fact in all_ids(result):
        explanation = explain(result, *fact)
        if explanation.status == Status.INFERRED:
            (proof,) = explanation.proofs
            assert cost(proof) <= least[checker.constants(fact)]


@thorough
@given(some.fact_sets, some.programs())
def test_an_explicit_fact_follows_if_it_holds_without_being_stated(
    facts: frozenset[Fact], program: Program
) -> None:
    result = run(facts, program)
    checker = Checker(result)
    for fact in all_ids(result):
        explanation = explain(result, *fact)
        if explanation.status == Status.EXPLICIT:
            stated = checker.constants(fact)
            follows = stated in close(facts - {stated}, program)[0]
            assert bool(explanation.proofs) == follows
            assert explanation.is_complete


def chain(length: int, rules: str, data: str) -> MaterialisedView:
    facts = "".join(f"[:n{i}, {data}, :n{i + 1}] .\n" for i in range(length))
    program = parse_program(f"PREFIX : <http://example.org/>\n{rules}")
    given_facts = [
        (head.subject, head.predicate, head.object)
        for rule in parse_program(f"PREFIX : <http://example.org/>\n{facts}")
        for head in rule.heads
    ]
    return run(given_facts, program)  # type: ignore[arg-type]


def explained(result: MaterialisedView, s: str, p: str, o: str, limit: int = 1) -> Explanation:
    encode = result.dictionary.encode
    ids = [encode(f"<http://example.org/{name}>") for name in (s, p, o)]
    return explain(result, *ids, limit=limit)


TRANSITIVE = "@name transitive\n[?x, :p, ?z] :- [?x, :p, ?y], [?y, :p, ?z] .\n"


def test_a_closure_is_a_path_of_edges() -> None:
    result = chain(300, TRANSITIVE, ":p")
    (proof,) = explained(result, "n0", "p", "n300").proofs
    assert proof.size == 1
    assert len(proof.conclusion.premises) == 300
    Checker(result).check(proof, proof.conclusion.fact)


def test_the_edges_of_a_path_may_be_inferred() -> None:
    result = chain(60, TRANSITIVE + "@name copy\n[?x, :p, ?y] :- [?x, :q, ?y] .", ":q")
    (proof,) = explained(result, "n0", "p", "n60").proofs
    assert proof.size == 61
    assert proof.height == 2
    Checker(result).check(proof, proof.conclusion.fact)


def test_a_symmetric_closure_needs_no_circles() -> None:
    rules = TRANSITIVE + "@name symmetric\n[?y, :p, ?x] :- [?x, :p, ?y] ."
    result = chain(20, rules, ":p")
    for fact in (("n20", "p", "n0"), ("n3", "p", "n3"), ("n7", "p", "n2")):
        explanation = explained(result, *fact, limit=3)
        assert len(explanation.proofs) == 3
        for proof in explanation.proofs:
            Checker(result).check(proof, proof.conclusion.fact)


def test_a_closure_without_loops_is_a_path_of_edges() -> None:
    rule = "@name transitive\n[?x, :p, ?z] :- [?x, :p, ?y], [?y, :p, ?z], FILTER(?x != ?z) .\n"
    result = chain(100, rule + "[:n100, :p, :n0] .", ":p")
    (proof,) = explained(result, "n90", "p", "n10").proofs
    assert (proof.size, len(proof.conclusion.premises)) == (2, 21)
    Checker(result).check(proof, proof.conclusion.fact)
    assert "FILTER(:n90 != :n10)" in str(explained(result, "n90", "p", "n10"))


@pytest.mark.slow
def test_a_clique_of_equal_things() -> None:
    facts = (
        "".join(f"[:n{i}, owl:sameAs, :n{i - 1 - i % 3 if i > 2 else 0}] .\n" for i in range(1, 41))
        + "[:n0, :p, :v] ."
    )
    data = parse_program(f"PREFIX : <http://example.org/>\n{facts}")
    result = run([], load_profile("owl2rl") + data)
    checker = Checker(result)
    for fact in (("n40", "p", "v"), ("n17", "p", "v")):
        (proof,) = explained(result, *fact).proofs
        assert proof.size <= 2 + 2 * 40
        checker.check(proof, proof.conclusion.fact)
    same = result.dictionary.encode("<http://www.w3.org/2002/07/owl#sameAs>")
    first, last = (result.dictionary.encode(f"<http://example.org/{name}>") for name in ("n40", "n39"))
    explanation = explain(result, first, same, last, limit=3)
    assert len(explanation.proofs) == 3
    for proof in explanation.proofs:
        checker.check(proof, (first, same, last))


def test_a_materialisation_is_explained_after_it_was_followed() -> None:
    before = chain(3, TRANSITIVE, ":p")
    gone = before.explicit.snapshot()
    (predicate,) = gone.predicates()
    keys = gone.keys(predicate)[:1]
    gone.remove(predicate, keys)
    then = [explained(before, f"n{n}", "p", "n3").as_dict() for n in (0, 1)]
    after, _ = maintain(before, gone, Delta({predicate: keys}), NOTHING, "dred", Program(()))
    assert not explained(after, "n0", "p", "n3").proofs
    assert [explained(before, f"n{n}", "p", "n3").as_dict() for n in (0, 1)] == then
    assert all(explanation["proofs"] for explanation in then)


def test_deep_proofs() -> None:
    rules = "@name next\n:Reached[?y] :- :Reached[?x], [?x, :p, ?y] .\n@name start\n:Reached[:n0] ."
    result = chain(1500, rules, ":p")
    encode = result.dictionary.encode
    kind = encode("<http://www.w3.org/1999/02/22-rdf-syntax-ns#type>")
    ids = encode("<http://example.org/n1500>"), kind, encode("<http://example.org/Reached>")
    explanation = explain(result, *ids)
    (proof,) = explanation.proofs
    assert proof.size == proof.height == 1501
    assert str(explanation).count("by next") == 1500
    assert explanation.html().count("<details") == explanation.html().count("</details>") == 1501
    assert explanation.dot(folded=False).count('label="next"') == 1500


def test_a_hub_does_not_take_long() -> None:
    facts = "\n".join(f"[:n{i}, :p, :hub] ." for i in range(5000))
    rules = "@name in\n:Hub[?y] :- [?x, :p, ?y] .\n@name all\n:Busy[?y] :- :Hub[?y], [?x, :p, ?y] .\n" + facts
    result = run([], parse_program(f"PREFIX : <http://example.org/>\n{rules}"))
    encode = result.dictionary.encode
    kind = encode("<http://www.w3.org/1999/02/22-rdf-syntax-ns#type>")
    ids = encode("<http://example.org/hub>"), kind, encode("<http://example.org/Busy>")
    (proof,) = explain(result, *ids).proofs
    assert proof.size == 3
    assert proof.steps[0].reason.rule.source.body == ()  # type: ignore[union-attr]


def test_what_does_not_hold_has_no_proof() -> None:
    explanation = explained(chain(2, TRANSITIVE, ":p"), "n2", "p", "n0")
    assert explanation.status == Status.ABSENT
    assert explanation.proofs == ()
