"""``corollary query``: what each form of query prints, in each format, and how mistakes are reported."""

import json
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pyarrow
import pyarrow.ipc
import pytest
from click.testing import CliRunner, Result
from pyarrow import parquet

from corollary.cli import main

FAMILY = Path(__file__).with_name("family.ttl")
NAMESPACE = "http://example.org/family#"
COMMAND = str(Path(sys.executable).with_name("corollary"))

ANCESTORS = "SELECT ?x ?y { ?x :ancestor ?y } ORDER BY ?x ?y"

GRAPHS = """
@prefix : <http://example.org/family#> .
@prefix rdfs: <http://www.w3.org/2000/01/rdf-schema#> .
:schema { :Cat rdfs:subClassOf :Animal }
:pets { :tom a :Cat ; :name "Tom\\nthe cat"@en, "a\\tb" ; :age 3 ; :born "2020-02-29"^^<urn:day> }
"""


def query(*arguments: str | Path, input: str | None = None) -> Result:
    return CliRunner().invoke(main, ["query", *map(str, arguments)], input=input)


def answer(*arguments: str | Path, input: str | None = None) -> str:
    """What a query prints."""
    result = query(*arguments, input=input)
    assert result.exit_code == 0, result.output
    return result.stdout


def mistake(*arguments: str | Path) -> str:
    """What a mistake prints on standard error: exit code 2, no traceback, nothing on standard output."""
    result = query(*arguments)
    assert result.exit_code == 2, result.output
    assert result.stdout == ""
    assert "Traceback" not in result.stderr
    return result.stderr


@pytest.fixture
def graphs(tmp_path: Path) -> Path:
    path = tmp_path / "graphs.trig"
    path.write_text(GRAPHS)
    return path


def test_a_table_shows_what_follows_with_prefixes_of_the_data() -> None:
    lines = answer(FAMILY, "-q", ANCESTORS).splitlines()
    assert [line.split() for line in lines] == [
        ["?x", "?y"],
        ["----", "----"],
        [":ann", ":bob"],
        [":ann", ":cid"],
        [":bob", ":cid"],
    ]


def test_rows_and_times_go_to_standard_error() -> None:
    result = query(FAMILY, "-q", ANCESTORS)
    assert result.stderr.startswith("3 rows (prepare ")
    for stage in ("read", "reason", "query"):
        assert f"{stage} " in result.stderr


def test_no_rows() -> None:
    result = query(FAMILY, "-q", "SELECT ?x { ?x a :Cat }")
    assert result.exit_code == 0
    assert result.stdout.splitlines() == ["?x", "--"]
    assert result.stderr.startswith("0 rows")


def test_a_table_in_a_pipe_is_plain_and_hides_nothing(tmp_path: Path) -> None:
    iri = f"http://example.org/{'long/' * 100}end"
    (tmp_path / "long.nt").write_text(f'<{iri}> <urn:p> "{"text " * 100}" .\n')
    command = [COMMAND, "query", str(tmp_path / "long.nt"), "-q", "SELECT * { ?x ?p ?y }"]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert len(done.stdout.splitlines()) == 3
    assert f"<{iri}>  <urn:p>  " in done.stdout
    assert '"' + "text " * 100 + '"' in done.stdout
    assert done.stdout.isascii()
    assert "\x1b" not in done.stdout


def test_a_table_on_a_terminal_folds_long_terms(tmp_path: Path) -> None:
    iri = f"http://example.org/{'long/' * 30}end"
    (tmp_path / "long.nt").write_text(f"<{iri}> <urn:p> _:b .\n")
    parent, child = os.openpty()
    command = [COMMAND, "query", str(tmp_path / "long.nt"), "-q", "SELECT ?x { ?x ?p ?y }"]
    environment = {**os.environ, "COLUMNS": "60"}
    subprocess.run(command, stdout=child, stderr=subprocess.PIPE, env=environment, check=True)
    os.close(child)
    shown = re.sub(r"\x1b\[\d*m", "", os.read(parent, 1 << 16).decode())
    os.close(parent)
    assert all(len(line) <= 60 for line in shown.splitlines())
    assert f"<{iri}>" in "".join(line.strip() for line in shown.splitlines())


