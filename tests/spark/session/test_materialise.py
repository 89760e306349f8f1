"""Materialisation on Spark against the engine on one machine: fact for fact, literal subjects included."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from itertools import product
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from tests import ontology_strategies as ontology
from tests import strategies as some
from tests.engine import Fact, load
from tests.loaders.test_counts import LITERALS
from tests.spark.clashes import CLASHES, KINDS, PREFIXES
from tests.spark.data import TextTriple, assert_equal_facts, few, texts
from tests.strategies import MORE_EXAMPLES

from corollary.columns import TripleIndex
from corollary.evaluate import materialise as materialise_here
from corollary.kernels import announcing
from corollary.kernels.announcing import ListingWarning
from corollary.language import IRI, RDF, RDF_TYPE, Program, RuleError, UnstratifiableError, parse_program
from corollary.language.errors import InputError
from corollary.loaders import read_index
from corollary.loaders.encoded import load_encoded, save_encoded
from corollary.loaders.encoded_format import EncodedDataSet
from corollary.loaders.spark import (
    clash_count,
    closures,
    evaluation,
    facts,
    joins,
    materialise,
    partition_rounds,
)
from corollary.loaders.spark.closures import components
from corollary.loaders.spark.encoded_tables import largest_predicates, open_encoded
from corollary.loaders.spark.materialise_tables import PARTITIONS
from corollary.loaders.spark.program_cut import CannotCut
from corollary.profiles import load_profile, profile_names
from corollary.reasoner import Reasoner
from corollary.terms.dictionary import TermDictionary

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.slow

OF_UNIVERSITIES = """
@prefix ub: <http://swat.cse.lehigh.edu/onto/univ-bench.owl#> .
ub:GraduateStudent owl:disjointWith ub:TeachingAssistant . ub:Person owl:disjointWith ub:Organization .
ub:advisor a owl:AsymmetricProperty . ub:name a owl:IrreflexiveProperty .
"""
"""Hundreds violate the first axiom, and none the others, although they are about many facts."""

IS_LONG = MORE_EXAMPLES > 1
"""Whether tests take all profiles, or the largest of the two families."""

FAMILY = """
@prefix : <http://e/> . @prefix owl: <http://www.w3.org/2002/07/owl#> .
@prefix rdfs: <http://www.w3.org/2000/01/rdf-schema#> . @prefix xsd: <http://www.w3.org/2001/XMLSchema#> .

:Parent rdfs:subClassOf :Person ; owl:equivalentClass [ owl:onProperty :child ; owl:someValuesFrom :Person ] .
:Mother owl:intersectionOf ( :Parent :Woman ) . :Adult owl:unionOf ( :Parent :Elder ) .
:Elder owl:oneOf ( :zoe :yan ) . :Woman owl:disjointWith :Man . :Pet a owl:Class .
:Single owl:onProperty :spouse ; owl:maxCardinality "0"^^xsd:nonNegativeInteger .
:Monogamous owl:onProperty :spouse ; owl:maxCardinality 1 . :Person rdfs:subClassOf :Monogamous .
:Local owl:onProperty :home ; owl:hasValue :here . :Native rdfs:subClassOf :Local .
:child rdfs:range :Person ; owl:inverseOf :parent ; rdfs:subPropertyOf :relative .
:relative a owl:SymmetricProperty, owl:TransitiveProperty . :before a owl:TransitiveProperty .
:grandparent owl:propertyChainAxiom ( :parent :parent ) . :Person owl:hasKey ( :number :home ) .
:motherOf a owl:InverseFunctionalProperty . :number a owl:FunctionalProperty ; rdfs:range xsd:integer .
:spouse a owl:SymmetricProperty . :kin owl:equivalentProperty :relative . :mate owl:sameAs :spouse .
:earlier rdfs:subPropertyOf :before . :meta rdfs:subPropertyOf rdfs:subClassOf .

