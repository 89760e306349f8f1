"""Run the benchmarks: ``python benchmarks/run.py [NAME ...] [--out results.json]``.

Every performance demand of the project is a row of the last table, with the value that this run reached. The
exit code is 1 if a demand fails. docs/benchmarks.md explains the numbers.
"""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path
from types import ModuleType

import click
import numpy as np
from rich.console import Console

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from benchmarks.engine import SORT
from benchmarks.machine import PROJECT, describe, keep_memory
from benchmarks.measure import Measurement, Outcome, Results, Settings, Task, measure
from benchmarks.report import print_results
from benchmarks.workloads import (
    bulk,
    counting,
    cycles,
    dbpedia,
    dynamic,
    explain,
    first_use,
    folders,
    hierarchy,
    large,
    lists,
    literals,
    literature,
    lubm,
    maintenance,
    modular,
    paths,
    queries,
    real,
    rules,
    scale,
    serving,
    soak,
    spark,
    sparql,
    store,
    transitive,
)

from corollary.cli.warming_up import all_kernels

WORKLOADS: dict[str, ModuleType] = {
    module.NAME: module
    for module in (
        lubm,
        transitive,
        paths,
        hierarchy,
        lists,
        literals,
        real,
        store,
        queries,
        cycles,
        sparql,
        first_use,
        modular,
        literature,
        dbpedia,
        counting,
        maintenance,
        bulk,
        explain,
        rules,
        dynamic,
        scale,
        large,
        folders,
        serving,
        spark,
        soak,
    )
}
"""The workloads by name. Every workload module has ``NAME``, ``TITLE`` and ``run(settings)``."""


@click.command()
@click.argument("names", nargs=-1, type=click.Choice(list(WORKLOADS)), metavar="[NAME]...")
@click.option("--out", type=click.Path(dir_okay=False, path_type=Path), help="Write the results as JSON.")
@click.option("--repeat", default=5, show_default=True, help="Turns a task has; fewer if it takes long.")
@click.option("--skip-slow", is_flag=True, help="Leave out owlrl, which takes minutes.")
@click.option("--no-peers", is_flag=True, help="Leave out all other reasoners.")
@click.option("--small", is_flag=True, help="Tiny sizes, to try the benchmarks themselves.")
@click.option("--minutes", default=10.0, show_default=True, help="How long each shape of the soak takes.")
@click.option("--fresh-memory", is_flag=True, help="Let freed memory go back to the system between runs.")
@click.option("--list", "only_list", is_flag=True, help="List the workloads and stop.")
def main(
    names: tuple[str, ...],
    out: Path | None,
    repeat: int,
    skip_slow: bool,
    no_peers: bool,
    small: bool,
    minutes: float,
    fresh_memory: bool,
    only_list: bool,
) -> None:
    """Run the workloads NAME... (all if none are named), print tables, and with --out write JSON."""
    if only_list:
        for name, module in WORKLOADS.items():
            click.echo(f"{name:<12}{module.TITLE}")
        return
    if not fresh_memory:
        keep_memory()
    settings = Settings(repeat, find_corpus(), not no_peers, not skip_slow, small, minutes)
    console = Console(width=None if sys.stdout.isatty() else 120)
    about = describe() | {"command": " ".join(["benchmarks/run.py", *sys.argv[1:]])}
    for kernel in all_kernels() if not small else ():  # else the first runs are timed without them
        kernel.make_ready()
    results = Results()
    results.measurements += yardstick(settings)
    for name in names or WORKLOADS:
        console.print(f"{name}: {WORKLOADS[name].TITLE}", highlight=False)
        results.add(WORKLOADS[name].run(settings))
    print_results(console, results)
    if out is not None:
        data = about | {
            "measurements": [measurement.as_json() for measurement in results.measurements],
            "demands": [demand.as_json() for demand in results.demands],
            "notes": results.notes,
        }
        out.write_text(json.dumps(data, indent=1, ensure_ascii=False) + "\n")
    sys.exit(not all(demand.holds for demand in results.demands))


def yardstick(settings: Settings) -> list[Measurement]:
    """The present speed of the machine: NumPy sorts ten million keys."""
    size = 10_000 if settings.small else 10_000_000
    keys = np.random.default_rng(0).integers(0, 1 << 62, size, np.uint64)
    task = Task("numpy", SORT, lambda: keys, lambda keys: Outcome(np.sort(keys).size), f"{size:,} keys", True)
    return measure("machine", [task], settings.repeat)


def find_corpus() -> Path | None:
    """The folder of benchmark data: the environment variable CORPUS, else ../shared/data; None if missing."""
    folder = Path(os.environ.get("CORPUS") or PROJECT.parent / "shared" / "data")
    return folder if folder.is_dir() else None


if __name__ == "__main__":
    main()
