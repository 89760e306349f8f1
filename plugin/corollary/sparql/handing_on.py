"""Queries that rdflib's own evaluator answers, within the limits of the call that they were put to.

rdflib's ``Graph.query`` asks the store, and evaluates the query itself if that raises NotImplementedError.
Then the call of the store is over, and so are its limits. So where it is ``Graph.query`` that asks, it is
asked to evaluate from here, and the rows are looked at before the call ends.
"""

from __future__ import annotations

from collections.abc import Callable
from types import FrameType

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
        if caller.f_code is not Graph.query.__code__:
            raise
    given = caller.f_locals
    graph: Graph = given["self"]
    result = graph.query(
        given["query_object"], given["processor"], given["result"], given["initNs"], given["initBindings"],
        use_store_provided=False, **{k: v for k, v in given["kwargs"].items() if k != "limits"},
    )  # fmt: skip
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
        return carry_out()
    except NotImplementedError:
        if caller.f_code is not Graph.update.__code__:
            raise
    given = caller.f_locals
    graph: Graph = given["self"]
    graph.update(
        given["update_object"], given["processor"], given["initNs"], given["initBindings"],
        use_store_provided=False, **{k: v for k, v in given["kwargs"].items() if k != "limits"},
    )  # fmt: skip
    return None
