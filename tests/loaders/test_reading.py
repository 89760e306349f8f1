"""Reading: every format and compression gives the same triples, and every bad file one clear message."""

import bz2
import codecs
import gzip
import io
import os
from itertools import pairwise
from pathlib import Path
from threading import Thread

import pytest

from corollary.language.errors import InputError
from corollary.loaders import read
from corollary.terms.dictionary import Kind, TermDictionary

LINES = """\
<http://example.org/ann> <http://example.org/knows> <http://example.org/bob> .
<http://example.org/bob> <http://example.org/name> "Bob \\"B\\" \\u00E9"@en .
<http://example.org/bob> <http://example.org/age> "7"^^<http://www.w3.org/2001/XMLSchema#integer> .
"""

TURTLE = """\
@prefix : <http://example.org/> .
:ann :knows :bob .
:bob :name 'Bob "B" é'@en ; :age 7 .
"""

TRIG = """\
@prefix : <http://example.org/> .
:ann :knows :bob .
:one { :bob :name 'Bob "B" é'@en } :two { :bob :age 7 }
"""

QUADS = LINES.replace("@en .", "@en <http://example.org/one> .").replace(
    "r> .", "r> <http://example.org/two> ."
)

RDF_XML = """\
<?xml version="1.0"?>
<rdf:RDF xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#" xmlns="http://example.org/">
  <rdf:Description rdf:about="http://example.org/ann"><knows rdf:resource="http://example.org/bob"/></rdf:Description>
  <rdf:Description rdf:about="http://example.org/bob">
    <name xml:lang="en">Bob "B" é</name>
    <age rdf:datatype="http://www.w3.org/2001/XMLSchema#integer">7</age>
  </rdf:Description>
</rdf:RDF>
"""

JSON_LD = """\
[{"@id": "http://example.org/ann", "http://example.org/knows": {"@id": "http://example.org/bob"}},
 {"@id": "http://example.org/bob", "http://example.org/age": 7,
  "http://example.org/name": {"@value": "Bob \\"B\\" é", "@language": "en"}}]
"""

EXPECTED = {
    ("<http://example.org/ann>", "<http://example.org/knows>", "<http://example.org/bob>"),
    ("<http://example.org/bob>", "<http://example.org/name>", '"Bob \\"B\\" é"@en'),
    (
        "<http://example.org/bob>",
        "<http://example.org/age>",
        '"7"^^<http://www.w3.org/2001/XMLSchema#integer>',
    ),
}


def triples(*paths: Path | str, format: str | None = None) -> list[tuple[str, ...]]:
    """What a fresh dictionary says was read, in order."""
    dictionary = TermDictionary()
    columns = read(paths, dictionary, format=format)
    assert all(column.dtype == "uint32" for column in columns)
    return list(zip(*(dictionary.decode_all(column.tolist()) for column in columns), strict=True))


def written(folder: Path, name: str, content: str | bytes) -> Path:
    path = folder / name
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return path


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("data.nt", LINES),
        ("data.NT", LINES),
        ("data.nq", QUADS),
        ("data.ttl", TURTLE),
        ("data.n3", TURTLE),
        ("data.trig", TRIG),
        ("data.rdf", RDF_XML),
        ("data.xml", RDF_XML),
        ("data.owl", RDF_XML),
        ("data.owl", "\n# a comment\n" + TURTLE),
        ("data.rdf", TURTLE),
        ("data.jsonld", JSON_LD),
        ("data.v2.nt", LINES),
    ],
)
@pytest.mark.parametrize("mark", [b"", codecs.BOM_UTF8])
@pytest.mark.parametrize("compression", ["", ".gz", ".bz2"])
def test_every_format(tmp_path: Path, name: str, content: str, compression: str, mark: bytes) -> None:
    data = mark + content.encode()
    if compression:
        data = gzip.compress(data) if compression == ".gz" else bz2.compress(data)
    path = written(tmp_path, name + compression, data)
    assert set(triples(path)) == EXPECTED


