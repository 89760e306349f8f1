"""The access log and the counts of requests. A line of the log is JSON, without query string and headers."""

from __future__ import annotations

import json
from collections.abc import Callable
from contextlib import suppress
from datetime import UTC, datetime
from time import perf_counter

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from corollary.serve.metrics import Metrics

Log = Callable[[str], object]
"""Receives the lines of the access log, each with its line break."""

ROUTE = "corollary.route"
"""The key in ASGI's scope of the path as in ``app.ROUTES``."""

_METHODS = ("GET", "HEAD", "POST", "PUT", "DELETE", "OPTIONS")


class Observer:
    """ASGI middleware, the outermost one: counts each request in ``metrics``, logs it in ``log`` if given."""

    def __init__(self, app: ASGIApp, metrics: Metrics, log: Log | None) -> None:
        self.app, self.metrics, self.log = app, metrics, log

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        status, size, started = 0, 0, perf_counter()

        async def observed(message: Message) -> None:
            nonlocal status, size
            status = message.get("status", status)
            size += len(message.get("body", b""))
            await send(message)

        self.metrics.running += 1
        try:
            await self.app(scope, receive, observed)
        finally:
            self.metrics.running -= 1
            seconds = perf_counter() - started
            method = scope["method"] if scope["method"] in _METHODS else "other"
            self.metrics.count(scope.get(ROUTE, "other"), method, status, seconds, size)
            if self.log is not None:
                with suppress(OSError):  # a full device ends no request
                    self.log(_line(scope, status, size, seconds))


def _line(scope: Scope, status: int, size: int, seconds: float) -> str:
    """One line of the log. The path is without its query, which may hold anything."""
    entry = {
        "time": datetime.now(UTC).isoformat(timespec="milliseconds"),
        "client": (scope.get("client") or ("",))[0],
        "method": scope["method"],
        "path": scope["path"],
        "status": status,
        "bytes": size,
        "ms": round(1000 * seconds, 2),
    }
    return json.dumps(entry) + "\n"
