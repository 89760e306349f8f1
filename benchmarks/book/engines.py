"""One problem, several engines: Corollary, the textbook's evaluation, clingo, DuckDB and Soufflé.

Every engine starts at facts in its own form in memory (Soufflé at files, which it reads and writes), and ends
when the facts of the answer are counted. Engines that are not installed are left out.
"""

from __future__ import annotations

import shutil
import statistics
import subprocess
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property, partial
from importlib.util import find_spec
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from benchmarks.analysis import Table
from benchmarks.book.textbook import ATOM, OutOfTime, Rows, TextRule, evaluate, rules_of
from benchmarks.engine import ENGINE, REASON, Facts
from benchmarks.measure import Measurement, Outcome, Task, measure

from corollary.columns import TripleIndex
from corollary.evaluate import materialise
from corollary.language import Program

SEMI_NAIVE = "semi-naive only"
TEXTBOOK, NAIVE, UNINDEXED = "textbook", "textbook, naive", "textbook, no index"
CLINGO, DUCKDB, SOUFFLE = "clingo", "duckdb", "souffle"

PATIENCE_SECONDS = 12.0
"""CPU time after which an evaluation of the textbook is given up; more than ``ENOUGH_SECONDS``."""


@dataclass(frozen=True)
class Problem:
    """A program, its facts, and the relation that is asked for, in the forms that the engines read.

    ``text`` is in the syntax of ``vlog``, and ``answer`` the relation that is counted. ``sql`` counts it in
    one recursive query, if that can. ``predicate`` is the IRI of the answer; if it is empty, all facts are
    counted.
    """

    name: str
    size: str
    program: Program
    facts: Facts
    text: str
    tables: dict[str, Table]
    answer: str
    sql: str = ""
    predicate: str = ""

    def answers(self, index: TripleIndex) -> int:
        """The size of the answer in a materialisation."""
        if not self.predicate:
            return len(index)
        number = self.facts.dictionary.find(f"<{self.predicate}>")
        return 0 if number is None else len(index.relation(number))

    @cached_property
    def rules(self) -> list[TextRule]:
        return rules_of(self.text)

    @cached_property
    def rows(self) -> dict[str, Rows]:
        return {name: set(map(tuple, table.tolist())) for name, table in self.tables.items()}


Maker = Callable[[Problem], Task]


def corollary(problem: Problem, *, modular: bool = True) -> Task:
    """With all modules, or with semi-naive evaluation only."""

    def run(index: TripleIndex) -> Outcome:
        result = materialise(index, problem.program, problem.facts.dictionary, modular=modular)
        return Outcome(problem.answers(result.index))

    engine = ENGINE if modular else SEMI_NAIVE
    return Task(engine, REASON, problem.facts.index, run, problem.size, warm_up=True)


def textbook(problem: Problem, engine: str = TEXTBOOK) -> Task:
    """The textbook's evaluation. If it takes too long, its outcome has no number of facts."""

    def run(_: None) -> Outcome:
        naive, indexed = engine == NAIVE, engine != UNINDEXED
        try:
            found = evaluate(
                problem.rules,
                problem.rows,
                semi_naive=not naive,
                indexed=indexed,
                seconds=PATIENCE_SECONDS,
            )
        except OutOfTime:
            return Outcome()
        return Outcome(len(found[problem.answer]))

    return Task(engine, REASON, lambda: problem.rows and None, run, problem.size)


def clingo(problem: Problem) -> Task:
    """Grounding, which evaluates a program without negation. Reading the facts is not part of the time."""

    def prepare() -> Any:
        import clingo as solver

        control = solver.Control()
        control.add("base", [], "\n".join((*_facts(problem), *_clauses(problem))))
        return control

    def run(control: Any) -> Outcome:
        control.ground([("base", [])])
        arity = len(next(rule.head for rule in problem.rules if rule.head.name == problem.answer).terms)
        return Outcome(sum(1 for _ in control.symbolic_atoms.by_signature(problem.answer, arity)))

    return Task(CLINGO, REASON, prepare, run, problem.size)


