"""The first use after installation, when no kernel is compiled yet.

The README's main commands run in new processes, first with an empty kernel cache, then with the cache that
the first run has filled. A graph of a hundred triples must not wait for a compiler. Every repetition begins
with an empty cache.
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from time import perf_counter

from benchmarks.engine import ENGINE
from benchmarks.machine import KEEPING
from benchmarks.measure import Demand, Measurement, Results, Settings

NAME = "first-use"
TITLE = "the README's main commands and a tiny graph, with an empty kernel cache and again"

MAIN = "generate a university, close it, write it"
TINY = "close a graph of a hundred triples"
EMPTY, FILLED = "empty cache", "filled cache"

MOST_SECONDS = {(MAIN, EMPTY): 30.0, (MAIN, FILLED): 3.0, (TINY, EMPTY): 1.0}

COMMAND = "from corollary.cli import main; main()"
MATERIALISE_ONCE = """
import sys, time
from corollary.evaluate import materialise
from corollary.columns import TripleIndex
from corollary.loaders import read
from corollary.profiles import load_profile
from corollary.terms.dictionary import TermDictionary

dictionary = TermDictionary()
columns = read(sys.argv[1:], dictionary)
program = load_profile("owl2rl")
started = time.perf_counter()
materialise(TripleIndex.from_columns(*columns), program, dictionary)
print(time.perf_counter() - started)
"""


def run(settings: Settings) -> Results:
    """Each case with an empty and with a filled cache; a small run measures the tiny graph only."""
    repeat = 1 if settings.small else min(settings.repeat, 3)
    cases = {TINY: tiny_graph} if settings.small else {MAIN: main_commands, TINY: tiny_graph}
    results = Results()
    for what, case in cases.items():
        empty, filled = [], []
        for _ in range(repeat):
            with TemporaryDirectory() as name:
                folder = Path(name)
                environment = {name: value for name, value in os.environ.items() if name not in KEEPING}
                environment["NUMBA_CACHE_DIR"] = str(folder / "kernels")
                empty.append(case(folder, environment))
                filled.append(case(folder, environment))
        for cache, seconds in ((EMPTY, empty), (FILLED, filled)):
            measurement = Measurement(NAME, cache, ENGINE, what, tuple(seconds))
            results.measurements.append(measurement)
            if (what, cache) in MOST_SECONDS:
                bound = MOST_SECONDS[what, cache]
                results.demands.append(Demand(NAME, f"{what}: {cache}", measurement.median, bound, "s"))
    return results


def main_commands(folder: Path, environment: dict[str, str]) -> float:
    """The seconds of the README's two main commands, each in a new process."""
    data = folder / "university"
    started = perf_counter()
    _python(environment, "-c", COMMAND, "generate", "university", "1", "-o", str(data))
    files = [str(path) for path in sorted(data.iterdir())]
    _python(environment, "-c", COMMAND, "materialise", *files, "-o", str(folder / "closed.nt.gz"))
    return perf_counter() - started


def tiny_graph(folder: Path, environment: dict[str, str]) -> float:
    """The seconds of the first ``materialise`` of a hundred triples in a new process, without imports."""
    path = folder / "family.nt"
    path.write_text("".join(tiny_triples()))
    return float(_python(environment, "-c", MATERIALISE_ONCE, str(path)))


def tiny_triples() -> list[str]:
    """A hundred triples with hierarchies, an inverse, a transitive property and equality."""
    prefix = "https://corollary.example/family#"
    rdf_type = "http://www.w3.org/1999/02/22-rdf-syntax-ns#type"
    rdfs, owl = "http://www.w3.org/2000/01/rdf-schema#", "http://www.w3.org/2002/07/owl#"

    def line(*terms: str) -> str:
        return " ".join(f"<{term}>" for term in terms) + " .\n"

    def own(name: str) -> str:
        return prefix + name

    lines = [
        line(own("Parent"), rdfs + "subClassOf", own("Person")),
        line(own("Person"), rdfs + "subClassOf", own("Animal")),
        line(own("hasParent"), owl + "inverseOf", own("hasChild")),
        line(own("hasParent"), rdfs + "subPropertyOf", own("hasAncestor")),
        line(own("hasAncestor"), rdf_type, owl + "TransitiveProperty"),
        line(own("hasChild"), rdfs + "domain", own("Parent")),
        line(own("hasChild"), rdfs + "range", own("Person")),
        line(own("hasSpouse"), rdf_type, owl + "SymmetricProperty"),
        line(own("hasSpouse"), rdf_type, owl + "FunctionalProperty"),
        line(own("person1"), own("hasSpouse"), own("person98")),
        line(own("person1"), own("hasSpouse"), own("person99")),
    ]
    lines += [line(own(f"person{n}"), own("hasChild"), own(f"person{2 * n}")) for n in range(1, 46)]
    lines += [line(own(f"person{n}"), own("hasChild"), own(f"person{2 * n + 1}")) for n in range(1, 45)]
    return lines


def _python(environment: dict[str, str], *arguments: str) -> str:
    """The output of a new Python process."""
    command: Sequence[str] = (sys.executable, *arguments)
    return subprocess.run(command, env=environment, check=True, capture_output=True, text=True).stdout
