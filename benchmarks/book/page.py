"""The page docs/papers.md and its plots, from the JSON of the book."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from benchmarks.book.entry import COUNT, MEGABYTES, SECONDS, TEXT, TIMES, Cell, Paper, name_of
from benchmarks.book.plots import write_plot

INTRODUCTION = """# The papers' book

Corollary grew from four papers. Here every table and figure of theirs has a row: what the paper reports and
on which machine, what Corollary reaches, and the reason where something cannot be rebuilt. Figures of the
papers are pictures, so their values are known only as far as the text names them.

```sh
pip install -e '.[bench]'
python benchmarks/papers.py --out docs/papers.json    # --only 003/figure-7 for one entry
python benchmarks/papers.py --page docs/papers.json   # this page and its plots
```

Times are CPU times of all threads, medians of the turns, so that other load on a shared machine matters
less; tasks of one comparison take turns. Sizes are reduced where a row says so; `--full` has those of the
papers. The papers ran on other machines: a factor tells an order of magnitude, not a percentage.

Peers run in the same turns: clingo and DuckDB come with the extra `bench`. Soufflé is used if it is
installed; Debian has no package (looked up on 2026-11-27), and it is not measured here. pydbsp is left out
because it needs Python 3.12 (2.1.0, the newest on 2026-11-27), and these runs have 3.11. *textbook* is
bottom-up evaluation in plain Python (`benchmarks/book/textbook.py`).

"""


def write_page(results: Mapping[str, Any], papers: Sequence[Paper], docs: Path) -> None:
    """Write ``papers.md``, and the plots into ``figures``."""
    (docs / "papers.md").write_text("\n".join(lines(results, papers)) + "\n")
    folder = docs / "figures"
    folder.mkdir(exist_ok=True)
    for entry in results.values():
        for plot in entry["plots"]:
            write_plot(plot, folder)


def lines(results: Mapping[str, Any], papers: Sequence[Paper]) -> Iterator[str]:
    """The page: an overview of each paper, then a section for each entry with a table or a plot."""
    yield INTRODUCTION
    yield from _measured(results)
    for paper in papers:
        yield from _overview(results, paper)
    for paper in papers:
        yield f"\n## {paper.key}: {paper.citation}"
        for place in paper.entries:
            entry = results.get(name_of(paper, place))
            if entry is not None and (entry["rows"] or entry["plots"]):
                yield from _section(paper, place, entry)


def _measured(results: Mapping[str, Any]) -> Iterator[str]:
    """The machines and versions with which the entries were measured."""
    about = [entry["measured"] for entry in results.values()]
    machines = {
        f"{a['machine']['processor']}, {a['machine']['cores']} cores, {a['machine']['memory_gb']} GB"
        for a in about
    }
    dates = sorted({a["date"][:10] for a in about})
    commits = sorted({a["commit"].rstrip("+") for a in about})
    versions = {name: number for a in about for name, number in a["versions"].items() if number}
    yield f"Measured {' to '.join(dict.fromkeys((dates[0], dates[-1])))}, commit {', '.join(commits)}, on"
    yield f"{'; '.join(sorted(machines))}, which other processes shared;"
    yield ", ".join(f"{name} {number}" for name, number in sorted(versions.items())) + "."


def _overview(results: Mapping[str, Any], paper: Paper) -> Iterator[str]:
    yield f"\n### {paper.key}: {paper.citation}\n"
    yield f"Machine of the paper: {paper.machine}.\n"
    yield "| | what | the paper | Corollary | factor | reason, if not rebuilt |"
    yield "|---|---|---|---|---|---|"
    for place in paper.entries:
        entry = results.get(name_of(paper, place))
        if entry is None:
            yield f"| {place} | not measured yet | | | | |"
            continue
        is_shown = entry["rows"] or entry["plots"]
        shown = f"[{place}](#{_anchor(paper, place)})" if is_shown else place
        cells = (shown, entry["title"], entry["theirs"], entry["ours"], entry["factor"], entry["reason"])
        yield f"| {' | '.join(cells)} |"


def _anchor(paper: Paper, place: str) -> str:
    return f"{paper.key}-{place.lower().replace(' ', '-')}"


def _section(paper: Paper, place: str, entry: Mapping[str, Any]) -> Iterator[str]:
    yield f"\n### {paper.key} {place}\n"
    yield f"{entry['title']}." + (f" Not as in the paper: {entry['reason']}." if entry["reason"] else "")
    for plot in entry["plots"]:
        yield from _picture(plot)
    if entry["rows"]:
        columns = entry["columns"]
        yield f"\n| {' | '.join(column['heading'] for column in columns)} |"
        yield f"|{'|'.join('---' if column['kind'] == TEXT else '--:' for column in columns)}|"
        for row in entry["rows"]:
            cells = (_text(cell, column["kind"]) for cell, column in zip(row, columns, strict=True))
            yield f"| {' | '.join(cells)} |"
    for note in entry["notes"]:
        yield f"\n{note}"
    if entry["measured"]["small"]:
        yield "\nThese are results of `--small`: tiny sizes, whose times mean little."


def _picture(plot: Mapping[str, Any]) -> Iterator[str]:
    """The form of the plot that suits the reader's colours."""
    file = f"figures/{plot['name']}"
    yield "\n<picture>"
    yield f'  <source media="(prefers-color-scheme: dark)" srcset="{file}-dark.svg">'
    yield f'  <img alt="{plot["title"]}" src="{file}-light.svg">'
    yield "</picture>"


def _text(cell: Cell, kind: str) -> str:
    """A cell as the kind of its column has it; a dash for what is not known."""
    if cell is None:
        return "-"
    if isinstance(cell, str):
        return cell
    if kind == COUNT:
        return f"{cell:,.0f}"
    if kind == SECONDS:
        return f"{cell:.4f}" if cell < 1 else f"{cell:.2f}"
    if kind == TIMES:
        return f"{cell:,.0f} x" if cell >= 100 else f"{cell:.2f} x"
    return f"{cell:.1f}" if kind == MEGABYTES else str(cell)
