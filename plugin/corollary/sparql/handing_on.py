"""Queries that rdflib's own evaluator answers, within the limits of the call that they were put to.

rdflib's ``Graph.query`` asks the store, and evaluates the query itself if that raises NotImplementedError.
Then the call of the store is over, and so are its limits. So where it is ``Graph.query`` that asks, it is
asked to evaluate from here, and the rows are looked at before the call ends.
"""

from __future__ import annotations

from collections.abc import Callable
from types import FrameType, FunctionType
from typing import Any, cast

from rdflib.graph import Graph
from rdflib.query import Result

from corollary.kernels.limits import Cancelled, LimitExceeded
from corollary.sparql.result import FailedResult


def answered(ask: Callable[[], Result], caller: FrameType) -> Result:
    """What ``ask`` returns; what rdflib returns, if it is ``Graph.query`` that calls and shall answer itself.

    NotImplementedError if it is not ``Graph.query``.
    """
    try:
        return ask()
    except NotImplementedError:
        result: Result = _by_rdflib(Graph.query, caller)
    try:
        result.bindings  # noqa: B018 (rdflib evaluates when it is asked)
    except (LimitExceeded, Cancelled):
        raise
    except Exception as problem:  # raised where the rows are looked at, as in rdflib
        return FailedResult(list(result.vars or ()), problem)
    return result


def changed(carry_out: Callable[[], None], caller: FrameType) -> None:
    """As ``answered``, for ``Graph.update``."""
    try:
        carry_out()
    except NotImplementedError:
        _by_rdflib(Graph.update, caller)


def _by_rdflib(method: Callable[..., Any], caller: FrameType) -> Any:
    """What rdflib itself returns for the caller's call. If that is not ``method``, the error in hand."""
    code = cast(FunctionType, method).__code__
    if caller.f_code is not code:
        raise
    given = {name: caller.f_locals[name] for name in code.co_varnames[: code.co_argcount]}
    beside = {name: value for name, value in caller.f_locals["kwargs"].items() if name != "limits"}
    return method(**given | {"use_store_provided": False}, **beside)