def test_literals_take_one_line(graphs: Path) -> None:
    text = answer(graphs, "-q", "SELECT ?y { :tom :name|:age|:born ?y }")
    assert {'"Tom\\nthe cat"@en', '"a\\tb"', "3", '"2020-02-29"^^<urn:day>'} <= set(text.splitlines())


def test_an_unbound_variable_leaves_its_cell_empty(graphs: Path) -> None:
    lines = answer(graphs, "-q", "SELECT ?x ?z ?n { ?x :age ?n OPTIONAL { ?x :none ?z } }").splitlines()
    assert lines[2].split() == [":tom", "3"]


def test_select_star_keeps_the_order_of_the_query() -> None:
    assert answer(FAMILY, "-q", "SELECT * { ?s ?predicate ?p }").split()[:3] == ["?s", "?predicate", "?p"]


def test_ask_answers_by_exit_code_too() -> None:
    yes, no = (
        query(FAMILY, "-q", f"ASK {{ :{x} :ancestor :{y} }}") for x, y in (("ann", "cid"), ("cid", "ann"))
    )
    assert (yes.stdout, yes.exit_code) == ("yes\n", 0)
    assert (no.stdout, no.exit_code) == ("no\n", 1)
    assert json.loads(answer(FAMILY, "-q", "ASK { :ann :parent ?x }", "--results", "json"))["boolean"] is True
    assert "<boolean>true</boolean>" in answer(FAMILY, "-q", "ASK { :ann :parent ?x }", "--results", "xml")


def test_construct_prints_turtle_or_ntriples() -> None:
    text = "CONSTRUCT { ?y :descendant ?x } WHERE { ?x :ancestor ?y }"
    result = query(FAMILY, "-q", text)
    assert f"@prefix : <{NAMESPACE}> ." in result.stdout
    assert ":bob :descendant :ann ." in result.stdout
    assert result.stderr.startswith("3 triples")
    lines = answer(FAMILY, "-q", text, "--results", "nt").splitlines()
    assert f"<{NAMESPACE}bob> <{NAMESPACE}descendant> <{NAMESPACE}ann> ." in lines
    assert lines == sorted(lines)
    assert len(lines) == 3


def test_describe() -> None:
    assert ":ancestor :bob" in answer(FAMILY, "-q", "DESCRIBE :ann")


def test_csv_tsv_json_and_xml(graphs: Path) -> None:
    text = "SELECT ?x ?name { ?x :name ?name FILTER(lang(?name) = '') }"

    def printed(results: str) -> str:
        return answer(graphs, "-q", text, "--results", results)

    assert printed("csv").splitlines() == ["x,name", f"{NAMESPACE}tom,a\tb"]
    assert printed("tsv").splitlines() == ["?x\t?name", f'<{NAMESPACE}tom>\t"a\\tb"']
    (row,) = json.loads(printed("json"))["results"]["bindings"]
    assert row["x"] == {"type": "uri", "value": f"{NAMESPACE}tom"}
    assert f"<uri>{NAMESPACE}tom</uri>" in printed("xml")


def test_named_graphs(graphs: Path) -> None:
    def cells(text: str) -> list[str]:
        return answer(graphs, "-q", text).split()[2:]

    assert cells("SELECT ?x { ?x a :Animal }") == [":tom"]  # outside GRAPH all graphs and what follows
    assert cells("SELECT ?x { GRAPH ?g { ?x a :Animal } }") in ([], [":tom"])
    assert cells("SELECT ?x { GRAPH :pets { ?x a :Animal } }") == []
    assert cells("SELECT ?g { GRAPH ?g { ?x a :Cat } }") == [":pets"]
    assert cells("SELECT ?x { GRAPH <urn:x-corollary:inferred> { ?x a :Animal } }") == [":tom"]
    assert cells("SELECT ?x { GRAPH <urn:x-corollary:explicit> { ?x a :Animal } }") == []
    assert cells("SELECT ?x FROM :pets { ?x a ?c }") == [":tom"]


