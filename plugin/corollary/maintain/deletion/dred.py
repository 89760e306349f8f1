"""DRed (delete and rederive): delete all overdeleted facts, then rederive those that still follow.

Algorithm 3 of Hu, Motik, Horrocks (2019), after Gupta, Mumick, Subrahmanian (1993). The paper's counters of
nonrecursive derivations save facts derived from E alone from overdeletion; here ``proved`` facts do.
"""

from __future__ import annotations

from corollary.columns import NOTHING, Delta
from corollary.evaluate import Materialisation
from corollary.evaluate.engine import Engine
from corollary.evaluate.precedence import Precedence
from corollary.maintain.cost_model import learnt_seconds
from corollary.maintain.final_schema import schema_is_final
from corollary.maintain.layers import DATA
from corollary.maintain.report import Report
from corollary.maintain.strategy import Request
from corollary.maintain.transaction import follow
from corollary.maintain.workspace import Workspace
from corollary.modules.module import Module


class DRed:
    """Overdeletion and rederivation. Works for any program and any layer."""

    name = "dred"

    def can_follow(self, request: Request) -> bool:
        """True if the schema is not final before the data. Elsewhere Backward/Forward costs less."""
        return not schema_is_final(request)

    def seconds(self, request: Request) -> float:
        """The learnt estimate, which grows with the square root of |Δ⁻|: see ``cost_model``."""
        return learnt_seconds(request, self.name)

    def carry_out(self, request: Request, report: Report) -> Materialisation:
        """Follow the transaction layer by layer."""
        return follow(request, report, self)

    def fitting(self, engine: Engine) -> DRed:
        """This strategy."""
        return self

    def on_layer(self, work: Workspace, layer: int) -> DRedLayer:
        """DRed on one layer. Only schema and data have a budget of deletions."""
        return DRedLayer(work, layer, is_limited=layer <= DATA)


class DRedLayer:
    """DRed on one layer."""

    order: Precedence | None = None
    takes_compressed = False

    def __init__(self, work: Workspace, layer: int, *, is_limited: bool) -> None:
        self.proved = work.proved_at_first(layer)
        self._work = work
        self._layer = layer
        self._is_limited = is_limited

    def postponed(self, candidates: Delta) -> Delta:
        """None."""
        return NOTHING

    def unproved(self, candidates: Delta) -> Delta:
        """All candidates."""
        return candidates

    def spares(self, module: Module) -> bool:
        """False: DRed rederives."""
        return False

    def charge(self, deletions: int) -> None:
        """Spend the budget of deletions, if the layer has one."""
        if self._is_limited:
            self._work.deletions.spend(deletions)

    def restore(self, deleted: Delta) -> None:
        """Rederive: see ``Workspace.rederive``."""
        self._work.rederive(self._layer, deleted)
