"""Minutes of mixed changes and queries on one store: neither latency nor memory may grow.

The number of facts stays constant, while new terms are created all the time. A new thing gets the facts of an
existing one, a new name and a new label, and is removed later. Explicit triples are removed and added back.
Graphs, prefixes and rules are added and removed. The store is compacted twice in each tenth of the time.

Latency is CPU time relative to that of fixed work between the operations: other programs slow down both.
Every shape runs in its own process.
"""

from __future__ import annotations

import gc
import json
import math
import os
import random
import subprocess
import sys
import warnings
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory
from time import perf_counter, process_time
from typing import Any

import numpy as np
from benchmarks.machine import KEEPING, PROJECT
from benchmarks.measure import Demand, Results, Settings
from benchmarks.workloads.lubm import files
from numpy.typing import NDArray
from rdflib import OWL, RDF, RDFS, SKOS, Graph, Literal, Namespace, URIRef
from rdflib.term import Node

from corollary.reasoner.folder_place import DATABASE
from corollary.store import CorollaryStore, InferredTripleWarning

NAME = "soak"
TITLE = "minutes of changes, queries and rollbacks: as fast, and as small, at the end"

EX = Namespace("http://example.org/soak/")

MOST_GROWTH = 1.2
SMALL_MINUTES = 0.3
TENTHS = 10
COMPACTIONS = 2
"""Number of compactions of the store in each tenth of the time."""

THINGS = 200
"""Number of new individuals in the store at any time; also of the explicit triples that are removed."""

CONCEPTS = 3000
DEEP = 100
"""Length of a chain of narrower concepts; all other concepts are a tree."""

SCHEMA = (str(OWL), str(RDFS))
"""Namespaces of the schema. Its triples are not removed, so the number of inferred facts stays constant."""

Triple = tuple[Node, Node, Node]
Numbers = NDArray[np.float64]


def run(settings: Settings) -> Results:
    """One university in memory, and a thesaurus in a folder."""
    results = Results()
    minutes = SMALL_MINUTES if settings.small else settings.minutes
    for shape in SHAPES:
        command = [sys.executable, "-m", "benchmarks.workloads.soak", shape, str(minutes)]
        given = {name: value for name, value in os.environ.items() if name not in KEEPING}
        given |= {"CORPUS": str(settings.corpus)} if settings.corpus is not None else {}
        done = subprocess.run(command, cwd=PROJECT, env=given, stdout=subprocess.PIPE, check=True)
        report(json.loads(done.stdout), results)
    return results


def report(lived: dict[str, Any], results: Results) -> None:
    """Add demands and a note that compare the first and the last tenth of a life."""
    size, (first, *_, last) = lived["size"], lived["tenths"]
    texts = []
    for what, unit in UNITS.items():
        if what in first:
            text = f"{size}: {what}, last tenth over first"
            growth = last[what] / first[what]
            if unit == "ms":
                growth /= last[FIXED] / first[FIXED]
            results.demands.append(Demand(NAME, text, growth, MOST_GROWTH))
            texts.append(f"{what} {first[what]:.3g} {unit}, then {last[what]:.3g} {unit}")
    kinds = ", ".join(f"{kind} {count:,}" for kind, count in lived["kinds"].items())
    done = f"{lived['operations']:,} operations in {lived['minutes']:g} minutes"
    texts.append(f"{FIXED} {first[FIXED]:.3g} ms, then {last[FIXED]:.3g} ms")
    results.notes.append(f"{size}: {done} ({kinds}). {'; '.join(texts)}.")


UNITS = {"median latency": "ms", "99th percentile": "ms", "memory": "MB", "file": "MB"}
"""The figures of a tenth, and their units. Memory and file are maxima."""

FIXED = "fixed work"


# Shapes


@contextmanager
def university() -> Iterator[tuple[str, CorollaryStore]]:
    """One university, in memory."""
    corpus = os.environ.get("CORPUS")
    store = CorollaryStore()
    with files(Path(corpus) if corpus else None, 1) as (size, paths):
        store.load(*paths)
    yield size, store


@contextmanager
def thesaurus() -> Iterator[tuple[str, CorollaryStore]]:
    """A hierarchy of concepts, with its transitive closure, in a folder."""
    with TemporaryDirectory() as folder:
        store = CorollaryStore()
        store.open(folder, create=True)
        graph = Graph(store)
        graph.parse(data=_SKOS, format="turtle")
        for number in range(1, CONCEPTS):
            graph.add((EX[f"c{number}"], SKOS.broader, EX[f"c{broader(number)}"]))
            graph.add((EX[f"c{number}"], SKOS.prefLabel, Literal(f"concept {number}", lang="en")))
        store.commit()
        yield f"thesaurus of {CONCEPTS:,} in a folder", store
        store.close()


