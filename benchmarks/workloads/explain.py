"""Explanations of inferred facts on ten universities: a sample of every predicate and of every class.

Each fact is explained and printed through the store several times. Its time is the median.
"""

from __future__ import annotations

import random
import statistics
from collections import defaultdict
from collections.abc import Sequence
from time import perf_counter

from benchmarks.engine import ENGINE
from benchmarks.measure import Demand, Measurement, Results, Settings
from benchmarks.workloads.lubm import files
from rdflib import RDF
from rdflib.graph import _TripleType

from corollary.store import CorollaryStore

NAME = "explain"
TITLE = "explanations of inferred facts on ten universities"

WHAT = "explain and print an inferred fact"
PROFILES = ("owl2rl", "rdfs")
FACTS_OF_A_KIND = 12
MOST_MILLISECONDS = 50.0


def run(settings: Settings) -> Results:
    """Ten universities (one if small) under two profiles."""
    results = Results()
    with files(settings.corpus, 1 if settings.small else 10) as (size, paths):
        for profile in PROFILES:
            store = CorollaryStore(rules=profile)
            for path in paths:
                store.load(path)
            facts = sample(store)
            measured = explain_all(store, facts, f"{size}, {profile}", settings.repeat)
            results.measurements.append(measured)
            text = f"{measured.size}: the slowest of {len(facts)} explanations"
            results.demands.append(Demand(NAME, text, 1000 * measured.most, MOST_MILLISECONDS, "ms"))
    return results


def sample(store: CorollaryStore) -> list[_TripleType]:
    """At most ``FACTS_OF_A_KIND`` inferred facts of each predicate and of each class, in random order."""
    kinds = defaultdict(list)
    for triple in store.inferred():
        _, predicate, value = triple
        kinds[value if predicate == RDF.type else predicate].append(triple)
    draw = random.Random(0)
    chosen = [
        fact for facts in kinds.values() for fact in draw.sample(facts, min(len(facts), FACTS_OF_A_KIND))
    ]
    draw.shuffle(chosen)
    return chosen


def explain_all(store: CorollaryStore, facts: Sequence[_TripleType], size: str, repeat: int) -> Measurement:
    """The seconds of each fact. The measurement's ``facts`` is the number of rules in all proofs."""
    seconds, rules = [], 0
    for fact in facts:
        times = []
        for _ in range(repeat):
            started = perf_counter()
            explanation = store.explain(fact)
            assert str(explanation)
            times.append(perf_counter() - started)
        assert explanation.proofs, f"no proof of {fact}"
        rules += explanation.proofs[0].size
        seconds.append(statistics.median(times))
    return Measurement(NAME, size, ENGINE, WHAT, tuple(seconds), rules)
