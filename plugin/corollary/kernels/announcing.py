"""Warnings before many rows are listed."""

from __future__ import annotations

import sys
import warnings

from corollary.kernels.limits import current
from corollary.kernels.tuning import MAX_ROWS_UNANNOUNCED


class ListingWarning(UserWarning):
    """Many facts are listed that are held without being listed, such as the closure of a long chain."""


def announce(rows: int, which: str = "that are held compressed") -> None:
    """Warn that ``rows`` facts are listed, if they are many."""
    if rows > MAX_ROWS_UNANNOUNCED:
        where = f" ({current().where})" if current().where else ""
        text = f"listing {rows:,} facts {which}{where}"
        warnings.warn(text, ListingWarning, stacklevel=callers_level())


def callers_level() -> int:
    """The ``stacklevel``, for the calling function, of the first frame outside of Corollary and rdflib."""
    frame, level = sys._getframe(1), 1
    while frame.f_back is not None and frame.f_globals.get("__name__", "").startswith(
        ("corollary.", "rdflib")
    ):
        frame, level = frame.f_back, level + 1
    return level
