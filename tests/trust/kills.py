"""Kill a process that writes to a folder, at any moment, and see what the folder then holds.

``python -m tests.trust.kills --kills 1000 --seed 0`` is the long form.

1. A *story* is an endless sequence of commits, drawn from its number. ``Model`` replays it with plain sets.
2. A *worker* performs a story on a folder, and reports the number of each commit that has returned. It writes
   its *phase* into memory that it shares with this process.
3. This process waits until the worker enters a certain phase, waits for a random part of the time that the
   phase took last, and sends SIGKILL. The phase of death counts, not the one that was aimed at.
4. A *checker* opens the folder. The folder holds the state after the last reported commit or the one after it
   (exactly the former if the process died before COMMIT), is sound, and what follows is right.
5. The next worker goes on in the same folder. If SQLite has left a hot journal, every second time there is no
   checker in between, and the next worker is killed while its opening rolls the journal back.

Workers and checkers are forks of this process, which imports everything once, starts no thread, and opens no
folder. The schedule of the kills is the machine's, so a seed gives the stories and the aims again, and not
the failure. A failure therefore names a copy of the folder as the kill left it, and a command that checks it.
"""

from __future__ import annotations

import argparse
import mmap
import os
import random
import shutil
import signal
import sqlite3
import sys
import tempfile
import threading
import time
import traceback
import warnings
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from enum import IntEnum
from functools import partial
from pathlib import Path
from typing import Any
from unittest.mock import patch

from rdflib import RDF, RDFS, XSD, BNode, Graph, Literal, Namespace, URIRef
from rdflib.graph import DATASET_DEFAULT_GRAPH_ID
from rdflib.store import NO_STORE, VALID_STORE
from rdflib.term import Node
from tests.trust.operations import Seen, seen

from corollary.kernels import compiled
from corollary.kernels.limits import Progress
from corollary.language import CorollaryError
from corollary.reasoner import commit_log, folder, folder_rows
from corollary.reasoner.commit_log import LOG, CommitLog
from corollary.reasoner.folder import Folder
from corollary.reasoner.folder_place import DATABASE
from corollary.store import CorollaryStore

EX = Namespace("http://example.org/")
GRAPHS: tuple[URIRef, ...] = (DATASET_DEFAULT_GRAPH_ID, EX.g, EX.h, EX.i)
CLASSES = [EX[f"Class{n}"] for n in range(8)]
NUMBER = (EX.story, EX.commits)
"""Subject and predicate of the triple that says how many commits there were."""

LIFE = 3
"""Commits between the addition of a triple and its removal."""

LONGEST_STORY = 50
"""Commits into one folder. Then a new one is begun: the dictionary grows, and with it the time of a check."""

JOURNAL = f"{DATABASE}-journal"
HOT = bytes.fromhex("d9d505f920a163d7")
"""How a journal begins that SQLite must roll back; after COMMIT the journal begins with zeros."""

NOTHING = -1
"""The number of commits where there is no store yet; 0 where there is one and it is empty."""

LONGEST_WAIT = 120.0
"""Seconds until a worker must have come to a phase; it takes some milliseconds."""

LONG_FORM = 500
"""Kills. A run with at least this many fails if it leaves out what the two shares below demand."""

SHARE_HOT = 1 / 10
"""Share of the kills that must leave a new hot journal, not one that an earlier kill had left."""

SHARE_IN_PHASE = 1 / 50
"""Share of the kills that must come in each of: write, commit, compaction, checkpoint, open, close."""

Quad = tuple[Node, Node, Node, URIRef]
Step = tuple[str, Any, Any]


class Phase(IntEnum):
    """What a worker is doing."""

    BETWEEN = 0
    CREATE = 1
    OPEN = 2
    RECOVERY = 3
    WRITE = 4
    COMMIT = 5
    COMPACTION = 6
    COMPACTION_COMMIT = 7
    CLOSE = 8
    CLOSE_COMMIT = 9
    CHECKPOINT = 10
    CHECKPOINT_COMMIT = 11
    LOG = 12


