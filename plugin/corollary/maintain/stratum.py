"""A stratum in a transaction: the effect of changed facts on negations and aggregates.

By definition 5 of Hu, Motik, Horrocks (2019): added facts delete conclusions of rules that negate them, and
deleted facts insert conclusions. Of an aggregate, only the groups that a change touches are computed again:
of sums of salaries by department, one raise touches one department. A stratum that reads only lower layers,
and of whose input much changed, is evaluated from scratch.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Protocol

from corollary.columns import NOTHING, Candidates, Delta
from corollary.execute.batches import Batch, join
from corollary.execute.run_plan import emit, extend
from corollary.maintain.recursive_stratum import LeastValuesChange
from corollary.maintain.tuning import MAX_FACTS_PER_CHANGED_FACT, MAX_FACTS_PER_DELETED_FACT
from corollary.maintain.workspace import Workspace
from corollary.program.compile import Atom, CompiledRule


class LayerChange(Protocol):
    """The effect of one module of a stratum: ``overdelete``, then deletion by the transaction, ``insert``."""

    @property
    def is_truncated(self) -> bool:
        """Whether all facts of the layer but for the conclusions are candidates."""

    def overdelete(self) -> None:
        """Enqueue candidates."""

    def insert(self) -> None:
        """Insert the new conclusions."""


def changes_of_stratum(work: Workspace, number: int, layer: int) -> list[LayerChange]:
    """The modules of a stratum in one transaction."""
    recursive = work.engine.recursive[number - 1]
    return [StratumChange(work, number, layer), *(LeastValuesChange(work, m, layer) for m in recursive)]


class StratumChange:
    """One stratum in one transaction: ``overdelete``, then deletion by the transaction, then ``insert``."""

    def __init__(self, work: Workspace, number: int, layer: int) -> None:
        engine = work.engine
        self.is_truncated = False
        self._work = work
        self._layer = layer
        self._module = engine.strata[number - 1]
        self._is_alone = not engine.recursive[number - 1]
        self._deleted = NOTHING
        self._groups: list[tuple[CompiledRule, Batch]] = []

    def overdelete(self) -> None:
        """Enqueue the conclusions that the absence of added facts, or a changed group, supported.

        If the stratum is evaluated from scratch: its former conclusions that it does not derive now.
        """
        work, module = self._work, self._module
        new_facts, closed = work.engine.fixpoint.new_facts, module.nonmonotone_reads()
        if closed.isdisjoint((*new_facts, *work.deleted.all_predicates())) and min(closed, default=0) >= 0:
            return
        with work.report.at(work.layers.name(self._layer), module.name):
            lost = (
                self._evaluated()
                if self._is_alone and self._is_worth_evaluating()
                else self._followed(closed, new_facts)
            )
            work.enqueue_candidates(lost - work.request.explicit - work.engine.axioms, self._layer)

    def insert(self) -> None:
        """Insert the conclusions that the absence of deleted facts, or a changed group, supports."""
        work, module = self._work, self._module
        if self._layer in work.concluded:
            found = work.concluded[self._layer].candidates()
        else:
            found = module.inserted_by_negation(work.index, self._deleted)
            extend(found, module.grouped(work.index, self._groups))
        work.engine.fixpoint.include(found, module)

    def _followed(self, closed: set[int], new_facts: Candidates) -> Delta:
        """The candidates: facts of I that may have lost an instance of the stratum's rules."""
        work, module = self._work, self._module
        is_open = min(closed) < 0
        inserted = Delta.among(
            {p: parts for p, parts in new_facts.items() if is_open or p in closed}, work.index
        )
        inserted -= work.before
        removed = work.deleted.only(lambda predicate: is_open or predicate in closed)
        self._deleted = removed - work.index
        self._groups = module.touched(work.index, inserted)
        self._groups += module.touched(work.before, self._deleted)
        found = module.deleted_by_negation(work.before, inserted)
        extend(found, module.grouped(work.before, self._groups))
        return Delta.among(found, work.index)

    def _evaluated(self) -> Delta:
        """Evaluate the stratum from scratch. Returns its former conclusions that it does not derive now.

        If the last layer is truncated, returns all facts of the layer but the conclusions.
        """
        work, module, layer = self._work, self._module, self._layer
        concluded = Delta.gathered(module.conclusions(work.index))
        work.concluded[layer] = concluded
        module.start(work.index)
        work.engine.fixpoint.skip(module)
        work.enqueue_candidates(work.dequeue_candidates(layer) - concluded, layer)
        lost = self._matching({head for rule in module.rules for head in rule.heads}) - concluded
        whole = self._matching(work.layers.whole(layer)) - concluded
        if whole and len(whole) <= MAX_FACTS_PER_DELETED_FACT * len(lost):
            lost, self.is_truncated = whole, True
        return lost

    def _is_worth_evaluating(self) -> bool:
        """Whether the stratum reads only lower layers, and much changed of what it negates or aggregates."""
        work, module = self._work, self._module
        heads = {work.layers.of(head) for rule in module.rules for head in rule.heads}
        read = {atom: work.layers.of(atom) for rule in module.rules for atom in rule.read}
        if heads != {self._layer} or any(layer is None or layer >= self._layer for layer in read.values()):
            return False
        now, before = work.index.relation, work.before.relation
        changed = sum(abs(len(now(p)) - len(before(p))) for p in module.nonmonotone_reads())
        facts = sum(len(now(p)) for p in {atom.p for atom in read})
        return changed > 0 and MAX_FACTS_PER_CHANGED_FACT * changed >= facts

    def _matching(self, atoms: Iterable[Atom]) -> Delta:
        """The facts of I that match any of the atoms."""
        found: Candidates = {}
        for atom in atoms:
            emit((atom,), join(Batch.start(), atom, self._work.index), found)
        return Delta.gathered(found)
