"""``corollary update``: a change of files is followed, reported, written; and what can be wrong with it."""

import gzip
import json
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.cli.test_commands import CLASH, FAMILY, NAMESPACE, fails, succeeds
from tests.strategies import examples

from corollary.cli.updating import StrategyName
from corollary.maintain import AUTOMATIC, STRATEGIES

PREFIXES = {
    "rdf": "http://www.w3.org/1999/02/22-rdf-syntax-ns#",
    "rdfs": "http://www.w3.org/2000/01/rdf-schema#",
    "owl": "http://www.w3.org/2002/07/owl#",
}
ANN_BOB = f"<{NAMESPACE}ann> <{NAMESPACE}parent> <{NAMESPACE}bob> ."
BOB_CID = f"<{NAMESPACE}bob> <{NAMESPACE}parent> <{NAMESPACE}cid> ."


@pytest.fixture
def removal(tmp_path: Path) -> Path:
    return saved(tmp_path / "remove.nt", ANN_BOB)


def saved(path: Path, *lines: str) -> Path:
    path.write_text("".join(f"{line}\n" for line in lines))
    return path


def reported(*arguments: str | Path) -> dict[str, Any]:
    data: dict[str, Any] = json.loads(succeeds("update", *arguments, "--report", "json").stdout)
    return data


# Whatever changes, and by whatever strategy: the result is that of the changed files

individuals = st.sampled_from(["a", "b", "c"]).map("<http://example.org/{}>".format)
properties = st.sampled_from(["p", "q"]).map("<http://example.org/{}>".format)
classes = st.sampled_from(["A", "B"]).map("<http://example.org/{}>".format)


def term(name: str) -> st.SearchStrategy[str]:
    prefix, _, local = name.partition(":")
    return st.just(f"<{PREFIXES[prefix]}{local}>")


lines = st.one_of(
    st.tuples(individuals, properties, individuals),
    st.tuples(individuals, term("rdf:type"), classes),
    st.tuples(classes, term("rdfs:subClassOf"), classes),
    st.tuples(properties, term("rdfs:subPropertyOf"), properties),
    st.tuples(properties, term("rdfs:domain"), classes),
    st.tuples(properties, term("owl:inverseOf"), properties),
    st.tuples(properties, term("rdf:type"), term("owl:TransitiveProperty")),
    st.tuples(individuals, term("owl:sameAs"), individuals),
).map(lambda triple: f"{' '.join(triple)} .")
files = st.sets(lines, max_size=12)


@pytest.mark.parametrize("strategy", StrategyName.names())
@settings(max_examples=examples(25), deadline=None)
@given(files, files, files)
def test_it_is_materialising_the_changed_files(
    strategy: str, data: set[str], remove: set[str], add: set[str]
) -> None:
    with TemporaryDirectory() as name:
        folder = Path(name)
        sources = [
            saved(folder / f"{what}.nt", *sorted(facts))
            for what, facts in {"data": data, "remove": remove, "add": add}.items()
        ]
        changed = saved(folder / "changed.nt", *sorted((data - remove) | add))
        options = ("--remove", sources[1], "--add", sources[2], "--strategy", strategy)
        succeeds("update", sources[0], *options, "-o", folder / "updated.nt")
        succeeds("materialise", changed, "-o", folder / "closed.nt")
        updated, closed = ((folder / f"{name}.nt").read_text().splitlines() for name in ("updated", "closed"))
        assert sorted(updated) == sorted(closed)


def test_strategies_are_the_engine_s() -> None:
    names = StrategyName.names()
    assert list(names.values()) == [AUTOMATIC, *STRATEGIES]
    assert {"automatic", "backward-forward", "dred", "counting", "starting-over"} <= names.keys()
    assert f"[{'|'.join(names)}]" in succeeds("update", "--help").stdout
    said = fails("update", FAMILY, "--strategy", "magic")
    assert f"'magic' is not one of {', '.join(names)}" in said


def test_rules_with_negation_are_followed_too(tmp_path: Path, removal: Path) -> None:
    rules = saved(
        tmp_path / "root.dlog",
        f"<{NAMESPACE}Root>[?x] :- [?x, <{NAMESPACE}parent>, ?y],"
        f" NOT EXISTS ?z IN ([?z, <{NAMESPACE}parent>, ?x]) .",
    )
    options = ("-r", rules, "-o", tmp_path / "out.nt", "--inferred-only")
    succeeds("update", FAMILY, "--remove", removal, *options)
    assert [line.split()[0] for line in (tmp_path / "out.nt").read_text().splitlines()] == [
        f"<{NAMESPACE}bob>"
    ]


