"""Hu, Motik, Horrocks, Modular Materialisation of Datalog Programs (AAAI 2019): tables 1 and 2."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass

from benchmarks.book.entry import (
    COUNT,
    SECONDS,
    TIMES,
    Cell,
    Column,
    Entry,
    Paper,
    Plot,
    Scope,
    Series,
    by_task,
    cpu,
    mean_cpu,
)
from benchmarks.changes import ADD, DRED, METHODS, REMOVE, Track, drawn
from benchmarks.engine import ENGINE, Facts, reason_task
from benchmarks.measure import Measurement, measure
from benchmarks.rule_counts import RuleCounts, rule_counts
from benchmarks.vlog import without_equality
from benchmarks.workloads import literature, transitive
from benchmarks.workloads.modular import Case, lubm_le, semi_naive_task

from corollary.evaluate import MaterialisedView
from corollary.kernels.limits import LimitExceeded
from corollary.language import parse_program
from corollary.profiles import load_profile

SAMPLES = 10
"""Numbers of random samples of a small change, as in the paper."""

LARGE_SAMPLES = 2
FEW = 1_000


@dataclass(frozen=True, slots=True)
class Published:
    """A row of tables 1 and 2: sizes, rules, modules (TC, STC), and seconds.

    Seconds of materialising, small deletions, small insertions and large deletions, each with modules and
    without.
    """

    explicit: float
    closed: float
    rules: RuleCounts
    modules: tuple[int, int]
    materialise: tuple[float, float]
    small_deletion: tuple[float, float]
    small_insertion: tuple[float, float]
    large_deletion: tuple[float, float]


PUBLISHED = {
    "Claros-LE": Published(
        *(18.8e6, 533.3e6, RuleCounts(1031, 306, 11), (27, 2)),
        *((733.55, 3593.32), (0.93, 1035.28), (0.17, 0.80), (314.33, 3616.93)),
    ),
    "LUBM-LE": Published(
        *(133.6e6, 332.6e6, RuleCounts(85, 22, 5), (1, 2)),
        *((291.90, 1100.22), (0.32, 3.87), (0.01, 0.01), (182.93, 1369.77)),
    ),
    "DBpedia-SKOS": Published(
        *(5.0e6, 97.0e6, RuleCounts(26, 15, 5), (2, 1)),
        *((103.23, 3623.37), (21.77, 691.32), (0.20, 2.78), (111.28, 3826.87)),
    ),
    "DAG-R": Published(
        *(0.1e6, 22.9e6, RuleCounts(1, 1, 1), (1, 0)),
        *((29.60, 3238.86), (64.92, 3005.11), (14.56, 116.78), (62.48, 4316.71)),
    ),
}
SMALL_DAG = "DAG-R, 500 nodes"
"""A graph on which evaluation without modules takes seconds: 5,000 edges."""

PLAIN = (SMALL_DAG, "LUBM-LE")
"""Where changes are also followed without modules: elsewhere ten samples take many minutes."""


def cases(scope: Scope) -> Iterator[tuple[str, Case]]:
    """The benchmarks of the paper, by their names there."""
    corpus = scope.settings.corpus
    if corpus is not None:
        scope.say("making museums")
        program = without_equality(literature.claros_le(corpus))
        parts = scope.size(1, 1, 188)
        facts = Facts.generated("museum", parts)
        yield "Claros-LE", Case("Claros-LE", program, facts, semi_naive=not scope.full)
        scope.say("making universities")
        yield "LUBM-LE", lubm_le(corpus, scope.size(1, 3, 1190))
    scope.say("making categories")
    facts = Facts.generated("categories", scope.size(1, 1, 50))
    yield "DBpedia-SKOS", Case("DBpedia-SKOS", load_profile("skos"), facts, semi_naive=not scope.full)
    above = parse_program(transitive.RULE)
    small = transitive.generate(*((100, 1_000) if scope.settings.small else (500, 5_000)))
    yield SMALL_DAG, Case(SMALL_DAG, above, small, semi_naive=True)
    if not scope.settings.small:
        yield "DAG-R", Case("DAG-R", above, transitive.generate(10_000, 100_000))


def table_1(scope: Scope) -> Entry:
    """Materialisation with modules and by semi-naive evaluation."""
    rows: list[list[Cell]] = []
    measurements: list[Measurement] = []
    for name, case in cases(scope):
        scope.say(f"{name}: {case.size:,} facts")
        result = case.facts.close(case.program)
        counts, closures = rule_counts(case.program), closure_modules(result)
        closed = len(result.index)
        del result
        tasks = [reason_task(case.facts, name, case.program)]
        tasks += [semi_naive_task(case)] if case.semi_naive else []
        measured = measure("004 table 1", tasks, min(3, scope.settings.repeat))
        measurements += measured
        rows += _both_rows(name, case, closed, counts, closures, [cpu(m) for m in measured])
    return Entry(
        "Running times for materialisation computation",
        "29.60 s to 733.55 s with modules; 3.8 to 109 times that without",
        _range("with modules", [m for m in measurements if m.engine == ENGINE]),
        _factors(rows),
        columns=[
            Column("benchmark"),
            *(Column(name, COUNT) for name in ("explicit", "closed", "S", "Π_nr", "Π_r", "TC", "STC")),
            Column("with modules", SECONDS),
            Column("semi-naive", SECONDS),
            Column("semi-naive over modules", TIMES),
            Column("closed facts a second, with modules", COUNT),
            Column("factor", TIMES),
        ],
        rows=rows,
        notes=[
            "The factor compares facts of the materialisation a second, because sizes differ (the sizes of"
            " the paper are behind `--full`).",
            "Claros-LE and LUBM-LE are the published rules over generated museums and universities (see"
            " [synthetic data](loading.md#synthetic-data)); the categories are closed under the profile"
            " `skos`. Strata are counted over predicates and classes.",
        ],
        plots=[_plot_1(rows)],
        measurements=measurements,
    )


def closure_modules(result: MaterialisedView) -> tuple[int, int]:
    """The numbers of relations that are closed transitively, and symmetrically and transitively (TC, STC)."""
    taken = [a.rule.heads[0].p for a in result.engine.assignments if a.module == "transitive closure"]
    kinds = Counter(Counter(taken).values())
    return kinds[1], kinds[2]


def _both_rows(
    name: str,
    case: Case,
    closed: int,
    counts: RuleCounts,
    closures: tuple[int, int],
    times: list[float],
) -> Iterator[list[Cell]]:
    """The paper's row, if there is one, and ours."""
    modular, *rest = times
    plain = rest[0] if rest else None
    rate = closed / modular
    published = PUBLISHED.get(name)
    if published is not None:
        with_modules, without = published.materialise
        their_rules = (published.rules.strata, published.rules.nonrecursive, published.rules.recursive)
        their_rate = published.closed / with_modules
        yield [
            *(f"{name}, paper", published.explicit, published.closed, *their_rules, *published.modules),
            *(with_modules, without, without / with_modules, their_rate, None),
        ]
    yield [
        *(name, case.size, closed, counts.strata, counts.nonrecursive, counts.recursive, *closures),
        *(modular, plain, None if plain is None else plain / modular, rate),
        None if published is None else rate / (published.closed / published.materialise[0]),
    ]


