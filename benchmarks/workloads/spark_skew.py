"""Facts with skew on partitions of Spark in local mode, against as many even ones.

Every predicate has an inverse, and is joined by its objects. So a term that many statements have as object is
the subject of as many inferred facts, and all their copies meet in one partition.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from benchmarks.measure import Demand, Outcome, Results, Settings, Task, measure
from numpy.typing import NDArray

from corollary.columns import TripleIndex
from corollary.language import RDF_TYPE, constant_text, parse_program
from corollary.loaders.encoded import save_encoded
from corollary.loaders.encoded_format import EncodedDataSet
from corollary.loaders.spark import materialise
from corollary.terms.dictionary import TermDictionary

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

PARTITIONS = 8
PREDICATES = 10
MOST_TIMES_EVEN = 2.0

RULES = "PREFIX : <http://e/> " + " ".join(
    f"[?y, :q{n}, ?x] :- [?x, :p{n}, ?y] . :Parent{n}[?x] :- [?x, :p{n}, ?y], :Person[?y] ."
    for n in range(PREDICATES)
)

EVEN = "even"
KINDS = EVEN, "predicate with 60 %", "object with 30 %", "subject with 30 %"


def measured(name: str, spark: SparkSession, folder: Path, settings: Settings) -> Results:
    """Close each kind of facts. ``processor`` among the stages has the seconds of all processes together."""
    results = Results()
    tasks = _tasks(spark, folder, 30_000 if settings.small else 3_000_000)
    results.measurements += measure(name, tasks, settings.repeat)
    used = {each.what: each.stages["processor"] for each in results.measurements}
    for kind in KINDS[1:]:
        text = f"{kind} of the facts: processor seconds, times those of even facts"
        results.demands.append(Demand(name, text, used[kind] / used[EVEN], MOST_TIMES_EVEN))
    return results


def _tasks(spark: SparkSession, folder: Path, size: int) -> list[Task]:
    program = parse_program(RULES)

    def closing(kind: str) -> Callable[[object], Outcome]:
        source = folder / kind.replace(" ", "-")
        _save(source, size, kind)

        def close(_: object) -> Outcome:
            before = _processor_seconds()
            target = str(folder / "closed")
            done = materialise(spark, str(source), target, program, files=PARTITIONS)
            stages = done.seconds | {"processor": _processor_seconds() - before}
            return Outcome(done.explicit + done.inferred, stages)

        return close

    return [
        Task(
            "Spark local[2]", kind, lambda: None, closing(kind), f"{size:,} statements", warm_up=kind == EVEN
        )
        for kind in KINDS
    ]


def _save(path: Path, size: int, kind: str) -> None:
    """Write statements of ten predicates between a fifth as many terms, a tenth of which are persons."""
    random, terms = np.random.default_rng(0), size // 5
    dictionary = TermDictionary()
    predicates = [dictionary.encode(f"<http://e/p{n}>") for n in range(PREDICATES)]
    rdf_type, person = (dictionary.encode(text) for text in (constant_text(RDF_TYPE), "<http://e/Person>"))
    first = dictionary.encode("<http://e/t0>")
    dictionary.encode_all([f"<http://e/t{n}>" for n in range(1, terms)])

    def drawn(most: int, share: float) -> NDArray[np.uint32]:
        """Numbers below a bound, the first of them with a share of its own."""
        found = random.integers(0, most, size, np.uint32)
        found[random.random(size) < share] = 0
        return found

    shares = [kind == other and float(other.split()[-2]) / 100 for other in KINDS[1:]]
    names = np.array(predicates, np.uint32)[drawn(PREDICATES, shares[0])]
    objects, subjects = (drawn(terms, share) + np.uint32(first) for share in shares[1:])
    persons = np.arange(0, terms, 10, dtype=np.uint32) + np.uint32(first)
    explicit = TripleIndex.from_columns(
        np.concatenate((subjects, persons)),
        np.concatenate((names, np.full(persons.size, rdf_type, np.uint32))),
        np.concatenate((objects, np.full(persons.size, person, np.uint32))),
    )
    save_encoded(path, EncodedDataSet(dictionary, explicit))


def _processor_seconds() -> float:
    """The processor seconds of this process and all that it started, from /proc."""
    parents: dict[int, int] = {}
    ticks: dict[int, int] = {}
    for pid in map(int, filter(str.isdigit, os.listdir("/proc"))):
        try:
            fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
        except OSError:  # it has ended
            continue
        parents[pid], ticks[pid] = int(fields[1]), sum(map(int, fields[11:15]))
    ours = {os.getpid()}
    while more := {pid for pid, parent in parents.items() if parent in ours} - ours:
        ours |= more
    return sum(ticks.get(pid, 0) for pid in ours) / os.sysconf("SC_CLK_TCK")
