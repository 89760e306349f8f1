"""SPARQL queries beside pyoxigraph, DuckDB and rdflib, on the same facts: universities and a market, closed.

A query is timed from its text to the list of its rows, as Python's terms, by the CPU time of all threads:
the median of the runs, engines in turns. Before that every engine answers it once. A peer does not repeat a
query that took ``ONCE_SECONDS``, and is ended after ``MOST_SECONDS``, which then is its time.

The rows are compared with pyoxigraph's, as multisets: numbers up to nine digits, because engines differ in
the digits of sums and quotients. Where LIMIT or SAMPLE, or SPARQL itself, leave a choice, only the number of
rows is compared.
"""

from __future__ import annotations

import math
import os
import pickle
import select
import signal
import statistics
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from tempfile import TemporaryDirectory
from time import perf_counter, process_time
from typing import Any

from benchmarks.engine import ENGINE
from benchmarks.measure import Demand, Measurement, Results, Settings
from benchmarks.placeholders import placeholders
from benchmarks.query_sets import Query, bsbm, lubm, own, sparqloscope
from benchmarks.workloads import lubm as universities
from benchmarks.workloads.store import MEMORY
from rdflib import BNode, Graph, Literal

from corollary.generators import generate, university
from corollary.kernels.limits import LimitExceeded, Limits
from corollary.loaders import write
from corollary.store import CorollaryStore

NAME = "sparql"
TITLE = "SPARQL queries of many kinds beside pyoxigraph"

PYOXIGRAPH = "pyoxigraph"

MARKET_PARTS = 52
"""Parts of the market: 5.2 million triples before the types above are inferred."""

MOST_SECONDS = 60
LIMITS = Limits(seconds=MOST_SECONDS)
ONCE_SECONDS = 2.0
"""A peer's query that takes longer is not repeated."""

MOST_ROWS_COMPARED = 200_000
MOST_FACTS_IN_MEMORY = 200_000
"""Facts up to which rdflib's Memory store is measured."""

NOISE = 1.05
QUICK_SECONDS = 0.001
MOST_GEOMETRIC_MEAN, MOST_SUM = 0.1, 0.15

NUMBERS = tuple(
    f"http://www.w3.org/2001/XMLSchema#{name}" for name in ("integer", "decimal", "double", "float")
)

UNORDERED = ("group-by-implicit-string-min", "group-by-implicit-string-max", "MIN and MAX of texts")
"""Queries for the least and greatest of strings. Those of the market have language tags, and SPARQL 1.1
(section 15.1) gives such strings no order: any of them may be the answer."""

Ask = Callable[[str], list[tuple[Any, ...]]]


@dataclass
class Answer:
    """One evaluation: CPU time and elapsed seconds, the number of rows, and the rows if they are compared.

    Rows that bind nothing do not count: rdflib's results leave them out.
    """

    cpu: float
    seconds: float
    size: int
    rows: Counter[tuple[str, ...]] | None = None


@dataclass
class Asked:
    """A query with the CPU times and elapsed seconds of every engine, and what was noticed about it."""

    query: Query
    rows: int = 0
    cpu: dict[str, list[float]] = field(default_factory=dict)
    seconds: dict[str, list[float]] = field(default_factory=dict)
    problem: str = ""

    def median(self, engine: str) -> float:
        return statistics.median(self.cpu[engine])

    @property
    def ratio(self) -> float:
        return self.median(ENGINE) / self.median(PYOXIGRAPH)

    @property
    def is_slower(self) -> bool:
        """Whether it takes more than pyoxigraph's time and the noise, and more than a millisecond."""
        return self.median(ENGINE) > max(NOISE * self.median(PYOXIGRAPH), QUICK_SECONDS)


def run(settings: Settings) -> Results:
    """Ten universities, and a market; one of each if small."""
    results = Results()
    for data, rules, left_open in ((_universities, "owl2rl", ()), (_market, "rhodf", UNORDERED)):
        with data(settings) as (size, paths, ask_for):
            graph = Graph(store=CorollaryStore(rules=rules))
            graph.store.load(*paths)  # type: ignore[attr-defined]
            _run_data(settings, size, graph, ask_for, left_open, results)
    return results


@contextmanager
def _universities(settings: Settings) -> Iterator[tuple[str, list[Path], Callable[[Any], list[Query]]]]:
    """Universities with LUBM's queries, if there is a corpus, and our own."""
    is_lubm = settings.corpus is not None
    names = {
        "UNIVERSITY": "http://swat.cse.lehigh.edu/onto/univ-bench.owl#" if is_lubm else university.ONTOLOGY,
        "DATA": "http://www.Department1." if is_lubm else f"{university.DATA}u1/d1/",
    }
    with universities.files(settings.corpus, 1 if settings.small else 10) as (size, paths):
        yield (
            size,
            paths,
            lambda values: [
                *([] if settings.corpus is None else lubm(settings.corpus)),
                *own("university", {**values, **names}),
            ],
        )


