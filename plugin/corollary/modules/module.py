"""What the fixpoint and the maintenance ask of a module."""

from __future__ import annotations

from typing import Protocol

from corollary.algebra.execute import Candidates
from corollary.index.pairs import Pairs
from corollary.index.triples import TripleIndex


class Module(Protocol):
    """An algorithm over some rules of the program, its *own* rules.

    The functions are those of Hu, Motik, Horrocks (2019), section 4. An *instance* is one of the own
    rules applied to facts; known facts and duplicates in an answer do no harm.

    1. ``add`` (their definition 3) is called whenever facts it ``reads`` are new, or when it ``is_waiting``.
       ``facts`` holds all facts, the recent ones included, and ``recent`` all that it has not been given
       yet. It answers with every conclusion of instances that need a recent fact.
    2. Of what was new in its answer only the part that is ``returning`` comes back to it. A module that
       closes its rules answers with all they derive from its own answer too, and needs to see again
       only the guards among it: they bring new instances.
    3. ``delete`` (definition 6) answers with every fact that loses an instance when the ``gone`` facts
       go from ``facts``. It may leave out what follows from ``certain`` facts alone.
    4. ``consequences`` answers with conclusions of instances over ``facts`` that need a recent one: all
       those ``wanted``, and none that does not follow. It changes nothing.
    5. ``rederive`` (definition 7) answers with those candidates that instances over ``facts`` derive.
    6. ``premises`` answers with what such instances of the candidates read: the facts that any proof of
       them starts from, as far as this module is concerned.
    7. ``settle`` tells that the ``gone`` facts are gone from ``facts`` for good.

    Definition 5, what follows when facts that a rule negates come and go, concerns the semi-naive
    module alone: the others have no such rules.
    """

    @property
    def name(self) -> str: ...

    @property
    def is_waiting(self) -> bool: ...

    def reads(self, predicate: int) -> bool: ...

    def returning(self, predicate: int, new: Pairs) -> Pairs: ...

    def add(self, facts: TripleIndex, recent: TripleIndex) -> Candidates: ...

    def delete(self, facts: TripleIndex, gone: TripleIndex, certain: TripleIndex) -> Candidates: ...

    def consequences(self, facts: TripleIndex, recent: TripleIndex, wanted: TripleIndex) -> Candidates: ...

    def rederive(self, candidates: TripleIndex, facts: TripleIndex) -> Candidates: ...

    def premises(self, candidates: TripleIndex, facts: TripleIndex) -> Candidates: ...

    def settle(self, facts: TripleIndex, gone: TripleIndex) -> None: ...
