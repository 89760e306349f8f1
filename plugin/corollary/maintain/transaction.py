"""A transaction at work on an engine, layer by layer.

1. Facts are followed in layers. The *schema* comes first: once its deletions are committed it is proved, and
   modules may trust the closures that they made of it while data is looked at. This needs that no data leads
   to schema facts; where data does, both are one layer. Then come the *data*, and then what is derived by
   negation and aggregates, stratum by stratum.
2. In each layer every module receives Δ⁻ and answers with what it overdeletes; so do facts that came, where
   rules negate them. The strategy decides which of these candidates go.
3. Then the layer's additions are one more batch for the fixpoint.

The strata are followed by DRed (``stratum``). ``LayerOrderViolated`` is raised where facts of a later layer
turn out to lead to facts of an earlier one.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from corollary.evaluate import Materialisation
from corollary.evaluate.engine import Engine
from corollary.index.delta import NOTHING, Delta
from corollary.index.pairs import distinct, firsts
from corollary.index.triples import TripleIndex
from corollary.kernels.sorted import Keys
from corollary.maintain.cost_model import most_checks, most_deletions
from corollary.maintain.layers import DATA, SCHEMA, Layers
from corollary.maintain.report import Report
from corollary.maintain.strategy import (
    Budget,
    CannotFollow,
    LayerDeletion,
    LayerwiseStrategy,
    Request,
)
from corollary.maintain.stratum import StratumChange
from corollary.modules.module import feedback
from corollary.plan.program import ProgramChange
from corollary.plan.stratify import Strata, refuse_static_cycles

BACKWARD = "data leads to schema facts, or a stratum to facts of an earlier one"
TOO_MANY_DELETIONS = "too many facts would be deleted, and most derived again"

EXPLICIT, PROOFS = "explicit", "proofs"
"""Report lines: judging what is no longer explicit, and what modules have overdeleted."""


class LayerOrderViolated(CannotFollow):
    """Facts of a later layer were found to lead to facts of an earlier one."""


def follow(request: Request, report: Report, strategy: LayerwiseStrategy) -> Materialisation:
    """I after a transaction, by a strategy that is asked layer by layer.

    UnsafeRuleError or UnstratifiableError if the new program cannot be evaluated; then nothing has changed.
    """
    engine, change = request.engine, None
    if request.program != request.before.program:
        change = engine.compiled.changed(request.program)
        if change.came and not change.are_leaves and change.program.has_strata:
            refuse_static_cycles(change.program)
    engine.version += 1
    before = engine.fixpoint.index.snapshot()
    start = Start(request.removed, request.added, request.before.strata, before)
    if change is not None:
        start = _with_rules(request, report, change)
    strategy = strategy.fitting(engine)
    report.strategy = strategy.name
    return Transaction(request, report, strategy, start, before).run()


@dataclass(frozen=True)
class Start:
    """What the layers start from: Δ⁻ and Δ⁺ with what changed rules make of them, and the strata.

    The strata are in order for the facts ``ordered``.
    """

    removed: Delta
    added: Delta
    strata: Strata
    ordered: TripleIndex


def _with_rules(request: Request, report: Report, change: ProgramChange) -> Start:
    """Let the engine take up the changed rules."""
    engine, before = request.engine, request.before
    index = engine.fixpoint.index
    strata, ordered = before.strata, index.snapshot()
    if request.is_automatic and engine.schema_depends_on_data and not engine.strata:
        most = Budget(most_deletions(request), TOO_MANY_DELETIONS)
        most.require(engine.lost_at_least(change.gone, request.explicit))
    with report.timed("rules", "rules") as line:
        size = index.fact_count()
        lost, stated, emptied = engine.change(change, request.explicit, wholesale=request.is_automatic)
        line.deleted = size - index.fact_count()
        if change.are_leaves:
            strata = strata.with_leaves(change.came)
        else:
            strata = Strata.none()
            if change.program.has_strata:
                strata, _ = engine.stratify()
            if strata.suspended or before.strata.suspended:
                raise LayerOrderViolated("rules are suspended")
            ordered = index.snapshot()
        engine.restratify(strata)
    unsupported = Delta.among(lost, index) - request.explicit
    removed = request.removed.only(lambda predicate: predicate not in emptied) | unsupported
    return Start(removed, request.added | Delta.gathered(stated), strata, ordered)


class Transaction:
    """One transaction at work. Strategies use its public members; ``run`` is called once."""

    def __init__(
        self,
        request: Request,
        report: Report,
        strategy: LayerwiseStrategy,
        start: Start,
        before: TripleIndex,
    ) -> None:
        """``before`` is I as it was."""
        engine = request.engine
        self.request = request
        self.report = report
        self.engine: Engine = engine
        self.modules = engine.fixpoint.modules
        self.index = engine.fixpoint.index
        self.before = before
        self.start = start
        self.layers = Layers(engine, start.strata)
        self.deleted = TripleIndex()
        self.concluded: dict[int, Delta] = {}
        self.checks = most_checks(request)
        self.deletions = Budget(most_deletions(request), TOO_MANY_DELETIONS)
        self._strategy = strategy
        self._candidates: dict[int, Delta] = {}
        self._pending: list[Delta] = [NOTHING for _ in self.modules]

    def run(self) -> Materialisation:
        """Follow the transaction to the end."""
        self.enqueue_candidates(self.start.removed - self.engine.axioms, None)
        fixpoint, has_strata = self.engine.fixpoint, bool(self.engine.strata)
        fixpoint.journal = {} if has_strata else None
        for layer in self.layers.all:
            self._follow_layer(layer)
        if has_strata:
            self._refuse_changed_values()
            fixpoint.journal = None
        if (
            (has_strata or self.start.strata.suspended)
            and self.layers.may_have_changed(self.start.ordered)
            and not self.engine.is_ordered_by(self.start.strata)
        ):
            raise LayerOrderViolated("the order of the strata has changed, or the rules that are suspended")
        return self.request.before.followed_by(self.request.explicit, self.start.strata)

    def _follow_layer(self, layer: int) -> None:
        number, stage = self.layers.stratum(layer), self.layers.name(layer)
        stratum = StratumChange(self, number, layer) if number else None
        journal = self.engine.fixpoint.journal or {}
        noted = {predicate: len(parts) for predicate, parts in journal.items()}
        if stratum is not None:
            stratum.overdelete()
        self._delete(layer, stratum)
        if layer == SCHEMA:
            return
        with self.report.timed(stage, "insert") as line:
            size = self.index.fact_count()
            if stratum is None:
                self.engine.fixpoint.include(self.start.added.candidates())
            else:
                stratum.insert()
            self.engine.run(number)
            line.inserted = self.index.fact_count() - size
        if stratum is not None:
            self._refuse_late(number, noted)

    def enqueue_candidates(self, facts: Delta, layer: int | None) -> Delta:
        """Keep candidates for their layers; those of ``layer``, the present one, are returned.

        Candidates of later layers are looked up at once, those of the present one when they are judged.
        ``LayerOrderViolated`` if one is of an earlier layer; in the last layer this is seen when one goes.
        """
        parts = {layer: facts} if layer == self.layers.all[-1] else self.layers.split(facts)
        for found, part in parts.items():
            if layer is not None and found < layer:
                raise LayerOrderViolated(BACKWARD)
            if layer is not None and found > layer:
                part &= self.index
            self._candidates[found] = self._candidates.get(found, NOTHING) | part
        return NOTHING if layer is None else parts.get(layer, NOTHING)

    def dequeue_candidates(self, layer: int) -> Delta:
        """The candidates of a layer, which has none left then."""
        return self._candidates.pop(layer, NOTHING)

    def proved_at_first(self, layer: int, *, with_schema: bool = False) -> TripleIndex:
        """Facts that have a proof from E and the layers below: E, axioms, what a stratum concluded for good.

        For data also the schema, if ``with_schema``.
        """
        schema, axioms = self.engine.schema, Delta.of(self.engine.axioms)
        if layer == SCHEMA:
            proved = schema.of(self.request.explicit).snapshot()
            proved.add_all(self.layers.split(axioms).get(SCHEMA, NOTHING) - proved)
            return proved
        proved = self.request.explicit.snapshot()
        proved.add_all(axioms - proved)
        proved.add_all(self.concluded.get(layer, NOTHING) - proved)
        if with_schema and layer == DATA:
            proved.add_all(schema.of(self.index) - proved)
        return proved

    def rederive(self, layer: int, deleted: Delta) -> None:
        """Bring back what the remaining facts derive: one step of every rule backward, then the fixpoint."""
        number, stage, size = self.layers.stratum(layer), self.layers.name(layer), self.index.fact_count
        for module in self.modules:
            if layer in self.concluded and module is self.engine.strata[number - 1]:
                continue
            with self.report.timed(stage, module.name) as line:
                before = size()
                found = Delta.gathered(module.rederive(deleted - self.index, self.index))
                self.engine.fixpoint.include(found.candidates(), module)
                line.rederived += size() - before
        with self.report.timed(stage, "rederive") as line:
            before = size()
            self.engine.run(number)
            line.rederived += size() - before

    def _delete(self, layer: int, stratum: StratumChange | None) -> None:
        """Delete all of a layer that has no proof from what stays."""
        if not self._candidates.get(layer) and not any(self._pending):
            return
        stage, strategy = self.layers.name(layer), self._strategy.on_layer(self, layer)
        universe = self.index.snapshot()
        universe.add_all(Delta.of(self.deleted) - universe)
        deleted = TripleIndex()
        staying = [strategy.proved]
        if layer == SCHEMA:
            staying += [self.request.explicit, self.engine.axioms]
        named: dict[int, Delta] = {}
        while True:
            candidates = self.dequeue_candidates(layer)
            if candidates:
                self._apply_deletions(layer, named, candidates, strategy, deleted)
            if stratum is not None and stratum.is_truncated:
                self._forget_pending()
            if not any(self._pending):
                break
            named = {}
            for number, module in enumerate(self.modules):
                if not self._pending[number]:
                    continue
                recent, self._pending[number] = self._pending[number], NOTHING
                with self.report.timed(stage, module.name):
                    facts = self.before if module in self.engine.strata else universe
                    found = Delta.gathered(module.overdelete(facts, recent, strategy.proved))
                    for known in (deleted, self.deleted, *staying):
                        found -= known
                    named[number] = self.enqueue_candidates(found, layer)
        if deleted.all_predicates():
            self._commit(layer, Delta.of(deleted), strategy)

    def _apply_deletions(
        self,
        layer: int,
        named: Mapping[int, Delta],
        candidates: Delta,
        strategy: LayerDeletion,
        deleted: TripleIndex,
    ) -> None:
        """Delete the candidates that have no proof, and notify the modules.

        ``named``: what each module (by its number) overdeleted itself. Of that it receives only the feedback.
        """
        stage = self.layers.name(layer)
        with self.report.timed(stage, PROOFS if named else EXPLICIT) as line:
            unproved = strategy.unproved(candidates)
            if named:  # what is no longer explicit was looked up when it was enqueued
                unproved &= self.index
            strategy.charge(len(unproved))
            if self.layers.split(unproved).keys() - {layer}:
                raise LayerOrderViolated(BACKWARD)
            own = {number: facts & unproved for number, facts in named.items()}
            for number, facts in named.items():
                self.report.at(stage, self.modules[number].name).judged(len(facts), len(own[number]))
            judged = candidates & unproved
            if not named:
                line.judged(len(candidates), len(judged))
            line.deleted += len(unproved) - len(judged)
            for predicate, keys in unproved.items():
                self.engine.fixpoint.exclude(predicate, keys)
            self._notify(unproved, own)
            deleted.add_all(unproved)

    def _notify(self, deleted: Delta, own: Mapping[int, Delta]) -> None:
        """Hand deleted facts to the modules that read them."""
        for number, module in enumerate(self.modules):
            news = deleted.only(module.reads)
            if number in own:
                news = (news - own[number]) | feedback(module, own[number].only(module.reads))
            self._pending[number] |= news

    def _forget_pending(self) -> None:
        """Pass over modules that keep no state: all that they would overdelete is deleted, or proved."""
        for number, module in enumerate(self.modules):
            if not module.keeps_state:
                self._pending[number] = NOTHING

    def _commit(self, layer: int, deleted: Delta, strategy: LayerDeletion) -> None:
        """The deletions of a layer are final."""
        self.deleted.add_all(deleted - self.deleted)
        if layer == SCHEMA:
            self._refuse_proofs_by_data(deleted)
        with self.report.timed(self.layers.name(layer), "settle"):
            for module in self.modules:
                module.commit_deletions(self.index, deleted)
        strategy.restore(deleted)

    def _refuse_proofs_by_data(self, deleted: Delta) -> None:
        """Raise ``LayerOrderViolated`` if data could prove a schema fact that was deleted."""
        for module in self.modules:
            if module not in self.engine.schema_modules and Delta.gathered(
                module.rederive(deleted, self.index)
            ):
                raise LayerOrderViolated(BACKWARD)

    def _refuse_late(self, number: int, noted: Mapping[int, int]) -> None:
        """Raise ``LayerOrderViolated`` if a stratum led to schema facts, or to facts that come too late.

        ``noted``: the parts, by predicate, that the journal had before this layer.
        """
        journal = self.engine.fixpoint.journal or {}
        new = Delta.gathered({p: parts[noted.get(p, 0) :] for p, parts in journal.items()})
        if self.engine.schema.are_among(new) or self.engine.late(number, new):
            raise LayerOrderViolated(
                "a stratum leads to schema facts, or to what it negates or aggregates over"
            )

    def _refuse_changed_values(self) -> None:
        """Raise ``LayerOrderViolated`` if more, or less, holds of a literal that facts of a stratum mention.

        A literal has its value by occurring in facts. Those of later layers may be there because of it, and
        may be what strata read.
        """
        journal = self.engine.fixpoint.journal or {}
        keys: list[Keys] = []
        for relation in self.engine.value_relations:
            keys += [*journal.get(relation, ()), self.deleted.relation(relation).pairs().keys]
        literals = distinct(firsts(np.concatenate(keys)))
        states = (self.before, self.index) if literals.size else ()
        if any(self.layers.mentions_later(literals, facts) for facts in states):
            raise LayerOrderViolated("what holds of a literal depends on facts of a stratum")
