"""The ASGI application: routes, middlewares, and the responses to errors."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from importlib.resources import files
from mimetypes import guess_type
from pathlib import PurePosixPath
from typing import Any

from starlette.applications import Starlette
from starlette.datastructures import Headers
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.middleware.cors import CORSMiddleware
from starlette.middleware.gzip import GZipMiddleware
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route
from starlette.types import Receive, Scope, Send

from corollary.serve import facts_served, graph_protocol, protocol, rules_served, transactions_served
from corollary.serve.access_log import ROUTE, Observer
from corollary.serve.guard import Guard
from corollary.serve.negotiation import accepts_gzip, with_charset
from corollary.serve.problems import Problem, problem_of, response_of
from corollary.serve.service import Service
from corollary.serve.tuning import LEVEL_OF_COMPRESSION

Endpoint = Callable[[Service, Request], Awaitable[Response]]

PAGE = files("corollary.serve").joinpath("page")
"""The files of the workbench."""


async def page(service: Service, request: Request) -> Response:
    """``GET /`` and ``GET /page/...``: a file of the workbench. Raises Problem (404) for any other name."""
    name = request.path_params.get("name", "index.html")
    parts = PurePosixPath(name).parts
    file = PAGE.joinpath(*parts) if parts and ".." not in parts and "/" not in parts else PAGE
    try:
        content = file.read_bytes()
    except (OSError, ValueError):  # none, a folder, or a name that no file can have
        raise Problem(404, "Not found") from None
    media_type = guess_type(name)[0] or "application/octet-stream"
    headers = {"Content-Type": with_charset(media_type), "Cache-Control": "no-cache"}
    return Response(content, headers=headers)


ROUTES: list[tuple[str, str, Endpoint]] = [
    ("GET", "/", page),
    ("GET", "/page/{name:path}", page),
    ("GET POST", "/sparql", protocol.query),
    ("POST", "/update", protocol.update),
    ("GET PUT POST DELETE", "/graphs", graph_protocol.graphs),
    ("GET PUT POST DELETE", "/graphs/{name:path}", graph_protocol.graphs),
    ("GET", "/explain", facts_served.explain),
    ("GET", "/inconsistencies", facts_served.inconsistencies),
    ("GET POST", "/rules", rules_served.rules),
    ("DELETE", "/rules/{id}", rules_served.rule),
    ("POST", "/rules/{id}/{to}", rules_served.switch),
    ("GET", "/changes/last", facts_served.last_change),
    ("GET", "/statistics", facts_served.show_statistics),
    ("GET", "/terms", facts_served.terms),
    ("GET", "/prefixes", facts_served.prefixes),
    ("POST", "/transactions", transactions_served.begin),
    ("POST", "/transactions/{id}/query", transactions_served.query),
    ("POST", "/transactions/{id}/update", transactions_served.update),
    ("POST", "/transactions/{id}/commit", transactions_served.commit),
    ("DELETE", "/transactions/{id}", transactions_served.roll_back),
    ("GET", "/status", facts_served.status),
    ("GET", "/health", facts_served.health),
    ("GET", "/metrics", facts_served.show_metrics),
]
"""Methods, path and endpoint. GET implies HEAD."""


def application(service: Service) -> Starlette:
    """The application that serves the store of ``service``."""
    settings = service.settings

    async def refused(request: Request, error: Exception) -> Response:
        return response_of(problem_of(error, service.secrets))

    middleware = [
        Middleware(Observer, metrics=service.metrics, log=service.log),
        Middleware(Guard, hosts=settings.hosts, is_cors=bool(settings.origins)),
    ]
    if settings.origins:
        shared: dict[str, Any] = {
            "allow_origins": list(settings.origins),
            "allow_methods": ["GET", "HEAD", "POST", "PUT", "DELETE"],
            "allow_headers": ["Authorization", "Content-Type", "Accept"],
            "expose_headers": ["Location"],
        }
        middleware.append(Middleware(CORSMiddleware, **shared))
    middleware.append(Middleware(_Compressing, compresslevel=LEVEL_OF_COMPRESSION))
    return Starlette(
        routes=[_route(service, *each) for each in ROUTES],
        middleware=middleware,
        exception_handlers={HTTPException: refused},
    )


class _Compressing(GZipMiddleware):
    """Compresses for those who accept gzip. Starlette looks for the name only, whatever its quality is."""

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http":
            is_accepted = accepts_gzip(Headers(scope=scope).get("Accept-Encoding", ""))
            others = [(name, value) for name, value in scope["headers"] if name != b"accept-encoding"]
            accepted = b"accept-encoding", b"gzip" if is_accepted else b"identity"
            scope["headers"] = [*others, accepted]
        await super().__call__(scope, receive, send)


def _route(service: Service, methods: str, path: str, endpoint: Endpoint) -> Route:
    return Route(path, _Answering(service, methods, path, endpoint), methods=[*methods.split(), "OPTIONS"])


class _Answering:
    """The ASGI application of a route. Starlette wraps functions in further handlers of errors."""

    def __init__(self, service: Service, methods: str, path: str, endpoint: Endpoint) -> None:
        self.service, self.path, self.endpoint = service, path, endpoint
        self.allowed = ", ".join([*methods.split(), "OPTIONS"])

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        scope[ROUTE] = self.path
        response = await self._answer(Request(scope, receive, send))
        await response(scope, receive, send)

    async def _answer(self, request: Request) -> Response:
        if request.method == "OPTIONS":
            return Response(status_code=204, headers={"Allow": self.allowed})
        try:
            return await self.endpoint(self.service, request)
        except Exception as error:
            return response_of(problem_of(error, self.service.secrets))
