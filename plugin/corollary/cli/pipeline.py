"""Reading files and reasoning: the first stages of every command that takes files."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import reduce
from operator import add
from pathlib import Path
from typing import TYPE_CHECKING

from corollary.cli.input_options import DEFAULT_RULES
from corollary.cli.progress import stage

if TYPE_CHECKING:
    from corollary.cli.input_options import Reading
    from corollary.evaluate import MaterialisedView
    from corollary.language.program import Program
    from corollary.store import CorollaryStore


@dataclass
class Run:
    """Files closed under rules, and the seconds of each stage."""

    files: tuple[str, ...]
    rules: tuple[str, ...]
    materialisation: MaterialisedView
    seconds: dict[str, float] = field(default_factory=dict)


def load_program(rules: Sequence[str]) -> Program:
    """The rules of all named profiles and rule files. Raises CorollaryError for unknown names, bad rules."""
    from corollary.profiles import load_rules

    return reduce(add, map(load_rules, rules))


def run(files: tuple[str, ...], rules: tuple[str, ...], reading: Reading) -> Run:
    """Read files and close them under rules; ``DEFAULT_RULES`` if none are named.

    Rules are loaded first, so that a misspelt name is reported before the data are read. The stage
    ``prepare`` is loading the rules and importing the engine.
    """
    rules = rules or (DEFAULT_RULES,)
    seconds: dict[str, float] = {}
    with stage("prepare", seconds):
        from corollary.evaluate import materialise
        from corollary.terms.dictionary import TermDictionary

        program = load_program(rules)
        warn_of_unending(program)
    if reading.as_is:
        return Run(files, rules, _adopted(files, program, reading, seconds), seconds)
    with stage("read", seconds) as current:
        dictionary = TermDictionary()
        explicit = reading.index(files, dictionary, current.update)
        reading.write_report()
    with stage("reason", seconds) as current:
        current.follow(explicit.fact_count())
        materialisation = materialise(explicit, program, dictionary)
    warn_of_suspended(materialisation)
    return Run(files, rules, materialisation, seconds)


def run_and_save(files: tuple[str, ...], rules: tuple[str, ...], reading: Reading, target: Path) -> Run:
    """As ``run``, and write a snapshot or an encoded data set, by the suffix, with graphs and prefixes."""
    rules = rules or (DEFAULT_RULES,)
    load_program(rules)  # "none", which ``loaded`` takes, is no name of rules here
    seconds: dict[str, float] = {}
    store = loaded(files, rules, reading, seconds)
    materialisation = store.materialise()
    assert materialisation is not None
    with stage("write", seconds) as current:
        save = store.save_snapshot if target.suffix == ".snapshot" else store.save_encoded
        save(target, progress=current.update)
    return Run(files, rules, materialisation, seconds)


def _adopted(
    files: tuple[str, ...], program: Program, reading: Reading, seconds: dict[str, float]
) -> MaterialisedView:
    """The materialisation that a data set or snapshot holds."""
    from corollary.store import CorollaryStore

    store = CorollaryStore(rules=program)
    with stage("read", seconds):
        reading.load(files, store)
    result = store.materialise()
    assert result is not None
    return result


def loaded(
    files: Sequence[str], rules: Sequence[str], reading: Reading, seconds: dict[str, float] | None = None
) -> CorollaryStore:
    """A store with the files and what follows from them. ``rules`` may be empty: then ``DEFAULT_RULES``.

    The seconds of each stage are added to ``seconds``.
    """
    seconds = {} if seconds is None else seconds
    with stage("prepare", seconds):
        from rdflib import Dataset

        from corollary.store import CorollaryStore

        named = [rule for rule in rules or (DEFAULT_RULES,) if rule != "none"]
        store = CorollaryStore(rules=load_program(named) if named else "none")
        Dataset(store, default_union=True)
    with stage("read", seconds) as current:
        facts = reading.load(files, store, current.update)
        reading.write_report()
    reason(store, facts, seconds)
    return store


def prefixes_of(store: CorollaryStore) -> list[tuple[str, str]]:
    """The prefixes that the files of a store declare."""
    return [(prefix, str(namespace)) for prefix, namespace in store.namespaces()]


def reason(store: CorollaryStore, facts: int, seconds: dict[str, float]) -> None:
    """Derive what follows in a store. ``facts`` is the number of loaded facts, for the progress display."""
    from warnings import catch_warnings, simplefilter

    from corollary.store import SuspendedRuleWarning, UnendingRuleWarning

    warn_of_unending(store.rules())
    with stage("reason", seconds) as current, catch_warnings():
        current.follow(facts)
        simplefilter("ignore", SuspendedRuleWarning)
        simplefilter("ignore", UnendingRuleWarning)
        materialisation = store.materialise()
    if materialisation is not None:
        warn_of_suspended(materialisation)


def warn_of_unending(program: Program) -> None:
    """Print to standard error which rules may not terminate."""
    import click

    from corollary.program.invention import complaint, unending

    for rule in unending(program):
        click.echo(f"corollary: {complaint(rule, program)}", err=True)


def warn_of_suspended(materialisation: MaterialisedView) -> None:
    """Print to standard error which rules are suspended, and why."""
    import click

    for found in materialisation.suspended if materialisation.has_suspended_rules else ():
        click.echo(f"corollary: {found.text(materialisation.dictionary)}", err=True)
