"""Backward/Forward: a candidate is deleted only if a search for another proof fails (``prover``).

Proofs in the data layer need a schema that is final. Where data leads to schema facts, and in the layers of
strata, DRed replaces this strategy.
"""

from __future__ import annotations

from corollary.columns import Delta
from corollary.evaluate import Materialisation
from corollary.evaluate.engine import Engine
from corollary.maintain.cost_model import learnt_seconds
from corollary.maintain.deletion.dred import DRed, DRedLayer
from corollary.maintain.deletion.prover import Prover
from corollary.maintain.layers import DATA, SCHEMA
from corollary.maintain.report import Report
from corollary.maintain.strategy import Request
from corollary.maintain.transaction import LayerDeletion, LayerwiseStrategy, follow
from corollary.maintain.workspace import Workspace


class BackwardForward:
    """Backward/Forward on schema and data, DRed on strata."""

    name = "backward/forward"

    def can_follow(self, request: Request) -> bool:
        """True if no data leads to schema facts."""
        return not request.engine.schema_depends_on_data

    def seconds(self, request: Request) -> float:
        """The learnt seconds per removed fact, times |Δ⁻|."""
        return learnt_seconds(request, self.name)

    def carry_out(self, request: Request, report: Report) -> Materialisation:
        """Follow the transaction layer by layer."""
        return follow(request, report, self)

    def fitting(self, engine: Engine) -> LayerwiseStrategy:
        """DRed if data leads to schema facts, else this strategy."""
        return DRed() if engine.schema_depends_on_data else self

    def on_layer(self, work: Workspace, layer: int) -> LayerDeletion:
        """DRed for a stratum, without a budget; else Backward/Forward."""
        if layer > DATA:
            return DRedLayer(work, layer, is_limited=False)
        return BackwardForwardLayer(work, layer)


class BackwardForwardLayer:
    """Backward/Forward on one layer."""

    def __init__(self, work: Workspace, layer: int) -> None:
        engine = work.engine
        self.proved = work.proved_at_first(layer, with_schema=True)
        self._index = work.index
        self._prover = Prover(
            engine.schema_modules if layer == SCHEMA else work.modules,
            self.proved,
            work.checks,
            work.start.added.all_predicates(),
        )

    def unproved(self, candidates: Delta) -> Delta:
        """The candidates without a proof, and premises of theirs without a proof."""
        return self._prover.unproved(candidates, self._index)

    def charge(self, deletions: int) -> None:
        """Do nothing: every strategy deletes the facts without a proof."""

    def restore(self, deleted: Delta) -> None:
        """Do nothing: no fact with a proof was deleted."""
