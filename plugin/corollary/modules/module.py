"""What the fixpoint asks of a module."""

from __future__ import annotations

from typing import Protocol

from corollary.algebra.execute import Candidates
from corollary.index.pairs import Pairs
from corollary.index.triples import TripleIndex


class Module(Protocol):
    """An algorithm over some rules of the program.

    1. ``add`` is called whenever facts it ``reads`` are new, or when it ``is_waiting``; ``facts`` holds
       all facts, the recent ones included, and ``recent`` all that it has not been given yet.
    2. It answers with candidates: every fact that its rules derive from these and that needs a recent
       one. Known facts and duplicates among them do no harm.
    3. Of what was new in its answer only the part that is ``returning`` comes back to it. A module that
       closes its rules answers with all they derive from its own answer too, and needs to see again
       only the guards among it: they bring new instances.
    """

    @property
    def name(self) -> str: ...

    @property
    def is_waiting(self) -> bool: ...

    def reads(self, predicate: int) -> bool: ...

    def returning(self, predicate: int, new: Pairs) -> Pairs: ...

    def add(self, facts: TripleIndex, recent: TripleIndex) -> Candidates: ...