def test_order_and_duplicates_stay(tmp_path: Path) -> None:
    path = written(tmp_path, "data.nt", LINES + LINES)
    assert len(triples(path)) == 6
    assert triples(path)[:3] == triples(path)[3:]


def test_no_file_gives_empty_columns() -> None:
    assert triples() == []


def test_an_empty_file_gives_nothing(tmp_path: Path) -> None:
    assert triples(written(tmp_path, "empty.nt", "")) == []


def test_simple_literals_are_strings(tmp_path: Path) -> None:
    string = "<http://www.w3.org/2001/XMLSchema#string>"
    text = f'<http://a> <http://b> "x" .\n<http://a> <http://b> "x"^^{string} .\n'
    first, second = triples(written(tmp_path, "data.nt", text))
    assert first == second


def test_relative_iris_are_of_the_file(tmp_path: Path) -> None:
    path = written(tmp_path, "data.ttl", "<#a> a <b> .")
    subject, _, object = triples(path)[0]
    assert subject == f"<{path.resolve().as_uri()}#a>"
    assert object == f"<{tmp_path.resolve().as_uri()}/b>"


def test_labels_of_one_file_are_kept(tmp_path: Path) -> None:
    path = written(tmp_path, "data.nt", "_:ann <http://knows> _:bob .\n_:bob <http://knows> _:ann .\n")
    assert triples(path) == [("_:ann", "<http://knows>", "_:bob"), ("_:bob", "<http://knows>", "_:ann")]


def test_blank_nodes_of_two_files_differ(tmp_path: Path) -> None:
    one = written(tmp_path, "one.nt", "_:x <http://p> _:y .\n")
    two = written(tmp_path, "two.nt", "_:x <http://p> _:x .\n")
    (a, _, b), (c, _, d) = triples(one, two)
    assert (a, b) == ("_:x", "_:y")
    assert c == d
    assert c not in (a, b)


def test_anonymous_nodes_are_named_the_same_every_time(tmp_path: Path) -> None:
    path = written(tmp_path, "data.ttl", "_:b1 <http://p> [ <http://q> [ ] ] .\n")
    names = {term for triple in triples(path) for term in triple if term.startswith("_:")}
    assert len(names) == 3
    assert triples(path) == triples(path)


def test_a_label_that_looks_made_up_clashes_with_none(tmp_path: Path) -> None:
    path = written(tmp_path, "data.ttl", "[] <http://p> _:b1 . _:b1 <http://p> _:b2 .\n")
    terms = {term for triple in triples(path) for term in triple if term.startswith("_:")}
    assert len(terms) == 3


def test_standard_input(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(LINES.encode())))
    assert set(triples("-")) == EXPECTED


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no named pipes here")
@pytest.mark.parametrize(("name", "content"), [("data.nt", LINES), ("data.ttl", TURTLE)])
def test_a_named_pipe(name: str, content: str, tmp_path: Path) -> None:
    """Found: a pipe has no position, so ``corollary query <(zcat data.nt.gz)`` was refused."""
    path = tmp_path / name
    os.mkfifo(path)
    writer = Thread(target=path.write_text, args=(content,))
    writer.start()
    assert set(triples(path)) == EXPECTED
    writer.join()


def test_standard_input_in_another_format(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(TURTLE.encode())))
    assert set(triples("-", format="ttl")) == EXPECTED


def test_a_format_given_is_for_names_that_do_not_tell(tmp_path: Path) -> None:
    plain, turtle = written(tmp_path, "data", LINES), written(tmp_path, "data.ttl", TURTLE)
    assert set(triples(plain, turtle, format="nt")) == EXPECTED


