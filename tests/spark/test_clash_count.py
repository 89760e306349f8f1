"""Inconsistencies counted after rounds, without Spark: tasks look for facts one after the other."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from itertools import pairwise
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests import ontology_strategies as ontology
from tests import strategies as some
from tests.engine import Fact, load
from tests.spark.clashes import CLASHES, KINDS
from tests.strategies import thorough

from corollary.columns import Candidates, TripleIndex
from corollary.columns.pairs import distinct, firsts, gathered, pack
from corollary.evaluate import inconsistency, materialise
from corollary.evaluate.engine import Engine
from corollary.evaluate.materialise import MaterialisedView
from corollary.execute.batches import Batch
from corollary.execute.filters import true_rows
from corollary.execute.run_plan import extend
from corollary.kernels.sorted import Column, Mask
from corollary.language import RDF_TYPE, XSD, Filter, Program, Rule, parse_program
from corollary.language.model import IRI, BlankNode, BodyElement, Literal, Not
from corollary.loaders import read_index
from corollary.loaders.encoded_format import COLUMNS
from corollary.loaders.spark import tuning
from corollary.loaders.spark.clash_count import ClosedFacts, Tested, Uncounted, count_clashes
from corollary.loaders.spark.clash_tasks import Meeting, Pattern, Route, Share, joined, numbered, routed
from corollary.loaders.spark.driver_schema import DriverSchema
from corollary.loaders.spark.encoded_tables import DistributedDataSet
from corollary.loaders.spark.schema import Schema
from corollary.profiles import load_profile
from corollary.program.compile import Atom
from corollary.program.compiled_program import CompiledProgram
from corollary.terms.dictionary import FIRST_LITERAL, Kind, TermDictionary


class OneDictionary:
    """A translation where local and global ids are the same."""

    def __init__(self, dictionary: TermDictionary) -> None:
        self.dictionary = dictionary

    def id(self, local: int) -> int:
        return local

    def atom(self, atom: Atom) -> Atom:
        return atom

    def outward(self, column: Column) -> np.ndarray:
        return column.astype(np.int64)

    def known(self, texts: Iterator[str]) -> dict[str, int]:
        return {text: found for text in texts if (found := self.dictionary.find(text)) is not None}


class LocalFacts(ClosedFacts):
    """The facts of a materialisation, in partitions of this process."""

    def __init__(self, view: MaterialisedView, partitions: int) -> None:
        dictionary = view.dictionary
        compiled = CompiledProgram(view.program, dictionary, unrolls_all=True)
        on_driver = DriverSchema.of(view.program, dictionary)
        facts = {p: on_driver.only(p, view.index.keys(p)) for p in view.index.predicates()}
        schema_facts = TripleIndex()
        for predicate, keys in facts.items():
            schema_facts.add_new(predicate, [keys])
        schema = SimpleNamespace(
            compiled=compiled,
            on_driver=on_driver,
            index=Engine(schema_facts, compiled).fixpoint.index,
            translation=OneDictionary(dictionary),
        )
        nothing = cast(DistributedDataSet, None)
        super().__init__(nothing, nothing, cast(Schema, schema), None, "")
        object.__setattr__(self, "view", view)
        object.__setattr__(self, "slots", tuple(10 * n + 7 for n in range(partitions)))

    view: MaterialisedView
    slots: tuple[int, ...]

    def _tables(self) -> Iterator[pa.RecordBatch]:
        subjects, predicates, objects = self.view.index.columns(legal=False)
        for half in (slice(0, subjects.size // 2), slice(subjects.size // 2, None)):
            columns = [pa.array(c[half].astype(np.int64)) for c in (predicates, subjects, objects)]
            yield pa.RecordBatch.from_arrays(columns, names=list(COLUMNS))

    def matching(self, patterns: Sequence[tuple[Pattern, Share]]) -> tuple[Any, dict[int, int]]:
        rows = [row for table in self._tables() for row in numbered(patterns)(iter([table]))]
        numbers = [number for row in rows for number in row["number"].to_pylist()]
        return rows, {number: numbers.count(number) for number in set(numbers)}

    def joined(self, meetings: Sequence[Meeting], routes: Sequence[Route]) -> Any:
        sent = [row for table in self._tables() for row in routed(routes, self.slots)(iter([table]))]
        by_target = {slot: [row for row in sent if row["target"][0].as_py() == slot] for slot in self.slots}
        return [row for rows in by_target.values() for row in joined(meetings)(iter(rows))]

    def collected(
        self, found: Any, numbers: Sequence[int], tested: Mapping[int, Tested] | None = None
    ) -> Candidates:
        tested = tested or {}
        facts: dict[int, Candidates] = {}
        for row in found:
            number, *columns = (row[name].to_numpy() for name in ("number", *COLUMNS))
            if number[0] in numbers:
                predicates, *ends = (column.astype(np.uint32) for column in columns)
                keys = pack(*ends)[self._are_true(tested.get(number[0]), predicates, *ends)]
                facts.setdefault(number[0], {}).setdefault(int(predicates[0]), []).append(keys)
        whole: Candidates = {}
        for part in facts.values():
            extend(whole, part)
        if sum(gathered(parts).size for parts in whole.values()) > tuning.MAX_FACTS_OF_CLASHES:
            raise Uncounted("many")
        return whole

    def _are_true(self, tested: Tested | None, predicates: Column, subjects: Column, objects: Column) -> Mask:
        is_true = np.ones(subjects.size, np.bool_)
        if tested is not None:
            form, atom = tested
            batch = Batch(subjects.size, dict(zip(atom.terms, (subjects, predicates, objects), strict=True)))
            for condition in form.conditions:
                if condition.needs <= atom.variables:
                    assert isinstance(condition.element, Filter)
                    is_true &= true_rows(batch, condition.element.expression, form, self.view.dictionary)
        return is_true

    def ill_typed(self) -> Column:
        relation = self.view.dictionary.encode("ILL_TYPED")
        return distinct(firsts(self.view.index.keys(relation)))

    def marked(self) -> Column:
        dictionary = self.view.dictionary
        ids = range(FIRST_LITERAL, FIRST_LITERAL + dictionary.count(Kind.LITERAL))
        return np.array([i for i in ids if not dictionary.decode(i).endswith('"')], np.uint32)


@contextmanager
def limited(listed: int, collected: int, guards: int) -> Iterator[None]:
    """With other bounds for the clashes that are listed, facts that are collected, and facts of a guard."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(inconsistency, "MAX_CLASHES_LISTED", listed)
        patch.setattr(tuning, "MAX_FACTS_OF_CLASHES", collected)
        patch.setattr("corollary.loaders.spark.clash_count.MAX_FACTS_OF_CLASHES", guards)
        yield


