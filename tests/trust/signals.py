"""Real signals at any moment of a large store's life. ``python -m tests.trust.signals --help``.

Each process opens a folder, loads a university of 100,000 triples under OWL 2 RL, and goes on to change,
read, query and commit it, with a timer whose handler raises ``KeyboardInterrupt`` somewhere in it: in our
code, in kernels, in rdflib, lark, SQLite, in the first import of Numba and while it compiles. After each
interruption the explicit triples are those before the operation or those after it, as plain sets say; what
follows is what is derived from scratch; and at the end the folder holds what was committed.
"""

from __future__ import annotations

import argparse
import os
import random
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

Quads = frozenset[Any]

NEW = 3000
"""Triples that one operation adds."""

FIRST_SECONDS = {"open": 0.05, "first load": 4.0}
"""How long operations take, about, before one was measured; others a second."""


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--interruptions", type=int, default=400)
    parser.add_argument("--processes", type=int, default=20, help="each has its own first imports")
    parser.add_argument("--cold", type=int, default=3, help="processes that compile all kernels anew")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--child", nargs=2, metavar=("DATA", "FOLDER"), help="be one of these processes")
    given = parser.parse_args(arguments)
    if given.child:
        return Life(given.seed, *map(Path, given.child)).live(given.interruptions)
    counts: Counter[str] = Counter()
    started = time.perf_counter()
    with tempfile.TemporaryDirectory() as name:
        command = str(Path(sys.executable).with_name("corollary"))
        subprocess.run(
            [command, "generate", "university", "1", "-o", f"{name}/data"],
            check=True,
            stdout=subprocess.DEVNULL,
        )
        for number in range(given.processes):
            seed = given.seed * 1000 + number
            call = [sys.executable, "-m", "tests.trust.signals", "--seed", str(seed)]
            call += ["--interruptions", str(given.interruptions // given.processes)]
            call += ["--child", f"{name}/data", f"{name}/store-{number}"]
            cache = {"NUMBA_CACHE_DIR": f"{name}/cache-{number}"} if number < given.cold else {}
            done = subprocess.run(
                call, stdout=subprocess.PIPE, text=True, env=os.environ | cache, timeout=1800
            )
            if done.returncode:
                print(f"failed: --seed {seed} --child DATA FOLDER")
                return 1
            for line in done.stdout.splitlines():
                what, _, times = line.rpartition(" ")
                counts[what] += int(times)
    for what, total in sorted(counts.items()):
        print(f"{what:28} {total:6,}")
    took = time.perf_counter() - started
    print(f"{counts['interruptions']:,} interruptions in {took:.0f} s: nothing was lost")
    return 0


class Life:
    """A store that is interrupted again and again, and sets that say what it should hold."""

    def __init__(self, seed: int, data: Path, place: Path) -> None:
        self.chance = random.Random(seed)
        self.data, self.place = data, place
        self.counts: Counter[str] = Counter()
        self.took: dict[str, float] = {}
        self.first = dict(FIRST_SECONDS)
        self.number = 0
        self.model: Quads = frozenset()
        self.committed: list[Quads] = [frozenset()]

    def interrupt(self, name: str, work: Callable[[], object]) -> bool:
        """Do it, and be interrupted somewhere in the time that it takes. Whether that came in time."""

        def handler(*_: object) -> None:
            raise KeyboardInterrupt

        signal.signal(signal.SIGALRM, handler)
        begun = time.perf_counter()
        try:
            signal.setitimer(signal.ITIMER_REAL, max(self.chance.random() * self.seconds(name), 1e-5))
            work()
            signal.setitimer(signal.ITIMER_REAL, 0)
        except KeyboardInterrupt:
            self.counts["interruptions"] += 1
            self.counts[f"in {name}"] += 1
            if name not in self.took:  # it may take longer than was thought
                self.first[name] = 1.2 * self.seconds(name)
            return True
        self.took[name] = time.perf_counter() - begun
        return False

    def seconds(self, name: str) -> float:
        """How long an operation takes, about."""
        return self.took.get(name, self.first.get(name, 1.0))

    def live(self, interruptions: int) -> int:
        from rdflib import Graph, Namespace
        from rdflib.graph import DATASET_DEFAULT_GRAPH_ID

        from corollary.store import CorollaryStore

        self.ex = Namespace("http://example.org/")
        self.store = CorollaryStore(rules="owl2rl")
        while self.store.reasoner.versions.persistence() is None:
            self.interrupt("open", lambda: self.store.open(str(self.place), create=True))
        self.home = Graph(self.store, DATASET_DEFAULT_GRAPH_ID, bind_namespaces="none")
        self.named = Graph(self.store, self.ex.g, bind_namespaces="none")
        while len(self.store.explicit()) < 50_000:
            self.interrupt("first load", lambda: self.store.load(self.data))
        self.store.commit()
        self.model = self.quads()
        self.committed = [self.model]
        while self.counts["interruptions"] < interruptions:
            self.step()
        assert self.store.verify().is_sound
        self.store.rollback()
        committed = self.quads()
        assert committed in self.committed
        folder = self.store.reasoner.versions.persistence()
        assert folder is not None
        folder.close()  # as a process that ends
        self.store = CorollaryStore(rules="none")
        self.store.open(str(self.place))
        assert self.quads() == committed, "the folder holds something else"
        for what, count in self.counts.items():
            print(what, count)
        return 0

    def quads(self) -> Quads:
        """What the store holds."""
        version = self.store.reasoner.settled()
        terms = version.terms
        return frozenset(
            (terms[key >> 32], terms[predicate], terms[key & 0xFFFFFFFF], terms[graph])
            for graph, index in version.quads.graphs.items()
            for predicate, relation in index.relations()
            for key in relation.pairs().keys.tolist()
        )

    def step(self) -> None:
        """One operation, the sets after it, and a comparison."""
        name = self.chance.choice(OPERATIONS)
        self.number += 1
        work, after = getattr(self, name)()
        before = self.model
        was_interrupted = self.interrupt(name, work)
        self.model = self.quads()
        if name == "add":  # each is an operation of its own
            assert before <= self.model <= after, name
        else:
            assert self.model in ([before, after] if was_interrupted else [after]), name
        if name == "commit" or (name == "transaction" and self.model == after):
            is_certain = name == "transaction" or not was_interrupted
            self.committed = [after] if is_certain else [*self.committed, after]
        if name == "rollback" and not was_interrupted:
            self.committed = [self.model]
        self.check_closure()
        self.counts["states compared"] += 1

    def check_closure(self) -> None:
        """What follows is what is derived from scratch."""
        from corollary.evaluate import materialise

        version = self.store.reasoner.settled()
        result = version.state.materialisation
        assert result is not None
        scratch = materialise(version.quads.union, result.program, result.dictionary)
        for p in {*scratch.index.all_predicates(), *result.index.all_predicates()}:
            ours, theirs = (index.keys(p) for index in (result.index, scratch.index))
            assert ours.size == theirs.size and (ours == theirs).all(), result.dictionary.decode(p)

    # Operations: what to do, and what there is then

    def fresh(self, count: int = NEW) -> list[tuple[Any, Any, Any]]:
        from rdflib import RDF, Literal, URIRef

        student = URIRef("https://corollary.example/university#Student")
        node = [self.ex[f"x{self.number}-{n}"] for n in range(count)]
        return [
            (node[n], *((RDF.type, student), (self.ex.value, Literal(n)), (self.ex.next, node[n - 1]))[n % 3])
            for n in range(count)
        ]

    def add(self) -> tuple[Any, Quads]:
        triples = self.fresh(50)
        more = frozenset((*triple, self.home.identifier) for triple in triples)
        return lambda: [self.home.add(triple) for triple in triples], self.model | more

    def addN(self) -> tuple[Any, Quads]:
        triples = self.fresh()
        more = frozenset((*triple, self.ex.g) for triple in triples)
        return lambda: self.store.addN((*triple, self.named) for triple in triples), self.model | more

    def remove(self) -> tuple[Any, Quads]:
        predicate = self.chance.choice(sorted({self.ex.value, *(quad[1] for quad in self.model)}))
        left = frozenset(q for q in self.model if q[1] != predicate or q[3] != self.home.identifier)
        return lambda: self.home.remove((None, predicate, None)), left

    def clear(self) -> tuple[Any, Quads]:
        left = frozenset(quad for quad in self.model if quad[3] != self.ex.g)
        return lambda: self.named.remove((None, None, None)), left

    def load(self) -> tuple[Any, Quads]:
        from rdflib import Graph

        if not hasattr(self, "lines"):
            plain = Graph().parse(self.data / "university-1.nt", format="nt")
            self.lines = frozenset((*triple, self.home.identifier) for triple in plain)
        return lambda: self.store.load(self.data / "university-1.nt"), self.model | self.lines

    def read(self) -> tuple[Any, Quads]:
        return lambda: len(self.store), self.model

    def query(self) -> tuple[Any, Quads]:
        text = f"SELECT ?t (COUNT(*) AS ?n{self.number}) {{ ?x a ?t }} GROUP BY ?t"
        return lambda: list(self.home.query(text)), self.model

    def update(self) -> tuple[Any, Quads]:
        value, seen, digit = self.ex.value, self.ex.seen, str(self.number % 10)
        request = (
            f"DELETE {{ ?x <{value}> ?n }} INSERT {{ ?x <{seen}> ?n }} "
            f'WHERE {{ ?x <{value}> ?n FILTER(STRENDS(STR(?x), "{digit}")) }} ; CLEAR GRAPH <{self.ex.g}>'
        )
        home = self.home.identifier
        found = {q for q in self.model if q[1] == value and q[3] == home and q[0].endswith(digit)}
        left = {quad for quad in self.model - found if quad[3] != self.ex.g}
        return lambda: self.home.update(request), frozenset(left | {(s, seen, o, g) for s, _, o, g in found})

    def commit(self) -> tuple[Any, Quads]:
        return self.store.commit, self.model

    def rollback(self) -> tuple[Any, Quads]:
        *_, committed = self.committed
        if len(self.committed) > 1:  # an interrupted commit: the store knows whether it took place
            self.store.commit()
            self.committed = [self.model]
            return lambda: self.store.rollback(), self.model
        return lambda: self.store.rollback(), committed

    def transaction(self) -> tuple[Any, Quads]:
        triples = self.fresh()

        def work() -> None:
            with self.store.transaction():
                self.store.addN((*triple, self.named) for triple in triples)
                len(self.store)
                self.named.remove((None, self.ex.value, None))

        more = self.model | {(*triple, self.ex.g) for triple in triples}
        return work, frozenset(q for q in more if q[1] != self.ex.value or q[3] != self.ex.g)

    def rules(self) -> tuple[Any, Quads]:
        rule = (
            f"PREFIX : <{self.ex}> [?y, :before, ?x] :- [?x, :next, ?y] . [?x, :old, ?n] :- [?x, :seen, ?n] ."
        )
        change = self.store.add_rules if self.number % 2 else self.store.remove_rules
        return lambda: change(rule), self.model


OPERATIONS = (
    "add", "addN", "remove", "clear", "load", "read", "query",
    "update", "commit", "rollback", "transaction", "rules",
)  # fmt: skip


if __name__ == "__main__":
    sys.exit(main())
