"""Inconsistencies over relations whose facts are not listed: the same as over listed ones."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from benchmarks.engine import Facts
from benchmarks.workloads.transitive import OWL, PREFIX, equal
from hypothesis import given
from hypothesis import strategies as st
from tests import ontology_strategies as ontology
from tests import strategies as some
from tests.compression import compress_all
from tests.engine import Fact, load, run
from tests.timing import at_most

from corollary.evaluate import MaterialisedView, constraint_bindings, inconsistency, materialise
from corollary.language import IRI, Program, Rule, Triple, parse_program
from corollary.language.model import RDF_TYPE
from corollary.profiles import load_profile
from corollary.terms.dictionary import TermDictionary

X, Y, Z, _ = some.VARIABLES
SYMMETRIC = tuple(Rule((Triple(Y, p, X),), (Triple(X, p, Y),)) for p in some.PROPERTIES)
TRANSITIVE = tuple(Rule((Triple(X, p, Z),), (Triple(X, p, Y), Triple(Y, p, Z))) for p in some.PROPERTIES)

terms = st.sampled_from((X, Y, Z))
constraints = st.builds(
    lambda body: Rule((), tuple(body)),
    st.lists(st.builds(Triple, terms, some.properties, terms), min_size=1, max_size=3),
)
closures = st.lists(st.sampled_from(SYMMETRIC + TRANSITIVE * 2), max_size=5, unique=True)
edges = some.sets_of(st.tuples(some.individuals, some.properties, some.individuals), 12)
clashing = st.one_of(
    *(
        st.builds(ontology.statement, subjects, st.just(ontology.owl(name)), subjects)
        for subjects, names in (
            (some.individuals, ("sameAs", "sameAs", "differentFrom")),
            (some.properties, ("propertyDisjointWith",)),
        )
        for name in names
    ),
    *(
        st.builds(ontology.statement, some.properties, st.just(RDF_TYPE), st.just(ontology.owl(name)))
        for name in ("TransitiveProperty", "SymmetricProperty", "AsymmetricProperty", "IrreflexiveProperty")
    ),
)


def found(result: MaterialisedView) -> tuple[set[str], int]:
    return {clash.text(result.dictionary) for clash in result.inconsistencies}, result.inconsistency_count


def sets(texts: set[str]) -> set[frozenset[str]]:
    """Each clash as the set of its rule and facts: their order depends on which bindings were looked at."""
    return {frozenset(text.replace(": ", ", ", 1).split(", ")) for text in texts}


def assert_same(facts: frozenset[Fact], program: Program) -> None:
    """The clashes found, and their number; the number, and some of the clashes, if not all are listed."""
    listed = found(run(facts, program))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(inconsistency, "MAX_CLASHES_LISTED", 2)
        count = run(facts, program).inconsistency_count
    with pytest.MonkeyPatch.context() as patch:
        compress_all(patch)
        patch.setattr(constraint_bindings, "ROWS_PER_CHUNK", 3)
        assert found(run(facts, program)) == listed
        patch.setattr(inconsistency, "MAX_CLASHES_LISTED", 2)
        some_of_them, number = found(run(facts, program))
        assert sets(some_of_them) <= sets(listed[0]) and number == count


@some.thorough(200)
@given(edges, closures, st.lists(constraints, min_size=1, max_size=3))
def test_constraints_over_closures(facts: frozenset[Fact], rules: list[Rule], bodies: list[Rule]) -> None:
    assert_same(facts, some.program_of([*rules, *bodies]))


@some.thorough(60)
@given(ontology.ontologies(clashing, data=edges))
def test_ontologies(facts: frozenset[Fact]) -> None:
    assert_same(facts, load_profile("owl2rl"))


def test_different_members_of_a_large_clique() -> None:
    """4,000 equal nodes, two of them different: 16 million clashes."""
    facts, size = equal(4000), 4000
    ends = [f"<{PREFIX}node7>", f"<{OWL}differentFrom>", f"<{PREFIX}node9>"]
    row = np.array([[facts.dictionary.encode(text)] for text in ends], np.uint32)
    columns = tuple(np.concatenate(both) for both in zip(facts.columns, row, strict=True))
    result = Facts(facts.dictionary, columns).close()  # type: ignore[arg-type]
    with at_most(100):
        assert result.inconsistency_count == size * (size + 1)
    assert {clash.rule for clash in result.inconsistencies} == {"eq-diff1"}


def test_a_row_whose_terms_have_the_ids_of_columns() -> None:
    """Once missed if a term had the id 0, which was the key of the column for row numbers."""
    p, r = "<http://example.org/p>", "<http://example.org/r>"
    program = parse_program(
        f"[?x, {r}, ?z] :- [?x, {r}, ?y], [?y, {r}, ?z] .\n"
        f"false :- [?x, {r}, ?y], [?x, {p}, ?x], [?y, {p}, ?z] ."
    )
    a, b, c, of_p, of_r = (IRI(f"http://example.org/{name}") for name in "abcpr")
    facts = [(c, of_p, b), (a, of_p, a), (a, of_p, b), (b, of_r, a), (a, of_r, c)]
    for order in itertools.permutations("abcpr"):
        dictionary = TermDictionary()
        dictionary.encode_all([f"<http://example.org/{name}>" for name in order])
        with pytest.MonkeyPatch.context() as patch:
            compress_all(patch)
            patch.setattr(constraint_bindings, "ROWS_PER_CHUNK", 3)
            view = materialise(load(facts, dictionary), program, dictionary)
        assert view.inconsistency_count == 1