def check(facts: frozenset[Fact], program: Program, partitions: int, listed: int, guards: int) -> None:
    """The number is that of the engine."""
    dictionary = TermDictionary()
    with limited(listed, 10**6, guards):
        view = materialise(load(facts, dictionary), program, dictionary)
        assert count_clashes(LocalFacts(view, partitions)) == view.inconsistency_count


counts = st.integers(1, 4)
limits = st.tuples(st.sampled_from((1, 2, 1000)), st.sampled_from((1, 10**6)))
"""Clashes that are listed, and facts of a guard, at most."""


@st.composite
def constraints(draw: st.DrawFn) -> Rule:
    """One to three atoms, and perhaps a negated one and a filter."""
    body = draw(some.bodies(draw(st.sampled_from((some.LOWER, some.OPEN)))))
    bound = some.variables_of(body)
    more: list[BodyElement] = []
    if draw(st.booleans()):
        more.append(Not((draw(some.atoms(some.LOWER, bound)),)))
    is_filtered = draw(st.booleans())
    if bound and is_filtered:
        more.append(Filter(draw(some.conditions(bound))))
    return Rule((), (*body, *more))


@thorough(300)
@given(
    some.number_fact_sets,
    st.tuples(some.lists_of(some.positive_rules(), 0, 2), some.lists_of(constraints(), 1, 4)).map(
        lambda parts: some.program_of([*parts[0], *parts[1]])
    ),
    counts,
    limits,
)
def test_random_constraints(
    facts: frozenset[Fact], program: Program, partitions: int, bounds: tuple[int, int]
) -> None:
    check(facts, program, partitions, *bounds)


