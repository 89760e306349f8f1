"""Reasoning on partitions without Spark: programs are cut, tasks run one after the other, rows in memory.

What Spark adds is in ``test_materialise``: its own tables for ids, values of literals, and files.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Iterator
from contextlib import suppress
from types import SimpleNamespace
from typing import cast

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pyarrow import parquet
from tests import ontology_strategies as ontology
from tests import strategies as some
from tests.engine import Fact, load
from tests.spark.data import TextTriple, texts
from tests.strategies import thorough

from corollary.columns import TripleIndex
from corollary.evaluate import materialise
from corollary.evaluate.engine import Engine
from corollary.language import (
    IRI,
    OWL,
    RDF_TYPE,
    RDFS,
    Builtin,
    Call,
    Filter,
    Program,
    Rule,
    Triple,
    Variable,
    parse_program,
)
from corollary.loaders.encoded_format import COLUMNS, INFERRED
from corollary.loaders.spark import packed_facts, program_cut
from corollary.loaders.spark.driver_schema import DriverSchema
from corollary.loaders.spark.packed_facts import empty_rows, packed_rows, unpacked
from corollary.loaders.spark.partition_rounds import (
    ANY,
    PartitionedEvaluation,
    VoidCut,
    local_outline,
    task_ids,
)
from corollary.loaders.spark.partition_task import (
    ADDED,
    EXPLICIT,
    FIRST,
    FOLLOWING,
    LATER,
    OWN,
    REPORT,
    SENT,
    Work,
    outlined,
    written,
)
from corollary.loaders.spark.program_cut import ANY_LITERAL, ANY_RESOURCE, CannotCut, cut_program
from corollary.loaders.spark.schema import Schema
from corollary.loaders.spark.schema_of_data import schema_of_data
from corollary.loaders.spark.tuning import MAX_CUTS, MAX_RULES_CUT
from corollary.profiles import load_profile
from corollary.program.compiled_program import VALUE_BUILTINS, CompiledProgram
from corollary.terms.dictionary import BULK_KINDS, FIRST_BLANK_NODE, FIRST_LITERAL, KIND_SHIFT, TermDictionary

PREFIXES = """
PREFIX : <http://e/>
PREFIX owl: <http://www.w3.org/2002/07/owl#>
PREFIX rdf: <http://www.w3.org/1999/02/22-rdf-syntax-ns#>
PREFIX rdfs: <http://www.w3.org/2000/01/rdf-schema#>
"""


class SchemaChanges(Exception):
    """Facts that are added are schema, so that all is derived anew."""


class LocalRounds:
    """The rounds of ``PartitionedEvaluation``, in this process. Raises ``CannotCut``.

    ``added``: the other facts are closed under the program, and their change is followed.
    """

    def __init__(
        self,
        facts: Iterable[Fact],
        program: Program,
        partitions: int,
        *,
        is_strict: bool,
        added: frozenset[Fact] | None = None,
        of_data: frozenset[TextTriple] = frozenset(),
    ) -> None:
        """``of_data`` are schema facts that follow from data, as earlier rounds have found."""
        self.everywhere = TermDictionary()
        self.explicit = load({*facts, *(added or ())}, self.everywhere)
        schema = self._schema(program)
        dictionary = schema.compiled.dictionary
        self.of_data = set(of_data)
        for subject, name, value in (map(dictionary.encode, fact) for fact in sorted(of_data)):
            schema.engine.add({name: [np.array([subject << 32 | value], np.uint64)]})
        tables = self._tables(dictionary)
        batch = self._batch(self.explicit)
        known = np.sort(np.concatenate(tables))
        found = pa.Table.from_batches([*outlined(known, *ANY)(iter([batch]))])
        own = dictionary.copied()
        outline = local_outline(found, tables, own)
        others = frozenset(map(own.encode, (ANY_RESOURCE, ANY_LITERAL)))
        while more := schema_of_data(cast(Schema, schema), own, outline, others):
            schema.engine.add(more)
            self.of_data |= {
                (own.decode(key >> 32), own.decode(predicate), own.decode(key & 0xFFFFFFFF))
                for predicate, (keys,) in more.items()
                for key in keys.tolist()
            }
        cut = cut_program(
            cast(Schema, schema),
            own,
            outline,
            large=frozenset(),
            pairs=self._pairs,
            has_equal_literals=False,
            is_strict=is_strict,
        )
        self.program = cut.program
        ids = task_ids(tables, own)
        slots = tuple(10 * n + 7 for n in range(partitions))
        self.work = Work.of(cut, ids, slots)
        starts = empty_rows(EXPLICIT, slots)
        if added is None:
            rows = [*self.work.cut(EXPLICIT)(self._halves(batch))]
        else:
            rows = self._closed_rows(load(facts, self.everywhere), program, schema)
        self.rows = self._grouped((*(starts.slice(n, 1) for n in range(partitions)), *rows))
        self.stage = FIRST if added is None else FOLLOWING
        self.rounds = 0
        self.sample: list[list[int]] = []

    def _pairs(self, _: int) -> int:
        return self.explicit.fact_count() ** 2

    def run(self) -> set[TextTriple]:
        """All inferred facts."""
        own: list[pa.RecordBatch] = []
        while not self.rounds or any(b["what"][0].as_py() == SENT for b in self._all()):
            close = self.work.close(LATER if self.rounds else self.stage)
            new = [batch for rows in self.rows.values() for batch in close(iter(rows))]
            reports = [json.loads(b["content"][0].as_py()) for b in new if b["what"][0].as_py() == REPORT]
            schema = [fact for report in reports for fact in report["schema"]]
            if schema or any(report["is_void"] for report in reports):
                raise VoidCut(schema)
            self.sample += [fact for report in reports for fact in report["sample"]]
            kept = [] if not self.rounds else [b for b in self._all() if b["what"][0].as_py() != SENT]
            own += [batch for batch in new if batch["what"][0].as_py() == OWN]
            self.rows = self._grouped(b for b in (*kept, *new) if b["what"][0].as_py() != REPORT)
            self.rounds += 1
        return self._written(own)

    def _closed_rows(
        self, explicit: TripleIndex, program: Program, schema: SimpleNamespace
    ) -> list[pa.RecordBatch]:
        """The rows of a closed data set, and of the facts that are added to it. Raises ``SchemaChanges``."""
        view = materialise(explicit, program, self.everywhere)
        added = self.explicit.difference(explicit)
        if self._schema_facts(added, schema.compiled, schema.on_driver).fact_count():
            raise SchemaChanges
        if not self.of_data <= texts(view.inferred(), self.everywhere):
            raise SchemaChanges
        parts = (
            (EXPLICIT, explicit, True),
            (OWN, view.inferred(), True),
            (OWN, view.generalised(), True),
            (ADDED, added, False),
        )
        return [
            row
            for what, index, copies in parts
            for row in self.work.cut(what, copies=copies)(self._halves(self._batch(index)))
        ]

    def _written(self, rows: list[pa.RecordBatch]) -> set[TextTriple]:
        """The facts of the files: ascending over the files, each once, those that are no triples apart."""
        sample = sorted((p, s, o) for p, s, o in self.sample)
        bounds = sorted({sample[len(sample) * n // 3] for n in (1, 2)} if sample else ())
        by_file = self._grouped(self.work.sorted_into(bounds)(iter(rows)))
        found: set[TextTriple] = set()
        last: dict[str, tuple[int, int, int]] = {}
        for number in sorted(by_file):
            for file in written(iter(by_file[number])):
                part = file["name"][0].as_py().rpartition("/")[0]
                table = parquet.read_table(pa.BufferReader(file["content"][0].as_py()))
                facts = list(zip(*(table.column(name).to_pylist() for name in COLUMNS), strict=True))
                assert facts == sorted(set(facts)) and last.get(part, (-1, -1, -1)) < facts[0]
                last[part] = facts[-1]
                is_legal = [p < FIRST_BLANK_NODE and s < FIRST_LITERAL for p, s, _ in facts]
                assert all(is_legal) if part == INFERRED else not any(is_legal)
                decode = self.everywhere.decode
                found |= {(decode(s), decode(p), decode(o)) for p, s, o in facts}
        return found

    def _all(self) -> Iterator[pa.RecordBatch]:
        return (batch for rows in self.rows.values() for batch in rows)

    def _schema(self, program: Program) -> SimpleNamespace:
        """The driver's closed schema, over a dictionary of its own."""
        local = TermDictionary()
        compiled = CompiledProgram(program, local, unrolls_all=True)
        on_driver = DriverSchema.of(program, local)
        decode = self.everywhere.decode
        engine = Engine(self._schema_facts(self.explicit, compiled, on_driver), compiled)
        for predicate, relation in self.explicit.relations():
            if local.encode(decode(predicate)) == compiled.rdf_type:
                local.encode_all([decode(term) for term in relation.object_terms().tolist()])
        index = engine.fixpoint.index
        return SimpleNamespace(compiled=compiled, on_driver=on_driver, index=index, engine=engine)

    def _schema_facts(
        self, facts: TripleIndex, compiled: CompiledProgram, on_driver: DriverSchema
    ) -> TripleIndex:
        """The facts that are schema, over the driver's dictionary."""
        local, decode, found = compiled.dictionary, self.everywhere.decode, TripleIndex()
        for predicate, relation in facts.relations():
            name = local.find(decode(predicate))
            for key in relation.pairs().keys.tolist():
                ends = [decode(key >> 32), decode(key & 0xFFFFFFFF)]
                is_class = name == compiled.rdf_type and local.find(ends[1]) in on_driver.classes
                if name is not None and (name in on_driver.predicates or is_class):
                    subject, value = map(local.encode, ends)
                    found.add_new(name, [np.array([subject << 32 | value], np.uint64)])
        return found

    def _tables(self, dictionary: TermDictionary) -> list[np.ndarray]:
        ids = [
            range(kind << KIND_SHIFT, (kind << KIND_SHIFT) + dictionary.count(kind)) for kind in BULK_KINDS
        ]
        encode = self.everywhere.encode
        return [np.array([encode(dictionary.decode(i)) for i in part], np.int64) for part in ids]

    @staticmethod
    def _batch(index: TripleIndex) -> pa.RecordBatch:
        subjects, predicates, objects = index.columns(legal=False)
        columns = dict(zip(COLUMNS, (predicates, subjects, objects), strict=True))
        return pa.RecordBatch.from_pydict({n: pa.array(c, pa.int64()) for n, c in columns.items()})

    @staticmethod
    def _halves(batch: pa.RecordBatch) -> Iterator[pa.RecordBatch]:
        middle = batch.num_rows // 2
        return iter([batch.slice(middle), batch.slice(0, middle)])

    @staticmethod
    def _grouped(batches: Iterable[pa.RecordBatch]) -> dict[int, list[pa.RecordBatch]]:
        """As Spark brings rows together: in no order."""
        found: dict[int, list[pa.RecordBatch]] = {}
        for batch in batches:
            found.setdefault(batch["target"][0].as_py(), []).insert(0, batch)
        return found