def broader(number: int) -> int:
    """The number of the concept above the given one."""
    if number <= DEEP:
        return number - 1
    place = number - DEEP
    return DEEP + place // 5 if place >= 5 else 0


_SKOS = """
@prefix skos: <http://www.w3.org/2004/02/skos/core#> . @prefix owl: <http://www.w3.org/2002/07/owl#> .
@prefix rdfs: <http://www.w3.org/2000/01/rdf-schema#> .
skos:broader rdfs:subPropertyOf skos:broaderTransitive ; owl:inverseOf skos:narrower .
skos:broaderTransitive a owl:TransitiveProperty ; rdfs:domain skos:Concept ; rdfs:range skos:Concept .
"""

SHAPES = {"university": university, "thesaurus": thesaurus}


# A life


@dataclass
class Life:
    """A store, the new things in it, and the explicit triples that are removed at present."""

    store: CorollaryStore
    chance: random.Random = field(default_factory=lambda: random.Random(0))

    def __post_init__(self) -> None:
        self.graph = Graph(self.store, next(iter(self.store.contexts())).identifier)
        everything = sorted(self.store.explicit())
        schema = {s for s, p, o in everything if any(str(term).startswith(SCHEMA) for term in (p, o))}
        self.explicit: list[Triple] = [triple for triple in everything if triple[0] not in schema]
        self.subjects = sorted({s for s, _, _ in self.explicit if isinstance(s, URIRef)})
        self.things: deque[URIRef] = deque()
        self.away: deque[Triple] = deque()
        self.number = 0

    def new_thing(self) -> tuple[URIRef, list[Triple]]:
        """A new thing, with the facts of an existing subject and a new label."""
        self.number += 1
        thing = EX[f"thing{self.number}"]
        like = self.store.triples((self.chance.choice(self.subjects), None, None), self.store.explicit())
        facts: list[Triple] = [(thing, p, o) for (_, p, o), _ in like]
        return thing, [*facts, (thing, RDFS.label, Literal(f"the thing of number {self.number}"))]

    def add(self) -> None:
        """Add a new thing triple by triple, and read it. Forgets the oldest thing if there are too many."""
        thing, facts = self.new_thing()
        for triple in facts:
            self.graph.add(triple)
        self.things.append(thing)
        assert set(facts) <= set(self.graph.triples((thing, None, None)))
        if len(self.things) > THINGS:
            self.forget()

    def forget(self) -> None:
        """Remove the oldest thing by a pattern, and read."""
        thing = self.things.popleft()
        self.graph.remove((thing, None, None))
        assert not list(self.graph.triples((thing, RDFS.label, None)))

    def remove(self) -> None:
        """Remove a random explicit triple. If too many are removed, the oldest of them is added back."""
        triple = self.chance.choice(self.explicit)
        self.graph.remove(triple)
        self.away.append(triple)
        if len(self.away) > THINGS:
            self.graph.add(self.away.popleft())
        len(self.graph)

    def look_up(self) -> None:
        subject = self.chance.choice(self.subjects)
        list(self.graph.triples((subject, None, None)))
        list(self.graph.triples((None, None, subject)))

    def query(self) -> None:
        """Evaluate a query with a new text, one with a known text, and one with initial bindings."""
        subject = self.chance.choice(self.subjects)
        list(self.graph.query(f"SELECT ?o ?n {{ <{subject}> ?p ?o OPTIONAL {{ ?o ?q ?n }} }} LIMIT 100"))
        list(self.graph.query("SELECT ?c (COUNT(?x) AS ?n) { ?x a ?c } GROUP BY ?c"))
        self.graph.query("ASK { ?x ?p ?y FILTER(STRLEN(STR(?y)) > 40) }", initBindings={"x": subject})

    def update(self) -> None:
        thing, facts = self.new_thing()
        triples = " . ".join(" ".join(term.n3() for term in triple) for triple in facts)
        self.graph.update(f"INSERT DATA {{ {triples} }}")
        self.graph.update(f"DELETE WHERE {{ <{thing}> ?p ?o }}")
        len(self.graph)

    def roll_back(self) -> None:
        try:
            with self.store.transaction():
                for triple in self.new_thing()[1]:
                    self.graph.add(triple)
                self.graph.remove(self.chance.choice(self.explicit))
                len(self.graph)
                raise KeyError
        except KeyError:
            len(self.graph)

    def commit(self) -> None:
        """Add a thing, and forget the oldest, in a transaction."""
        with self.store.transaction():
            self.add()

    def name_a_graph(self) -> None:
        thing, facts = self.new_thing()
        graph = Graph(self.store, EX[f"graph{self.number}"], bind_namespaces="none")
        self.store.addN((*triple, graph) for triple in facts)
        self.store.bind("soak", URIRef(EX[f"space{self.number}#"]))
        assert (thing, RDF.type, None) in graph or len(graph) == len(facts)
        self.store.remove_graph(graph)

    def explain(self) -> None:
        subject = self.chance.choice(self.subjects)
        for triple in list(self.store.inferred().triples((subject, None, None)))[:1]:
            str(self.store.explain(triple))

    def change_rules(self) -> None:
        self.number += 1
        name = EX[f"class{self.number}"].n3()
        added = self.store.add_rules(f"[?x, a, {name}] :- [?x, {RDFS.label.n3()}, ?y] .")
        len(self.graph)
        self.store.remove_rules(added)
        len(self.graph)

    def compact(self) -> None:
        before = len(self.graph)
        self.store.compact()
        assert len(self.graph) == before