@contextmanager
def _market(settings: Settings) -> Iterator[tuple[str, list[Path], Callable[[Any], list[Query]]]]:
    """A market with BSBM's queries, if there is a corpus, and our own."""
    parts = 1 if settings.small else MARKET_PARTS
    with TemporaryDirectory() as folder:
        paths = generate(parts, folder, "market")
        yield (
            f"market-{parts}",
            paths,
            lambda values: [
                *([] if settings.corpus is None else bsbm(settings.corpus, parts)),
                *own("market", values),
            ],
        )


def _run_data(
    settings: Settings,
    size: str,
    graph: Graph,
    queries_of: Callable[[Any], list[Query]],
    left_open: Collection[str],
    results: Results,
) -> None:
    """All queries on one data set. Some of them have answers that are ``left_open``."""
    result = graph.store.reasoner.materialise()  # type: ignore[attr-defined]
    facts = len(graph)
    values = placeholders(result.index.legal(), result.dictionary, graph.query)
    queries = queries_of(values)
    if settings.corpus is not None:
        queries = [*sparqloscope(settings.corpus, values), *queries]
    queries = [replace(query, is_open=query.name in left_open) for query in queries]
    engines: dict[str, Ask] = {ENGINE: lambda text: rows(graph.query(text, limits=LIMITS))}
    if settings.peers:
        with TemporaryDirectory() as folder:
            path = Path(folder) / "closed.nt"
            write(path, result.index, result.dictionary)
            store = oxigraph(path)
            engines[PYOXIGRAPH] = lambda text: oxigraph_rows(store.query(text))
            if facts <= MOST_FACTS_IN_MEMORY:
                memory = Graph().parse(path, format="nt")
                engines[MEMORY] = lambda text: rows(memory.query(text))
    asked = [_asked(query, engines, settings) for query in queries]
    results.measurements += [m for entry in asked for m in _measurements(size, entry)]
    if settings.peers:
        results.demands += list(_demands(size, asked))
        results.notes += list(_notes(size, facts, asked))


def oxigraph(path: Path) -> Any:
    import pyoxigraph

    store = pyoxigraph.Store()
    store.bulk_load(path=path, format=pyoxigraph.RdfFormat.N_TRIPLES)
    return store


def rows(result: Any) -> list[tuple[Any, ...]]:
    """The rows of rdflib's result, also of one by Corollary."""
    return [(result.askAnswer,)] if result.type == "ASK" else list(result)


def oxigraph_rows(result: Any) -> list[tuple[Any, ...]]:
    import pyoxigraph

    if isinstance(result, pyoxigraph.QueryBoolean):
        return [(bool(result),)]
    return [tuple(row) for row in result]


def _asked(query: Query, engines: dict[str, Ask], settings: Settings) -> Asked:
    """All engines in turns. Peers answer in a process of their own first, which can be ended."""
    entry = Asked(query)
    answers = {
        engine: answered(ask, query) if engine == ENGINE else in_process(ask, query)
        for engine, ask in engines.items()
    }
    ours = answers[ENGINE]
    assert ours is not None, f"{query.name}: Corollary takes more than {MOST_SECONDS} seconds"
    entry.rows = ours.size
    entry.problem = _difference(ours, answers.get(PYOXIGRAPH))
    for engine, answer in answers.items():
        cpu = [MOST_SECONDS if answer is None else answer.cpu]
        elapsed = [MOST_SECONDS if answer is None else answer.seconds]
        entry.cpu[engine], entry.seconds[engine] = cpu, elapsed
    again = [engine for engine in engines if entry.cpu[engine][0] < ONCE_SECONDS or engine == ENGINE]
    for engine in again:
        entry.cpu[engine], entry.seconds[engine] = [], []
    for _ in range(settings.repeat):
        for engine in again:
            if sum(entry.cpu[engine]) > settings.repeat * ONCE_SECONDS:
                continue
            started, used = perf_counter(), process_time()
            engines[engine](query.text)
            entry.cpu[engine].append(process_time() - used)
            entry.seconds[engine].append(perf_counter() - started)
    return entry


def answered(ask: Ask, query: Query) -> Answer | None:
    """One evaluation, also with the rows if they can be compared; None if it takes too long."""
    started, used = perf_counter(), process_time()
    try:
        rows = ask(query.text)
    except LimitExceeded:
        return None
    cpu, seconds = process_time() - used, perf_counter() - started
    bound = [row for row in rows if any(term is not None for term in row)]
    answer = Answer(cpu, seconds, len(bound))
    if query.is_determined and len(bound) <= MOST_ROWS_COMPARED:
        answer.rows = Counter(tuple(map(_text, row)) for row in bound)
    return answer


def in_process(ask: Ask, query: Query) -> Answer | None:
    """As ``answered``, in a copy of this process, which is ended after ``MOST_SECONDS``."""
    reader, writer = os.pipe()
    child = os.fork()
    if not child:
        os.close(reader)
        try:
            found: Any = answered(ask, query)
        except Exception as problem:
            found = f"{type(problem).__name__}: {problem}"
        with os.fdopen(writer, "wb") as stream:
            pickle.dump(found, stream)
        os._exit(0)
    os.close(writer)
    with os.fdopen(reader, "rb") as stream:
        ready, _, _ = select.select([stream], [], [], MOST_SECONDS)
        found = pickle.load(stream) if ready else None
    if not ready:
        os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
    if isinstance(found, str):
        raise RuntimeError(f"{query.name}: {found}\n{query.text}")
    return found  # type: ignore[no-any-return]