:ann :child :bob . :bob :child :cid , :dan . :ann a :Woman . :zoe :motherOf :ann . :zed :motherOf :ann .
:bob :spouse :eve . :bob :mate :eva . :eve a :Woman . :nat a :Native . :Boy :meta :Man . :cid a :Boy .
:a :before :b . :b :earlier :c . :c :before :d . :d :before :b . :zoe owl:sameAs :zora .
:ann :number 1 . :bob :number "01"^^xsd:integer ; :home :there . :bab :number 1 ; :home :there ; a :Person .
:cid :size "1.0"^^xsd:decimal , "x" , "x"^^xsd:token , "x"@en , "x"@EN , "5"^^xsd:byte , "500"^^xsd:byte .
:dan :size "2000-01-01T00:00:00Z"^^xsd:dateTime , "1"^^xsd:boolean , "true"^^xsd:boolean .
xsd:byte :of :size .
"""


Closed = tuple[set[TextTriple], int | None]
"""What was derived, and the number of inconsistencies."""

UNCOUNTED = "owl2rl-full"
"""Rounds do not count its inconsistencies: a constraint reads values of literals."""


def closed_here(source: Path, program: Program) -> Closed:
    data = load_encoded(source)
    result = materialise_here(data.explicit, program, data.dictionary)
    return texts(result.index.difference(result.explicit), result.dictionary), result.inconsistency_count


def closed_on_spark(
    spark: SparkSession, source: Path, program: Program, files: int | None
) -> tuple[Closed, str]:
    """What was derived, with what RDF does not allow: in rounds into some files, or (None) in one task.

    Also the method by which it was.
    """
    target = source.with_name(f"{source.name}-closed")
    done = materialise(spark, str(source), str(target), program, files=files)
    found = load_encoded(target)
    assert found.rules == program.name
    derived = texts(found.inferred, found.dictionary) | texts(found.generalised, found.dictionary)
    assert bool(done.uncounted) == (program.name == UNCOUNTED and files is not None)
    return (derived, done.inconsistencies), done.method


class AssertSame:
    """Compares the two on facts, each time in a new folder."""

    def __init__(self, spark: SparkSession, folders: pytest.TempPathFactory) -> None:
        self._spark = spark
        self._folders = folders

    def __call__(self, facts: frozenset[Fact], program: Program) -> None:
        dictionary = TermDictionary()
        self.on_index(load(facts, dictionary), dictionary, program)

    def on_index(self, explicit: TripleIndex, dictionary: TermDictionary, program: Program) -> None:
        source = self._folders.mktemp("facts") / "set"
        save_encoded(source, EncodedDataSet(dictionary, explicit))
        try:
            wanted = closed_here(source, program)
        except UnstratifiableError:
            for files in (2, None):
                with pytest.raises(UnstratifiableError):
                    closed_on_spark(self._spark, source, program, files)
            return
        assert closed_on_spark(self._spark, source, program, None) == (wanted, "one task")
        if program.name == UNCOUNTED:
            wanted = wanted[0], None
        found, method = closed_on_spark(self._spark, source, program, 2)
        assert found == wanted
        if method == "partitions":
            with by_joins():
                found, method = closed_on_spark(self._spark, source, program, 2)
            assert found == wanted
        assert method.startswith("joins: ")


@contextmanager
def by_joins() -> Iterator[None]:
    """No program is cut."""

    def refuse(*_: object, **__: object) -> None:
        raise CannotCut("a test")

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(partition_rounds, "cut_program", refuse)
        yield


@contextmanager
def as_if_much() -> Iterator[None]:
    """What is done with much: joins by shuffles, candidates written down, relations closed by joins."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(evaluation, "MAX_EDGES_BROADCAST", 0)
        patch.setattr(facts, "MAX_ROWS_BROADCAST", 0)
        patch.setattr(joins, "MAX_ROWS_BROADCAST", 0)
        patch.setattr(joins, "MAX_VALUES_LISTED", 0)
        yield


def test_the_largest_predicates(spark: SparkSession, tmp_path: Path) -> None:
    (tmp_path / "family.ttl").write_text(FAMILY)
    dictionary = TermDictionary()
    explicit = read_index([tmp_path / "family.ttl"], dictionary)
    save_encoded(tmp_path / "set", EncodedDataSet(dictionary, explicit))
    materialise(spark, str(tmp_path / "set"), str(tmp_path / "closed"), load_profile("rdfs"))
    here = materialise_here(explicit, load_profile("rdfs"), dictionary)
    wanted = {
        dictionary.decode(predicate): (
            here.explicit.legal_count(predicate),
            here.index.legal_count(predicate),
        )
        for predicate in here.index.predicates()
    }
    listed = largest_predicates(open_encoded(spark, str(tmp_path / "closed")), 5)
    assert {row["predicate"]: (row["explicit"], row["total"]) for row in listed}.items() <= wanted.items()
    assert [row["total"] for row in listed] == sorted((n for _, n in wanted.values()), reverse=True)[:5]
    assert any(row["explicit"] < row["total"] for row in listed)
    # Files of terms from two writers: those of the data set as they were, and one that Spark wrote.
    materialise(spark, str(tmp_path / "set"), str(tmp_path / "cut"), load_profile("rdfs"), files=1)
    assert len([*(tmp_path / "cut/terms").glob("*.parquet")]) > len([*(tmp_path / "set/terms").iterdir()])
    assert largest_predicates(open_encoded(spark, str(tmp_path / "cut")), 5) == listed


