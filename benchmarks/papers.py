"""The papers' book: rerun the tables and figures of four papers, and write docs/papers.md.

``python benchmarks/papers.py --list`` shows what there is, ``--only 004/table-1`` measures one of them. With
``--out`` the results are kept as JSON, entry by entry: an entry that is measured again replaces the old one.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from math import inf
from pathlib import Path
from time import perf_counter
from typing import Any

import click
from rich.console import Console

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from benchmarks.book import (
    back_to_basics,
    dynamic_programs,
    modular_materialisation,
    rule_maintenance,
)
from benchmarks.book.entry import Paper, Scope, chosen, name_of
from benchmarks.book.page import write_page
from benchmarks.machine import PROJECT, describe, keep_memory
from benchmarks.measure import Settings
from benchmarks.run import find_corpus

PAPERS = tuple(
    module.PAPER for module in (back_to_basics, dynamic_programs, rule_maintenance, modular_materialisation)
)


@click.command()
@click.option("--only", multiple=True, metavar="NAME", help="A paper (004) or an entry (004/table-1).")
@click.option("--small", is_flag=True, help="Tiny sizes, in a minute, to try the book itself.")
@click.option("--full", is_flag=True, help="The sizes of the papers: hours, and more than 24 GB for some.")
@click.option("--repeat", default=3, show_default=True, help="Turns a task has; fewer if it takes long.")
@click.option("--out", type=click.Path(dir_okay=False, path_type=Path), help="Keep the results in this JSON.")
@click.option("--page", type=click.Path(exists=True, path_type=Path), help="Write the page from this JSON.")
@click.option("--missing", is_flag=True, help="Only what --out lacks at these sizes: go on after a stop.")
@click.option("--minutes", type=float, default=inf, help="Begin no entry after this many minutes.")
@click.option("--list", "only_list", is_flag=True, help="List the entries and stop.")
def main(
    only: tuple[str, ...],
    small: bool,
    full: bool,
    repeat: int,
    out: Path | None,
    page: Path | None,
    missing: bool,
    minutes: float,
    only_list: bool,
) -> None:
    """Rerun tables and figures of four papers.

    \b
    001  de Lima, Apinis: A Back-to-basics Empirical Study of Datalog Materialization
    002  de Lima, Kramer, Apinis, Micinski: Incremental Evaluation of Dynamic Datalog Programs (2024)
    003  Xu, Curé: ZodiacEdge, incremental maintenance of rule sets (2023)
    004  Hu, Motik, Horrocks: Modular Materialisation of Datalog Programs (2019)

    Sizes are reduced, so that everything ends in an hour and a half on two cores, and each entry in half
    an hour. Times are CPU times, because
    these depend less on other load. Data that are not generated come from the folder that the environment
    variable CORPUS names, or ../shared/data.

    \b
    Examples:
      python benchmarks/papers.py --only 003/figure-7
      python benchmarks/papers.py --out docs/papers.json
      python benchmarks/papers.py --out docs/papers.json --missing
      python benchmarks/papers.py --page docs/papers.json    # writes docs/papers.md and docs/figures
    """
    if page is not None:
        write_page(json.loads(page.read_text()), PAPERS, PROJECT / "docs")
        return
    names = [name_of(paper, place) for paper, place in chosen(PAPERS, ())]
    if unknown := set(only) - {*names, *(paper.key for paper in PAPERS)}:
        raise click.UsageError(f"no such entry: {', '.join(sorted(unknown))}; --list shows them")
    wanted = list(chosen(PAPERS, only))
    if missing and out is not None and out.exists():
        wanted = lacking(wanted, json.loads(out.read_text()), small=small, full=full)
    if only_list:
        for paper, place in wanted:
            click.echo(name_of(paper, place))
        return
    keep_memory()
    run(wanted, Scope(Settings(repeat, find_corpus(), small=small), full), out, 60 * minutes)


def lacking(
    wanted: list[tuple[Paper, str]], kept: dict[str, Any], *, small: bool, full: bool
) -> list[tuple[Paper, str]]:
    """The entries without results, or with results of other sizes."""

    def is_kept(paper: Paper, place: str) -> bool:
        about = kept.get(name_of(paper, place), {}).get("measured", {})
        return (about.get("small"), about.get("full")) == (small, full)

    return [(paper, place) for paper, place in wanted if not is_kept(paper, place)]


def run(wanted: list[tuple[Paper, str]], scope: Scope, out: Path | None, most_seconds: float = inf) -> None:
    """Measure the entries, and begin none after ``most_seconds``. The JSON is written after each of them."""
    console, began = Console(stderr=True), perf_counter()
    kept: dict[str, Any] = json.loads(out.read_text()) if out is not None and out.exists() else {}
    for number, (paper, place) in enumerate(wanted, 1):
        title = f"[{number}/{len(wanted)}] {name_of(paper, place)}"
        started = perf_counter()
        if started - began > most_seconds:
            left = len(wanted) - number + 1
            console.print(f"The time is over; {left} entries are left: --missing goes on with them.")
            break
        with moving(console, title) as say:
            entry = paper.entries[place](Scope(scope.settings, scope.full, say))
        took = perf_counter() - started
        console.print(f"{title}: {entry.ours or entry.reason} ({took:.1f} s)", markup=False, highlight=False)
        about = describe() | {"seconds": round(took, 1), "small": scope.settings.small, "full": scope.full}
        kept[name_of(paper, place)] = entry.as_json() | {"measured": about}
        if out is not None:
            out.write_text(json.dumps(kept, indent=1, ensure_ascii=False, sort_keys=True) + "\n")


@contextmanager
def moving(console: Console, title: str) -> Iterator[Callable[[str], None]]:
    """Show what is being measured: on a terminal in a line that moves."""
    with console.status(title) as status:

        def say(text: str) -> None:
            status.update(f"{title}: {text}")
            if not console.is_terminal:
                console.print(f"{title}: {text} ...", markup=False, highlight=False)

        yield say


if __name__ == "__main__":
    main()