def closed_here(facts: Iterable[Fact], program: Program) -> set[TextTriple]:
    dictionary = TermDictionary()
    result = materialise(load(facts, dictionary), program, dictionary)
    return texts(result.index.difference(result.explicit), dictionary)


def without_values(program: Program) -> Program:
    """The rules that do not read values of literals, which only Spark derives."""
    return Program(
        tuple(
            rule
            for rule in program
            if not any(isinstance(e, Builtin) and e.name in VALUE_BUILTINS for e in rule.body)
        )
    )


def derived(
    facts: Iterable[Fact],
    program: Program,
    partitions: int,
    *,
    is_strict: bool = False,
    added: frozenset[Fact] | None = None,
) -> tuple[set[TextTriple], int]:
    """What partitions derive, and the number of rounds. Raises ``CannotCut``, ``VoidCut``."""
    known: frozenset[TextTriple] = frozenset()
    while True:
        rounds = LocalRounds(facts, program, partitions, is_strict=is_strict, added=added, of_data=known)
        try:
            return rounds.run(), rounds.rounds
        except VoidCut as void:
            decode = rounds.everywhere.decode
            more = {(decode(s), decode(p), decode(o)) for p, s, o in void.schema}
            if more <= known:
                raise
            known |= more


def check(facts: frozenset[Fact], program: Program, partitions: int, max_rules: int = MAX_RULES_CUT) -> None:
    """Partitions derive what the engine derives, if the program can be cut; after additions, too.

    With more instances than ``max_rules``, facts are replicated.
    """
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(program_cut, "MAX_RULES_CUT", max_rules)
        _check(facts, program, partitions)


