"""SPARQL 1.1 Protocol: queries by GET and POST, updates by POST only."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from rdflib.query import Result
from starlette.requests import Request
from starlette.responses import Response

from corollary.serve.bodies import FORM, Parameters, address_of, body_of, in_url, media_type_of, text_of_body
from corollary.serve.negotiation import chosen, offered
from corollary.serve.problems import Problem
from corollary.serve.result_streams import written
from corollary.serve.service import Body, Service
from corollary.serve.tuning import MAX_BYTES_OF_FORM, MAX_BYTES_OF_QUERY
from corollary.sparql.algebra import GraphClause, Modify, Query, UpdateOperation
from corollary.sparql.parser import parse_update
from corollary.sparql.plan_cache import plan_of
from corollary.sparql.query_errors import refuses_deep_nesting
from corollary.store.update import run_update
from corollary.store.update_scope import is_there

QUERY = "application/sparql-query"
UPDATE = "application/sparql-update"
UNION = "__UNION__"
"""The default graph of a request that names none: the union of all graphs, and what follows from it."""


async def parameters_of(request: Request, name: str, direct: str, most: int) -> tuple[str, Parameters]:
    """The text of a query or an update, and all parameters.

    ``name`` is the parameter with the text in a form, ``direct`` the media type of a body that is the text.
    """
    parameters = in_url(request)
    if request.method != "POST":
        return parameters.needed(name), parameters
    media_type = media_type_of(request)
    body = await body_of(request, min(most, MAX_BYTES_OF_FORM) if media_type == FORM else most)
    if media_type == direct:
        if parameters.all(name):
            raise Problem(400, "Two texts", f"send the text as the body, or as {name}= in a form")
        return text_of_body(body), parameters
    if media_type == FORM:
        form = await Parameters.of_form(body)
        return form.needed(name), form + parameters
    raise Problem(415, "Unsupported media type", f"send {direct}, or a form: {FORM}")


def clauses_of(parameters: Parameters, default: str, named: str) -> tuple[GraphClause, ...]:
    """The dataset that the parameters of a request describe; empty if they describe none."""
    return (
        *(GraphClause(graph, False) for graph in parameters.iris(default)),
        *(GraphClause(graph, True) for graph in parameters.iris(named)),
    )


# Queries


async def query(service: Service, request: Request) -> Response:
    """``GET`` or ``POST /sparql``."""
    most = min(MAX_BYTES_OF_QUERY, service.settings.bytes_of_body)
    text, parameters = await parameters_of(request, "query", QUERY, most)
    if parameters.all("update"):
        raise Problem(400, "No update here", "updates are sent to /update, by POST")
    clauses = clauses_of(parameters, "default-graph-uri", "named-graph-uri")
    accept = request.headers.get("accept")
    base = address_of(request)
    return await service.respond(
        await service.read(request, lambda: answered(service, text, base, clauses, accept))
    )


@refuses_deep_nesting
def answered(
    service: Service, text: str, base: str, clauses: Sequence[GraphClause], accept: str | None
) -> Body:
    """The answer of a query. ``clauses`` replace those of the query, if there are any.

    Raises Problem before the query is evaluated if there is no format that the client accepts.
    """
    plan = plan_of(text, service.prefixes(), base)
    if clauses:
        plan = replace(plan, clauses=tuple(clauses))
    formats = offered(plan.form)
    media_type = chosen(accept, formats)
    most = service.settings.bytes_of_result
    chunks = written(_result(service, plan), formats[media_type], service.prefixes(), most)
    return service.begun(chunks, media_type)


def _result(service: Service, plan: Query) -> Result:
    """The result of a query. Raises NotImplementedError for one that only rdflib would evaluate."""
    return service.store.query(plan, {}, {}, UNION)  # type: ignore[arg-type]  # a plan needs no parsing


# Updates


async def update(service: Service, request: Request) -> Response:
    """``POST /update``."""
    service.authorise(request)
    text, parameters = await parameters_of(request, "update", UPDATE, service.settings.bytes_of_body)
    clauses = clauses_of(parameters, "using-graph-uri", "using-named-graph-uri")
    base = address_of(request)
    await service.write(request, lambda: carry_out(service, text, base, clauses))
    return Response(status_code=204)


@refuses_deep_nesting
def carry_out(service: Service, text: str, base: str, clauses: Sequence[GraphClause]) -> None:
    """Carry out an update. ``clauses`` are its USING clauses.

    Raises Problem if it has clauses of its own, too, or if one of the graphs is not in the store.
    """
    names = {prefix or "": str(namespace) for prefix, namespace in service.prefixes().items()}
    operations = parse_update(text, names, base)
    for clause in clauses:
        if not is_there(service.store, clause.graph):
            raise Problem(400, "No such graph", f"the store has no graph {clause.graph.n3()}")
    if clauses:
        operations = tuple([_with_using(operation, clauses) for operation in operations])
    run_update(service.store, operations, {}, {}, UNION, None)


def _with_using(operation: UpdateOperation, clauses: Sequence[GraphClause]) -> UpdateOperation:
    if not isinstance(operation, Modify):
        return operation
    if operation.graph is not None or operation.using:
        detail = "using-graph-uri= and using-named-graph-uri= are for updates without WITH and USING"
        raise Problem(400, "Two datasets", detail)
    return replace(operation, using=tuple(clauses))
