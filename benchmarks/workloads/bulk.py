"""Bulk loading: N-Triples from disk to a sorted index, compared with pyoxigraph; encoded data sets; memory.

*Load* is the time from files on disk (in the system's cache) to a queryable state: terms in the dictionary,
all facts in both orders, by subject and by object. For pyoxigraph it is the time of ``Store().bulk_load``.
"""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from tempfile import TemporaryDirectory

import pyoxigraph
from benchmarks.engine import ENGINE
from benchmarks.measure import Demand, Outcome, Results, Settings, Task, measure
from benchmarks.peers import content
from benchmarks.workloads.lubm import files

from corollary.generators import generate
from corollary.loaders import EncodedDataSet, read_index, save_encoded
from corollary.store import CorollaryStore
from corollary.terms.dictionary import TermDictionary

NAME = "bulk"
TITLE = "N-Triples and encoded data sets from disk, beside pyoxigraph's bulk_load"

PYOXIGRAPH = "pyoxigraph"
LOAD, LOAD_STORE, LOAD_ENCODED, SAVE_ENCODED = "load", "store.load", "load_encoded", "save_encoded"

LEAST_OVER_PYOXIGRAPH = 4.0
MOST_GROWTH = 1.5
MOST_BYTES = 60.0
MOST_PEAK = 120.0
LEAST_ENCODED_RATE = 5.0

UNIVERSITIES = 10
MANY, FEW = 88, 9
"""Numbers of universities with about ten million triples, and with about one million."""

VOLUMES = 10


def run(settings: Settings) -> Results:
    """Ten universities of the corpus, then one and ten million generated triples, then an encyclopaedia."""
    results = Results()
    with TemporaryDirectory() as name:
        folder = Path(name)
        _universities(settings, folder, results)
        _growth(settings, folder, results)
        _encyclopaedia(settings, folder, results)
    return results


def _universities(settings: Settings, folder: Path, results: Results) -> None:
    with files(settings.corpus, 1 if settings.small else UNIVERSITIES) as (size, packed):
        paths = [folder / path.name.removesuffix(".gz") for path in packed]
        for path, source in zip(paths, packed, strict=True):
            path.write_bytes(content(source))
    tasks = [load_task(paths, size), store_task(paths, size)]
    if settings.peers:
        tasks.append(pyoxigraph_task(paths, size))
    measured = measure(NAME, tasks, settings.repeat)
    results.measurements += measured
    if settings.peers:
        ratio = measured[2].median / measured[0].median
        text = f"{size}: faster than pyoxigraph's bulk_load"
        results.demands.append(Demand(NAME, text, ratio, LEAST_OVER_PYOXIGRAPH, at_least=True))
    results.demands += memory_demands(paths, size)


def _growth(settings: Settings, folder: Path, results: Results) -> None:
    """Universities at two sizes; the larger one also as an encoded data set."""
    few, many = (1, 2) if settings.small else (FEW, MANY)
    _, *paths = generate(many, folder / "many")
    sizes = [f"{few} universities", f"{many} universities"]
    tasks = [load_task(paths[:few], sizes[0]), load_task(paths, sizes[1])]
    measured = measure(NAME, tasks, settings.repeat)
    results.measurements += measured
    one, ten = (measurement.median / (measurement.facts or 1) for measurement in measured)
    text = f"seconds a triple, {measured[1].facts:,} triples over {measured[0].facts:,}"
    results.demands.append(Demand(NAME, text, ten / one, MOST_GROWTH))
    results.demands += memory_demands(paths, sizes[1])
    saved, loaded = measure(NAME, encoded_tasks(paths, folder / "set", sizes[1]), settings.repeat)
    results.measurements += saved, loaded
    rate = (loaded.facts or 0) / loaded.median / 1e6
    text = f"load_encoded of {loaded.facts:,} facts"
    results.demands.append(Demand(NAME, text, rate, LEAST_ENCODED_RATE, "million/s", at_least=True))


def _encyclopaedia(settings: Settings, folder: Path, results: Results) -> None:
    number = 1 if settings.small else VOLUMES
    paths = generate(number, folder / "encyclopaedia", "encyclopaedia")
    size = f"encyclopaedia, {number} volumes"
    tasks = [load_task(paths, size)]
    if settings.peers:
        tasks.append(pyoxigraph_task(paths, size))
    results.measurements += measure(NAME, tasks, settings.repeat)


