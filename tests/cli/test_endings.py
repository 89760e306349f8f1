"""How commands end where there is no room: one message, no traceback, and not the exit code of success."""

from __future__ import annotations

import os
import resource
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import ExitStack
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner, Result

from corollary.cli import main
from corollary.cli.group import in_flags
from corollary.generators import generate
from corollary.language.errors import Hint

FAMILY = Path(__file__).with_name("family.ttl")
COMMAND = str(Path(sys.executable).with_name("corollary"))
FULL = Path("/dev/full")
ALL = "SELECT * { ?s ?p ?o }"

slow = pytest.mark.slow
needs_full_device = pytest.mark.skipif(not FULL.exists(), reason="there is no device that is full")
needs_limits = pytest.mark.skipif(sys.platform != "linux", reason="ulimit -v limits nothing here")


def corollary(*arguments: str | Path) -> Result:
    return CliRunner().invoke(main, [str(argument) for argument in arguments])


def process(
    *arguments: str | Path,
    stdout: int | str = subprocess.PIPE,
    stderr: int | str = subprocess.PIPE,
    limit: tuple[int, int] | None = None,
    unbuffered: bool = False,
) -> tuple[int, str]:
    """The exit code, and what is on standard error. Streams may be devices."""
    with ExitStack() as opened:
        streams = [
            opened.enter_context(open(one, "wb")) if isinstance(one, str) else one for one in (stdout, stderr)
        ]
        done = subprocess.run(
            [COMMAND, *map(str, arguments)],
            stdout=streams[0],
            stderr=streams[1],
            env=os.environ | {"PYTHONUNBUFFERED": "1" if unbuffered else ""},
            preexec_fn=None if limit is None else lambda: resource.setrlimit(limit[0], (limit[1], limit[1])),
            timeout=300,
        )
    return done.returncode, (done.stderr or b"").decode()


# Devices and pipes

PRINTING: list[list[str | Path]] = [
    ["--help"],
    ["--version"],
    ["query", "--help"],
    ["profiles"],
    ["materialise", FAMILY],
    ["materialise", FAMILY, "--json"],
    ["materialise", FAMILY, "-o", "-"],
    ["materialise", FAMILY, "-o", "-", "--output-format", "ttl"],
    ["check", FAMILY, "--json"],
    ["rules", FAMILY],
    ["explain-plan", FAMILY],
    ["query", FAMILY, "-q", "ASK { ?s ?p ?o }"],
    ["query", FAMILY, "-q", "CONSTRUCT WHERE { ?s ?p ?o }"],
    *(["query", FAMILY, "-q", ALL, "--results", form] for form in ("table", "json", "csv")),
]


QUICKLY: list[list[str | Path]] = [["--help"], ["materialise", FAMILY], PRINTING[-1]]


@needs_full_device
@pytest.mark.parametrize(
    "arguments",
    [pytest.param(each, id=str(each[0]), marks=[] if each in QUICKLY else slow) for each in PRINTING],
)
def test_standard_output_on_a_full_device(arguments: list[str | Path]) -> None:
    assert process(*arguments, stdout=str(FULL)) == (
        2,
        "corollary: standard output: No space left on device\n",
    )


@slow
@needs_full_device
def test_standard_error_on_a_full_device() -> None:
    assert process("query", FAMILY, "-q", ALL, stderr=str(FULL)) == (2, "")
    assert process("query", "none.ttl", "-q", ALL, stderr=str(FULL)) == (2, "")
    assert process("query", FAMILY, "-q", ALL, stdout=str(FULL), stderr=str(FULL)) == (2, "")


@pytest.mark.parametrize(
    ("form", "unbuffered"),
    [
        ("csv", False),
        *(pytest.param(form, False, marks=slow) for form in ("table", "tsv", "json", "xml")),
        *(pytest.param(form, True, marks=slow) for form in ("table", "csv")),
    ],
)
def test_output_that_gets_too_long_half_way(tmp_path: Path, form: str, unbuffered: bool) -> None:
    data = tmp_path / "data.nt"
    data.write_text("".join(f"<urn:{number}> <urn:p> <urn:o> .\n" for number in range(5_000)))
    query = ["query", str(data), "--rules", "none", "-q", ALL, "--results", form]
    limit = resource.RLIMIT_FSIZE, 100_000
    done = process(*query, stdout=str(tmp_path / "out"), limit=limit, unbuffered=unbuffered)
    assert done == (2, "corollary: standard output: File too large\n")


