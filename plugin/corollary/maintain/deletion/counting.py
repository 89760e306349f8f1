"""Counting: a candidate is deleted if it has no derivations left (``evaluate.derivation_counts``).

The derivations of all facts are counted when the strategy is first used, and kept in ``Engine.counts``. The
change of the counts shows which facts of I go, before the engine changes: no candidate is searched, and none is
overdeleted. Then the transaction deletes these facts layer by layer, and the modules follow. Additions take
the way that they always take; the counts follow both.

Counts are over plain rules. Beside these,

* virtual relations (lists, values of literals) are given facts. Those that do not follow from E alone are left
  out at first, and come back if they follow from what is left, until nothing more comes back: a virtual fact
  and a fact that it derives do not keep each other.
* DRed follows strata. A fact below them has derivations from facts below them only, which the counts have.

Another strategy's transaction outdates the counts, and so does an interruption: they are taken from the engine
first, and set again, as a whole, at the end. The next transaction under this strategy counts anew.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass

from corollary.columns import NOTHING, Delta, TripleIndex
from corollary.evaluate import Materialisation
from corollary.evaluate.derivation_counts import DerivationCounts
from corollary.evaluate.engine import Engine
from corollary.evaluate.precedence import Precedence
from corollary.maintain.cost_model import learnt_seconds
from corollary.maintain.deletion.dred import DRedLayer
from corollary.maintain.layers import DATA
from corollary.maintain.report import Report
from corollary.maintain.strategy import CannotFollow, Request
from corollary.maintain.transaction import LayerDeletion, follow
from corollary.maintain.workspace import Workspace
from corollary.modules.module import Module
from corollary.program.compile import CompiledRule, is_virtual


@dataclass(frozen=True)
class Counted:
    """The ``facts`` below the strata after the transaction, those that are ``gone``, and what to tell modules.

    ``losing`` are the predicates of facts that lost derivations.
    """

    facts: TripleIndex
    gone: Delta
    losing: Collection[int]


class Counting:
    """Counted derivations on schema and data, DRed on strata."""

    name = "counting"

    def __init__(self, counted: Counted | None = None) -> None:
        """``counted``: what the counts say about the present transaction."""
        self._counted = counted

    def can_follow(self, request: Request) -> bool:
        """Whether the derivations are counted already."""
        return request.engine.counts is not None

    def seconds(self, request: Request) -> float:
        """The learnt estimate, which grows with the square root of |Δ⁻|: see ``cost_model``."""
        return learnt_seconds(request, self.name)

    def carry_out(self, request: Request, report: Report) -> Materialisation:
        """Count, delete what has no derivations left, and count what was added."""
        engine = request.engine
        known, engine.counts = engine.counts, None
        with report.timed("counts", "derivations") as line:
            counts = known or DerivationCounts(engine.compiled.dictionary)
            program = engine.compiled
            if request.program != request.before.program:
                program = program.changed(request.program).program
            index = engine.fixpoint.index
            before = index if known is None else counts.facts.snapshot()
            virtual = _virtual_facts(index)
            if virtual and (program.has_strata or engine.strata):
                raise CannotFollow("what strata derive may have virtual facts, which are not counted")
            rules = _counted(program.rules)
            losing = _follow_deletions(counts, rules, request.explicit, virtual, _sources(engine))
            losing |= set(index.all_predicates()) if known is None else set()
            line.candidates = line.deleted = len(gone := _less(before, counts.facts) & index)
        result = follow(request, report, Counting(Counted(counts.facts.snapshot(), gone, losing)))
        with report.timed("counts", "derivations"):
            given = _with_virtual(request.explicit, _virtual_facts(index))
            counts.change(_counted(engine.compiled.rules), given)
        engine.counts = counts
        return result

    def fitting(self, engine: Engine) -> Counting:
        """This strategy."""
        return self

    def on_layer(self, work: Workspace, layer: int) -> LayerDeletion:
        """DRed for a stratum, without a budget; else the facts without derivations."""
        if layer > DATA:
            return DRedLayer(work, layer, is_limited=False)
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
        index, gone = work.index, counted.gone & work.index
        self._gone = work.layers.split(gone).get(layer, NOTHING)
        self._facts = counted.facts
        for module in work.modules:
            for predicate in counted.losing:
                module.lose_track(predicate)
        staying = counted.facts
        if not work.engine.strata:
            staying = index.snapshot()
            for predicate, keys in gone.items():
                staying.remove(predicate, keys)
        self.proved: TripleIndex = work.proved_at_first(layer)
        self.proved.share(work.layers.data_among(index.all_predicates()), staying)

    def unproved(self, candidates: Delta) -> Delta:
        """The candidates without derivations; at first all facts of the layer that go, candidates or not."""
        gone, self._gone = self._gone, NOTHING
        return gone | (candidates - self._facts)

    def charge(self, deletions: int) -> None:
        """No budget: no more is deleted than must be."""

    def restore(self, deleted: Delta) -> None:
        """Do nothing: no fact with a derivation was deleted."""


def _counted(rules: Collection[CompiledRule]) -> list[CompiledRule]:
    """The monotone rules with heads. Raises ``CannotFollow`` if a rule is over long lists."""
    if any(rule.along is not None and rule.heads for rule in rules):
        raise CannotFollow("rules over long lists are not counted")
    return [rule for rule in rules if rule.heads and rule.is_monotone]


def _sources(engine: Engine) -> list[Module]:
    """The modules that derive virtual relations: those without rules."""
    return [module for module in engine.fixpoint.modules if not module.rules]


def _virtual_facts(index: TripleIndex) -> Delta:
    """The facts of virtual relations. Raises ``CannotFollow`` if facts are not listed."""
    relations = index.relations_of(index.all_predicates())
    if any(relation.is_compressed for relation in relations.values()):
        raise CannotFollow("a closure too large to list is not counted")
    return Delta.of_relations({p: relation for p, relation in relations.items() if is_virtual(p)})


def _with_virtual(explicit: TripleIndex, virtual: Delta) -> TripleIndex:
    """E and virtual facts."""
    given = explicit.snapshot()
    given.add_all(virtual)
    return given


def _follow_deletions(
    counts: DerivationCounts,
    rules: list[CompiledRule],
    explicit: TripleIndex,
    virtual: Delta,
    sources: list[Module],
) -> set[int]:
    """Count over E and the virtual facts of I that still follow, but for those that E adds.

    Returns the predicates of facts that lost derivations.
    """
    losing: set[int] = set()
    left, staying, facts = virtual, NOTHING, explicit
    while True:
        found = NOTHING
        for module in sources if left else ():
            found |= Delta.gathered(module.rederive(left, facts))
        if facts is counts.facts and not found:
            return losing
        staying, left, facts = staying | found, left - found, counts.facts
        losing |= counts.change(rules, _with_virtual(explicit, staying))


def _less(before: TripleIndex, after: TripleIndex) -> Delta:
    """The facts that are not there ``after``."""
    relations = {p: before.relation(p).less(after.relation(p)) for p in before.all_predicates()}
    return Delta.of_relations(relations)
