"""rdflib's own test suite, with our store for its default one: what passes with Memory shall pass with ours.

    python tests/rdflib_suite.py [--keep FOLDER] [TEST ...]

rdflib's source distribution of the installed version carries the suite. It runs twice, reasoning switched
off, each time in a process of its own; a small pytest plugin replaces the store and notes the outcomes.
Tests that ask the internet or start containers are left out. Takes two minutes. Exit codes: 0 if all is
well, 1 if a test passes with Memory, fails with ours, and is no known exception, or if the suite does not
run at all, 3 if it could not be had.
"""

from __future__ import annotations

import argparse
import importlib.metadata
import json
import os
import subprocess
import sys
import tarfile
import tempfile
from collections import Counter
from pathlib import Path

KNOWN_EXCEPTIONS = {
    "failed test/test_namespace/test_namespace.py::TestNamespacePrefix::test_reset": (
        "uses a private attribute of Memory"
    ),
    "failed rdflib/graph.py::rdflib.graph": "prints the name of the default store's class",
    "missing test/test_w3c_spec/test_n3_w3c.py::test_manifest": (
        "takes the first of two types, in Memory's order, for a test's kind"
    ),
    "failed test/test_w3c_spec/test_sparql11_w3c.py::test_entry_sparql11["
    "http://www.w3.org/2009/sparql/docs/tests/data-sparql11/aggregates/manifest#agg-empty-group]": (
        "wants a row for GROUP BY over nothing, where there is no group: the W3C has since corrected it "
        "(agg-empty-group-max-1)"
    ),
    "failed test/test_w3c_spec/test_sparql_rdflib.py::test_entry_rdflib["
    "http://raw.github.com/RDFLib/rdflib/main/test/data/suites/rdflib/sparql/manifest.ttl#filteroptional]": (
        "wants a solution dropped for which the FILTER in OPTIONAL fails: SPARQL's LeftJoin keeps it"
    ),
    "failed test/test_issues/test_issue1160.py::test_named_graph_with_fragment": (
        "wants to see one of rdflib's classes read what FROM NAMED names: the store reads it itself"
    ),
    "failed test/test_sparql/test_sparql.py::test_operator_exception[": (
        "replaces a function of rdflib's evaluator, which the store does not call"
    ),
    "failed test/test_having.py::test_group_by": (
        "asks for ?pWHERE (a space is missing), which is neither grouped nor aggregated: SPARQL forbids it"
    ),
    "failed test/test_issues/test_issue1873.py::test_sparql_error_explicit_bind": (
        "binds a variable that is bound already, which SPARQL forbids"
    ),
    "xfailed test/test_parsers/test_swap_n3.py::test_cases": "numbers its tests in the order of a set",
    **dict.fromkeys(
        (
            f"failed test/test_graph/test_graph.py::test_graph_{name}[None]"
            for name in ("add", "sub", "intersection")
        ),
        "opens one folder with two stores at once, which a store that keeps something there refuses",
    ),
}
"""Outcomes and beginnings of test names, and why they differ from Memory's."""

LEAST_PASSED = 5_000
"""Tests of the whole suite that pass with any store. With fewer, it has not run."""

UNAVAILABLE = 3
"""The exit code if rdflib's source distribution cannot be had."""

NAMED_AFTER_STORE = "[corollary"
"""Tests of every registered store run once for each class: ours, tested as the default one too, may go by any
of its names then."""

PLUGIN = """
import json, os, re
from rdflib import plugin
from rdflib.store import Store

if os.environ["SUITE_STORE"] != "Memory":
    for name in ("default", "Memory"):
        plugin.register(name, Store, "corollary.store", "CorollaryStore")

outcomes = {}

def name(report):  # blank nodes have new names in every run
    return re.sub("N[0-9a-f]{32}", "N...", report.nodeid)

def pytest_runtest_logreport(report):
    if report.when == "call" or report.outcome != "passed":
        kind = "xfailed" if hasattr(report, "wasxfail") else report.outcome
        outcomes[name(report)] = kind, report.longreprtext[-1500:] if kind == "failed" else ""

def pytest_collectreport(report):
    if report.failed:
        outcomes[report.nodeid] = "failed", report.longreprtext[-1500:]

def pytest_sessionfinish():
    with open(os.environ["SUITE_OUTCOMES"], "w") as file:
        json.dump(outcomes, file)
"""