# What it tells


def test_counts_as_json(tmp_path: Path, removal: Path) -> None:
    addition = saved(tmp_path / "add.nt", BOB_CID, CLASH.replace(" a ", f" <{PREFIXES['rdf']}type> "))
    data = reported(FAMILY, "--remove", removal, "--add", addition)
    assert data["explicit"] == {"before": 6, "gone": 1, "new": 1, "after": 6}
    assert data["total"]["before"] - data["total"]["gone"] + data["total"]["new"] == data["total"]["after"]
    for part in ("explicit", "inferred", "total"):
        assert list(data[part]) == ["before", "gone", "new", "after"]
    assert data["inconsistencies"] == {"before": 0, "after": 0}
    assert data["not_there"] == 0
    assert list(data["seconds"]) == ["prepare", "load", "materialise", "maintain"]
    assert data["maintenance"]["removed"] == data["maintenance"]["added"] == 1


def test_inconsistencies_before_and_after(tmp_path: Path) -> None:
    clash = saved(tmp_path / "clash.ttl", CLASH)
    assert reported(FAMILY, "--add", clash)["inconsistencies"] == {"before": 0, "after": 1}
    assert reported(FAMILY, clash, "--remove", clash)["inconsistencies"] == {"before": 1, "after": 0}


def test_an_explicit_fact_that_still_follows_becomes_an_inferred_one(tmp_path: Path) -> None:
    subproperty = f"<{NAMESPACE}ann> <{NAMESPACE}ancestor> <{NAMESPACE}bob> ."
    both = saved(tmp_path / "both.nt", subproperty)
    data = reported(FAMILY, both, "--remove", both)
    assert data["explicit"]["gone"] == data["inferred"]["new"] == 1
    assert data["total"]["gone"] == data["total"]["new"] == 0


def test_what_is_removed_and_added_is_there(removal: Path) -> None:
    data = reported(FAMILY, "--remove", removal, "--add", removal)
    assert data["explicit"]["gone"] == data["total"]["gone"] == 0


def test_options_may_be_repeated(tmp_path: Path, removal: Path) -> None:
    other = saved(tmp_path / "other.nt", BOB_CID)
    data = reported(FAMILY, "--remove", removal, "--remove", other)
    assert data["explicit"]["gone"] == 2
    assert reported(FAMILY, "--add", removal, "--add", other)["explicit"]["new"] == 0


def test_summary_and_times_go_to_standard_error(removal: Path) -> None:
    result = succeeds("update", FAMILY, "--remove", removal)
    assert result.stdout == ""
    headings = ("before", "removed", "explicit", "inconsistencies")
    for word in (*headings, "load", "materialise", "maintain", "data"):
        assert word in result.stderr
    assert "not in DATA" not in result.stderr


def test_the_report_as_text(removal: Path) -> None:
    result = succeeds("update", FAMILY, "--remove", removal, "--report", "text")
    first, second, *_ = result.stdout.splitlines()
    assert first.startswith("backward/forward: 1 explicit fact removed, 0 added")
    assert second.split() == [
        "stage",
        "module",
        "candidates",
        "proved",
        "deleted",
        "rederived",
        "inserted",
        "ms",
    ]
    assert "total" in result.stderr


def test_a_forced_strategy_is_in_the_report(removal: Path) -> None:
    result = succeeds("update", FAMILY, "--remove", removal, "--report", "text", "--strategy", "dred")
    assert result.stdout.startswith("dred:")
    options = ("--remove", removal, "--strategy", "starting-over")
    assert "starting over" in succeeds("update", FAMILY, *options).stderr


# What it writes


def test_a_compressed_file(tmp_path: Path, removal: Path) -> None:
    zipped = tmp_path / "remove.nt.gz"
    zipped.write_bytes(gzip.compress(removal.read_bytes()))
    succeeds("update", FAMILY, "--remove", zipped, "-o", tmp_path / "out.nt.gz")
    lines = gzip.decompress((tmp_path / "out.nt.gz").read_bytes()).decode().splitlines()
    assert BOB_CID in lines
    assert f"<{NAMESPACE}bob> <{NAMESPACE}ancestor> <{NAMESPACE}cid> ." in lines
    assert not any(line.startswith(f"<{NAMESPACE}ann>") for line in lines)


