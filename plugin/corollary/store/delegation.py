"""Delegation of methods of the store to its reasoner."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any, Concatenate, ParamSpec, TypeVar

from corollary.reasoner import Reasoner

Parameters = ParamSpec("Parameters")
Result = TypeVar("Result")


def of_reasoner(
    method: Callable[Concatenate[Reasoner, Parameters], Result],
) -> Callable[Concatenate[Any, Parameters], Result]:
    """A method that delegates to ``self.reasoner``, with the name and docstring of the original."""

    @wraps(method)
    def handed_on(store: Any, /, *args: Parameters.args, **kwargs: Parameters.kwargs) -> Result:
        return method(store.reasoner, *args, **kwargs)

    return handed_on