Outcomes = dict[str, tuple[str, str]]
"""What became of every test: passed, failed, skipped or xfailed, and the end of its message."""


def obtain(folder: Path) -> Path:
    """The unpacked source distribution of the installed rdflib."""
    version = importlib.metadata.version("rdflib")
    source = folder / f"rdflib-{version}"
    if not source.is_dir():
        command = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--no-binary", "rdflib"]
        download = [*command, "--dest", str(folder), f"rdflib=={version}"]
        if subprocess.run(download, check=False).returncode:
            print(
                f"pip could not download the source distribution of rdflib {version} (see above): nothing "
                f"was tested. Unpack it as {source}, and give --keep {folder}.",
                file=sys.stderr,
            )
            sys.exit(UNAVAILABLE)
        with tarfile.open(folder / f"rdflib-{version}.tar.gz") as archive:
            archive.extractall(folder, filter="data")
    return source


def run(source: Path, store: str, tests: list[str]) -> Outcomes:
    """The suite's outcomes with a store as the default one."""
    plugin_folder = source.parent / "plugin"
    plugin_folder.mkdir(exist_ok=True)
    (plugin_folder / "suite_store.py").write_text(PLUGIN)
    outcomes = source.parent / f"outcomes-{store}.json"
    outcomes.unlink(missing_ok=True)
    environment = {
        **os.environ,
        "COROLLARY_EXTERNAL": "all",  # some tests are about LOAD and SERVICE
        "COROLLARY_RULES": "none",
        "PYTHONHASHSEED": "0",
        "SUITE_STORE": store,
        "SUITE_OUTCOMES": str(outcomes),
        "PYTHONPATH": os.pathsep.join((str(source), str(plugin_folder))),
    }
    command = [
        sys.executable,
        "-m",
        "pytest",
        "-p",
        "suite_store",
        "-p",
        "no:cacheprovider",
        "-q",
        "-W",
        "ignore",
        "--continue-on-collection-errors",  # some modules need packages that are not here
    ]
    places = tests or ["test", "rdflib"]
    chosen = ["-m", "not webtest and not testcontainer", "--tb=short", *places]
    log = source.parent / f"log-{store}.txt"
    with log.open("w") as file:
        subprocess.run(
            [*command, *chosen], cwd=source, env=environment, stdout=file, stderr=file, check=False
        )
    if not outcomes.exists():
        sys.exit(f"the suite did not run with {store}:\n{log.read_text()[-3000:]}")
    found: Outcomes = json.loads(outcomes.read_text())
    passed = sum(kind == "passed" for kind, _ in found.values())
    print(f"{store}: {passed:,} of {len(found):,} tests pass", flush=True)
    if not tests and passed < LEAST_PASSED:
        sys.exit(f"{LEAST_PASSED:,} tests were expected to pass:\n{log.read_text()[-3000:]}")
    return found


def compare(memory: Outcomes, ours: Outcomes) -> bool:
    """Print what fails with our store only; whether all of it is known."""
    unexpected = 0
    known: Counter[str] = Counter()
    for test in {**memory, **ours}:
        outcome, message = ours.get(test, ("missing", ""))
        counts = memory[test][0] == "passed" if test in memory else outcome == "failed"
        if not counts or outcome in ("passed", "skipped") or NAMED_AFTER_STORE in test.lower():
            continue
        reason = next(
            (why for name, why in KNOWN_EXCEPTIONS.items() if f"{outcome} {test}".startswith(name)), None
        )
        if reason is None:
            unexpected += 1
            print(f"\n{outcome.upper()} {test}\n{message}")
        else:
            known[f"{test.partition('[')[0]} {reason}"] += 1
    for text, count in known.items():
        print(f"known ({count}): {text}")
    print(f"{unexpected} tests pass with Memory and not with ours")
    return unexpected == 0


def main() -> int:
    """The script."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--keep", metavar="FOLDER", type=Path, help="work in this folder, and leave it there")
    parser.add_argument("tests", nargs="*", help="paths inside the suite (default: test and rdflib)")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as temporary:
        folder = arguments.keep or Path(temporary)
        folder.mkdir(parents=True, exist_ok=True)
        source = obtain(folder.resolve())
        stores = (run(source, store, arguments.tests) for store in ("Memory", "Corollary"))
        return 0 if compare(*stores) else 1


if __name__ == "__main__":
    sys.exit(main())
