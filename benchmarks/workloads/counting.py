"""Counted derivations against the other ways to follow changes: facts go and come back under each strategy.

Derivations are counted by rules, however a relation is closed: in a closure every fact has many. So the cases
go from rules whose facts have few derivations (universities, an analysis of pointers) to closures. The notes
say how many derivations there are, and how many bytes the counts take.
"""

from __future__ import annotations

import gzip
from collections.abc import Iterator
from pathlib import Path

import numpy as np
from benchmarks import graphs
from benchmarks.changes import BACKWARD_FORWARD, COUNTING, DRED, METHODS, START_OVER, Track, drawn
from benchmarks.engine import Facts
from benchmarks.measure import Outcome, Results, Settings, Task, measure
from benchmarks.vlog import program_of
from benchmarks.workloads import lubm, modular, transitive
from benchmarks.workloads.modular import Case

from corollary.columns.delta import NOTHING
from corollary.evaluate import MaterialisedView
from corollary.evaluate.derivation_counts import DerivationCounts
from corollary.language import parse_program
from corollary.maintain import maintain
from corollary.profiles import load_profile
from corollary.terms.dictionary import TermDictionary

NAME = "counting"
TITLE = "facts removed and added back: by counted derivations, backward/forward, DRed and starting over"

STRATEGIES = (COUNTING, BACKWARD_FORWARD, DRED, START_OVER)
NUMBERS = (1, 1_000)
"""Numbers of facts of a change; at most 1 % of all facts."""

COUNT = "count all derivations"

POINTERS = f"""PREFIX : <{transitive.PREFIX}>
    [?x, :flows, ?y] :- [?x, :assign, ?y] .
    [?x, :flows, ?z] :- [?x, :assign, ?y], [?y, :memoryAlias, ?z] .
    [?x, :flows, ?z] :- [?x, :flows, ?y], [?y, :flows, ?z] .
    [?x, :memoryAlias, ?w] :- [?y, :dereference, ?x], [?y, :valueAlias, ?z], [?z, :dereference, ?w] .
    [?y, :valueAlias, ?z] :- [?x, :flows, ?y], [?x, :flows, ?z] .
    [?y, :valueAlias, ?z] :- [?x, :flows, ?y], [?x, :memoryAlias, ?w], [?w, :flows, ?z] .
    [?x, :flows, ?x] :- [?x, :assign, ?y] .
    [?y, :flows, ?y] :- [?x, :assign, ?y] .
    [?x, :memoryAlias, ?x] :- [?x, :assign, ?y] .
    [?y, :memoryAlias, ?y] :- [?x, :assign, ?y] .
"""
"""Context-sensitive points-to analysis (CSPA): mutually recursive, with no closure that a module closes alone
but one."""

STEPS = f"""PREFIX : <{transitive.PREFIX}>
    [?x, :path, ?y] :- [?x, :above, ?y] .
    [?x, :path, ?z] :- [?x, :path, ?y], [?y, :above, ?z] .
"""


def run(settings: Settings) -> Results:
    """Every case is counted once, and changed under every strategy."""
    results = Results()
    for case in cases(settings):
        _run_case(case, settings, results)
    if settings.corpus is None:
        results.notes.append(f"{NAME}: LUBM-LE and CSPA are left out, they are in the corpus")
    return results


def cases(settings: Settings) -> Iterator[Case]:
    """The programs with their facts."""
    scale = 10 if settings.small else 1
    universities = Facts.generated("university", 1, ontology=True)
    for profile in ("rdfs", "owl2rl"):
        yield Case(f"university, {profile}", load_profile(profile), universities)
    if settings.corpus is not None:
        text = (settings.corpus / "programs" / "LUBM_LE.dlog").read_text()
        with lubm.files(None, 1) as (_, (_, *data)):
            yield Case("LUBM-LE (1)", program_of(modular.in_our_terms(text)), Facts.of_files(data))
        name = "cspa1k" if settings.small else "cspa10k"
        folder = settings.corpus / "program-analysis" / "carac" / name / "facts"
        yield Case(name, parse_program(POINTERS), pointers(folder))
    small_graph = transitive.generate(500 // scale, 5_000 // scale)
    yield Case("small DAG-R", parse_program(transitive.RULE), small_graph)
    yield Case("small DAG-R, edge by edge", parse_program(STEPS), small_graph)
    if not settings.small:
        yield Case("categories", load_profile("skos"), Facts.generated("categories", 1))
    cliques = graphs.cliques([150 // scale, 100 // scale, *[20] * (30 // scale), *[3] * 300])
    yield Case("small cliques", parse_program(graphs.PLACES), cliques)


def pointers(folder: Path) -> Facts:
    """The assignments and dereferences of a program; the first line of each file is a header."""
    dictionary = TermDictionary()
    rows: list[tuple[int, int, int]] = []
    for name in ("assign", "dereference"):
        predicate = dictionary.encode(f"<{transitive.PREFIX}{name}>")
        (path,) = folder.glob(f"{name.capitalize()}.csv*")
        text = gzip.decompress(path.read_bytes()) if path.suffix == ".gz" else path.read_bytes()
        for line in text.decode().splitlines()[1:]:
            first, second = (dictionary.encode(f"<{transitive.PREFIX}{part}>") for part in line.split())
            rows.append((first, predicate, second))
    subjects, predicates, objects = np.array(rows, np.uint32).T.copy()
    return Facts(dictionary, (subjects, predicates, objects))


def _run_case(case: Case, settings: Settings, results: Results) -> None:
    """Add the measurements and notes of one case to the results."""
    results.measurements += measure(NAME, [count_task(case, results)], settings.repeat)
    for number in NUMBERS:
        few = min(number, max(1, case.size // 100))
        changes = drawn(case.facts.columns, few, settings.repeat + 1)
        tracks = [Track(case.facts, case.program, changes, strategy) for strategy in STRATEGIES]
        tasks = [task for track in tracks for task in track.tasks(case.name, f"{few:,}")]
        results.measurements += measure(NAME, tasks, settings.repeat)
        for track in tracks:
            if note := track.note():
                results.notes.append(f"{case.name}, {few:,}: {note}")


def count_task(case: Case, results: Results) -> Task:
    """Counting all derivations of a materialisation. The first run adds a note of their number."""
    noted: list[str] = []

    def prepare() -> MaterialisedView:
        return case.facts.close(case.program)

    def count(before: MaterialisedView) -> Outcome:
        result, _ = maintain(before, before.explicit, NOTHING, NOTHING, COUNTING)
        counts = result.engine.remembered
        if isinstance(counts, DerivationCounts) and not noted:
            derivations, rounds, size = counts.totals()
            noted.append(
                f"{case.name}: {derivations:,} derivations of {len(result.index):,} facts, {rounds} rounds;"
                f" the counts take {size / 1e6:.0f} MB."
            )
            results.notes.extend(noted)
        return Outcome(len(result.index))

    return Task(METHODS[COUNTING], COUNT, prepare, count, case.name, warm_up=True)
