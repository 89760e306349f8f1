"""Changes of closed data sets against the engine from scratch: fact for fact, in one task and in rounds."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from hashlib import sha256
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st
from tests import ontology_strategies as ontology
from tests import strategies as some
from tests.engine import Fact, load
from tests.spark.data import TextTriple, texts
from tests.strategies import MORE_EXAMPLES, thorough

from corollary.evaluate import materialise as materialise_here
from corollary.language import BlankNode, Program, UnstratifiableError, constant_text, parse_program
from corollary.language.errors import Diagnostic, InputError
from corollary.loaders.encoded import load_encoded, save_encoded
from corollary.loaders.encoded_format import EncodedDataSet
from corollary.loaders.spark import encoded_tables, update, update_tables
from corollary.loaders.spark.one_task import followed
from corollary.loaders.spark.snapshot_output import QUARANTINE
from corollary.loaders.spark.task_content import (
    ADDED,
    EXPLICIT,
    GENERALISED,
    INFERRED,
    REMOVED,
    TERMS,
    TaskContent,
)
from corollary.profiles import load_profile
from corollary.program.fingerprint import fingerprint
from corollary.terms.dictionary import BULK_KINDS, KIND_SHIFT, TermDictionary

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


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


# One task, without Spark


def batch(part: int, **columns: object) -> pa.RecordBatch:
    """Rows of one part. Columns that are not given are null."""
    types = {
        **dict.fromkeys(("id", "chunk", "predicate", "subject", "object"), pa.int64()),
        "text": pa.string(),
        "statements": pa.binary(),
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
    for kind, found in zip(BULK_KINDS, term_texts(data.dictionary), strict=True):
        ids = [(kind << KIND_SHIFT) + n for n in range(len(found))]
        yield batch(TERMS, id=ids[::-1], text=found[::-1])


def chunks_of(part: int, facts: frozenset[Fact]) -> Iterator[pa.RecordBatch]:
    """Facts as two chunks, which have numbers of their own for terms."""
    triples = sorted(tuple(map(constant_text, fact)) for fact in facts)
    for chunk, own in ((7, triples[::2]), (9, triples[1::2])):
        dictionary = TermDictionary()
        ids = np.array([[dictionary.encode(text) for text in triple] for triple in own], np.uint32)
        for kind, found in zip(BULK_KINDS, term_texts(dictionary), strict=True):
            numbers = [(kind << KIND_SHIFT) + n for n in range(len(found))]
            yield batch(part, chunk=[chunk] * len(found), id=numbers, text=found)
        if own:
            yield batch(part, chunk=[chunk], statements=[ids.tobytes()])


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


PREFIXES = """PREFIX : <http://e/> PREFIX owl: <http://www.w3.org/2002/07/owl#>
PREFIX rdfs: <http://www.w3.org/2000/01/rdf-schema#>"""


def triples(text: str) -> frozenset[Fact]:
    heads = parse_program(f"{PREFIXES} {text}")
    return frozenset((h.subject, h.predicate, h.object) for rule in heads for h in rule.heads)  # type: ignore[misc]


CHAIN = triples(" ".join(f"[:n{n}, :next, :n{n + 1}] ." for n in range(9)))
RULES = parse_program("PREFIX : <http://e/> [?x, :far, ?z] :- [?x, :next, ?y], [?y, :next, ?z] .")

# On Spark

few = settings(
    max_examples=2 * MORE_EXAMPLES,
    deadline=None,
    suppress_health_check=list(HealthCheck),
    phases=(Phase.explicit, Phase.reuse, Phase.generate),
)


def write_facts(path: Path, facts: frozenset[Fact]) -> str:
    path.write_text("".join(f"{' '.join(map(constant_text, fact))} .\n" for fact in facts))
    return str(path)


