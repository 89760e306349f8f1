"""Counting: a candidate is deleted if it has no derivations left (``evaluate.derivation_counts``).

The derivations of all facts are counted when the strategy is first used. ``Engine.remembered`` keeps them.
The counts after the change show which facts of I go, before the engine changes: none is overdeleted, and no
proof is searched. Then the transaction deletes these facts layer by layer, and the modules follow. Additions
go through the fixpoint, as under every strategy; the counts follow both.

Counts are over plain rules. Beside these,

* virtual relations (lists, values of literals) are given facts. Those that do not follow from E and axioms
  alone are left out at first, and come back if they follow from what is left, until nothing more comes back.
  So a virtual fact and a fact that it derives do not keep each other.
* DRed follows strata. A fact below them has derivations from facts below them only, which the counts have.

Another strategy's transaction drops the counts. An interruption does so, too: they are taken from the engine
first, and set again, as a whole, at the end. The next transaction under this strategy counts anew.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from contextlib import suppress
from dataclasses import dataclass
from math import inf

from corollary.columns import NOTHING, Delta, Relation, TripleIndex
from corollary.evaluate import MaterialisedView
from corollary.evaluate.derivation_counts import DerivationCounts, TooManyDerivations, difference
from corollary.evaluate.engine import Engine
from corollary.evaluate.precedence import Precedence
from corollary.maintain.cost_model import affordable, learnt_seconds
from corollary.maintain.deletion.dred import DRedLayer
from corollary.maintain.layers import DATA
from corollary.maintain.report import Report
from corollary.maintain.strategy import CannotFollow, Request, TooMuch
from corollary.maintain.transaction import LayerDeletion, follow
from corollary.maintain.tuning import MAX_DERIVATIONS, SECONDS_PER_DERIVATION
from corollary.maintain.workspace import Workspace
from corollary.modules.module import Module
from corollary.program.compile import CompiledRule, is_virtual


@dataclass(frozen=True)
class Counted:
    """What the counts say about a transaction.

    ``facts`` hold below the strata after it, ``deleted`` are those that do not hold any more. ``losing`` are
    the predicates of facts that lost derivations.
    """

    facts: TripleIndex
    deleted: Delta
    losing: Collection[int]


class Counting:
    """Counted derivations on schema and data, DRed on strata."""

    name = "counting"

    def __init__(self, counted: Counted | None = None) -> None:
        """``counted``: what the counts say about the present transaction."""
        self._counted = counted

    def can_follow(self, request: Request) -> bool:
        """Whether the derivations are counted already."""
        return isinstance(request.engine.remembered, DerivationCounts)

    def seconds(self, request: Request) -> float:
        """The learnt estimate, which grows with the square root of |Δ⁻|: see ``cost_model``."""
        return learnt_seconds(request, self.name)

    def carry_out(self, request: Request, report: Report) -> MaterialisedView:
        """Count, delete what has no derivations left, and count what was added."""
        try:
            return self._carry_out(request, report)
        except TooManyDerivations as error:
            raise TooMuch("too many derivations would be counted") from error

    def _carry_out(self, request: Request, report: Report) -> MaterialisedView:
        engine, known = request.engine, request.engine.remembered
        most = affordable(request, SECONDS_PER_DERIVATION) if request.is_automatic else MAX_DERIVATIONS
        counts = (
            known if isinstance(known, DerivationCounts) else DerivationCounts(engine.compiled.dictionary)
        )
        engine.remembered = None
        with report.at("counts", "derivations"):
            counted = _follow_deletions(counts, request, most)
        result = follow(request, report, Counting(counted))
        # after an exception the next transaction counts anew
        with report.at("counts", "derivations"), suppress(CannotFollow, TooManyDerivations):
            given = _with_virtual(request.explicit, _virtual_facts(engine))
            counts.change(_counted(engine.compiled.rules), given, most)
            engine.remembered = counts
        return result

    def fitting(self, engine: Engine) -> Counting:
        """This strategy."""
        return self

    def most_losses(self, request: Request) -> float:
        """Any number: what goes is counted."""
        return inf

    def on_layer(self, work: Workspace, layer: int) -> LayerDeletion:
        """DRed for a stratum, without a budget; else the facts without derivations."""
        if layer > DATA:
            return DRedLayer(work, layer)
        assert self._counted is not None
        return CountedLayer(work, layer, self._counted)


class CountedLayer:
    """Deletes the facts of one layer that have no derivations left."""

    order: Precedence | None = None
    takes_compressed = False

    def __init__(self, work: Workspace, layer: int, counted: Counted) -> None:
        """All facts of I that have derivations below the strata are proved.

        Of the facts that lost some, external ones may be internal now (``Module.lose_track``).
        """
        index, deleted = work.index, counted.deleted & work.index
        self._deleted = work.layers.split(deleted).get(layer, NOTHING)
        self._facts = counted.facts
        for module in work.modules:
            for predicate in counted.losing:
                module.lose_track(predicate)
        staying = counted.facts
        if not work.engine.strata:
            staying = index.snapshot()
            for predicate, keys in deleted.items():
                staying.remove(predicate, keys)
        self.proved: TripleIndex = work.proved_at_first(layer)
        self.proved.share(work.layers.data_among(index.all_predicates()), staying)

    def followed_one_by_one(self, candidates: Delta) -> None:
        """All are counted already."""
        return

    def may_postpone(self, candidates: Delta) -> bool:
        """No."""
        return False

    def postponed(self, candidates: Delta) -> Delta:
        """None."""
        return NOTHING

    def undecided(self, candidates: Delta) -> Delta:
        """All candidates."""
        return candidates

    def unproved(self, candidates: Delta) -> Delta:
        """The candidates without derivations; at first all facts of the layer that go, candidates or not."""
        deleted, self._deleted = self._deleted, NOTHING
        return deleted | (candidates - self._facts)

    def spares(self, module: Module, lost: Mapping[int, Relation]) -> bool:
        """False: closures that are not listed are not counted."""
        return False

    def charge(self, deletions: int) -> None:
        """No budget: no more is deleted than must be."""

    def restore(self, deleted: Delta) -> None:
        """Do nothing: no fact with a derivation was deleted."""


def _counted(rules: Collection[CompiledRule]) -> list[CompiledRule]:
    """The monotone rules with heads. Raises ``CannotFollow`` if a rule is over long lists."""
    if any(rule.along is not None and rule.heads for rule in rules):
        raise CannotFollow("rules over long lists are not counted")
    return [rule for rule in rules if rule.heads and rule.is_monotone]


def _virtual_facts(engine: Engine) -> Delta:
    """The facts of virtual relations in I. Raises ``CannotFollow`` if facts are not listed, or beside strata.

    A stratum may derive the facts that virtual facts follow from.
    """
    index = engine.fixpoint.index
    relations = index.relations_of(index.all_predicates())
    if any(relation.is_compressed for relation in relations.values()):
        raise CannotFollow("a closure too large to list is not counted")
    virtual = Delta.of_relations({p: relation for p, relation in relations.items() if is_virtual(p)})
    if virtual and engine.strata:
        raise CannotFollow("what strata derive may have virtual facts, which are not counted")
    return virtual


def _with_virtual(explicit: TripleIndex, virtual: Delta) -> TripleIndex:
    """E and virtual facts."""
    given = explicit.snapshot()
    given.add_all(virtual)
    return given


def _follow_deletions(counts: DerivationCounts, request: Request, most: float) -> Counted:
    """Count over E after the transaction, and the virtual facts of I that still follow.

    New virtual facts come later. Virtual facts that follow from E and the axioms alone stay at once.
    """
    engine, explicit = request.engine, request.explicit
    index, program = engine.fixpoint.index, engine.compiled
    known, is_other = bool(counts.components), request.program != request.before.program
    # with other rules, a fact that a stratum derived may be of a lower layer: the counts do not have it
    before = index if not known or (is_other and engine.strata) else counts.facts.snapshot()
    if is_other:
        program = program.changed(request.program).program
    rules, left, staying = _counted(program.rules), _virtual_facts(engine), NOTHING
    facts = explicit
    if left:
        sources = [module for module in engine.fixpoint.modules if not module.rules]
        facts = explicit.snapshot()
        facts.add_all(Delta.of(engine.axioms if program is engine.compiled else NOTHING) - explicit)
    losing = set() if known else set(index.all_predicates())
    while True:
        found = NOTHING
        for module in sources if left else ():
            found |= Delta.gathered(module.rederive(left, facts))
        if facts is counts.facts and not found:
            break
        staying, left, facts = staying | found, left - found, counts.facts
        losing |= counts.change(rules, _with_virtual(explicit, staying), most)
    return Counted(counts.facts.snapshot(), difference(before, counts.facts).lost & index, losing)