def _factors(rows: list[list[Cell]]) -> str:
    factors = [row[-1] for row in rows if isinstance(row[-1], float)]
    return f"{min(factors):.0f} to {max(factors):.0f} x a fact" if factors else ""


def _range(what: str, measurements: list[Measurement]) -> str:
    times = [cpu(m) for m in measurements]
    return f"{min(times):.3g} s to {max(times):.3g} s {what}"


def _plot_1(rows: list[list[Cell]]) -> Plot:
    """Seconds a million facts."""
    names = [str(row[0]) for row in rows if not str(row[0]).endswith("paper")]
    found = {str(row[0]): row for row in rows}

    def costs(suffix: str, column: int) -> list[float | None]:
        return [_per_million(found.get(name + suffix), column) for name in names]

    return Plot(
        "modular-materialisation",
        "Materialisation: seconds for a million closed facts",
        "bars",
        [
            Series("paper, semi-naive", names, costs(", paper", 9)),
            Series("paper, with modules", names, costs(", paper", 8)),
            Series("Corollary, semi-naive", names, costs("", 9)),
            Series("Corollary, with modules", names, costs("", 8)),
        ],
        y="seconds a million facts",
        log_y=True,
    )


def _per_million(row: list[Cell] | None, column: int) -> float | None:
    if row is None or not isinstance(row[column], float):
        return None
    seconds, closed = row[column], row[2]
    assert isinstance(seconds, float) and isinstance(closed, (int, float))
    return 1e6 * seconds / closed


