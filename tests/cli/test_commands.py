"""The command line: what each command prints and writes, and how it ends."""

import gzip
import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from corollary.cli import main

FAMILY = Path(__file__).with_name("family.ttl")
NAMESPACE = "http://example.org/family#"
CLASH = f"<{NAMESPACE}bob> a <{NAMESPACE}Cat> ."
COMMAND = str(Path(sys.executable).with_name("corollary"))


def corollary(*arguments: str | Path, input: str | bytes | None = None) -> Result:
    return CliRunner().invoke(main, [str(argument) for argument in arguments], input=input)


def succeeds(*arguments: str | Path, input: str | bytes | None = None) -> Result:
    result = corollary(*arguments, input=input)
    assert result.exit_code == 0, result.output
    return result


def fails(*arguments: str | Path, input: str | bytes | None = None) -> str:
    """What a mistake prints on standard error: exit code 2, no traceback, nothing on standard output."""
    result = corollary(*arguments, input=input)
    assert result.exit_code == 2, result.output
    assert result.stdout == ""
    assert "Traceback" not in result.stderr
    return result.stderr


@pytest.fixture
def clashing(tmp_path: Path) -> Path:
    path = tmp_path / "clashing.ttl"
    path.write_text(FAMILY.read_text() + CLASH)
    return path


def test_materialise_prints_a_summary() -> None:
    output = succeeds("materialise", FAMILY).stdout
    for word in ("explicit", "inferred", "total", "rounds", "read", "reason", f"<{NAMESPACE}ancestor>"):
        assert word in output


def test_the_summary_as_json() -> None:
    data = json.loads(succeeds("materialise", FAMILY, "--json").stdout)
    assert data["explicit"] == 6
    assert data["inferred"] == data["total"] - 6
    assert data["inconsistencies"] == 0
    assert list(data["seconds"]) == ["prepare", "read", "reason"]
    sizes = {row["predicate"]: (row["explicit"], row["total"]) for row in data["largest_predicates"]}
    assert sizes[f"<{NAMESPACE}parent>"] == (2, 2)
    assert sizes[f"<{NAMESPACE}ancestor>"] == (0, 3)


def test_all_facts_are_written(tmp_path: Path) -> None:
    succeeds("materialise", FAMILY, "-o", tmp_path / "out.nt.gz")
    lines = gzip.decompress((tmp_path / "out.nt.gz").read_bytes()).decode().splitlines()
    assert f"<{NAMESPACE}ann> <{NAMESPACE}parent> <{NAMESPACE}bob> ." in lines
    assert f"<{NAMESPACE}ann> <{NAMESPACE}ancestor> <{NAMESPACE}cid> ." in lines
    assert len(lines) == len(set(lines))


def test_only_inferred_facts_are_written(tmp_path: Path) -> None:
    succeeds("materialise", FAMILY, "--rules", "owl2rl", "-o", tmp_path / "out.nt", "--inferred-only")
    text = (tmp_path / "out.nt").read_text()
    assert f"<{NAMESPACE}ancestor> <{NAMESPACE}cid> ." in text
    assert f"<{NAMESPACE}parent>" not in {line.split()[1] for line in text.splitlines()}


GRAPHS = f"""@prefix f: <{NAMESPACE}> .
f:ancestor a <http://www.w3.org/2002/07/owl#TransitiveProperty> .
f:family {{ f:ann f:ancestor f:bob . f:bob f:ancestor f:cid }}
"""


@pytest.mark.parametrize("form", ["snapshot", "encoded"])
def test_a_stored_form_is_written_and_opened_as_it_is(tmp_path: Path, form: str) -> None:
    (tmp_path / "in.trig").write_text(GRAPHS)
    succeeds("materialise", tmp_path / "in.trig", "-o", tmp_path / "out.nt")
    target = tmp_path / f"closed.{form}"
    data = json.loads(succeeds("materialise", tmp_path / "in.trig", "-o", target, "--json").stdout)
    assert (data["explicit"], list(data["seconds"])) == (3, ["prepare", "read", "reason", "write"])

    def asked(query: str) -> list[str]:
        return sorted(
            succeeds("query", target, "--as-is", "-q", query, "--results", "nt").stdout.splitlines()
        )

    assert asked("CONSTRUCT WHERE { ?s ?p ?o }") == sorted((tmp_path / "out.nt").read_text().splitlines())
    inferred = f"<{NAMESPACE}ann> <{NAMESPACE}ancestor> <{NAMESPACE}cid> ."
    assert inferred in asked("CONSTRUCT { ?s ?p ?o } { GRAPH <urn:x-corollary:inferred> { ?s ?p ?o } }")
    named = asked("CONSTRUCT { ?s ?p ?o } { GRAPH f:family { ?s ?p ?o } }")  # with the prefix of the file
    assert len(named) == 2
    assert inferred not in named