def _text(term: Any) -> str:
    """A term as a text that is equal for all engines."""
    if term is None or isinstance(term, bool):
        return str(term)
    if hasattr(term, "toPython"):
        value = "_" if isinstance(term, BNode) else str(term)
        datatype = str(term.datatype or "") if isinstance(term, Literal) else ""
        language = str(term.language or "") if isinstance(term, Literal) else ""
    else:
        is_blank = type(term).__name__ == "BlankNode"  # it has no name that two engines share
        value = "_" if is_blank else term.value
        datatype = getattr(getattr(term, "datatype", None), "value", "")
        language = getattr(term, "language", None) or ""
    if datatype in NUMBERS:
        return f"{float(value):.8e}"
    return f"{value}@{language.lower()}" if language else value


def _difference(ours: Answer, theirs: Answer | None) -> str:
    """How the answers differ; empty if they do not, or if there is nothing to compare."""
    if theirs is None:
        return ""
    if ours.size != theirs.size:
        return f"{ours.size:,} rows instead of {theirs.size:,}"
    if ours.rows is None or theirs.rows is None or ours.rows == theirs.rows:
        return ""
    one, other = (next(iter(rows), ()) for rows in (ours.rows - theirs.rows, theirs.rows - ours.rows))
    return f"the row {one} instead of {other}"


def _measurements(size: str, entry: Asked) -> Iterator[Measurement]:
    what = f"{entry.query.group}: {entry.query.name}"
    for engine, cpu in entry.cpu.items():
        seconds = tuple(entry.seconds[engine])
        yield Measurement(NAME, size, engine, what, seconds, entry.rows, cpu=tuple(cpu))


def _demands(size: str, asked: list[Asked]) -> Iterator[Demand]:
    """The demands on the answers, on every query, and on all together."""
    yield Demand(NAME, f"{size}: answers that differ", sum(bool(e.problem) for e in asked), 0, "queries")
    slower = sum(entry.is_slower for entry in asked)
    text = f"{size}: queries that take more than 1 ms and more than pyoxigraph"
    yield Demand(NAME, text, slower, 0, f"of {len(asked)}")
    mean = math.exp(statistics.fmean(math.log(entry.ratio) for entry in asked))
    yield Demand(NAME, f"{size}: over pyoxigraph, geometric mean", mean, MOST_GEOMETRIC_MEAN)
    ours, theirs = (sum(entry.median(engine) for entry in asked) for engine in (ENGINE, PYOXIGRAPH))
    yield Demand(NAME, f"{size}: over pyoxigraph, the sum", ours / theirs, MOST_SUM)


def _notes(size: str, facts: int, asked: list[Asked]) -> Iterator[str]:
    """The groups in one line each, then every query that fails a demand."""
    lines = [f"{size}: {facts:,} facts, {len(asked)} queries; CPU time over pyoxigraph's by group:"]
    for group in dict.fromkeys(entry.query.group for entry in asked):
        entries = [entry for entry in asked if entry.query.group == group]
        mean = math.exp(statistics.fmean(math.log(entry.ratio) for entry in entries))
        worst = max(entries, key=lambda entry: entry.ratio)
        sums = (sum(entry.median(engine) for entry in entries) for engine in (ENGINE, PYOXIGRAPH))
        seconds = " s, pyoxigraph ".join(f"{value:.3f}" for value in sums)
        lines.append(
            f"- {group}, {len(entries)} queries: mean {mean:.3f}, at most {worst.ratio:.2f} "
            f"({worst.query.name}); all together {seconds} s"
        )
    yield "\n".join(lines)
    slower = [
        f"- {e.query.group}, {e.query.name}: {e.median(ENGINE) * 1e3:.1f} ms, pyoxigraph "
        f"{e.median(PYOXIGRAPH) * 1e3:.1f} ms"
        for e in sorted(asked, key=lambda entry: -entry.ratio)
        if e.is_slower
    ]
    if slower:
        yield "\n".join([f"{size}, slower than pyoxigraph:", *slower])
    wrong = [f"- {e.query.group}, {e.query.name}: {e.problem}" for e in asked if e.problem]
    if wrong:
        yield "\n".join([f"{size}, answers that differ from pyoxigraph's:", *wrong])
    yield from _of_memory(size, asked)


def _of_memory(size: str, asked: list[Asked]) -> Iterable[str]:
    measured = [entry for entry in asked if MEMORY in entry.cpu]
    if measured:
        ratios = [entry.median(ENGINE) / entry.median(MEMORY) for entry in measured]
        mean = math.exp(statistics.fmean(map(math.log, ratios)))
        yield f"{size}: over rdflib's Memory, geometric mean {mean:.4f}, at most {max(ratios):.3f}."
