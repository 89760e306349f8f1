"""A transaction on an engine, layer by layer.

1. The layers are the *schema*, the *data*, and each stratum. When the deletions of the schema layer are
   committed, the schema is proved, and modules may use their closures of the schema in the data layer. This
   needs that no data leads to schema facts; otherwise both are one layer.
2. In each layer every module receives Δ⁻ and returns the facts that it overdeletes. In a stratum, added facts
   overdelete conclusions of rules that negate them. The strategy decides which of these candidates to delete.
3. Then the added facts of the layer are one more batch for the fixpoint.

DRed follows the strata (``stratum``). ``LayerOrderViolated`` is raised where facts of a later layer turn out
to lead to facts of an earlier one.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import nullcontext
from typing import Protocol

import numpy as np

from corollary.columns import NOTHING, Delta, Relation, TripleIndex
from corollary.columns.pairs import distinct, firsts
from corollary.evaluate import MaterialisedView
from corollary.evaluate.engine import Engine
from corollary.evaluate.precedence import Precedence
from corollary.evaluate.rule_change import RuleChange
from corollary.kernels.sorted import Keys
from corollary.maintain.cost_model import TOO_MANY_DELETIONS
from corollary.maintain.layers import DATA, SCHEMA
from corollary.maintain.one_by_one import FewDeletions
from corollary.maintain.report import Report
from corollary.maintain.strategy import Budget, CannotFollow, Request
from corollary.maintain.stratum import LayerChange, changes_of_stratum
from corollary.maintain.workspace import BACKWARD, LayerOrderViolated, Start, Workspace
from corollary.modules.module import Module, feedback
from corollary.program.edges import CLASS
from corollary.program.stratify import Strata

EXPLICIT, PROOFS = "explicit", "proofs"
"""Report lines: the decisions about facts that are no longer explicit, and about overdeleted facts."""

LITTLE_STAYS = "most inferred facts depend on rules that come, go or move"
"""The reason to start over, instead of to follow changed rules."""


class LayerDeletion(Protocol):
    """A strategy on one layer. ``proved`` facts are not deleted; their set may grow.

    With an ``order``, candidates are decided level by level.
    """

    @property
    def order(self) -> Precedence | None:
        """The order of the levels; None if all candidates of the layer are decided at once."""

    @property
    def takes_compressed(self) -> bool:
        """Whether candidates may be compressed relations. If not, these raise ``CannotFollow``."""

    @property
    def proved(self) -> TripleIndex:
        """Facts that have a proof from E and the layers below."""

    def followed_one_by_one(self, candidates: Delta) -> FewDeletions | None:
        """All that is deleted if the candidates are few, decided fact by fact; None: not in this way.

        Precondition: these are all candidates, and nothing was deleted before.
        """

    def may_postpone(self, candidates: Delta) -> bool:
        """Whether ``postponed`` may return some."""

    def postponed(self, candidates: Delta) -> Delta:
        """Those to decide later, all at once: when no other candidates of their level are left.

        Asked again for a candidate that loses another derivation until then.
        """

    def undecided(self, candidates: Delta) -> Delta:
        """The candidates but for some that are seen to be proved, at little cost."""

    def unproved(self, candidates: Delta) -> Delta:
        """The facts to delete: candidates without a proof, and premises of theirs without a proof.

        Precondition: no candidate is in ``proved``. Candidates that are not in I are allowed, and may be
        returned.
        """

    def spares(self, module: Module, lost: Mapping[int, Relation]) -> bool:
        """Whether some facts that a module overdeletes, ``lost``, are proved now that were not before."""

    def charge(self, deletions: int) -> None:
        """Called before each deletion, with the number of facts. May raise ``TooMuch``."""

    def restore(self, deleted: Delta) -> None:
        """Rederive deleted facts that still follow. Precondition: all modules committed the deletions."""


class LayerwiseStrategy(Protocol):
    """A strategy that ``follow`` calls layer by layer."""

    @property
    def name(self) -> str:
        """The name in reports."""

    def fitting(self, engine: Engine) -> LayerwiseStrategy:
        """The strategy to use, possibly another one, after the engine has taken up changed rules."""

    def most_losses(self, request: Request) -> float:
        """The facts that may lose a derivation by removed rules; with more, the transaction starts over."""

    def on_layer(self, work: Workspace, layer: int) -> LayerDeletion:
        """The strategy for one layer."""


def follow(request: Request, report: Report, strategy: LayerwiseStrategy) -> MaterialisedView:
    """I after a transaction, by a strategy that is called layer by layer.

    Raises UnsafeRuleError or UnstratifiableError if the new program is invalid; then nothing has changed.
    Raises ``CannotFollow``, ``NewModules`` or ``ModuleRejectsRule`` if the transaction must be recomputed.
    """
    engine, change = request.engine, None
    if request.change is not None:
        change = engine.planned(request.change, request.explicit, wholesale=request.is_automatic)
        if request.is_automatic and change.keeps_little:
            raise CannotFollow(LITTLE_STAYS)
    engine.version += 1
    engine.remembered = None
    before = engine.fixpoint.index.snapshot()
    start = Start(request.removed, request.added, request.before.strata, before)
    if change is not None:
        start = _with_rules(request, report, change, strategy.fitting(engine).most_losses(request))
    strategy = strategy.fitting(engine)
    report.strategy = strategy.name
    return _Transaction(Workspace(request, report, start, before), strategy).run()


def _with_rules(request: Request, report: Report, planned: RuleChange, most: float) -> Start:
    """Let the engine take up the changed rules. Returns Δ⁻ and Δ⁺ with their effect, and the strata.

    Raises ``TooMuch`` under ``automatic`` if more than ``most`` facts lose a derivation by removed rules.
    """
    engine, before, change = request.engine, request.before, planned.change
    index = engine.fixpoint.index
    strata, ordered = before.strata, index.snapshot()
    if request.is_automatic and not engine.strata:
        Budget(most, TOO_MANY_DELETIONS).require(engine.lost_at_least(change.removed, request.explicit))
    with report.at("rules", "rules") as line:
        size = index.fact_count()
        lost, stated = engine.change(planned, request.explicit)
        line.deleted = size - index.fact_count()
        if engine.schema_depends_on_strata:  # not before: then no strategy follows
            raise LayerOrderViolated("a stratum may have led to facts that become schema")
        if change.are_leaves:
            strata = strata.with_leaves(change.inserted, change.program.rdf_type)
        else:
            strata = Strata.none()
            if change.program.has_strata:
                strata, _ = engine.stratify()
            if strata.suspended or before.strata.suspended:
                raise LayerOrderViolated("rules are suspended")
            ordered = index.snapshot()
        engine.restratify(strata)
    unsupported = Delta.among(lost, index) - request.explicit
    removed = request.removed.only(lambda predicate: predicate not in planned.emptied)
    if max(planned.emptied, default=0) >= CLASS:
        removed &= index
    removed |= unsupported
    return Start(removed, request.added | Delta.gathered(stated), strata, ordered)


class _Transaction:
    """The state of ``follow``, which calls ``run`` once: the facts that modules have not received yet."""

    def __init__(self, work: Workspace, strategy: LayerwiseStrategy) -> None:
        self._work = work
        self._strategy = strategy
        self._engine = work.engine
        self._index = work.index
        self._layers = work.layers
        self._report = work.report
        self._modules = work.modules
        self._stage = ""  # the name of the present layer
        self._pending: dict[int, Delta] = {}  # by the number of the module
        self._rules_are_applied = work.request.program is work.request.before.program

    def run(self) -> MaterialisedView:
        """Follow all layers, then check that the strata are still a valid order."""
        if self._work.start.removed:
            self._work.enqueue_candidates(self._work.start.removed - self._engine.axioms, None)
        has_strata = bool(self._engine.strata)
        with self._engine.fixpoint.recording() if has_strata else nullcontext():
            for layer in self._layers.all:
                self._follow_layer(layer)
            if has_strata:
                self._refuse_changed_values()
        if (
            (has_strata or self._work.start.strata.suspended)
            and self._layers.may_have_changed(self._work.start.ordered)
            and not self._engine.is_ordered_by(self._work.start.strata)
        ):
            raise LayerOrderViolated("the order of the strata has changed, or the rules that are suspended")
        return self._work.request.before.followed_by(self._work.request.explicit, self._work.start.strata)

    def _follow_layer(self, layer: int) -> None:
        number, self._stage = self._layers.stratum(layer), self._layers.name(layer)
        strata = changes_of_stratum(self._work, number, layer) if number else ()
        noted: dict[int, int] = {}
        if strata:
            new_facts = self._engine.fixpoint.new_facts
            noted = {predicate: len(parts) for predicate, parts in new_facts.items()}
        for stratum in strata:
            stratum.overdelete()
        if self._work.has_candidates(layer) or self._pending:
            strategy = None
            if not strata and self._work.has_few_candidates(layer):
                strategy = self._strategy.on_layer(self._work, layer)
            if strategy is None or not self._delete_one_by_one(layer, strategy):
                self._work.clock.within(self._delete, layer, strata, strategy)
        if layer == SCHEMA:
            return
        with self._report.at(self._stage, "insert") as line:
            if not (strata or self._work.start.added) and self._engine.fixpoint.is_at_rest:
                return
            size = self._index.fact_count()
            if not strata:
                self._engine.fixpoint.include(self._work.start.added.candidates())
            for stratum in strata:
                stratum.insert()
            self._engine.run(number)
            line.inserted = self._index.fact_count() - size
        if strata:
            self._refuse_late(number, noted)

    def _delete(
        self, layer: int, strata: Sequence[LayerChange], strategy: LayerDeletion | None = None
    ) -> None:
        """Delete the facts of a layer that do not follow from the remaining facts.

        Two steps alternate until no candidates are left: the strategy decides about the candidates (of the
        least level), and the modules overdelete by the deleted facts. ``named`` has the candidates that each
        module overdeleted, by its number.
        """
        if strategy is None:
            strategy = self._strategy.on_layer(self._work, layer)
        universe, deleted = self._index.snapshot(), NOTHING
        known: list[TripleIndex] = [deleted, strategy.proved]
        if self._work.deleted:
            universe.add_all(self._work.deleted - universe)
            known.append(self._work.deleted)
        if layer == SCHEMA:
            known += [self._work.request.explicit, self._engine.axioms]
        named: dict[int, Delta] = {}
        while True:
            candidates = self._next_candidates(layer, strategy, PROOFS if named else EXPLICIT)
            if candidates:
                now: dict[int, Delta] = {}
                for number, facts in named.items():
                    now[number] = decided = self._decided(facts, candidates)
                    named[number] = NOTHING if decided is facts else facts - decided
                lost = self._apply_deletions(layer, now, candidates, strategy, deleted)
                self._work.clock.note("deletions", len(candidates))
                known[0] = deleted = deleted | lost
            if strata and any(stratum.is_truncated for stratum in strata):
                self._forget_pending()
            for number in sorted(self._pending):
                module = self._modules[number]
                with self._report.at(self._stage, module.name):
                    whole = self._work.before if module in self._engine.strata else universe
                    found = self._overdelete(module, whole, self._pending.pop(number), strategy)
                    self._enqueue(found, number, layer, strategy, known, named)
            if strategy.order is not None:
                self._release(layer, strategy.order, strategy, known, named)
            if not self._work.has_candidates(layer):
                break
        if deleted:
            self._commit(layer, deleted, strategy)

    def _delete_one_by_one(self, layer: int, strategy: LayerDeletion) -> bool:
        """Delete few facts of the data layer one by one. Returns whether they can be followed so."""
        work = self._work
        if layer != self._layers.all[-1] or self._pending or work.deleted or not self._rules_are_applied:
            return False
        candidates = work.dequeue_candidates(layer)
        with self._report.at(self._stage, EXPLICIT) as line:
            found = strategy.followed_one_by_one(candidates)
            deleted = NOTHING if found is None else found.deleted()
            if found is None or not self._layers.has_all(layer, deleted):
                work.enqueue_candidates(candidates, layer)
                return False
            line.judged(len(candidates), len(candidates & deleted))
        if any(facts & found.lost for facts in found.named.values()):
            self._report.at(self._stage, PROOFS)  # all of its time is that of the line above
        for number, facts in found.named.items():
            line = self._report.at(self._stage, self._modules[number].name)
            line.judged(len(facts), len(facts & found.lost))
        for predicate, relation in deleted.all_relations():
            self._engine.fixpoint.exclude(predicate, relation)
        if deleted:
            self._commit(layer, deleted, strategy)
        return True

    def _next_candidates(self, layer: int, strategy: LayerDeletion, line: str) -> Delta:
        """The candidates to decide next: those not postponed, or at last the postponed ones."""
        candidates = self._work.dequeue_candidates(layer, strategy.order)
        if not candidates:
            return self._work.dequeue_postponed()
        if not strategy.may_postpone(candidates):
            return candidates
        with self._report.at(self._stage, line):
            postponed = strategy.postponed(candidates)
        self._work.postpone(postponed)
        return candidates - postponed

    def _decided(self, facts: Delta, candidates: Delta) -> Delta:
        """Those of the facts that a module overdeleted which are among the candidates to decide now.

        These are all enqueued facts of their predicates, unless some are postponed.
        """
        return facts & candidates if self._work.has_postponed else facts.beside(candidates)

    def _overdelete(
        self, module: Module, facts: TripleIndex, deleted: Delta, strategy: LayerDeletion
    ) -> Delta:
        """The facts that a module overdeletes."""
        order = strategy.order
        if order is None:
            candidates, lost, _ = module.overdelete(facts, deleted, strategy.proved)
        else:
            candidates, lost, _ = module.overdelete_in_order(facts, deleted, strategy.proved, order.precedes)
        if lost:
            if not strategy.takes_compressed:
                raise CannotFollow("a closure too large to list loses facts")
            while strategy.spares(module, lost):
                lost = module.spare(lost, facts, strategy.proved)
        found = Delta.gathered(candidates)
        return found | Delta.of_relations(lost) if lost else found

    def _release(
        self,
        layer: int,
        order: Precedence,
        strategy: LayerDeletion,
        known: Sequence[TripleIndex],
        named: dict[int, Delta],
    ) -> None:
        """Enqueue what modules held back, once no candidates of lower levels are left."""
        for number in self._engine.fixpoint.holding:
            module = self._modules[number]
            held = module.holds_back
            if held and min([order.level(p) for p in held]) <= self._work.least_level(layer, order):
                with self._report.at(self._stage, module.name):
                    found = module.release(self._index, strategy.proved)
                    self._enqueue(Delta.gathered(found), number, layer, strategy, known, named)

    def _enqueue(
        self,
        found: Delta,
        number: int,
        layer: int,
        strategy: LayerDeletion,
        known: Sequence[TripleIndex],
        named: dict[int, Delta],
    ) -> None:
        """Enqueue overdeleted facts that are not known to be deleted or to stay; note which module did it."""
        if not found:
            return
        for facts in known:
            found -= facts
        concludes_facts = self._rules_are_applied and self._modules[number].concludes_facts
        if layer > DATA or not concludes_facts:  # lower layers may have new facts already
            compressed = found.compressed()
            found = compressed | ((found - compressed) & self._index)
        found = strategy.undecided(found) if found else found
        if not found:
            return
        found = self._work.enqueue_candidates(found, layer)
        named[number] = named[number] | found if number in named else found

    def _apply_deletions(
        self,
        layer: int,
        named: Mapping[int, Delta],
        candidates: Delta,
        strategy: LayerDeletion,
        deleted: Delta,
    ) -> Delta:
        """Delete the candidates that have no proof, and notify the modules. Returns the deleted facts.

        ``named`` has the facts that each module (by number) overdeleted. Of its own, a module receives only
        the feedback. ``deleted`` are the facts that were deleted before in this layer.
        """
        with self._report.at(self._stage, PROOFS if named else EXPLICIT) as line:
            compressed = candidates.compressed()
            listed = candidates - compressed if compressed else candidates
            if not named and strategy.order is None:  # a search may cost more than starting over
                self._refuse_loss(listed)
            unproved = strategy.unproved(listed) if listed else NOTHING
            unproved -= deleted
            if compressed:
                self._refuse_other_derivations(compressed, named, is_ordered=strategy.order is not None)
                unproved |= compressed
            count = len(unproved)
            strategy.charge(count)
            if not self._layers.has_all(layer, unproved):
                raise LayerOrderViolated(BACKWARD)
            own: dict[int, Delta] = {}
            for number, facts in named.items():
                if not facts:
                    continue
                own[number] = lost = facts & unproved
                self._report.at(self._stage, self._modules[number].name).judged(len(facts), len(lost))
            judged = candidates & unproved
            if not named:
                line.judged(len(candidates), len(judged))
            line.deleted += count - len(judged)
            if count:
                for predicate, relation in unproved.all_relations():
                    self._engine.fixpoint.exclude(predicate, relation)
                self._notify(unproved, own, strategy.order)
            return unproved

    def _notify(self, deleted: Delta, own: Mapping[int, Delta], order: Precedence | None) -> None:
        """Add deleted facts to the pending facts of the modules that read them."""
        fixpoint = self._engine.fixpoint
        for number, news in fixpoint.received(deleted, order).items():
            module = self._modules[number]
            if number in fixpoint.refusing:
                module.refuse_loss(self._work.before, news)
            if number in own:
                news = (news - own[number]) | feedback(module, own[number].only(module.reads))
            if news:
                pending = self._pending.get(number)
                self._pending[number] = news if pending is None else pending | news

    def _refuse_loss(self, deleted: Delta) -> None:
        """Raise ``NewModules`` if a module cannot follow what deleted facts lead to."""
        for number in self._engine.fixpoint.refusing:
            self._modules[number].refuse_loss(self._work.before, deleted)

    def _forget_pending(self) -> None:
        """Drop the pending facts of modules without state: all that they would overdelete is decided."""
        for number, module in enumerate(self._modules):
            if not module.keeps_state:
                self._pending.pop(number, None)

    def _commit(self, layer: int, deleted: Delta, strategy: LayerDeletion) -> None:
        """Commit the deletions of a layer in all modules, and let the strategy rederive."""
        self._work.deleted |= deleted
        if layer == SCHEMA:
            self._refuse_proofs_by_data(deleted)
        with self._report.at(self._stage, "commit"):
            for module in self._modules:
                module.commit_deletions(self._index, deleted)
        strategy.restore(deleted)

    def _refuse_other_derivations(
        self, compressed: Delta, named: Mapping[int, Delta], *, is_ordered: bool
    ) -> None:
        """Raise ``CannotFollow`` if compressed facts may follow by other modules than that which named them.

        I without the facts deleted so far has all premises that there may be.
        """
        order = self._engine.precedence(self._work.before)
        for predicate in compressed.all_predicates():
            lost = compressed.only(predicate.__eq__)
            names = {*order.modules_deriving(predicate)}
            rest = self._index.snapshot()
            rest.remove_relation(predicate, lost.relation(predicate))
            for number, module in enumerate(self._modules):
                if named.get(number, NOTHING).relation(predicate).is_compressed:
                    names.discard(module.name)
                elif is_ordered and module.name in names:
                    if not module.takes_compressed and len(lost) > self._work.checks:
                        break
                    names.discard(module.name)
                    wanted = (
                        lost
                        if module.takes_compressed
                        else Delta.gathered({predicate: [lost.keys(predicate)]})
                    )
                    if Delta.gathered(module.rederive(wanted, rest)):
                        names.add(module.name)
                        break
            if names:
                raise CannotFollow("a closure too large to list loses facts that other rules derive too")

    def _refuse_proofs_by_data(self, deleted: Delta) -> None:
        """Raise ``LayerOrderViolated`` if a module outside ``schema_modules`` rederives a schema fact."""
        for module in self._modules:
            if module not in self._engine.schema_modules and Delta.gathered(
                module.rederive(deleted, self._index)
            ):
                raise LayerOrderViolated(BACKWARD)

    def _refuse_late(self, number: int, noted: Mapping[int, int]) -> None:
        """Raise ``LayerOrderViolated`` if a stratum derived schema facts, or facts that came late.

        ``noted`` has the number of arrays that ``new_facts`` had before this layer, by predicate.
        """
        new_facts = self._engine.fixpoint.new_facts
        new = Delta.gathered({p: parts[noted.get(p, 0) :] for p, parts in new_facts.items()})
        if self._engine.schema.are_among(new) or self._engine.late(number, new):
            raise LayerOrderViolated(
                "a stratum leads to schema facts, or to what it negates or aggregates over"
            )

    def _refuse_changed_values(self) -> None:
        """Raise ``LayerOrderViolated`` if virtual facts of a literal changed that a stratum's facts mention.

        A literal has virtual facts (its value) because it occurs in a fact. If that is a fact of a stratum's
        layer, virtual facts that strata read may depend on a later layer.
        """
        new_facts = self._engine.fixpoint.new_facts
        keys: list[Keys] = []
        for relation in self._engine.value_relations:
            keys += [*new_facts.get(relation, ()), self._work.deleted.keys(relation)]
        literals = distinct(firsts(np.concatenate(keys)))
        states = (self._work.before, self._index) if literals.size else ()
        if any(self._layers.mentions_later(literals, facts) for facts in states):
            raise LayerOrderViolated("what holds of a literal depends on facts of a stratum")