def test_facts_on_standard_output_leave_the_rest_to_standard_error(removal: Path) -> None:
    result = succeeds("update", FAMILY, "--remove", removal, "-o", "-", "--inferred-only", "--report", "json")
    assert BOB_CID not in result.stdout
    assert f"<{NAMESPACE}ancestor> <{NAMESPACE}cid> ." in result.stdout
    assert json.loads(result.stderr)["explicit"]["gone"] == 1


def test_a_change_on_standard_input(tmp_path: Path) -> None:
    options = ("--remove", "-", "-o", tmp_path / "out.nt")
    succeeds("update", FAMILY, *options, input=f"{ANN_BOB}\n")
    assert ANN_BOB not in (tmp_path / "out.nt").read_text()


# Facts to remove that are not there


def test_a_fact_that_is_not_there_is_a_warning(tmp_path: Path) -> None:
    unknown = saved(tmp_path / "unknown.nt", "<http://example.org/a> <http://example.org/b> _:c .", BOB_CID)
    result = succeeds("update", FAMILY, "--remove", unknown)
    assert "1 fact to remove is not in DATA: <http://example.org/a> <http://example.org/b>" in result.stderr
    assert "1 of 1 with a blank node" in result.stderr
    assert "inferred: remove" not in result.stderr
    assert reported(FAMILY, "--remove", unknown)["not_there"] == 1


def test_an_inferred_fact_cannot_be_removed(tmp_path: Path) -> None:
    inferred = saved(
        tmp_path / "inferred.nt",
        f"<{NAMESPACE}ann> <{NAMESPACE}ancestor> <{NAMESPACE}cid> .",
        "<http://example.org/a> <http://example.org/b> <http://example.org/c> .",
    )
    result = succeeds("update", FAMILY, "--remove", inferred, "-o", tmp_path / "out.nt")
    assert "2 facts to remove are not in DATA, such as" in result.stderr
    assert "1 of 2 inferred: remove what it follows from" in result.stderr
    assert f"<{NAMESPACE}ann> <{NAMESPACE}ancestor> <{NAMESPACE}cid> ." in (tmp_path / "out.nt").read_text()


# Mistakes


@pytest.mark.parametrize("option", ["--remove", "--add"])
def test_a_bad_file_leaves_no_output(tmp_path: Path, option: str) -> None:
    bad = saved(tmp_path / "bad.nt", ANN_BOB, "<http://a> <http://b> <http://c")
    message = fails("update", FAMILY, option, bad, "-o", tmp_path / "out.nt")
    assert message.startswith(f"corollary: {bad}:2:")
    assert not (tmp_path / "out.nt").exists()


@pytest.mark.parametrize("option", ["--remove", "--add"])
def test_a_missing_file_is_noticed_before_others_are_read(tmp_path: Path, option: str) -> None:
    bad, missing = saved(tmp_path / "bad.nt", "no triple"), tmp_path / "none.nt"
    message = fails("update", bad, option, missing, "-o", tmp_path / "out.nt")
    assert message == f"corollary: {missing}: No such file or directory\n"


def test_a_file_without_a_known_suffix(tmp_path: Path) -> None:
    strange = saved(tmp_path / "changes.txt", ANN_BOB)
    assert "is no suffix of an RDF format" in fails("update", FAMILY, "--add", strange)
    assert reported(FAMILY, "--add", strange, "--input-format", "nt")["explicit"]["new"] == 0


def test_no_change_at_all() -> None:
    assert "name files with --remove or --add" in fails("update", FAMILY)


def test_standard_input_is_read_once() -> None:
    assert "can be read once" in fails("update", FAMILY, "--remove", "-", "--add", "-")
    assert "can be read once" in fails("update", "-", "--add", "-")


def test_output_is_looked_at_first(tmp_path: Path) -> None:
    options = ("--add", tmp_path / "none.nt")
    assert "make the folder" in fails("update", FAMILY, *options, "-o", tmp_path / "none" / "out.nt")
    assert "'.csv' is no suffix" in fails("update", FAMILY, *options, "-o", tmp_path / "out.csv")
    assert "name a file with -o" in fails("update", FAMILY, *options, "--inferred-only")


@pytest.mark.parametrize("option", [["--strategy", "guessing"], ["--report", "xml"], ["--rules", "owl2lr"]])
def test_unknown_choices(removal: Path, option: list[str]) -> None:
    assert option[1] in fails("update", FAMILY, "--remove", removal, *option)


def test_help_teaches() -> None:
    text = succeeds("update", "--help").stdout
    assert "Examples:" in text
    assert "corollary update data.ttl --remove old.ttl --report text" in text
    for strategy in ("automatic", "backward-forward", "dred", "counting", "starting-over"):
        assert f"\n    {strategy} " in text
