"""Deletion strategies: one file each, and one line each in ``STRATEGIES``.

The order of the lines is that in which the cost model prefers strategies of equal cost.
"""

from corollary.maintain.deletion.backward_forward import BackwardForward
from corollary.maintain.deletion.dred import DRed
from corollary.maintain.deletion.recompute import Recompute
from corollary.maintain.strategy import DeletionStrategy

FALLBACK = Recompute()
"""The strategy that can follow every transaction."""

STRATEGIES: dict[str, DeletionStrategy] = {
    strategy.name: strategy for strategy in (BackwardForward(), DRed(), FALLBACK)
}
"""The strategies by name."""
