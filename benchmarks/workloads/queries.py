"""The 14 LUBM queries over the materialisation under ``owl2rl``, and pyoxigraph on the same triples.

All answers are compared with the published ones before anything is timed. rdflib's evaluator over its Memory
store gets the queries that it answers in seconds.
"""

from __future__ import annotations

import csv
import gzip
from collections import Counter
from collections.abc import Callable, Iterable
from pathlib import Path
from time import perf_counter
from typing import Any

from benchmarks.engine import ENGINE
from benchmarks.measure import Demand, Measurement, Outcome, Results, Settings, Task, measure
from benchmarks.peers import content
from benchmarks.workloads.lubm import files
from benchmarks.workloads.store import MEMORY, in_memory, parsed, with_rules
from rdflib import Graph
from rdflib.plugins.sparql import prepareQuery

NAME = "queries"
TITLE = "the 14 LUBM queries under owl2rl, beside pyoxigraph"

QUERIES = range(1, 15)
TOO_MUCH_FOR_RDFLIB = (2, 8, 9)
"""Queries that take rdflib's evaluator minutes each."""

PYOXIGRAPH = "pyoxigraph"
MOST_OVER_PYOXIGRAPH = 3.0

ALL = "all 14 queries"
PARSE = "parse all 14 queries"

Ask = Callable[[str], Any]


def run(settings: Settings) -> Results:
    """One university."""
    results = Results()
    if settings.corpus is None:
        results.notes.append("queries: left out, LUBM's queries and answers are in the corpus")
        return results
    folder = settings.corpus / "lubm"
    with files(settings.corpus, 1) as (size, paths):
        graph = parsed(with_rules(), map(content, paths))
    texts = {number: query_text(folder, number) for number in QUERIES}
    right = sum(rows(graph.query(texts[number])) == published_rows(folder, number) for number in QUERIES)
    text = f"{size}: queries with exactly the published answers"
    results.demands.append(Demand(NAME, text, right, len(QUERIES), "of 14", at_least=True))
    tasks = [query_task(ENGINE, graph.query, texts, size), parse_task(texts, size)]
    if settings.peers:
        tasks.append(query_task(PYOXIGRAPH, oxigraph(graph).query, texts, size))
    results.measurements += measure(NAME, tasks, settings.repeat)
    if settings.peers and settings.slow:
        few = {number: text for number, text in texts.items() if number not in TOO_MUCH_FOR_RDFLIB}
        what = f"queries other than {', '.join(map(str, TOO_MUCH_FOR_RDFLIB))}"
        task = query_task(MEMORY, in_memory(graph).query, few, size, what)
        results.measurements += measure(NAME, [task], settings.repeat)
    results.demands += demands(size, {m.engine: m.median for m in results.measurements if m.what == ALL})
    results.notes += [each_query(m) for m in results.measurements if m.stages]
    return results


def demands(size: str, seconds: dict[str, float]) -> list[Demand]:
    """The demand on the time of all queries, if the peer was measured."""
    if PYOXIGRAPH not in seconds:
        return []
    ratio = seconds[ENGINE] / seconds[PYOXIGRAPH]
    return [Demand(NAME, f"{size}: {ALL}, over pyoxigraph", ratio, MOST_OVER_PYOXIGRAPH)]


def each_query(measured: Measurement) -> str:
    """A note: the times of the last run by query."""
    times = "; ".join(f"{name}: {seconds * 1000:.1f}" for name, seconds in measured.stages.items())
    return f"{measured.size}: milliseconds a query in the last run of {measured.engine}: {times}."


def query_text(folder: Path, number: int) -> str:
    """The text of a LUBM query."""
    return (folder / f"q{number}.rq").read_text("utf-8")


def published_rows(folder: Path, number: int) -> Counter[tuple[str, ...]]:
    """The published answers of a LUBM query for one university, as a bag of rows."""
    path = folder / "answers" / f"answers_query{number}.csv.gz"
    text = gzip.decompress(path.read_bytes()).decode()
    if text.startswith("NO ANSWERS"):
        return Counter()
    _, *found = csv.reader(text.split())
    return Counter(map(tuple, found))


def rows(result: Iterable[Any]) -> Counter[tuple[str, ...]]:
    """A result as a bag of rows, for comparison with the published answers."""
    return Counter(tuple(str(term) for term in row) for row in result)


def oxigraph(graph: Graph) -> Any:
    """A pyoxigraph store with all triples of a graph."""
    import pyoxigraph

    store = pyoxigraph.Store()
    lines = "".join(f"{s.n3()} {p.n3()} {o.n3()} .\n" for s, p, o in graph)
    store.bulk_load(lines.encode(), pyoxigraph.RdfFormat.N_TRIPLES)
    return store


def query_task(engine: str, ask: Ask, texts: dict[int, str], size: str, what: str = ALL) -> Task:
    """From the texts of queries, parsed before, to lists of rows of terms."""

    def run(_: None) -> Outcome:
        found, seconds = 0, {}
        for number, text in texts.items():
            started = perf_counter()
            found += len([tuple(row) for row in ask(text)])
            seconds[str(number)] = perf_counter() - started
        return Outcome(found, seconds)

    return Task(engine, what, lambda: None, run, size, warm_up=True)


def parse_task(texts: dict[int, str], size: str) -> Task:
    """The additional cost of new queries: rdflib's parser."""

    def run(_: None) -> Outcome:
        for text in texts.values():
            prepareQuery(text)
        return Outcome()

    return Task("rdflib", PARSE, lambda: None, run, size, warm_up=True)
