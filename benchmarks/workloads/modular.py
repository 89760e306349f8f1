"""Tables 1 and 2 of Hu, Motik, Horrocks, Modular Materialisation of Datalog Programs (2019), repeated.

Four programs close relations: LUBM-LE, whose rules come from the corpus, on generated universities; a random
acyclic graph (DAG-R); categories in long chains with cycles, as in SKOS; and places in cliques, as in
Claros-LE. Each is materialised; then facts are removed in one transaction and added back: 1,000 as in the
paper, and a quarter of all. Modules are compared with semi-naive evaluation of all rules. Deletion strategies
are compared with each other and with starting over. Where semi-naive evaluation would take minutes, it gets a
smaller instance. The rules of LUBM-LE also follow 1,000 facts out of a hundred universities.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import median

from benchmarks import graphs
from benchmarks.changes import ADD, COUNTING, DRED, METHODS, REMOVE, Track, drawn
from benchmarks.engine import BUILD, ENGINE, REASON, SORT, Facts, build_task, reason_task, sort_task
from benchmarks.measure import Demand, Measurement, Outcome, Results, Settings, Task, measure
from benchmarks.vlog import program_of
from benchmarks.workloads import transitive

from corollary.columns import TripleIndex
from corollary.evaluate import materialise
from corollary.generators.university import ONTOLOGY
from corollary.language import Program, parse_program

NAME = "modular"
TITLE = "programs that close relations: modules, semi-naive evaluation, and three ways to follow changes"

SEMI_NAIVE = "semi-naive"

UNIVERSITIES = "LUBM-LE"
MOST_MS = {10: (50.0, 10.0), 100: (100.0, 20.0)}
"""By the number of universities: the milliseconds of CPU time that the engine may take to remove 1,000 facts,
and to add them back."""

MANY = 1_000
QUARTER = "a quarter"
DAG = "DAG-R"

MOST_OVER_SORT = 6.0
MOST_OVER_MATERIALISING = 1.0
MOST_CLOSING_MS, MOST_REMOVAL_MS = 150.0, 50.0
MOST_CHAIN_MS = 20.0
CHAIN = 400

UNIV_BENCH = "http://swat.cse.lehigh.edu/onto/univ-bench.owl#"
OUR_NAMES = {
    "College": "School",
    "Organization": "Organisation",
    "colleagues": "worksWith",
    "member": "hasMember",
    "publicationAuthor": "author",
    "subOrganizationOf": "partOf",
    "teacherOf": "teaches",
    "teachingAssistantOf": "assistsWith",
}
"""Names of the Lehigh University Benchmark, and the different names in generated universities."""


@dataclass(frozen=True, slots=True)
class Case:
    """A program with facts. ``semi_naive``: also measure semi-naive evaluation."""

    name: str
    program: Program
    facts: Facts
    semi_naive: bool = False

    @property
    def size(self) -> int:
        return int(self.facts.columns[0].size)


def run(settings: Settings) -> Results:
    """For every case materialisation, and changes of both sizes; then one chain of places."""
    results = Results()
    for case in cases(settings):
        _run_case(case, settings, results)
    if settings.corpus is None:
        results.notes.append("modular: LUBM-LE is left out, its rules are in the corpus")
    elif settings.slow and not settings.small:
        _run_many_universities(settings.corpus, settings, results)
    places = Case(f"chain of {CHAIN}", parse_program(graphs.PLACES), graphs.chain_of_places(CHAIN))
    (chain,) = measure(NAME, [reason_task(places.facts, places.name, places.program)], settings.repeat)
    results.measurements.append(chain)
    text = f"{places.name} places, closed both ways"
    results.demands.append(Demand(NAME, text, 1000 * chain.median, MOST_CHAIN_MS, "ms"))
    return results


def cases(settings: Settings) -> Iterator[Case]:
    """The programs with their facts: small ones for semi-naive evaluation, and large ones."""
    if settings.corpus is not None:
        yield lubm_le(settings.corpus, 1 if settings.small else 10)
    above, categories, places = map(parse_program, (transitive.RULE, graphs.CATEGORIES, graphs.PLACES))
    scale = 10 if settings.small else 1
    small_graph = transitive.generate(500 // scale, 5_000 // scale)
    yield Case(f"small {DAG}", above, small_graph, semi_naive=True)
    small_categories = graphs.categories([200 // scale, *[20] * (400 // scale)])
    yield Case("small categories", categories, small_categories, semi_naive=True)
    small_cliques = graphs.cliques([150 // scale, 100 // scale, *[20] * (30 // scale), *[3] * 300])
    yield Case("small cliques", places, small_cliques, semi_naive=True)
    if not settings.small:
        yield Case(DAG, above, transitive.generate(10_000, 100_000))
        yield Case("categories", categories, graphs.categories([*[2_000] * 3, *[20] * 38_000]))
        yield Case("cliques", places, graphs.cliques([1500, 1000, *[300] * 10, *[20] * 300, *[3] * 3000]))


def lubm_le(corpus: Path, universities: int) -> Case:
    """The rules of LUBM-LE, and generated universities."""
    text = (corpus / "programs" / "LUBM_LE.dlog").read_text()
    facts = Facts.generated("university", universities)
    return Case(UNIVERSITIES, program_of(in_our_terms(text)), facts, semi_naive=True)


def _run_many_universities(corpus: Path, settings: Settings, results: Results) -> None:
    """A hundred universities: 1,000 facts are removed and added back."""
    universities = max(MOST_MS)
    case = lubm_le(corpus, universities)
    changes = drawn(case.facts.columns, MANY, settings.repeat + 1)
    tasks = Track(case.facts, case.program, changes).tasks(f"{case.name} ({universities})", f"{MANY:,}")
    measured = measure(NAME, tasks, settings.repeat)
    results.measurements += measured
    results.demands += change_demands(universities, measured)


def in_our_terms(text: str) -> str:
    """Rename the Lehigh University Benchmark's vocabulary in a program to that of generated universities."""
    for theirs, ours in OUR_NAMES.items():
        text = text.replace(f"<{UNIV_BENCH}{theirs}>", f"<{UNIV_BENCH}{ours}>")
    return text.replace(UNIV_BENCH, ONTOLOGY)


