"""A store on the disk beside pyoxigraph's: opening it and a first query, its size, commits of one triple.

Both stores have the same facts: pyoxigraph gets the materialisation as explicit facts. A store is opened and
asked many times in one process, so that code is loaded and kernels are compiled.

Each commit adds another triple that was left out of the data. ``commit`` returns when the triple is on the
disk; pyoxigraph's ``add`` is forced there by ``flush``. The yardstick is what the disk takes at least: one
append of 100 bytes, and one fsync. They take turns, commit by commit. pyoxigraph does not reason.

Two folders have closures of many facts: a chain of parts, and individuals that are all equal, each with a
value. They are opened, and all facts of the property are counted.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory
from time import perf_counter

import pyoxigraph
from benchmarks.engine import ENGINE, Facts
from benchmarks.measure import Demand, Measurement, Outcome, Results, Settings, Task, measure
from benchmarks.peers import content
from benchmarks.workloads.lubm import files
from rdflib import OWL, RDF, Graph

from corollary.loaders import write
from corollary.store import CorollaryStore

NAME = "folders"
TITLE = "a store on the disk: opening, size and single commits, beside pyoxigraph"

PYOXIGRAPH, DISK, WITHOUT_RULES = "pyoxigraph", "the disk", f"{ENGINE}, without rules"
OPEN, COMMIT = "open, first query", "commit of one triple"

UNIVERSITIES = 10
COMMITS = 200
CLOSED = {"chain": 100_000, "equal individuals": 10_000}
"""The sizes of the data sets with closures: 5 billion parts, and 100 million values."""

MOST_SECONDS_TO_OPEN = 0.05
MOST_OVER_PYOXIGRAPH = 1.0
MOST_OVER_DISK = 3.0


def run(settings: Settings) -> Results:
    """Universities of the corpus, if there is one, and of our own generator."""
    results = Results()
    number = 1 if settings.small else UNIVERSITIES
    for corpus in (None,) if settings.corpus is None else (settings.corpus, None):
        with files(corpus, number) as (size, paths), TemporaryDirectory() as name:
            _run_size(settings, size, paths, Path(name), results)
    for kind, number in CLOSED.items():
        with TemporaryDirectory() as name:
            _run_closure(settings, kind, number // 100 if settings.small else number, Path(name), results)
    return results


def _run_closure(settings: Settings, kind: str, number: int, folder: Path, results: Results) -> None:
    """Add the measurement and the demand of one data set with a closure to the results."""
    data, place, size = folder / "data.nt", folder / "store", f"{kind} of {number}"
    data.write_text("".join(_chain(number) if kind == "chain" else _equal(number)))
    _make(place, [data], "owl2rl")
    store = Opened(place, "SELECT (COUNT(*) AS ?n) { ?s <n:has> ?o }")
    (measured,) = measure(NAME, [store.task(size)], settings.repeat)
    store.close()
    results.measurements.append(measured)
    if not settings.small:
        text = f"{size}: open, and count the facts of the property"
        results.demands.append(Demand(NAME, text, measured.median, MOST_SECONDS_TO_OPEN, "s"))


def _chain(number: int) -> Iterator[str]:
    """A transitive property, and a chain of that many facts."""
    yield f"<n:has> <{RDF.type}> <{OWL.TransitiveProperty}> .\n"
    for part in range(number):
        yield f"<n:{part}> <n:has> <n:{part + 1}> .\n"


def _equal(number: int) -> Iterator[str]:
    """A chain of that many equal individuals, each with a value."""
    for one in range(number):
        yield f"<n:{one}> <{OWL.sameAs}> <n:{one + 1}> .\n"
        yield f'<n:{one}> <n:has> "{one}" .\n'


def _run_size(settings: Settings, size: str, paths: Sequence[Path], folder: Path, results: Results) -> None:
    """Add the measurements and demands of one data set to the results."""
    commits = 5 if settings.small else COMMITS
    rest, *lines = _parted(paths[1:], commits)
    data = folder / "data.nt"
    data.write_bytes(rest)
    place, plain, peer = folder / "corollary", folder / "plain", folder / "pyoxigraph"
    _make(place, [paths[0], data], "owl2rl")
    _make(plain, [paths[0], data], "none")
    if settings.peers:
        _make_peer(peer, Facts.of_files([paths[0], data]), folder / "closed.nt")
    query = f"SELECT ?p ?o {{ {lines[0].split()[0].decode()} ?p ?o }}"
    opened: list[Opened | PeerOpened] = [Opened(place, query)]
    if settings.peers:
        opened.append(PeerOpened(peer, query))
    measured = measure(NAME, [one.task(size) for one in opened], settings.repeat)
    for one in opened:
        one.close()
    ways = {
        ENGINE: _committing(place, lines, "owl2rl"),
        WITHOUT_RULES: _committing(plain, lines, "none"),
        DISK: _appending(folder / "appended"),
    }
    if settings.peers:
        ways[PYOXIGRAPH] = _flushing(peer, lines)
    committed = _in_turns(size, ways, commits)
    results.measurements += [*measured, *committed.values()]
    if settings.small:
        return
    results.demands.append(
        Demand(NAME, f"{size}: open and a first query", measured[0].median, MOST_SECONDS_TO_OPEN, "s")
    )
    ours = committed[ENGINE].median
    asked = [
        ("commit of one triple, over an append and fsync", ours / committed[DISK].median, MOST_OVER_DISK)
    ]
    if settings.peers:
        opening, size_on_disk = measured[0].median / measured[1].median, _bytes(place) / _bytes(peer)
        asked += [
            ("open and a first query, over pyoxigraph", opening, MOST_OVER_PYOXIGRAPH),
            ("bytes on the disk, over pyoxigraph", size_on_disk, MOST_OVER_PYOXIGRAPH),
            (
                "commit, over pyoxigraph's add and flush",
                ours / committed[PYOXIGRAPH].median,
                MOST_OVER_PYOXIGRAPH,
            ),
        ]
    results.demands += [Demand(NAME, f"{size}: {text}", value, bound) for text, value, bound in asked]


def _parted(paths: Sequence[Path], number: int) -> list[bytes]:
    """The lines of some files but for ``number`` of them, drawn at random, and then each of these."""
    lines = sorted({line for path in paths for line in content(path).splitlines(keepends=True)})
    apart = Random(1).sample(range(len(lines)), number)
    drawn = [lines[place] for place in apart]
    gone = set(drawn)
    return [b"".join(line for line in lines if line not in gone), *drawn]


def _make(place: Path, paths: Sequence[Path], rules: str) -> None:
    """A folder with the files, closed under the rules."""
    store = CorollaryStore(rules=rules)
    store.open(str(place), create=True)
    store.load(*paths)
    store.commit()
    store.close()


def _make_peer(place: Path, facts: Facts, closed: Path) -> None:
    """A store of pyoxigraph with all that follows from the facts, written to the file ``closed`` first."""
    write(closed, facts.close().index.columns(), facts.dictionary)
    store = pyoxigraph.Store(place)
    store.bulk_load(path=closed, format=pyoxigraph.RdfFormat.N_TRIPLES)
    store.optimize()
    store.flush()


class Opened:
    """A folder that is opened and asked in each run, and closed before the next one."""

    def __init__(self, place: Path, query: str) -> None:
        self._place, self._query = str(place), query
        self._store: CorollaryStore | None = None

    def task(self, size: str) -> Task:
        return Task(ENGINE, OPEN, self.close, self._run, size, warm_up=True)

    def close(self) -> None:
        if self._store is not None:
            self._store.close()
            self._store = None

    def _run(self, _: None) -> Outcome:
        self._store = CorollaryStore(rules="owl2rl")
        self._store.open(self._place)
        return Outcome(len(list(Graph(self._store).query(self._query))))


class PeerOpened:
    """As ``Opened``, for pyoxigraph. Its store is closed when the last reference to it is dropped."""

    def __init__(self, place: Path, query: str) -> None:
        self._place, self._query = place, query
        self._store: pyoxigraph.Store | None = None

    def task(self, size: str) -> Task:
        return Task(PYOXIGRAPH, OPEN, self.close, self._run, size, warm_up=True)

    def close(self) -> None:
        self._store = None

    def _run(self, _: None) -> Outcome:
        self._store = pyoxigraph.Store(self._place)
        found = self._store.query(self._query)
        assert isinstance(found, pyoxigraph.QuerySolutions)
        return Outcome(len(list(found)))


def _committing(place: Path, lines: Sequence[bytes], rules: str) -> Callable[[int], object]:
    """Add the triple of a line, and commit."""
    store = CorollaryStore(rules=rules)
    store.open(str(place))
    graph = Graph(store)
    triples = [next(iter(Graph().parse(data=line, format="nt"))) for line in lines]

    def go(turn: int) -> None:
        graph.add(triples[turn])
        graph.commit()

    return go


def _flushing(place: Path, lines: Sequence[bytes]) -> Callable[[int], object]:
    """Add the triple of a line to pyoxigraph's store, and flush it."""
    store = pyoxigraph.Store(place)
    quads = [next(iter(pyoxigraph.parse(line, pyoxigraph.RdfFormat.N_TRIPLES))) for line in lines]

    def go(turn: int) -> None:
        store.add(quads[turn])
        store.flush()

    return go


def _appending(place: Path) -> Callable[[int], object]:
    """Append 100 bytes to a file, and force them to the disk."""
    file, line = place.open("ab", buffering=0), bytes(100)

    def go(_: int) -> None:
        file.write(line)
        os.fsync(file.fileno())

    return go


def _in_turns(size: str, ways: dict[str, Callable[[int], object]], number: int) -> dict[str, Measurement]:
    """Time all ways of a commit in turns. The first tenth is not counted."""
    seconds: dict[str, list[float]] = {engine: [] for engine in ways}
    for turn in range(number):
        for engine, go in ways.items():
            started = perf_counter()
            go(turn)
            seconds[engine].append(perf_counter() - started)
    return {
        engine: Measurement(NAME, size, engine, COMMIT, tuple(times[number // 10 :]))
        for engine, times in seconds.items()
    }


def _bytes(folder: Path) -> int:
    return sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())
