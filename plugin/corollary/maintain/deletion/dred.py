"""DRed: delete all that is overdeleted, then derive again what the remaining facts prove.

Algorithm 3 of Hu, Motik, Horrocks (2019), after Gupta, Mumick, Subrahmanian (1993). The paper's counters of
nonrecursive derivations spare a fact that is derived from facts of E alone; here ``proved`` facts do.
"""

from __future__ import annotations

from corollary.columns.delta import Delta
from corollary.evaluate import Materialisation
from corollary.evaluate.engine import Engine
from corollary.maintain.cost_model import learnt_seconds
from corollary.maintain.layers import DATA
from corollary.maintain.report import Report
from corollary.maintain.strategy import Request
from corollary.maintain.transaction import follow
from corollary.maintain.workspace import Workspace


class DRed:
    """Overdeletion and rederivation. It follows any program, in any layer."""

    name = "dred"

    def can_follow(self, request: Request) -> bool:
        """Where data leads to schema: elsewhere proofs cost less."""
        return request.engine.schema_depends_on_data

    def seconds(self, request: Request) -> float:
        """By the time a removed fact has taken so far."""
        return learnt_seconds(request, self.name)

    def carry_out(self, request: Request, report: Report) -> Materialisation:
        """I, layer by layer."""
        return follow(request, report, self)

    def fitting(self, engine: Engine) -> DRed:
        """Itself."""
        return self

    def on_layer(self, work: Workspace, layer: int) -> DRedLayer:
        """One layer."""
        return DRedLayer(work, layer, is_limited=layer <= DATA)


class DRedLayer:
    """DRed on one layer."""

    def __init__(self, work: Workspace, layer: int, *, is_limited: bool) -> None:
        self.proved = work.proved_at_first(layer)
        self._work = work
        self._layer = layer
        self._is_limited = is_limited

    def unproved(self, candidates: Delta) -> Delta:
        """All candidates."""
        return candidates

    def charge(self, deletions: int) -> None:
        """Within what the transaction may delete of schema and data."""
        if self._is_limited:
            self._work.deletions.spend(deletions)

    def restore(self, deleted: Delta) -> None:
        """One step of every rule backward, and then the fixpoint."""
        self._work.rederive(self._layer, deleted)
