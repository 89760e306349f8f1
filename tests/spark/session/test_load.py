"""The Spark loader: the same facts as the local reader's, ids without gaps, bad lines in their table."""

from __future__ import annotations

import bz2
import gzip
import json
import re
from pathlib import Path
from typing import TYPE_CHECKING

import pyoxigraph
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from pyarrow import parquet
from tests.spark.data import canonical, read_texts, texts, without_suffixes
from tests.spark.session.test_one_task import graphs_of

from corollary.language.errors import InputError
from corollary.loaders.encoded import load_encoded
from corollary.loaders.spark import load
from corollary.loaders.spark.session import complaint
from corollary.loaders.spark.snapshot_output import QUARANTINE
from corollary.reasoner import Reasoner

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

ODD = r"""<http://e/a> <http://e/p> "\u00e9\t\\ \"" .
<http://e/\u00e9>   <http://e/p> "a"@EN-gb . # a comment

_:b <http://e/p> "5"^^<http://www.w3.org/2001/XMLSchema#integer> .
<http://e/a> <http://e/p> "x"^^<http://www.w3.org/2001/XMLSchema#string> .
<http://e/a> <http://e/p> _:b .
<http://e/a> <http://e/p> _:b .
"""


def loaded_texts(path: Path) -> set[tuple[str, str, str]]:
    found = load_encoded(path)
    return texts(found.explicit, found.dictionary)


@pytest.mark.corpus
def test_a_university_is_what_the_local_reader_reads(
    spark: SparkSession, corpus: Path, tmp_path: Path
) -> None:
    paths = [corpus / "lubm" / "lubm-1.nt.gz", corpus / "lubm" / "univ-bench.owl"]
    found = load(spark, map(str, paths), str(tmp_path / "set"), files=3)
    assert without_suffixes(loaded_texts(tmp_path / "set")) == read_texts(paths)
    assert list(found.seconds) == ["parse", "terms", "facts", "manifest"]


def test_odd_lines_and_other_formats(spark: SparkSession, tmp_path: Path) -> None:
    """Escapes, comments, duplicates, quads, compression, Turtle; a blank node is one of its document."""
    folder = tmp_path / "in"
    folder.mkdir()
    (folder / "a b%20é.nt").write_text(ODD)
    (folder / "b.nt.gz").write_bytes(gzip.compress(ODD.replace("\n", "\r\n").encode()))
    (folder / "c.nq.bz2").write_bytes(bz2.compress(b"_:b <http://e/p> _:c <http://e/graph> .\n"))
    (folder / "d.ttl").write_text("@prefix : <http://e/> . :x :p [ :p ( 1 2 ) ] .")
    (folder / "e.ttl").write_text("@prefix : <http://f/> . @prefix e: <http://e/> . e:x e:p e:y .")
    (folder / "notes.txt").write_text("not read")
    load(spark, [str(folder)], str(tmp_path / "set"))
    found = loaded_texts(tmp_path / "set")
    wanted = read_texts(path for path in sorted(folder.iterdir()) if path.suffix != ".txt")
    assert canonical(found) == canonical(wanted)
    assert load_encoded(tmp_path / "set").prefixes == {"": "http://e/", "e": "http://e/"}


terms = st.sampled_from([*(f"<http://e/{n}>" for n in range(9)), *(f'"{n}"' for n in range(4)), "_:b"])
lines = st.tuples(terms, terms, terms).map(lambda triple: " ".join(triple) + " .")


@settings(max_examples=3, deadline=None, suppress_health_check=list(HealthCheck))
@given(st.lists(st.lists(lines, max_size=12), min_size=1, max_size=3), st.integers(1, 3))
def test_any_lines(
    spark: SparkSession, tmp_path_factory: pytest.TempPathFactory, documents: list[list[str]], files: int
) -> None:
    """Good lines are as read locally, bad ones are in their table; ids depend on nothing but the input."""
    folder = tmp_path_factory.mktemp("lines")
    paths = [folder / f"{n}.nt" for n in range(len(documents))]
    good, bad = [], []
    for path, document in zip(paths, documents, strict=True):
        path.write_text("\n".join(document))
        good.append([line for line in document if is_good(line)])
        bad += [(f"file:{path}", n, line) for n, line in enumerate(document, 1) if not is_good(line)]
    target = folder / "set"
    report = load(spark, map(str, paths), str(target), files=files)
    found = load_encoded(target)
    for path, kept in zip(paths, good, strict=True):
        path.write_text("\n".join(kept))
    assert canonical(texts(found.explicit, found.dictionary)) == canonical(read_texts(paths))
    assert report.bad_lines == len(bad)
    if bad:
        rows = spark.read.parquet(str(target / QUARANTINE)).collect()
        assert sorted((row.document, row.line, row.text) for row in rows) == sorted(bad)
    last = -1
    for file in sorted((target / "terms").iterdir()):
        rows = parquet.read_table(file).to_pydict()
        assert rows["text"] == sorted(rows["text"])
        assert (
            rows["id"] == list(range(rows["id"][0], rows["id"][0] + len(rows["id"]))) if rows["id"] else True
        )
        assert all(found.dictionary.decode(n) == text for n, text in zip(*rows.values(), strict=True))
        assert min(rows["id"], default=last + 1) > last
        last = max(rows["id"], default=last)


