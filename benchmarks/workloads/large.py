"""Data as large as the machine allows: files closed into a snapshot, which another process opens and asks.

Sizes double from one to the next, as long as memory and disk are likely to suffice: so the results show
whether the cost is linear. Every step runs in a process of its own, whose memory and CPU time are reported.

Larger sizes are read from compressed files, and keep their arrays in scratch files (``--scratch``).
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from threading import Thread
from time import perf_counter, sleep
from typing import Any

from benchmarks.engine import ENGINE
from benchmarks.measure import Demand, Measurement, Results, Settings

from corollary.generators import generate
from corollary.kernels.memory import room

NAME = "large"
TITLE = "up to a hundred million triples: from files to a closed snapshot, opened and asked"

CLOSE, OPEN = "files to closed snapshot", "open, first query"
SIZES = {"university": (64, 128, 256, 512, 1024, 2048), "encyclopaedia": (64, 256)}
"""Parts of each kind: universities, of some 114,000 triples that become 334,000 facts, and volumes of an
encyclopaedia, of some 100,000 triples, with many more terms."""

BYTES_OF_TEXT, BYTES_OF_SNAPSHOT, BYTES_OF_MEMORY = 18_000_000, 9_000_000, 16_000_000
"""For each part, rounded up: its N-Triples, its share of the snapshot, the peak while it is closed."""

MOST_IN_MEMORY = 1024
"""Parts up to which all arrays are in memory."""

BYTES_COMPRESSED, BYTES_OF_SCRATCH, BYTES_BESIDE_SCRATCH = 600_000, 7_000_000, 6_000_000
"""For each part of a larger size, rounded up: its N-Triples, its scratch files, the memory beside these."""

SECONDS_BETWEEN_LOOKS = 0.1
"""Seconds between two readings of a process's memory."""

MOST_GROWTH = 1.3
MOST_BYTES_PER_FACT = 30.0
MOST_SECONDS, MOST_PRIVATE = 0.3, 300.0
"""Opening and a first query, in a process that has answered one before: seconds, and megabytes of its own."""

COMMAND = "from corollary.cli import main; main()"
ASK = """
import json, sys, time
from rdflib import Graph

def private():
    lines = (line.split() for line in open("/proc/self/smaps_rollup"))
    return sum(int(line[1]) for line in lines if line[0] == "Private_Dirty:") / 1000

def timed(work):
    started = time.perf_counter()
    found = work()
    return time.perf_counter() - started, found

warm = Graph(store="Corollary").parse(data="<a:a> a <a:b> .", format="turtle")
list(warm.query("SELECT ?x { ?x a <a:b> }"))
graph = Graph(store="Corollary")
place, *queries = sys.argv[1:]
seconds, _ = timed(lambda: graph.open(place))
answers = [(*timed(lambda: len(list(graph.query(query)))), private()) for query in queries]
print(json.dumps({"open": seconds, "facts": len(graph), "answers": answers}))
"""

PREFIXES = "PREFIX : <https://corollary.example/university#> PREFIX d: <https://corollary.example/data/u1/> "
OF_UNIVERSITIES = {
    "three of a class": "SELECT ?x { ?x a :FullProfessor } LIMIT 3",
    "all about one": "SELECT ?p ?o { <https://corollary.example/data/u1/d1/FullProfessor1> ?p ?o }",
    "members, with names": "SELECT ?x ?n { ?x :memberOf d:d2 ; :name ?n }",
    "star with an inferred type": "SELECT ?x ?c { ?x a :Student ; :takesCourse ?c ; :memberOf d:d2 }",
    "a path": "SELECT ?x { ?x :affiliatedWith/:subOrganizationOf* d:d2 } LIMIT 100",
    "members of a class": "SELECT (COUNT(*) AS ?n) { ?x a :Person }",
}
OF_ANY = {
    "three facts": "SELECT * { ?s ?p ?o } LIMIT 3",
    "predicates": "SELECT DISTINCT ?p { ?s ?p ?o }",
    "number of facts": "SELECT (COUNT(*) AS ?n) { ?s ?p ?o }",
    "classes and their sizes": "SELECT ?t (COUNT(*) AS ?n) { ?x a ?t } GROUP BY ?t",
}
QUERIES = {"university": OF_UNIVERSITIES | OF_ANY, "encyclopaedia": OF_ANY}


@dataclass(frozen=True, slots=True)
class Ended:
    """What a process printed, and what it took: seconds, CPU seconds, and its peak of memory in bytes.

    ``own``: the peak of what are no pages of files, as it was seen every SECONDS_BETWEEN_LOOKS.
    """

    printed: str
    seconds: float
    cpu: float
    peak: int
    own: int


