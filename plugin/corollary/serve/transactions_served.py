"""``/transactions``: begun, used, committed and rolled back by URL."""

from __future__ import annotations

import asyncio
from datetime import UTC, datetime, timedelta
from time import monotonic

from starlette.requests import Request
from starlette.responses import JSONResponse, Response

from corollary.serve.bodies import address_of
from corollary.serve.open_transactions import gone
from corollary.serve.problems import Problem
from corollary.serve.protocol import QUERY, UPDATE, answered, carry_out, clauses_of, parameters_of
from corollary.serve.service import Service, unless_disconnected


async def begin(service: Service, request: Request) -> Response:
    """``POST /transactions``: waits for a short time while another change is made."""
    service.authorise(request)
    transaction = service.transactions.begin()
    await unless_disconnected(request, asyncio.wrap_future(transaction.begun), transaction)
    if await request.is_disconnected():
        transaction.cancel()
        raise Problem(503, "The request was cancelled", "the client went away")
    left = timedelta(seconds=transaction.end - monotonic())
    expires = (datetime.now(UTC) + left).isoformat(timespec="seconds")
    headers = {"Location": f"/transactions/{transaction.id}"}
    return JSONResponse({"id": transaction.id, "expires": expires}, 201, headers)


async def query(service: Service, request: Request) -> Response:
    """``POST /transactions/ID/query``: as ``/sparql``, over the state inside the transaction."""
    service.authorise(request)
    text, parameters = await parameters_of(request, "query", QUERY, service.settings.bytes_of_body)
    clauses = clauses_of(parameters, "default-graph-uri", "named-graph-uri")
    accept = request.headers.get("accept")
    name = request.path_params["id"]
    base = address_of(request)
    answer = await service.call(request, name, lambda: answered(service, text, base, clauses, accept))
    return await service.respond(answer)


async def update(service: Service, request: Request) -> Response:
    """``POST /transactions/ID/update``: as ``/update``. An error undoes this update, not the transaction."""
    service.authorise(request)
    text, parameters = await parameters_of(request, "update", UPDATE, service.settings.bytes_of_body)
    clauses = clauses_of(parameters, "using-graph-uri", "using-named-graph-uri")
    name, base = request.path_params["id"], address_of(request)
    await service.call(request, name, lambda: carry_out(service, text, base, clauses))
    return Response(status_code=204)


async def commit(service: Service, request: Request) -> Response:
    """``POST /transactions/ID/commit``. When it returns, the changes are on the disk."""
    service.authorise(request)
    name = request.path_params["id"]
    transaction = service.transactions.find(name)
    transaction.finish(commits=True)
    if not await asyncio.wrap_future(transaction.ended):
        raise gone()
    return JSONResponse({"id": name, "committed": True})


async def roll_back(service: Service, request: Request) -> Response:
    """``DELETE /transactions/ID``."""
    service.authorise(request)
    transaction = service.transactions.find(request.path_params["id"])
    transaction.cancel()
    await asyncio.wait([asyncio.wrap_future(transaction.ended)])
    return Response(status_code=204)
