"""DRed (delete and rederive): delete all overdeleted facts, then rederive those that still follow.

Algorithm 3 of Hu, Motik, Horrocks (2019), after Gupta, Mumick, Subrahmanian (1993). The paper's counters of
nonrecursive derivations save facts derived from E alone from overdeletion; here ``proved`` facts do.
"""

from __future__ import annotations

from collections.abc import Mapping
from math import inf

from corollary.columns import NOTHING, Delta, Relation
from corollary.evaluate import MaterialisedView
from corollary.evaluate.engine import Engine
from corollary.evaluate.precedence import Precedence
from corollary.maintain.cost_model import TOO_MANY_DELETIONS, affordable, learnt_seconds
from corollary.maintain.final_schema import schema_is_final
from corollary.maintain.layers import DATA
from corollary.maintain.report import Report
from corollary.maintain.strategy import Budget, Request
from corollary.maintain.transaction import follow
from corollary.maintain.tuning import SECONDS_PER_DELETION
from corollary.maintain.workspace import Workspace
from corollary.modules.module import Module


class DRed:
    """Overdeletion and rederivation. Works for any program and any layer."""

    name = "dred"

    def __init__(self, budget: Budget | None = None) -> None:
        """``budget``: the facts of schema and data that may be deleted in the present transaction."""
        self._budget = budget

    @staticmethod
    def of(request: Request) -> DRed:
        """With the budget for a transaction: none if the strategy was asked for."""
        most = affordable(request, SECONDS_PER_DELETION) if request.is_automatic else inf
        return DRed(Budget(most, TOO_MANY_DELETIONS))

    def can_follow(self, request: Request) -> bool:
        """True if the schema is not final before the data. Elsewhere Backward/Forward costs less."""
        return not schema_is_final(request)

    def seconds(self, request: Request) -> float:
        """The learnt estimate, which grows with the square root of |Δ⁻|: see ``cost_model``."""
        return learnt_seconds(request, self.name)

    def carry_out(self, request: Request, report: Report) -> MaterialisedView:
        """Follow the transaction layer by layer."""
        return follow(request, report, DRed.of(request))

    def fitting(self, engine: Engine) -> DRed:
        """This strategy."""
        return self

    def most_losses(self, request: Request) -> float:
        """As many as it may delete."""
        return inf if self._budget is None else self._budget.left

    def on_layer(self, work: Workspace, layer: int) -> DRedLayer:
        """DRed on one layer. Only schema and data have a budget of deletions."""
        return DRedLayer(work, layer, self._budget if layer <= DATA else None)


class DRedLayer:
    """DRed on one layer."""

    order: Precedence | None = None
    takes_compressed = False

    def __init__(self, work: Workspace, layer: int, budget: Budget | None = None) -> None:
        self.proved = work.proved_at_first(layer)
        self._work = work
        self._layer = layer
        self._budget = budget

    def followed_one_by_one(self, candidates: Delta) -> None:
        """DRed rederives: nothing is decided before."""
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
        """All candidates."""
        return candidates

    def spares(self, module: Module, lost: Mapping[int, Relation]) -> bool:
        """False: DRed rederives."""
        return False

    def charge(self, deletions: int) -> None:
        """Spend the budget of deletions, if the layer has one."""
        if self._budget is not None:
            self._budget.spend(deletions)

    def restore(self, deleted: Delta) -> None:
        """Rederive: see ``Workspace.rederive``."""
        self._work.rederive(self._layer, deleted)
