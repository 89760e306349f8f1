"""The forms of a kernel that tests run: as written, in NumPy, and compiled."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any, Literal, ParamSpec, TypeVar

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from tests.strategies import examples

from corollary.kernels.compiled import Kernel

Parameters = ParamSpec("Parameters")
Result = TypeVar("Result")

LARGEST = 2**32 - 1

quick = settings(max_examples=examples(150), deadline=None)
Form = Literal["plain", "numpy", "compiled"]
FORMS: list[Form] = ["plain"] if os.environ.get("NUMBA_DISABLE_JIT") else ["plain", "compiled"]
both_forms = pytest.mark.parametrize("written", FORMS)
all_forms = pytest.mark.parametrize("written", [*FORMS, "numpy"])

halves = st.one_of(st.sampled_from((0, 1, 2, 2**31, LARGEST - 1, LARGEST)), st.integers(0, LARGEST))
"""Ids, drawn so that they meet, with both ends of their range among them."""

COMPILED: dict[Any, Any] = {}


def form(kernel: Kernel[Parameters, Result], written: Form) -> Callable[Parameters, Result]:
    """The kernel as it runs on small arrays, before it is compiled, or after."""
    if written == "numpy":
        assert kernel.interim is not None
        return kernel.interim
    if written == "plain":
        return kernel.plain
    if kernel not in COMPILED:
        COMPILED[kernel] = kernel.compile()
    machine_code: Callable[Parameters, Result] = COMPILED[kernel]
    return machine_code
