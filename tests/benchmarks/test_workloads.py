"""Every workload runs at a size that a test can afford, and its made-up data are what they claim."""

from __future__ import annotations

import gzip
import json
import subprocess
import sys
from functools import cache
from pathlib import Path

import numpy as np
import pytest
from benchmarks.engine import ENGINE, REASON
from benchmarks.measure import ENOUGH_SECONDS, Demand, Outcome, Results, Settings, Task, measure
from benchmarks.peers import OWLRL, REASONABLE, owlrl_task, reasonable_tasks
from benchmarks.run import WORKLOADS
from benchmarks.workloads import first_use, hierarchy, lubm, paths, queries, real, soak, store, transitive
from rdflib import Graph

from corollary.store import CorollaryStore

PROJECT = Path(__file__).parents[2]
SMALL = Settings(repeat=1, peers=False, slow=False, small=True)


@cache
def small(name: str) -> Results:
    """The results of a small workload, which runs once for all tests."""
    results: Results = WORKLOADS[name].run(SMALL)
    return results


@pytest.mark.slow
def test_one_command_runs_workloads_and_writes_json(tmp_path: Path) -> None:
    out = tmp_path / "results.json"
    command = [
        sys.executable,
        "benchmarks/run.py",
        "transitive",
        "--small",
        "--repeat",
        "2",
        "--out",
        str(out),
    ]
    done = subprocess.run(command, cwd=PROJECT, capture_output=True, text=True, check=False)
    assert "Demands" in done.stdout, done.stderr
    data = json.loads(out.read_text())
    assert {
        "machine",
        "versions",
        "date",
        "commit",
        "command",
        "measurements",
        "demands",
        "notes",
    } <= data.keys()
    assert all(len(entry["seconds"]) == 2 for entry in data["measurements"])
    report = [sys.executable, "benchmarks/report.py", str(out)]
    shown = subprocess.run(report, cwd=PROJECT, capture_output=True, text=True, check=True).stdout
    assert "| transitive | 100 nodes | corollary | reason |" in shown


@pytest.mark.parametrize(
    "name",
    [
        *("transitive", "hierarchy", "real", "queries"),
        *(
            pytest.param(name, marks=pytest.mark.slow)
            for name in (
                "lists",
                "literals",
                "first-use",
                "store",
                "explain",
                "bulk",
                "folders",
                "literature",
                "dbpedia",
                "serving",
            )
        ),
    ],
)
def test_small_workloads_give_measurements(name: str) -> None:
    results = small(name)
    assert all(m.workload == name and m.least > 0 for m in results.measurements)
    assert results.measurements or results.notes  # real, queries: there is no corpus in these settings


@pytest.mark.parametrize("warms_up", [False, True])
def test_tasks_are_repeated(monkeypatch: pytest.MonkeyPatch, warms_up: bool) -> None:
    runs: list[str] = []

    def task(name: str, warm_up: bool) -> Task:
        def run(name: str) -> Outcome:
            runs.append(name)
            return Outcome(len(runs))

        return Task(ENGINE, REASON, lambda: name, run, warm_up=warm_up)

    monkeypatch.setattr("benchmarks.measure.WARMS_UP", warms_up)
    found = measure("test", [task("cold", False), task("warm", True)], 3)
    assert runs == ["warm"] * warms_up + ["cold", "warm"] * 3
    assert [(len(each.seconds), each.facts) for each in found] == [(3, len(runs) - 1), (3, len(runs))]


def test_universities_are_generated_without_a_corpus() -> None:
    results = lubm.run(SMALL)
    assert {m.size for m in results.measurements} == {"university-1"}
    assert not results.demands


def test_peers_are_fed_the_same_files(tmp_path: Path) -> None:
    pytest.importorskip("reasonable")
    path = tmp_path / "family.nt.gz"
    path.write_bytes(gzip.compress("".join(first_use.tiny_triples()).encode()))
    tasks = [*reasonable_tasks([path], "tiny"), owlrl_task([path], "tiny")]
    loaded, reason, *rest, owlrl = measure("test", tasks, 2)
    assert loaded.facts is None
    assert (reason.engine, owlrl.engine) == (REASONABLE, OWLRL)
    assert {m.facts for m in rest} == {reason.facts}
    assert reason.facts is not None and reason.facts > 100
    assert owlrl.facts is not None and owlrl.facts > 100


def test_demands_of_a_size_follow_from_what_was_measured() -> None:
    seconds = {
        (ENGINE, REASON): 0.1,
        (ENGINE, "build index"): 0.1,
        (REASONABLE, REASON): 5.0,
        (OWLRL, REASON): 50.0,
        ("numpy", "np.sort"): 0.01,
    }
    assert [(round(d.value), d.holds) for d in lubm.demands(1, "one", seconds)] == [(50, True), (500, False)]
    assert [(round(d.value), d.holds) for d in lubm.demands(10, "ten", seconds)] == [
        (50, False),
        (500, False),
        (20, True),
    ]