def test_a_stored_form_needs_its_kind_of_place_and_rules(tmp_path: Path) -> None:
    target = tmp_path / "closed.snapshot"
    assert "leave out --inferred-only" in fails("materialise", FAMILY, "-o", target, "--inferred-only")
    assert "make the folder" in fails("materialise", FAMILY, "-o", tmp_path / "none" / "closed.snapshot")
    assert "no profile is named 'none'" in fails("materialise", FAMILY, "-o", target, "--rules", "none")
    target.mkdir()
    (tmp_path / "closed.encoded").write_text("kept")
    assert "this is a folder" in fails("materialise", FAMILY, "-o", target)
    assert "this is a file" in fails("materialise", FAMILY, "-o", tmp_path / "closed.encoded")
    assert (tmp_path / "closed.encoded").read_text() == "kept"


def test_facts_on_standard_output_leave_the_summary_to_standard_error() -> None:
    result = succeeds("materialise", FAMILY, "-o", "-", "--output-format", "ttl")
    assert "@prefix owl:" in result.stdout
    assert "inferred" not in result.stdout
    assert "inferred" in result.stderr


def test_standard_input() -> None:
    data = succeeds("materialise", "-", "--input-format", "ttl", "--json", input=FAMILY.read_text()).stdout
    assert json.loads(data)["explicit"] == 6


def test_profiles_and_rule_files_add_up(tmp_path: Path) -> None:
    rules = tmp_path / "rules.dlog"
    rules.write_text(f"[?y, <{NAMESPACE}child>, ?x] :- [?x, <{NAMESPACE}parent>, ?y] .\n")
    data = json.loads(succeeds("materialise", FAMILY, "-r", "rhodf", "-r", rules, "--json").stdout)
    sizes = {row["predicate"]: row["total"] for row in data["largest_predicates"]}
    assert sizes[f"<{NAMESPACE}child>"] == 2
    assert sizes[f"<{NAMESPACE}ancestor>"] == 2  # rhodf knows no transitive properties


def test_materialise_mentions_inconsistencies(clashing: Path) -> None:
    result = succeeds("materialise", clashing, "--json")
    assert json.loads(result.stdout)["inconsistencies"] > 0
    assert "`corollary check` with the same files and rules lists" in result.stderr


def test_check_finds_nothing() -> None:
    result = succeeds("check", FAMILY)
    assert result.stdout == ""
    assert result.stderr == "consistent\n"


def test_check_lists_rule_and_facts(clashing: Path) -> None:
    result = corollary("check", clashing)
    assert result.exit_code == 1
    assert "cax-dw" in result.stdout
    assert "stated    :Cat owl:disjointWith :Person" in result.stdout
    assert "  inferred  :bob a :Person" in result.stdout
    assert result.stderr == "1 mistake (1 inconsistency)\n  cax-dw: 1\n"


def test_check_as_json(clashing: Path) -> None:
    result = corollary("check", clashing, "--json")
    assert result.exit_code == 1
    first = json.loads(result.stdout)["inconsistencies"][0]
    assert first["rule"] == "cax-dw"
    subjects = {fact[0] for fact in first["facts"]}
    assert f"<{NAMESPACE}bob>" in subjects
    none = json.loads(succeeds("check", FAMILY, "--json").stdout)
    assert none == {"count": 0, "mistakes": 0, "complete": True, "by_rule": {}, "inconsistencies": []}


def test_rules_prints_the_program_for_an_ontology() -> None:
    output = succeeds("rules", FAMILY, "--rules", "owl2rl").stdout
    assert "ancestor" in output
    assert ":-" in output


