"""Maintenance: one transaction of removed and added explicit facts, followed exactly.

1. Facts are followed in layers. The *schema* comes first: once it is settled it is certain, and the
   closures that modules made of it may be trusted while data is looked at. This needs that no data
   leads to schema facts; where it does (the evaluation *is entangled*), both are one layer. Then come the
   *data*, and then what is derived by negation and aggregates, stratum by stratum.
2. In each layer, facts that are gone are handed to the modules, which name what loses a derivation; so do
   facts that came, where rules negate them. Under **backward/forward** every such candidate is proved from
   what is certain, or it goes too. Under **DRed** it goes unless it is explicit, and when nothing more
   does, what the remaining facts derive comes back (algorithm 3 of Hu, Motik, Horrocks 2019; a fact with
   a derivation from certain facts alone is what their counters of nonrecursive derivations spare). The
   strata are followed by DRed; one that reads nothing but settled facts, much of it new, is evaluated anew.
3. Then the layer's additions are one more batch for the fixpoint.

Starting over is chosen where it is cheaper, by the time that materialising took and the time that each
removed fact has taken so far, and where a change alters the order of the strata.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from enum import Enum
from time import perf_counter

import numpy as np

from corollary.algebra.bindings import Batch, join
from corollary.algebra.execute import Candidates, emit, extend
from corollary.evaluate import Materialisation, materialise
from corollary.evaluate.evaluation import FIRST_GUESS, NewModules
from corollary.index.pairs import Pairs, difference, distinct, firsts, union
from corollary.index.triples import TripleIndex
from corollary.kernels.sorted import Keys
from corollary.language import Program
from corollary.maintain.facts import (
    Facts,
    all_of,
    as_index,
    collected,
    count,
    gathered,
    put,
    shared,
    united,
    within,
    without,
)
from corollary.maintain.layers import DATA, SCHEMA, Layers
from corollary.maintain.proof import Prover, TooMuch
from corollary.maintain.report import Report
from corollary.modules.semi_naive import SemiNaive
from corollary.modules.transitive import Unfit
from corollary.plan.compile import Atom
from corollary.plan.program import ProgramChange
from corollary.plan.stratify import Strata, refuse_static_cycles


class Strategy(Enum):
    """How removals are followed."""

    AUTOMATIC = "automatic"
    BACKWARD_FORWARD = "backward/forward"
    DRED = "dred"
    START_OVER = "starting over"


MANY = 1000
"""So many removed facts tell how long one takes."""

PATIENCE = 8
"""A removal of many facts that was given up counts as so many times as long as starting over: as what is
believed halves from one start to the next, it is tried again after a few of them."""

SECONDS_A_CHECK = 0.4e-6
"""How long a look at one fact takes, about; by that and the time of materialising proofs are limited."""

SECONDS_A_DELETION = 3e-6
"""How long DRed takes for a fact that it deletes, about: it is limited too, unless it was asked for."""

LEAST_BUDGET = 10_000

MUCH = 3
"""If at least one in so many facts changed, what a stratum makes of all of them is found anew."""

MOST_EMPTIED = 2
"""The last layer is emptied if its facts are at most so many times those that its stratum lost."""

EXPLICIT, PROOFS = "explicit", "proofs"
"""What reports call looking for proofs of what is no longer explicit, and of what modules have named."""


class Entangled(Exception):
    """Facts of a later layer were found to lead to facts of an earlier one."""


def maintain(
    before: Materialisation,
    explicit: TripleIndex,
    removed: Facts,
    added: Facts,
    strategy: Strategy = Strategy.AUTOMATIC,
    program: Program | None = None,
) -> tuple[Materialisation, Report]:
    """The materialisation after a transaction, and how it was found.

    ``explicit`` are the explicit facts after it; ``removed`` (no longer among them) and ``added`` (new among
    them) are packed pairs by predicate, sorted and unique. What was there ``before`` is left as it is, but
    its evaluation goes on with the result: maintaining it a second time starts over. A ``program`` takes the
    place of the one before; only the rules that differ are looked at. UnsafeRuleError or UnstratifiableError
    if it cannot be evaluated.
    """
    evaluation, wanted = before.evaluation, before.program if program is None else program
    report = Report(strategy.value, count(removed), count(added))
    started = perf_counter()
    is_large = report.removed * evaluation.seconds_per_removal > evaluation.seconds
    if evaluation.version != before.version:
        strategy, report.reason = Strategy.START_OVER, "what changes is not the last materialisation"
    elif evaluation.is_volatile:
        strategy, report.reason = Strategy.START_OVER, "rules with negation or aggregates lead to schema"
    elif strategy is Strategy.AUTOMATIC and is_large:
        strategy, report.reason = Strategy.START_OVER, "so many facts are removed"
    result, reason = None, None
    if strategy is not Strategy.START_OVER:
        change = evaluation.compiled.changed(wanted) if wanted != before.program else None
        if change is not None and change.came and not change.are_leaves and change.program.has_strata:
            refuse_static_cycles(change.program)
        evaluation.version += 1
        run = _Run(before, explicit, strategy, report)
        try:
            result = run.follow(removed, added, change)
        except (TooMuch, Entangled, NewModules, Unfit) as found:
            reason = found
            report.reason = str(reason)
            report.stages.clear()
    seconds_per_removal = evaluation.seconds_per_removal
    are_many = report.removed >= MANY
    if result is not None and are_many:
        seconds_per_removal = (perf_counter() - started) / report.removed
    elif isinstance(reason, TooMuch) and report.removed:  # so many are too many the next time too
        seconds_per_removal = (PATIENCE if are_many else 1) * evaluation.seconds / report.removed
    elif result is None:  # what was measured may have been bad luck
        seconds_per_removal = (seconds_per_removal + FIRST_GUESS) / 2
    if result is None:
        report.strategy = Strategy.START_OVER.value
        result = materialise(explicit, wanted, before.dictionary)
        result.evaluation.is_entangled |= evaluation.is_entangled
    result.evaluation.seconds_per_removal = seconds_per_removal
    report.seconds = perf_counter() - started
    return result, report


class _Run:
    """One transaction at work on an evaluation."""

    def __init__(
        self, before: Materialisation, explicit: TripleIndex, strategy: Strategy, report: Report
    ) -> None:
        evaluation = before.evaluation
        self._evaluation = evaluation
        self._earlier = before
        self._explicit = explicit
        self._report = report
        self._strategy = strategy
        self._fixpoint = evaluation.fixpoint
        self._index = evaluation.fixpoint.index
        self._before = self._index.snapshot()
        self._candidates: dict[int, Facts] = {}
        self._went = TripleIndex()
        self._concluded: dict[int, TripleIndex] = {}
        self._emptied: int | None = None
        self._deletable = max(LEAST_BUDGET, int(evaluation.seconds / SECONDS_A_DELETION))

    def follow(self, removed: Facts, added: Facts, change: ProgramChange | None) -> Materialisation:
        """Follow removals and additions, and other rules, to the end."""
        strata, ordered = self._earlier.strata, self._before
        lost: Candidates = {}
        if change is not None:
            wholesale = self._strategy is Strategy.AUTOMATIC
            if wholesale and self._evaluation.is_entangled and not self._evaluation.strata:
                self._allow(self._evaluation.lost_at_least(change.gone, self._explicit))
            with self._report.timed("rules", "rules") as line:
                size = self._index.fact_count()
                lost, stated, emptied = self._evaluation.change(change, self._explicit, wholesale=wholesale)
                line.deleted = size - self._index.fact_count()
                removed = {p: keys for p, keys in removed.items() if p not in emptied}
                if change.are_leaves:
                    strata = strata.with_leaves(change.came)
                else:
                    strata = Strata.none()
                    if change.program.has_strata:
                        strata, _ = self._evaluation.stratify()
                    if strata.suspended or self._earlier.strata.suspended:
                        raise Entangled("rules are suspended")
                    ordered = self._index.snapshot()
                self._evaluation.restratify(strata)
                added = united(
                    added, {p: Pairs.of(np.concatenate(parts)).keys for p, parts in stated.items()}
                )
        self._coming = added.keys()
        self._dred = self._strategy is Strategy.DRED or self._evaluation.is_entangled
        self._report.strategy = (Strategy.DRED if self._dred else Strategy.BACKWARD_FORWARD).value
        self._layers = Layers(self._evaluation, strata)
        self._pending: list[Facts] = [{} for _ in self._fixpoint.modules]
        unsupported = without(collected(lost, self._index), self._explicit)
        self._queue(without(united(removed, unsupported), self._evaluation.axioms), None)
        if self._evaluation.strata:
            self._fixpoint.journal = {}
        for layer in self._layers.all:
            number = self._layers.stratum(layer)
            stage = self._layers.name(layer)
            if number:
                self._block(stage, number)
            noted = {predicate: len(parts) for predicate, parts in (self._fixpoint.journal or {}).items()}
            self._remove(stage, layer)
            if layer == DATA or number:
                with self._report.timed(stage, "insert") as line:
                    size = self._index.fact_count()
                    if layer == DATA:
                        self._fixpoint.include({predicate: [keys] for predicate, keys in added.items()})
                    else:
                        self._unblock(number)
                    self._evaluation.run(number)
                    line.inserted = self._index.fact_count() - size
            if number:
                self._refuse_late(number, noted)
        if self._evaluation.strata:
            self._refuse_values()
            self._fixpoint.journal = None
        has_order = bool(self._evaluation.strata or strata.suspended)
        if (
            has_order
            and self._layers.may_have_changed(ordered)
            and not self._evaluation.is_ordered_by(strata)
        ):
            raise Entangled("the order of the strata has changed, or the rules that are suspended")
        return self._earlier.followed_by(self._explicit, strata)

    def _block(self, stage: str, number: int) -> None:
        """Queue what a stratum derived from the absence of facts that came, or from groups that changed.

        What it makes of facts that are settled, and changed much, is found once and for all; then what else
        there is of its conclusions is queued.
        """
        module, level = self._evaluation.strata[number - 1], self._layers.level(number)
        self._groups, self._unblocking = [], TripleIndex()
        closed, journal = module.closed_to(), self._fixpoint.journal
        assert journal is not None
        if closed.isdisjoint((*journal, *self._went.all_predicates())) and min(closed, default=0) >= 0:
            return
        with self._report.timed(stage, module.name):
            if self._is_worth_concluding(module, level):
                concluded = gathered(module.conclusions(None, self._index))
                self._concluded[level] = as_index(concluded)
                module.start(self._index)
                self._fixpoint.skip(module)
                self._candidates[level] = without(self._candidates.get(level, {}), self._concluded[level])
                lost = self._matching({head for rule in module.rules for head in rule.heads})
                lost = without(lost, self._concluded[level])
                whole = without(self._matching(self._layers.whole(level)), self._concluded[level])
                if whole and count(whole) <= MOST_EMPTIED * count(lost):
                    lost, self._emptied = whole, level
            else:
                came, self._unblocking = self._changes(closed, journal)
                self._groups = module.touched(self._index, came)
                self._groups += module.touched(self._before, self._unblocking)
                found = module.blocked(self._before, came)
                extend(found, module.grouped(self._before, self._groups))
                lost = collected(found, self._index)
            self._queue(without(lost, self._explicit, self._evaluation.axioms), level)

    def _refuse_late(self, number: int, noted: Mapping[int, int]) -> None:
        """Raise ``Entangled`` if a stratum led to schema facts, or to facts that are late for a rule.

        ``noted`` is the number of parts, by predicate, that the journal had before this layer.
        """
        assert self._fixpoint.journal is not None
        parts = {p: every[noted.get(p, 0) :] for p, every in self._fixpoint.journal.items()}
        new = as_index(gathered({p: some for p, some in parts.items() if some}))
        if self._evaluation.schema.are_among(new) or self._evaluation.late(number, new):
            raise Entangled("a stratum leads to schema facts, or to what it negates or aggregates over")

    def _refuse_values(self) -> None:
        """Raise ``Entangled`` if more, or less, holds of a literal that facts of a stratum mention.

        A literal has its value by occurring in facts. Those of later layers may be there because of it, and
        may be what strata read.
        """
        assert self._fixpoint.journal is not None
        keys: list[Keys] = []
        for relation in self._evaluation.value_relations:
            keys += [*self._fixpoint.journal.get(relation, ()), self._went.relation(relation).pairs().keys]
        literals = distinct(firsts(np.concatenate(keys)))
        states = (self._before, self._index) if literals.size else ()
        if any(self._layers.mentions_later(literals, facts) for facts in states):
            raise Entangled("what holds of a literal depends on facts of a stratum")

    def _matching(self, atoms: Iterable[Atom]) -> Facts:
        """The facts there are that match any of the atoms."""
        found: Candidates = {}
        for atom in atoms:
            emit((atom,), join(Batch.start(), atom, self._index), found)
        return gathered(found)

    def _unblock(self, number: int) -> None:
        """Add what a stratum derives from the absence of facts that went, and from groups as they are now."""
        module, level = self._evaluation.strata[number - 1], self._layers.level(number)
        if level in self._concluded:
            found: Candidates = {p: [keys] for p, keys in all_of(self._concluded[level]).items()}
        else:
            found = module.unblocked(self._index, self._unblocking)
            extend(found, module.grouped(self._index, self._groups))
        self._fixpoint.include(found, module)

    def _is_worth_concluding(self, module: SemiNaive, level: int) -> bool:
        """Whether a stratum reads nothing but settled facts, and much of what it is closed to changed."""
        heads = {self._layers.of(head) for rule in module.rules for head in rule.heads}
        read = {atom: self._layers.of(atom) for rule in module.rules for atom in rule.read}
        if heads != {level} or any(layer is None or layer >= level for layer in read.values()):
            return False
        now, before = self._index.relation, self._before.relation
        changed = sum(abs(len(now(p)) - len(before(p))) for p in module.closed_to())
        return changed > 0 and MUCH * changed >= sum(len(now(p)) for p in {atom.p for atom in read})

    def _changes(self, closed: set[int], journal: Candidates) -> tuple[TripleIndex, TripleIndex]:
        """The facts there are now and were not before, and the other way round, of closed predicates."""
        is_open = min(closed) < 0
        came = collected({p: parts for p, parts in journal.items() if is_open or p in closed}, self._index)
        went = {p: keys for p, keys in all_of(self._went).items() if is_open or p in closed}
        return as_index(without(came, self._before)), as_index(without(went, self._index))

    def _allow(self, number: int) -> None:
        """Raise ``TooMuch`` if DRed may not delete so many more facts."""
        if number > self._deletable:
            raise TooMuch("too many facts would be deleted, and most derived again")

    def _queue(self, facts: Facts, layer: int | None) -> Facts:
        """Keep candidates for their layers, and return those of this one, which are looked up when judged.

        ``Entangled`` if one is of an earlier layer; in the last layer, if one of these is lost (``_judge``).
        """
        parts = {layer: facts} if layer == self._layers.all[-1] else self._layers.split(facts)
        for found, part in parts.items():
            if layer is not None and found < layer:
                raise Entangled("data leads to schema facts, or a stratum to facts of an earlier one")
            if layer is not None and found > layer:  # a layer begins with facts that are there
                part = within(part, self._index)
            self._candidates[found] = united(self._candidates.get(found, {}), part)
        return {} if layer is None else parts.get(layer, {})

    def _certain(self, layer: int) -> TripleIndex:
        """What is certain at first: explicit facts, what rules state, and for data the schema."""
        schema, stated = self._evaluation.schema, all_of(self._evaluation.axioms)
        if layer == SCHEMA:
            certain = as_index({p: pairs.keys for p, pairs in schema.of(self._explicit).items()})
            put(without(self._layers.split(stated).get(SCHEMA, {}), certain), certain)
            return certain
        certain = self._explicit.snapshot()
        put(without(stated, certain), certain)
        put(without(all_of(self._concluded.get(layer, TripleIndex())), certain), certain)
        if layer == DATA and not self._evaluation.is_entangled and not self._dred:
            put(without({p: pairs.keys for p, pairs in schema.of(self._index).items()}, certain), certain)
        return certain

    def _remove(self, stage: str, layer: int) -> None:
        """Find all that goes in a layer, and let it go."""
        if not self._candidates.get(layer) and not any(self._pending):
            return
        modules = self._evaluation.schema_modules if layer == SCHEMA else self._fixpoint.modules
        budget = max(LEAST_BUDGET, int(self._evaluation.seconds / SECONDS_A_CHECK))
        certain = self._certain(layer)
        prover = None if self._dred or layer > DATA else Prover(modules, certain, budget, self._coming)
        universe = self._index.snapshot()
        put(without(all_of(self._went), universe), universe)
        gone = TripleIndex()
        staying = [certain] if layer > SCHEMA else [certain, self._explicit, self._evaluation.axioms]
        named: dict[int, Facts] = {}
        while True:
            candidates = self._candidates.pop(layer, {})
            if candidates:
                self._judge(stage, layer, named, candidates, prover, gone)
            if layer == self._emptied:
                self._forget_pending()
            if not any(self._pending):
                break
            named = {}
            for number, module in enumerate(self._fixpoint.modules):
                if not self._pending[number]:
                    continue
                recent, self._pending[number] = as_index(self._pending[number]), {}
                with self._report.timed(stage, module.name):
                    facts = self._before if module in self._evaluation.strata else universe
                    found = gathered(module.delete(facts, recent, certain))
                    named[number] = self._queue(without(found, gone, self._went, *staying), layer)
        lost = all_of(gone)
        if not lost:
            return
        put(without(lost, self._went), self._went)
        if layer == SCHEMA:
            self._refuse_other_proofs(lost)
        with self._report.timed(stage, "settle"):
            for module in self._fixpoint.modules:
                module.settle(self._index, gone)
        if prover is None:
            self._rederive(stage, layer, lost)

    def _judge(
        self,
        stage: str,
        layer: int,
        named: Mapping[int, Facts],
        candidates: Facts,
        prover: Prover | None,
        gone: TripleIndex,
    ) -> None:
        """Let candidates go that are not proved, and tell the modules.

        Those that a module ``named`` itself come back to it only as far as they are ``returning``.
        """
        with self._report.timed(stage, PROOFS if named else EXPLICIT) as line:
            lost = candidates if prover is None else prover.unproved(candidates, self._index)
            if named:  # what else there is to judge was looked up
                lost = within(lost, self._index)
            if self._dred and self._strategy is Strategy.AUTOMATIC and layer <= DATA:
                self._allow(count(lost))
                self._deletable -= count(lost)
            if self._layers.split(lost).keys() - {layer}:
                raise Entangled("data leads to schema facts, or a stratum to facts of an earlier one")
            own = {number: shared(facts, lost) for number, facts in named.items()}
            for number, facts in named.items():
                module = self._fixpoint.modules[number]
                self._report.at(stage, module.name).judged(count(facts), count(own[number]))
            found = shared(candidates, lost)
            if not named:
                line.judged(count(candidates), count(found))
            line.deleted += count(lost) - count(found)
            for predicate, keys in lost.items():
                self._fixpoint.exclude(predicate, keys)
            self._tell(lost, own)
            put(lost, gone)

    def _tell(self, lost: Facts, own: Mapping[int, Facts]) -> None:
        """Hand facts that went to the modules that read them."""
        for number, module in enumerate(self._fixpoint.modules):
            told = {predicate: keys for predicate, keys in lost.items() if module.reads(predicate)}
            for predicate, keys in own.get(number, {}).items():
                if predicate in told:
                    returning = module.returning(predicate, Pairs(keys)).keys
                    told[predicate] = union(difference(told[predicate], keys), returning)
            told = {predicate: keys for predicate, keys in told.items() if keys.size}
            self._pending[number] = united(self._pending[number], told)

    def _forget_pending(self) -> None:
        """Leave out what modules that remember nothing would name: all of it is gone, or certain."""
        for number, module in enumerate(self._fixpoint.modules):
            if isinstance(module, SemiNaive):
                self._pending[number] = {}

    def _refuse_other_proofs(self, lost: Facts) -> None:
        """Raise ``Entangled`` if data could prove a schema fact that goes."""
        candidates = as_index(lost)
        for module in self._fixpoint.modules:
            if module not in self._evaluation.schema_modules and gathered(
                module.rederive(candidates, self._index)
            ):
                raise Entangled("data leads to schema facts, or a stratum to facts of an earlier one")

    def _rederive(self, stage: str, layer: int, lost: Facts) -> None:
        """Bring back what the remaining facts derive."""
        number = self._layers.stratum(layer)
        for module in self._fixpoint.modules:
            if layer in self._concluded and module is self._evaluation.strata[number - 1]:
                continue
            candidates = as_index(without(lost, self._index))
            with self._report.timed(stage, module.name) as line:
                size = self._index.fact_count()
                found = gathered(module.rederive(candidates, self._index))
                self._fixpoint.include({predicate: [keys] for predicate, keys in found.items()}, module)
                line.rederived += self._index.fact_count() - size
        with self._report.timed(stage, "rederive") as line:
            size = self._index.fact_count()
            self._evaluation.run(number)
            line.rederived += self._index.fact_count() - size
