"""SPARQL texts to rdflib's parse trees, one text at a time.

rdflib's SPARQL parser is not thread-safe: at the first call of a parse action, the parser determines how many
arguments the action takes. Two threads that do so at the same time leave the grammar broken for the rest of
the process. So every text is parsed under one lock.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from threading import RLock
from typing import Any, ParamSpec, TypeVar

from rdflib.plugins.sparql.parser import parseQuery, parseUpdate

from corollary.kernels.interrupts import alone
from corollary.language import CorollaryError

_PARSER = RLock()

Parameters = ParamSpec("Parameters")
Result = TypeVar("Result")


class NestedTooDeep(CorollaryError, RecursionError):
    """A query or update is nested deeper than the parser or the evaluation can recurse."""


def refuses_deep_nesting(function: Callable[Parameters, Result]) -> Callable[Parameters, Result]:
    """Decorator: raise ``NestedTooDeep`` instead of RecursionError."""

    @wraps(function)
    def refusing(*args: Parameters.args, **kwargs: Parameters.kwargs) -> Result:
        try:
            return function(*args, **kwargs)
        except NestedTooDeep:
            raise
        except RecursionError:
            complaint = "the query or update is nested too deep"
            remedy = "write it with fewer parentheses, groups or operators within each other"
            raise NestedTooDeep(f"{complaint}: {remedy}") from None

    return refusing


def parse_query(text: str) -> Any:
    """The parse tree of a query, for ``translateQuery``."""
    return alone(_PARSER, parseQuery, text)


def parse_update(text: Any) -> Any:
    """The parse tree of an update (text, bytes or a file), for ``translateUpdate``."""
    return alone(_PARSER, parseUpdate, text)
