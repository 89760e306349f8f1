"""Loading, materialising and maintaining for ``corollary update``.

The change is one transaction, in which removals precede additions: a fact in both is explicit at the end.
Invariant: the result equals the materialisation of the changed files.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

import click

from corollary.cli.pipeline import load_program, warn_of_suspended
from corollary.cli.progress import stage

if TYPE_CHECKING:
    from corollary.cli.input_options import Reading
    from corollary.columns import TripleIndex
    from corollary.evaluate import MaterialisedView
    from corollary.maintain import Report


class StrategyName(click.ParamType):  # type: ignore[type-arg]  # takes none before click 8.3
    """The name of a deletion strategy in the engine's registry, or ``automatic``."""

    name = "strategy"

    @staticmethod
    def names() -> dict[str, str]:
        """The strategies as they are named on the command line, and in reports."""
        from corollary.maintain import AUTOMATIC, STRATEGIES

        return {re.sub(r"\W", "-", name): name for name in (AUTOMATIC, *STRATEGIES)}

    def get_metavar(self, param: click.Parameter, ctx: click.Context | None = None) -> str:
        """The choices, as the help text shows them."""
        return f"[{'|'.join(self.names())}]"

    def convert(self, value: str, param: click.Parameter | None, ctx: click.Context | None) -> str:
        """The name in reports. Fails with a usage error if there is no such strategy."""
        names = self.names()
        if value not in names:
            self.fail(f"{value!r} is not one of {', '.join(names)}", param, ctx)
        return names[value]


@dataclass(frozen=True)
class Sources:
    """The files to load, the files with the facts to remove and to add, and the names of the rules."""

    files: tuple[str, ...]
    remove: tuple[str, ...]
    add: tuple[str, ...]
    rules: tuple[str, ...]


@dataclass
class Update:
    """A materialisation before and after a change, the report of maintenance, and the seconds of each stage.

    ``absent`` are the facts to remove that were not in the files.
    """

    sources: Sources
    before: MaterialisedView
    after: MaterialisedView
    report: Report
    absent: TripleIndex
    seconds: dict[str, float]


def update_files(sources: Sources, reading: Reading, strategy: str) -> Update:
    """Load files, close them under rules, and maintain the materialisation under a change.

    ``strategy`` is a name as in reports. Missing files are reported before the first file is read, and all
    files are read before anything is derived.
    """
    seconds: dict[str, float] = {}
    with stage("prepare", seconds):
        from corollary.evaluate import materialise
        from corollary.loaders.encoded_format import is_encoded
        from corollary.loaders.fetching import look_for
        from corollary.loaders.files import files_in
        from corollary.maintain import Change, maintain
        from corollary.terms.dictionary import TermDictionary

        program = load_program(sources.rules)
        names = (*sources.files, *sources.remove, *sources.add)
        for name in files_in(name for name in names if not is_encoded(name)):
            look_for(name)
    with stage("load", seconds) as current:
        dictionary = TermDictionary()

        explicit, unwanted, wanted = (
            reading.index(names, dictionary, current.update)
            for names in (sources.files, sources.remove, sources.add)
        )
        reading.write_report()
    with stage("materialise", seconds) as current:
        current.follow(explicit.fact_count())
        before = materialise(explicit, program, dictionary)
    with stage("maintain", seconds) as current:
        current.follow(0)
        change = Change.of(explicit, unwanted, wanted)
        after, report = maintain(before, change.explicit, change.removed, change.added, strategy)
    warn_of_suspended(after)
    return Update(sources, before, after, report, unwanted.difference(explicit), seconds)
