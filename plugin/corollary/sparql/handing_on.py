"""Queries that rdflib's own evaluator answers, within the limits of the store's call.

rdflib's ``Graph.query`` calls the store, and evaluates the query itself if the store raises
NotImplementedError. By then the store's call has ended, and so have its limits of time and memory. So if the
caller is ``Graph.query``, rdflib's evaluation is started from here, and all rows are computed before the
store's call ends.
"""

from __future__ import annotations

from collections.abc import Callable
from types import FrameType, FunctionType
from typing import Any, cast

from rdflib.graph import Graph
from rdflib.query import Result

from corollary.kernels.limits import Cancelled, LimitExceeded
from corollary.sparql.query_errors import SparqlSyntaxError
from corollary.sparql.result import FailedResult

SPARQL = "sparql"
"""rdflib's name of its own processor."""


def answered(ask: Callable[[], Result], caller: FrameType) -> Result:
    """The result of ``ask``, or of rdflib's own evaluation if ``ask`` raises NotImplementedError.

    A text that is no SPARQL is passed on, too, if ``Graph.query`` was asked for another processor. ``caller``
    is the frame that called the store; if that is not ``Graph.query``, the error is raised again.
    """
    try:
        return ask()
    except SparqlSyntaxError:
        if _processor(caller) == SPARQL:
            raise
        result: Result = _by_rdflib(Graph.query, caller)
    except NotImplementedError:
        result = _by_rdflib(Graph.query, caller)
    try:
        result.bindings  # noqa: B018 (rdflib evaluates when bindings are read)
    except (LimitExceeded, Cancelled):
        raise
    except Exception as problem:  # raised when the rows are read, as in rdflib
        return FailedResult(list(result.vars or ()), problem)
    return result


def changed(carry_out: Callable[[], None], caller: FrameType) -> None:
    """As ``answered``, for ``Graph.update``."""
    try:
        carry_out()
    except SparqlSyntaxError:
        if _processor(caller) == SPARQL:
            raise
        _by_rdflib(Graph.update, caller)
    except NotImplementedError:
        _by_rdflib(Graph.update, caller)


def _processor(caller: FrameType) -> object:
    """The ``processor`` argument of the call of ``Graph.query`` or ``Graph.update``."""
    return caller.f_locals.get("processor", SPARQL)


def _by_rdflib(method: Callable[..., Any], caller: FrameType) -> Any:
    """Repeat the caller's call of ``method`` with rdflib's own evaluator.

    Precondition: called while an exception is handled, which is raised again if the caller is not ``method``.
    """
    code = cast(FunctionType, method).__code__
    if caller.f_code is not code:
        raise
    given = {name: caller.f_locals[name] for name in code.co_varnames[: code.co_argcount]}
    beside = {name: value for name, value in caller.f_locals["kwargs"].items() if name != "limits"}
    return method(**given | {"use_store_provided": False}, **beside)
