"""Load, materialise, follow a change: what ``corollary update`` does before anything is printed.

The change is one transaction: what is removed goes first, so a fact that is removed and added is there in
the end. Invariant: the result is what materialising the changed files would give.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from corollary.cli.pipeline import load_program, warn_of_suspended
from corollary.cli.progress import stage

if TYPE_CHECKING:
    from corollary.cli.reading import Reading
    from corollary.evaluate import Materialisation
    from corollary.index.triples import TripleIndex
    from corollary.maintain import Report

STRATEGIES = {
    "automatic": "automatic",
    "backward-forward": "backward/forward",
    "dred": "dred",
    "starting-over": "starting over",
}
"""The strategies as they are named on the command line and in reports."""


@dataclass(frozen=True)
class Sources:
    """The files to load, those with the facts to remove and to add, and the rules."""

    files: tuple[str, ...]
    remove: tuple[str, ...]
    add: tuple[str, ...]
    rules: tuple[str, ...]


@dataclass
class Update:
    """A materialisation before and after a change, how that was followed, and how long each stage took.

    ``absent`` are the facts to remove that were not in the files.
    """

    sources: Sources
    before: Materialisation
    after: Materialisation
    report: Report
    absent: TripleIndex
    seconds: dict[str, float]


def update_files(sources: Sources, reading: Reading, strategy: str) -> Update:
    """Load files, close them under rules, and follow a change.

    ``strategy`` is a name in ``STRATEGIES``. All files are looked for before the first is read, and all
    are read before anything is derived.
    """
    seconds: dict[str, float] = {}
    with stage("prepare", seconds):
        from corollary.evaluate import materialise
        from corollary.loaders.encoded import is_encoded
        from corollary.loaders.fetching import look_for
        from corollary.loaders.files import files_in
        from corollary.maintain import Strategy, maintain
        from corollary.maintain.facts import all_of, collected, less, put, without
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
        before = materialise(explicit, program, dictionary, progress=current.update)
    with stage("maintain", seconds):
        to_remove, to_add = all_of(unwanted), all_of(wanted)
        removed = less(collected({p: [keys] for p, keys in to_remove.items()}, explicit), to_add)
        added = without(to_add, explicit)
        changed = explicit.snapshot()
        for predicate, keys in removed.items():
            changed.remove(predicate, keys)
        put(added, changed)
        after, report = maintain(before, changed, removed, added, Strategy(STRATEGIES[strategy]))
    warn_of_suspended(after)
    return Update(sources, before, after, report, unwanted.difference(explicit), seconds)
