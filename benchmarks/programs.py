"""Changes of rules as tasks: rules are removed and added back, and the materialisation is maintained.

There are one materialisation and two programs, the *whole* and a *part* of it. The tasks that change from
either program to the other take turns with the tasks that materialise the other from scratch. Where both take
about as long, a few turns of some milliseconds do not say which is faster: such a case has more turns.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import partial
from statistics import median

from benchmarks.engine import ENGINE, Facts
from benchmarks.measure import Measurement, Outcome, Task, measure

from corollary.columns.delta import NOTHING
from corollary.evaluate import MaterialisedView
from corollary.language import Program
from corollary.maintain import maintain

SCRATCH = f"{ENGINE}, from scratch"
ADD, REMOVE = "add", "remove"

CLEAR_GAIN = 1.25
"""A case with a lower gain is measured anew, in more turns: its first measurement is dropped. Measured beside
other work on both cores, changes of 10 to 100 ms: half of the gains of 5 turns are off by more than 0.13 of
those of 90 turns, half of those of 30 turns by more than 0.04, all of these by at most 0.13. The median of
one time over that of the other is off by more: half by 0.14 and 0.07, the worst of 30 turns by 0.58."""

TURNS_IF_CLOSE, SECONDS_IF_CLOSE = 30, 5.0
"""The most turns of a case that is measured anew, and the most seconds that its longest task takes."""


def without(program: Program, names: Iterable[str]) -> Program:
    """The program without the rules of these names. Raises AssertionError for a name that no rule has."""
    gone = set(names)
    assert gone <= {rule.name for rule in program}, gone
    return Program(tuple(rule for rule in program if rule.name not in gone))


@dataclass(frozen=True, slots=True)
class Case:
    """A change of rules: the measurements (add, remove) of maintenance, and of materialising from scratch."""

    followed: tuple[Measurement, Measurement]
    scratch: tuple[Measurement, Measurement]
    note: str

    @property
    def measurements(self) -> list[Measurement]:
        return [*self.followed, *self.scratch]

    @property
    def gains(self) -> tuple[float, float]:
        """The time from scratch over the time of maintenance, for adding and for removing the rules.

        This is the median over the turns: both times of a turn are taken one soon after the other, and other
        work on the machine affects both.
        """
        add, remove = (
            median(s / f for f, s in zip(followed.seconds, scratch.seconds, strict=False))
            for followed, scratch in zip(self.followed, self.scratch, strict=True)
        )
        return add, remove


class RuleTrack:
    """A materialisation that changes from one program to another and back."""

    def __init__(self, facts: Facts, whole: Program, part: Program) -> None:
        self._facts = facts
        self._other = {whole: part, part: whole}
        self._programs = (whole, part)
        self._explicit = facts.index()
        self._result: MaterialisedView = facts.close(whole)
        self._used: list[str] = []

    def case(self, workload: str, size: str, rules: str, repeat: int) -> Case:
        """Measure ``repeat`` turns of each task, or more. ``rules`` names the changing rules in tables.

        More (see ``TURNS_IF_CLOSE``) if a gain is lower than ``CLEAR_GAIN`` and ``repeat`` is not 1.
        """
        found = self._case(workload, size, rules, repeat)
        longest = max(m.median for m in found.measurements)
        turns = min(TURNS_IF_CLOSE, int(SECONDS_IF_CLOSE / longest))
        if min(found.gains) < CLEAR_GAIN and turns > repeat > 1:
            self._used.clear()
            return self._case(workload, size, rules, turns)
        return found

    def _case(self, workload: str, size: str, rules: str, repeat: int) -> Case:
        """As ``case``, with ``repeat`` turns."""
        pairs = list(zip((f"{ADD} {rules}", f"{REMOVE} {rules}"), self._programs, strict=True))
        tasks = [Task(ENGINE, what, partial(self.before, p), self.follow, size, True) for what, p in pairs]
        tasks += [Task(SCRATCH, what, partial(_same, p), self._close, size, True) for what, p in pairs]
        add, remove, whole, part = measure(workload, tasks, repeat)
        count = self._used.count("starting over")
        note = f"{size}, {rules}: started over in {count} of {len(self._used)} turns." if count else ""
        return Case((add, remove), (whole, part), note)

    def before(self, program: Program) -> Program:
        """Make sure that the materialisation is that of the other program. Returns ``program``."""
        if self._result.program == program:
            self.follow(self._other[program])
        return program

    def follow(self, program: Program) -> Outcome:
        """Change to ``program`` by maintenance."""
        self._result, report = maintain(self._result, self._explicit, NOTHING, NOTHING, program=program)
        self._used.append(report.strategy)
        return Outcome(self._result.index.fact_count())

    @property
    def result(self) -> MaterialisedView:
        """The present materialisation."""
        return self._result

    def _close(self, program: Program) -> Outcome:
        return Outcome(self._facts.close(program).index.fact_count())


def _same(program: Program) -> Program:
    return program