def test_rules_without_files_prints_the_profile() -> None:
    from corollary.language import parse_program
    from corollary.profiles import load_profile

    output = succeeds("rules", "--rules", "rdfs").stdout
    assert parse_program(output).rules == load_profile("rdfs").rules


def test_explain_plan() -> None:
    assert succeeds("explain-plan", FAMILY).stdout.strip()
    assert json.loads(succeeds("explain-plan", FAMILY, "--json").stdout)


def test_a_plan_shows_rules_that_have_data_with_prefixes() -> None:
    text = succeeds("explain-plan", FAMILY).stdout
    assert f"<{NAMESPACE}" not in text
    assert "\n  prp-trp: " in text and "\n  prp-fp: " not in text
    assert "prp-fp" in text[text.index("\nRules without data\n") : text.index("\nPlans\n")]
    shown = json.loads(succeeds("explain-plan", FAMILY, "--json").stdout)
    whole = json.loads(succeeds("explain-plan", FAMILY, "--json", "--all").stdout)
    assert {rule["rule"] for rule in whole["plans"]} > {rule["rule"] for rule in shown["plans"]}
    assert {rule["rule"] for rule in whole["plans"]} >= set(shown["without_data"])
    assert "\n  prp-fp: 0 rows" in succeeds("explain-plan", FAMILY, "--all").stdout


def test_profiles_are_listed() -> None:
    lines = succeeds("profiles").stdout.splitlines()
    names = ["rhodf", "rdfs", "rdfs-plus", "owl2rl", "owl2rl-full", "skos"]
    assert [line.split()[0] for line in lines] == names


def test_generate_university(tmp_path: Path) -> None:
    folder = tmp_path / "made" / "here"
    output = succeeds("generate", "university", "2", "-o", folder, "--gzip").stdout
    names = ["university.ttl", "university-1.nt.gz", "university-2.nt.gz"]
    assert output.splitlines() == [str(folder / name) for name in names]
    assert sorted(path.name for path in folder.iterdir()) == sorted(names)


def test_help_and_version() -> None:
    assert succeeds("--version").stdout.startswith("corollary ")
    assert "generate university 1" in succeeds("--help").stdout
    for command in (
        "materialise",
        "update",
        "query",
        "rules",
        "check",
        "explain-plan",
        "profiles",
        "generate",
    ):
        assert "Usage:" in succeeds(command, "--help").stdout


def test_a_missing_file(tmp_path: Path) -> None:
    path = tmp_path / "none.nt"
    assert fails("materialise", path) == f"corollary: {path}: No such file or directory\n"


def test_a_cut_off_file(tmp_path: Path) -> None:
    bad = tmp_path / "bad.nt"
    bad.write_text("<http://a> <http://b> <http://c> .\n<http://a> <http://b> <http://c")
    message = fails("materialise", bad, "-o", tmp_path / "out.nt")
    assert message.startswith(f"corollary: {bad}:2:")
    assert "help: the file may be cut off" in message
    assert not (tmp_path / "out.nt").exists()


def test_an_unknown_profile() -> None:
    message = fails("materialise", FAMILY, "--rules", "owl2lr")
    assert "owl2lr" in message
    assert "did you mean" in message


def test_an_unsafe_rule(tmp_path: Path) -> None:
    rules = tmp_path / "unsafe.dlog"
    rules.write_text("[?x, <http://p>, ?y] :- [?x, <http://q>, ?x] .\n")
    message = fails("materialise", FAMILY, "--rules", rules, "-o", tmp_path / "out.nt")
    assert f"{rules}:1:" in message
    assert "?y" in message
    assert not (tmp_path / "out.nt").exists()


def test_an_unstratifiable_program(tmp_path: Path) -> None:
    rules = tmp_path / "loop.dlog"
    rules.write_text("[?x, <http://p>, ?x] :- [?x, <http://q>, ?x], NOT [?x, <http://p>, ?x] .\n")
    message = fails("materialise", FAMILY, "--rules", rules, "-o", tmp_path / "out.nt")
    assert "http://p" in message
    assert not (tmp_path / "out.nt").exists()


def test_a_wrong_output_suffix_is_noticed_first(tmp_path: Path) -> None:
    assert "'.csv' is no suffix" in fails("materialise", tmp_path / "none.nt", "-o", tmp_path / "out.csv")