def test_rules(tmp_path: Path) -> None:
    rules = tmp_path / "rules.dlog"
    rules.write_text(f"[?y, <{NAMESPACE}child>, ?x] :- [?x, <{NAMESPACE}parent>, ?y] .\n")
    count = "SELECT (COUNT(*) AS ?n) { ?x :child|:ancestor ?y }"

    def number(*names: str | Path) -> str:
        return answer(FAMILY, "-q", count, *(part for name in names for part in ("-r", name))).split()[-1]

    assert number("none") == "0"
    assert number("rhodf") == "2"
    assert number("rhodf", rules) == "4"


def test_query_files_and_standard_input(tmp_path: Path) -> None:
    path = tmp_path / "ancestors.rq"
    path.write_text(ANCESTORS)
    assert answer(FAMILY, "-f", path) == answer(FAMILY, "-q", ANCESTORS)
    assert answer(FAMILY, "-f", "-", input=ANCESTORS) == answer(FAMILY, "-q", ANCESTORS)
    data = FAMILY.read_text()
    assert answer("-", "--input-format", "ttl", "-q", ANCESTORS, input=data) == answer(
        FAMILY, "-q", ANCESTORS
    )


@pytest.mark.parametrize(
    ("text", "place", "words"),
    [
        ("SELECT ?x\n{ ?x a }", "query:2:8: expected a term, found '}'", ""),
        ("SELECT * { ?x ?p ?y", "query:1:20: expected '}'", "the text ends here"),
        ("SELEC ?x { ?x ?p ?y }", "query:1:1: expected SELECT, ASK, CONSTRUCT or DESCRIBE", ""),
        ("INSERT DATA { :a :b :c }", "query:1:1: this is an update", "Graph.update"),
        (
            "SELECT * {\n ?x foo:bar ?y }",
            "query:2:5: the prefix foo: is not declared",
            "PREFIX foo: <...>",
        ),
        (
            "SELECT * FROM <urn:g> { ?x ?p ?y }",
            "query:1:15: FROM: no file has a graph <urn:g>",
            "name the file",
        ),
    ],
)
def test_bad_queries(text: str, place: str, words: str) -> None:
    message = mistake(FAMILY, "-q", text)
    assert message.startswith("corollary: ")
    assert place in message
    assert words in message.partition(place)[2]


def test_a_query_reaches_the_network_only_if_it_may() -> None:
    query = "SELECT * { SERVICE <http://localhost:1/> { ?s ?p ?o } }"
    assert "queries and updates reach no network here" in mistake(FAMILY, "-q", query)
    assert "SERVICE" in mistake(FAMILY, "-q", query, "--external", "network")


def test_a_bad_query_is_noticed_first(tmp_path: Path) -> None:
    assert "expected '{', found 'a'" in mistake(tmp_path / "none.nt", "-q", "SELECT ?x ?x a }")
    assert "is not for ASK" in mistake(tmp_path / "none.nt", "-q", "ASK {}", "--results", "csv")
    assert "is not for SELECT" in mistake(tmp_path / "none.nt", "-q", "SELECT * {}", "--results", "ttl")


def test_the_place_in_a_query_file(tmp_path: Path) -> None:
    path = tmp_path / "bad.rq"
    path.write_text("SELECT ?x\n{ ?x a }")
    assert mistake(FAMILY, "-f", path).startswith(f"corollary: {path}:2:8: ")
    path.write_bytes(b"SELECT ?\xff {}")
    assert "no UTF-8" in mistake(FAMILY, "-f", path)


def test_bad_files_and_rules(tmp_path: Path) -> None:
    assert mistake(tmp_path / "none.nt", "-q", "ASK {}").endswith("none.nt: No such file or directory\n")
    bad = tmp_path / "bad.nt"
    bad.write_text("<http://a> <http://b> <http://c")
    assert mistake(bad, "-q", "ASK {}").startswith(f"corollary: {bad}:1:")
    assert "did you mean" in mistake(FAMILY, "-q", "ASK {}", "-r", "owl2lr")


@pytest.mark.parametrize("arguments", [[], ["-q", "ASK {}", "-f", str(FAMILY)]])
def test_one_query_is_needed(arguments: list[str]) -> None:
    assert "-q" in mistake(FAMILY, *arguments)