TITLES = {
    Phase.WRITE: "write",
    Phase.COMMIT: "commit",
    Phase.LOG: "log",
    Phase.COMPACTION: "compaction: rows",
    Phase.COMPACTION_COMMIT: "compaction: COMMIT",
    Phase.CHECKPOINT: "checkpoint: its file",
    Phase.CHECKPOINT_COMMIT: "checkpoint: COMMIT",
    Phase.CREATE: "open: a new folder",
    Phase.OPEN: "open",
    Phase.RECOVERY: "open: hot journal",
    Phase.CLOSE: "close",
    Phase.CLOSE_COMMIT: "close: its commit",
    Phase.BETWEEN: "changes in memory",
}
AIMS = [phase for phase in TITLES if phase not in (Phase.BETWEEN, Phase.RECOVERY)]
IN_DATABASE = (Phase.WRITE, Phase.COMMIT, Phase.COMPACTION, Phase.COMPACTION_COMMIT)
BEFORE_COMMIT = (Phase.WRITE, Phase.COMPACTION)


class Failure(Exception):
    """The store did not keep its promise, or the harness did not come to test it."""


# Stories


@dataclass(frozen=True)
class Commit:
    """Steps, and how they are committed."""

    steps: list[Step]
    in_transaction: bool
    by_closing: bool
    reopens: bool
    rolls_back_first: bool
    compacts: bool


@dataclass(frozen=True)
class Story:
    """A sequence of commits, numbered from 1."""

    seed: int
    number: int

    @property
    def rules(self) -> str:
        return "rhodf" if self.number % 2 else "none"

    def _chance(self, *what: object) -> random.Random:
        return random.Random(f"{self.seed} {self.number} {what}")

    def commit(self, number: int) -> Commit:
        chance = self._chance("commit", number)
        steps: list[Step] = []
        if chance.random() < 0.05:
            steps.append(("remove graph", chance.choice(GRAPHS[1:]), None))
        steps.append(("remove", self._quads(number - LIFE), None))
        steps.append(("remove", [_counter(number - 1)], None))
        steps.append(("add", [_counter(number), *self._quads(number)], None))
        if chance.random() < 0.2:
            steps.append(("bind", f"p{chance.randrange(4)}", EX[f"space{chance.randrange(6)}/"]))
        if chance.random() < 0.2:
            steps.append(("add graph", EX[f"empty{chance.randrange(6)}"], None))
        by_closing = chance.random() < 0.25
        return Commit(
            steps,
            in_transaction=not by_closing and chance.random() < 0.4,
            by_closing=by_closing,
            reopens=chance.random() < 0.2,
            rolls_back_first=chance.random() < 0.1,
            compacts=chance.random() < 0.1,
        )

    def _quads(self, number: int) -> list[Quad]:
        """What a commit adds, and a later one removes."""
        if number < 1:
            return []
        chance = self._chance("quads", number)
        size = chance.choice((0, 3, 3, 20, 100))
        is_known = chance.random() < 0.5  # few new terms make many small rows, which are compacted
        quads: list[Quad] = []
        if chance.random() < 0.2:
            quads.append((EX.story, EX.text, Literal(f"{number}" * 2000), EX.g))
        for n in range(size):
            graph = chance.choice(GRAPHS)
            name = EX[f"x{n % 10}" if is_known else f"x{number}.{n}"]
            match chance.randrange(4):
                case 0:
                    quads.append((name, RDF.type, chance.choice(CLASSES), graph))
                case 1:
                    one, other = chance.choice(CLASSES), chance.choice(CLASSES)
                    quads.append((one, RDFS.subClassOf, other, graph))
                case 2:
                    value = Literal(n) if is_known else Literal(f"{number} {n}", lang="en")
                    quads.append((name, EX[f"p{n % 3}"], value, graph))
                case 3:
                    node = BNode(f"node{n % 10}")
                    quads.append((node, EX[f"p{n % 3}"], Literal(f"{n}", datatype=XSD.token), graph))
        return quads


def _counter(number: int) -> Quad:
    return (*NUMBER, Literal(number), DATASET_DEFAULT_GRAPH_ID)


