"""De Lima, Kramer, Apinis, Micinski, Incremental Evaluation of Dynamic Datalog Programs as a Higher-order
DBSP Program (2024, DYRE): figures 4 to 6, dynamic against static rules, and a stream of mixed changes."""

from __future__ import annotations

from dataclasses import replace
from time import process_time

import numpy as np
from benchmarks.book.engines import (
    CLINGO,
    DUCKDB,
    SEMI_NAIVE,
    SOUFFLE,
    TEXTBOOK,
    UNINDEXED,
    compare,
    is_there,
    seconds,
)
from benchmarks.book.entry import (
    COUNT,
    MEGABYTES,
    SECONDS,
    TIMES,
    Cell,
    Column,
    Entry,
    Paper,
    Plot,
    Scope,
    Series,
    cpu,
    not_rebuilt,
)
from benchmarks.book.follow import follow
from benchmarks.book.peak import peak
from benchmarks.book.problems import closure, named, share, universities
from benchmarks.changes import Track, drawn, rows_of
from benchmarks.changes import without as explicit_without
from benchmarks.engine import ENGINE, Facts, reason_task
from benchmarks.measure import Measurement, measure
from benchmarks.programs import RuleTrack, without
from benchmarks.workloads import dynamic

from corollary.columns.delta import NOTHING
from corollary.evaluate import materialise
from corollary.language import Program
from corollary.language.model import RDFS
from corollary.maintain import maintain
from corollary.profiles import load_profile

PERCENT = (1, 10, 25, 50, 75, 100)
TITLES = {"rand": "TC, dense", "rmat": "TC, sparse", "rhodf": "LUBM, RDFS", "owl2rl": "LUBM, OWL 2 RL"}
ENGINES = {
    "rand": (ENGINE, SEMI_NAIVE, TEXTBOOK, UNINDEXED, CLINGO, DUCKDB, SOUFFLE),
    "rmat": (ENGINE, SEMI_NAIVE, TEXTBOOK, UNINDEXED, CLINGO, DUCKDB, SOUFFLE),
    "rhodf": (ENGINE, SEMI_NAIVE, TEXTBOOK, UNINDEXED, CLINGO, SOUFFLE),
    "owl2rl": (ENGINE,),
}
"""The problems of the paper, and the engines that evaluate them. Only modules evaluate rules over lists."""

PUBLISHED = {("rhodf", 99): {"DYRE": (0.083, 0.007, 0.007), "DDLog": (0.780, 0.010, 0.010)}}
"""Section 5.2: seconds of materialising 99 %, adding 1 %, removing it. Other values are in a picture."""

EPOCHS = 24


def figure_4(scope: Scope) -> Entry:
    """Materialising 1 to 100 % of the data, with an index and without."""
    rows: list[list[Cell]] = []
    measurements: list[Measurement] = []
    plots = []
    percents = (1, 5) if scope.settings.small else PERCENT
    for name, engines in ENGINES.items():
        times: dict[str, list[float | None]] = {engine: [] for engine in engines}
        for percent in percents:
            scope.say(f"{TITLES[name]}, {percent} %")
            problem = (
                closure(name, percent)
                if name in ("rand", "rmat")
                else universities(scope, name, percent=percent)
            )
            able = [engine for engine in engines if None not in times[engine]]
            found = compare(problem, able, scope.settings.repeat)
            measurements += found.values()
            for engine in engines:
                if is_there(engine, problem):
                    times[engine].append(seconds(found.get(engine)))
        times = {engine: values for engine, values in times.items() if values}
        rows += [[TITLES[name], engine, *values] for engine, values in times.items()]
        series = [Series(engine, list(percents), values) for engine, values in times.items()]
        plots.append(
            Plot(f"indexing-{name}", TITLES[name], "lines", series, "% of the data", "seconds", log_y=True)
        )
    return Entry(
        "Materialisation with indexing and without",
        "LUBM: DYRE indexed at least twice as fast as Soufflé; TC: Soufflé 3 times faster than indexed,"
        " 20 times than not indexed",
        "; ".join(f"{row[0]} {_last(row):.2g} s" for row in rows if row[1] == ENGINE),
        reason="relations of Corollary are sorted, so it has no evaluation without an index: the textbook's"
        " evaluation shows both",
        columns=[*(Column("data"), Column("engine")), *(Column(f"{p} %", SECONDS) for p in percents)],
        rows=rows,
        notes=["An evaluation that takes more than 12 s is given up, also for more data (dashes)."],
        plots=plots,
        measurements=measurements,
    )