def load_task(paths: Sequence[Path], size: str) -> Task:
    """From files to a dictionary and an index with both orders."""

    def run(_: None) -> Outcome:
        index = read_index(paths, TermDictionary())
        for predicate in index.predicates():
            assert index.relation(predicate).pairs().by_object.size
        return Outcome(index.fact_count())

    return Task(ENGINE, LOAD, lambda: None, run, size, warm_up=True)


def store_task(paths: Sequence[Path], size: str) -> Task:
    """From files to an rdflib store that infers nothing."""

    def run(store: CorollaryStore) -> Outcome:
        count = store.load(*paths)
        store.commit()
        return Outcome(count)

    return Task(ENGINE, LOAD_STORE, lambda: CorollaryStore(rules="none"), run, size)


def pyoxigraph_task(paths: Sequence[Path], size: str) -> Task:
    """From files to pyoxigraph's in-memory store."""

    def run(_: None) -> Outcome:
        store = pyoxigraph.Store()
        for path in paths:
            store.bulk_load(path=path, format=pyoxigraph.RdfFormat.N_TRIPLES)
        return Outcome(len(store))

    return Task(PYOXIGRAPH, LOAD, lambda: None, run, size)


def encoded_tasks(paths: Sequence[Path], place: Path, size: str) -> list[Task]:
    """Writing an encoded data set, and loading it into an rdflib store."""
    dictionary = TermDictionary()
    index = read_index(paths, dictionary)
    data, facts = EncodedDataSet(dictionary, index), index.fact_count()

    def save(data: EncodedDataSet) -> Outcome:
        save_encoded(place, data)
        return Outcome(facts)

    def load(store: CorollaryStore) -> Outcome:
        loaded = store.load_encoded(place)
        store.commit()
        return Outcome(loaded)

    return [
        Task(ENGINE, SAVE_ENCODED, lambda: data, save, size, warm_up=True),
        Task(ENGINE, LOAD_ENCODED, lambda: CorollaryStore(rules="none"), load, size, warm_up=True),
    ]


MEASURE_MEMORY = """
import json, re, sys
from corollary.kernels import compiled
from corollary.loaders import read_index, reading
from corollary.terms.dictionary import TermDictionary

def memory(name):
    with open("/proc/self/status") as stream:
        return 1024 * int(re.search(name + r":\\s+(\\d+)", stream.read())[1])

compiled.MIN_ELEMENTS_TO_COMPILE, reading.MIN_BYTES_TO_COMPILE = -1, 0
with open("first.nt", "w") as stream:
    stream.write("<a:a> <a:b> <a:c> .\\n")
read_index(["first.nt"], TermDictionary())  # the kernels are there now
with open("/proc/self/clear_refs", "w") as stream:
    stream.write("5")  # the peak begins anew
before = memory("VmRSS")
dictionary = TermDictionary()
index = read_index(sys.argv[1:], dictionary)
pairs = [relation.pairs() for _, relation in index.relations()]
kept = dictionary.memory() + sum(one.keys.nbytes + one.by_object.nbytes for one in pairs)
print(json.dumps([index.fact_count(), kept, before, memory("VmHWM")]))
"""
"""Loads files in a new process. Prints triples, bytes kept, and bytes of the process before and at peak."""


def memory_demands(paths: Sequence[Path], size: str) -> list[Demand]:
    """Bytes per triple: kept at the end, and the largest growth of the process while loading. Linux only."""
    with TemporaryDirectory() as folder:
        command = [sys.executable, "-c", MEASURE_MEMORY, *map(str, paths)]
        done = subprocess.run(command, cwd=folder, check=True, capture_output=True, text=True)
    triples, kept, before, peak = json.loads(done.stdout)
    return [
        Demand(NAME, f"{size}: bytes kept a triple, terms and both orders", kept / triples, MOST_BYTES, "B"),
        Demand(NAME, f"{size}: most bytes a triple while loading", (peak - before) / triples, MOST_PEAK, "B"),
    ]