def is_good(line: str) -> bool:
    try:
        list(pyoxigraph.parse(line, pyoxigraph.RdfFormat.N_TRIPLES))
    except SyntaxError:
        return False
    return True


QUADS = """<http://e/a> <http://e/p> <http://e/b> <http://e/g> .
<http://e/a> <http://e/p> <http://e/b> <http://e/h> .
<http://e/a> <http://e/p> <http://e/b> .
<http://e/g> <http://e/q> "g" <http://e/g> .
<http://e/c> <http://e/p> <http://e/d> <urn:x-rdflib:default> .
"""


@pytest.mark.parametrize("files", [None, 1, 3])
def test_graphs_are_kept(spark: SparkSession, tmp_path: Path, files: int | None) -> None:
    """As the local reader has them. Without names there are no facts by graph."""
    (tmp_path / "a.nq").write_text(QUADS)
    (tmp_path / "b.trig").write_text(
        "@prefix : <http://e/> . :x :p 1 . :g { :x :p 1 . :x :p 2 } :k { :a :p :b }"
    )
    (tmp_path / "c.nt").write_text("<http://e/n> <http://e/p> <http://e/b> .\n")
    paths = [tmp_path / name for name in ("a.nq", "b.trig", "c.nt")]
    here, there = tmp_path / "here", tmp_path / "there"
    reasoner = Reasoner("none")
    reasoner.load(*paths)
    reasoner.save_encoded(here)
    load(spark, map(str, paths), str(there), files=files)
    wanted, found = load_encoded(here), load_encoded(there)
    assert graphs_of(found) == graphs_of(wanted) and len(graphs_of(found)) == 4
    assert texts(found.explicit, found.dictionary) == texts(wanted.explicit, wanted.dictionary)
    (tmp_path / "d.nq").write_text(QUADS.replace("<http://e/g> .", ".").replace("<http://e/h> .", "."))
    load(spark, [str(tmp_path / name) for name in ("c.nt", "d.nq")], str(there), files=files)
    assert load_encoded(there).graphs is None


def test_too_many_bad_lines(spark: SparkSession, tmp_path: Path) -> None:
    """The job fails, says where the first of them are, and leaves nothing."""
    path = tmp_path / "bad.nt"
    path.write_text("<http://e/a> <http://e/p> 1 .\n" * 7)
    with pytest.raises(InputError, match=r"7 bad lines, where 6 are allowed:\n +file:.*bad.nt:1:\d+: "):
        load(spark, [str(path)], str(tmp_path / "set"), most_bad_lines=6)
    assert [entry.name for entry in tmp_path.iterdir()] == ["bad.nt"]


@pytest.mark.parametrize(
    ("suffix", "kind", "reason"),
    [
        ("gz", "cut", "ended before the end-of-stream"),
        ("gz", "damaged", "CRC check failed|incorrect|invalid"),
        ("gz", "plain", "Not a gzipped file"),
        ("bz2", "cut", "ended before the end-of-stream"),
        ("bz2", "damaged", "Invalid data stream"),
        ("bz2", "plain", "Invalid data stream"),
    ],
)
def test_a_compressed_file_that_is_damaged(
    spark: SparkSession, tmp_path: Path, suffix: str, kind: str, reason: str
) -> None:
    """The error names the file and says why, and there is no output."""
    content = "".join(f"<http://e/{n}> <http://e/p> <http://e/x> .\n" for n in range(5000)).encode()
    packed = {"gz": gzip, "bz2": bz2}[suffix].compress(content)
    middle = len(packed) // 2
    flipped = (
        packed[:middle] + bytes(byte ^ 255 for byte in packed[middle : middle + 99]) + packed[middle + 99 :]
    )
    path = tmp_path / f"{kind}.nt.{suffix}"
    path.write_bytes({"cut": packed[:middle], "damaged": flipped, "plain": content}[kind])
    with pytest.raises(Exception) as caught:
        load(spark, [str(path)], str(tmp_path / "set"))
    said = complaint(caught.value)
    damaged = "the compressed data end too early or are damaged"
    assert re.fullmatch(rf"(.*: )?{path}: {damaged}: .*({reason}).*", said), said
    assert [entry.name for entry in tmp_path.iterdir()] == [path.name]


def test_what_is_there_is_replaced_only_if_it_is_a_data_set(spark: SparkSession, tmp_path: Path) -> None:
    path = tmp_path / "a.nt"
    path.write_text("<http://e/a> <http://e/p> <http://e/b> .")
    for _ in range(2):
        load(spark, [str(path)], str(tmp_path / "set"), files=1)
    manifest = json.loads((tmp_path / "set" / "manifest.json").read_text())
    assert manifest["facts"] == {"explicit": 1, "inferred": 0}
    other = tmp_path / "other"
    other.mkdir()
    (other / "mine.txt").write_text("precious")
    with pytest.raises(InputError, match="something else is there"):
        load(spark, [str(path)], str(other))
    with pytest.raises(InputError, match="no RDF files"):
        load(spark, [str(other)], str(tmp_path / "new"))
    assert {entry.name for entry in tmp_path.iterdir()} == {"a.nt", "set", "other"}
