"""Xu, Curé, ZodiacEdge: a Datalog Engine With Incremental Rule Set Maintenance (2023): all its figures."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache

import numpy as np
from benchmarks import turbines
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
from benchmarks.changes import Track, rows_of
from benchmarks.engine import Facts, reason_task
from benchmarks.measure import Measurement, measure
from benchmarks.programs import Case, without
from benchmarks.workloads import rules

from corollary.columns import TripleIndex
from corollary.columns.pairs import Pairs
from corollary.evaluate import MaterialisedView

LENGTHS = ((54, 50, 50, 46), (108, 100, 100, 92), (162, 150, 150, 138), turbines.CHAINS)
"""Lengths of the four chains, up to the 800 turbines of the paper."""

TURBINES = (50, 100, 200, 400)
EXTRA = (10, 20, 30, 40, 50)
"""Figure 9: turbines; figure 10: percent of 200 turbines that come and go."""

PUBLISHED_SIZES = {"RS1": (5, 6, 160_800), "RS2": (14, 18, 424_300), "RS3": (14, 18, 423_101)}
PUBLISHED_RS3 = {
    ("add", "r6"): (24.134, 0.2789),
    ("add", "r10"): (24.134, 2.335),
    ("remove", "r6"): (24.7, 7.304),
    ("remove", "r10"): (23.347, 6.073),
}
"""Tables 1, 2 and 3: hyper-nodes, rules and facts; seconds from scratch and of maintenance."""


def data(scope: Scope, name: str) -> Facts:
    """The data set of a rule set: 400 or 800 turbines."""
    if name == "RS1":
        return turbines.chain(scope.size(20, 400, 400))
    return turbines.chains((12, 10, 10, 8) if scope.settings.small else turbines.CHAINS)


def table_1(scope: Scope) -> Entry:
    """Components (hyper-nodes), rules and facts of each rule set with its data."""
    rows: list[list[Cell]] = []
    for name, (nodes, count, facts) in PUBLISHED_SIZES.items():
        program = turbines.RULE_SETS[name]
        result = data(scope, name).close(program)
        rows.append([name, nodes, len(result.components()), count, len(program), facts, len(result.index)])
    columns = ["hyper-nodes, paper", "components", "rules, paper", "rules", "facts, paper", "facts"]
    return Entry(
        "Data and rule set summaries",
        "; ".join(f"{name}: {f:,} facts" for name, (_, _, f) in PUBLISHED_SIZES.items()),
        "; ".join(f"{row[0]}: {row[-1]:,} facts" for row in rows),
        columns=[Column("rule set"), *(Column(heading, COUNT) for heading in columns)],
        rows=rows,
        notes=[
            "A hyper-node is a strongly connected component of rules, a component one of predicates, so rules"
            " for the same predicate are one component here and may be several hyper-nodes there. RS1 has the"
            " temperatures and what is aggregated from them among its facts."
        ],
    )


def edits(scope: Scope) -> Entry:
    """Figures 3 and 5 under our names: what an edit of the rules does to the components."""
    facts = data(scope, "RS2")
    rows: list[list[Cell]] = []
    for title, gone in (
        ("all rules", ()),
        ("without r8", ("r8",)),
        ("without r14", ("r14",)),
        ("without r17, r18", ("r17", "r18")),
    ):
        components = facts.close(without(turbines.RULE_SET_2, gone)).components()
        recursive = [c for c in components if c.is_recursive]
        named = ", ".join(" ".join(_short(n) for n in c.nodes) for c in recursive)
        rows.append([title, len(components), len(recursive), named])
    return Entry(
        "A dependency hypergraph, before and after rules are added and deleted",
        "adding r8 and deleting r4 and r7 of a running example",
        "four edits of rule set 2: components merge and split",
        reason="the rules of the running example are in a picture; rule set 2 stands for them",
        columns=[
            *(Column("program"), Column("components", COUNT)),
            *(Column("recursive", COUNT), Column("recursive components")),
        ],
        rows=rows,
    )


def _short(node: str) -> str:
    return node.rsplit("#", 1)[-1].strip("<>:")


def figure_6(scope: Scope) -> Entry:
    """Memory of relations as rule set 2 grows, and of each relation at the end."""
    rows: list[list[Cell]] = []
    lengths = ((12, 10, 10, 8),) if scope.settings.small else LENGTHS
    for each in lengths:
        result = turbines.chains(each).close(turbines.RULE_SET_2)
        total = sum(memory(result.index).values()) / 1e6
        rows.append([f"{sum(each)} turbines", len(result.index), total, 1e6 * total / len(result.index)])
    biggest = sorted(relations(result).items(), key=lambda item: -item[1][1])
    notes = [
        "Largest relations at the end: "
        + ", ".join(f"{name} {count:,} facts, {size / 1e6:.2f} MB" for name, (count, size) in biggest[:6])
        + "."
    ]
    return Entry(
        "Main-memory footprint of the data structures",
        "grows linearly with the facts (27,000 to 424,000; values in a picture)",
        f"{rows[-1][2]:.1f} MB for {rows[-1][1]:,} facts",
        columns=[
            *(Column("data"), Column("facts", COUNT)),
            *(Column("relations", MEGABYTES), Column("bytes a fact", COUNT)),
        ],
        rows=rows,
        notes=[*notes, "Keys in both orders where the second one is built; terms are not included."],
        plots=[
            Plot(
                "rule-set-memory",
                "Memory of all relations, rule set 2",
                "lines",
                [Series("Corollary", [row[1] for row in rows], [_number(row[2]) for row in rows])],
                "facts",
                "MB",
            )
        ],
    )


def relations(result: MaterialisedView) -> dict[str, tuple[int, int]]:
    """The number of facts and the bytes of each relation."""
    names = result.dictionary.decode_all([predicate for predicate, _ in result.index.relations()])
    sizes = memory(result.index).values()
    counts = [len(relation) for _, relation in result.index.relations()]
    return {_short(name): found for name, *found in zip(names, counts, sizes, strict=True)}  # type: ignore[misc]


def memory(index: TripleIndex) -> dict[int, int]:
    """The bytes of the keys of each relation. Precondition: no relation is compressed."""
    return {
        predicate: sum(_bytes(pairs) for pairs in relation.parts) for predicate, relation in index.relations()
    }


def _bytes(pairs: Pairs) -> int:
    return pairs.keys.nbytes * (2 if pairs.has_by_object else 1)


@cache
def _changed(name: str, group: tuple[str, ...], scope: Scope) -> Case:
    return rules.case(data(scope, name), turbines.RULE_SETS[name], group, name, scope.settings)


def changed(scope: Scope, name: str) -> Iterator[tuple[tuple[str, ...], Case]]:
    """Groups of rules, added and removed. Two entries show one measurement: additions and removals."""
    for group in rules.GROUPS[name]:
        scope.say(", ".join(group))
        yield group, _changed(name, group, Scope(scope.settings, scope.full))


def rule_changes(scope: Scope, what: int) -> Entry:
    """Figures 7 and 8: rules of rule set 2 added (0) or removed (1)."""
    rows: list[list[Cell]] = []
    measurements: list[Measurement] = []
    for group, found in changed(scope, "RS2"):
        measurements += [found.followed[what], found.scratch[what]]
        rows.append([", ".join(group), *_times(found, what)])
    gains = [_number(row[3]) for row in rows]
    names = [str(row[0]) for row in rows]
    done = ("insertion", "deletion")[what]
    return Entry(
        f"Rule-{done} performance with complicated cases",
        (
            "incremental 3 to 375 times faster than from scratch, r4 5 times, but r3 slower",
            "incremental 3 to 1,000 times faster than from scratch",
        )[what],
        f"{min(gains):.1f} to {max(gains):.0f} times faster (slowest: {names[int(np.argmin(gains))]})",
        columns=[Column("rules"), *_TIMES],
        rows=rows,
        plots=[
            Plot(
                f"rule-{done}",
                f"Rule set 2: {done} of rules",
                "bars",
                [
                    Series("from scratch", names, [_number(row[1]) for row in rows]),
                    Series("incremental", names, [_number(row[2]) for row in rows]),
                ],
                y="seconds",
                log_y=True,
            )
        ],
        measurements=measurements,
    )


_TIMES = (Column("from scratch", SECONDS), Column("incremental", SECONDS), Column("gain", TIMES))


def _times(case: Case, what: int) -> tuple[float, float, float]:
    scratch, followed = cpu(case.scratch[what]), cpu(case.followed[what])
    return scratch, followed, scratch / followed


def _number(cell: Cell) -> float:
    assert isinstance(cell, (int, float))
    return float(cell)


def negation(scope: Scope, what: int) -> Entry:
    """Tables 2 and 3: rules of rule set 3 added (0) or removed (1)."""
    rows: list[list[Cell]] = []
    measurements: list[Measurement] = []
    verb = ("add", "remove")[what]
    for (rule,), found in changed(scope, "RS3"):
        measurements += [found.followed[what], found.scratch[what]]
        scratch, incremental = PUBLISHED_RS3[verb, rule]
        ours = _times(found, what)
        rows.append(
            [f"{verb} {rule}", scratch, incremental, scratch / incremental, *ours, incremental / ours[1]]
        )
    factors = [_number(row[-1]) for row in rows]
    theirs = [_number(row[2]) for row in rows]
    mine = [_number(row[5]) for row in rows]
    return Entry(
        f"{('Insertion', 'Deletion')[what]} performance on rule set 3",
        f"incremental {min(theirs):.3g} s to {max(theirs):.3g} s, from scratch 23 s to 25 s",
        f"incremental {min(mine):.2g} s to {max(mine):.2g} s",
        f"{min(factors):,.0f} to {max(factors):,.0f} x",
        columns=[
            Column("change"),
            *(Column(f"{column.heading}, paper", column.kind) for column in _TIMES),
            *_TIMES,
            Column("factor", TIMES),
        ],
        rows=rows,
        measurements=measurements,
    )


def figure_9(scope: Scope) -> Entry:
    """Symmetric-transitive reasoning over neighbours: closing, a fact, a rule."""
    rows: list[list[Cell]] = []
    measurements: list[Measurement] = []
    for length in (20,) if scope.settings.small else TURBINES:
        facts = turbines.chain(length)
        size = f"{length} turbines"
        middle = rows_of(facts.columns, np.array([length // 2]))
        track = Track(facts, turbines.RULE_SET_1, [middle])
        tasks = [reason_task(facts, size, turbines.RULE_SET_1), *track.tasks(size, "a fact")]
        measured = measure("003 figure 9", tasks, scope.settings.repeat)
        measurements += measured
        times: list[Cell] = [cpu(m) for m in measured]
        for rule in ("r1", "r2"):
            found = rules.case(facts, turbines.RULE_SET_1, (rule,), size, scope.settings)
            times.append(cpu(found.followed[1]))
            measurements.append(found.followed[1])
        rows.append([length, *times])
    headings = ("full reasoning", "remove a fact", "add a fact", "remove symmetry", "remove transitivity")
    last = rows[-1]
    return Entry(
        "Reasoning performance with different operations",
        "proportional to the square of the number of turbines (values in a picture)",
        f"{last[0]} turbines: full reasoning {_number(last[1]):.3f} s, a fact"
        f" {_number(last[2]):.3f} s, symmetry removed {_number(last[4]):.3f} s",
        columns=[Column("turbines", COUNT), *(Column(heading, SECONDS) for heading in headings)],
        rows=rows,
        plots=[_lines("symmetric-transitive", "Rule set 1: neighbours", headings, rows, "turbines")],
        measurements=measurements,
    )


def figure_10(scope: Scope) -> Entry:
    """10 to 50 % more turbines come and go."""
    base = scope.size(20, 200, 200)
    rows: list[list[Cell]] = []
    measurements: list[Measurement] = []
    for percent in EXTRA:
        length = base + base * percent // 100
        facts = turbines.chain(length)
        more = np.concatenate((np.arange(base - 1, length - 1), np.arange(length - 1 + base, 2 * length - 1)))
        track = Track(facts, turbines.RULE_SET_1, [rows_of(facts.columns, more)])
        size = f"{length} turbines"
        tasks = [*track.tasks(size, "turbines"), reason_task(facts, size, turbines.RULE_SET_1)]
        measured = measure("003 figure 10", tasks, scope.settings.repeat)
        measurements += measured
        remove, add, scratch = (cpu(m) for m in measured)
        rows.append([percent, add, remove, scratch])
    headings = ("insert", "delete", "from scratch")
    return Entry(
        "Data-incremental reasoning performance",
        "deletion takes longer than insertion (values in a picture)",
        f"{EXTRA[-1]} %: insert {_number(rows[-1][1]):.3f} s, delete {_number(rows[-1][2]):.3f} s,"
        f" from scratch {_number(rows[-1][3]):.3f} s",
        columns=[Column("% more turbines", COUNT), *(Column(heading, SECONDS) for heading in headings)],
        rows=rows,
        plots=[
            _lines("turbines-come-and-go", f"{base} turbines and more", headings, rows, "% more turbines")
        ],
        measurements=measurements,
    )


def _lines(name: str, title: str, labels: tuple[str, ...], rows: list[list[Cell]], x: str) -> Plot:
    xs = [row[0] for row in rows]
    series = [
        Series(label, xs, [_number(row[column]) for row in rows]) for column, label in enumerate(labels, 1)
    ]
    return Plot(name, title, "lines", series, x, "seconds", log_y=True)


def component_graph(scope: Scope, name: str) -> Entry:
    """Figures 11 and 12: the graph of components."""
    result = data(scope, name).close(turbines.RULE_SETS[name])
    components = result.components()
    nodes = {str(c.number): "\n".join(_short(node) for node in c.nodes) for c in components}
    given = {source: _short(source) for c in components for source in c.given}
    arrows = [[str(source), str(c.number)] for c in components for source in c.reads]
    arrows += [[source, str(c.number)] for c in components for source in c.given]
    graph = {
        "nodes": nodes | given,
        "given": sorted(given),
        "recursive": [str(c.number) for c in components if c.is_recursive],
        "arrows": arrows,
    }
    figure = {"RS2": 11, "RS3": 12}[name]
    title = f"Components of rule set {name[-1]}"
    return Entry(
        f"Rule set {name[-1]}'s dependency hypergraph",
        "14 hyper-nodes",
        f"{len(nodes)} components of predicates, {len(arrows)} arrows",
        notes=["Given relations are dashed; recursive components have a thick outline."],
        plots=[Plot(f"component-graph-{figure}", title, "graph", graph=graph)],
    )


_PICTURE = "a diagram without measurements; its rules are in a picture, not in the text"
PAPER = Paper(
    "003",
    "Xu, Curé: *ZodiacEdge: a Datalog Engine With Incremental Rule Set Maintenance* (2023)",
    "MacBook Pro, Intel Core i7 2.6 GHz, 6 cores, 16 GB",
    {
        "Figure 1": not_rebuilt("Running rule set example", "8 rules", "", _PICTURE),
        "Figure 2": not_rebuilt(
            "Rule dependency graph of the example", "8 nodes", "figures 11 and 12 show ours", _PICTURE
        ),
        "Figure 3": edits,
        "Figure 4": not_rebuilt(
            "Organisation of data stores and bags",
            "a diagram",
            "[architecture](architecture.md#facts): one relation for each predicate, in two orders",
            "a diagram without measurements",
        ),
        "Figure 5": not_rebuilt(
            "A rule-deletion example",
            "a diagram",
            "see figure 3; [live rules](live-rules.md)",
            "a diagram without measurements",
        ),
        "Table 1": table_1,
        "Figure 6": figure_6,
        "Figure 7": lambda scope: rule_changes(scope, 0),
        "Figure 8": lambda scope: rule_changes(scope, 1),
        "Table 2": lambda scope: negation(scope, 0),
        "Table 3": lambda scope: negation(scope, 1),
        "Figure 9": figure_9,
        "Figure 10": figure_10,
        "Figure 11": lambda scope: component_graph(scope, "RS2"),
        "Figure 12": lambda scope: component_graph(scope, "RS3"),
    },
)