def check_on_spark(
    spark: SparkSession,
    folder: Path,
    facts: frozenset[Fact],
    added: frozenset[Fact],
    removed: frozenset[Fact],
    program: Program,
) -> list[str]:
    """In one task and in rounds there are the facts that the engine derives from scratch. Returns how."""
    save_encoded(folder / "closed", closed(facts, program))
    add = [write_facts(folder / "added.nt", added)]
    remove = [write_facts(folder / "removed.nt", removed)]
    explicit = (facts - removed) | added
    wanted = closed(explicit, program)
    methods = []
    for files in (None, 2):
        output = folder / f"newer-{files}"
        done = update(
            spark, str(folder / "closed"), str(output), program, add=add, remove=remove, files=files
        )
        found = load_encoded(output)
        assert all_texts(found) == all_texts(wanted)
        assert found.fingerprint == fingerprint(program)
        assert (done.explicit, done.inferred) == (len(explicit), wanted.inferred.fact_count())
        counts = len(added - facts), len(removed & facts - added), len(removed - facts)
        assert (done.added, done.removed, done.absent) == counts
        methods.append(f"{done.method}: {done.strategy}: {done.reason}")
    return methods


@pytest.mark.slow
@few
@given(parts_of, some.programs())
def test_random_changes(
    spark: SparkSession,
    tmp_path_factory: pytest.TempPathFactory,
    parts: Parts,
    program: Program,
) -> None:
    """Without blank nodes, which in a document are none of the data set."""
    added, removed = (
        frozenset(fact for fact in part if not any(isinstance(term, BlankNode) for term in fact))
        for part in parts[1:]
    )
    check_on_spark(spark, tmp_path_factory.mktemp("change"), parts[0], added, removed, program)


FAMILY = triples(
    "[:Mother, rdfs:subClassOf, :Parent] . [:child, rdfs:range, :Person] . [:child, owl:inverseOf, :parent] ."
    "[:kin, a, owl:TransitiveProperty] . [:ann, a, :Mother] . [:ann, :child, :bob] . [:ann, :kin, :bob] ."
    "[:bob, :kin, :cid] ."
)
"""What ``owl2rl`` closes on partitions."""

NEWS = triples(
    "[:cid, :kin, :dan] . [:dan, :child, :eve] . [:eve, a, :Mother] . [:bob, a, :Person] . [:dan, :age, 7] ."
)


@pytest.mark.slow
def test_additions_are_followed_on_partitions(spark: SparkSession, tmp_path: Path) -> None:
    """Facts that were inferred become explicit, terms are new, facts meet over partitions."""
    profile = load_profile("owl2rl")
    methods = check_on_spark(spark, tmp_path, FAMILY, NEWS, frozenset(), profile)
    assert methods[0].startswith("one task: ") and methods[1] == "partitions: additions: "


@pytest.mark.slow
@pytest.mark.parametrize(
    ("added", "removed", "reason"),
    [
        (NEWS, triples("[:ann, :kin, :bob] . [:dan, :kin, :ann] ."), "facts are removed"),
        (triples("[:Parent, rdfs:subClassOf, :Person] ."), frozenset(), "the schema changes"),
    ],
)
def test_other_changes_are_derived_anew(
    spark: SparkSession, tmp_path: Path, added: frozenset[Fact], removed: frozenset[Fact], reason: str
) -> None:
    methods = check_on_spark(spark, tmp_path, FAMILY, added, removed, load_profile("owl2rl"))
    assert methods[0].startswith("one task: ") and "starting over" not in methods[0]
    assert methods[1] == f"partitions: starting over: {reason}"


@pytest.mark.slow
def test_updates_one_after_the_other(spark: SparkSession, tmp_path: Path) -> None:
    """In place: known terms keep their ids, blank nodes are those of their document, facts ascend."""
    target, profile = tmp_path / "set", load_profile("owl2rl")
    save_encoded(target, closed(FAMILY, profile))
    known = term_texts(load_encoded(target).dictionary)
    for number, files in enumerate((2, None, 3)):
        path = tmp_path / f"news-{number}.ttl"
        path.write_text(
            f"@prefix : <http://e/> . @prefix e{number}: <http://e/{number}#> ."
            f"_:x :child _:y . :bob :child :new{number} , [] ; :size {number + 7} ."
        )
        update(spark, str(target), str(target), profile, add=[str(path)], files=files)
        data = load_encoded(target)
        terms = term_texts(data.dictionary)
        for old, new in zip(known, terms, strict=True):
            assert new[: len(old)] == old and len(new) == len(set(new)) > len(old)
        assert len(terms[1]) == 3 * (number + 1)
        known = terms
        assert f"e{number}" in data.prefixes
        view = materialise_here(data.explicit, profile, data.dictionary)
        assert texts(data.inferred, data.dictionary) == texts(view.inferred(), data.dictionary)
        assert data.fingerprint == fingerprint(profile)
    facts = pq.read_table(target / "facts" / "explicit").to_pylist()
    assert facts == sorted(facts, key=lambda row: tuple(row.values()))
    assert sorted(entry.name for entry in tmp_path.glob("*set*")) == ["set"]