def _check(facts: frozenset[Fact], program: Program, partitions: int) -> None:
    wanted = closed_here(facts, program)
    some_facts = sorted(facts, key=repr)
    for is_strict in (False, True):
        with suppress(CannotCut, VoidCut):
            assert derived(facts, program, partitions, is_strict=is_strict)[0] == wanted
            for number in (1, 3):
                added = frozenset(some_facts[::number])
                with suppress(SchemaChanges, VoidCut):
                    rest = facts - added
                    assert derived(rest, program, partitions, is_strict=is_strict, added=added)[0] == wanted


counts = st.integers(1, 5)
limits = st.sampled_from((0, 2, MAX_RULES_CUT))
X, Y, Z, V, W = map(Variable, "xyzvw")


@st.composite
def meeting_rules(draw: st.DrawFn) -> Rule:
    """A rule whose two or three atoms share one variable, as subject or object."""
    names = iter((X, Y, Z))
    body: list[Triple | Filter] = []
    for _ in range(draw(st.integers(1, 3))):
        other, predicate = next(names), draw(some.properties)
        forward = draw(st.booleans())
        body.append(Triple(V, predicate, other) if forward else Triple(other, predicate, V))
    bound = some.variables_of(body)
    terms = st.sampled_from(bound)
    if draw(st.booleans()):
        body.append(Filter(Call("!", (Call("sameterm", (draw(terms), draw(terms))),))))
    is_class = draw(st.booleans())
    head = Triple(draw(terms), RDF_TYPE, draw(some.classes)) if is_class else None
    return Rule((head or Triple(draw(terms), draw(some.properties), draw(terms)),), tuple(body))