@pytest.fixture
def assert_same(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> AssertSame:
    return AssertSame(spark, tmp_path_factory)


@few
@given(some.fact_sets, some.programs())
def test_positive_programs(assert_same: AssertSame, facts: frozenset[Fact], program: Program) -> None:
    assert_same(facts, program)


@few
@given(some.number_fact_sets, some.programs(st.one_of(some.rules_with_not(), some.rules_with_filter())))
def test_negation_and_filters(assert_same: AssertSame, facts: frozenset[Fact], program: Program) -> None:
    assert_same(facts, program)


@few
@given(
    ontology.ontologies(
        ontology.rdfs_axioms,
        ontology.meta_axioms,
        ontology.property_axioms,
        ontology.class_axioms,
        ontology.key_axioms,
        ontology.equality_axioms,
        ontology.clash_axioms,
        data=some.sets_of(st.one_of(some.plain_facts, some.number_facts), 12),
    ),
    st.sampled_from(profile_names()),
)
def test_ontologies(assert_same: AssertSame, facts: frozenset[Fact], profile: str) -> None:
    assert_same(facts, load_profile(profile))


@pytest.mark.parametrize(
    ("profile", "is_much"),
    [*product(profile_names(), (False, True))]
    if IS_LONG
    else [("rdfs", False), ("rdfs", True), ("owl2rl-full", False)],
)
def test_family(assert_same: AssertSame, tmp_path: Path, profile: str, is_much: bool) -> None:
    """Something for every kind of rule: lists, keys, chains, closures, equality, literals, meta-schema."""
    (tmp_path / "family.ttl").write_text(FAMILY)
    dictionary = TermDictionary()
    explicit = read_index([tmp_path / "family.ttl"], dictionary)
    with as_if_much() if is_much else nullcontext():
        assert_same.on_index(explicit, dictionary, load_profile(profile))


@pytest.mark.corpus
@pytest.mark.parametrize("profile", profile_names() if IS_LONG else ("rdfs", "owl2rl"))
def test_a_university(spark: SparkSession, corpus: Path, tmp_path: Path, profile: str) -> None:
    dictionary = TermDictionary()
    paths = [corpus / "lubm" / name for name in ("lubm-1.nt.gz", "univ-bench.owl")]
    explicit = read_index(paths, dictionary)
    if profile == "owl2rl-full":  # it derives a fact for every pair of literals
        explicit = TripleIndex.from_columns(*(column[::10] for column in explicit.columns()))
    save_encoded(tmp_path / "set", EncodedDataSet(dictionary, explicit))
    program = load_profile(profile)
    materialise(spark, str(tmp_path / "set"), str(tmp_path / "closed"), program, files=2)
    found = load_encoded(tmp_path / "closed")
    wanted = materialise_here(explicit, program, dictionary)
    assert_equal_facts((found.inferred, found.dictionary), (wanted.inferred(), dictionary))


@pytest.mark.corpus
@pytest.mark.parametrize("is_cut", [True, False])
def test_clashes_in_a_university(spark: SparkSession, corpus: Path, tmp_path: Path, is_cut: bool) -> None:
    """Some of each kind are counted among all facts."""
    kinds, clashes = KINDS, CLASHES + OF_UNIVERSITIES
    if is_cut:  # schema facts would follow from equal terms
        kinds, clashes = KINDS - {"eq-diff2"}, clashes.replace(":s1 owl:sameAs :s2 .", "")
    (tmp_path / "clashes.ttl").write_text(clashes)
    paths = [corpus / "lubm" / name for name in ("lubm-1.nt.gz", "univ-bench.owl")]
    dictionary, program = TermDictionary(), load_profile("owl2rl")
    explicit = read_index([*paths, tmp_path / "clashes.ttl"], dictionary)
    save_encoded(tmp_path / "set", EncodedDataSet(dictionary, explicit))
    with nullcontext() if is_cut else by_joins():
        done = materialise(spark, str(tmp_path / "set"), str(tmp_path / "closed"), program, files=2)
    wanted = materialise_here(explicit, program, dictionary)
    assert {found.rule for found in wanted.inconsistencies} == kinds
    assert (done.method == PARTITIONS) == is_cut
    assert done.inconsistencies == wanted.inconsistency_count > 100


def test_facts_are_tested_if_they_are_many(spark: SparkSession, tmp_path: Path) -> None:
    """By their texts, on executors: 30 numbers have types of the property's range, and one word."""
    facts = ":age rdfs:range xsd:integer . :a :age 'old' . "
    facts += "".join(f":a :age {n} . :b :weight {n}.5 . " for n in range(30))
    (tmp_path / "in.ttl").write_text(PREFIXES + facts)
    dictionary = TermDictionary()
    explicit = read_index([tmp_path / "in.ttl"], dictionary)
    save_encoded(tmp_path / "set", EncodedDataSet(dictionary, explicit))
    rules = "false :- [?x, <http://e/weight>, ?n], FILTER(?n > 27) ."
    program = Program((*load_profile("owl2rl"), *parse_program(rules)), (), "ages")
    with pytest.MonkeyPatch.context() as patch:
        for most, number in ((100_000, 4), (10, 4), (2, None)):
            patch.setattr(clash_count, "MAX_FACTS_OF_CLASHES", most)
            done = materialise(spark, str(tmp_path / "set"), str(tmp_path / "closed"), program, files=2)
            assert done.inconsistencies == number
            assert done.uncounted == ("" if number else "more than 2 facts may be in one")


def test_facts_that_two_premises_match_count_once(spark: SparkSession, tmp_path: Path) -> None:
    """Either fact is found twice: at the home of its subject, and at that of its object."""
    (tmp_path / "in.ttl").write_text(PREFIXES + ":a :next :b . :b :next :a .")
    dictionary = TermDictionary()
    explicit = read_index([tmp_path / "in.ttl"], dictionary)
    save_encoded(tmp_path / "set", EncodedDataSet(dictionary, explicit))
    next_ = "<http://e/next>"
    program = parse_program(f"false :- [?x, {next_}, ?y], [?y, {next_}, ?x] .")
    with pytest.MonkeyPatch.context() as patch:
        for most, number in ((2, 1), (1, None)):
            patch.setattr(clash_count, "MAX_FACTS_OF_CLASHES", most)
            done = materialise(spark, str(tmp_path / "set"), str(tmp_path / "closed"), program, files=2)
            assert done.inconsistencies == number


@pytest.mark.parametrize("profile", ["rdfs", "owl2rl", "owl2rl-full"])
def test_inferred_facts_are_counted_and_adopted_as_on_one_machine(
    spark: SparkSession, tmp_path: Path, profile: str
) -> None:
    """Types of literals do not count, and are kept apart: what follows later rests on them."""
    (tmp_path / "literals.ttl").write_text(LITERALS)
    dictionary, program = TermDictionary(), load_profile(profile)
    explicit = read_index([tmp_path / "literals.ttl"], dictionary)
    save_encoded(tmp_path / "set", EncodedDataSet(dictionary, explicit))
    wanted = materialise_here(explicit, program, dictionary)
    for files in (1, None):
        done = materialise(spark, str(tmp_path / "set"), str(tmp_path / "closed"), program, files=files)
        found = load_encoded(tmp_path / "closed")
        manifest = json.loads((tmp_path / "closed" / "manifest.json").read_text())
        assert done.explicit == manifest["facts"]["explicit"] == len(explicit)
        assert done.inferred == manifest["facts"]["inferred"] == wanted.inferred_count
        assert texts(found.inferred, found.dictionary) == texts(wanted.inferred(), dictionary)
        assert found.generalised.fact_count()
        reasoner = Reasoner(profile)
        reasoner.load_encoded(tmp_path / "closed", inferred="adopt")
        assert reasoner.verify().is_sound
        reasoner.remove(("<http://example.org/a>", "<http://example.org/size>", '"x"'))
        assert reasoner.verify().is_sound and len(reasoner) < done.explicit + done.inferred


CLOSING = """
PREFIX : <http://e/>
[?x, :t, ?z] :- [?x, :t, ?y], [?y, :t, ?z] .
[?x, :t, ?y] :- [?x, :edge, ?y] .
[?x, :s, ?z] :- [?x, :s, ?y], [?y, :s, ?z] .
[?y, :s, ?x] :- [?x, :s, ?y] .
[?x, :s, ?y] :- [?x, :edge, ?y] .
[?x, :later, ?y] :- [?x, :t, ?y], NOT [?y, :t, ?x], NOT EXISTS ?z IN ([?x, :edge, ?z], [?z, :edge, ?y]) .
:Alone[?x] :- :Node[?x], NOT EXISTS ?y IN ([?x, :s, ?y]), FILTER(?x != :n0) .
[?x, :like, ?y] :- [?x, :size, ?n], [?y, :size, ?m], FILTER(?n < ?m && isIRI(?x)) .
"""


EQUALITY = """
PREFIX : <http://e/>
PREFIX owl: <http://www.w3.org/2002/07/owl#>
[?y, owl:sameAs, ?x] :- [?x, owl:sameAs, ?y] .
[?x, owl:sameAs, ?z] :- [?x, owl:sameAs, ?y], [?y, owl:sameAs, ?z] .
[?y, ?p, ?o] :- [?x, owl:sameAs, ?y], [?x, ?p, ?o] .
[?s, ?q, ?o] :- [?p, owl:sameAs, ?q], [?s, ?p, ?o] .
[?s, ?p, ?y] :- [?x, owl:sameAs, ?y], [?s, ?p, ?x] .
[?x, owl:sameAs, ?y] :- [?z, :edge, ?x], [?z, :edge, ?y], [?z, a, :Node] .
"""

Edges = set[tuple[int, int]]

CHAINS_AND_CYCLES = {(n, n + 1) for n in range(12)} | {
    *((5, 3), (20, 21), (22, 21), (30, 30), (41, 40), (42, 41))
}


@few
@example(CHAINS_AND_CYCLES, CLOSING, True)
@example(CHAINS_AND_CYCLES, EQUALITY, True)
@given(
    st.sets(st.tuples(*[st.integers(0, 12)] * 2), max_size=14),
    st.sampled_from((CLOSING, EQUALITY)),
    st.booleans(),
)
def test_closures_of_few_edges_and_of_many(
    assert_same: AssertSame,
    tmp_path_factory: pytest.TempPathFactory,
    edges: Edges,
    program: str,
    is_much: bool,
) -> None:
    """Transitive and symmetric closures with negation and filters on top, and equality."""
    lines = [f"<http://e/n{a}> <http://e/edge> <http://e/n{b}> .\n" for a, b in edges]
    lines += [f"<http://e/n{n}> a <http://e/Node> ; <http://e/size> {n % 3} .\n" for n in (0, 1, 50, 51)]
    path = tmp_path_factory.mktemp("graph") / "graph.ttl"
    path.write_text("".join(lines))
    dictionary = TermDictionary()
    explicit = read_index([path], dictionary)
    with as_if_much() if is_much else nullcontext():
        assert_same.on_index(explicit, dictionary, parse_program(program))


def test_long_closures_are_announced(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Before they are listed, with the number of their facts: a chain of 13 nodes has 78."""
    monkeypatch.setattr(announcing, "MAX_ROWS_UNANNOUNCED", 50)
    monkeypatch.setattr(closures, "MAX_ROWS_UNANNOUNCED", 50)
    monkeypatch.setattr(partition_rounds, "MAX_EDGES_EXCHANGED", 11)
    lines = [f"<http://e/n{n}> <http://e/edge> <http://e/n{n + 1}> .\n" for n in range(12)]
    (tmp_path / "chain.nt").write_text("".join(lines))
    dictionary = TermDictionary()
    explicit = read_index([tmp_path / "chain.nt"], dictionary)
    save_encoded(tmp_path / "set", EncodedDataSet(dictionary, explicit))
    program = parse_program("PREFIX : <http://e/> [?x, :edge, ?z] :- [?x, :edge, ?y], [?y, :edge, ?z] .")
    with pytest.warns(ListingWarning, match="listing 78 facts of a closure on Spark"):
        done = materialise(spark, str(tmp_path / "set"), str(tmp_path / "closed"), program, files=1)
    assert done.inferred == 66


def test_filters_without_variables(assert_same: AssertSame) -> None:
    """They hold for a body of constants alone, whose bindings have no columns; or they do not."""
    rules = (
        "[:a, :t, :b] :- [:c, a, :B], FILTER(3 * 3 != 2 + 1) . [:a, :u, :b] :- [:c, a, :B], FILTER(1 > 2) ."
    )
    names = [IRI(f"http://e/{name}") for name in "cB"]
    assert_same(frozenset([(names[0], RDF_TYPE, names[1])]), parse_program(f"PREFIX : <http://e/> {rules}"))


SIZES = """
@prefix : <http://e/> . @prefix rdf: <http://www.w3.org/1999/02/22-rdf-syntax-ns#> .
@prefix rdfs: <http://www.w3.org/2000/01/rdf-schema#> . @prefix xsd: <http://www.w3.org/2001/XMLSchema#> .
:a :size "5"^^xsd:byte , "1.0"^^xsd:decimal , "x"@en , "y" , "z"^^:odd , "900"^^xsd:byte .
"""
OPEN = """
PREFIX : <http://e/>
[?v, a, ?d] :- VALUE(?v, ?d) .
[?d, :seen, :yes] :- [?x, ?p, ?d] .
"""


@pytest.mark.parametrize(
    ("rules", "more"),
    [("owl2rl", "rdf:type rdfs:subPropertyOf :kind ."), (OPEN, "")],
    ids=["about types", "open"],
)
def test_literals_have_the_types_of_their_datatypes(
    assert_same: AssertSame, tmp_path: Path, rules: str, more: str
) -> None:
    """Of those that nothing names, where rules read types of any term."""
    (tmp_path / "sizes.ttl").write_text(SIZES + more)
    dictionary = TermDictionary()
    explicit = read_index([tmp_path / "sizes.ttl"], dictionary)
    program = load_profile(rules) if rules == "owl2rl" else parse_program(rules)
    assert_same.on_index(explicit, dictionary, program)


EQUATING = """
PREFIX : <http://e/>
PREFIX owl: <http://www.w3.org/2002/07/owl#>
[?y, owl:sameAs, ?y] :- [?x, :first, ?y] .
[?x, :later, ?y] :- [?x, :second, ?y], [?x, :first, ?z] .
[?y, owl:sameAs, ?y] :- [?x, :later, ?y] .
[?y, owl:sameAs, 7] :- [?x, :later, ?y] .
[?v, :other, ?w] :- DIFFERENT_VALUE(?v, ?w), [?u, :first, ?v] .
[?v, :equal, ?w] :- SAME_VALUE(?v, ?w) .
[?v, a, ?d] :- VALUE(?v, ?d) .
"""


def test_literals_that_are_equated_one_after_the_other(assert_same: AssertSame, tmp_path: Path) -> None:
    """They are compared with those of earlier rounds; one relation is kept, another passed on."""
    (tmp_path / "sizes.ttl").write_text(
        "@prefix : <http://e/> . @prefix xsd: <http://www.w3.org/2001/XMLSchema#> . "
        ':a :first 1 , "x" , "y"@en ; '
        ':second 2 , "01"^^xsd:integer , "x"^^xsd:token , "7.0"^^xsd:decimal , "x"^^xsd:integer , "z"^^:odd .'
    )
    dictionary = TermDictionary()
    explicit = read_index([tmp_path / "sizes.ttl"], dictionary)
    assert_same.on_index(explicit, dictionary, parse_program(EQUATING))


CONCLUDING = """
PREFIX : <http://e/> PREFIX owl: <http://www.w3.org/2002/07/owl#> PREFIX xsd: <http://www.w3.org/2001/XMLSchema#>
[?x, :seen, true], [?x, :seen, "01"^^xsd:integer], [?x, :seen, "x"^^xsd:token] :- [?x, a, :C] .
[?y, :later, "1.0"^^xsd:decimal], [?y, :later, "q"^^xsd:integer], [?y, :named, xsd:boolean] :-
    [?x, :child, ?y], [?x, :seen, true] .
[?x, :never, "2"^^xsd:byte] :- [?x, :later, 7] .
[:fact, :states, "y"^^xsd:token] .
"""
"""Facts with literals that only heads of rules have follow in the first round, in the second, or never."""

COMPARING = """
[?d, :names, ?x] :- [?x, :named, ?d] .
[?v, :equal, ?w] :- SAME_VALUE(?v, ?w) .
[?v, :ill, ?d] :- ILL_TYPED(?v, ?d) .
[?v, a, ?d] :- VALUE(?v, ?d) .
"""


@pytest.mark.parametrize(
    "more",
    [
        COMPARING,
        "[?v, owl:sameAs, ?w] :- SAME_VALUE(?v, ?w) . [?y, ?p, ?z] :- [?x, owl:sameAs, ?y], [?x, ?p, ?z] . "
        "[?v, :other, ?w] :- DIFFERENT_VALUE(?v, ?w) . [?v, a, ?d] :- VALUE(?v, ?d) . "
        "[?p, :used, :yes] :- [?x, ?p, ?y] .",
    ],
    ids=["of named datatypes", "of all datatypes, equated"],
)
def test_literals_that_only_heads_have(assert_same: AssertSame, tmp_path: Path, more: str) -> None:
    """They get types, and are compared, as soon as there are facts with them, and not before."""
    (tmp_path / "children.ttl").write_text(
        "@prefix : <http://e/> . @prefix xsd: <http://www.w3.org/2001/XMLSchema#> . "
        ':a a :C ; :child :b ; :size 1 , "x" , 2 , "y" , "9"^^xsd:byte .'
    )
    dictionary = TermDictionary()
    explicit = read_index([tmp_path / "children.ttl"], dictionary)
    assert_same.on_index(explicit, dictionary, parse_program(CONCLUDING + more))


def test_new_properties_of_rules_are_properties(spark: SparkSession, tmp_path: Path) -> None:
    """Tasks find that the new property has facts, and the program is cut again."""
    dictionary = TermDictionary()
    children = "".join(f":n{n // 2} :child :n{n} . :n{n} :age {n} . " for n in range(1, 20))
    (tmp_path / "family.ttl").write_text(f"@prefix : <http://e/> . {children}")
    explicit = read_index([tmp_path / "family.ttl"], dictionary)
    save_encoded(tmp_path / "set", EncodedDataSet(dictionary, explicit))
    rules = "[?x, :grandchild, ?z] :- [?x, :child, ?y], [?y, :child, ?z] ."
    base = load_profile("rdfs")
    program = Program((*base, *parse_program(f"PREFIX : <http://e/> {rules}")), base.prefixes, "family")
    found, method = closed_on_spark(spark, tmp_path / "set", program, 2)
    assert (found, method) == (closed_here(tmp_path / "set", program), PARTITIONS)
    is_property = ("<http://e/grandchild>", f"<{RDF}type>", f"<{RDF}Property>")
    assert is_property in found[0]


@few
@given(st.sets(st.tuples(st.integers(0, 40), st.integers(0, 40)), min_size=20, max_size=40))
def test_components(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory, edges: Edges) -> None:
    least = {node: node for edge in edges for node in edge}
    for _ in least:
        for one, other in edges:
            least[one] = least[other] = min(least[one], least[other])
    table = spark.createDataFrame(sorted(edges), "subject long, object long")
    found = components(table, str(tmp_path_factory.mktemp("stars")))
    stars = {node: component for node, component in found.collect()}  # noqa: C416 (rows are no pairs)
    assert stars == {node: component for node, component in least.items() if node != component}


def test_what_is_refused(spark: SparkSession, tmp_path: Path) -> None:
    target = tmp_path / "closed"
    profile = load_profile("rhodf")
    with pytest.raises(InputError, match="no encoded data set is here"):
        materialise(spark, str(tmp_path / "none"), str(target), profile)
    source = tmp_path / "set"
    dictionary = TermDictionary()
    save_encoded(source, EncodedDataSet(dictionary, load(frozenset(), dictionary)))
    program = parse_program("[?x, <http://e/q>, ?z] :- [?x, <http://e/p>, ?y], BIND(?y + 1 AS ?z) .")
    with pytest.raises(RuleError, match="computes new terms"):
        materialise(spark, str(source), str(target), program, files=1)
    with pytest.raises(UnstratifiableError):
        materialise(
            spark,
            str(source),
            str(target),
            parse_program("<http://e/A>[?x] :- NOT <http://e/A>[?x], <http://e/B>[?x] ."),
        )
    next((source / "terms").iterdir()).write_bytes(b"cut off")
    with pytest.raises(InputError, match="is missing or cut off"):
        materialise(spark, str(source), str(target), profile)
    assert not target.exists()
