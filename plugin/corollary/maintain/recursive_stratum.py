"""A recursive aggregate in a transaction: its derived facts after the change of its edges and seeds.

The lower layers are final when this layer is followed. Facts of the predicate that lost a derivation, and new
ones, are known: the first are candidates of the layer, the second are ``fixpoint.new_facts``. A fact
is a seed if it is explicit or an axiom, or if a rule of a lower layer derives it in one step.
"""

from __future__ import annotations

from corollary.columns import NOTHING, Candidates, Delta
from corollary.columns.pairs import NO_KEYS, difference, union
from corollary.execute.run_plan import extend
from corollary.kernels.sorted import Keys
from corollary.maintain.workspace import Workspace
from corollary.modules.least_values import TooManyEdges, ValueChange
from corollary.modules.recursive_aggregate import LeastValues


class LeastValuesChange:
    """One recursive aggregate in one transaction: ``overdelete``, then deletion, then ``insert``."""

    is_truncated = False

    def __init__(self, work: Workspace, module: LeastValues, layer: int) -> None:
        self._work = work
        self._module = module
        self._layer = layer
        self._predicate = module.shape.predicate
        self._gained: Keys = NO_KEYS

    def overdelete(self) -> None:
        """Enqueue the facts that are neither seeds nor derived any more, in place of all other candidates."""
        work, predicate = self._work, self._predicate
        candidates = work.dequeue_candidates(self._layer)
        own = candidates.only(lambda p: p == predicate)
        work.enqueue_candidates(candidates - own, self._layer)
        with work.report.at(work.layers.name(self._layer), self._module.name):
            lost, self._gained = self._changed(own.keys(predicate))
        work.enqueue_candidates(Delta({predicate: lost}), self._layer)

    def insert(self) -> None:
        """Insert the derived facts that are new."""
        self._work.engine.fixpoint.include({self._predicate: [self._gained]}, self._module)

    def _changed(self, candidates: Keys) -> tuple[Keys, Keys]:
        """The facts that hold no more, and the derived facts that are new."""
        work, module, predicate = self._work, self._module, self._predicate
        if module.is_waiting:
            return self._from_nothing()
        new_facts = work.engine.fixpoint.new_facts
        read = {predicate, *module.nonmonotone_reads()}
        inserted = (
            Delta.among({p: parts for p, parts in new_facts.items() if p in read}, work.index) - work.before
        )
        removed = work.deleted.only(read.__contains__) - work.index
        if not (inserted or removed or candidates.size):
            return NO_KEYS, NO_KEYS
        lost = module.changed_edges(work.before, removed)
        new = module.changed_edges(work.index, inserted)
        lost_seeds = difference(candidates, self._seeds(candidates))
        new_seeds = inserted.keys(predicate)
        if not module.may_follow(lost, new, lost_seeds, new_seeds):
            return self._from_nothing()
        try:
            change = ValueChange(module, work.before, work.index, self._seeds)
            return change.follow(lost, new, lost_seeds, new_seeds)
        except TooManyEdges:
            return self._from_nothing()

    def _from_nothing(self) -> tuple[Keys, Keys]:
        """As ``_changed``, by computing all values from scratch."""
        facts = self._work.index.keys(self._predicate)
        seeds = self._seeds(facts)
        derived = self._module.evaluate(self._work.index, seeds)
        return difference(facts, union(seeds, derived)), difference(derived, facts)

    def _seeds(self, keys: Keys) -> Keys:
        """Those of some facts of the predicate that are seeds, sorted."""
        work, predicate = self._work, self._predicate
        facts = Delta({predicate: keys})
        found = facts & work.request.explicit | facts & work.engine.axioms
        asked = facts - found
        if asked:
            index = work.index.snapshot()
            index.remove(predicate, asked.keys(predicate))
            derived: Candidates = {}
            for module in work.modules:
                extend(derived, module.rederive(asked, index))
            found |= Delta.gathered(derived) & asked if derived else NOTHING
        return found.keys(predicate)
