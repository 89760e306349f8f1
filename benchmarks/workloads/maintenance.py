"""Changes under owl2rl on one and ten universities: single triples through the store, and shares of all data.

The universities are LUBM's, if there is a corpus, and those of Corollary's generator, whose facts have more
derivations each. Both have the same demands.

Triples are drawn uniformly from the data; the ontology does not change. A single update is timed from ``add``
or ``remove`` to the end of the first read after it, which includes all reasoning. Every update has another
triple. ``reasonable`` and owlrl have no incremental maintenance, so they are timed from scratch.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from random import Random
from time import perf_counter

from benchmarks.changes import ADD, METHODS, REMOVE, START_OVER, Track, drawn
from benchmarks.engine import ENGINE, Facts
from benchmarks.measure import Demand, Measurement, Outcome, Results, Settings, Task, measure
from benchmarks.peers import content, owlrl_task, reasonable_tasks
from benchmarks.workloads.lubm import files
from rdflib import Graph
from rdflib.term import Node

from corollary.loaders import read
from corollary.maintain import AUTOMATIC
from corollary.profiles import load_profile
from corollary.store import CorollaryStore

NAME = "maintenance"
TITLE = "changes under owl2rl: single triples through the store, 1 to 50 % of the data; peers start over"

UPDATES = 200
PERCENT = (1, 5, 10, 50)
FEW_PERCENT = PERCENT[:2]
"""The shares of the further data sets."""

MATERIALISE = METHODS[START_OVER]
FROM_SCRATCH = "index and materialise"
REMOVE_ONE, ADD_ONE = "remove one triple", "add one triple"

MOST_MS = 1.0
MOST_GROWTH = 2.0
LEAST_FASTER = 5.0
LEAST_FASTER_REMOVING_MORE = 2.0
MOST_REMOVAL_OVER_ADDITION = 2.0
MOST_OVER_STARTING_OVER = 1.5

Triple = tuple[Node, Node, Node]


def run(settings: Settings) -> Results:
    """Single updates on one and ten universities in turns, then shares of ten universities, and the peers."""
    numbers = (1,) if settings.small else (1, 10)
    corpora = (None,) if settings.corpus is None else (settings.corpus, None)
    results = Results()
    for corpus in corpora:
        is_first = corpus is corpora[0]
        graphs: list[Updated] = []
        batches: list[Measurement] = []
        peers: list[Measurement] = []
        for number in numbers:
            with files(corpus, number) as (size, paths):
                graphs.append(Updated.of(size, paths, 5 if settings.small else UPDATES))
                if number == numbers[-1]:
                    batches = measure_shares(size, paths, settings, PERCENT if is_first else FEW_PERCENT)
                if settings.peers and is_first:
                    peers += measure_peers(size, paths, number, settings)
        singles = single_updates(graphs)
        results.measurements += [*singles, *batches, *peers]
        if not settings.small:
            results.demands += [*single_demands(singles), *share_demands(batches)]
        results.notes += [against(peer, singles) for peer in peers]
    return results


@dataclass(frozen=True, slots=True)
class Updated:
    """A graph, the triples to add to it, and the triples to remove from it."""

    size: str
    graph: Graph
    to_add: Sequence[Triple]
    to_remove: Sequence[Triple]

    @staticmethod
    def of(size: str, paths: Sequence[Path], updates: int) -> Updated:
        """The graph of the files (ontology first) without the triples of the data that are to be added."""
        lines = sorted({line for path in paths[1:] for line in content(path).splitlines(keepends=True)})
        some = Random(1).sample(lines, 2 * updates)
        to_add, to_remove = (
            list(Graph().parse(data=b"".join(part), format="nt")) for part in (some[:updates], some[updates:])
        )
        store = CorollaryStore(rules="owl2rl")
        store.load(*paths)
        graph = Graph(store)
        for triple in to_add:
            graph.remove(triple)
        return Updated(size, graph, to_add, to_remove)


def single_updates(graphs: Sequence[Updated]) -> list[Measurement]:
    """Time adding and removing one triple, in turns over all graphs. The first tenth is not counted."""
    seconds: dict[tuple[str, str], list[float]] = {}
    for updated in graphs:
        len(updated.graph)

    def time(updated: Updated, what: str, change: Callable[[Triple], object], triple: Triple) -> None:
        started = perf_counter()
        change(triple)
        len(updated.graph)
        seconds.setdefault((updated.size, what), []).append(perf_counter() - started)

    for turn in range(len(graphs[0].to_add)):
        for updated in graphs:
            time(updated, ADD_ONE, updated.graph.add, updated.to_add[turn])
            time(updated, REMOVE_ONE, updated.graph.remove, updated.to_remove[turn])
    facts = {updated.size: len(updated.graph) for updated in graphs}
    return [
        Measurement(NAME, size, ENGINE, what, tuple(times[len(times) // 10 :]), facts[size])
        for (size, what), times in seconds.items()
    ]


def measure_shares(
    size: str, paths: Sequence[Path], settings: Settings, percents: Sequence[int]
) -> list[Measurement]:
    """Remove shares of the data, and add them back."""
    facts = Facts.of_files(paths)
    data = read(paths[1:], facts.dictionary)
    found: list[Measurement] = []
    scratch = Task(ENGINE, FROM_SCRATCH, lambda: None, lambda _: Outcome(len(facts.close().index)), size)
    for percent in percents:
        changes = drawn(data, data[0].size * percent // 100, settings.repeat + 1)
        tracks = (
            Track(facts, load_profile("owl2rl"), changes, strategy) for strategy in (AUTOMATIC, START_OVER)
        )
        tasks = [task for track in tracks for task in track.tasks(size, f"{percent} %")]
        if percent == percents[0]:
            tasks.append(scratch)
        found += measure(NAME, tasks, settings.repeat)
    return found


def measure_peers(size: str, paths: Sequence[Path], number: int, settings: Settings) -> list[Measurement]:
    """The peers' times from scratch: ``reasonable``, and owlrl for one university."""
    tasks = reasonable_tasks(paths, size)[:2]  # loading, and reasoning over what was loaded
    (*_, reason) = measure(NAME, tasks, settings.repeat)
    if settings.slow and number == 1:
        return [reason, *measure(NAME, [owlrl_task(paths, size)], 1)]
    return [reason]


