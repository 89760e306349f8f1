"""Clients of a served store: in this process without sockets, and of a server in a thread."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from typing import Any

import httpx
from rdflib import Dataset

from corollary.language import Program
from corollary.serve.app import application
from corollary.serve.connections import listening, server_of
from corollary.serve.guard import Token
from corollary.serve.service import Service, Settings
from corollary.store import CorollaryStore

TOKEN = "a token of the tests"
WRITER = {"Authorization": f"Bearer {TOKEN}"}
EX = "http://example.org/"
UPDATE = "application/sparql-update"

get, post = partial(httpx.get, timeout=60), partial(httpx.post, timeout=60)
"""Requests to a server, which may have little of a busy machine."""

DATA = """
PREFIX ex: <http://example.org/>
PREFIX rdfs: <http://www.w3.org/2000/01/rdf-schema#>
PREFIX owl: <http://www.w3.org/2002/07/owl#>
INSERT DATA {
    ex:Dog rdfs:subClassOf ex:Animal ; rdfs:label "Hund"@de ; owl:disjointWith ex:Cat .
    ex:rex a ex:Dog ; ex:says "<b>woof</b> & \\"bark\\"" .
    GRAPH ex:pets { ex:tom a ex:Cat }
}
"""


def service_of(
    rules: str | Program = "rdfs", log: Any = None, store: CorollaryStore | None = None, **settings: Any
) -> Service:
    """A service of a store with ``DATA``, or of the given one, that may be written with ``TOKEN``."""
    known: dict[str, Any] = {"is_writable": True, "token": Token.of(TOKEN), "hosts": ("server.test",)}
    if store is None:
        store = CorollaryStore(rules=rules, external="none")
        dataset = Dataset(store, default_union=True)
        dataset.update(DATA)
        dataset.bind("ex", EX)
        store.commit()
    return Service(store, Settings(**known | settings), log)


class Client:
    """Sends requests to a service without sockets."""

    def __init__(self, service: Service) -> None:
        self.service = service
        self.app = application(service)

    def request(self, method: str, path: str, **arguments: Any) -> httpx.Response:
        """The response to one request."""

        async def sent() -> httpx.Response:
            transport = httpx.ASGITransport(self.app, raise_app_exceptions=False)
            async with httpx.AsyncClient(transport=transport, base_url="http://server.test") as client:
                return await client.request(method, path, **arguments)

        return asyncio.run(sent())

    def put_raw(self, path: bytes, content: str, media_type: str) -> int:
        """The status of PUT to a path whose bytes are sent as they are."""
        whole = self.app

        async def app(scope: Any, receive: Any, send: Any) -> None:
            await whole({**scope, "raw_path": path, "path": path.decode()}, receive, send)

        async def sent() -> httpx.Response:
            transport = httpx.ASGITransport(app, raise_app_exceptions=False)
            async with httpx.AsyncClient(transport=transport, base_url="http://server.test") as client:
                headers = {**WRITER, "Content-Type": media_type}
                return await client.put("/graphs/x", content=content, headers=headers)

        return asyncio.run(sent()).status_code

    def get(self, path: str, **arguments: Any) -> httpx.Response:
        """The response to GET."""
        return self.request("GET", path, **arguments)

    def post(self, path: str, **arguments: Any) -> httpx.Response:
        """The response to POST."""
        return self.request("POST", path, **arguments)

    def ask(self, query: str, path: str = "/sparql") -> bool:
        """The answer of ASK."""
        headers = WRITER if path != "/sparql" else {}
        response = self.post(path, data={"query": f"PREFIX ex: <{EX}> ASK {{ {query} }}"}, headers=headers)
        assert response.status_code == 200, response.text
        found: bool = response.json()["boolean"]
        return found

    def update(self, update: str, path: str = "/update", **headers: str) -> httpx.Response:
        """The response to an update by the writer."""
        return self.post(
            path, content=f"PREFIX ex: <{EX}> {update}", headers={**WRITER, "Content-Type": UPDATE, **headers}
        )


def client_of(rules: str | Program = "rdfs", **settings: Any) -> Client:
    """A client of a new service."""
    return Client(service_of(rules, **settings))


@contextmanager
def running(service: Service) -> Iterator[str]:
    """A server in a thread, by its address."""
    ready = threading.Event()
    with listening("127.0.0.1", 0) as listener:
        server = server_of(service, ready.set)
        thread = threading.Thread(target=server.run, args=([listener],), daemon=True)
        address = f"http://127.0.0.1:{listener.getsockname()[1]}"
        thread.start()
        assert ready.wait(20)
        try:
            yield address
        finally:
            server.should_exit = True
            thread.join(40)
            service.close()