def test_an_output_folder_that_is_not_there_is_noticed_first(tmp_path: Path) -> None:
    assert "make the folder" in fails("materialise", tmp_path / "none.nt", "-o", tmp_path / "none" / "out.nt")


@pytest.mark.parametrize(
    "arguments", [["materialise"], ["check"], ["frobnicate"], ["materialise", "--frob", "x"]]
)
def test_usage_errors(arguments: list[str]) -> None:
    assert "Usage:" in fails(*arguments)


@pytest.mark.parametrize("option", [["--inferred-only"], ["--output-format", "nt"]])
def test_output_options_need_an_output(option: list[str]) -> None:
    assert "name a file with -o" in fails("materialise", FAMILY, *option)


def test_a_closed_pipe_ends_quietly() -> None:
    process = subprocess.Popen(
        [COMMAND, "rules", "--rules", "owl2rl"], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    assert process.stdout is not None and process.stderr is not None
    process.stdout.close()
    assert process.stderr.read() == ""
    assert process.wait(60) == 141


def test_ctrl_c_ends_quietly(tmp_path: Path) -> None:
    """Interrupted while it waits for standard input: no traceback, no output."""
    process = subprocess.Popen(
        [COMMAND, "materialise", "-", "--rules", "rhodf", "-o", str(tmp_path / "out.nt")],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        bufsize=1,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),  # a background job ignores it
    )
    assert process.stdin is not None
    process.stdin.write("<http://a> <http://b> <http://c> .\n" * 10_000)  # it reads: it has come so far
    process.stdin.flush()
    time.sleep(0.3)
    process.send_signal(signal.SIGINT)
    _, errors = process.communicate(timeout=60)
    assert process.returncode == 130
    assert errors == ""
    assert list(tmp_path.iterdir()) == []


def test_help_answers_at_once() -> None:
    code = "import sys, corollary.cli; print(*sys.modules)"
    process = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    loaded = process.stdout.split()
    for heavy in ("numba", "numpy", "pyoxigraph", "rdflib", "lark", "rich"):
        assert heavy not in loaded


def bar(*lines: str, columns: int = 120) -> str:
    """What a terminal shows of a stage. The bar appears after no time at all."""
    parent, child = os.openpty()  # the bar needs one
    code = (
        "import os, time; from corollary.cli import progress; progress.SECONDS_BEFORE_BAR = 0.0\n"
        f"os.environ['COLUMNS'] = '{columns}'\n"
        "with progress.stage('read', {}) as stage:\n    "
        + "\n    ".join([*lines, "while stage._bar is None: time.sleep(0.01)"])
    )
    process = subprocess.run(
        [sys.executable, "-c", code], stdout=subprocess.PIPE, stderr=child, text=True, check=True, timeout=60
    )
    os.close(child)
    shown = os.read(parent, 1 << 16).decode()
    os.close(parent)
    assert process.stdout == ""
    return shown


def test_a_terminal_shows_a_bar_when_a_stage_lasts() -> None:
    since = "stage._start -= 8 * 60 - 0.25"  # seconds: it has run for almost eight minutes
    shown = bar(since, "stage.update('reading data.nt', 1234, 0.8)")
    assert "reading data.nt" in shown
    assert "1,234 facts" in shown
    assert "0:02:00 left" in shown


def test_a_bar_says_nothing_that_is_not_known() -> None:
    shown = bar("stage.update('compiling sort', 0, 0.0)")
    assert "compiling sort" in shown and "facts" not in shown and "left" not in shown
    shown = bar("stage.update('reading -', 1234)")
    assert "1,234 facts" in shown and "left" not in shown


def test_a_narrow_terminal_shows_all_numbers() -> None:
    """Of 80 columns: the activity is shortened, and the bar."""
    since = "stage._start -= 8 * 60 - 0.25"
    shown = bar(since, "stage.update('reading data/' + 60 * 'x', 10_047_133, 0.8)", columns=80)
    assert "reading data/xx" in shown and "x…" in shown and "━" in shown
    assert "10,047,133 facts 0/s" in shown
    assert "0:02:00 left" in shown


