"""Interrupt every operation of a store at every line. ``python -m tests.trust.interruptions --help``."""

from __future__ import annotations

import argparse
import faulthandler
import random
import shutil
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import suppress
from pathlib import Path

from tests.trust import injection

SECONDS_TO_HANG = 120
"""What takes longer hangs: the places where are printed, and that is a failure."""

Job = tuple[str, bool, str]
"""Program, whether in a folder, operation."""


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--programs", nargs="+", default=["rhodf", "strata", "owl2rl"])
    parser.add_argument("--operations", nargs="*")
    parser.add_argument(
        "--places",
        type=int,
        help="places of an operation, drawn from all",
    )
    parser.add_argument(
        "--twice", action="store_true", help="raise again in the recovery from each exception"
    )
    parser.add_argument("--seed", type=int, default=0)
    given = parser.parse_args(arguments)
    if given.twice:
        injection.instrument()
    from tests.trust import operations

    operations.quiet()
    total, started = 0, time.perf_counter()
    for job in all_jobs(given.programs, given.operations):
        count, events = interrupt(job, twice=given.twice, most=given.places, seed=given.seed)
        total += count
        place = "folder" if job[1] else "memory"
        print(f"{job[0]:8} {place:7} {job[2]:24} {events:7,} events, {count:7,} interrupted", flush=True)
    print(f"{total:,} interruptions in {time.perf_counter() - started:.0f} s, each state one before or after")
    return 0


def all_jobs(programs: Sequence[str], wanted: Sequence[str] | None = None) -> Iterator[Job]:
    from tests.trust.operations import IN_FOLDERS, OPERATIONS

    for program in programs:
        for in_folder in (False, True):
            for name in (*OPERATIONS, *IN_FOLDERS) if in_folder else OPERATIONS:
                if not wanted or name in wanted:
                    yield program, in_folder, name


def interrupt(job: Job, *, twice: bool, most: int | None, seed: int = 0) -> tuple[int, int]:
    """Interrupt an operation at all places, or at ``most`` of them. How often, and how many places there are.

    Under owl2rl, where one read has a hundred thousand events, at the first and the last of each line.
    """
    from tests.trust import operations

    program_name, in_folder, name = job
    program = operations.PROGRAMS[program_name]
    base = "/dev/shm" if Path("/dev/shm").is_dir() else None
    with tempfile.TemporaryDirectory(dir=base) as scratch:
        documents = Path(scratch) / "documents"
        documents.mkdir()
        operations.write_documents(documents)
        place = Path(scratch) / "store" if in_folder else None
        wanted = operations.expected(program, place, documents, name)
        case = operations.begin(program, place, documents)
        if twice:
            numbers = list(range(injection.ticked(lambda: operations.perform(case, name))))
        else:
            places = injection.traced(lambda: operations.perform(case, name))
            numbers = _ends(places) if program_name == "owl2rl" else list(range(len(places)))
        operations.end(case)
        events = len(numbers)
        if most is not None and most < events:
            numbers = sorted(random.Random(f"{seed} {job}").sample(numbers, most))
        count = 0
        for number in numbers:
            further = _once(job, place, documents, wanted, number, None, twice=twice)
            count += 1
            for more in range(further if twice else 0):
                _once(job, place, documents, wanted, number, more + 1, twice=True)
                count += 1
        return count, events


def _ends(places: list[injection.Place]) -> list[int]:
    """The first and the last event of each line."""
    firsts: dict[injection.Place, int] = {}
    lasts: dict[injection.Place, int] = {}
    for number, place in enumerate(places):
        firsts.setdefault(place, number)
        lasts[place] = number
    return sorted({*firsts.values(), *lasts.values()})


def _once(
    job: Job,
    place: Path | None,
    documents: Path,
    wanted: object,
    number: int,
    more: int | None,
    *,
    twice: bool,
) -> int:
    """Interrupt once, or twice, and check. How many statements of recovery there were after the first."""
    from tests.trust import operations

    faulthandler.dump_traceback_later(SECONDS_TO_HANG, exit=True)
    program_name, _, name = job
    if place is not None:
        shutil.rmtree(place, ignore_errors=True)
    case = operations.begin(operations.PROGRAMS[program_name], place, documents)
    further = 0
    places: list[injection.Place] = []
    with suppress(injection.Interrupted):
        if twice:
            at = {number} if more is None else {number, number + more}
            injection.ticked(lambda: operations.perform(case, name), at)
        else:
            injection.traced(lambda: operations.perform(case, name), number, places)
    if twice:
        further = injection.ticks.count - number - 1
    try:
        operations.check(case, wanted, number + (more or 0))  # type: ignore[arg-type]
    except BaseException as error:
        error.add_note(f"{job}: interrupted at {number}, again after {more}, before {places[-1:]}")
        raise
    return further


if __name__ == "__main__":
    sys.exit(main())