@pytest.mark.slow
def test_the_store_is_compared_on_equal_triples() -> None:
    measured = {(m.size, m.what, m.engine): m.facts for m in small("store").measurements}
    for size in ("university-1, explicit", "university-1, closed"):
        for what in (store.SCAN, store.LOOK_UP):
            assert measured[size, what, ENGINE] == measured[size, what, store.MEMORY]
    explicit = measured["university-1, explicit", store.SCAN, ENGINE]
    assert explicit == measured["university-1", store.PARSE, store.MEMORY]
    assert (
        measured["university-1, closed", store.SCAN, ENGINE] == measured["university-1", store.PARSE, ENGINE]
    )


@pytest.mark.slow
@pytest.mark.corpus
def test_queries_are_answered_as_published(corpus: Path) -> None:
    results = queries.run(Settings(repeat=1, corpus=corpus, slow=False))
    right, in_time = results.demands
    assert right.value == len(queries.QUERIES)
    assert in_time.bound == queries.MOST_OVER_PYOXIGRAPH
    assert len({m.facts for m in results.measurements if m.what == queries.ALL}) == 1


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::corollary.store.InferredTripleWarning")
def test_a_soak_reports_its_first_and_last_tenth(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(soak, "COMPACTIONS", 0.2)
    made = CorollaryStore(rules="rhodf")
    made.open(str(tmp_path / "store"), create=True)
    Graph(made).parse(data="".join(first_use.tiny_triples()), format="nt")
    lived = soak.live("tiny", made, 0.1)
    made.close()
    assert lived["operations"] == sum(lived["kinds"].values())
    assert lived["kinds"]["compact"] == 2
    assert len(lived["tenths"]) == soak.TENTHS
    results = Results()
    soak.report(lived, results)
    assert [demand.text.split(": ")[1].split(",")[0] for demand in results.demands] == list(soak.UNITS)
    assert "operations in 0.1 minutes" in results.notes[0]


@pytest.mark.parametrize("classes", [15, 100, 1000, 1007])
def test_the_hierarchy_is_15_levels_deep_with_two_parents(classes: int) -> None:
    child, parent = hierarchy.parents(classes)
    assert parent.min() >= 0
    assert parent.max() < classes
    assert (child % hierarchy.LEVELS == parent % hierarchy.LEVELS + 1).all()
    assert np.unique(np.stack((child, parent)), axis=1).shape[1] == child.size
    counts = np.bincount(child, minlength=classes)
    assert counts.max() <= 2
    if classes >= 100:  # only at the edge a class may have one parent
        assert (counts == 2).sum() > 0.8 * classes


def test_the_small_ontology_infers_as_much_as_the_large_one() -> None:
    small = hierarchy.Shape(100, 10, 1000, 100)
    _, found = hierarchy.matched(small, 60_000)
    assert abs(found - 60_000) <= 60_000 / 50


def test_the_tiny_graph_has_a_hundred_triples() -> None:
    assert len(set(first_use.tiny_triples())) == 100


def test_edges_of_the_random_graph_lead_upwards() -> None:
    low, _, high = transitive.generate(50, 200).columns
    assert low.size == 200
    assert (low < high).all()


@pytest.mark.corpus
def test_real_ontologies_are_found(corpus: Path) -> None:
    names = [name for name, paths in real.ontologies(corpus / "real") if all(p.is_file() for p in paths)]
    assert {"ro", "fibo-all", "all vocabularies", "Brick-1.4", "ARC with Brick 1.4"} <= set(names)


def test_tasks_take_turns_and_long_ones_stop(monkeypatch: pytest.MonkeyPatch) -> None:
    now = 0.0
    turns: list[str] = []
    monkeypatch.setattr("benchmarks.measure.perf_counter", lambda: now)

    def task(name: str, lasts: float) -> Task:
        def run(_: object) -> Outcome:
            nonlocal now
            now += lasts
            turns.append(name)
            return Outcome(1)

        return Task(name, "wait", lambda: None, run)

    quick, slow = measure("test", [task("quick", 1.0), task("slow", ENOUGH_SECONDS + 1)], 3)
    assert turns == ["quick", "slow", "quick", "quick"]
    assert quick.seconds == (1.0, 1.0, 1.0)
    assert (slow.median, slow.facts) == (ENOUGH_SECONDS + 1, 1)


def test_a_demand_is_a_bound_from_above_or_below() -> None:
    assert Demand("w", "t", 3, 3).holds
    assert not Demand("w", "t", 4, 3).holds
    assert not Demand("w", "t", 2, 3, at_least=True).holds


def test_changed_lengths_are_followed() -> None:
    """The workload itself compares the distances with those from scratch."""
    results = small("paths")
    assert [m.what for m in results.measurements] == [REASON, paths.CHANGE]
    facts, literals, lengths = paths.generate(100, 1_000)
    assert facts.columns[0].size == 3 * lengths.size + 1
    assert set(lengths.tolist()) <= set(literals[1:].tolist())
