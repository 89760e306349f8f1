"""Changes of rules: the experiments of ZodiacEdge (Xu and Curé 2023, section 6).

Its figures 7 and 8 remove groups of rules from rule set 2 and add them back, its tables 2 and 3 from rule set
3. Here single rules are changed, too. Its figure 9 changes the symmetry and the transitivity of rule set 1,
and a fact, its figure 10 turbines. Maintenance is compared with materialising the result from scratch. The
cost of removing a leaf rule, whose conclusions no other rule reads, should not depend on the data.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
from benchmarks import turbines
from benchmarks.changes import Track, rows_of
from benchmarks.engine import Facts, reason_task
from benchmarks.measure import Demand, Results, Settings, measure
from benchmarks.programs import ADD, REMOVE, Case, RuleTrack, without

from corollary.language import Program

NAME = "rules"
TITLE = "ZodiacEdge's rule sets: rules come and go, followed and from scratch"

GROUPS: dict[str, tuple[tuple[str, ...], ...]] = {
    "RS1": tuple((f"r{number}",) for number in range(1, 7)),
    "RS2": (("r10", "r15", "r17"), ("r10", "r15", "r18"), *((f"r{number}",) for number in range(1, 19))),
    "RS3": (("r6",), ("r10",)),
}
LEAVES = {"RS1": ("r6",), "RS2": ("r17", "r18"), "RS3": ()}

LONG = 4
"""Leaf rules are also measured on chains 4 times as long, with 16 times the facts."""

LEAST_GAIN = 1.0
"""Where maintenance starts over, it does the same work as from scratch, and the ratio scatters around 1."""

MOST_LEAF_MS = 2.0
MOST_SECONDS = 1.0


def run(settings: Settings) -> Results:
    """All groups of rules over all data; then changes of facts."""
    results = Results()
    slowest = 0.0
    for name, size, facts in data(settings):
        program = turbines.RULE_SETS[name]
        found = {group: case(facts, program, group, size, settings) for group in GROUPS[name]}
        slowest = max(slowest, *(m.median for c in found.values() for m in c.scratch))
        for each in found.values():
            results.measurements += each.measurements
            results.notes += [each.note] if each.note else []
        results.demands += demands(size, found)
        results.demands += leaf_demands(size, {leaf: found[leaf,] for leaf in LEAVES[name]})
    results.demands.append(Demand(NAME, "from scratch, at most", slowest, MOST_SECONDS, "s"))
    if not settings.small:
        lengths = tuple(LONG * length for length in turbines.CHAINS)
        size = f"RS2, {sum(lengths):,} turbines"
        facts = turbines.chains(lengths)
        leaves = {r: case(facts, turbines.RULE_SET_2, (r,), size, settings) for r in LEAVES["RS2"]}
        results.measurements += [m for each in leaves.values() for m in each.measurements]
        results.demands += leaf_demands(size, leaves)
    follow_facts(settings, results)
    return results


def data(settings: Settings) -> Iterator[tuple[str, str, Facts]]:
    """The rule sets with their data, and the name of both in tables."""
    for length in (20,) if settings.small else (50, 100, 200, 400):
        yield "RS1", f"RS1, {length} turbines", turbines.chain(length)
    lengths = (12, 10, 10, 8) if settings.small else turbines.CHAINS
    for name in ("RS2", "RS3"):
        yield name, f"{name}, {sum(lengths)} turbines", turbines.chains(lengths)


def case(facts: Facts, program: Program, group: Sequence[str], size: str, settings: Settings) -> Case:
    """The measurements of one group of rules."""
    track = RuleTrack(facts, program, without(program, group))
    return track.case(NAME, size, ", ".join(group), settings.repeat)


def demands(size: str, cases: dict[tuple[str, ...], Case]) -> list[Demand]:
    """Demand that maintenance is not slower than from scratch for any group of rules."""
    found = []
    for position, what in enumerate((ADD, REMOVE)):
        worst = min(cases, key=lambda group: cases[group].gains[position])
        text = f"{size}, {what} rules: from scratch over following, at worst ({', '.join(worst)})"
        value = cases[worst].gains[position]
        found.append(Demand(NAME, text, value, LEAST_GAIN, at_least=True))
    return found


def leaf_demands(size: str, cases: dict[str, Case]) -> list[Demand]:
    """Demand that the cost of removing a leaf rule is negligible. Adding it derives its conclusions."""
    return [
        Demand(NAME, f"{size}, {REMOVE} leaf {rule}", 1000 * each.followed[1].median, MOST_LEAF_MS, "ms")
        for rule, each in cases.items()
    ]


def follow_facts(settings: Settings, results: Results) -> None:
    """Remove a fact of a chain and add it back; the same for the last turbines of another chain."""
    lengths = (20,) if settings.small else (50, 100, 200, 400)
    for length in lengths:
        facts = turbines.chain(length)
        track_facts(facts, f"RS1, {length} turbines", np.array([length // 2]), "a fact", settings, results)
    base = 20 if settings.small else 200
    for percent in (10, 30, 50):
        length = base + base * percent // 100
        more = np.concatenate((np.arange(base - 1, length - 1), np.arange(length - 1 + base, 2 * length - 1)))
        size = f"RS1, {length} turbines"
        track_facts(turbines.chain(length), size, more, f"{length - base} turbines", settings, results)


def track_facts(
    facts: Facts,
    size: str,
    rows: np.ndarray[tuple[int], np.dtype[np.int64]],
    what: str,
    settings: Settings,
    results: Results,
) -> None:
    """Measure removing some rows of the facts, adding them back, and materialising from scratch."""
    track = Track(facts, turbines.RULE_SET_1, [rows_of(facts.columns, rows)])
    tasks = [*track.tasks(size, what), reason_task(facts, size, turbines.RULE_SET_1)]
    results.measurements += measure(NAME, tasks, settings.repeat)
    if note := track.note():
        results.notes.append(f"{size}, {what}: {note}")