@pytest.mark.parametrize("form", ["csv", pytest.param("table", marks=slow)])
def test_a_pipe_that_closes_ends_quietly(tmp_path: Path, form: str) -> None:
    data = tmp_path / "data.nt"
    data.write_text("".join(f"<urn:{number}> <urn:p> <urn:o> .\n" for number in range(20_000)))
    query = [COMMAND, "query", str(data), "--rules", "none", "-q", ALL, "--results", form]
    with subprocess.Popen(query, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as running:
        assert running.stdout is not None and running.stderr is not None
        running.stdout.readline()
        running.stdout.close()
        assert running.stderr.read() == b""
        assert running.wait() == 141


@slow
def test_streams_that_are_closed() -> None:
    for closed, code in (("<&-", 2), (">&-", 0), ("2>&-", 0)):
        done = subprocess.run(
            f"{COMMAND} materialise - {closed}", shell=True, input=b"", capture_output=True, timeout=300
        )
        assert done.returncode == code
        assert b"Traceback" not in done.stderr
        assert closed != "<&-" or done.stderr == b"corollary: -: standard input is closed\n"


# Memory


@pytest.fixture(scope="module")
def university(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("university")
    generate(1, folder)
    return folder


@needs_limits
@pytest.mark.parametrize(
    ("command", "megabytes"),
    [
        ("materialise", 50),
        *(pytest.param("materialise", more, marks=slow) for more in (150, 300, 400, 500)),
        *(pytest.param(command, more, marks=slow) for command in ("query", "update") for more in (300, 400)),
    ],
)
def test_memory_limits(university: Path, command: str, megabytes: int) -> None:
    more = {"query": ["-q", "ASK { ?s ?p ?o }"], "update": ["--add", str(FAMILY)]}.get(command, [])
    code, said = process(command, university, *more, limit=(resource.RLIMIT_AS, megabytes << 20))
    if code:
        complaint = f"corollary: not enough memory: this process may have {megabytes} MB (ulimit -v)"
        assert code == 2
        assert said.startswith(complaint)
        assert said.count("\n") == 1
    else:
        assert megabytes >= 300  # no kernel is compiled for data of this size


@needs_limits
def test_too_little_memory_to_compile() -> None:
    """LLVM would abort the process."""
    code, said = process("warm-up", limit=(resource.RLIMIT_AS, 300 << 20))
    assert code == 2
    assert said.startswith("corollary: not enough memory: this process may have 300 MB (ulimit -v)")
    assert said.count("\n") == 1


@needs_limits
def test_help_takes_little_memory() -> None:
    assert process("--help", limit=(resource.RLIMIT_AS, 100 << 20)) == (0, "")


def test_no_memory_in_the_middle_of_reasoning(monkeypatch: pytest.MonkeyPatch) -> None:
    """NumPy has a MemoryError of its own."""

    def materialise(*_: object, **__: object) -> None:
        np.empty(1 << 60, np.uint8)

    monkeypatch.setattr("corollary.evaluate.materialise", materialise)
    done = corollary("materialise", FAMILY)
    assert done.exit_code == 2
    assert done.stderr.startswith("corollary: not enough memory")
    assert done.stderr.count("\n") == 1


# Nesting

DEEP = 10_000
QUERIES = {
    "parentheses": f"SELECT * {{ ?s ?p ?o FILTER({'(' * DEEP}1 = 1{')' * DEEP}) }}",
    "not closed": f"SELECT * {{ ?s ?p ?o FILTER({'(' * DEEP}",
    "groups": f"SELECT * {'{' * DEEP} ?s ?p ?o {'}' * DEEP}",
    "path": f"SELECT * {{ ?s {'(' * DEEP}<urn:p>{')*' * DEEP} ?o }}",
}


@pytest.mark.parametrize(
    "query",
    [pytest.param(q, id=name, marks=[] if name == "groups" else slow) for name, q in QUERIES.items()],
)
def test_queries_that_are_nested_too_deep(tmp_path: Path, query: str) -> None:
    file = tmp_path / "query.rq"
    file.write_text(query)
    code, said = process("query", FAMILY, "-f", file)
    assert code == 2
    assert said == (
        f"corollary: {file}:1:1: the query is nested too deep\n"
        "  help: write it with fewer parentheses, groups or operators within each other\n"
    )


def test_what_is_no_sparql_and_deep_besides_does_not_end_the_process(tmp_path: Path) -> None:
    file = tmp_path / "query.rq"
    file.write_text(f"SELECT * {{ ?s ?p ?o FILTER({'!' * DEEP}?o) }}")
    code, said = process("query", FAMILY, "-f", file)
    assert (code, said.splitlines()[0]) == (2, f"corollary: {file}:1:29: expected an expression, found '!'")


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("rules.n3", f"{{ ?x <urn:p> {'(' * DEEP}{')' * DEEP} }} => {{ ?x <urn:q> 1 }} ."),
        ("rules.n3", f"{'{' * DEEP} ?x <urn:p> ?y {'}' * DEEP} => {{ ?x <urn:q> 1 }} ."),
        ("rules.ttl", f"<urn:x> <urn:p> {'(' * DEEP}{')' * DEEP} ."),
        ("rules.dlog", f"[?x, <urn:p>, ?y] :- {'NOT(' * DEEP}[?x, <urn:q>, ?y]{')' * DEEP} ."),
        ("rules.dlog", f"[?x, <urn:p>, ?y] :- [?x, <urn:q>, ?y], FILTER({'!' * DEEP}?x) ."),
    ],
)
def test_rules_that_are_nested_too_deep(tmp_path: Path, name: str, text: str) -> None:
    (tmp_path / name).write_text(text)
    done = corollary("materialise", FAMILY, "--rules", tmp_path / name)
    assert done.exit_code == 2
    assert str(tmp_path / name) in done.stderr
    assert len(done.stderr) < 1_000


