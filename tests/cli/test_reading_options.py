"""Options that say how files are read, and the commands that make data."""

from __future__ import annotations

import csv
import errno
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner, Result
from rdflib import Graph

from corollary.cli import main
from corollary.columns import TripleIndex
from corollary.generators import GENERATORS, Generator
from corollary.loaders import EncodedDataSet, save_encoded
from corollary.store import CorollaryStore
from corollary.terms.dictionary import TermDictionary

LINES = '<x:a> <x:b> <x:c> .\nbad, "line"\n<x:a> <x:b> .\n'


def corollary(*arguments: str | Path | int, input: str | None = None) -> Result:
    return CliRunner().invoke(main, [str(argument) for argument in arguments], input=input)


def commands(path: Path | str) -> dict[str, list[str | Path]]:
    return {
        "materialise": ["materialise", path],
        "check": ["check", path],
        "rules": ["rules", path],
        "query": ["query", path, "-q", "ASK { ?s ?p ?o }"],
        "explain-plan": ["explain-plan", path],
        "explain": ["explain", path, "<x:a>", "<x:b>", "<x:c>"],
        "update": ["update", path, "--add", path],
    }


@pytest.mark.parametrize("command", commands(""))
def test_every_command_can_leave_bad_lines_out(tmp_path: Path, command: str) -> None:
    path, report = tmp_path / "data.nt", tmp_path / "report.csv"
    path.write_text(LINES)
    stopped = corollary(*commands(path)[command])
    assert stopped.exit_code == 2
    assert f"{path}:2:1: not N-Triples" in stopped.stderr
    assert "--skip-bad" in stopped.stderr
    done = corollary(*commands(path)[command], "--skip-bad", report)
    assert done.exit_code == 0, done.output
    times = 2 if command == "update" else 1
    assert f"corollary: {2 * times} bad lines were left out: see {report}" in done.stderr
    heading, *rows = csv.reader(report.read_text().splitlines())
    assert heading == ["file", "line", "column", "reason", "text"]
    assert [(row[0], row[1], row[4]) for row in rows] == times * [
        (str(path), "2", 'bad, "line"'),
        (str(path), "3", "<x:a> <x:b> ."),
    ]


@pytest.mark.parametrize("command", commands(""))
def test_every_command_reads_encoded_data_sets(tmp_path: Path, command: str) -> None:
    path, more = tmp_path / "set", tmp_path / "more.nt"
    more.write_text("<x:d> <x:b> _:c .\n")
    dictionary = TermDictionary()
    ids = [dictionary.encode(f"<x:{name}>") for name in "abc"]
    index = TripleIndex.from_columns(*np.array(ids, np.uint32).reshape(3, 1))
    save_encoded(path, EncodedDataSet(dictionary, index))
    done = corollary(*commands(path)[command], *([] if command in ("explain", "update") else [more]))
    assert done.exit_code == 0, done.output


@pytest.mark.parametrize("command", ["query", "explain", "check"])
def test_closed_data_sets_are_taken_as_they_are(tmp_path: Path, command: str) -> None:
    graph = Graph(CorollaryStore())
    prefixes = "@prefix : <x:> . @prefix rdfs: <http://www.w3.org/2000/01/rdf-schema#> . "
    graph.parse(data=f"{prefixes} :a a :C . :C rdfs:subClassOf :D . :a :b :c .", format="turtle")
    store = graph.store
    assert isinstance(store, CorollaryStore)
    store.save_encoded(tmp_path / "set")
    done = corollary(*commands(tmp_path / "set")[command], "--as-is")
    assert done.exit_code == 0, done.output
    if command == "query":
        done = corollary("query", tmp_path / "set", "--as-is", "-q", "ASK { <x:a> a <x:D> }")
        assert done.exit_code == 0, done.output
    other = corollary(*commands(tmp_path / "set")[command], "--as-is", "--rules", "rdfs")
    assert other.exit_code == 2
    assert "closed under owl2rl" in other.output
    (tmp_path / "more.nt").write_text("<x:d> <x:b> <x:c> .\n")
    file = corollary(*commands(tmp_path / "more.nt")[command], "--as-is")
    assert file.exit_code == 2
    assert "--as-is takes a data set or snapshot, and" in file.output