@st.composite
def chained_rules(draw: st.DrawFn) -> Rule:
    """A rule whose two to five atoms share variables in any way."""
    ends = st.sampled_from((X, Y, Z, V, W))
    body: list[Triple | Filter] = []
    for _ in range(draw(st.integers(2, 5))):
        triple = Triple(draw(ends), draw(some.properties), draw(ends))
        if draw(st.integers(0, 4)) == 0:
            triple = Triple(draw(ends), RDF_TYPE, draw(st.one_of(some.classes, ends)))
        body.append(triple)
    terms = st.sampled_from(some.variables_of(body))
    if draw(st.booleans()):
        body.append(Filter(Call("!", (Call("sameterm", (draw(terms), draw(terms))),))))
    return Rule((Triple(draw(terms), draw(some.properties), draw(terms)),), tuple(body))


@thorough(600)
@given(
    some.sets_of(st.one_of(some.plain_facts, some.number_facts)),
    some.lists_of(st.one_of(chained_rules(), chained_rules(), some.positive_rules()), 1, 3),
    counts,
)
def test_joins_in_steps(facts: frozenset[Fact], rules: list[Rule], count: int) -> None:
    check(facts, some.program_of(rules), count)


@thorough(600)
@given(some.fact_sets, some.programs(), counts, limits)
def test_positive_programs(facts: frozenset[Fact], program: Program, count: int, most: int) -> None:
    check(facts, program, count, most)


@thorough(600)
@given(
    some.sets_of(st.one_of(some.plain_facts, some.number_facts)),
    some.lists_of(st.one_of(meeting_rules(), meeting_rules(), some.positive_rules()), 1, 5),
    counts,
    limits,
)
def test_rules_that_meet_in_one_variable(
    facts: frozenset[Fact], rules: list[Rule], count: int, most: int
) -> None:
    check(facts, some.program_of(rules), count, most)


@thorough(300)
@given(
    ontology.ontologies(
        ontology.rdfs_axioms,
        ontology.meta_axioms,
        ontology.property_axioms,
        ontology.class_axioms,
        ontology.equality_axioms,
        data=some.sets_of(st.one_of(some.plain_facts, some.number_facts), 12),
    ),
    st.sampled_from(("rhodf", "rdfs", "rdfs-plus", "owl2rl", "skos")),
    counts,
    limits,
)
def test_ontologies(facts: frozenset[Fact], profile: str, count: int, most: int) -> None:
    check(facts, without_values(load_profile(profile)), count, most)


