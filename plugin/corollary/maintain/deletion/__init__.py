"""Deletion strategies: a file and an entry in ``STRATEGIES`` for each.

Among strategies of equal cost, the cost model chooses the first entry.
"""

from corollary.maintain.deletion.backward_forward import BackwardForward
from corollary.maintain.deletion.counting import Counting
from corollary.maintain.deletion.dred import DRed
from corollary.maintain.deletion.recompute import Recompute
from corollary.maintain.strategy import DeletionStrategy

FALLBACK = Recompute()
"""The strategy that follows a transaction when another one gives up."""

STRATEGIES: dict[str, DeletionStrategy] = {
    strategy.name: strategy for strategy in (BackwardForward(), DRed(), Counting(), FALLBACK)
}
"""The strategies by name."""
