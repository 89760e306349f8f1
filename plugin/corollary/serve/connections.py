"""The server, uvicorn: its settings, limits that it lacks, and its start and end."""

from __future__ import annotations

import asyncio
import errno
import gc
import os
import signal
import socket
from collections.abc import Callable
from contextlib import AbstractContextManager
from types import FrameType
from typing import Any

import uvicorn
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from corollary.language import CorollaryError
from corollary.serve.app import application
from corollary.serve.service import Service
from corollary.serve.tuning import (
    MAX_BYTES_OF_HEAD,
    MAX_REQUESTS_AT_ONCE,
    SECONDS_FOR_ENDING,
    SECONDS_FOR_HEAD,
    SECONDS_FOR_SENDING,
    SECONDS_OF_KEEP_ALIVE,
)


class LimitedProtocol(HttpToolsProtocol):
    """Drops connections that take too long to send the head of a request, or to receive a response.

    Also those that send more than ``MAX_BYTES_OF_HEAD`` bytes, and one read, without the end of a head, of a
    part of a body, or of a message: the parser keeps them in memory.
    """

    def __init__(self, *args: Any, **settings: Any) -> None:
        super().__init__(*args, **settings)
        self._head: asyncio.TimerHandle | None = None
        self._sending: asyncio.TimerHandle | None = None
        self._unparsed = 0  # bytes since the parser reached such an end

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        self._head = self.loop.call_later(SECONDS_FOR_HEAD, transport.abort)

    def data_received(self, data: bytes) -> None:
        self._unparsed += len(data)
        super().data_received(data)
        is_running = self.cycle is not None and not self.cycle.response_complete
        if self._unparsed > MAX_BYTES_OF_HEAD and not self.transport.is_closing():
            if is_running:
                self.transport.abort()
            else:
                self.send_400_response("The head of the request is too large.")
        elif is_running:
            _stop(self._head)
            self._head = None
        elif self._head is None and not self.transport.is_closing():
            self._head = self.loop.call_later(SECONDS_FOR_HEAD, self.transport.abort)

    def on_headers_complete(self) -> None:
        self._unparsed = 0
        super().on_headers_complete()

    def on_body(self, body: bytes) -> None:
        self._unparsed = 0
        super().on_body(body)

    def on_message_complete(self) -> None:
        self._unparsed = 0
        super().on_message_complete()

    def pause_writing(self) -> None:
        super().pause_writing()
        self._sending = self.loop.call_later(SECONDS_FOR_SENDING, self.transport.abort)

    def resume_writing(self) -> None:
        super().resume_writing()
        _stop(self._sending)

    def connection_lost(self, exc: Exception | None) -> None:
        _stop(self._head)
        _stop(self._sending)
        super().connection_lost(exc)


def _stop(timer: asyncio.TimerHandle | None) -> None:
    if timer is not None:
        timer.cancel()


class Server(uvicorn.Server):
    """Calls ``on_ready`` when it accepts requests, and ``Service.end`` when a signal ends it."""

    def __init__(self, config: uvicorn.Config, service: Service, on_ready: Callable[[], object]) -> None:
        super().__init__(config)
        self._service, self._on_ready = service, on_ready

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        self._service.end()
        super().handle_exit(sig, frame)

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        self._on_ready()


def listening(host: str, port: int) -> socket.socket:
    """A socket that accepts connections; port 0 is any free one. Raises CorollaryError if it is taken."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    # asyncio sends small parts at once (TCP_NODELAY) only if the protocol is named
    listener = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    try:
        if os.name == "posix":
            listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind((host.strip("[]"), port))
        listener.listen(MAX_REQUESTS_AT_ONCE)
    except OSError as error:
        listener.close()
        reason = f"cannot listen on {host}, port {port}: {error.strerror}"
        is_known = not isinstance(error, socket.gaierror) and error.errno != errno.EADDRNOTAVAIL
        remedy = "choose another --port" if is_known else "--host takes an address of this machine"
        raise CorollaryError(f"{reason}; {remedy}") from None
    return listener


def server_of(
    service: Service, on_ready: Callable[[], object], certificate: str | None = None, key: str | None = None
) -> Server:
    """A server for ``serve``. ``certificate`` and ``key`` are files for TLS."""
    config = uvicorn.Config(
        application(service),
        http=LimitedProtocol,
        ws="none",
        lifespan="off",
        log_config=None,
        log_level="critical",
        access_log=False,
        server_header=False,
        proxy_headers=False,
        limit_concurrency=MAX_REQUESTS_AT_ONCE,
        timeout_keep_alive=SECONDS_OF_KEEP_ALIVE,
        timeout_graceful_shutdown=SECONDS_FOR_ENDING,
        ssl_certfile=certificate,
        ssl_keyfile=key,
    )
    return Server(config, service, on_ready)


def serve(
    server: Server, listener: socket.socket, service: Service, closing: AbstractContextManager[object]
) -> None:
    """Serve until SIGINT or SIGTERM; running requests are then answered. Closes the store, in ``closing``.

    Precondition: called in the main thread.
    """
    gc.collect()
    gc.freeze()  # what was loaded is not searched for garbage: 13 % of the time of point queries (LUBM-1)
    ended = signal.SIGINT, signal.SIGTERM
    former = {number: signal.signal(number, signal.SIG_IGN) for number in ended}  # uvicorn raises them again
    try:
        server.run(sockets=[listener])
    finally:
        with closing:
            service.close()
        gc.unfreeze()
        for number, handler in former.items():
            signal.signal(number, handler)