@st.composite
def clashing_lists(draw: st.DrawFn) -> ontology.Axiom:
    """A list of classes, properties or individuals that all exclude each other."""
    kind, items, link = draw(
        st.sampled_from(
            (
                ("AllDisjointClasses", some.classes, "members"),
                ("AllDisjointProperties", some.properties, "members"),
                ("AllDifferent", some.individuals, "members"),
                ("AllDifferent", some.individuals, "distinctMembers"),
            )
        )
    )
    members = draw(st.lists(items, min_size=1, max_size=3))

    def facts(prefix: str) -> set[Fact]:
        node = BlankNode(f"{prefix}all")
        stated = ontology.with_list(node, ontology.owl(link), members)(prefix)
        return stated | {(node, RDF_TYPE, ontology.owl(kind))}

    return facts


@st.composite
def denials(draw: st.DrawFn) -> ontology.Axiom:
    """That one individual is related to another, or to a number, is denied."""
    name, values = draw(
        st.sampled_from((("targetIndividual", some.individuals), ("targetValue", some.numbers)))
    )
    subject, predicate, value = draw(some.individuals), draw(some.properties), draw(values)

    def facts(prefix: str) -> set[Fact]:
        node = BlankNode(f"{prefix}not")
        return {
            (node, ontology.owl("sourceIndividual"), subject),
            (node, ontology.owl("assertionProperty"), predicate),
            (node, ontology.owl(name), value),
        }

    return facts


few_literals = st.sampled_from(
    [
        *(Literal(text, XSD + name) for text, name in (("x", "byte"), ("500", "byte"), ("1.5", "decimal"))),
        *(
            Literal("x"),
            Literal("x", language="en"),
            Literal("x", XSD + "string"),
            Literal("1", XSD + "integer"),
        ),
    ]
)
ranges = st.builds(
    ontology.statement,
    some.properties,
    st.just(ontology.rdfs("range")),
    st.sampled_from([IRI(XSD + name) for name in ("string", "integer", "byte")]),
)
none_at_all = st.builds(
    ontology.restriction,
    ontology.contexts,
    some.properties,
    st.just((ontology.owl("maxQualifiedCardinality"), ontology.number_of("0"))),
    st.tuples(st.just(ontology.owl("onClass")), st.one_of(some.classes, st.just(ontology.owl("Thing")))),
)


@thorough(200)
@given(
    ontology.ontologies(
        ontology.clash_axioms,
        clashing_lists(),
        denials(),
        none_at_all,
        st.one_of(ranges, ontology.rdfs_axioms),
        st.one_of(ontology.same_individuals, ontology.property_axioms),
        data=some.sets_of(
            st.one_of(some.plain_facts, st.tuples(some.individuals, some.properties, few_literals)), 16
        ),
    ),
    st.sampled_from(("owl2rl", "owl2rl", "rdfs")),
    counts,
    limits,
)
def test_ontologies(facts: frozenset[Fact], profile: str, partitions: int, bounds: tuple[int, int]) -> None:
    check(facts, load_profile(profile), partitions, *bounds)


HARMLESS = """
:i{n} a :A , :C , :E ; :asy :i{m} ; :p1 :i{m} ; :p2 :i{n} ; :q1 :i{m} ; :r :i{n} ; :v {n} .
:i{n} :mp :i{m} ; :qp :i{m} ; owl:differentFrom :i{m} ; :size "abc"^^xsd:integer , "{n}" . :j{n} a :M , :QC .
"""