def triples(text: str) -> frozenset[Fact]:
    """Facts as in rules: lines of three terms."""
    heads = parse_program(f"{PREFIXES} {text}")
    return frozenset((h.subject, h.predicate, h.object) for rule in heads for h in rule.heads)  # type: ignore[misc]


CHAIN = triples(" ".join(f"[:n{n}, :next, :n{n + 1}] ." for n in range(9)))


def test_a_chain_takes_a_logarithm_of_rounds() -> None:
    """The copies of edges meet the edges, and paths double."""
    program = parse_program(f"{PREFIXES} [?x, :next, ?z] :- [?x, :next, ?y], [?y, :next, ?z] .")
    found, rounds = derived(CHAIN, program, 4)
    assert found == closed_here(CHAIN, program) and len(found) == 36
    assert 3 <= rounds <= 9


def test_rules_with_one_subject_need_no_exchange() -> None:
    """Nothing is sent: one round, whatever the number of partitions."""
    program = parse_program(
        f"{PREFIXES} :Last[?x] :- [?x, :next, :n9] . [?x, :to, ?y] :- [?x, :next, ?y], :Last[?x] ."
    )
    found, rounds = derived(CHAIN, program, 4)
    assert (len(found), rounds) == (2, 1)
    assert found == closed_here(CHAIN, program)


def test_a_partition_without_facts_has_what_the_schema_says() -> None:
    """All inferred facts of the driver have a home, and it may have no explicit facts."""
    facts = triples("[:p, owl:equivalentProperty, :q] .")
    program = load_profile("rdfs-plus")
    for count in range(1, 6):
        assert derived(facts, program, count)[0] == closed_here(facts, program)


def test_data_may_say_what_the_schema_is() -> None:
    """The driver finds that the predicate of the data is a subproperty."""
    program = parse_program(
        f"{PREFIXES} [?p, rdfs:subPropertyOf, :all] :- [?x, ?p, ?y] ."
        "[?x, ?q, ?y] :- [?p, rdfs:subPropertyOf, ?q], [?x, ?p, ?y] ."
    )
    found, _ = derived(CHAIN, program, 3)
    assert found == closed_here(CHAIN, program)
    assert ("<http://e/n3>", "<http://e/all>", "<http://e/n4>") in found


def schema_rules() -> st.SearchStrategy[Rule]:
    """A rule that concludes one schema fact about properties or classes from data."""
    names = st.sampled_from(some.UPPER.properties * 2 + some.LOWER.properties)
    classes = st.sampled_from(some.BOTH.classes)
    kinds = [IRI(f"{OWL}{kind}Property") for kind in ("Symmetric", "Transitive", "InverseFunctional")]
    above, below = IRI(f"{RDFS}subPropertyOf"), IRI(f"{RDFS}subClassOf")
    ends = st.sampled_from([IRI(f"{RDFS}{name}") for name in ("domain", "range")])
    heads = st.one_of(
        st.builds(Triple, names, st.just(above), names),
        st.builds(Triple, names, ends, classes),
        st.builds(Triple, classes, st.just(below), classes),
        st.builds(Triple, names, st.just(RDF_TYPE), st.sampled_from(kinds)),
    )
    bodies = st.lists(st.builds(Triple, st.sampled_from((X, Y)), names, st.just(Z)), min_size=1, max_size=2)
    return st.builds(lambda head, body: Rule((head,), tuple(body)), heads, bodies)