WEIGHTS: dict[Callable[[Life], None], float] = {
    Life.add: 30,
    Life.remove: 20,
    Life.look_up: 20,
    Life.query: 10,
    Life.update: 3,
    Life.roll_back: 6,
    Life.commit: 6,
    Life.name_a_graph: 3,
    Life.explain: 2,
    Life.change_rules: 0.5,
}
"""The relative frequency of each kind of operation."""

APART = (Life.change_rules, Life.compact)
"""Operations that derive much or everything again: they do not count for the latency."""


def live(size: str, store: CorollaryStore, minutes: float) -> dict[str, Any]:
    """Run operations for ``minutes``. Returns counts, and the figures of each tenth of the operations."""
    life = Life(store)
    for kind in (*[Life.add, Life.remove] * 2 * THINGS, *[*WEIGHTS] * 10, Life.compact):
        kind(life)  # so that the first tenth has as much data as the last
    gc.collect()
    log: list[tuple[float, float, float, float]] = []
    kinds: dict[str, int] = {}
    compacted, began = 0, perf_counter()
    while (passed := (perf_counter() - began) / (60 * minutes)) < 1:
        is_due = compacted < int(passed * TENTHS * COMPACTIONS + 0.5)
        kind = Life.compact if is_due else life.chance.choices(list(WEIGHTS), list(WEIGHTS.values()))[0]
        compacted += is_due
        started = process_time()
        kind(life)
        spent = math.nan if kind in APART else process_time() - started
        log.append((spent, fixed_work(), resident(), kept_by(store)))
        kinds[kind.__name__] = kinds.get(kind.__name__, 0) + 1
    assert store.verify().is_sound
    tenths = [figures(*part.T) for part in np.array_split(np.array(log), TENTHS)]
    return {"size": size, "minutes": minutes, "operations": len(log), "kinds": kinds, "tenths": tenths}


def fixed_work() -> float:
    """The CPU time of constant work: objects, texts, and a sorted array."""
    started = process_time()
    texts = {f"{number}": number for number in range(2_000)}
    np.sort(np.fromiter((texts[text] * 7919 % 2_000 for text in texts), np.int64))
    return process_time() - started


def figures(spent: Numbers, fixed: Numbers, memory: Numbers, kept: Numbers) -> dict[str, float]:
    """The figures of some operations, from one array per column of the log."""
    found = {
        "median latency": 1000 * float(np.nanmedian(spent)),
        "99th percentile": 1000 * float(np.nanpercentile(spent, 99)),
        FIXED: 1000 * float(np.median(fixed)),
        "memory": float(memory.max()) / 1e6,
    }
    return found | ({"file": float(kept.max()) / 1e6} if kept.any() else {})


def kept_by(store: CorollaryStore) -> float:
    """The size of the store's file in bytes; 0 for a store in memory."""
    folder = store.reasoner.versions.persistence()
    return 0 if folder is None else (folder.place / DATABASE).stat().st_size


def resident() -> float:
    """The resident memory of the process in bytes. Linux only."""
    with open("/proc/self/statm") as stream:
        return int(stream.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")


if __name__ == "__main__":
    warnings.simplefilter("ignore", InferredTripleWarning)
    with SHAPES[sys.argv[1]]() as (made, one):
        print(json.dumps(live(made, one, float(sys.argv[2]))))