def test_each_kind_among_many_facts_without_clash(tmp_path: Path) -> None:
    """Few facts are collected, for each kind of constraint."""
    many = "".join(HARMLESS.format(n=n, m=n + 1) for n in range(300))
    (tmp_path / "in.ttl").write_text(CLASHES + many)
    dictionary = TermDictionary()
    explicit = read_index([tmp_path / "in.ttl"], dictionary)
    view = materialise(explicit, load_profile("owl2rl"), dictionary)
    assert {found.rule for found in view.inconsistencies} == KINDS
    with limited(1000, 400, 400):
        assert count_clashes(LocalFacts(view, 3)) == view.inconsistency_count


RULES = "PREFIX : <http://e/> PREFIX xsd: <http://www.w3.org/2001/XMLSchema#> "


def of_chain(size: Literal, constraint: str) -> MaterialisedView:
    """Nine facts of :next, and one of :size, under a constraint."""
    nodes = [IRI(f"http://e/{n}") for n in range(10)]
    facts: set[Fact] = {(one, IRI("http://e/next"), other) for one, other in pairwise(nodes)}
    facts.add((nodes[1], IRI("http://e/size"), size))
    dictionary = TermDictionary()
    return materialise(load(frozenset(facts), dictionary), parse_program(RULES + constraint), dictionary)


@pytest.mark.parametrize(
    ("constraint", "reason"),
    [
        ("false :- [?x, :next, ?y] .", "many"),
        ("false :- [?x, :size, ?y], [?x, :size, ?z], SAME_VALUE(?y, ?z) .", "reads values of literals"),
    ],
)
def test_why_they_are_not_counted(constraint: str, reason: str) -> None:
    view = of_chain(Literal("1", XSD + "integer"), constraint)
    with limited(1000, 8, 8), pytest.raises(Uncounted, match=reason):
        count_clashes(LocalFacts(view, 2))


@pytest.mark.parametrize(
    ("constraint", "number"),
    [
        ("false :- [?x, :next, ?y], [?x, :next, ?z], FILTER(?y != ?z) .", 0),
        ("false :- [?x, :next, ?y], [?z, :next, ?y], FILTER(!sameTerm(?x, ?z)) .", 0),
        ("false :- [?x, :size, ?y], [?x, :size, ?z], FILTER(?y != ?z) .", 1),
        ("false :- [?x, :size, ?v], ILL_TYPED(?v, xsd:integer) .", 0),
    ],
)
def test_filters_that_ids_decide_are_applied_by_tasks(constraint: str, number: int) -> None:
    """NaN is not equal to itself."""
    view = of_chain(Literal("NaN", XSD + "double"), constraint)
    with limited(1000, 2, 2):
        assert count_clashes(LocalFacts(view, 2)) == view.inconsistency_count == number


TYPED = "[?v, a, :Size] :- [?x, :size, ?v] ."


@pytest.mark.parametrize(
    "constraint",
    [
        "false :- [?v, a, :Size], FILTER(DATATYPE_CLASH(?v, xsd:integer)) .",
        "false :- [?v, a, ?c], [?x, :of, ?d], FILTER(DATATYPE_CLASH(?v, ?d)) . [:n, :of, xsd:integer] .",
        "false :- [?v, a, ?c], [?v, a, ?d], FILTER(DATATYPE_CLASH(?v, ?d)) . xsd:integer[?v] :- :Size[?v] .",
    ],
)
def test_literals_may_have_classes_that_are_no_datatypes(constraint: str) -> None:
    """A literal is compared with one type, and another premise is about another type."""
    view = of_chain(Literal("x"), TYPED + constraint)
    assert count_clashes(LocalFacts(view, 2)) == view.inconsistency_count > 0


def test_negated_premises_are_looked_for() -> None:
    """Eight of nine nodes with a next one have no size."""
    constraint = "false :- [?x, :next, ?y], NOT EXISTS ?v IN ([?x, :size, ?v]) ."
    view = of_chain(Literal("1", XSD + "integer"), constraint)
    assert count_clashes(LocalFacts(view, 2)) == view.inconsistency_count == 8
