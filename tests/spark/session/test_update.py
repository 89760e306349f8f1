"""Changes of closed data sets on Spark against the engine from scratch: in one task and in rounds."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from hashlib import sha256
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow.parquet as pq
import pyoxigraph
import pytest
from hypothesis import given
from rdflib import Dataset, URIRef
from rdflib.graph import DATASET_DEFAULT_GRAPH_ID
from rdflib.util import from_n3
from tests import strategies as some
from tests.engine import Fact, load
from tests.spark.data import few, texts
from tests.spark.test_one_task_update import (
    CHAIN_OF_TWO,
    ONE,
    PREFIXES,
    RULES,
    Parts,
    all_texts,
    closed,
    closed_by_graph,
    parts_of,
    quad_texts,
    term_texts,
    triples,
)

from corollary.evaluate import materialise as materialise_here
from corollary.language import BlankNode, Program, constant_text, parse_program
from corollary.language.errors import InputError
from corollary.loaders.encoded import load_encoded, save_encoded
from corollary.loaders.encoded_format import EncodedDataSet
from corollary.loaders.spark import encoded_tables, update, update_tables
from corollary.loaders.spark.snapshot_output import QUARANTINE
from corollary.loaders.spark.update_tables import FACTS_ARE_REMOVED
from corollary.profiles import load_profile
from corollary.program.fingerprint import fingerprint
from corollary.terms.dictionary import TermDictionary

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.slow


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


def test_additions_are_followed_on_partitions(spark: SparkSession, tmp_path: Path) -> None:
    """Facts that were inferred become explicit, terms are new, facts meet over partitions."""
    profile = load_profile("owl2rl")
    methods = check_on_spark(spark, tmp_path, FAMILY, NEWS, frozenset(), profile)
    assert methods[0].startswith("one task: ") and methods[1] == "partitions: additions: "


def test_additions_meet_literals_that_only_heads_have(spark: SparkSession, tmp_path: Path) -> None:
    """Those of the closed data set, and one of which the first fact follows from an addition."""
    program = parse_program(
        f"{PREFIXES} [?x, :seen, 1], [?x, :seen, 'x'] :- [?x, a, :C] . [?y, :seen, 2] :- [?x, :child, ?y] . "
        "[?v, :equal, ?w] :- SAME_VALUE(?v, ?w) . [?v, a, ?d] :- VALUE(?v, ?d) . "
        "[?d, :of, ?x] :- [?x, :in, ?d] ."
    )
    facts = triples('[:a, a, :C] . [:a, :in, xsd:integer] . [:a, :size, "01"^^xsd:integer] .')
    added = triples(
        '[:a, :child, :b] . [:b, :size, "2.0"^^xsd:decimal] . [:b, :size, "x"^^xsd:token] . '
        "[:b, :in, xsd:token] ."
    )
    methods = check_on_spark(spark, tmp_path, facts, added, frozenset(), program)
    assert methods[1] == "partitions: additions: "


@pytest.mark.parametrize(
    ("added", "removed", "reason"),
    [
        (NEWS, triples("[:ann, :kin, :bob] . [:dan, :kin, :ann] ."), FACTS_ARE_REMOVED),
        (triples("[:Parent, rdfs:subClassOf, :Person] ."), frozenset(), "facts of the schema are added"),
    ],
)
def test_other_changes_are_derived_anew(
    spark: SparkSession, tmp_path: Path, added: frozenset[Fact], removed: frozenset[Fact], reason: str
) -> None:
    methods = check_on_spark(spark, tmp_path, FAMILY, added, removed, load_profile("owl2rl"))
    assert methods[0].startswith("one task: ") and "starting over" not in methods[0]
    assert methods[1] == f"partitions: starting over: {reason}"


NEGATION = parse_program(
    f"{PREFIXES} [?x, :far, ?z] :- [?x, :next, ?y], [?y, :next, ?z], NOT([?x, :next, ?z]) ."
)


@pytest.mark.parametrize(
    ("removed", "here", "there"),
    [
        (0, "additions: ", "has negation or aggregates"),
        (1, "backward/forward: ", FACTS_ARE_REMOVED),
        (2950, "starting over: too many facts are removed", FACTS_ARE_REMOVED),
    ],
)
def test_the_report_says_what_was_derived_anew(
    spark: SparkSession, tmp_path: Path, removed: int, here: str, there: str
) -> None:
    """With negation, for an addition, a small and a large removal."""
    chain = triples(" ".join(f"[:n{n}, :next, :n{n + 1}] ." for n in range(3000)))
    gone = frozenset(sorted(chain, key=repr)[:removed])
    added = frozenset() if removed else triples("[:n5, :next, :n7] .")
    methods = check_on_spark(spark, tmp_path, chain, added, gone, NEGATION)
    assert methods[0] == f"one task: {here}"
    assert methods[1].startswith("joins: ") and ": starting over: " in methods[1]
    assert methods[1].endswith(there)


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


GRAPHS = """@prefix : <http://e/> . @prefix rdfs: <http://www.w3.org/2000/01/rdf-schema#> .
:kin rdfs:range :Person . :ann :kin :bob . :a :p :default .
:one { :ann :kin :bob . :bob :kin :cid . :a :p :one }
:two { :bob :kin :cid , :dan . :a :p :two . :a :p :both }
:three { :only :p :here }"""

REMOVED = {
    "gone.nq": """<http://e/ann> <http://e/kin> <http://e/bob> .
