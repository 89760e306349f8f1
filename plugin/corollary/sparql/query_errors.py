"""Errors of queries and updates: syntax, and nesting deeper than Python can recurse."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import ParamSpec, TypeVar

from pyparsing import ParseException

from corollary.language import CorollaryError, Diagnostic

Parameters = ParamSpec("Parameters")
Result = TypeVar("Result")


class SparqlSyntaxError(CorollaryError, ParseException):
    """The text is no SPARQL. The message has line, column, the line itself, and what was expected.

    Also an error of pyparsing, because callers of rdflib catch that.
    """

    def __init__(self, complaint: Diagnostic, text: str, place: int) -> None:
        ParseException.__init__(self, text, place, complaint.message)
        self.complaint = complaint
        Exception.__init__(self, str(complaint))

    def __str__(self) -> str:
        return str(self.complaint)


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
