"""Changes of closed data sets in one task, without Spark, against the engine from scratch: fact for fact."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pyarrow as pa
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from tests import ontology_strategies as ontology
from tests import strategies as some
from tests.engine import Fact, load
from tests.spark.data import TextTriple, texts
from tests.strategies import thorough

from corollary.columns import TripleIndex
from corollary.evaluate import materialise as materialise_here
from corollary.language import IRI, Program, UnstratifiableError, constant_text, parse_program
from corollary.language.errors import Diagnostic, InputError
from corollary.loaders.decoding import Reader, content_of
from corollary.loaders.encoded import save_encoded
from corollary.loaders.encoded_format import EncodedDataSet
from corollary.loaders.spark import one_task
from corollary.loaders.spark.one_task import followed
from corollary.loaders.spark.packed_terms import cut_into_shares
from corollary.loaders.spark.parse_chunks import packed_statements
from corollary.loaders.spark.task_content import (
    ADDED,
    EXPLICIT,
    GENERALISED,
    GRAPHS,
    INFERRED,
    REMOVED,
    TERMS,
    TaskContent,
)
from corollary.profiles import load_profile
from corollary.program.fingerprint import fingerprint
from corollary.terms.dictionary import BULK_KINDS, KIND_SHIFT, TermDictionary, kind_of_text


def closed(facts: frozenset[Fact], program: Program) -> EncodedDataSet:
    """The closed data set of facts. Raises UnstratifiableError, also for rules that these facts suspend."""
    dictionary = TermDictionary()
    view = materialise_here(load(facts, dictionary), program, dictionary)
    if view.has_suspended_rules:
        raise UnstratifiableError((Diagnostic("rules are suspended"),))
    mark = fingerprint(program)
    parts = view.explicit, view.inferred(), program.name
    return EncodedDataSet(dictionary, *parts, generalised=view.generalised(), fingerprint=mark)


def all_texts(data: EncodedDataSet) -> dict[str, set[TextTriple]]:
    parts = {"explicit": data.explicit, "inferred": data.inferred, "generalised": data.generalised}
    return {name: texts(index, data.dictionary) for name, index in parts.items()}


def term_texts(dictionary: TermDictionary) -> list[list[str]]:
    return [
        dictionary.decode_all(range(kind << KIND_SHIFT, (kind << KIND_SHIFT) + dictionary.count(kind)))
        for kind in BULK_KINDS
    ]


def batch(part: int, **columns: object) -> pa.RecordBatch:
    """Rows of one part. Columns that are not given are null."""
    types = {
        **dict.fromkeys(("id", "chunk", "graph", "predicate", "subject", "object"), pa.int64()),
        "text": pa.string(),
        "share": pa.int32(),
        "content": pa.binary(),
    }
    size = len(next(iter(columns.values())))  # type: ignore[arg-type]
    arrays = {name: pa.array(columns.get(name, [None] * size), kind) for name, kind in types.items()}
    return pa.RecordBatch.from_pydict({"part": pa.array([part] * size, pa.int32()), **arrays})


def rows_of(data: EncodedDataSet) -> Iterator[pa.RecordBatch]:
    """A data set as rows: terms last, in reverse."""
    for part, index in (
        (EXPLICIT, data.explicit),
        (INFERRED, data.inferred),
        (GENERALISED, data.generalised),
    ):
        subjects, predicates, objects = index.columns(legal=False)
        yield batch(part, predicate=predicates[::-1], subject=subjects[::-1], object=objects[::-1])
    for graph, index in (data.graphs or {}).items():
        subjects, predicates, objects = index.columns(legal=False)
        names = [graph] * len(subjects)
        yield batch(GRAPHS, graph=names, predicate=predicates, subject=subjects, object=objects)
    for kind, found in zip(BULK_KINDS, term_texts(data.dictionary), strict=True):
        ids = [(kind << KIND_SHIFT) + n for n in range(len(found))]
        yield batch(TERMS, id=ids[::-1], text=found[::-1])


def chunks_of(part: int, facts: frozenset[Fact] | frozenset[Quad]) -> Iterator[pa.RecordBatch]:
    """Facts, or facts with graphs, as two chunks, which have numbers of their own for terms."""
    triples = sorted(tuple(map(constant_text, fact)) for fact in facts)
    for chunk, own in ((7, triples[::2]), (9, triples[1::2])):
        if not own:
            continue
        found = sorted(
            {text for triple in own for text in triple}, key=lambda text: (kind_of_text(text), text)
        )
        content, places = content_of(pa.array(found, pa.large_string()))
        counts = [sum(kind_of_text(text) == kind for text in found) for kind in BULK_KINDS]
        rows, place_of = cut_into_shares(content.copy(), places.copy(), counts, shares=2)
        for share, number, packed in reversed(rows):
            yield batch(part, chunk=[chunk], share=[share], id=[number], content=[packed])
        numbers = place_of[[[found.index(text) for text in triple] for triple in own]]
        statements = packed_statements(numbers)
        yield batch(part, chunk=[chunk], id=[len(own)], content=[statements])


def check_one_task(
    facts: frozenset[Fact], added: frozenset[Fact], removed: frozenset[Fact], program: Program
) -> None:
    """The engine, given the change, has what it derives from scratch; known terms keep their ids."""
    try:
        before = closed(facts, program)
    except UnstratifiableError:
        return
    rows = [*rows_of(before), *chunks_of(ADDED, added), *chunks_of(REMOVED, removed)]
    after, report = followed(TaskContent(iter(rows)), program)
    explicit = (facts - removed) | added
    dictionary = TermDictionary()
    wanted = materialise_here(load(explicit, dictionary), program, dictionary)
    found = all_texts(after)
    assert found["explicit"] == texts(wanted.explicit, dictionary)
    assert found["inferred"] == texts(wanted.inferred(), dictionary)
    assert found["generalised"] == texts(wanted.generalised(), dictionary)
    assert (after.fingerprint is None) == wanted.has_suspended_rules == bool(report["suspended"])
    counts = len(added - facts), len(removed & facts - added), len(removed - facts)
    assert (report["added"], report["removed"], report["absent"]) == counts
    for old, new in zip(term_texts(before.dictionary), term_texts(after.dictionary), strict=True):
        assert new[: len(old)] == old and len(new) == len(set(new))


PREFIXES = """PREFIX : <http://e/> PREFIX owl: <http://www.w3.org/2002/07/owl#>
PREFIX rdfs: <http://www.w3.org/2000/01/rdf-schema#> PREFIX xsd: <http://www.w3.org/2001/XMLSchema#>"""


