"""Read, reason: what every command that takes files does first."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import reduce
from operator import add
from typing import TYPE_CHECKING

from corollary.cli.progress import stage

if TYPE_CHECKING:
    from corollary.cli.input_options import Reading
    from corollary.evaluate import Materialisation
    from corollary.language.model import Program
    from corollary.store import CorollaryStore

DEFAULT_RULES = "owl2rl"


@dataclass
class Run:
    """Files closed under rules, and how long each stage took."""

    files: tuple[str, ...]
    rules: tuple[str, ...]
    materialisation: Materialisation
    seconds: dict[str, float] = field(default_factory=dict)


def load_program(rules: Sequence[str]) -> Program:
    """All rules of some profiles and rule files. Raises what is wrong with them."""
    from corollary.profiles import load_rules

    return reduce(add, map(load_rules, rules))


def run(files: tuple[str, ...], rules: tuple[str, ...], reading: Reading) -> Run:
    """Read files and close them under rules (the default ones if none are named).

    Rules are loaded first: a misspelt name should not cost the time to read the data. To *prepare* is to
    load them and the engine itself.
    """
    rules = rules or (DEFAULT_RULES,)
    seconds: dict[str, float] = {}
    with stage("prepare", seconds):
        from corollary.evaluate import materialise
        from corollary.terms.dictionary import TermDictionary

        program = load_program(rules)
        warn_of_unending(program)
    with stage("read", seconds) as current:
        dictionary = TermDictionary()
        explicit = reading.index(files, dictionary, current.update)
        reading.write_report()
    with stage("reason", seconds) as current:
        materialisation = materialise(explicit, program, dictionary, progress=current.update)
    warn_of_suspended(materialisation)
    return Run(files, rules, materialisation, seconds)


def reason(store: CorollaryStore, facts: int, seconds: dict[str, float]) -> None:
    """Work out what follows in a store. ``facts`` is the number of facts loaded, for the progress display."""
    from warnings import catch_warnings, simplefilter

    from corollary.store import SuspendedRuleWarning, UnendingRuleWarning

    warn_of_unending(store.rules())
    with stage("reason", seconds) as current, catch_warnings():
        current.update("reasoning", facts)
        simplefilter("ignore", SuspendedRuleWarning)
        simplefilter("ignore", UnendingRuleWarning)
        materialisation = store.materialise()
    if materialisation is not None:
        warn_of_suspended(materialisation)


def warn_of_unending(program: Program) -> None:
    """Say on standard error which rules may have no end."""
    import click

    from corollary.program.invention import complaint, unending

    for rule in unending(program):
        click.echo(f"corollary: {complaint(rule, program)}", err=True)


def warn_of_suspended(materialisation: Materialisation) -> None:
    """Say on standard error which rules were not applied, and why."""
    import click

    for found in materialisation.suspended:
        click.echo(f"corollary: {found.text(materialisation.dictionary)}", err=True)
