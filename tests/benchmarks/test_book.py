"""The papers' book: every table and figure has an entry, peers agree, and the page is that of its JSON."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from benchmarks.analysis import CSDA, CSPA, of_corpus
from benchmarks.book import engines, problems
from benchmarks.book.engines import (
    CLINGO,
    DUCKDB,
    NAIVE,
    TEXTBOOK,
    UNINDEXED,
    Problem,
    compare,
    write_souffle,
)
from benchmarks.book.entry import Entry, Scope, chosen, name_of
from benchmarks.book.page import lines
from benchmarks.book.plots import write_plot
from benchmarks.book.textbook import OutOfTime, Rows, evaluate, rules_of
from benchmarks.engine import ENGINE
from benchmarks.measure import Settings
from benchmarks.papers import PAPERS, lacking, run

PROJECT = Path(__file__).parents[2]
SMALL = Scope(Settings(repeat=1, small=True))

PLACES = {
    "001": (*(f"Figure {n}" for n in range(1, 5)), "Table 1"),
    "002": (*(f"Figure {n}" for n in range(1, 7)), "Table 1"),
    "003": (*(f"Figure {n}" for n in range(1, 13)), "Table 1", "Table 2", "Table 3"),
    "004": ("Table 1", "Table 2"),
}
"""All tables and figures of the papers. The table of 001 has no number there."""


def entry(name: str, scope: Scope = SMALL) -> Entry:
    ((paper, place),) = chosen(PAPERS, [name])
    return paper.entries[place](scope)


def test_every_table_and_figure_has_an_entry() -> None:
    for paper in PAPERS:
        assert set(PLACES[paper.key]) <= paper.entries.keys()
    names = [name_of(paper, place) for paper, place in chosen(PAPERS, ())]
    assert len(names) == len(set(names))


@pytest.mark.parametrize(
    "name",
    [
        *("001/figure-1", "002/table-1", "003/figure-6", "003/figure-12", "003/figure-3"),
        *(
            pytest.param(name, marks=pytest.mark.slow)
            for name in ("001/table-1", "002/stream", "003/figure-10", "003/table-2", "004/table-1")
        ),
    ],
)
def test_entries_fill_their_columns(name: str) -> None:
    found = entry(name)
    assert found.title
    assert found.ours or found.reason
    assert all(len(row) == len(found.columns) for row in found.rows)
    json.dumps(found.as_json())


@pytest.mark.slow
@pytest.mark.corpus
def test_modules_are_those_of_the_paper(corpus: Path) -> None:
    """S, nonrecursive and recursive rules, TC and STC of each benchmark beside the paper's."""
    found = entry("004/table-1", Scope(Settings(repeat=1, corpus=corpus, small=True)))
    rows = {row[0]: row for row in found.rows}
    for name in ("Claros-LE", "DBpedia-SKOS"):
        ours, theirs = rows[name][3:8], rows[f"{name}, paper"][3:8]
        assert ours[0] == theirs[0] and ours[2:] == theirs[2:], name
        assert ours[1] == pytest.approx(theirs[1], abs=2)


EDGES = {"above": np.array([(1, 2), (2, 3), (3, 1), (4, 5)])}
CLOSED = {(a, b) for a in (1, 2, 3) for b in (1, 2, 3)} | {(4, 5)}


@pytest.mark.parametrize(("semi_naive", "indexed"), [(True, True), (False, True), (True, False)])
def test_the_textbook_closes_a_graph(semi_naive: bool, indexed: bool) -> None:
    rows: dict[str, Rows] = {"above": {(int(a), int(b)) for a, b in EDGES["above"]}}
    found = evaluate(rules_of(problems.LINEAR), rows, semi_naive=semi_naive, indexed=indexed)
    assert found["path"] == CLOSED


def test_the_textbook_reads_constants_and_repeated_variables() -> None:
    program = rules_of("loop(X,X) :- t(X,7,X)\nsame(A,9) :- loop(A,B),t(B,7,A)")
    found = evaluate(program, {"t": {(1, 7, 1), (2, 8, 2), (3, 7, 4)}})
    assert found["loop"] == {(1, 1)}
    assert found["same"] == {(1, 9)}


def test_the_textbook_gives_up() -> None:
    rows: dict[str, Rows] = {"above": {(number, number + 1) for number in range(50)}}
    with pytest.raises(OutOfTime):
        evaluate(rules_of(problems.LINEAR), rows, seconds=-1)