@pytest.mark.slow
def test_bad_lines_and_checksums(spark: SparkSession, tmp_path: Path) -> None:
    """Bad lines of both kinds of documents are listed; the manifest has the checksums of all inputs."""
    source, target, profile = tmp_path / "set", tmp_path / "newer", load_profile("owl2rl")
    save_encoded(source, closed(FAMILY, profile))
    add, remove = tmp_path / "add.nt", tmp_path / "remove.nt"
    add.write_text("<http://e/x> <http://e/kin> <http://e/ann> .\nno statement\n")
    remove.write_text("\n\nneither\n_:b <http://e/kin> <http://e/bob> .\n")
    with pytest.raises(InputError, match="2 bad lines, where 1 are allowed"):
        update(
            spark, str(source), str(target), profile, add=[str(add)], remove=[str(remove)], most_bad_lines=1
        )
    assert not target.exists()
    done = update(spark, str(source), str(target), profile, add=[str(add)], remove=[str(remove)])
    assert (done.bad_lines, done.added, done.removed, done.absent) == (2, 1, 0, 1)
    lines = spark.read.parquet(str(target / QUARANTINE)).collect()
    assert [(Path(row.document).name, row.line, row.text) for row in lines] == [
        ("add.nt", 2, "no statement"),
        ("remove.nt", 3, "neither"),
    ]
    inputs = json.loads((target / "manifest.json").read_text())["inputs"]
    assert inputs["data set"] == sha256((source / "manifest.json").read_bytes()).hexdigest()
    assert [*inputs["added"].values()] == [sha256(add.read_bytes()).hexdigest()]
    assert [*inputs["removed"].values()] == [sha256(remove.read_bytes()).hexdigest()]


@pytest.mark.slow
def test_what_is_refused(spark: SparkSession, tmp_path: Path) -> None:
    source, target, profile = tmp_path / "set", tmp_path / "newer", load_profile("owl2rl")
    add = [write_facts(tmp_path / "add.nt", NEWS)]

    def refused(reason: str, program: Program = profile, remove: Sequence[str] = ()) -> None:
        with pytest.raises(InputError, match=reason):
            update(spark, str(source), str(target), program, add=add, remove=remove)
        assert not target.exists()

    dictionary = TermDictionary()
    save_encoded(source, EncodedDataSet(dictionary, load(FAMILY, dictionary)))
    refused("does not name the rules under which it is closed")
    data = closed(FAMILY, profile)
    save_encoded(source, replace(data, graphs={0: data.explicit}))
    refused("it has named graphs")
    save_encoded(source, data)
    refused("it was closed under owl2rl", load_profile("rdfs"))
    refused("no RDF files are there", remove=[str(tmp_path / "none.nt")])
    with monkeypatched_digest():
        refused("it changed while it was read")
    file = next((source / "facts" / "inferred").iterdir())
    content = file.read_bytes()
    file.write_bytes(content[:-9] + bytes([content[-9] ^ 1]) + content[-8:])
    refused("is not what was written: its checksum differs")


@contextmanager
def monkeypatched_digest() -> Iterator[None]:
    """A data set has another checksum at each look, as if another process wrote it meanwhile."""
    numbers = count()
    original = encoded_tables.open_encoded

    def opened(*arguments: Any) -> encoded_tables.DistributedDataSet:
        return replace(original(*arguments), digest=f"{next(numbers):064}")

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(update_tables, "open_encoded", opened)
        yield