def _last(row: list[Cell]) -> float:
    assert isinstance(row[-1], float)
    return row[-1]


def figure_5(scope: Scope) -> Entry:
    """Materialise most of the data, add the rest, remove it again."""
    rows: list[list[Cell]] = []
    measurements: list[Measurement] = []
    for name, title in TITLES.items():
        facts, program, schema = _given(scope, name)
        data = np.arange(schema, facts.columns[0].size)
        for percent in dynamic.SHARES:
            scope.say(f"{title}, {percent} %")
            kept = 100 - percent
            first = reason_task(share(facts, kept, schema), f"{title}, {kept} %", program)
            (scratch,) = measure("002 figure 5", [first], scope.settings.repeat)
            found = follow(facts, program, data, percent, title, scope.settings.repeat)
            measurements += [scratch, *found.measurements]
            for engine, times in PUBLISHED.get((name, kept), {}).items():
                rows.append([title, f"{engine}:{kept}, paper", *times])
            for engine, remove in found.remove.items():
                materialising = cpu(scratch) if engine == ENGINE else None
                rows.append([title, f"{engine}:{kept}", materialising, found.add.get(engine), remove])
    ours = next(row for row in rows if row[:2] == [TITLES["rhodf"], f"{ENGINE}:99"])
    theirs = PUBLISHED["rhodf", 99]["DYRE"]
    factors = [their / our for their, our in zip(theirs, ours[2:], strict=True) if isinstance(our, float)]
    return Entry(
        "Incremental performance: materialise, update, remove",
        "LUBM, RDFS, 99 %: DYRE 83 ms, then 7 ms; DDLog 780 ms, then 10 ms",
        "LUBM, RDFS, 99 %: " + ", then ".join(_milliseconds(cell) for cell in ours[2:]),
        f"{min(factors):.1f} to {max(factors):.1f} x (DYRE)",
        columns=[
            *(Column("data"), Column("engine")),
            *(Column(name, SECONDS) for name in ("1 - mat", "2 - update", "3 - remove")),
        ],
        rows=rows,
        notes=["Additions are the same for backward/forward and DRed."],
        plots=[_steps(rows)],
        measurements=measurements,
    )


def _milliseconds(cell: Cell) -> str:
    assert isinstance(cell, float)
    return f"{1000 * cell:.1f} ms"


def _steps(rows: list[list[Cell]]) -> Plot:
    steps = ["1 - mat", "2 - update", "3 - remove"]
    series = [
        Series(f"{row[0]}, {str(row[1]).rpartition(':')[2]} %", steps, [_plain(cell) for cell in row[2:]])
        for row in rows
        if str(row[1]).rpartition(":")[0] == ENGINE
    ]
    title = "Corollary: materialise, add, remove"
    return Plot("incremental-steps", title, "lines", series, "", "seconds", log_y=True)


def _plain(cell: Cell) -> float | None:
    return cell if isinstance(cell, float) else None


def _given(scope: Scope, name: str) -> tuple[Facts, Program, int]:
    """The facts of a problem, its program, and the number of facts of the ontology, which stand first."""
    if name in ("rand", "rmat"):
        problem = closure(name)
        return problem.facts, problem.program, 0
    given = dynamic.load(scope.settings, 1)
    return given.facts, load_profile(name), given.schema


