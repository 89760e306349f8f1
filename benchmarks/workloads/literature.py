"""Data sets of the literature, generated in their shape: categories, museums and random graphs are closed.

``corollary.generators`` has the shapes and the sizes: DBpedia-SKOS and Claros-LE of Hu, Motik and Horrocks
(2019), RAND1K and RMAT1K of de Lima et al. (2024); their DAG-R is in ``modular``. Categories are closed under
the profile ``skos``. Museums are closed under the rules of Claros-LE, which come from the corpus, without and
with those that read owl:sameAs; if there is no corpus, under ``owl2rl`` and their ontology. Closing is
compared with sorting the result and with semi-naive evaluation, changes of 1,000 facts with closing. Removing
1,000 facts is also timed where closing takes much longer: categories of the paper's size, a quarter of its
museums.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from statistics import median

from benchmarks.changes import REMOVE, Track, drawn
from benchmarks.engine import Facts, build_task, reason_task, sort_task
from benchmarks.measure import Demand, Results, Settings, measure
from benchmarks.rule_counts import RuleCounts, rule_counts
from benchmarks.vlog import over_triples, without_equality
from benchmarks.workloads.modular import SEMI_NAIVE, Case, closing_demands, semi_naive_task

from corollary.generators.random_graphs import ABOVE
from corollary.language import Program, parse_program
from corollary.profiles import load_profile

NAME = "literature"
TITLE = "categories, museums and random graphs in the shape of data sets of the literature"

PARTS = 3
"""Number of parts of categories and museums, of 100,000 facts each."""

MANY = 1_000
"""Number of facts of a change."""

CATEGORIES, MUSEUMS = 50, 47
"""Numbers of parts where only the removal of ``MANY`` facts is timed: that of the paper, and a quarter."""

MOST_MS = 200.0
"""The milliseconds of CPU time that this removal may take."""

MOST_OVER_SORT = 25.0  # our own bars, as in ``modular``
MOST_OVER_MATERIALISING = 1.5

CLOSURE = f"[?x, <{ABOVE}>, ?z] :- [?x, <{ABOVE}>, ?y], [?y, <{ABOVE}>, ?z] ."


@dataclass(frozen=True, slots=True)
class Published:
    """A data set of the literature: its name, its rules, and its numbers of facts, explicit and in all."""

    name: str
    rules: RuleCounts
    explicit: float
    closed: float


DBPEDIA_SKOS = Published("DBpedia-SKOS", RuleCounts(26, 15, 5), 5.0e6, 97.0e6)
CLAROS_LE = Published("Claros-LE", RuleCounts(1031, 306, 11), 18.8e6, 533.3e6)
"""Hu, Motik, Horrocks (2019), table 1."""


def run(settings: Settings) -> Results:
    """Every case is closed and changed; large cases by semi-naive evaluation, too."""
    results = Results()
    for case, published in cases(settings):
        run_case(NAME, case, published, settings, results)
    if settings.slow and not settings.small:
        for case in large_cases(settings.corpus):
            _run_large(case, settings, results)
    if settings.corpus is None:
        results.notes.append(
            f"{NAME}: museums are closed under owl2rl, the rules of Claros-LE are in the corpus"
        )
    return results


def cases(settings: Settings) -> Iterator[tuple[Case, Published | None]]:
    """Programs with facts, and the numbers that the literature has for them."""
    closure, parts = parse_program(CLOSURE), 1 if settings.small else PARTS
    large = not settings.small
    for kind in ("rand", "rmat"):
        yield Case(kind, closure, Facts.generated(kind, 1), large), None
    name = f"categories ({parts})"
    yield Case(name, load_profile("skos"), Facts.generated("categories", parts), large), DBPEDIA_SKOS
    if settings.corpus is None:
        # Not by semi-naive evaluation: it does not evaluate the property chain, which is a list.
        facts = Facts.generated("museum", parts, ontology=True)
        yield Case(f"museum ({parts})", load_profile("owl2rl"), facts), None
        return
    program, facts = claros_le(settings.corpus), Facts.generated("museum", parts)
    for rules in (without_equality(program), program):
        yield Case(f"museum ({parts}), {len(rules):,} rules", rules, facts, large), CLAROS_LE


def large_cases(corpus: Path | None) -> Iterator[Case]:
    """Categories, and museums if there is a corpus with their rules."""
    facts = Facts.generated("categories", CATEGORIES)
    yield Case(f"categories ({CATEGORIES})", load_profile("skos"), facts)
    if corpus is not None:
        program, facts = without_equality(claros_le(corpus)), Facts.generated("museum", MUSEUMS)
        yield Case(f"museum ({MUSEUMS}), {len(program):,} rules", program, facts)


def _run_large(case: Case, settings: Settings, results: Results) -> None:
    """Add the measurements, the demand and the note of a removal to the results."""
    changes = drawn(case.facts.columns, MANY, settings.repeat + 1)
    track = Track(case.facts, case.program, changes)
    measured = measure(NAME, track.tasks(case.name, f"{MANY:,}"), settings.repeat)
    results.measurements += measured
    removal = next(m for m in measured if m.what.startswith(REMOVE))
    text = f"{case.name}: {removal.what}, CPU"
    results.demands.append(Demand(NAME, text, 1000 * median(removal.cpu), MOST_MS, "ms"))
    if note := track.note():
        results.notes.append(f"{case.name}, {removal.what}: {note}")


def claros_le(corpus: Path) -> Program:
    """The rules of Claros-LE over triples."""
    return over_triples((corpus / "programs" / "Claros_LE.dlog").read_text())


def run_case(
    workload: str,
    case: Case,
    published: Published | None,
    settings: Settings,
    results: Results,
    over_sort: float | None = MOST_OVER_SORT,
) -> None:
    """Add the measurements, demands and notes of one case to the results of a workload."""
    closed = case.facts.close(case.program).index
    tasks = [
        reason_task(case.facts, case.name, case.program),
        build_task(case.facts, case.name),
        sort_task(closed, case.name),
    ]
    growth = len(closed) / case.size
    del closed
    if case.semi_naive:
        tasks.append(semi_naive_task(case))
    few = min(MANY, case.size // 20)
    changes = drawn(case.facts.columns, few, settings.repeat + 1)
    track = Track(case.facts, case.program, changes)
    tasks += track.tasks(case.name, f"{few:,}")
    measured = measure(workload, tasks, settings.repeat)
    results.measurements += measured
    results.demands += closing_demands(workload, case.name, measured, over_sort, MOST_OVER_MATERIALISING)
    if published is None:
        results.notes.append(f"{case.name}: {growth:.2f} facts for each explicit fact.")
    else:
        results.notes.append(_compared(case, growth, published))
    if note := track.note():
        results.notes.append(f"{case.name}, {REMOVE} {few:,}: {note}")
    for one in measured:
        if one.engine == SEMI_NAIVE:
            assert one.facts == measured[0].facts, f"{case.name}: semi-naive evaluation and modules differ"
            times = one.median / measured[0].median
            text = f"{case.name}: semi-naive evaluation takes {times:.1f} times as long as modules."
            results.notes.append(text)


def _compared(case: Case, growth: float, published: Published) -> str:
    """The number of facts for each explicit fact, and the numbers of rules, here and in the literature."""
    here, there = rule_counts(case.program), published.rules
    return (
        f"{case.name}: {growth:.2f} facts for each explicit fact, {here.nonrecursive:,} nonrecursive and"
        f" {here.recursive:,} recursive rules in {here.strata} strata; {published.name} has"
        f" {published.closed / published.explicit:.2f}, {there.nonrecursive:,} and {there.recursive:,} in"
        f" {there.strata}."
    )