@pytest.mark.corpus
@pytest.mark.parametrize(("name", "text"), [("cspa1k", CSPA), ("csda10k", CSDA)])
def test_the_textbook_finds_the_published_counts(name: str, text: str, corpus: Path) -> None:
    counts = json.loads((corpus / "program-analysis" / "COUNTS.json").read_text())[name]
    rows = {key: set(map(tuple, table.tolist())) for key, table in of_corpus(corpus, name).items()}
    found = evaluate(rules_of(text), rows)
    assert {key[0].upper() + key[1:]: len(rows) for key, rows in found.items()} == counts


def closure() -> Problem:
    return problems.analysis("csda", {"nullEdge": EDGES["above"], "arc": EDGES["above"]})


def test_engines_agree() -> None:
    problem = closure()
    peers = [ENGINE, TEXTBOOK, NAIVE, UNINDEXED, CLINGO, DUCKDB]
    found = compare(problem, peers, 1)
    assert {ENGINE, TEXTBOOK, NAIVE, UNINDEXED} <= found.keys()
    assert {m.facts for m in found.values()} == {len(CLOSED)}


def test_engines_that_differ_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Problem, "answers", lambda *_: 17)
    with pytest.raises(AssertionError, match="engines differ"):
        compare(closure(), [ENGINE, TEXTBOOK], 1)


def test_an_evaluation_that_is_given_up_has_no_time(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(engines, "PATIENCE_SECONDS", -1.0)
    found = compare(closure(), [TEXTBOOK], 1)
    assert engines.seconds(found[TEXTBOOK]) is None
    assert engines.seconds(None) is None


def test_files_for_souffle(tmp_path: Path) -> None:
    write_souffle(closure(), tmp_path)
    program = (tmp_path / "program.dl").read_text()
    assert ".decl nullEdge(c0: number, c1: number)\n.input nullEdge\n" in program
    assert "null(X,Z) :- null(X,Y),arc(Y,Z) .\n" in program
    assert ".printsize null\n" in program
    assert (tmp_path / "arc.facts").read_text().splitlines() == ["1\t2", "2\t3", "3\t1", "4\t5"]


def test_plots_are_the_same_bytes_each_time(tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    plots = [plot for name in ("003/figure-6", "003/figure-11") for plot in entry(name).as_json()["plots"]]
    texts = []
    for _ in range(2):
        for plot in plots:
            write_plot(plot, tmp_path)
        texts.append({path.name: path.read_text() for path in sorted(tmp_path.glob("*.svg"))})
    assert texts[0] == texts[1]
    assert len(texts[0]) == 2 * len(plots)
    assert not any("dc:date" in text for text in texts[0].values())


def test_the_page_is_that_of_its_results() -> None:
    results = json.loads((PROJECT / "docs" / "papers.json").read_text())
    page = (PROJECT / "docs" / "papers.md").read_text()
    assert page == "\n".join(lines(results, PAPERS)) + "\n"
    for paper in PAPERS:
        for place in PLACES[paper.key]:
            assert re.search(rf"^\| \[?{place}\b.*\|$", page, re.MULTILINE), (paper.key, place)
    assert "not measured yet" not in page
    for picture in re.findall(r'(?:src|srcset)="([^"]+)"', page):
        assert (PROJECT / "docs" / picture).is_file()


def test_what_is_missing_is_measured_next(tmp_path: Path) -> None:
    wanted = [(paper, place) for paper in PAPERS for place in PLACES[paper.key]][:3]
    names = [name_of(paper, place) for paper, place in wanted]
    kept = {
        names[0]: {"measured": {"small": False, "full": False}},
        names[1]: {"measured": {"small": True, "full": False}},
    }
    assert lacking(wanted, kept, small=False, full=False) == wanted[1:]
    out = tmp_path / "results.json"
    run(wanted, Scope(Settings(1, None, small=True), full=False), out, most_seconds=-1)
    assert not out.exists(), "no time, no entry"


@pytest.mark.slow
def test_one_command_measures_and_writes_json(tmp_path: Path) -> None:
    out = tmp_path / "results.json"
    command = [sys.executable, "benchmarks/papers.py", "--small", "--repeat", "1", "--out", str(out)]
    for only in ("003/figure-6", "003/figure-11"):
        subprocess.run([*command, "--only", only], cwd=PROJECT, capture_output=True, check=True)
    results = json.loads(out.read_text())
    assert results.keys() == {"003/figure-6", "003/figure-11"}
    assert results["003/figure-6"]["measured"]["small"]
    wrong = subprocess.run(
        [*command, "--only", "005"], cwd=PROJECT, capture_output=True, text=True, check=False
    )
    assert wrong.returncode == 2
    assert "--list shows them" in wrong.stderr