def figure_6(scope: Scope) -> Entry:
    """Peak memory of a fresh process for each engine and problem."""
    rows: list[list[Cell]] = []
    for name, engines in ENGINES.items():
        if scope.settings.small and name != "rmat":
            continue
        problem = named(scope, name)
        for engine in engines[:1] if scope.settings.small else engines:
            if engine != UNINDEXED and is_there(engine, problem):
                scope.say(f"{TITLES[name]}, {engine}")
                before, most = peak(engine, name, scope.settings.corpus)
                rows.append([TITLES[name], engine, before, most, most - before])
    names = list(dict.fromkeys(str(row[0]) for row in rows))
    by_engine = {(row[0], row[1]): _plain(row[3]) for row in rows}
    labels = dict.fromkeys(str(row[1]) for row in rows)
    series = [Series(label, names, [by_engine.get((name, label)) for name in names]) for label in labels]
    ours = [row[3] for row in rows if row[1] == ENGINE]
    return Entry(
        "Maximum resident set size",
        "Soufflé least; DDLog 10 times that, DYRE 4 times DDLog (values in a picture)",
        f"{min(ours):.0f} MB to {max(ours):.0f} MB, Python and compiled kernels included",  # type: ignore[type-var]
        columns=[
            *(Column("data"), Column("engine"), Column("with the facts", MEGABYTES)),
            *(Column("peak", MEGABYTES), Column("evaluation", MEGABYTES)),
        ],
        rows=rows,
        notes=[
            "A fresh process for each row. The first number is its memory when the facts are read: Python,"
            " libraries and facts. *textbook* is the memory up to its end, or until it is given up."
        ],
        plots=[Plot("peak-memory", "Peak memory", "bars", series, y="MB")],
    )