@thorough(300)
@given(
    some.sets_of(some.plain_facts, 16),
    some.sets_of(some.plain_facts, 4),
    ontology.ontologies(ontology.rdfs_axioms, ontology.meta_axioms, max_size=2),
    some.lists_of(some.positive_rules(some.LOWER, some.UPPER), 1, 3),
    some.lists_of(schema_rules(), 0, 2),
    st.sampled_from(("rdfs", "rdfs", "rdfs-plus", "owl2rl")),
    counts,
)
def test_data_lead_to_schema_facts(
    data: frozenset[Fact],
    more: frozenset[Fact],
    schema: frozenset[Fact],
    rules: list[Rule],
    others: list[Rule],
    profile: str,
    count: int,
) -> None:
    """Facts of terms that the program names. After additions of data, too."""
    base = without_values(load_profile(profile))
    program = Program((*base, *rules, *others), base.prefixes)
    facts = data | more | schema
    for added in (None, more):
        known = facts - (added or frozenset())
        with suppress(CannotCut, SchemaChanges):
            try:
                found, _ = derived(known, program, count, added=added)
            except VoidCut:
                found, _ = derived(known, program, count, added=added, is_strict=True)
            assert found == closed_here(facts, program)


def test_new_properties_of_rules_are_properties() -> None:
    """The program is cut again when a task finds the first of their facts."""
    rules = parse_program(f"{PREFIXES} [?x, :far, ?z] :- [?x, :next, ?y], [?y, :next, ?z] .")
    program = Program((*without_values(load_profile("rdfs")), *rules))
    with pytest.raises(VoidCut):
        LocalRounds(CHAIN, program, 3, is_strict=False).run()
    found, _ = derived(CHAIN, program, 3)
    assert found == closed_here(CHAIN, program)
    assert ("<http://e/far>", f"<{RDFS}subPropertyOf>", "<http://e/far>") in found


def test_a_program_is_cut_a_few_times_only(monkeypatch: pytest.MonkeyPatch) -> None:
    """If the last cut is void, too, the program is refused: it is not cut again."""
    evaluation, called, said = object.__new__(PartitionedEvaluation), Counter[str](), list[str]()

    def is_void(_: PartitionedEvaluation) -> None:
        called["run"] += 1
        raise VoidCut([(1, 2, 3)])

    def cut(*_: object, is_strict: bool) -> tuple[tuple[()], None]:
        assert not is_strict
        called["cut"] += 1
        return (), None

    monkeypatch.setattr(PartitionedEvaluation, "_run", is_void)
    monkeypatch.setattr(PartitionedEvaluation, "_cut", cut)
    for name in ("_add_schema", "_inward"):
        monkeypatch.setattr(PartitionedEvaluation, name, lambda *_: None)
    evaluation._folder, evaluation._notify = "folder", said.append
    with pytest.raises(CannotCut, match="data lead to schema facts"):
        evaluation.run()
    assert called == {"run": MAX_CUTS, "cut": MAX_CUTS - 1}  # the first cut is made before
    assert len(said) == MAX_CUTS - 1


def test_expected_facts_fulfil_no_conditions() -> None:
    """An outline shows that :A may become a subclass of :B. It does not, so no instance becomes one of :B."""
    program = parse_program(
        f"{PREFIXES} [:A, :below, :B] :- [?x, :next, ?y], [?y, :next, ?x] ."
        "[?x, ?q, ?y] :- [?p, rdfs:subPropertyOf, ?q], [?x, ?p, ?y] ."
        "[?x, :of, ?d] :- [?c, rdfs:subClassOf, ?d], [?y, a, ?c], [?x, :next, ?y] ."
    )
    facts = CHAIN | triples(":A[:n3] . :A[:n4] . [:below, rdfs:subPropertyOf, rdfs:subClassOf] .")
    assert derived(facts, program, 3)[0] == closed_here(facts, program) == set()
    facts |= triples("[:n1, :next, :n0] .")
    found, _ = derived(facts, program, 3)
    assert found == closed_here(facts, program) and len(found) == 4


def test_long_chains_are_joined_in_steps() -> None:
    program = parse_program(
        f"{PREFIXES} [?x, :far, ?w] :- [?x, :next, ?y], [?y, :next, ?z], [?z, :next, ?v], [?v, :next, ?w] ."
    )
    rounds = LocalRounds(CHAIN, program, 4, is_strict=False)
    assert rounds.run() == closed_here(CHAIN, program)
    assert len(rounds.work.steps) == 2


