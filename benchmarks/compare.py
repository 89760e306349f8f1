"""Compare two runs: ``python benchmarks/compare.py OLD.json NEW.json [--band 0.15]``.

A measurement has changed if its median moved out of the noise band *and* all new times are on the same side
of the old median: even the least is slower, or even the most is faster. The exit code is 1 if Corollary has
become slower anywhere, or a demand that held fails now. Changes of peers are only shown.
"""

from __future__ import annotations

import json
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import click
from rich.console import Console
from rich.table import Table

ENGINE = "corollary"
STYLES = {"slower": "red bold", "faster": "green", "same": "dim"}


@dataclass(frozen=True, slots=True)
class Change:
    """One measurement in both runs."""

    key: tuple[str, str, str, str]
    old: float
    new: float
    verdict: str

    @property
    def ratio(self) -> float:
        return self.new / self.old


def changes(old: dict[str, Any], new: dict[str, Any], band: float) -> list[Change]:
    """The measurements that are in both runs, in the order of the new run."""
    before = {_key(entry): entry for entry in old["measurements"]}
    return [
        Change(key, before[key]["median"], entry["median"], verdict(before[key], entry, band))
        for entry in new["measurements"]
        if (key := _key(entry)) in before
    ]


def verdict(old: dict[str, Any], new: dict[str, Any], band: float) -> str:
    """ "slower", "faster" or "same"."""
    if new["median"] > old["median"] * (1 + band) and new["least"] > old["median"]:
        return "slower"
    if old["median"] > new["median"] * (1 + band) and new["most"] < old["median"]:
        return "faster"
    return "same"


def broken(old: dict[str, Any], new: dict[str, Any]) -> list[dict[str, Any]]:
    """Demands that held in the old run and fail in the new one, matched by workload and text."""
    held = {_demand_key(entry) for entry in old["demands"] if entry["holds"]}
    return [entry for entry in new["demands"] if not entry["holds"] and _demand_key(entry) in held]


def _key(entry: dict[str, Any]) -> tuple[str, str, str, str]:
    return entry["workload"], entry["size"], entry["engine"], entry["what"]


def _demand_key(entry: dict[str, Any]) -> tuple[str, str]:
    return entry["workload"], entry["text"]


@click.command()
@click.argument("old", type=click.Path(exists=True, dir_okay=False, path_type=Path))
@click.argument("new", type=click.Path(exists=True, dir_okay=False, path_type=Path))
@click.option("--band", default=0.15, show_default=True, help="Changes up to this part are noise.")
def main(old: Path, new: Path, band: float) -> None:
    """Show how the times of NEW differ from those of OLD, both written by run.py."""
    before, after = json.loads(old.read_text()), json.loads(new.read_text())
    console = Console(width=None if sys.stdout.isatty() else 120)
    for name, run in (("old", before), ("new", after)):
        machine = run["machine"]
        about = (
            f"{name}: {run['date']}, commit {run['commit']}, {machine['processor']}, {machine['cores']} cores"
        )
        console.print(about, highlight=False)
    found = changes(before, after, band)
    table = Table()
    for column in ("workload", "size", "engine", "what"):
        table.add_column(column)
    for column in ("old s", "new s", "new/old"):
        table.add_column(column, justify="right")
    table.add_column("")
    for change in found:
        cells = (f"{change.old:.4f}", f"{change.new:.4f}", f"{change.ratio:.2f}", change.verdict)
        table.add_row(*change.key, *cells, style=STYLES[change.verdict])
    console.print(table)
    failing = broken(before, after)
    for demand in failing:
        console.print(f"fails now: {demand['workload']}: {demand['text']}", style="red bold", highlight=False)
    slower = any(change.verdict == "slower" and change.key[2] == ENGINE for change in found)
    sys.exit(slower or bool(failing))


if __name__ == "__main__":
    main()