def test_data_sets_come_together_with_files(tmp_path: Path) -> None:
    more = tmp_path / "more.ttl"
    more.write_text("<x:a> <x:b> <x:d>, [] .")
    for number in (1, 2):
        dictionary = TermDictionary()
        ids = [dictionary.encode(text) for text in ("<x:c>", "<x:b>", "_:same", f'"{number}"', "<x:a>")]
        rows = np.array([[ids[4], ids[1], ids[0]], [ids[4], ids[1], ids[2]], [ids[0], ids[1], ids[3]]])
        index = TripleIndex.from_columns(*rows.astype(np.uint32).T)
        save_encoded(tmp_path / f"set-{number}", EncodedDataSet(dictionary, index))
    output = tmp_path / "out.nt"
    sets = [tmp_path / "set-1", tmp_path / "set-2"]
    done = corollary("materialise", more, *sets, "-o", output, "--rules", "rhodf")
    assert done.exit_code == 0, done.output
    found = set(output.read_text().splitlines())
    plain = {line for line in found if "_:" not in line}
    assert plain == {
        "<x:a> <x:b> <x:c> .",
        "<x:a> <x:b> <x:d> .",
        '<x:c> <x:b> "1" .',
        '<x:c> <x:b> "2" .',
    }
    assert len(found - plain) == 3, "blank nodes of two data sets and a file are different ones"


@pytest.mark.parametrize("command", ["query", "check"])
def test_the_folder_of_a_store_is_no_folder_of_files(tmp_path: Path, command: str) -> None:
    store = CorollaryStore(rules="none")
    store.save(tmp_path / "pets")
    store.close()
    done = corollary(command, tmp_path / "pets", *(["-q", "ASK {}"] if command == "query" else []))
    assert done.exit_code == 2
    assert "pets: this is the folder of a store, and no RDF file" in done.output
    assert "`corollary convert" in done.output


def test_a_file_that_must_not_be_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "data.ttl"
    file.touch()

    def denied(*_: object) -> object:
        raise PermissionError(errno.EACCES, "Permission denied", str(file))

    monkeypatch.setattr("corollary.loaders.documents.decompressed", denied)
    done = corollary("check", file)
    assert done.exit_code == 2
    assert done.output == (
        f"corollary: {file}: Permission denied\n  help: allow this process to read the file\n"
    )


def test_a_report_is_written_even_if_all_is_well(tmp_path: Path) -> None:
    report = tmp_path / "report.csv"
    done = corollary("materialise", "-", "--skip-bad", report, input=LINES.splitlines()[0])
    assert done.exit_code == 0
    assert "left out" not in done.stderr
    assert report.read_text().splitlines() == ["file,line,column,reason,text"]


def test_a_report_that_cannot_be_written_is_refused_at_once(tmp_path: Path) -> None:
    done = corollary("materialise", tmp_path / "none.nt", "--skip-bad", tmp_path / "none" / "report.csv")
    assert done.exit_code == 2
    assert "there is no such folder" in done.stderr


@pytest.mark.parametrize("command", ["materialise", "query"])
def test_a_folder_stands_for_its_files(tmp_path: Path, command: str) -> None:
    (tmp_path / "one.nt").write_text("<x:a> <x:b> <x:c> .")
    assert corollary(*commands(tmp_path)[command]).exit_code == 0


def test_an_encyclopaedia(tmp_path: Path) -> None:
    made = corollary("generate", "encyclopaedia", 1, "-o", tmp_path, "--gzip")
    assert made.exit_code == 0
    assert made.stdout.split() == [str(tmp_path / name) for name in ("encyclopaedia.nt", "volume-1.nt.gz")]
    again = corollary("generate", "encyclopaedia", 1, "-o", tmp_path / "again", "--gzip", "--seed", 0)
    assert again.exit_code == 0
    assert (tmp_path / "again" / "volume-1.nt.gz").read_bytes() == (tmp_path / "volume-1.nt.gz").read_bytes()


@pytest.mark.parametrize(("kind", "generator"), GENERATORS.items())
def test_help_names_the_files_that_are_written(kind: str, generator: Generator) -> None:
    text = " ".join(corollary("generate", kind, "--help").stdout.split())
    part = generator.part_name
    assert f"Writes {generator.ontology_name}, {part}-1.nt, {part}-2.nt ... into a folder" in text
    assert f"corollary generate {kind} 1 -o {kind} corollary materialise {kind}" in text


@pytest.mark.parametrize("kind", [kind for kind in GENERATORS if kind not in ("university", "encyclopaedia")])
def test_data_of_the_literature(kind: str, tmp_path: Path) -> None:
    made = corollary("generate", kind, 1, "-o", tmp_path, "--seed", 3)
    assert made.exit_code == 0
    ontology, part = map(Path, made.stdout.split())
    assert ontology == tmp_path / GENERATORS[kind].ontology_name
    assert part == tmp_path / f"{kind}-1.nt"
    assert part.read_bytes() == GENERATORS[kind].part(1, 3)
