"""What the endpoints share: the store, its limits, and the threads in which requests read and write it.

A read runs in a thread of a pool, a change in one other thread: so reads do not queue behind changes. A
request that takes too long, or whose client disconnects, is cancelled. A cancelled request has changed
nothing.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Iterator, Mapping
from concurrent.futures import Executor, ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass
from math import inf
from pathlib import Path
from time import monotonic
from typing import Any, Protocol, TypeVar

from rdflib import OWL, RDF, RDFS, XSD
from rdflib.graph import Dataset
from starlette.requests import Request
from starlette.responses import Response, StreamingResponse

from corollary.kernels.limits import Cancellation, Limits, limited
from corollary.reasoner.version import Version
from corollary.serve.access_log import Log
from corollary.serve.guard import Token
from corollary.serve.metrics import Metrics
from corollary.serve.negotiation import with_charset
from corollary.serve.open_transactions import OpenTransactions
from corollary.serve.problems import Problem, private_paths, problem_of
from corollary.serve.result_streams import bounded
from corollary.serve.rule_book import RuleBook
from corollary.serve.tuning import (
    BYTES_BEFORE_STREAMING,
    DEFAULT_BYTES_OF_BODY,
    DEFAULT_BYTES_OF_RESULT,
    DEFAULT_SECONDS,
    SECONDS_BEFORE_WATCHING,
    THREADS_OF_READERS,
)
from corollary.store import CorollaryStore

Result = TypeVar("Result")


USUAL_PREFIXES = {"rdf": str(RDF), "rdfs": str(RDFS), "owl": str(OWL), "xsd": str(XSD)}


@dataclass(frozen=True)
class Settings:
    """The settings of a server. Changes need ``token``; without ``is_writable`` none is accepted.

    ``hosts`` are the names of this server beside those of loopback, ``origins`` the origins whose pages may
    read. ``seconds``, ``bytes_of_body`` and ``bytes_of_result`` bound one request. ``folder`` is the store's
    folder, whose path no message shows; None in memory.
    """

    is_writable: bool = False
    token: Token | None = None
    hosts: tuple[str, ...] = ()
    origins: tuple[str, ...] = ()
    seconds: float = DEFAULT_SECONDS
    bytes_of_body: int = DEFAULT_BYTES_OF_BODY
    bytes_of_result: int = DEFAULT_BYTES_OF_RESULT
    folder: Path | None = None


@dataclass(frozen=True)
class Body:
    """A response's body: its beginning, and an iterator that writes the rest."""

    media_type: str
    beginning: bytes
    rest: Iterator[bytes]
    is_whole: bool


def usable_prefixes(version: Version) -> Mapping[str, str]:
    """The prefixes that queries need not declare: those of the store, and the usual ones."""
    return {**USUAL_PREFIXES, **version.namespaces.by_prefix}


class Cancellable(Protocol):
    """Work that another thread can cancel."""

    def cancel(self) -> None: ...


