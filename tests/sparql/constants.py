"""Tuning constants of queries, changed in every module that uses them."""

from __future__ import annotations

import sys
from typing import Any

import pytest

import corollary.sparql.answer
import corollary.sparql.column_functions
import corollary.sparql.grouped_solutions  # noqa: F401  (with these, all modules that evaluate queries are there)


def set_constant(patch: pytest.MonkeyPatch, name: str, value: Any) -> None:
    """Another value of a constant of ``sparql.tuning`` or ``execute.tuning``, for queries."""
    users = [
        module
        for module_name, module in list(sys.modules.items())
        if module_name.startswith(("corollary.sparql.", "corollary.execute.")) and hasattr(module, name)
    ]
    assert len(users) > 1, f"no module uses {name}"
    for module in users:
        patch.setattr(module, name, value)