def test_progress_counts_up_to_all_of_it(tmp_path: Path) -> None:
    path = written(
        tmp_path, "data.nt", "".join(f"<http://a> <http://b> <http://c{n}> .\n" for n in range(70_000))
    )
    reported: list[tuple[str, int, float | None]] = []
    read([path], TermDictionary(), lambda *what: reported.append(what))
    counts = [0, *(facts for _, facts, _ in reported)]
    assert all(0 < after - before <= 65_536 for before, after in pairwise(counts))
    assert counts[-1] == 70_000
    assert reported[-1] == (f"reading {path}, 3 of 3 MB", 70_000, 1.0)


def complaint(*paths: Path | str, format: str | None = None) -> str:
    with pytest.raises(InputError) as raised:
        triples(*paths, format=format)
    return str(raised.value)


def test_a_syntax_error_has_file_line_and_column(tmp_path: Path) -> None:
    path = written(tmp_path, "data.nt", LINES + "<http://a> <http://b> <http://c d> .\n")
    message = complaint(path)
    assert message.startswith(f"{path}:4:23: not N-Triples: ")
    assert "\n    <http://a> <http://b> <http://c d> .\n" in message
    assert "\n  help: " in message


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("cut.nt", LINES[:-20]),
        ("cut.ttl", TURTLE[:-5]),
        ("cut.jsonld", JSON_LD[:-5]),
        ("cut.rdf", RDF_XML[:-15]),
        ("cut.owl", RDF_XML[:200]),
        ("cut.rdf", RDF_XML[: RDF_XML.index("</rdf:RDF>")]),
    ],
)
@pytest.mark.parametrize("compression", ["", ".gz"])
def test_a_file_cut_off_is_noticed(tmp_path: Path, name: str, content: str, compression: str) -> None:
    data = content.encode()
    message = complaint(written(tmp_path, name + compression, gzip.compress(data) if compression else data))
    assert name in message
    assert "\n  help: " in message


