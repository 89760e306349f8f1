"""Parsed profiles that are kept on disk: they are the rules of the files, whatever happens to them."""

from __future__ import annotations

import os
import pickle
import subprocess
import sys
from importlib.util import cache_from_source
from pathlib import Path

import pytest

from corollary import language
from corollary.language import Program, parse_program
from corollary.profiles import PROFILES
from corollary.profiles.kept_programs import kept

RULES = "PREFIX : <http://example.org/>\n[?x, :b, ?y] :- [?x, :a, ?y] .\n"
OTHER = "PREFIX : <http://example.org/>\n[?x, :c, ?y] :- [?x, :a, ?y] .\n"


class Kept:
    """A profile of one file, and how often it was parsed."""

    def __init__(self, folder: Path) -> None:
        self.source = folder / "own.dlog"
        self.source.write_text(RULES)
        self.place = Path(cache_from_source(str(folder / "own.py"))).with_suffix(".rules")
        self.parsed = 0

    def program(self) -> Program:
        def parse() -> Program:
            self.parsed += 1
            return parse_program(self.source.read_text(), "own.dlog")

        return kept("own", [self.source], parse)


@pytest.fixture
def profile(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Kept:
    monkeypatch.setattr(sys, "dont_write_bytecode", False)
    return Kept(tmp_path)


def test_is_parsed_once(profile: Kept) -> None:
    assert profile.program() == profile.program() == parse_program(RULES)
    assert profile.parsed == 1
    assert [path.suffix for path in profile.place.parent.iterdir()] == [".rules"], "a draft was left"


def test_follows_the_rule_file(profile: Kept) -> None:
    profile.program()
    time = profile.source.stat().st_mtime_ns
    profile.source.write_text(OTHER)  # of the same size
    os.utime(profile.source, ns=(time, time))
    assert profile.program() == parse_program(OTHER)
    assert profile.parsed == 2


def test_follows_the_code_of_the_language(profile: Kept, monkeypatch: pytest.MonkeyPatch) -> None:
    profile.program()
    monkeypatch.setattr(language, "__path__", [str(profile.source.parent)])
    profile.program()
    assert profile.parsed == 2


@pytest.mark.parametrize(
    "content", [b"", b"\x80", pickle.dumps(1), pickle.dumps((1, 2, 3)), b"cos\nnothing\n.", b"\x80\x04K\x01"]
)
def test_what_is_broken_is_parsed_and_replaced(profile: Kept, content: bytes) -> None:
    profile.program()
    profile.place.write_bytes(content)
    assert profile.program() == profile.program() == parse_program(RULES)
    assert profile.parsed == 2


def test_a_folder_that_cannot_be_written(profile: Kept) -> None:
    profile.place.parent.write_text("a file stands where the folder would be")
    assert profile.program() == profile.program() == parse_program(RULES)
    assert profile.parsed == 2


def test_nothing_is_kept_where_python_keeps_no_bytecode(
    profile: Kept, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "dont_write_bytecode", True)
    profile.program()
    assert not profile.place.exists()


@pytest.mark.parametrize("name", PROFILES)
def test_a_second_process_has_the_same_rules_without_the_parser(tmp_path: Path, name: str) -> None:
    code = (
        "import sys\nfrom corollary.profiles import load_profile\n"
        "from corollary.language import format_program\n"
        f"program = load_profile({name!r})\n"
        "print(program.name, 'lark' in sys.modules, format_program(program))"
    )
    environment = {**os.environ, "PYTHONPYCACHEPREFIX": str(tmp_path), "PYTHONDONTWRITEBYTECODE": ""}
    command = [sys.executable, "-c", code]
    first, second = (
        subprocess.run(command, capture_output=True, text=True, check=True, env=environment).stdout
        for _ in range(2)
    )
    assert first.startswith(f"{name} True ") and second.startswith(f"{name} False ")
    assert first.split(" ", 2)[2] == second.split(" ", 2)[2]


QUERY = """
import sys
from rdflib import Graph, Namespace, RDF, RDFS
before = set(sys.modules)
graph = Graph(store="Corollary")
EX = Namespace("http://example.org/")
graph.add((EX.a, RDF.type, EX.C))
graph.add((EX.C, RDFS.subClassOf, EX.D))
assert len(list(graph.query("SELECT ?x { ?x a <http://example.org/D> FILTER(STRLEN(STR(?x)) > 2) }"))) == 1
graph.addN((EX[f"a{n}"], RDF.type, EX.C, graph) for n in range(500))
assert len(list(graph.query("SELECT ?x { ?x a <http://example.org/D> }"))) == 501
graph.update("INSERT DATA { <urn:a> <urn:p> 1 } ; DELETE { ?x <urn:p> 1 } WHERE { ?x <urn:p> 1 }")
assert not [name for name in sys.modules if name.startswith("rdflib.plugins.sparql")]
print(*set(sys.modules) - before)
"""


def test_a_first_query_needs_neither_parser_nor_compiler_nor_arrow(tmp_path: Path) -> None:
    environment = {**os.environ, "PYTHONPYCACHEPREFIX": str(tmp_path), "PYTHONDONTWRITEBYTECODE": ""}
    command = [sys.executable, "-c", QUERY]
    subprocess.run(command, check=True, env=environment, capture_output=True)
    done = subprocess.run(command, capture_output=True, text=True, check=True, env=environment)
    unwanted = {"lark", "numba", "llvmlite", "pyarrow", "pyparsing", "regex", "pandas", "sqlite3"}
    unwanted |= {"corollary.columns.column_file", "corollary.reasoner.snapshot_file"}
    found = set(done.stdout.split())
    assert not unwanted & (found | {name.partition(".")[0] for name in found})
