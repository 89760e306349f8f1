"""Real ontologies of the corpus under ``owl2rl``: each within five seconds."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from benchmarks.engine import Facts, reason_task
from benchmarks.measure import Demand, Results, Settings, measure

NAME = "real"
TITLE = "the ontologies of the corpus, and buildings with Brick, each by itself"

MOST_SECONDS = 5.0
LARGEST_VOCABULARIES = 3


def run(settings: Settings) -> Results:
    """The reasoning time of every ontology."""
    results = Results()
    if settings.corpus is None:
        results.notes.append("real: left out, it needs the corpus")
        return results
    for name, paths in ontologies(settings.corpus / "real"):
        (measured,) = measure(NAME, [reason_task(Facts.of_files(paths), name)], settings.repeat)
        results.measurements.append(measured)
        results.demands.append(Demand(NAME, name, measured.median, MOST_SECONDS, "s"))
    return results


def ontologies(folder: Path) -> Iterator[tuple[str, list[Path]]]:
    """Names and files: single ontologies, all vocabularies together, buildings with their Brick version."""
    brick = folder / "brick"
    vocabularies = sorted((folder / "vocabularies").glob("*.nt.gz"))
    largest = sorted(vocabularies, key=lambda path: -path.stat().st_size)[:LARGEST_VOCABULARIES]
    alone = [*sorted(brick.glob("Brick-*.nt.gz"))]
    alone += [path for part in ("ro", "doid", "fibo") for path in sorted((folder / part).glob("*.nt.gz"))]
    for path in (*alone, *largest):
        yield _name(path), [path]
    yield "all vocabularies", vocabularies
    for path in sorted((folder / "brick-buildings").glob("*.nt.gz")):
        yield f"{_name(path)} with Brick 1.4", [brick / "Brick-1.4.nt.gz", path]
    for path in sorted(brick.glob("*_brick.nt.gz")):
        yield f"{_name(path)} with Brick 1.1", [brick / "Brick-1.1.nt.gz", path]


def _name(path: Path) -> str:
    return path.name.removesuffix(".nt.gz")