def single_demands(measured: Sequence[Measurement]) -> list[Demand]:
    """Demands on single updates: milliseconds at the last size, and growth from the first."""
    seconds = {(m.size, m.what): m.median for m in measured}
    first, last = measured[0].size, measured[-1].size
    return [
        *(
            Demand(NAME, f"{last}: {what}, median", 1000 * seconds[last, what], MOST_MS, "ms")
            for what in (ADD_ONE, REMOVE_ONE)
        ),
        *(
            Demand(
                NAME, f"{what}: {last} over {first}", seconds[last, what] / seconds[first, what], MOST_GROWTH
            )
            for what in (ADD_ONE, REMOVE_ONE)
        ),
    ]


def share_demands(measured: Sequence[Measurement]) -> list[Demand]:
    """Demands on shares: against materialising from scratch, removal against addition, against starting over.

    From scratch includes building the index of explicit facts. Starting over has this index already.
    """
    size = measured[0].size
    seconds = {(m.engine, m.what): m.median for m in measured}
    percents = [percent for percent in PERCENT if (ENGINE, f"{REMOVE} {percent} %") in seconds]
    from_scratch = seconds[ENGINE, FROM_SCRATCH]

    def over(what: str) -> float:
        return seconds[ENGINE, what] / seconds[MATERIALISE, what]

    def faster(what: str, than: str, others: float, least: float) -> Demand:
        text = f"{size}: {what}: faster than {than}"
        return Demand(NAME, text, others / seconds[ENGINE, what], least, at_least=True)

    removal, addition = f"{REMOVE} {PERCENT[0]} %", f"{ADD} {PERCENT[0]} %"
    demands = [
        faster(what, than, others, LEAST_FASTER)
        for what in (removal, addition)
        for than, others in (
            ("starting over", seconds[MATERIALISE, what]),
            ("from scratch", from_scratch),
        )
    ]
    more = f"{REMOVE} {FEW_PERCENT[1]} %"
    demands.append(faster(more, "from scratch", from_scratch, LEAST_FASTER_REMOVING_MORE))
    ratio = seconds[ENGINE, removal] / seconds[ENGINE, addition]
    text = f"{size}: {removal}, over adding them back"
    demands.append(Demand(NAME, text, ratio, MOST_REMOVAL_OVER_ADDITION))
    demands += [
        Demand(NAME, f"{size}: {what}, over starting over", over(what), MOST_OVER_STARTING_OVER)
        for percent in percents
        for what in (f"{REMOVE} {percent} %", f"{ADD} {percent} %")
    ]
    return demands


def against(peer: Measurement, singles: Sequence[Measurement]) -> str:
    """A note: the time of a peer from scratch over that of a single update."""
    times = ", ".join(f"{m.what}: {peer.median / m.median:,.0f}" for m in singles if m.size == peer.size)
    return f"{peer.size}: {peer.engine} starts over; times as long as Corollary needs to {times}."
