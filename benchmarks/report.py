"""Results as tables: on the terminal, or as Markdown for the docs.

``python benchmarks/report.py results.json`` prints the Markdown of a JSON file.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from benchmarks.measure import Demand, Measurement, Results


def print_results(console: Console, results: Results) -> None:
    """Print all measurements, then every demand with the reached value, then the notes."""
    if results.measurements:
        console.print(measurement_table(results.measurements))
    if results.demands:
        console.print(demand_table(results.demands))
    for note in results.notes:
        console.print(f"Note. {note}", highlight=False, markup=False)


def measurement_table(measurements: list[Measurement]) -> Table:
    """One row per measurement."""
    table = Table(title="Seconds", title_justify="left")
    for name in ("workload", "size", "engine", "what"):
        table.add_column(name)
    for name in ("median", "least", "most", "runs", "facts"):
        table.add_column(name, justify="right")
    for m in measurements:
        facts = "" if m.facts is None else f"{m.facts:,}"
        times = (seconds(m.median), seconds(m.least), seconds(m.most))
        table.add_row(*m.key, *times, str(len(m.seconds)), facts)
    return table


def demand_table(demands: list[Demand]) -> Table:
    """One row per demand: the reached value and the bound."""
    table = Table(title="Demands", title_justify="left")
    table.add_column("workload")
    table.add_column("demand")
    table.add_column("reached", justify="right")
    table.add_column("asked", justify="right")
    table.add_column("")
    for d in demands:
        sign = "≥" if d.at_least else "≤"
        verdict = "[green]holds[/]" if d.holds else "[red bold]fails[/]"
        table.add_row(
            d.workload, d.text, number_text(d.value, d.unit), f"{sign} {d.bound:g} {d.unit}", verdict
        )
    return table


def markdown(data: dict[str, Any]) -> Iterator[str]:
    """Yield the lines for the results of a JSON file: machine and date, demands, measurements, notes."""
    machine, versions = data["machine"], data["versions"]
    yield f"Measured {data['date'][:10]}, commit {data['commit']}, with `python {data['command']}`, on"
    memory = f"{machine['memory_gb']} GB" + ("" if machine["keeps_memory"] else " (fresh)")
    yield f"{machine['processor']}, {machine['cores']} cores, {memory}, {machine['system']};"
    yield ", ".join(f"{name} {number}" for name, number in versions.items() if number) + "."
    yield ""
    yield "| workload | demand | reached | asked | |"
    yield "|---|---|--:|--:|---|"
    for entry in data["demands"]:
        d = Demand(**{name: value for name, value in entry.items() if name != "holds"})
        sign = "at least" if d.at_least else "at most"
        verdict = "holds" if d.holds else "**fails**"
        reached, asked = number_text(d.value, d.unit), f"{sign} {d.bound:g} {d.unit}"
        yield f"| {d.workload} | {d.text} | {reached} | {asked} | {verdict} |"
    yield ""
    yield "| workload | size | engine | what | median s | least s | most s | runs | facts |"
    yield "|---|---|---|---|--:|--:|--:|--:|--:|"
    for m in data["measurements"]:
        times = " | ".join(seconds(m[name]) for name in ("median", "least", "most"))
        facts = "" if m["facts"] is None else f"{m['facts']:,}"
        names = " | ".join(m[name] for name in ("workload", "size", "engine", "what"))
        yield f"| {names} | {times} | {len(m['seconds'])} | {facts} |"
    for note in data["notes"]:
        yield f"\n{note}"


def seconds(value: float) -> str:
    """A time in seconds with four decimals below one second, else two."""
    return f"{value:.4f}" if value < 1 else f"{value:.2f}"


def number_text(value: float, unit: str) -> str:
    return f"{value:.0f} {unit}" if value >= 100 else f"{value:.2f} {unit}"


if __name__ == "__main__":
    print(*markdown(json.loads(Path(sys.argv[1]).read_text())), sep="\n")