def _facts(problem: Problem) -> Iterator[str]:
    for name, table in problem.tables.items():
        yield " ".join(f"{name}({','.join(map(str, row))})." for row in table.tolist())


def _clauses(problem: Problem) -> Iterator[str]:
    return (f"{line} ." for line in problem.text.splitlines() if line.strip())


def duckdb(problem: Problem) -> Task:
    """One recursive query, in one thread for each core."""

    def prepare() -> Any:
        import duckdb as database
        import pyarrow as pa

        connection = database.connect()
        for name, table in problem.tables.items():
            names = [f"c{number}" for number in range(table.shape[1])]
            connection.register("given", pa.table([pa.array(column) for column in table.T], names=names))
            connection.execute(f"CREATE TABLE {name} AS SELECT * FROM given")
            connection.unregister("given")
        return connection

    def run(connection: Any) -> Outcome:
        (number,) = connection.execute(problem.sql).fetchone()
        return Outcome(number)

    return Task(DUCKDB, REASON, prepare, run, problem.size)


def souffle(problem: Problem) -> Task:
    """The interpreter, in a process of its own: reading the facts is part of the time."""

    def run(_: None) -> Outcome:
        with TemporaryDirectory() as name:
            folder = Path(name)
            write_souffle(problem, folder)
            command = [SOUFFLE, "-F", name, "-D", name, str(folder / "program.dl")]
            done = subprocess.run(command, capture_output=True, text=True, check=True)
        return Outcome(int(done.stdout.split()[-1]))

    return Task(SOUFFLE, REASON, lambda: None, run, problem.size)


def write_souffle(problem: Problem, folder: Path) -> None:
    """The program and the facts as files for Soufflé."""
    arities = {name: len(terms.split(",")) for name, terms in ATOM.findall(problem.text)}
    lines = []
    for name, arity in arities.items():
        lines.append(f".decl {name}({', '.join(f'c{n}: number' for n in range(arity))})")
        if name in problem.tables:
            lines.append(f".input {name}")
            rows = ("\t".join(map(str, row)) for row in problem.tables[name].tolist())
            (folder / f"{name}.facts").write_text("\n".join(rows) + "\n")
    lines.append(f".printsize {problem.answer}")
    (folder / "program.dl").write_text("\n".join((*lines, *_clauses(problem))) + "\n")


ENGINES: dict[str, Maker] = {
    ENGINE: corollary,
    SEMI_NAIVE: partial(corollary, modular=False),
    TEXTBOOK: textbook,
    NAIVE: partial(textbook, engine=NAIVE),
    UNINDEXED: partial(textbook, engine=UNINDEXED),
    CLINGO: clingo,
    DUCKDB: duckdb,
    SOUFFLE: souffle,
}
"""The engines by their names in tables."""


def is_there(engine: str, problem: Problem) -> bool:
    """Whether an engine is installed and can evaluate the problem."""
    if engine == SOUFFLE:
        return shutil.which(SOUFFLE) is not None
    if engine == DUCKDB and not problem.sql:
        return False
    return engine not in (CLINGO, DUCKDB) or find_spec(engine) is not None


def compare(problem: Problem, engines: Iterable[str], repeat: int) -> dict[str, Measurement]:
    """The measurements of the engines that are there. Raises AssertionError if their answers differ."""
    tasks = [ENGINES[engine](problem) for engine in engines if is_there(engine, problem)]
    found = {m.engine: m for m in measure(problem.name, tasks, repeat)}
    answers = {m.facts for m in found.values() if m.facts is not None}
    assert len(answers) <= 1, f"{problem.size}: engines differ: {answers}"
    return found


def seconds(measurement: Measurement | None) -> float | None:
    """The median CPU time; None if there is no measurement, or the evaluation was given up."""
    return None if measurement is None or measurement.facts is None else statistics.median(measurement.cpu)
