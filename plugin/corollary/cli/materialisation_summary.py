"""The result of a materialisation: as JSON data for programs, and as tables for people."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

from corollary.cli.tuning import MAX_PREDICATES_LISTED

if TYPE_CHECKING:
    from rich.console import RenderableType
    from rich.table import Table

    from corollary.cli.pipeline import Run

PREFIXES = {
    "rdf": "http://www.w3.org/1999/02/22-rdf-syntax-ns#",
    "rdfs": "http://www.w3.org/2000/01/rdf-schema#",
    "owl": "http://www.w3.org/2002/07/owl#",
}


def summary(run: Run) -> dict[str, Any]:
    """Counts, times and the largest predicates of a run, in plain JSON types."""
    result = run.materialisation
    explicit, inferred = result.explicit.fact_count(), result.inferred_count
    sizes = sorted(((result.index.legal_count(p), p) for p in result.index.predicates()), reverse=True)
    return {
        "files": list(run.files),
        "rules": list(run.rules),
        "explicit": explicit,
        "inferred": inferred,
        "total": explicit + inferred,
        "rounds": result.rounds,
        "inconsistencies": result.inconsistency_count,
        "seconds": {name: round(seconds, 4) for name, seconds in run.seconds.items()},
        "reasoning_seconds": {name: round(seconds, 4) for name, seconds in result.seconds.items()},
        "largest_predicates": [
            {
                "predicate": result.dictionary.decode(predicate),
                "explicit": result.explicit.legal_count(predicate),
                "total": size,
            }
            for size, predicate in sizes[:MAX_PREDICATES_LISTED]
        ],
    }


def tables(data: dict[str, Any], prefixes: Iterable[tuple[str, str]]) -> list[RenderableType]:
    """A summary as two tables."""
    names = "explicit", "inferred", "total", "rounds", "inconsistencies"
    facts = counts_table({name: data[name] for name in names}, data["seconds"])
    return [facts, predicates_table(data["largest_predicates"], prefixes)]


def predicates_table(rows: Iterable[Mapping[str, Any]], prefixes: Iterable[tuple[str, str]]) -> Table:
    """A table of predicates with their explicit, inferred and all facts."""
    from rich import box
    from rich.table import Table
    from rich.text import Text

    table = Table(box=box.SIMPLE_HEAD)
    table.add_column("largest predicates")
    for heading in ("explicit", "inferred", "total"):
        table.add_column(heading, justify="right")
    for row in rows:
        counts = (row["explicit"], row["total"] - row["explicit"], row["total"])
        predicate = Text(shortened(row["predicate"], prefixes), overflow="fold")
        table.add_row(predicate, *(f"{count:,}" for count in counts))
    return table


def counts_table(counts: Mapping[str, int | str], seconds: Mapping[str, float]) -> Table:
    """A table of counts, and of the seconds of the stages."""
    from rich import box
    from rich.table import Table

    table = Table("facts", box=box.SIMPLE_HEAD, show_header=False)
    table.add_column(justify="right")
    for name, value in counts.items():
        table.add_row(name, value if isinstance(value, str) else f"{value:,}")
    for name, time in seconds.items():
        table.add_row(name, f"{time:.3f} s")
    return table


def shortened(term: str, prefixes: Iterable[tuple[str, str]]) -> str:
    """The IRI ``term`` (in angle brackets) as a prefixed name, if one of the prefixes fits."""
    for prefix, namespace in (*PREFIXES.items(), *prefixes):
        if namespace and term.startswith(f"<{namespace}"):
            return f"{prefix}:{term[len(namespace) + 1 : -1]}"
    return term
