"""Suggestions for misspelt names."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from difflib import get_close_matches


def did_you_mean(word: str, known: Iterable[str], written: Callable[[str], str] = str) -> str:
    """``did you mean ...?`` with the closest known word, formatted by ``written``; "" if none is close."""
    close = get_close_matches(word, list(known), n=1, cutoff=0.5)
    return f"did you mean {written(close[0])}?" if close else ""
