"""OWL 2 RL on one and ten universities, compared with other reasoners and with sorting the result.

The data are the Lehigh University Benchmark's files (LUBM-1, LUBM-10) if there is a corpus, else universities
of Corollary's generator, whose ontology infers more.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

from benchmarks.engine import BUILD, ENGINE, REASON, SORT, Facts, build_task, reason_task, sort_task
from benchmarks.measure import Demand, Measurement, Results, Settings, measure
from benchmarks.peers import HAND_OUT, NO_TERMS, OWLRL, REASONABLE, owlrl_task, reasonable_tasks

from corollary.generators import generate
from corollary.loaders import read, write
from corollary.terms.dictionary import TermDictionary

NAME = "lubm"
TITLE = "universities under owl2rl: reasonable, owlrl and np.sort in the same run"

LEAST_OVER_REASONABLE = {1: 40.0, 10: 60.0}
LEAST_OVER_OWLRL = 1000.0
MOST_OVER_SORT = 25.0
MOST_GROWTH = 1.0


def run(settings: Settings) -> Results:
    """One university with all peers; ten without owlrl."""
    results = Results()
    per_fact: list[float] = []
    sizes = (1,) if settings.small else (1, 10)
    for number in sizes:
        with files(settings.corpus, number) as (size, paths):
            per_fact.append(_run_size(settings, number, size, paths, results))
    if len(per_fact) == 2:
        text = "seconds per inferred fact, ten universities over one"
        results.demands.append(Demand(NAME, text, per_fact[1] / per_fact[0], MOST_GROWTH))
    return results


@contextmanager
def files(corpus: Path | None, universities: int) -> Iterator[tuple[str, list[Path]]]:
    """A name for tables, and the N-Triples files of the given number of universities, ontology first."""
    if corpus is not None:
        folder = corpus / "lubm"
        yield f"lubm-{universities}", [folder / "univ-bench.nt.gz", folder / f"lubm-{universities}.nt.gz"]
        return
    with TemporaryDirectory() as name:
        turtle, *data = generate(universities, name)
        ontology = Path(name) / "university.nt"  # reasonable and owlrl read N-Triples
        dictionary = TermDictionary()
        write(ontology, read([turtle], dictionary), dictionary)
        yield f"university-{universities}", [ontology, *data]


def _run_size(settings: Settings, number: int, size: str, paths: Sequence[Path], results: Results) -> float:
    """Add the measurements and demands of one size to the results. Returns the seconds per inferred fact."""
    facts = Facts.of_files(paths)
    closed = facts.close()
    inferred = len(closed.index) - len(closed.explicit)
    tasks = [reason_task(facts, size), build_task(facts, size), sort_task(closed.index, size)]
    del closed
    measured = measure(NAME, tasks, settings.repeat)
    if settings.peers:
        # measured once more in turns with the peers, so that other load affects all of them
        with_peers = measure(NAME, [*tasks[:1], *reasonable_tasks(paths, size)], settings.repeat)
        measured = [_joined(measured[0], with_peers[0]), *measured[1:], *with_peers[1:]]
        if settings.slow and number == 1:
            measured += measure(NAME, [owlrl_task(paths, size)], 1)
    seconds = {(m.engine, m.what): m.median for m in measured}
    results.measurements += measured
    results.demands += demands(number, size, seconds)
    if settings.peers:
        alone = seconds[REASONABLE, NO_TERMS] - seconds[REASONABLE, HAND_OUT]
        results.notes.append(
            f"{size}: reasonable's reason() answers with rdflib terms, most of its time. Its engine takes"
            f" about {alone:.2f} s, {alone / seconds[ENGINE, REASON]:.1f} times as long as Corollary."
        )
    return measured[0].median / inferred


def _joined(one: Measurement, other: Measurement) -> Measurement:
    """Two measurements of the same task as one."""
    return Measurement(*one.key, one.seconds + other.seconds, other.facts, other.stages)


def demands(number: int, size: str, seconds: dict[tuple[str, str], float]) -> list[Demand]:
    """The demands on that size, as far as they were measured."""
    reason, build = seconds[ENGINE, REASON], seconds[ENGINE, BUILD]
    found = []
    if (REASONABLE, REASON) in seconds:
        ratio = seconds[REASONABLE, REASON] / reason
        text = f"{size}: faster than reasonable"
        found.append(Demand(NAME, text, ratio, LEAST_OVER_REASONABLE[number], at_least=True))
    if (OWLRL, REASON) in seconds:
        ratio = seconds[OWLRL, REASON] / reason
        found.append(Demand(NAME, f"{size}: faster than owlrl", ratio, LEAST_OVER_OWLRL, at_least=True))
    if number == 10:
        ratio = (build + reason) / seconds["numpy", SORT]
        text = f"{size}: building the index and reasoning, over sorting the result"
        found.append(Demand(NAME, text, ratio, MOST_OVER_SORT))
    return found
