"""The fixpoint: modules take turns until none of them finds anything new.

Modules stand in an order: what is cheap, and what others build on (lists, values, the schema),
comes first. The first module that has something to do gets all facts that are new to it since its
last turn. What it derives is sorted, freed of duplicates and of known facts, and becomes recent for
all others. Every new fact is handed to a module once, so the work is bounded by the facts, however
many rounds there are (algorithm MAT-MOD of Hu, Motik, Horrocks 2019, with one worklist for all
strata of a monotone program).

Invariant: the index holds explicit facts and facts derived from them, no others; a module's pending
facts are exactly those it reads and has not been given.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import reduce
from time import perf_counter

import numpy as np

from corollary.columns.delta import Candidates
from corollary.columns.pairs import Pairs, ascending, sort_keys, union
from corollary.columns.relation import Relation
from corollary.columns.triples import TripleIndex
from corollary.kernels.limits import FEW_ROWS, at, derived
from corollary.kernels.sorted import Keys
from corollary.modules.module import Module

Progress = Callable[[str, int], None]

FEW_PARTS = 8


class Fixpoint:
    """Facts, the modules at work on them, and what each has not seen yet."""

    def __init__(
        self,
        index: TripleIndex,
        modules: Sequence[Module],
        progress: Progress | None,
        name_of: Callable[[int], str] = str,
    ) -> None:
        """``name_of`` a predicate, for messages."""
        self.index = index
        self.rounds = 0
        self.seconds: dict[str, float] = {}
        self.modules = list(modules)
        self.journal: Candidates | None = None
        self.watch: Callable[[Module, int, Pairs], None] = lambda origin, predicate, new: None
        self._progress = progress
        self._name_of = name_of
        self._pending: list[dict[int, list[Relation]]] = [
            {p: [index.relation(p)] for p in index.all_predicates() if module.reads(p)}
            for module in self.modules
        ]

    def add_module(self, module: Module, before: Module | None = None) -> None:
        """Let a module join in, last or ``before`` another; its first turn applies its rules to all facts."""
        position = len(self.modules) if before is None else self.modules.index(before)
        self.modules.insert(position, module)
        self._pending.insert(position, {})

    def remove_module(self, module: Module) -> None:
        """Let a module leave."""
        position = self.modules.index(module)
        del self.modules[position], self._pending[position]

    def skip(self, module: Module) -> None:
        """Take all facts so far for seen by a module."""
        self._pending[self.modules.index(module)] = {}

    def run(self, after: Callable[[], None] = lambda: None, waiting: int = 0) -> None:
        """Take turns until nothing is new; ``after`` is called after every turn that found something.

        The last modules may be ``waiting``: they take no turns, and what is new to them is kept.
        """
        position = 0
        while position < len(self.modules) - waiting:
            module = self.modules[position]
            pending = self._pending[position]
            if not pending and not module.is_waiting:
                position += 1
                continue
            at(module.name)
            self._pending[position] = {}
            started = perf_counter()
            recent = TripleIndex({p: _merged(parts, self.index.relation(p)) for p, parts in pending.items()})
            found = self.include(module.add(self.index, recent), module)
            self.seconds[module.name] = self.seconds.get(module.name, 0.0) + perf_counter() - started
            self.rounds += 1
            if self._progress is not None:
                self._progress(module.name, self.index.fact_count())
            if found:
                after()
                position = 0

    def include(self, candidates: Candidates, origin: Module | None = None) -> int:
        """Add what is new among the candidates, tell the modules, and return how many facts that were.

        ``watch`` is called with every predicate's new facts that a module found; the ``journal``, if there
        is one, keeps all new facts.
        """
        found = 0
        for predicate, parts in candidates.items():
            new = Pairs(_unknown(_joined(parts), self.index.relation(predicate)))
            if not len(new):
                continue
            self.index.add(predicate, new)
            found += len(new)
            if self.journal is not None:
                self.journal.setdefault(predicate, []).append(new.keys)
            if origin is not None:
                if len(new) > FEW_ROWS:
                    at(f"{origin.name}, facts of {self._name_of(predicate)}")
                derived(len(new))
                self.watch(origin, predicate, new)
            told = Relation(new)
            for module, pending in zip(self.modules, self._pending, strict=True):
                part = Relation(module.feedback(predicate, new)) if module is origin else told
                if len(part) and module.reads(predicate):
                    pending.setdefault(predicate, []).append(part)
        return found

    def exclude(self, predicate: int, keys: Keys) -> None:
        """Remove facts (sorted, unique), also from what modules have not seen yet."""
        self.index.remove(predicate, keys)
        for pending in self._pending:
            if predicate in pending:
                pending[predicate] = [part.minus(keys) for part in pending[predicate]]


def _joined(parts: list[Keys]) -> Keys:
    """All keys: few parts merged (they mostly are ascending), many one after the other, as they are."""
    if len(parts) > FEW_PARTS:
        return np.concatenate(parts)
    return reduce(union, sorted(map(ascending, parts), key=len))


def _unknown(keys: Keys, known: Relation) -> Keys:
    """The keys that are not known, sorted and unique. The array that is given may be overwritten."""
    if not (keys[1:] > keys[:-1]).all():
        keys = sort_keys(keys)
    fresh = ~known.contains(keys)
    if keys.size:
        fresh[1:] &= keys[1:] != keys[:-1]
    return keys if fresh.all() else keys[fresh]


def _merged(parts: list[Relation], whole: Relation) -> Relation:
    """The union of disjoint parts of a relation: that itself if they are all of it."""
    if len(parts) == 1:
        return parts[0]
    if sum(map(len, parts)) == len(whole):
        return whole
    return Relation(Pairs(sort_keys(np.concatenate([part.pairs().keys for part in parts]))))