def test_literals_that_are_ill_typed_are_printed_without_ado(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    (tmp_path / "born.nt").write_text(
        '<urn:a> <urn:b> "2020-02-30"^^<http://www.w3.org/2001/XMLSchema#date> .'
    )
    result = query(tmp_path / "born.nt", "-q", "SELECT ?d { ?a <urn:b> ?d }")
    assert result.exit_code == 0 and "2020-02-30" in result.stdout
    assert not caplog.records


@pytest.mark.parametrize("results", ["arrow", "parquet"])
def test_tables_for_data_frames(graphs: Path, results: str) -> None:
    def table(text: str, *options: str) -> Any:
        process = query(graphs, "-q", text, "--results", results, *options)
        assert process.exit_code == 0, process.output
        source = pyarrow.BufferReader(process.stdout_bytes)
        return (
            parquet.read_table(source) if results == "parquet" else pyarrow.ipc.open_stream(source).read_all()
        )

    assert table("SELECT ?age { ?x :age ?age }", "--typed").to_pylist() == [{"age": 3}]
    assert table("SELECT ?name { ?x :name ?name }").num_rows == 2
    assert table("CONSTRUCT WHERE { ?x :age ?y }").column_names == ["subject", "predicate", "object"]
    assert "is not for ASK" in mistake(graphs, "-q", "ASK {}", "--results", results)
    assert "--typed is for tables of Arrow" in mistake(graphs, "-q", "ASK {}", "--typed")


def test_plans() -> None:
    text = "SELECT ?x { ?x :parent ?y . ?y :parent :cid }"
    lines = answer(FAMILY, "-q", text, "--explain").splitlines()
    assert lines[0].split() == ["estimated", "operator"] and lines[1].split()[1] == "SELECT"
    plan = json.loads(answer(FAMILY, "-q", text, "--analyze", "--results", "json"))
    assert plan["rows"] is not None and plan["inputs"][0]["operator"] == "SELECT"
    assert json.loads(answer(FAMILY, "-q", text, "--explain", "--results", "json"))["rows"] is None
    assert "--results csv is not for plans" in mistake(FAMILY, "-q", text, "--explain", "--results", "csv")
    assert "query:1:1" in mistake(FAMILY, "-q", "SELEC", "--explain")


def test_a_table_quotes_the_literals_that_turtle_would_read_as_others(tmp_path: Path) -> None:
    """``"3000"^^xsd:decimal`` was printed like the integer 3000, ``"1"^^xsd:boolean`` like 1."""
    xsd = "http://www.w3.org/2001/XMLSchema#"
    texts = {
        f'"3000"^^<{xsd}decimal>': '"3000"^^xsd:decimal',
        f'"3000"^^<{xsd}integer>': "3000",
        f'"3000.0"^^<{xsd}decimal>': "3000.0",
        f'"1e3"^^<{xsd}double>': "1e3",
        f'"1"^^<{xsd}double>': '"1"^^xsd:double',
        f'"1"^^<{xsd}boolean>': '"1"^^xsd:boolean',
        f'"true"^^<{xsd}boolean>': "true",
    }
    data = tmp_path / "numbers.nt"
    data.write_text("".join(f"<urn:a> <urn:p{i}> {text} .\n" for i, text in enumerate(texts)))
    lines = answer(data, "-q", "SELECT ?y { ?x ?p ?y } ORDER BY ?p", "--rules", "none").splitlines()
    assert lines[2:] == list(texts.values())


def test_the_time_of_a_query_is_not_that_of_imports(tmp_path: Path) -> None:
    (tmp_path / "one.nt").write_text("<urn:a> <urn:p> <urn:b> .\n")
    program = """if True:
        import sys
        from corollary.cli.input_options import Reading
        from corollary.cli.querying import loaded
        loaded([sys.argv[1]], ["none"], Reading(), "none", {})
        assert {"corollary.sparql.answer", "rdflib.plugins.sparql.sparql"} <= set(sys.modules)
    """
    subprocess.run([sys.executable, "-c", program, str(tmp_path / "one.nt")], check=True)