@pytest.mark.parametrize(
    "rules",
    [
        "[?x, :far, ?w] :- [?x, :next, ?y], [?y, :next, ?z], [?z, :next, ?w] ."
        "[?x, :near, ?y] :- [?x, ?p, ?y] .",
        "[?x, :both, ?y] :- [?x, ?p, ?y], [?y, ?q, ?x], FILTER(!sameTerm(?p, ?q)) .",
        "[?x, :two, ?y] :- [?x, ?p, ?y], [?x, ?q, ?y], FILTER(!sameTerm(?p, ?q)) ."
        "[?p, :used, :yes] :- [?x, ?p, ?y] .",
    ],
    ids=["steps", "copies", "facts about predicates"],
)
def test_a_variable_stands_for_no_predicate_of_the_cut(rules: str) -> None:
    program = parse_program(f"{PREFIXES} {rules}")
    facts = CHAIN | triples("[:n1, :next, :n0] . [:n5, :next, :n5] . [:n2, :back, :n1] .")
    for count in (1, 3):
        assert derived(facts, program, count, is_strict=True)[0] == closed_here(facts, program)


def test_lists_with_several_readings_are_no_terms() -> None:
    """The driver's engine has names for readings, which no rule for partitions may have."""
    facts = triples(
        "[:long, owl:propertyChainAxiom, :l0] . [:l0, rdf:first, :next] . [:l0, rdf:rest, :l1] ."
        "[:l0, rdf:rest, :l2] . [:l1, rdf:first, :next] . [:l1, rdf:rest, rdf:nil] ."
        "[:l2, rdf:first, :next] . [:l2, rdf:rest, :l1] ."
    )
    with pytest.raises(CannotCut, match="joins lists with facts"):
        derived(CHAIN | facts, without_values(load_profile("owl2rl")), 2)


def test_keys_are_joined_in_steps() -> None:
    """Each property of a key leaves pairs that agree in it; no variable is in all atoms."""
    facts = triples(
        "[:C, owl:hasKey, :list] . [:list, rdf:first, :p] . [:list, rdf:rest, :more] ."
        "[:more, rdf:first, :q] . [:more, rdf:rest, rdf:nil] . :C[:x] . :C[:y] . :C[:z] ."
        "[:x, :p, :v] . [:y, :p, :v] . [:z, :p, :v] ."
        "[:x, :q, :u] . [:y, :q, :u] . [:z, :q, :w] ."
    )
    program = without_values(load_profile("owl2rl"))
    rounds = LocalRounds(facts, program, 3, is_strict=True)
    found = rounds.run()
    assert found == closed_here(facts, program)
    assert (
        rounds.work.steps
        and ("<http://e/x>", "<http://www.w3.org/2002/07/owl#sameAs>", "<http://e/y>") in found
    )


def test_steps_that_would_multiply_are_joins() -> None:
    """Most pairs of persons agree in a property such as their gender."""
    program = parse_program(
        f"{PREFIXES} [?x, :twin, ?y] :- [?x, :p, ?v], [?y, :p, ?v], [?x, :q, ?w], [?y, :q, ?w] ."
    )
    facts = triples("[:a, :p, :v] . [:b, :p, :v] . [:a, :q, :w] . [:b, :q, :w] .")
    assert derived(facts, program, 2)[0] == closed_here(facts, program)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(program_cut, "MAX_PAIRS_OF_STEP", 15)
        with pytest.raises(CannotCut, match="16 pairs agree in it"):
            derived(facts, program, 2)


def test_equal_terms_are_replaced_in_facts_of_many_predicates() -> None:
    """All partitions know which terms are equal, also those that are found to be: nothing else is copied."""
    program = parse_program(
        f"{PREFIXES} [?y, owl:sameAs, ?x] :- [?x, owl:sameAs, ?y] . [?x, owl:sameAs, ?y] :- [?x, :is, ?y] ."
        "[?x, ?p, ?z] :- [?y, owl:sameAs, ?z], [?x, ?p, ?y] ."
    )
    facts = CHAIN | triples("[:n5, :is, :m] . [:o, :p1, :n5] . [:o, :p2, :m] . [:n1, owl:sameAs, :n2] .")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(program_cut, "MAX_RULES_CUT", 3)
        rounds = LocalRounds(facts, program, 4, is_strict=False)
    assert len(rounds.work.replicas) == 1
    assert rounds.run() == closed_here(facts, program)