<http://e/bob> <http://e/kin> <http://e/cid> <http://e/one> .
<http://e/bob> <http://e/kin> <http://e/dan> <http://e/two> .
<http://e/a> <http://e/p> <http://e/two> <http://e/one> .
<http://e/a> <http://e/p> <http://e/both> <http://e/nowhere> .
<http://e/only> <http://e/p> <http://e/here> <http://e/three> .
""",
    "gone.trig": "@prefix : <http://e/> . :a :p :default . :one { :a :p :one }",
}

ADDED = {
    "news.nq": """<http://e/a> <http://e/p> <http://e/one> <http://e/two> .
<http://e/a> <http://e/p> <http://e/one> <http://e/one> .
<http://e/dan> <http://e/kin> <http://e/eve> <http://e/new> .
<http://e/dan> <http://e/kin> <http://e/two> <urn:x-rdflib:default> .
""",
    "news.trig": "@prefix : <http://e/> . :a :p :both . :both { :a :p :b ; :q 7 } :two { :eve :kin :fay }",
}


def saved(source: Dataset, path: Path) -> EncodedDataSet:
    source.store.save_encoded(path)  # type: ignore[attr-defined]
    return load_encoded(path)


@pytest.mark.parametrize("files", [None, 2])
@pytest.mark.parametrize("removes", [True, False])
def test_named_graphs(spark: SparkSession, tmp_path: Path, files: int | None, removes: bool) -> None:
    """N-Quads and TriG, after which graphs and facts are those of a store with the same change."""
    store = Dataset(store="Corollary", default_union=False)
    store.parse(data=GRAPHS, format="trig")
    saved(store, tmp_path / "closed")
    paths = {}
    for name, text in (REMOVED | ADDED).items():
        (tmp_path / name).write_text(text)
        paths[name] = str(tmp_path / name)
    removed = [paths[name] for name in REMOVED] if removes else []
    added = [paths[name] for name in ADDED]
    here, there, profile = str(tmp_path / "closed"), tmp_path / "newer", load_profile("owl2rl")
    done = update(spark, here, str(there), profile, add=added, remove=removed, files=files)
    for path in removed:
        for quad in pyoxigraph.parse(path=path):
            is_named = isinstance(quad.graph_name, pyoxigraph.NamedNode)
            name = URIRef(quad.graph_name.value) if is_named else DATASET_DEFAULT_GRAPH_ID
            store.graph(name).remove(tuple(from_n3(str(term)) for term in quad.triple))  # type: ignore[arg-type]
    store.store.load(*added)  # type: ignore[attr-defined]
    wanted, found = saved(store, tmp_path / "wanted"), load_encoded(there)
    assert quad_texts(found) == quad_texts(wanted)
    assert all_texts(found) == all_texts(wanted)
    assert done.absent == (2 if removes else 0)
    again = update(spark, str(there), str(there), profile, add=added, files=files)  # changes nothing
    assert (again.added, again.removed, again.absent) == (0, 0, 0)
    assert quad_texts(load_encoded(there)) == quad_texts(wanted)
    reader = Dataset(store="Corollary", default_union=False)
    reader.open(str(there))
    assert set(reader.graph(URIRef("http://e/both"))) == set(store.graph(URIRef("http://e/both")))
    reader.close()


@pytest.mark.parametrize("files", [None, 2])
def test_graphs_that_lost_all_facts_get_others(
    spark: SparkSession, tmp_path: Path, files: int | None
) -> None:
    """A data set that had named graphs keeps the names of graphs."""
    quads = frozenset((*fact, ONE) for fact in CHAIN_OF_TWO)
    save_encoded(tmp_path / "closed", closed_by_graph(quads, RULES))
    path = tmp_path / "all.nq"
    path.write_text("".join(f"{' '.join(map(constant_text, quad))} .\n" for quad in quads))
    here, there = str(tmp_path / "closed"), str(tmp_path / "newer")
    done = update(spark, here, there, RULES, remove=[str(path)], files=files)
    assert (done.removed, done.absent, done.explicit, done.inferred) == (2, 0, 0, 0)
    update(spark, there, there, RULES, add=[str(path)], files=files)
    assert quad_texts(load_encoded(there)) == {tuple(map(constant_text, quad)) for quad in quads}


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
    save_encoded(source, closed(FAMILY, profile))
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
