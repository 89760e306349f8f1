"""Results as tables for people; the JSON is for ``compare.py``."""

from __future__ import annotations

from benchmarks.measure import Demand, Measurement, Results
from rich.console import Console
from rich.table import Table


def print_results(console: Console, results: Results) -> None:
    """All measurements, then every demand beside what was reached."""
    if results.measurements:
        console.print(measurement_table(results.measurements))
    if results.demands:
        console.print(demand_table(results.demands))
    for note in results.notes:
        console.print(f"Note. {note}", highlight=False)


def measurement_table(measurements: list[Measurement]) -> Table:
    """One row a measurement."""
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
    """One row a demand: what was reached, what was asked."""
    table = Table(title="Demands", title_justify="left")
    table.add_column("workload")
    table.add_column("demand")
    table.add_column("reached", justify="right")
    table.add_column("asked", justify="right")
    table.add_column("")
    for d in demands:
        sign = "≥" if d.at_least else "≤"
        verdict = "[green]holds[/]" if d.holds else "[red bold]fails[/]"
        table.add_row(d.workload, d.text, number(d.value, d.unit), f"{sign} {d.bound:g} {d.unit}", verdict)
    return table


def seconds(value: float) -> str:
    """Three significant digits or so, milliseconds at the least."""
    return f"{value:.4f}" if value < 1 else f"{value:.2f}"


def number(value: float, unit: str) -> str:
    return f"{value:.0f} {unit}" if value >= 100 else f"{value:.2f} {unit}"
