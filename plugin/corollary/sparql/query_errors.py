"""Errors of queries and updates: syntax, and nesting deeper than Python can recurse."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import ParamSpec, TypeVar

from corollary.language import CorollaryError

Parameters = ParamSpec("Parameters")
Result = TypeVar("Result")


class SparqlSyntaxError(CorollaryError):
    """The text is no SPARQL. The message has line, column, the line itself, and what was expected.

    What the parser raises is also pyparsing's ``ParseException``, because callers of rdflib catch that.
    """


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