class Model:
    """What a store holds after some commits of a story, in plain sets."""

    def __init__(self, story: Story) -> None:
        self.story = story
        self.number = 0
        self.quads: set[Quad] = set()
        self.graphs: set[Node] = set()
        self.prefixes: dict[str, URIRef] = {}

    def go_to(self, number: int) -> None:
        while self.number < number:
            self.number += 1
            for step in self.story.commit(self.number).steps:
                self._perform(step)

    def _perform(self, step: Step) -> None:
        match step:
            case "add", quads, _:
                self.quads.update(quads)
                self.graphs.update(graph for *_, graph in quads)
            case "remove", quads, _:
                self.quads.difference_update(quads)
            case "remove graph", name, _:
                self.quads = {quad for quad in self.quads if quad[3] != name}
                self.graphs.discard(name)
            case "add graph", name, _:
                self.graphs.add(name)
            case "bind", prefix, namespace:  # one to one: whichever was bound before is so no more
                self.prefixes = {p: n for p, n in self.prefixes.items() if p != prefix and n != namespace} | {
                    prefix: namespace
                }

    def differences(self, found: Seen) -> list[str]:
        """How a state that was found differs."""
        quads, graphs, prefixes, _, inferred = found
        default = {DATASET_DEFAULT_GRAPH_ID}  # is there or not, and holds nothing if it is empty
        return [
            f"{name}: lacks {sorted(map(str, lacks))[:3]}, has {sorted(map(str, has))[:3]} beyond"
            for name, lacks, has in (
                ("quads", self.quads - quads, quads - self.quads),
                ("graphs", self.graphs - graphs - default, graphs - self.graphs - default),
                ("prefixes", self.prefixes.items() - prefixes, prefixes - self.prefixes.items()),
                ("inferred triples", self.inferred() - inferred, inferred - self.inferred()),
            )
            if lacks or has
        ]

    def inferred(self) -> set[tuple[Node, ...]]:
        """What subclasses entail, beyond what is explicit."""
        if self.story.rules == "none":
            return set()
        explicit = {quad[:3] for quad in self.quads}
        above: dict[Node, set[Node]] = {}
        for s, p, o in explicit:
            if p == RDFS.subClassOf:
                above.setdefault(s, set()).add(o)
        for _ in above:  # no path without a cycle is longer than that
            for classes in above.values():
                classes.update(*(above.get(middle, ()) for middle in list(classes)))
        closed: set[tuple[Node, ...]] = {(s, RDFS.subClassOf, o) for s in above for o in above[s]}
        closed |= {(s, p, c) for s, p, o in explicit if p == RDF.type for c in above.get(o, ())}
        return closed - explicit


# Phases


