"""``--timeout``, ``--max-facts``, ``--max-memory``, ``--scratch``: a message with the flag, exit code 2."""

from __future__ import annotations

from pathlib import Path

import pytest
from click.testing import CliRunner

from corollary.cli import main
from corollary.cli.limiting import limit_of

RULES = """
PREFIX : <http://example.org/>
[?x, :n, ?m] :- [?x, :n, ?k], BIND(?k + 1 AS ?m) .
"""
DATA = "@prefix : <http://example.org/> . :a :n 0 ; :p :b ."


@pytest.fixture
def files(tmp_path: Path) -> list[str]:
    rules, data = tmp_path / "count.dlog", tmp_path / "data.ttl"
    rules.write_text(RULES)
    data.write_text(DATA)
    return [str(data), "--rules", str(rules)]


@pytest.mark.parametrize("command", ["materialise", "check", "query", "explain-plan"])
@pytest.mark.parametrize(
    ("flags", "remedy"),
    [
        (["--timeout", "0.6"], "this took more than 0.6 s"),
        (["--max-facts", "100"], "this derives more than 100 facts"),
        ([], "rules have computed more than 50 terms"),
    ],
)
def test_a_command_ends_by_its_limits(
    command: str, flags: list[str], remedy: str, files: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COROLLARY_LIMITS", "terms=none" if flags else "terms=50")
    asked = ["-q", "ASK { ?s ?p ?o }"] if command == "query" else []
    done = CliRunner().invoke(main, [command, *files, *asked, *flags])
    assert done.exit_code == 2
    assert done.stdout == ""
    warning, message, help_line = done.stderr.splitlines()
    assert "BIND(?k + 1 AS ?m) . may compute new terms without end" in warning
    assert message.startswith(f"corollary: {remedy}")
    flag = flags[0] if flags else "terms in COROLLARY_LIMITS, in the environment,"
    assert help_line == f"  help: {flag} allows more"


@pytest.mark.slow
def test_memory_is_limited(tmp_path: Path) -> None:
    data = tmp_path / "data.nt"
    data.write_text("".join(f"<x:{i}> <x:p> <x:{i + 1}> .\n" for i in range(3000)))
    product = "SELECT * { ?a ?p ?b . ?c <x:p> ?d . ?e <x:p> ?f }"
    arguments = ["query", str(data), "--rules", "none", "-q", product, "--max-memory"]
    done = CliRunner().invoke(main, [*arguments, "2GB"])
    assert done.exit_code == 2
    assert done.stderr.startswith("corollary: this needs ")
    assert "may take 2.0 GB" in done.stderr


@pytest.mark.parametrize(
    ("flags", "message"),
    [
        (["--max-memory", "much"], "a limit is a number, such as 500MB"),
        (["--timeout", "soon"], "a limit is a number, such as 10"),
        (["--timeout", "-3"], "a limit is not negative"),
        (["--max-facts", "-1"], "a limit is not negative"),
        (["--max-facts", "1.5"], "a limit of facts is a whole number"),
        (["--threads", "two"], "a limit is a number, such as 1"),
        (["--threads", "0"], "at least one thread is needed"),
        (["--threads", "1.5"], "a limit of threads is a whole number"),
        (["--scratch", "/there/is/none"], "there is no such folder"),
    ],
)
def test_limits_that_are_none(files: list[str], flags: list[str], message: str) -> None:
    """The message names the option."""
    done = CliRunner().invoke(main, ["check", *files, *flags])
    assert done.exit_code == 2
    assert done.stderr == f"corollary: {flags[0]} {flags[1]}: {message}\n"


def test_a_folder_with_a_comma(tmp_path: Path) -> None:
    (folder := tmp_path / "a,b").mkdir()
    assert limit_of("--scratch", "scratch", str(folder)) == str(folder)
    assert limit_of("--scratch", "scratch", "none") is None
