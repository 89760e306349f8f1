"""Explanations of long chains: over stated and inferred edges, listed and compressed, and each form printed.

The lengths are such that a search of all pairs of nodes would take minutes.
"""

from __future__ import annotations

import json
from itertools import pairwise

import pytest
from tests.engine import run
from tests.explain.checker import is_rule_of

from corollary.evaluate import MaterialisedView
from corollary.explain import Application, Explanation, Given, Proof, explain
from corollary.language import parse_program
from corollary.profiles import load_profile

EXAMPLE = "http://example.org/"
TRANSITIVE = "[:p, a, owl:TransitiveProperty] ."
LISTED = ":Z[?x] :- :Y[?x], NOT :X[?x] ."
"""A rule with NOT: no relation of the program is compressed."""

CHAINS = {
    "stated": (":p", TRANSITIVE),
    "of a subproperty": (":q", TRANSITIVE + "[:q, rdfs:subPropertyOf, :p] ."),
    "of an inverse": (":q", TRANSITIVE + "[:q, rdfs:subPropertyOf, :r] . [:r, owl:inverseOf, :p] ."),
    "by two rules": (":q", TRANSITIVE + "[?x, :r, ?y] :- [?x, :q, ?y] . [?x, :p, ?y] :- [?x, :r, ?y] ."),
    "by a chain": (
        ":q",
        TRANSITIVE
        + "[:p, owl:propertyChainAxiom, :l] . [:l, rdf:first, :q] . [:l, rdf:rest, :m] ."
        + "[:m, rdf:first, :s] . [:m, rdf:rest, rdf:nil] . [?y, :s, ?y] :- [?x, :q, ?y] .",
    ),
    "symmetric": (":p", TRANSITIVE + "[:p, a, owl:SymmetricProperty] ."),
    "symmetric, of a subproperty": (
        ":q",
        TRANSITIVE + "[:p, a, owl:SymmetricProperty] . [:q, rdfs:subPropertyOf, :p] .",
    ),
    "of classes": ("rdfs:subClassOf", ""),
    "of equal terms": ("owl:sameAs", ""),
}


def chain(kind: str, length: int, rules: str = "") -> MaterialisedView:
    predicate, axioms = CHAINS[kind]
    edges = "".join(f"[:n{i}, {predicate}, :n{i + 1}] .\n" for i in range(length))
    parsed = parse_program(f"PREFIX : <{EXAMPLE}>\n{axioms}\n{edges}\n{rules}")
    facts = [(h.subject, h.predicate, h.object) for rule in parsed for h in rule.heads if not rule.body]
    program = type(parsed)(tuple(r.named(f"own-{i}") for i, r in enumerate(parsed) if r.body))
    return run(facts, load_profile("owl2rl") + program)  # type: ignore[arg-type]


def explained(result: MaterialisedView, kind: str, start: int, end: int, limit: int = 1) -> Explanation:
    predicate = {"of classes": "rdfs:subClassOf", "of equal terms": "owl:sameAs"}.get(kind)
    names = {
        None: f"<{EXAMPLE}p>",
        "rdfs:subClassOf": "<http://www.w3.org/2000/01/rdf-schema#subClassOf>",
        "owl:sameAs": "<http://www.w3.org/2002/07/owl#sameAs>",
    }
    texts = f"<{EXAMPLE}n{start}>", names[predicate], f"<{EXAMPLE}n{end}>"
    return explain(result, *map(result.dictionary.encode, texts), limit=limit)


def check(result: MaterialisedView, proof: Proof) -> None:
    """Every step is explicit, or an instance of a rule over earlier steps; the last one goes along a path."""
    assert len({step.fact for step in proof.steps}) == len(proof.steps)
    rules: set[int] = set()
    for number, step in enumerate(proof.steps):
        assert all(premise < number for premise in step.premises)
        s, p, o = step.fact
        if isinstance(step.reason, Given):
            assert result.explicit.relation(p).has(s, o)
        elif isinstance(step.reason, Application) and not step.reason.is_path:
            reason = step.reason
            assert reason.rule.number in rules or is_rule_of(result.program, reason)
            rules.add(reason.rule.number)
            assert step.fact in map(reason.fact, reason.rule.heads)
            premises = {proof.steps[i].fact for i in step.premises}
            assert premises == set(map(reason.fact, reason.rule.atoms))
    conclusion = proof.conclusion
    assert isinstance(conclusion.reason, Application) and conclusion.reason.is_path
    edges = [proof.steps[i].fact for i in conclusion.premises]
    edges = edges[len(set(conclusion.reason.guards())) :]
    assert (edges[0][0], edges[-1][2]) == (conclusion.fact[0], conclusion.fact[2])
    assert all(first[2] == second[0] for first, second in pairwise(edges))


@pytest.mark.parametrize(
    "rules", ["", pytest.param(LISTED, marks=pytest.mark.slow)], ids=["compressed", "listed"]
)
@pytest.mark.parametrize("kind", CHAINS)
def test_the_ends_of_a_chain(kind: str, rules: str) -> None:
    length = 300 if kind == "of equal terms" and rules else 1500  # the closure of equality, listed, is slow
    result = chain(kind, length, rules)
    ends = (length, 0) if kind == "of an inverse" else (0, length)
    explanation = explained(result, kind, *ends)
    (proof,) = explanation.proofs
    check(result, proof)
    assert len(proof.conclusion.premises) - len(proof.conclusion.reason.guards()) == length  # type: ignore[union-attr]
    if kind == "stated":
        assert proof.size == 1


@pytest.mark.parametrize("kind", ["symmetric", "symmetric, of a subproperty", "of equal terms"])
def test_a_chain_backwards(kind: str) -> None:
    result = chain(kind, 1200)
    (proof,) = explained(result, kind, 1200, 0).proofs
    check_any(result, proof)


def check_any(result: MaterialisedView, proof: Proof) -> None:
    """As ``check``, for proofs whose last step turns a path round."""
    if not proof.conclusion.reason.is_path:  # type: ignore[union-attr]
        (premise,) = (i for i in proof.conclusion.premises if proof.steps[i].premises)
        proof = Proof(proof.steps[: premise + 1])
    check(result, proof)


def test_every_form_of_a_long_proof() -> None:
    result = chain("of a subproperty", 3000)
    explanation = explained(result, "of a subproperty", 0, 3000)
    (proof,) = explanation.proofs
    assert (proof.size, proof.height) == (3001, 2)
    assert str(explanation).count("by prp-spo1") == 3000
    assert explanation.html().count("<details") == 3001 + 1  # the middle of the path is folded
    assert explanation.dot(folded=False).count('label="prp-spo1"') == 3000
    assert len(json.loads(json.dumps(explanation.as_dict()))["proofs"][0]["steps"]) == len(proof.steps)


def test_a_path_does_not_go_over_the_fact_that_is_explained() -> None:
    """The explicit edge 10 to 11 is explained by a longer way round, although paths over it are shorter."""
    rules = (
        "[:n10, :p, :m0] . " + " ".join(f"[:m{i}, :p, :m{i + 1}] ." for i in range(30)) + "[:m30, :p, :n11] ."
    )
    parsed_rules = rules + "[?x, :p, ?y] :- [?x, :never, ?y] ."
    result = chain("stated", 40, parsed_rules)
    (proof,) = explained(result, "stated", 10, 11).proofs
    check(result, proof)
    assert len(proof.conclusion.premises) == 33
