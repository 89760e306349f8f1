"""Other rules as tasks: some leave a program and come back, and the materialisation follows.

The idea: one materialisation, two programs, the *whole* and a *part* of it. Going from either to the other
takes turns with materialising the other from scratch.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import partial

from benchmarks.engine import ENGINE, Facts
from benchmarks.measure import Measurement, Outcome, Task, measure

from corollary.columns.delta import NOTHING
from corollary.evaluate import Materialisation
from corollary.language import Program
from corollary.maintain import maintain

SCRATCH = f"{ENGINE}, from scratch"
ADD, REMOVE = "add", "remove"


def without(program: Program, names: Iterable[str]) -> Program:
    """The program without the rules of these names. AssertionError if none has one of the names."""
    gone = set(names)
    assert gone <= {rule.name for rule in program}, gone
    return Program(tuple(rule for rule in program if rule.name not in gone))


@dataclass(frozen=True, slots=True)
class Case:
    """Some rules that come and go: following that, and from scratch."""

    followed: tuple[Measurement, Measurement]
    scratch: tuple[Measurement, Measurement]
    note: str

    @property
    def measurements(self) -> list[Measurement]:
        return [*self.followed, *self.scratch]

    @property
    def gains(self) -> tuple[float, float]:
        """How many times as long it takes from scratch: when rules come, and when they go."""
        add, remove = (s.median / f.median for f, s in zip(self.followed, self.scratch, strict=True))
        return add, remove


class RuleTrack:
    """A materialisation that goes from a program to another one and back."""

    def __init__(self, facts: Facts, whole: Program, part: Program) -> None:
        self._facts = facts
        self._other = {whole: part, part: whole}
        self._programs = (whole, part)
        self._explicit = facts.index()
        self._result: Materialisation = facts.close(whole)
        self._used: list[str] = []

    def case(self, workload: str, size: str, rules: str, repeat: int) -> Case:
        """``repeat`` turns each; ``rules`` says which ones come and go."""
        pairs = list(zip((f"{ADD} {rules}", f"{REMOVE} {rules}"), self._programs, strict=True))
        tasks = [Task(ENGINE, what, partial(self.before, p), self.follow, size, True) for what, p in pairs]
        tasks += [Task(SCRATCH, what, partial(_same, p), self._close, size, True) for what, p in pairs]
        add, remove, whole, part = measure(workload, tasks, repeat)
        count = self._used.count("starting over")
        note = f"{size}, {rules}: started over in {count} of {len(self._used)} turns." if count else ""
        return Case((add, remove), (whole, part), note)

    def before(self, program: Program) -> Program:
        """Have the other program's materialisation; the program."""
        if self._result.program == program:
            self.follow(self._other[program])
        return program

    def follow(self, program: Program) -> Outcome:
        """Go on to a program."""
        self._result, report = maintain(self._result, self._explicit, NOTHING, NOTHING, program=program)
        self._used.append(report.strategy)
        return Outcome(self._result.index.fact_count())

    @property
    def result(self) -> Materialisation:
        """The materialisation at present."""
        return self._result

    def _close(self, program: Program) -> Outcome:
        return Outcome(self._facts.close(program).index.fact_count())


def _same(program: Program) -> Program:
    return program