def run(settings: Settings) -> Results:
    """Each size once: the larger ones take minutes."""
    results = Results()
    for kind, sizes in SIZES.items():
        closed = []
        for parts in (1, 2) if settings.small else sizes if settings.slow else sizes[:1]:
            with TemporaryDirectory() as name:
                lacking = _lacking(parts, Path(name))
                if lacking:
                    results.notes.append(f"{NAME}: {kind}, {parts} parts: left out, {lacking}")
                    break
                closed.append(_measured(kind, parts, Path(name), results))
        if len(closed) > 1 and not settings.small:
            first, last = (found.cpu[0] / (found.facts or 1) for found in (closed[0], closed[-1]))
            text = f"{kind}: CPU time a fact, {closed[-1].facts:,} facts over {closed[0].facts:,}"
            results.demands.append(Demand(NAME, text, last / first, MOST_GROWTH))
    return results


def _lacking(parts: int, folder: Path) -> str:
    """What is not there in sufficient amount; nothing if all is."""
    disk, memory = shutil.disk_usage(folder).free, room()
    is_small = parts <= MOST_IN_MEMORY
    of_files = BYTES_OF_TEXT if is_small else BYTES_COMPRESSED + BYTES_OF_SCRATCH
    if disk < parts * (of_files + BYTES_OF_SNAPSHOT):
        return f"{disk / 1e9:.0f} GB of disk are free"
    if memory is None or memory.left < parts * (BYTES_OF_MEMORY if is_small else BYTES_BESIDE_SCRATCH):
        return f"{memory.left / 1e9:.0f} GB of memory are free" if memory else "the free memory is not known"
    return ""


def _measured(kind: str, parts: int, folder: Path, results: Results) -> Measurement:
    """Generate, close and ask some parts in a folder. Returns the measurement of closing."""
    size, queries = f"{kind}, {parts} parts", QUERIES[kind]
    compression, options = ("", []) if parts <= MOST_IN_MEMORY else ("zst", ["--scratch", str(folder)])
    files = [str(path) for path in generate(parts, folder / "data", kind, compression=compression)]
    snapshot = folder / "closed.snapshot"
    closed = _ended("-c", COMMAND, "materialise", *files, "-o", str(snapshot), "--json", *options)
    summary = json.loads(closed.printed)
    shutil.rmtree(folder / "data")
    facts, written = summary["total"], snapshot.stat().st_size
    asked = _ended("-c", ASK, str(snapshot), *(PREFIXES + query for query in queries.values()))
    found = json.loads(asked.printed)
    assert found["facts"] == facts
    closing = _once(size, CLOSE, closed.seconds, facts, summary["seconds"], (closed.cpu,))
    results.measurements += [
        closing,
        _once(size, OPEN, found["open"] + found["answers"][0][0], facts),
        *(
            _once(size, what, seconds, rows)
            for what, (seconds, rows, _) in zip(queries, found["answers"], strict=True)
        ),
    ]
    first = found["answers"][0]
    results.demands += [
        Demand(NAME, f"{size}: bytes of the snapshot a fact", written / facts, MOST_BYTES_PER_FACT, "bytes"),
        Demand(NAME, f"{size}: open and a first query", found["open"] + first[0], MOST_SECONDS, "s"),
        Demand(NAME, f"{size}: memory of the process after it", first[2], MOST_PRIVATE, "MB"),
    ]
    results.notes.append(
        f"{NAME}: {size}: {summary['explicit']:,} explicit and {facts:,} facts; the peak of closing is "
        f"{closed.peak / 1e9:.2f} GB, {closed.peak / facts:.0f} bytes a fact, {closed.own / 1e9:.2f} GB "
        f"without pages of files, in {closed.cpu:.0f} s of CPU time; after all queries the process that asks "
        f"has {found['answers'][-1][2]:.0f} MB of its own"
    )
    return closing


def _once(
    size: str,
    what: str,
    seconds: float,
    facts: int,
    stages: dict[str, Any] | None = None,
    cpu: tuple[float, ...] = (),
) -> Measurement:
    return Measurement(NAME, size, ENGINE, what, (seconds,), facts, stages or {}, cpu)


def _ended(*arguments: str) -> Ended:
    """Run Python to its end. Raises CalledProcessError if it fails."""
    command: Sequence[str] = (sys.executable, *arguments)
    started = perf_counter()
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True) as process:
        assert process.stdout is not None
        seen = [0]
        Thread(target=_look, args=(process.pid, seen), daemon=True).start()
        printed = process.stdout.read()
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        raise subprocess.CalledProcessError(process.returncode, command)
    used = usage.ru_utime + usage.ru_stime
    return Ended(printed, perf_counter() - started, used, 1024 * usage.ru_maxrss, max(seen))


def _look(process: int, seen: list[int]) -> None:
    """Append to ``seen`` the bytes of a process that are no pages of files, until it ends."""
    while True:
        try:
            lines = Path(f"/proc/{process}/status").read_text().splitlines()
        except OSError:
            return
        found = [int(line.split()[1]) for line in lines if line.startswith("RssAnon:")]
        if not found:  # it has ended
            return
        seen.append(1024 * found[0])
        sleep(SECONDS_BETWEEN_LOOKS)