def static_rules(scope: Scope) -> Entry:
    """Rules that read the ontology as facts, against the same rules with the ontology compiled into them."""
    given = dynamic.load(scope.settings, scope.size(1, 10, 10))
    facts, program = given.facts, load_profile("rhodf")
    subclass = facts.dictionary.find(f"<{RDFS}subClassOf>")
    axiom = np.flatnonzero(facts.columns[1] == subclass)[:1]
    kept = np.ones(facts.columns[0].size, np.bool_)
    kept[axiom] = False
    s, p, o = (column[kept] for column in facts.columns)
    fewer = replace(facts, columns=(s, p, o))
    whole, part = (each.close(program).instances() for each in (facts, fewer))
    repeat = scope.settings.repeat
    rows: list[list[Cell]] = []
    measurements: list[Measurement] = []
    axiom_track = Track(facts, program, [rows_of(facts.columns, axiom)])
    axioms = [cpu(m) for m in measure("static", axiom_track.tasks(given.size, "axiom"), repeat)]
    scope.say("rules of the instances")
    rules = RuleTrack(facts, whole, part).case("static", given.size, "a rule", repeat)
    for title, rules_used, edits in (
        ("dynamic: RhoDFS reads the ontology", program, axioms),
        ("static: one rule for each axiom", whole, [cpu(rules.followed[1]), cpu(rules.followed[0])]),
    ):
        scope.say(title)
        changes = drawn(facts.columns, facts.columns[0].size // 100, repeat + 1)
        track = Track(facts, rules_used, changes)
        tasks = [reason_task(facts, title, rules_used), *track.tasks(title, "1 %")]
        measured = measure("static", tasks, repeat)
        measurements += measured
        rows.append([title, len(rules_used), *(cpu(m) for m in measured), *edits])
    headings = ("materialise", "remove 1 %", "add back 1 %", "an axiom or rule out", "in again")
    dynamic_time, static_time = (row[2] for row in rows)
    assert isinstance(dynamic_time, float) and isinstance(static_time, float)
    return Entry(
        "Static against dynamic rules",
        "DDLog's rules are compiled in minutes, DYRE's are data; no figure",
        f"dynamic rules take {dynamic_time / static_time:.2f} times as long as static ones, and change at run"
        " time",
        columns=[Column("program"), Column("rules", COUNT), *(Column(h, SECONDS) for h in headings)],
        rows=rows,
        measurements=measurements,
    )


def stream(scope: Scope) -> Entry:
    """Facts and rules change together, one transaction each epoch, compared with starting from scratch."""
    given = dynamic.load(scope.settings, scope.size(1, 10, 10))
    facts, whole = given.facts, load_profile("owl2rl")
    data = tuple(column[given.schema :] for column in facts.columns)
    changes = drawn(data, data[0].size // 100, 4)  # type: ignore[arg-type]
    result, gone = facts.close(whole), NOTHING
    rows: list[list[Cell]] = []
    for epoch in range(EPOCHS if not scope.settings.small else 4):
        scope.say(f"epoch {epoch + 1}")
        rule = dynamic.RULES["owl2rl"][epoch // 2 % len(dynamic.RULES["owl2rl"])]
        program = without(whole, [rule]) if epoch % 2 == 0 else whole
        removed = changes[epoch % len(changes)]
        explicit = explicit_without(facts.index(), removed)
        started = process_time()
        result, report = maintain(result, explicit, removed - gone, gone - removed, program=program)
        followed = process_time() - started
        started = process_time()
        scratch = materialise(explicit.snapshot(), program, facts.dictionary)
        from_scratch = process_time() - started
        assert scratch.index.fact_count() == result.index.fact_count(), f"epoch {epoch}: not exact"
        change = f"{'without' if epoch % 2 == 0 else 'with'} {rule}"
        rows.append([epoch + 1, change, report.strategy, followed, from_scratch, from_scratch / followed])
        gone = removed
    epochs = [row[0] for row in rows]
    followed_times, scratch_times = ([_plain(row[column]) for row in rows] for column in (3, 4))
    gains = [gain for row in rows if isinstance(gain := row[5], float)]
    return Entry(
        "Streams of mixed changes of program and facts, one epoch each",
        "DYRE's claim; no figure",
        f"{given.size}, owl2rl: from scratch over followed {float(np.median(gains)):.2f} x (median),"
        f" at worst {min(gains):.2f} x",
        columns=[
            *(Column("epoch", COUNT), Column("rules"), Column("strategy")),
            *(Column("followed", SECONDS), Column("from scratch", SECONDS), Column("gain", TIMES)),
        ],
        rows=rows,
        notes=[
            "Each epoch is one transaction: 1 % of the data goes, another 1 % comes back, and a rule goes or"
            " comes back. The result has as many facts as one from scratch, in every epoch."
        ],
        plots=[
            Plot(
                "mixed-stream",
                f"Mixed changes of {given.size} under owl2rl",
                "lines",
                [Series("followed", epochs, followed_times), Series("from scratch", epochs, scratch_times)],
                "epoch",
                "seconds",
            )
        ],
    )


def table_1(_: Scope) -> Entry:
    """What reasoners can change at run time."""
    theirs = (
        *(("Soufflé", "both", "no", "no", "no", "no"), ("BigDatalog", "compiler", "no", "no", "no", "no")),
        *(("Cog", "compiler", "no", "no", "no", "no"), ("Nexus", "compiler", "yes", "no", "no", "no")),
        *(("DDLog", "compiler", "yes", "yes", "no", "no"), ("DBSP*", "compiler", "yes", "yes", "no", "no")),
        ("DYRE", "interpreter", "yes", "yes", "yes", "yes"),
    )
    ours = ("Corollary", "interpreter of plans, compiled kernels", "yes", "yes", "yes", "yes")
    headings = ("reasoner", "kind", "facts added", "facts removed", "rules added", "rules removed")
    return Entry(
        "Reasoners and what they can change",
        "DYRE: facts and rules, added and removed",
        "the same, with negation, aggregates and stratification",
        columns=[Column(heading) for heading in headings],
        rows=[*theirs, ours],
        notes=["All but the last row are the paper's."],
    )


_CIRCUIT = "a circuit of DBSP operators without measurements"
PAPER = Paper(
    "002",
    "de Lima, Kramer, Apinis, Micinski: *Incremental Evaluation of Dynamic Datalog Programs as a Higher-order"
    " DBSP Program* (2024)",
    "Apple M1 (AWS)",
    {
        "Table 1": table_1,
        **{
            f"Figure {number}": not_rebuilt(
                title, "a circuit", "[how changes are followed](maintenance.md)", _CIRCUIT
            )
            for number, title in (
                (1, "Naive dynamic interpretation as a circuit"),
                (2, "Semi-naive dynamic interpretation as a circuit"),
                (3, "The circuit with indexing"),
            )
        },
        "Figure 4": figure_4,
        "Figure 5": figure_5,
        "Figure 6": figure_6,
        "Static rules": static_rules,
        "Stream": stream,
    },
)