FUNCTIONAL = f"""{PREFIXES}
[?y, :same, ?z] :- [?x, :next, ?y], [?x, :next, ?z], FILTER(!sameTerm(?y, ?z)) .
[?y, :found, ?x] :- [?x, :same, ?y] .
"""


def test_conclusions_that_an_outline_does_not_show() -> None:
    """None follows from a chain. If one does, the first cut is void, and the strict one holds."""
    program = parse_program(FUNCTIONAL)
    assert derived(CHAIN, program, 3)[0] == set()
    fork = CHAIN | triples("[:n3, :next, :n7] .")
    with pytest.raises(VoidCut):
        derived(fork, program, 3)
    found, _ = derived(fork, program, 3, is_strict=True)
    assert found == closed_here(fork, program) and len(found) == 4


def test_keys_that_no_outline_shows_are_watched_for() -> None:
    """Lists of keys are read although the rule about keys is left out of the first outline."""
    facts = triples(
        "[:C, owl:hasKey, :list] . [:list, rdf:first, :p] . [:list, rdf:rest, rdf:nil] ."
        ":C[:x] . :C[:y] . [:x, :p, :v] . [:y, :p, :w] ."
    )
    program = without_values(load_profile("owl2rl"))
    assert derived(facts, program, 2)[0] == closed_here(facts, program)
    with pytest.raises(VoidCut):
        derived(facts | triples("[:y, :p, :v] ."), program, 2)


def test_schema_about_literals_is_refused() -> None:
    """The engine concludes facts about them, but no rule may have them as the subject of its head."""
    rules = "[?q, :above, ?x] :- [?p, rdfs:subPropertyOf, ?q], [?x, ?p, ?y], [?y, ?p, ?z] ."
    program = parse_program(f"{PREFIXES} {rules}")
    with pytest.raises(CannotCut, match="about literals"):
        derived(CHAIN | triples('[:next, rdfs:subPropertyOf, "x"] .'), program, 2)


@pytest.mark.parametrize(
    ("rules", "reason"),
    [
        (":Alone[?x] :- [?x, :next, ?y], NOT [?y, :next, ?x] .", "negation or aggregates"),
        (
            "[?x, :far, ?z] :- [?x, :next, ?y], [?z, :next, ?w], [?w, :next, ?v] .",
            "no subject or object in common",
        ),
        ("[?x, :big, ?y] :- [?x, :next, ?y], FILTER(STR(?x) < STR(?y)) .", "compares values of data"),
        ("[?x, ?y, ?x] :- [?x, :next, ?y] .", "properties that data name"),
        (
            "[?x, rdfs:subPropertyOf, ?y] :- [?x, ?p, ?y], [?y, ?p, ?x] ."
            "[?x, ?q, ?y] :- [?p, rdfs:subPropertyOf, ?q], [?x, ?p, ?y] .",
            "schema facts",
        ),
        (
            "[?x, :twin, ?y] :- [?x, a, ?c], [?y, a, ?c] . [?x, a, :Node] :- [?x, :next, ?y] .",
            "no subject or object in common",
        ),
    ],
)
def test_why_a_program_is_not_cut(rules: str, reason: str) -> None:
    with pytest.raises(CannotCut, match=reason):
        derived(CHAIN, parse_program(f"{PREFIXES} {rules}"), 2)


@given(
    st.dictionaries(st.integers(0, 5), st.lists(st.integers(0, 99), unique=True, max_size=9), max_size=4),
    st.integers(1, 4),
)
def test_rows_have_all_facts(facts: dict[int, list[int]], size: int) -> None:
    keys = {p: np.array(sorted(found), np.uint64) for p, found in facts.items()}
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(packed_facts, "FACTS_PER_ROW", size)
        rows = list(packed_rows(OWN, 3, keys))
    unpacked_rows = [[*unpacked(row["content"][0].as_buffer())] for row in rows]
    assert all(0 < sum(part.size for _, part in row) <= size for row in unpacked_rows)
    found: dict[int, list[int]] = {}
    for row in unpacked_rows:
        for predicate, part in row:
            found.setdefault(predicate, []).extend(part.tolist())
    assert found == {p: sorted(those) for p, those in facts.items() if those}
