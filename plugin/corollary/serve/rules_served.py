"""``/rules``: listed, added, switched off and on. Each change is a transaction, and has its report."""

from __future__ import annotations

from functools import partial

from starlette.requests import Request
from starlette.responses import JSONResponse, Response

from corollary.serve.bodies import body_of, in_url, media_type_of, text_of_body
from corollary.serve.facts_served import report_as_json
from corollary.serve.problems import Problem
from corollary.serve.service import Service


async def rules(service: Service, request: Request) -> Response:
    """``GET /rules``, and ``POST /rules`` with rules as text."""
    if request.method != "POST":
        given = in_url(request).one("derived") or "false"
        if given not in ("true", "false"):
            raise Problem(400, "Bad parameter", "derived= is true or false")
        listed = partial(service.rules.listed, counts=given == "true")
        return JSONResponse({"rules": await service.read(request, listed)})
    service.authorise(request)
    if media_type_of(request) != "text/plain":
        raise Problem(415, "Unsupported media type", "send rules as text/plain")
    text = text_of_body(await body_of(request, service.settings.bytes_of_body))
    added, report = await service.write(request, lambda: service.rules.add(text))
    return JSONResponse({"added": added, "report": report_as_json(report)})


async def rule(service: Service, request: Request) -> Response:
    """``DELETE /rules/ID``: switches a rule off; forgets one that is off."""
    service.authorise(request)
    name = request.path_params["id"]
    report = await service.write(request, lambda: service.rules.remove(name))
    return JSONResponse({"removed": name, "report": report_as_json(report)})


async def switch(service: Service, request: Request) -> Response:
    """``POST /rules/ID/off`` and ``POST /rules/ID/on``."""
    service.authorise(request)
    name, to = request.path_params["id"], request.path_params["to"]
    change = {"off": service.rules.switch_off, "on": service.rules.switch_on}.get(to)
    if change is None:
        raise Problem(404, "Not found")
    report = await service.write(request, lambda: change(name))
    return JSONResponse({"id": name, "enabled": to == "on", "report": report_as_json(report)})
