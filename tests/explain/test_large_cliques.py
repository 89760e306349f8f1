"""Explanations of facts of equal terms whose copies are not listed: right proofs, within a budget."""

from __future__ import annotations

import numpy as np
import pytest
from benchmarks.engine import Facts
from benchmarks.workloads.transitive import OWL, PREFIX, equal
from hypothesis import given
from hypothesis import strategies as st
from tests import ontology_strategies as ontology
from tests import strategies as some
from tests.compression import compress_all
from tests.engine import Fact, run
from tests.explain.test_all_facts import assert_all_explained, axioms, closures, names
from tests.timing import at_most

from corollary.evaluate import MaterialisedView
from corollary.explain import Application, Explanation, Status, explain, explain_inconsistency
from corollary.language import Rule
from corollary.language.model import IRI, RDF_TYPE, XSD, Constant, Literal
from corollary.profiles import load_profile

SAME, DIFFERENT = f"<{OWL}sameAs>", f"<{OWL}differentFrom>"
VALUE = f"<{PREFIX}value>"

LITERALS: tuple[Constant, ...] = (
    *(Literal(text, XSD + "integer") for text in ("1", "01", "2")),
    Literal("1.0", XSD + "decimal"),
    Literal("1"),
)
equal_data = some.sets_of(
    st.one_of(
        st.tuples(names, st.just(IRI(OWL + "sameAs")), st.one_of(names, st.sampled_from(LITERALS))),
        st.tuples(names, some.properties, st.one_of(names, st.sampled_from(LITERALS))),
        st.tuples(names, st.just(RDF_TYPE), some.classes),
    ),
    10,
)


@some.thorough(40)
@given(ontology.ontologies(axioms, data=equal_data, max_size=3), st.lists(closures, max_size=1))
def test_random_cliques_with_literals(facts: frozenset[Fact], rules: list[Rule]) -> None:
    with pytest.MonkeyPatch.context() as patch:
        compress_all(patch)
        assert_all_explained(run(facts, load_profile("owl2rl") + some.program_of(rules)), 12)


def node(number: int) -> str:
    return f"<{PREFIX}node{number}>"


def clique(size: int, *more: tuple[str, str, str]) -> MaterialisedView:
    """The materialisation of equal nodes, and of more facts."""
    facts = equal(size)
    rows = [[facts.dictionary.encode(text) for text in fact] for fact in more]
    added = np.array(rows, np.uint32).reshape(-1, 3).T
    columns = tuple(np.concatenate(both) for both in zip(facts.columns, added, strict=True))
    return Facts(facts.dictionary, columns).close()  # type: ignore[arg-type]


def explained(result: MaterialisedView, *fact: str) -> Explanation:
    return explain(result, *map(result.dictionary.encode, fact))


@pytest.mark.parametrize(("size", "loops"), [(100, 800), (1500, 1500)])
@pytest.mark.parametrize("fact", [(node(7), SAME, node(8)), (node(7), VALUE, '"7"')], ids=["link", "value"])
def test_a_stated_fact_without_another_proof(size: int, loops: int, fact: tuple[str, str, str]) -> None:
    result = clique(size)
    with at_most(loops):  # each instance looked at: minutes
        explanation = explained(result, *fact)
    assert explanation.status == Status.EXPLICIT and not explanation.proofs


def test_a_stated_link_with_a_way_round() -> None:
    result = clique(1500, (node(1499), SAME, node(0)))
    with at_most(1500):
        (proof,) = explained(result, node(7), SAME, node(8)).proofs
    assert len(proof.conclusion.premises) == 1 and proof.size == 2  # the inverse of a path


def test_both_ends_of_a_fact_are_replaced() -> None:
    result = clique(1500, (node(7), DIFFERENT, node(9)))
    with at_most(1500):
        (proof,) = explained(result, node(1004), DIFFERENT, node(0)).proofs
        *_, clash = result.inconsistencies
        assert explain_inconsistency(result, clash).proofs
    for step in proof.steps:
        if isinstance(step.reason, Application) and not step.reason.is_path:
            premises = {proof.steps[i].fact for i in step.premises}
            assert premises == set(map(step.reason.fact, step.reason.rule.atoms))
