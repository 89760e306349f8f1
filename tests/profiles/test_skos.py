"""The profile skos: as many rules as in the literature, and the consequences of the published schema."""

from __future__ import annotations

from pathlib import Path

import pytest
from benchmarks.rule_counts import RuleCounts, rule_counts
from hypothesis import given
from hypothesis import strategies as st
from tests.engine import Fact, close, facts_of, run
from tests.oracles import naive

from corollary.generators import categories
from corollary.language import Program
from corollary.language.model import IRI, RDF
from corollary.loaders import read
from corollary.profiles import load_profile
from corollary.terms.dictionary import TermDictionary

SKOS = "http://www.w3.org/2004/02/skos/core#"
TYPE = IRI(RDF + "type")
RELATIONS = (
    *("broader", "narrower", "broaderTransitive", "narrowerTransitive", "related", "semanticRelation"),
    *("exactMatch", "closeMatch", "broadMatch", "narrowMatch", "relatedMatch", "mappingRelation"),
    *("inScheme", "topConceptOf", "hasTopConcept", "member"),
)

names = st.sampled_from([IRI(f"urn:{name}") for name in "abcdef"])
relations = st.tuples(names, st.sampled_from([IRI(SKOS + name) for name in RELATIONS]), names)
types = st.tuples(names, st.just(TYPE), st.just(IRI(SKOS + "OrderedCollection")))
LIST: Fact = (IRI("urn:a"), IRI(SKOS + "memberList"), IRI("urn:list"))
"""Not drawn: two lists of one collection would be the same, which skos does not conclude."""

facts = st.sets(st.one_of(relations, types), max_size=12).map(lambda drawn: {*drawn, LIST})


@pytest.fixture(scope="module")
def skos() -> Program:
    return load_profile("skos")


def about_data(facts: set[Fact]) -> set[Fact]:
    """The facts about individuals, without membership in the union that is the range of member."""
    individuals = {fact for fact in facts if isinstance(fact[0], IRI) and fact[0].value.startswith("urn:")}
    return {fact for fact in individuals if isinstance(fact[2], IRI)}


def schema(path: Path) -> set[Fact]:
    dictionary = TermDictionary()
    return facts_of(read([path], dictionary), dictionary)


def test_rules_are_as_many_as_in_table_1_of_hu_motik_and_horrocks(skos: Program) -> None:
    assert rule_counts(skos) == RuleCounts(nonrecursive=26, recursive=15, strata=5)


def test_two_relations_are_closed_transitively_and_one_symmetrically_too(skos: Program) -> None:
    materialisation = run([], skos)
    closed = [
        str(materialisation.dictionary.decode(assignment.rule.heads[0].p))
        for assignment in materialisation.engine.assignments
        if assignment.module == "transitive closure"
    ]
    assert set(closed) == {
        f"<{SKOS}{name}>" for name in ("broaderTransitive", "narrowerTransitive", "exactMatch")
    }


@given(facts)
def test_rules_say_what_the_ontology_of_categories_says(
    tmp_path_factory: pytest.TempPathFactory, drawn: set[Fact]
) -> None:
    path = tmp_path_factory.getbasetemp() / "categories.ttl"
    path.write_bytes(categories.ontology())
    wanted, _ = close(drawn | schema(path), load_profile("owl2rl"))
    found, _ = close(drawn, load_profile("skos"))
    assert found == about_data(wanted)


@given(facts)
def test_rules_against_the_naive_evaluator(drawn: set[Fact]) -> None:
    assert close(drawn, load_profile("skos"))[0] == naive.closure(drawn, load_profile("skos"))[0]


@pytest.mark.corpus
def test_rules_say_what_the_published_schema_says(corpus: Path) -> None:
    published = schema(corpus / "real" / "vocabularies" / "skos.nt.gz")

    @given(facts)
    def check(drawn: set[Fact]) -> None:
        wanted, _ = close(drawn | published, load_profile("owl2rl"))
        assert close(drawn, load_profile("skos"))[0] == about_data(wanted)

    check()