@pytest.mark.parametrize("name", ["data.nt.gz", "data.nt.bz2", "data.rdf.gz"])
def test_damaged_compression(tmp_path: Path, name: str) -> None:
    compress = gzip.compress if name.endswith("gz") else bz2.compress
    content = compress(
        RDF_XML.encode() if ".rdf" in name else "".join(f"{LINES}" for _ in range(100)).encode()
    )
    for bad in (content[:-9], content[: len(content) // 2], b"this is no archive"):
        message = complaint(written(tmp_path, name, bad))
        assert message.startswith(f"{tmp_path / name}: the compressed data end too early or are damaged")


def test_a_missing_file(tmp_path: Path) -> None:
    assert complaint(tmp_path / "none.nt") == f"{tmp_path / 'none.nt'}: No such file or directory"
    assert "does not exist either" in complaint(tmp_path / "nowhere" / "none.nt")


def test_a_missing_file_is_noticed_before_others_are_read(tmp_path: Path) -> None:
    dictionary = TermDictionary()
    with pytest.raises(InputError, match="No such file"):
        read([written(tmp_path, "data.nt", LINES), tmp_path / "none.nt"], dictionary)
    assert len(dictionary) == 0


def test_a_directory(tmp_path: Path) -> None:
    assert "this is a directory" in complaint(tmp_path)


def test_an_unknown_suffix(tmp_path: Path) -> None:
    message = complaint(written(tmp_path, "data.csv", LINES))
    assert "'.csv' is no suffix of an RDF format" in message
    assert ".ttl" in message


def test_an_unknown_format(tmp_path: Path) -> None:
    message = complaint(written(tmp_path, "data", LINES), format="csv")
    assert "unknown format 'csv'" in message


@pytest.mark.parametrize(
    ("content", "syntax"),
    [
        ("Prefix(:=<http://a#>)\nOntology(<http://a>)", "OWL functional syntax"),
        ("Prefix: : <http://a#>\nOntology: <http://a>", "Manchester syntax"),
        ('<?xml version="1.0"?>\n<Ontology xmlns="http://www.w3.org/2002/07/owl#">', "OWL/XML"),
        ("format-version: 1.2\nontology: go", "OBO format"),
    ],
)
def test_ontologies_that_are_not_rdf_are_named(tmp_path: Path, content: str, syntax: str) -> None:
    message = complaint(written(tmp_path, "ontology.owl", content))
    assert f"this is {syntax}, which is not RDF" in message
    assert "help: convert it" in message


def test_rules_in_n3_are_not_data(tmp_path: Path) -> None:
    text = "@prefix : <http://a/> . { :a :b :c } => { :a :c :d } ."
    assert "N3 formulas and rules are not data" in complaint(written(tmp_path, "rules.n3", text))


def test_triple_terms_are_refused(tmp_path: Path) -> None:
    text = "@prefix : <http://a/> . :a :b <<( :a :b :c )>> ."
    assert "the triple term <<( " in complaint(written(tmp_path, "data.ttl", text))


def test_relative_iris_on_standard_input(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(b"<a> <b> <c> .")))
    message = complaint("-", format="ttl")
    assert message.startswith("-:1:1: not Turtle: ")
    assert "needs a base" in message


def test_kinds_of_terms(tmp_path: Path) -> None:
    dictionary = TermDictionary()
    read([written(tmp_path, "data.nt", '_:x <http://p> "y" .\n')], dictionary)
    assert [dictionary.count(kind) for kind in Kind] == [1, 1, 1, 0]


@pytest.mark.parametrize("before", [0, 65_000, 200_000])
@pytest.mark.parametrize("opening", ['{"http://p": ', '{"http://p": [', '{"@graph": '])
def test_json_that_is_too_deep_is_refused_with_its_place(tmp_path: Path, before: int, opening: str) -> None:
    r"""Brackets in strings do not count, nor do quotes after a backslash, wherever a chunk ends."""
    content = '[{"http://p": "' + '[{\\"\\\\' * (before // 6) + '"},\n  '
    depth = 10_000
    closing = "".join("]}"[one == "{"] for one in reversed(opening) if one in "[{")
    path = written(tmp_path, "deep.jsonld", f"{content}{opening * depth}1{closing * depth}]")
    message = complaint(path)
    assert message.startswith(f"{path}:2:")
    assert "not JSON-LD: more than 1,000 objects and arrays lie within each other" in message
    column = int(message.removeprefix(f"{path}:2:").partition(":")[0])
    line = path.read_text().splitlines()[1]
    assert line[column - 1] in "[{"
    assert 1 + sum(line[: column - 1].count(one) for one in "[{") == 1_000


def test_flat_json_with_many_brackets_is_read(tmp_path: Path) -> None:
    nodes = ",".join(f'{{"http://p": [{{"@value": "{number} {{[\\\\"}}]}}' for number in range(5_000))
    path = written(tmp_path, "flat.jsonld", f"[{nodes}]")
    found = triples(path)
    assert len(found) == 5_000
    assert {object for _, _, object in found} == {f'"{number} {{[\\\\"' for number in range(5_000)}


@pytest.mark.parametrize("name", ["list.ttl", "nodes.ttl", "list.trig", "elements.rdf"])
def test_what_may_be_deep_is_read(tmp_path: Path, name: str) -> None:
    depth = 2_000
    list_of_lists = f"<http://a> <http://p> {'(' * depth}{')' * depth} ."
    content = {
        "list.ttl": list_of_lists,
        "list.trig": list_of_lists,
        "nodes.ttl": f"<http://a> <http://p> {'[ <http://p> ' * depth}1{']' * depth} .",
        "elements.rdf": RDF_XML[: RDF_XML.index("  <rdf")]
        + "<rdf:Description><knows>" * depth
        + "</knows></rdf:Description>" * depth
        + "</rdf:RDF>",
    }[name]
    assert len(triples(written(tmp_path, name, content))) >= depth