# Addresses, and flags in messages


class Family(BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        is_there = self.path.startswith("/family")
        self.send_response(200 if is_there else 404)
        self.send_header("Content-Type", "text/html" if self.path == "/family" else "text/turtle")
        self.end_headers()
        self.wfile.write(FAMILY.read_bytes() if is_there else b"")

    def log_message(self, *_: object) -> None:
        """Nothing is logged."""


@pytest.fixture(scope="module")
def address() -> Iterator[str]:
    with ThreadingHTTPServer(("127.0.0.1", 0), Family) as server:
        threading.Thread(target=server.serve_forever, args=[0.01], daemon=True).start()
        yield f"http://127.0.0.1:{server.server_address[1]}"
        server.shutdown()


def commands(source: str | Path) -> list[list[str | Path]]:
    return [
        ["materialise", source],
        ["check", source],
        ["rules", source],
        ["explain-plan", source],
        ["query", source, "-q", "SELECT ?x ?y { ?x :ancestor ?y } ORDER BY ?x ?y"],
        ["explain", source, ":ann", ":ancestor", ":cid"],
        ["update", source, "--remove", source],
        ["update", FAMILY, "--add", source],
    ]


@pytest.mark.parametrize("number", range(8))
def test_every_command_takes_addresses(address: str, number: int) -> None:
    """What it prints is what it prints of the file."""
    fetched, local = (
        corollary(*commands(f"{address}/family.ttl")[number]),
        corollary(*commands(FAMILY)[number]),
    )
    assert (fetched.exit_code, local.exit_code) == (0, 0), fetched.output
    if number not in (0, 6, 7):  # these tell times
        assert fetched.stdout == local.stdout
    missing = corollary(*commands(f"{address}/none.ttl")[number])
    assert missing.exit_code == 2
    assert f"{address}/none.ttl: cannot be fetched (HTTP Error 404" in missing.stderr
    vague = commands(f"{address}/family")[number]
    assert "name the format, as in --input-format ttl" in corollary(*vague).stderr
    assert corollary(*vague, "--input-format", "ttl").exit_code == 0


def test_rules_have_no_addresses(address: str) -> None:
    done = corollary("materialise", FAMILY, "--rules", f"{address}/family.dlog")
    assert done.exit_code == 2
    assert f"cannot read the rule file {address}/family.dlog: rules are read from files" in done.stderr


def test_file_addresses() -> None:
    assert corollary("update", FAMILY.as_uri(), "--add", FAMILY.as_uri()).exit_code == 0
    missing = corollary("update", FAMILY.as_uri(), "--add", f"{FAMILY.as_uri()}x")
    assert (missing.exit_code, missing.stderr) == (2, f"corollary: {FAMILY}x: No such file or directory\n")


def test_every_hint_has_a_flag() -> None:
    assert in_flags().keys() == set(Hint)
    assert not any("=" in words or "(" in words for words in in_flags().values())


@pytest.mark.parametrize(
    ("arguments", "remedy"),
    [
        (["materialise", "bad.nt"], "--skip-bad REPORT leaves bad lines out"),
        (["materialise", "data.csv"], "name the format, as in --input-format ttl"),
        (["materialise", "good.nt", "-o", "data.csv"], "name the format, as in --output-format nt"),
        (["query", "good.nt", "-q", "ASK { SERVICE <http://127.0.0.1:9/> { } }"], "--external network"),
        (["query", "good.nt", "-q", "ASK { SERVICE <file:///x> { } }"], "--external files or"),
    ],
)
def test_messages_name_flags(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, arguments: list[str], remedy: str
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("bad.nt").write_text("bad")
    Path("good.nt").write_text("<urn:a> <urn:b> <urn:c> .")
    Path("data.csv").write_text("a,b")
    done = corollary(*arguments)
    assert done.exit_code == 2
    assert remedy in done.stderr
    assert not any(word in done.stderr for word in ("on_error", "format=", "external=", "store."))