class Service:
    """A store that is served."""

    def __init__(self, store: CorollaryStore, settings: Settings, log: Log | None = None) -> None:
        self.store, self.settings, self.log = store, settings, log
        self.dataset = Dataset(store, default_union=True)
        self.started = monotonic()
        self.is_ending = False
        self.metrics = Metrics()
        self.secrets = private_paths(settings.folder)
        self.rules = RuleBook(store)
        self.transactions = OpenTransactions(store, settings.seconds)
        self._readers = ThreadPoolExecutor(THREADS_OF_READERS, "reader")
        self._writer = ThreadPoolExecutor(1, "writer")

    def prefixes(self) -> Mapping[str, str]:
        """``usable_prefixes`` of the present version."""
        return usable_prefixes(self.store.reasoner.versions.current())

    def authorise(self, request: Request) -> None:
        """Raise Problem unless the request may change the store: by a header, never by the URL."""
        if not self.settings.is_writable or self.settings.token is None:
            raise Problem(403, "This server is read-only", "corollary serve --writable allows changes")
        if not self.settings.token.fits(request.headers.get("authorization")):
            detail = "send the token of the server in the header Authorization: Bearer TOKEN"
            raise Problem(401, "No or wrong token", detail, {"WWW-Authenticate": "Bearer"})

    async def read(self, request: Request, function: Callable[[], Result]) -> Result:
        """The result of a function that reads, called in a thread of the readers.

        Raises what the function raises; LimitExceeded after ``settings.seconds``, the time in the queue
        included; Cancelled or Problem (503) if the client goes away.
        """
        return await self._run(request, self._readers, function)

    async def write(self, request: Request, function: Callable[[], Result]) -> Result:
        """The result of a function that changes the store, in a transaction of its own.

        Precondition: ``authorise``. When it returns, the change is committed. Raises as ``read``, and Problem
        (503) if a transaction by URL stays open; then nothing has changed.
        """
        turn, asked, most = self.transactions.turn, monotonic(), self.settings.seconds

        def changing() -> Result:
            with turn.taken(asked, most), self.store.transaction():
                return function()

        return await self._run(request, self._writer, changing)

    async def _run(self, request: Request, pool: Executor, function: Callable[[], Result]) -> Result:
        cancellation = Cancellation()
        work = asyncio.get_running_loop().run_in_executor(pool, self._limited(cancellation, function))
        return await unless_disconnected(request, work, cancellation)

    async def call(self, request: Request, name: str, function: Callable[[], Result]) -> Result:
        """The result of a function that is called inside the open transaction ``name``.

        Precondition: ``authorise``. Raises as ``read``, and Problem (404) if the transaction has ended.
        """
        cancellation = Cancellation()
        transaction = self.transactions.find(name)
        work = transaction.call(self._limited(cancellation, function, transaction.end))
        return await unless_disconnected(request, asyncio.wrap_future(work), cancellation)

    def _limited(
        self, cancellation: Cancellation, function: Callable[[], Result], most: float = inf
    ) -> Callable[[], Result]:
        """The function, limited to ``settings.seconds`` from now on: waiting in a queue counts.

        ``most`` is a further bound on its end, by ``monotonic``.
        """
        end = min(monotonic() + self.settings.seconds, most)
        return lambda: limited(
            Limits(seconds=max(0.0, end - monotonic()), terms=None), cancellation, function
        )

    async def respond(self, body: Body) -> Response:
        """A response with a body whose beginning is written. The rest is written while it is sent."""
        headers = {"Content-Type": with_charset(body.media_type), "Vary": "Accept"}
        if body.is_whole:
            return Response(body.beginning, headers=headers)
        loop = asyncio.get_running_loop()

        async def parts() -> AsyncIterator[bytes]:
            yield body.beginning
            try:
                while (chunk := await loop.run_in_executor(self._readers, next, body.rest, None)) is not None:
                    yield chunk
            except Exception as error:
                problem_of(error, self.secrets)  # prints what is no mistake of the client
                raise  # the response has begun: it is cut off

        return StreamingResponse(parts(), headers=headers)

    def begun(self, chunks: Iterator[bytes], media_type: str) -> Body:
        """A body whose first ``BYTES_BEFORE_STREAMING`` bytes are written now.

        Raises Problem (413) if these are more than ``settings.bytes_of_result``, and what ``chunks`` raises.
        """
        rest = bounded(chunks, self.settings.bytes_of_result)
        parts, size = [], 0
        for chunk in rest:
            parts.append(chunk)
            size += len(chunk)
            if size > BYTES_BEFORE_STREAMING:
                return Body(media_type, b"".join(parts), rest, is_whole=False)
        return Body(media_type, b"".join(parts), rest, is_whole=True)

    def end(self) -> None:
        """Let the running requests end: open transactions, for which no request can come, are rolled back."""
        self.is_ending = True
        self.transactions.end()

    def close(self) -> None:
        """End the threads, and close the store: what is committed stays. Idempotent."""
        self.is_ending = True
        self.transactions.close()
        self._readers.shutdown(cancel_futures=True)
        self._writer.shutdown(cancel_futures=True)
        self.store.close()


async def unless_disconnected(
    request: Request, work: asyncio.Future[Result], cancellation: Cancellable
) -> Result:
    """The result of a running function, which is cancelled when the client goes away, or the server ends."""
    gone: asyncio.Future[None] | None = None
    try:
        await asyncio.wait([work], timeout=SECONDS_BEFORE_WATCHING)
        if not work.done():
            gone = asyncio.ensure_future(_disconnected(request))
            both: set[asyncio.Future[Any]] = {work, gone}
            await asyncio.wait(both, return_when=asyncio.FIRST_COMPLETED)
        if not work.done():
            cancellation.cancel()
            work.cancel()  # if it has not begun
        return await work
    except asyncio.CancelledError:
        cancellation.cancel()
        raise Problem(503, "The request was cancelled", "the client or the server went away") from None
    finally:
        if gone is not None:
            gone.cancel()
            with suppress(asyncio.CancelledError):
                await gone


async def _disconnected(request: Request) -> None:
    """Returns when the client has gone away. Precondition: the body was read."""
    while (await request.receive())["type"] != "http.disconnect":
        pass
