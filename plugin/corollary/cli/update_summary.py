"""The result of a change: as JSON data for programs, and as tables and a warning for people."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from rich.console import RenderableType

    from corollary.cli.updating import Update
    from corollary.columns import TripleIndex

ROWS = ("explicit", "inferred", "total")


def summary(done: Update) -> dict[str, Any]:
    """Counts, times and the report of maintenance, in plain JSON types."""
    before, after = done.before, done.after
    return {
        "files": list(done.sources.files),
        "remove": list(done.sources.remove),
        "add": list(done.sources.add),
        "rules": list(done.sources.rules),
        "explicit": _compared(before.explicit, after.explicit),
        "inferred": _compared(before.inferred(), after.inferred()),
        "total": _compared(before.index, after.index),
        "inconsistencies": {"before": before.inconsistency_count, "after": after.inconsistency_count},
        "not_there": done.absent.fact_count(),
        "seconds": {name: round(seconds, 4) for name, seconds in done.seconds.items()},
        "maintenance": done.report.as_dict(),
    }


def _compared(before: TripleIndex, after: TripleIndex) -> dict[str, int]:
    return {
        "before": len(before),
        "gone": len(before.difference(after)),
        "new": len(after.difference(before)),
        "after": len(after),
    }


def tables(data: dict[str, Any]) -> list[RenderableType]:
    """A summary as two tables: what changed, and where the time went."""
    from rich import box
    from rich.table import Table

    facts = Table("facts", box=box.SIMPLE_HEAD)
    for heading in ("before", "removed", "new", "after"):
        facts.add_column(heading, justify="right")
    for name in ROWS:
        facts.add_row(name, *(f"{count:,}" for count in data[name].values()))
    clashes = data["inconsistencies"]
    facts.add_row("inconsistencies", f"{clashes['before']:,}", "", "", f"{clashes['after']:,}")

    times = Table(box=None, show_header=False, padding=(0, 1))
    times.add_column()
    times.add_column(justify="right")
    for name, seconds in data["seconds"].items():
        times.add_row(name, f"{seconds:.3f} s")
        if name == "maintain":
            for part, spent in _stages(data["maintenance"]).items():
                times.add_row(f"  {part}", f"{spent:.3f} s")
    return [facts, times]


def _stages(maintenance: dict[str, Any]) -> dict[str, float]:
    """The seconds of each stage of a maintenance run; if the run had no stages, those of its strategy."""
    spent: dict[str, float] = {}
    for line in maintenance["stages"]:
        spent[line["stage"]] = spent.get(line["stage"], 0.0) + line["seconds"]
    return spent or {maintenance["strategy"]: maintenance["seconds"]}


def warning(done: Update) -> str:
    """A warning about facts to remove that are not explicit; empty if all are."""
    from corollary.terms.dictionary import Kind, kinds

    absent = done.absent.fact_count()
    if not absent:
        return ""
    subjects, predicates, objects = done.absent.columns(legal=False)
    first = (int(column[0]) for column in (subjects, predicates, objects))
    triple = " ".join(map(done.before.dictionary.decode, first))
    said = "1 fact to remove is" if absent == 1 else f"{absent:,} facts to remove are"
    lines = [f"{said} not in DATA{':' if absent == 1 else ', such as'} {triple} ."]
    if inferred := absent - done.absent.difference(done.before.index).fact_count():
        lines.append(f"{inferred:,} of {absent:,} inferred: remove what it follows from")
    if blank := int(((kinds(subjects) == Kind.BLANK_NODE) | (kinds(objects) == Kind.BLANK_NODE)).sum()):
        lines.append(f"{blank:,} of {absent:,} with a blank node: one in this file is never one in DATA")
    return "\n  help: ".join(lines)
