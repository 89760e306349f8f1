"""The state that the parts of one transaction share: the engine, I before it, and the candidates.

Invariant: ``index`` holds the facts of I that were not deleted so far, and those that were inserted.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from math import inf

from corollary.columns import NOTHING, Delta, TripleIndex
from corollary.evaluate.engine import Engine
from corollary.evaluate.precedence import Precedence
from corollary.maintain.cost_model import most_checks, most_seconds
from corollary.maintain.layers import DATA, SCHEMA, Layers
from corollary.maintain.report import Report
from corollary.maintain.strategy import CannotFollow, Clock, Request
from corollary.maintain.tuning import MAX_CANDIDATES_ONE_BY_ONE, MAX_SHARE_EXTENDED
from corollary.modules.module import Module
from corollary.modules.triggers import viable
from corollary.program.stratify import Strata

BACKWARD = "data leads to schema facts, or a stratum to facts of an earlier one"


class LayerOrderViolated(CannotFollow):
    """Facts of a later layer lead to facts of an earlier layer."""


@dataclass(frozen=True)
class Start:
    """The input of the layers: Δ⁻ and Δ⁺, extended by the effect of changed rules, and the strata.

    The strata are a valid order over the facts ``ordered``.
    """

    removed: Delta
    added: Delta
    strata: Strata
    ordered: TripleIndex


class Workspace:
    """The state of one transaction.

    ``before`` is I before the transaction, ``deleted`` the facts deleted so far. ``concluded`` has the
    conclusions of strata evaluated from scratch, by layer.
    """

    def __init__(self, request: Request, report: Report, start: Start, before: TripleIndex) -> None:
        engine = request.engine
        self.request = request
        self.report = report
        self.start = start
        self.engine: Engine = engine
        self.modules = engine.fixpoint.modules
        self.index = engine.fixpoint.index
        self.before = before
        self.layers = Layers.by(engine, start.strata)
        self.deleted = NOTHING
        self.concluded: dict[int, Delta] = {}
        self._candidates: dict[int, Delta] = {}  # by layer, if it has any
        self._postponed: Delta = NOTHING

    @cached_property
    def checks(self) -> int:
        """The number of facts that may be looked up in a layer."""
        return most_checks(self.request)

    @cached_property
    def clock(self) -> Clock:
        """The time for deletions, which begins with the first of them."""
        first = most_seconds(self.request, self.report.strategy)
        return Clock(first, MAX_SHARE_EXTENDED * self.engine.seconds)

    def has_candidates(self, layer: int) -> bool:
        """Whether a layer has candidates."""
        return layer in self._candidates or bool(self._postponed)

    def has_few_candidates(self, layer: int) -> bool:
        """Whether a layer has candidates, so few that they may be followed one by one."""
        candidates = self._candidates.get(layer)
        return candidates is not None and len(candidates) <= MAX_CANDIDATES_ONE_BY_ONE

    @property
    def has_postponed(self) -> bool:
        """Whether candidates were postponed."""
        return bool(self._postponed)

    def least_level(self, layer: int, order: Precedence) -> float:
        """The least level of a layer's candidates; infinite if there are none."""
        candidates = self._candidates.get(layer)
        least = inf if candidates is None else order.least(candidates)
        return min(least, order.least(self._postponed)) if self._postponed else least

    def enqueue_candidates(self, facts: Delta, layer: int | None) -> Delta:
        """Enqueue candidates by layer. Returns those of ``layer``, the present one.

        Candidates of later layers are restricted to I at once, those of the present layer when the strategy
        decides. Raises ``LayerOrderViolated`` for a candidate of an earlier layer; in the last layer, the
        transaction checks this when it deletes.
        """
        parts = {layer: facts} if layer == self.layers.all[-1] else self.layers.split(facts)
        for found, part in parts.items():
            if layer is not None and found < layer:
                raise LayerOrderViolated(BACKWARD)
            if layer is not None and found > layer:
                part &= self.index
            if part:
                known = self._candidates.get(found)
                self._candidates[found] = part if known is None else known | part
        return NOTHING if layer is None else parts.get(layer, NOTHING)

    def dequeue_candidates(self, layer: int, order: Precedence | None = None) -> Delta:
        """Remove and return the candidates of a layer; with ``order``, only those of the least level.

        Postponed candidates are not returned, but count for the least level.
        """
        candidates = self._candidates.pop(layer, None)
        if candidates is None:
            return NOTHING
        found, later = (candidates, NOTHING) if order is None else order.first(candidates)
        if self._postponed:
            if order is not None and order.least(self._postponed) < order.least(found):
                found, later = NOTHING, candidates
            self._postponed -= found
        if later:
            self._candidates[layer] = later
        return found

    def postpone(self, candidates: Delta) -> None:
        """Keep candidates, all of the present layer's least level, for ``dequeue_postponed``."""
        self._postponed |= candidates

    def dequeue_postponed(self) -> Delta:
        """Remove and return the postponed candidates that were not returned as candidates since."""
        found, self._postponed = self._postponed, NOTHING
        return found

    def proved_at_first(self, layer: int, *, with_schema: bool = False) -> TripleIndex:
        """The facts proved when a layer begins: E, axioms, and ``concluded`` facts of the layer.

        For the data layer also the schema, if ``with_schema``. For the schema layer only schema facts.
        """
        schema, axioms = self.engine.schema, self.engine.axioms
        if layer == SCHEMA:
            proved = schema.of(self.request.explicit).snapshot()
            proved.add_all(self.layers.split(Delta.of(axioms)).get(SCHEMA, NOTHING) - proved)
            return proved
        proved = self.request.explicit.snapshot()
        self.engine.with_axioms.add(axioms, proved)
        if layer in self.concluded:
            proved.add_all(self.concluded[layer] - proved)
        if with_schema and layer == DATA:
            proved.share(schema.predicates, self.index)
            types = self.engine.guards(self.index).only(self.engine.compiled.rdf_type.__eq__)
            self.engine.with_schema_types.add(types, proved)
        return proved

    def _may_rederive(self, module: Module, number: int, deleted: Delta) -> bool:
        """Whether a module may derive deleted facts of a stratum that was evaluated from scratch.

        Most depend on others of the stratum, which were deleted, too: then no rule for them is viable.
        """
        if module is self.engine.strata[number - 1]:
            return False
        predicates = set(deleted.all_predicates())
        return not module.rules or any(
            viable(rule, self.index)
            for rule in module.rules
            if rule.is_open or not predicates.isdisjoint(rule.derives)
        )

    def rederive(self, layer: int, deleted: Delta) -> None:
        """Rederive deleted facts: those with an instance over the remaining facts, then the fixpoint."""
        number, stage, size = self.layers.stratum(layer), self.layers.name(layer), self.index.fact_count
        deleted = deleted.only(lambda predicate: not deleted.relation(predicate).is_compressed)
        for module in self.modules:
            if layer in self.concluded and not self._may_rederive(module, number, deleted):
                continue
            with self.report.at(stage, module.name) as line:
                before = size()
                found = Delta.gathered(module.rederive(deleted - self.index, self.index))
                self.engine.fixpoint.include(found.candidates(), module)
                line.rederived += size() - before
        with self.report.at(stage, "rederive") as line:
            before = size()
            self.engine.run(number)
            line.rederived += size() - before
