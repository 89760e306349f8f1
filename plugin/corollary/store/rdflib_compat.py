"""What rdflib does otherwise than one would expect, and what the store does about it.

1. rdflib's SPARQL parser is not thread-safe. The parser finds out at a parse action's first call how many
   arguments the action takes. Two threads that find out together leave the grammar broken for good, so every
   text goes through one lock (``parse_query``, ``parse_update``).
2. rdflib calls ``store.open`` and ``store.update`` without saying which ``Graph`` asks. The graph is found in
   the caller's frame (``graph_that_calls``, ``default_graph_of_caller``).
3. rdflib asks services with ``urlopen``, which follows redirects to files (``guard_services``).

Elsewhere: graphs without a name (``default_graph``), queries that rdflib evaluates (``sparql.handing_on``).
"""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from threading import RLock
from types import FrameType
from typing import TYPE_CHECKING, Any, ParamSpec, TypeVar, cast
from urllib.request import Request

from rdflib.graph import DATASET_DEFAULT_GRAPH_ID, ConjunctiveGraph, Graph
from rdflib.plugins.sparql import evaluate
from rdflib.plugins.sparql.parser import parseQuery, parseUpdate
from rdflib.term import IdentifiedNode

from corollary.kernels.interrupts import alone
from corollary.language import CorollaryError

if TYPE_CHECKING:
    from corollary.store.store import CorollaryStore

_PARSER = RLock()

Parameters = ParamSpec("Parameters")
Result = TypeVar("Result")


class NestedTooDeep(CorollaryError, RecursionError):
    """A query or update has more within each other than can be parsed or evaluated."""


def refuses_deep_nesting(function: Callable[Parameters, Result]) -> Callable[Parameters, Result]:
    """Decorator: raise ``NestedTooDeep`` where Python's stack ends."""

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


def graph_that_calls(store: CorollaryStore, frame: FrameType) -> Graph | None:
    """The graph of a store whose method a frame runs; None if it is another's."""
    caller = frame.f_locals.get("self")
    return caller if isinstance(caller, Graph) and caller.store is store else None


def default_graph_of_caller(store: CorollaryStore, frame: FrameType | None) -> IdentifiedNode:
    """The default graph of the Dataset or ConjunctiveGraph whose ``update`` was called.

    A union is asked for without its name, and a ConjunctiveGraph's default graph is a blank node of its own.
    """
    for _ in range(2):
        if frame is None:
            break
        caller = frame.f_locals.get("self")
        if isinstance(caller, ConjunctiveGraph) and caller.store is store:
            return cast(
                IdentifiedNode,
                store.reasoner.versions.current().adapter_state.meet(caller._default_context.identifier),
            )
        frame = frame.f_back
    return DATASET_DEFAULT_GRAPH_ID


def guard_services() -> None:
    """Let rdflib, which asks services with ``urlopen``, follow redirects to http and https only.

    rdflib has no argument for that. Its name for ``urlopen`` is replaced, when a query first needs it.
    """
    from corollary.loaders.fetching import RedirectRefused, opened
    from corollary.store.external import ExternalAccessRefused

    def open_service(request: Request) -> Any:
        try:
            return opened(request)
        except RedirectRefused as error:
            raise ExternalAccessRefused(f"SERVICE: {error}") from None

    evaluate.urlopen = open_service  # type: ignore[assignment, attr-defined]
