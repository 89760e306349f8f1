"""Folders whose constants are changed for a test."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager

import pytest

from corollary.reasoner import folder, folder_contents, folder_place, folder_rows


def change_constants(patch: pytest.MonkeyPatch, constants: Mapping[str, float]) -> None:
    """Change constants wherever folders read them."""
    for name, value in constants.items():
        modules = [m for m in (folder, folder_contents, folder_place, folder_rows) if hasattr(m, name)]
        assert modules, name
        for module in modules:
            patch.setattr(module, name, value)


@contextmanager
def changed(**constants: float) -> Iterator[None]:
    """Within the block, folders have other constants."""
    with pytest.MonkeyPatch.context() as patch:
        change_constants(patch, constants)
        yield