class Board:
    """Memory that processes share: the phase, how often each was entered, and its recent duration in µs.

    The duration is the longest one, less 1/4 for each shorter one after it: kills come late in a phase, too.
    """

    def __init__(self) -> None:
        self._slots = memoryview(mmap.mmap(-1, mmap.PAGESIZE)).cast("I")
        for phase in Phase:
            self._slots[len(Phase) + phase] = 10_000
        self.begin()

    @property
    def phase(self) -> Phase:
        return Phase(self._slots[-1])

    def entries(self, phase: Phase) -> int:
        return self._slots[phase]

    def microseconds(self, phase: Phase) -> int:
        return self._slots[len(Phase) + phase]

    def begin(self) -> None:
        """Note that a worker begins."""
        self._since = time.perf_counter_ns()
        self._slots[-1] = Phase.BETWEEN

    def enter(self, phase: Phase) -> None:
        """End the phase that there is, and begin another, or go back to it."""
        now = time.perf_counter_ns()
        latest, before = (now - self._since) // 1000, self.microseconds(self.phase)
        self._slots[len(Phase) + self.phase] = max(latest, before - before // 4)
        self._since = now
        self._slots[-1] = phase
        self._slots[phase] += 1

    @contextmanager
    def during(self, phase: Phase) -> Iterator[None]:
        before = self.phase
        self.enter(phase)
        try:
            yield
        finally:
            self.enter(before)


def mark(board: Board, *, small_cache: bool, journal: bool, checkpoints: bool, logs: bool) -> None:
    """Replace what opens, writes and closes a folder in this process by what also says so on the board."""
    init, read, write, close = Folder.__init__, Folder.read, Folder._write, CorollaryStore.close
    checkpoint, append, here = Folder._checkpoint, CommitLog.append, threading.local()

    def marked_init(self: Folder, place: Path, **options: Any) -> None:
        file = place / DATABASE
        phase = Phase.OPEN if file.is_file() and file.stat().st_size else Phase.CREATE
        with board.during(Phase.RECOVERY if is_hot(place) else phase):
            init(self, place, **options)

    def marked_read(self: Folder, *arguments: Any) -> Any:
        with board.during(Phase.OPEN):
            return read(self, *arguments)

    def marked_write(self: Folder, *arguments: Any, **options: Any) -> None:
        if getattr(here, "is_checkpoint", False):
            write(self, *arguments, **options)
            return
        with board.during(Phase.CLOSE_COMMIT if board.phase is Phase.CLOSE else Phase.WRITE):
            write(self, *arguments, **options)

    def marked_append(self: CommitLog, line: bytes) -> None:
        with board.during(Phase.LOG):
            append(self, line)

    def marked_checkpoint(self: Folder, progress: Progress) -> None:
        here.is_checkpoint = True
        with board.during(Phase.CHECKPOINT):
            checkpoint(self, progress)
        here.is_checkpoint = False

    def marked_close(self: CorollaryStore, *arguments: Any, **options: Any) -> None:
        with board.during(Phase.CLOSE):
            close(self, *arguments, **options)

    class Marked(sqlite3.Connection):
        def execute(self, sql: str, *arguments: Any) -> sqlite3.Cursor:
            match board.phase, sql.split()[0]:
                case Phase.WRITE | Phase.CLOSE_COMMIT, "BEGIN":
                    if small_cache:  # then pages go to the database before COMMIT
                        super().execute("PRAGMA cache_size = 5")
                    if not journal:
                        super().execute("PRAGMA journal_mode = OFF")
                case Phase.WRITE, "DELETE":
                    board.enter(Phase.COMPACTION)
                case Phase.WRITE, "COMMIT":
                    board.enter(Phase.COMMIT)
                case Phase.COMPACTION, "COMMIT":
                    board.enter(Phase.COMPACTION_COMMIT)
                case Phase.CHECKPOINT, "COMMIT":
                    board.enter(Phase.CHECKPOINT_COMMIT)
            return super().execute(sql, *arguments)

    for owner, name, marked in (
        (Folder, "__init__", marked_init),
        (Folder, "read", marked_read),
        (Folder, "_write", marked_write),
        (Folder, "_checkpoint", marked_checkpoint),
        (CorollaryStore, "close", marked_close),
        (CommitLog, "append", marked_append),
        (folder, "MAX_LOGGED", 1 << 7 if logs else -1),
        (folder, "MAX_LOG_BYTES", 1 << 12),  # so that the database often gets what is in a full log
        (commit_log, "LOG_STEP_BYTES", 1 << 10),  # so that lines often need more zeros
        (sqlite3, "connect", partial(sqlite3.connect, factory=Marked)),
        (folder_rows, "MIN_ROWS_TO_REWRITE", 2),  # so that compactions are frequent
        (folder_rows, "MAX_BYTES_PER_ROW", 1 << 10),
        (folder, "MIN_FACTS_TO_CHECKPOINT", 0 if checkpoints else sys.maxsize),
    ):
        patch.object(owner, name, marked).start()


def is_hot(place: Path) -> bool:
    """Whether a folder has a journal that SQLite must roll back."""
    try:
        with open(place / JOURNAL, "rb") as file:
            return file.read(len(HOT)) == HOT
    except FileNotFoundError:
        return False


# Processes


def work(story: Story, place: Path, report: Callable[[int], object]) -> None:
    """Go on with a story in a folder, for ever."""
    store = CorollaryStore(rules=story.rules)
    assert store.open(str(place), create=True) == VALID_STORE
    number = commits_in(store)
    report(number)
    while True:
        number += 1
        commit = story.commit(number)
        perform(store, commit)
        report(number)
        if commit.reopens or commit.by_closing:
            if not commit.by_closing:
                store.close()
            assert store.open(str(place), create=True) == VALID_STORE


def commits_in(store: CorollaryStore) -> int:
    """How many commits of its story a store says that it has seen."""
    numbers = [int(str(triple[2])) for triple, _ in store.triples((*NUMBER, None), None)]
    return max(numbers, default=0)


class _Abandoned(Exception):
    pass


def perform(store: CorollaryStore, commit: Commit) -> None:
    if commit.rolls_back_first:
        with suppress(_Abandoned), store.transaction():
            store.add((EX.nobody, EX.knows, Literal("this")), Graph(store, EX.nowhere))
            raise _Abandoned
    if commit.in_transaction:
        with store.transaction():
            _perform_steps(store, commit.steps)
        return
    _perform_steps(store, commit.steps)
    if commit.by_closing:
        store.close()
    elif commit.compacts:
        store.compact()
    else:
        store.commit()


def _perform_steps(store: CorollaryStore, steps: Iterable[Step]) -> None:
    for step in steps:
        match step:
            case "add", quads, _:
                store.addN((s, p, o, Graph(store, g)) for s, p, o, g in quads)
            case "remove", quads, _:
                store.removeN([(s, p, o, Graph(store, g)) for s, p, o, g in quads])
            case "remove graph", name, _:
                store.remove_graph(Graph(store, name))
            case "add graph", name, _:
                store.add_graph(Graph(store, name))
            case "bind", prefix, namespace:
                store.bind(prefix, namespace)


@dataclass(frozen=True)
class Finding:
    """How many commits a folder holds, and why it could not be read without being opened for writing."""

    number: int
    refusal: str = ""


def check(story: Story, place: Path, reported: int, *, read_only: bool) -> Finding:
    """What a folder holds: the state after the last reported commit, or after the next one.

    ``read_only``: look at it by ``read_only`` first. That may be refused, and must not change what is there.
    """
    number, refusal = None, ""
    if read_only:
        try:
            number = _number_in(story, place, reported, read_only=True)
        except CorollaryError as error:
            refusal = str(error)
    later = _number_in(story, place, reported, read_only=False)
    if number not in (None, later):
        raise Failure(f"read only it holds {number} commits, and after that {later}")
    names = {path.name for path in place.iterdir()} if place.exists() else set()
    snapshots = {name for name in names if name.endswith(".snapshot")}
    if (others := names - snapshots - {DATABASE, JOURNAL, LOG}) or len(snapshots) > 1:
        raise Failure(f"there are other files in the folder: {others | snapshots}")
    return Finding(later, refusal)


def _number_in(story: Story, place: Path, reported: int, *, read_only: bool) -> int:
    store = CorollaryStore(rules=story.rules)
    answer = store.open(str(place), read_only=read_only)
    if answer == NO_STORE:
        if reported != NOTHING:
            raise Failure(f"there is no store any more, after {reported} commits")
        return NOTHING
    try:
        number, found = commits_in(store), seen(store)
        if number not in (reported, reported + 1):
            raise Failure(f"it holds {number} commits, and {reported} were reported")
        model = Model(story)
        model.go_to(number)
        if problems := model.differences(found):
            raise Failure("\n".join((f"it is not what it was after {number} commits:", *problems)))
        verification = store.verify()
        if not verification.is_sound:
            raise Failure(f"verify says {verification}")
        return number
    finally:
        store.close(discard=reported % 2 == 0)


def forked(task: Callable[[], object]) -> int:
    """The id of a process that performs a task and ends."""
    sys.stdout.flush()
    sys.stderr.flush()
    process = os.fork()
    if process:
        return process
    code = 1
    try:
        task()
        code = 0
    except BaseException:
        traceback.print_exc()
        sys.stderr.flush()
    finally:
        os._exit(code)


def forked_with_pipe(task: Callable[[Callable[[object], object]], object]) -> tuple[int, int]:
    """As ``forked``; the task gets a function that sends a line. The id, and where to read the lines."""
    reading, writing = os.pipe()

    def child() -> None:
        os.close(reading)  # so that a worker ends at its next report if this process has died
        task(lambda line: os.write(writing, f"{line}\n".encode()))

    process = forked(child)
    os.close(writing)
    return process, reading


def lines_of(reading: int) -> list[str]:
    with open(reading) as file:
        return file.read().splitlines()


def checked(story: Story, place: Path, reported: int, *, read_only: bool) -> Finding:
    """``check``, in a process of its own."""

    def task(send: Callable[[object], object]) -> None:
        try:
            finding = check(story, place, reported, read_only=read_only)
        except Exception as error:
            send(str(error) if isinstance(error, Failure) else traceback.format_exc())
        else:
            send(f"{finding.number} {finding.refusal}")

    process, reading = forked_with_pipe(task)
    lines = lines_of(reading)
    os.waitpid(process, 0)
    number, _, refusal = (lines or ["nothing: the checker died"])[0].partition(" ")
    if not number.lstrip("-").isdigit():
        raise Failure("\n".join(lines))
    return Finding(int(number), refusal)


# Kills


@dataclass(frozen=True)
class Death:
    """The phase a worker died in, and the numbers that it has reported."""

    phase: Phase
    reported: list[int]


def kill(
    story: Story, place: Path, board: Board, aim: Phase, chance: random.Random, *, journal: bool
) -> Death:
    """Start a worker, and kill it in a certain phase, or soon after."""
    small_cache = chance.random() < 0.5 or not journal
    last = board.entries(aim) + (1 if aim in (Phase.CREATE, Phase.RECOVERY) else chance.randint(1, 4))
    share = chance.random()
    checkpoints = aim in (Phase.CHECKPOINT, Phase.CHECKPOINT_COMMIT) or chance.random() < 0.3
    logs = aim is Phase.LOG or (aim not in IN_DATABASE and chance.random() < 0.6)

    def task(send: Callable[[object], object]) -> None:
        board.begin()
        mark(board, small_cache=small_cache, journal=journal, checkpoints=checkpoints, logs=logs)
        work(story, place, send)

    process, reading = forked_with_pipe(task)
    until = time.perf_counter() + LONGEST_WAIT
    has_ended = False
    while board.entries(aim) < last:
        os.sched_yield()
        if has_ended := bool(os.waitpid(process, os.WNOHANG)[0]):
            break
        if time.perf_counter() > until:
            os.kill(process, signal.SIGKILL)
            os.waitpid(process, 0)
            raise Failure(f"the worker did not come to '{TITLES[aim]}' within {LONGEST_WAIT:.0f} s")
    if not has_ended:
        until = time.perf_counter() + share * board.microseconds(aim) * 1e-6
        while time.perf_counter() < until:
            pass
        os.kill(process, signal.SIGKILL)
        has_ended = os.waitpid(process, 0)[1] != signal.SIGKILL
    reported = [int(line) for line in lines_of(reading)]
    if has_ended:
        raise Failure("the worker ended by itself; its error is above")
    return Death(board.phase, reported)


class Summary:
    """What has happened, by phase."""

    def __init__(self) -> None:
        self.kills: Counter[Phase] = Counter()
        self.hot: Counter[Phase] = Counter()
        self.before: Counter[Phase] = Counter()
        self.after: Counter[Phase] = Counter()
        self.read_only = Counter[bool]()
        self.refusals = Counter[str]()

    def __str__(self) -> str:
        lines = [
            f"{'killed in':20} {'kills':>7} {'hot journal':>12} {'before':>7} {'after':>7} {'chained':>8}"
        ]
        columns = self.kills, self.hot, self.before, self.after
        for title, phases in [*((TITLES[phase], [phase]) for phase in TITLES), ("all", list(TITLES))]:
            kills, hot, before, after = (sum(column[phase] for phase in phases) for column in columns)
            chained = kills - before - after
            lines.append(f"{title:20} {kills:7,} {hot:12,} {before:7,} {after:7,} {chained:8,}")
        lines.append(
            "before / after: the folder held the state before / after the commit under way; "
            "chained: it was not looked at before the next kill"
        )
        lines.append(f"new hot journals: {self.new_hot:,}; the others were there before the kill")
        lines.append(
            f"opened read only first: {self.read_only.total():,}, {self.read_only[True]:,} of these with a "
            f"hot journal; refused: {self.refusals.total():,}"
        )
        lines += [f"  {count:,} x {text}" for text, count in self.refusals.most_common(5)]
        return "\n".join(lines)

    @property
    def new_hot(self) -> int:
        """How many hot journals were left by other kills than those in the recovery from one."""
        return self.hot.total() - self.hot[Phase.RECOVERY]

    def lacks(self) -> Iterator[str]:
        """What a run should have met and has not."""
        total = self.kills.total()
        if total < LONG_FORM:
            return
        groups: Counter[str] = Counter()
        for phase, title in TITLES.items():
            groups[title.partition(":")[0]] += self.kills[phase]
        for title, kills in groups.items():
            if kills < total * SHARE_IN_PHASE:
                yield f"only {kills:,} of {total:,} kills came in '{title}'"
        if self.new_hot < total * SHARE_HOT:
            yield f"only {self.new_hot:,} of {total:,} kills left a new hot journal"


def next_aim(number: int, summary: Summary) -> Phase:
    """The phases in turn; every second time one that has had too few kills, or hot journals."""
    if number % 2 == 0:
        return AIMS[number // 2 % len(AIMS)]
    if summary.new_hot < 1.5 * SHARE_HOT * number:
        return Phase.COMMIT if number % 4 == 1 else Phase.COMPACTION_COMMIT
    return min(AIMS, key=lambda phase: summary.kills[phase])


def run(kills: int, seed: int, scratch: Path, *, journal: bool = True) -> Summary:
    """Kill a worker ``kills`` times. Failure, with what it takes to look into it, if anything is wrong."""
    chance = random.Random(seed)
    board, summary = Board(), Summary()
    evidence = scratch / "evidence"
    story, place, last, is_chained = Story(seed, 0), scratch / "0", NOTHING, False
    for number in range(kills):
        aim = Phase.RECOVERY if is_chained else next_aim(number, summary)
        if aim is Phase.CREATE or not number or (last > LONGEST_STORY and not is_chained):
            shutil.rmtree(place, ignore_errors=True)
            story, place, last = Story(seed, story.number + 1), scratch / str(number), NOTHING
        death = None
        try:
            death = kill(story, place, board, aim, chance, journal=journal)
            shutil.rmtree(evidence, ignore_errors=True)
            if place.exists():
                shutil.copytree(place, evidence)
            hot = is_hot(place)
            phase, reported = death.phase, death.reported
            summary.kills[phase] += 1
            summary.hot[phase] += hot
            if reported and reported[0] not in (last, last + 1):
                raise Failure(f"a worker has found {reported[0]} commits, and {last} were reported")
            last = max([last, *reported])
            is_chained = hot and chance.random() < 0.5 and number + 1 < kills
            if is_chained:
                continue
            read_only = chance.random() < 0.4
            finding = checked(story, place, last, read_only=read_only)
            if read_only:
                summary.read_only[hot] += 1
            if finding.refusal:
                summary.refusals[finding.refusal.replace(str(place), "FOLDER")] += 1
            is_after = finding.number > last
            if is_after and phase in BEFORE_COMMIT:
                raise Failure(f"commit {finding.number} is there, and COMMIT was not reached")
            (summary.after if is_after else summary.before)[phase] += 1
            last = finding.number
        except Failure as failure:
            died = "" if death is None else f", died in '{TITLES[death.phase]}'"
            left = place if death is None else evidence
            raise Failure(
                f"{failure}\n"
                f"kill {number} of seed {seed}: aimed at '{TITLES[aim]}'{died}; rules {story.rules}\n"
                f"the folder as the worker left it is in {left}; to check it again:\n"
                f"python -m tests.trust.kills --seed {seed} --check {left} --story {story.number} "
                f"--reported {last}"
            ) from failure
    return summary


def warm_up() -> None:
    """Import and load all that workers need, so that each of them starts within milliseconds."""
    warnings.simplefilter("ignore")
    patch.object(
        compiled, "MIN_ELEMENTS_TO_COMPILE", sys.maxsize
    ).start()  # no worker lives long enough to compile
    for rules in ("none", "rhodf"):
        store = CorollaryStore(rules=rules)
        for number in range(1, 8):
            _perform_steps(store, Story(0, 0).commit(number).steps)
            store.commit()
            seen(store)
        assert store.verify().is_sound


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--kills", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--without-journal", action="store_true", help="see that the harness finds that out")
    parser.add_argument("--check", type=Path, metavar="FOLDER", help="check a copy of a folder once more")
    parser.add_argument("--story", type=int, help="with --check: the number of the story")
    parser.add_argument("--reported", type=int, help="with --check: the last commit that was reported")
    given = parser.parse_args(arguments)
    warm_up()
    scratch = Path(tempfile.mkdtemp(prefix="corollary-kills-"))
    started = time.perf_counter()
    lacks: list[str] = []
    is_kept = False
    try:
        if given.check is not None:
            shutil.copytree(given.check, scratch / "copy")
            found = checked(Story(given.seed, given.story), scratch / "copy", given.reported, read_only=False)
            print(f"it holds the state after {found.number} commits, and is sound")
        else:
            summary = run(given.kills, given.seed, scratch, journal=not given.without_journal)
            print(summary)
            print(f"seed {given.seed}, {time.perf_counter() - started:.0f} s")
            lacks = list(summary.lacks())
    except Failure as failure:
        is_kept = True
        lacks = [str(failure)]
    finally:
        if not is_kept:
            shutil.rmtree(scratch)
    print(*lacks, sep="\n", end="\n" if lacks else "", file=sys.stderr)
    return 1 if lacks else 0


if __name__ == "__main__":
    sys.exit(main())