def triples(text: str) -> frozenset[Fact]:
    heads = parse_program(f"{PREFIXES} {text}")
    return frozenset((h.subject, h.predicate, h.object) for rule in heads for h in rule.heads)  # type: ignore[misc]


CHAIN = triples(" ".join(f"[:n{n}, :next, :n{n + 1}] ." for n in range(9)))
RULES = parse_program("PREFIX : <http://e/> [?x, :far, ?z] :- [?x, :next, ?y], [?y, :next, ?z] .")
CHAIN_OF_TWO = triples("[:n0, :next, :n1] . [:n1, :next, :n2] .")


Quad = tuple[*Fact, IRI]

DEFAULT, ONE, TWO = IRI("urn:x-rdflib:default"), IRI("http://e/one"), IRI("http://e/two")


def without_graphs(quads: frozenset[Quad]) -> frozenset[Fact]:
    return frozenset(quad[:3] for quad in quads)


def closed_by_graph(quads: frozenset[Quad], program: Program) -> EncodedDataSet:
    """The closed data set of facts with graphs."""
    data = closed(without_graphs(quads), program)
    names = {graph for *_, graph in quads}
    graphs = {
        data.dictionary.encode(constant_text(name)): load(
            [quad[:3] for quad in quads if quad[3] == name], data.dictionary
        )
        for name in names
    }
    return replace(data, graphs=graphs)


def quad_texts(data: EncodedDataSet) -> set[tuple[str, ...]]:
    assert data.graphs is not None
    return {
        (*fact, data.dictionary.decode(graph))
        for graph, index in data.graphs.items()
        for fact in texts(index, data.dictionary)
    }


def in_graph(fact: Fact, graph: IRI) -> Quad:
    return (*fact, graph)


quads = st.frozensets(st.builds(in_graph, some.plain_facts, st.sampled_from((DEFAULT, ONE, TWO))), max_size=8)