def table_2(scope: Scope) -> Entry:
    """Ten samples of 1,000 facts, and a quarter of all, for each deletion strategy."""
    rows: list[list[Cell]] = []
    measurements: list[Measurement] = []
    ours: dict[str, dict[str, float | None]] = {}
    for name, case in cases(scope):
        published = PUBLISHED.get(name)
        if published is not None:
            theirs = (published.small_deletion, published.small_insertion, published.large_deletion)
            rows += [
                [name, f"paper, {title}", *(pair[position] for pair in theirs)]
                for position, title in enumerate(("DRed^c-Mod", "DRed^c"))
            ]
        materialise = cpu(measure("004 table 2", [reason_task(case.facts, name, case.program)], 1)[0])
        found = _changes(name, case, scope, measurements)
        for engine, times in found.items():
            rows.append([name, engine, *times])
        rows.append([name, "materialising, for comparison", None, None, materialise])
        ours[name] = {engine: times[0] for engine, times in found.items()}
    return Entry(
        "Running times for incremental maintenance",
        "small deletions 0.32 s to 64.92 s, large ones 62.48 s to 314.33 s with modules",
        _summary(rows, ENGINE),
        _factor_of_dag(rows),
        columns=[
            Column("benchmark"),
            Column("strategy"),
            Column("small deletions", SECONDS),
            Column("small insertions", SECONDS),
            Column("large deletions", SECONDS),
        ],
        rows=rows,
        notes=[
            f"Means of {SAMPLES} random samples of 1,000 facts, fewer where they take more than ten seconds"
            " together (5 % of the facts where there are fewer than 20,000), and of a quarter of all facts."
            " No time: the strategy needed more memory than the machine has.",
            f"`{ENGINE}` lets the cost model choose. Insertions are the same for backward/forward and DRed."
            " *semi-naive* is DRed without modules, the counterpart of DRed^c.",
        ],
        plots=[_plot_2(ours)],
        measurements=measurements,
    )


def _changes(
    name: str, case: Case, scope: Scope, measurements: list[Measurement]
) -> dict[str, list[float | None]]:
    """For each strategy the mean CPU times of small deletions, small insertions and large deletions."""
    found: dict[str, list[float | None]] = {}
    few = min(FEW, case.size // 20)
    for number, samples in ((few, SAMPLES), (case.size // 4, LARGE_SAMPLES)):
        scope.say(f"{name}: changes of {number:,} facts")
        changes = drawn(case.facts.columns, number, samples + 1)
        tracks = [Track(case.facts, case.program, changes, strategy) for strategy in METHODS]
        if name in PLAIN and number == few:
            tracks.append(Track(case.facts, case.program, changes, DRED, modular=False))
        for track in tracks:  # one at a time: each holds a materialisation
            tasks = track.tasks(name, f"{number:,}")
            try:
                measured = measure("004 table 2", tasks, min(samples, _turns(scope)))
            except LimitExceeded as error:
                scope.say(f"{name}, {track.engine}: {error}")
                measured = []
            measurements += measured
            taken = by_task(measured)
            for what in (REMOVE, ADD) if number == few else (REMOVE,):
                m = taken.get((track.engine, f"{what} {number:,}"))
                found.setdefault(track.engine, []).append(None if m is None else mean_cpu(m))
    return {engine: ([*times, None])[:3] for engine, times in found.items()}


def _turns(scope: Scope) -> int:
    return 1 if scope.settings.small else SAMPLES


def _summary(rows: list[list[Cell]], engine: str) -> str:
    small = [row[2] for row in rows if row[1] == engine and isinstance(row[2], float)]
    large = [row[4] for row in rows if row[1] == engine and isinstance(row[4], float)]
    return f"small deletions {_span(small)}, large ones {_span(large)}"


def _span(times: list[float]) -> str:
    least, most = f"{min(times):.3g} s", f"{max(times):.3g} s"
    return least if least == most else f"{least} to {most}"


def _factor_of_dag(rows: list[list[Cell]]) -> str:
    """The factors for deletions from DAG-R, which has the paper's size."""
    published = PUBLISHED["DAG-R"]
    for name, engine, small, _, large in rows:
        if (name, engine) == ("DAG-R", ENGINE) and isinstance(small, float) and isinstance(large, float):
            factors = (published.small_deletion[0] / small, published.large_deletion[0] / large)
            return " and ".join(f"{factor:,.0f} x" for factor in factors) + " (DAG-R)"
    return ""


def _plot_2(ours: dict[str, dict[str, float | None]]) -> Plot:
    names = list(ours)
    engines = dict.fromkeys(engine for times in ours.values() for engine in times)
    return Plot(
        "modular-maintenance",
        "Small deletions by strategy",
        "bars",
        [Series(engine, names, [ours[name].get(engine) for name in names]) for engine in engines],
        y="seconds",
        log_y=True,
    )


PAPER = Paper(
    "004",
    "Hu, Motik, Horrocks: *Modular Materialisation of Datalog Programs* (AAAI 2019)",
    "Dell PowerEdge R730, two Xeon E5-2640 2.6 GHz, 512 GB",
    {"Table 1": table_1, "Table 2": table_2},
)
