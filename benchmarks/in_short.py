"""The plots of ``docs/benchmarks-in-short.md``, from the tables of ``docs/benchmarks.md``.

``python benchmarks/in_short.py`` writes them to ``docs/figures``. Precondition: matplotlib is installed.
"""

from __future__ import annotations

import re
import sys
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from benchmarks.book.plots import write_plot

DOCS = Path(__file__).resolve().parents[1] / "docs"
ROW = re.compile(
    r"^\| ([^|]*) \| ([^|]*) \| ([^|]*) \| ([^|]*) \| ([\d.]+) \| [\d.]+ \| [\d.]+ \|", re.MULTILINE
)

Medians = dict[tuple[str, str, str, str], float]
"""Seconds by workload, size, engine and task."""


def medians(page: Path = DOCS / "benchmarks.md") -> Medians:
    """All rows of the tables of measurements. Of rows with one key, the last."""
    return {
        (workload, size, engine, what): float(median)
        for workload, size, engine, what, median in ROW.findall(page.read_text())
    }


def plots(found: Medians) -> list[dict[str, Any]]:
    """The plots, in the order of the page. Raises KeyError where the tables lack a row."""
    return [_reasoning(found), _changes(found), _queries(found), _loading(found)]


def _bars(
    name: str, title: str, xs: list[str], series: dict[str, list[float | None]], log: bool = False
) -> dict[str, Any]:
    lines = [{"label": label, "xs": xs, "ys": ys} for label, ys in series.items()]
    unit = "seconds, logarithmic" if log else "seconds"
    axes = {"kind": "bars", "x": "", "y": unit, "log_x": False, "log_y": log}
    return {"name": name, "title": title, "series": lines, **axes}


def _reasoning(found: Medians) -> dict[str, Any]:
    sizes = ("lubm-1", "lubm-10")
    engine = [
        found["lubm", size, "reasonable", "reason, no terms"]
        - found["lubm", size, "reasonable", "hand out, no terms"]
        for size in sizes
    ]
    series: dict[str, list[float | None]] = {
        "Corollary": [found["lubm", size, "corollary", "reason"] for size in sizes],
        "reasonable, its engine": [*engine],
        "reasonable, as called": [found["lubm", size, "reasonable", "reason"] for size in sizes],
        "owlrl": [found["lubm", "lubm-1", "owlrl", "reason"], None],
    }
    return _bars("short-reasoning", "Closing LUBM under OWL 2 RL", ["LUBM-1", "LUBM-10"], series, log=True)


def _changes(found: Medians) -> dict[str, Any]:
    whats = [f"{verb} {share} %" for share in (1, 5, 10, 50) for verb in ("remove", "add back")]
    series: dict[str, list[float | None]] = {
        "followed": [found["maintenance", "lubm-10", "corollary", what] for what in whats],
        "starting over": [
            found["maintenance", "lubm-10", "corollary, starting over", what] for what in whats
        ],
    }
    xs = [what.replace("remove ", "-").replace("add back ", "+") for what in whats]
    return _bars("short-changes", "Parts of LUBM-10 that go and come back", xs, series)


def _queries(found: Medians) -> dict[str, Any]:
    engines = {
        "Corollary": ("corollary", "all 14 queries"),
        "pyoxigraph": ("pyoxigraph", "all 14 queries"),
        "rdflib (11 of them)": ("rdflib Memory", "queries other than 2, 8, 9"),
    }
    ys: list[float | None] = [found["queries", "lubm-1", *key] for key in engines.values()]
    return _bars(
        "short-queries", "The 14 queries of LUBM, on LUBM-1", list(engines), {"seconds": ys}, log=True
    )


def _loading(found: Medians) -> dict[str, Any]:
    sizes = {"LUBM-10 (1.27 million)": "lubm-10", "encyclopaedia (1.01 million)": "encyclopaedia, 10 volumes"}
    series: dict[str, list[float | None]] = {
        label: [found["bulk", size, engine, "load"] for size in sizes.values()]
        for label, engine in (("Corollary", "corollary"), ("pyoxigraph", "pyoxigraph"))
    }
    return _bars("short-loading", "Loading N-Triples", list(sizes), series)


if __name__ == "__main__":
    for plot in plots(medians()):
        write_plot(plot, DOCS / "figures")