def test_a_bar_shows_what_the_engine_is_doing() -> None:
    """Which rule, and the facts derived so far. The time left is not known before the fixpoint."""
    shown = bar(
        "from corollary.kernels.limits import Cancellation, Limits, at, derived, limited",
        "def work():",
        "    derived(5_000_000)  # before this stage",
        "    stage.follow(1000)",
        "    at('transitive closure of <' + 'x' * 100)",
        "    derived(234)",
        "limited(Limits(), Cancellation(), work)",
    )
    assert "transitive closure of <xxx" in shown and "…" in shown
    assert "1,234 facts" in shown and "left" not in shown


def test_commands_with_a_store_follow_its_engine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from corollary.cli import progress

    states = {}
    monkeypatch.setattr(progress.Stage, "end", lambda stage: states.update({stage.name: stage.state()}))
    data = tmp_path / "data.ttl"
    data.write_text(
        "@prefix : <urn:> . :C0 <http://www.w3.org/2000/01/rdf-schema#subClassOf> :C1 . :x a :C0 ."
    )
    for command, *options in (("check",), ("query", "-q", "ASK {}"), ("materialise",)):
        succeeds(command, data, "--rules", "rhodf", *options)
        (activity, amount, _, left), share = states.pop("reason")
        assert activity.split(":")[0] in ("rdfs9", "rules")
        assert amount.startswith("3 facts ")
        assert (share, left) == (None, "")


def test_no_bar_where_nobody_watches(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    from corollary.cli import progress

    monkeypatch.setattr(progress, "SECONDS_BEFORE_BAR", 0.0)
    with progress.stage("read", {}) as stage:
        time.sleep(0.05)
        stage.update("reading", 1)
    assert capsys.readouterr().err == ""


def test_rules_that_the_data_suspend_are_named(tmp_path: Path) -> None:
    """All others are applied, and nothing fails."""
    data, rules = tmp_path / "data.ttl", tmp_path / "rules.dlog"
    data.write_text(
        "@prefix : <urn:> . @prefix rdfs: <http://www.w3.org/2000/01/rdf-schema#> ."
        ":a :p :b . :ok rdfs:subPropertyOf :bad . :p rdfs:domain :C ."
    )
    rules.write_text("PREFIX : <urn:>\n@name ok\n:ok[?x, ?y] :- :p[?x, ?y], NOT :bad[?x, ?y] .")
    words: dict[str, list[str | Path]]
    words = {"query": ["-q", "SELECT * { ?x a <urn:C> }", data], "explain": [data, "<urn:a>", "a", "<urn:C>"]}
    for command in ("materialise", "check", "query", "explain"):
        result = succeeds(command, *words.get(command, [data]), "--rules", "rhodf", "--rules", rules)
        (line,) = [line for line in result.stderr.splitlines() if "suspended" in line]
        assert line == (
            "corollary: rule ok is suspended: it negates what depends on its own conclusion: "
            "<urn:bad> -> <urn:ok> -> <urn:bad>; "
            "by <urn:ok> <http://www.w3.org/2000/01/rdf-schema#subPropertyOf> <urn:bad>"
        )
        assert command != "query" or ":a" in result.stdout
    printed = succeeds("rules", data, "--rules", "rhodf", "--rules", rules).stdout
    assert "@name ok" not in printed
    assert "Suspended: ok" in succeeds("explain-plan", data, "--rules", "rhodf", "--rules", rules).stdout


@pytest.mark.parametrize("name", ["data.ttl", "same.ttl"])
def test_a_file_that_is_read_is_not_replaced(tmp_path: Path, name: str) -> None:
    """``--inferred-only`` would lose its facts, and all facts would be explicit in it otherwise."""
    data, change = tmp_path / "data.ttl", tmp_path / "change.ttl"
    data.write_bytes(FAMILY.read_bytes())
    change.write_text("<urn:a> <urn:b> <urn:c> .\n")
    (tmp_path / "same.ttl").symlink_to(data)
    target = tmp_path / name
    assert "one of the files to read" in fails("materialise", data, "-o", target, "--inferred-only")
    assert "one of the files to read" in fails("update", data, "--add", change, "-o", target)
    assert "one of the files to read" in fails("update", data, "--add", change, "-o", change)
    assert data.read_bytes() == FAMILY.read_bytes()
    closed = tmp_path / "closed.snapshot"
    for source in (data, closed):  # a snapshot keeps explicit and inferred facts apart
        succeeds("materialise", source, "-o", closed)