@thorough(100)
@given(quads, quads, quads, some.programs())
@example(
    frozenset({(*fact, graph) for fact in CHAIN_OF_TWO for graph in (ONE, TWO)}),
    frozenset(),
    frozenset({(*fact, ONE) for fact in CHAIN_OF_TWO}),
    RULES,
)
def test_graphs_in_one_task(
    before: frozenset[Quad], added: frozenset[Quad], removed: frozenset[Quad], program: Program
) -> None:
    """A fact is explicit as long as a graph has it."""
    try:
        data = closed_by_graph(before, program)
    except UnstratifiableError:
        return
    rows = [*rows_of(data), *chunks_of(ADDED, added), *chunks_of(REMOVED, removed)]
    after, report = followed(TaskContent(iter(rows)), program, by_graph=True)
    wanted = (before - removed) | added
    assert quad_texts(after) == {tuple(map(constant_text, quad)) for quad in wanted}
    explicit, dictionary = without_graphs(wanted), TermDictionary()
    view = materialise_here(load(explicit, dictionary), program, dictionary)
    assert texts(after.explicit, after.dictionary) == texts(view.explicit, dictionary)
    assert texts(after.inferred, after.dictionary) == texts(view.inferred(), dictionary)
    old = without_graphs(before)
    counts = len(explicit - old), len(old - explicit), len(removed - before)
    assert (report["added"], report["removed"], report["absent"]) == counts


few_facts = some.sets_of(st.one_of(some.plain_facts, some.number_facts), 8)
parts_of = st.tuples(few_facts, few_facts, few_facts)
Parts = tuple[frozenset[Fact], frozenset[Fact], frozenset[Fact]]


@thorough(400)
@given(
    parts_of, some.programs(st.one_of(some.positive_rules(), some.rules_with_not(), some.rules_with_bind()))
)
def test_random_programs_in_one_task(parts: Parts, program: Program) -> None:
    check_one_task(*parts, program)


@thorough(200)
@given(
    ontology.ontologies(
        ontology.rdfs_axioms,
        ontology.property_axioms,
        ontology.class_axioms,
        ontology.equality_axioms,
        data=some.sets_of(st.one_of(some.plain_facts, some.number_facts), 12),
    ),
    st.sampled_from(("rdfs", "rdfs-plus", "owl2rl")),
    st.integers(0, 2**12),
)
def test_ontologies_in_one_task(facts: frozenset[Fact], profile: str, bits: int) -> None:
    """Some facts come, some go, some do both."""
    ordered = sorted(facts, key=repr)
    added = frozenset(fact for n, fact in enumerate(ordered) if bits >> (n % 6) & 1)
    removed = frozenset(fact for n, fact in enumerate(ordered) if bits >> (6 + n % 6) & 1)
    check_one_task(facts - (added - removed), added, removed, load_profile(profile))


@pytest.mark.parametrize("rows", [1, 3, 1000])
def test_batches_of_any_size(monkeypatch: pytest.MonkeyPatch, rows: int) -> None:
    """Terms and facts are taken up however rows come together."""
    from corollary.loaders.spark import packed_facts

    monkeypatch.setattr(packed_facts, "FACTS_PER_CUT", rows)
    check_one_task(CHAIN, frozenset(), CHAIN, RULES)
    check_one_task(frozenset(), CHAIN, frozenset(), RULES)


def test_a_worker_that_is_killed_leaves_files_where_spark_deletes_them(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SPARK_LOCAL_DIRS", f"{tmp_path},/nowhere")
    pieces = one_task._pieces(lambda _: (closed(frozenset(), parse_program("")), {}), iter(()))
    next(pieces)
    assert [*tmp_path.iterdir()]
    assert [*pieces] and not [*tmp_path.iterdir()]


def test_a_closure_does_not_read_facts_by_graph(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Their files, which are copied, are compared with the manifest only."""
    data = closed_by_graph(frozenset((*fact, ONE) for fact in CHAIN_OF_TWO), RULES)
    save_encoded(tmp_path / "set", data)
    assert TaskContent(iter(()), tmp_path / "set").data_set().graphs
    (file,) = (tmp_path / "set/facts/graphs").iterdir()
    read = []

    def noted(_: Reader, name: str, part: str) -> dict[int, TripleIndex]:
        read.append((name, part))
        return {}

    monkeypatch.setattr(Reader, "_indexes", noted)
    found = TaskContent(iter(()), tmp_path / "set").data_set(only_explicit=True)
    assert found.graphs is None and read == [("explicit", "facts/explicit")]
    file.write_bytes(file.read_bytes()[:-1] + b"!")
    with pytest.raises(InputError, match="graphs"):
        TaskContent(iter(()), tmp_path / "set").data_set(only_explicit=True)
