"""A long life: random changes, transactions, rollbacks and rules on stores that live long, state by state.

``python -m tests.trust.states --states 100000``. After every step the triples are those of plain sets, and
what follows is what a naive evaluator derives. From time to time a store is committed to its folder, closed,
and opened again. The memory that the process takes is printed, and must not grow with the number of states.
"""

from __future__ import annotations

import argparse
import random
import resource
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from rdflib import RDF, RDFS, Graph
from rdflib.graph import DATASET_DEFAULT_GRAPH_ID
from tests.store.test_transactions import DOG, EX, SCHEMA, TRIPLE, Model, compare, play
from tests.trust import operations

from corollary.store import CorollaryStore

STEPS_OF_A_STORE = 2000
MOST_GROWTH = 1.3
"""How much more memory may be in use at the end than after the first fifth."""

TRIPLES = [
    SCHEMA,
    DOG,
    TRIPLE,
    (EX.Animal, RDFS.subClassOf, EX.Thing),
    (EX.Thing, RDFS.subClassOf, EX.Dog),
    (EX.p, RDFS.domain, EX.Dog),
    (EX.p, RDFS.subPropertyOf, EX.over),
    (EX.a, EX.over, EX.b),
    (EX.b, EX.over, EX.c),
    (EX.c, EX.over, EX.a),
    (EX.c, EX.p, EX.d),
    (EX.rex, EX["is"], EX.a),
    (EX.a, EX.owns, EX.rex),
    (EX.tom, RDF.type, EX.Dog),
]
GRAPHS = [DATASET_DEFAULT_GRAPH_ID, EX.g, EX.h]
PROGRAMS: list[Any] = ["rhodf", operations.STRATA, operations.STRATA, "none"]


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--states", type=int, default=100_000)
    parser.add_argument("--seed", type=int, default=0)
    given = parser.parse_args(arguments)
    operations.quiet()
    chance, started, states = random.Random(given.seed), time.perf_counter(), 0
    memory: list[int] = []
    while states < given.states:
        seed = chance.randrange(1 << 32)
        try:
            states += live(random.Random(seed), min(STEPS_OF_A_STORE, given.states - states))
        except BaseException as error:
            error.add_note(f"a store of seed {seed}")
            raise
        memory.append(in_use())
        if len(memory) % 5 == 0:
            print(
                f"{states:9,} states, {time.perf_counter() - started:6.0f} s, {memory[-1]:6,} MB", flush=True
            )
    assert memory[-1] <= MOST_GROWTH * memory[len(memory) // 5], memory
    print(f"{states:,} states in {time.perf_counter() - started:.0f} s: each as from scratch")
    return 0


def in_use() -> int:
    """Megabytes in use at most so far."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss >> 10


def live(chance: random.Random, steps: int) -> int:
    """The life of one store. How many states were compared."""
    with tempfile.TemporaryDirectory() as name:
        store, model = CorollaryStore(rules="rhodf"), Model()
        Graph(store).bind("ex", EX)
        place = Path(name) / "store" if chance.random() < 0.3 else None
        if place is not None:
            store.open(str(place), create=True)
        model.is_touched = place is not None
        committed = [model.copy()]
        for number in range(steps):
            model = play(store, [step(chance, 0)], model, committed, 0)
            del committed[:-1]
            if chance.random() < 0.9:  # sometimes several changes wait
                compare(store, model)
            operations._closures.clear() if number % 500 == 499 else None
            if place is not None and chance.random() < 0.01:
                rules = store.reasoner.versions.current().options.rules
                if chance.random() < 0.5:
                    store.close()
                else:
                    store.close(discard=True)
                    rules, model = model.rules, committed[-1].copy()
                    model.rules = rules
                store = CorollaryStore(rules=rules)
                store.open(str(place))
                committed = [model.copy()]
        if place is not None:
            store.close()
        return steps


def step(chance: random.Random, depth: int) -> tuple[Any, ...]:
    """A step for ``play``."""
    kind = chance.random()
    if kind < 0.65:
        verb = "add" if chance.random() < 0.55 else "remove"
        return verb, chance.choice(TRIPLES), chance.choice(GRAPHS)
    if kind < 0.70:
        return "clear", chance.choice(GRAPHS)
    if kind < 0.74:
        return "bind", chance.choice("ab")
    if kind < 0.78:
        return "graph", chance.choice(GRAPHS[1:])
    if kind < 0.82:
        return "rules", chance.choice(PROGRAMS)
    if kind < 0.90 or depth > 2:
        return (chance.choice(["read", "read", "commit", "compact", "rollback"]),)
    inner = [step(chance, depth + 1) for _ in range(chance.randrange(6))]
    return chance.choice(["transaction", "failing"]), inner


if __name__ == "__main__":
    sys.exit(main())