def _run_case(case: Case, settings: Settings, results: Results) -> None:
    """Add the measurements, demands and notes of one case to the results."""
    tasks = [reason_task(case.facts, case.name, case.program)]
    if case.semi_naive:
        tasks.append(semi_naive_task(case))
    if case.name == DAG:
        tasks += [
            build_task(case.facts, case.name),
            sort_task(case.facts.close(case.program).index, case.name),
        ]
    measured = measure(NAME, tasks, settings.repeat)
    results.measurements += measured
    if case.semi_naive:
        times = measured[1].median / measured[0].median
        results.notes.append(
            f"{case.name}: semi-naive evaluation takes {times:.1f} times as long as modules."
        )
    del tasks
    few = min(MANY, case.size // 20)
    for number, text in ((few, f"{few:,}"), (case.size // 4, QUARTER)):
        changes = drawn(case.facts.columns, number, settings.repeat + 1)
        strategies = [strategy for strategy in METHODS if strategy != COUNTING]  # see ``counting``
        tracks = [Track(case.facts, case.program, changes, strategy) for strategy in strategies]
        if case.semi_naive:
            tracks.append(Track(case.facts, case.program, changes, DRED, modular=False))
        changed = measure(
            NAME, [t for track in tracks for t in track.tasks(case.name, text)], settings.repeat
        )
        results.measurements += changed
        for track in tracks:
            if note := track.note():
                results.notes.append(f"{case.name}, {REMOVE} {text}: {note}")
        if case.name == DAG and number == few:
            results.demands += demands([*measured, *changed])
        if case.name == UNIVERSITIES and number == MANY and not settings.small:
            results.demands += change_demands(min(MOST_MS), changed)


def demands(measured: Sequence[Measurement]) -> list[Demand]:
    """Demands on DAG-R: see ``closing_demands``; and the times of closing it and of removing edges."""
    ours = {m.what: 1000 * m.median for m in measured if m.engine == ENGINE}
    removal = f"{REMOVE} {MANY:,}"
    return [
        *closing_demands(NAME, DAG, measured, MOST_OVER_SORT, MOST_OVER_MATERIALISING),
        Demand(NAME, f"{DAG}: {REASON}", ours[REASON], MOST_CLOSING_MS, "ms"),
        Demand(NAME, f"{DAG}: {removal}", ours[removal], MOST_REMOVAL_MS, "ms"),
    ]


def change_demands(universities: int, measured: Sequence[Measurement]) -> list[Demand]:
    """The demands that the engine keeps to ``MOST_MS`` for this number of universities under LUBM-LE."""
    ours = {m.what: 1000 * median(m.cpu) for m in measured if m.engine == ENGINE}
    text = f"{UNIVERSITIES}, {universities} universities"
    changes = [f"{change} {MANY:,}" for change in (REMOVE, ADD)]
    return [
        Demand(NAME, f"{text}: {change}, CPU", ours[change], most, "ms")
        for change, most in zip(changes, MOST_MS[universities], strict=True)
    ]


def closing_demands(
    workload: str,
    name: str,
    measured: Sequence[Measurement],
    most_over_sort: float | None,
    most_over_materialising: float,
) -> list[Demand]:
    """Demands on a case: the closure relative to sorting, if asked, and changes relative to materialising."""
    ours = {m.what: m.median for m in measured if m.engine == ENGINE}
    (sort,) = (m.median for m in measured if m.what == SORT)
    reason, build = ours.pop(REASON), ours.pop(BUILD)
    text = f"{name}: building the index and closing, over sorting the result"
    changes = [
        Demand(workload, f"{name}: {what}, over materialising", seconds / reason, most_over_materialising)
        for what, seconds in ours.items()
    ]
    if most_over_sort is None:
        return changes
    return [Demand(workload, text, (build + reason) / sort, most_over_sort), *changes]


def semi_naive_task(case: Case) -> Task:
    """Materialising without modules."""

    def run(index: TripleIndex) -> Outcome:
        return Outcome(len(materialise(index, case.program, case.facts.dictionary, modular=False).index))

    return Task(SEMI_NAIVE, REASON, case.facts.index, run, case.name, warm_up=True)
