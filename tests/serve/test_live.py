"""A server with sockets: rdflib's and other clients, slow clients, clients that go away, many at once."""

from __future__ import annotations

import random
import shutil
import socket
import subprocess
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, suppress
from urllib.parse import quote, urlsplit

import httpx
import pytest
from rdflib import Graph, Literal, URIRef
from rdflib.plugins.stores.sparqlstore import SPARQLStore, SPARQLUpdateStore
from tests.serve.client import EX, TOKEN, UPDATE, WRITER, get, post, running, service_of
from tests.serve.test_security import large_store

from corollary.serve.service import Service

LONG = "SELECT (COUNT(*) AS ?n) { ?a ?p ?x . ?b ?q ?y . ?c ?r ?z FILTER(STR(?a) < STR(?z)) }"


@pytest.fixture
def service() -> Service:
    """A service of its own."""
    return service_of("rdfs")


@pytest.fixture
def address(service: Service) -> Iterator[str]:
    """A running server of ``service``."""
    with running(service) as found:
        yield found


def connected(address: str) -> socket.socket:
    place = urlsplit(address)
    return socket.create_connection((place.hostname, place.port), timeout=20)


def eventually(holds: Callable[[], bool]) -> bool:
    for _ in range(400):
        if holds():
            return True
        time.sleep(0.05)
    return False


def test_rdflibs_clients(address: str) -> None:
    reader = Graph(SPARQLStore(f"{address}/sparql"))
    rex, says = URIRef(EX + "rex"), URIRef(EX + "says")
    assert set(reader.objects(rex, says)) == {Literal('<b>woof</b> & "bark"')}
    assert bool(reader.query(f"ASK {{ <{EX}rex> a <{EX}Animal> }}"))
    constructed = reader.query("CONSTRUCT WHERE { ?s a ?t }").graph
    assert constructed is not None and len(constructed) >= 3
    store = SPARQLUpdateStore(f"{address}/sparql", f"{address}/update", headers=WRITER)
    Graph(store, URIRef(EX + "pets")).add((URIRef(EX + "bo"), says, Literal('a "b"\n\\ü')))
    store.commit()
    (row,) = reader.query(f"SELECT ?x {{ GRAPH <{EX}pets> {{ <{EX}bo> ?p ?x }} }}")
    assert row == (Literal('a "b"\n\\ü'),)
    store.close()


def test_sparqlwrapper(address: str) -> None:
    SPARQLWrapper = pytest.importorskip("SPARQLWrapper")
    for form in ("json", "xml", "csv", "tsv"):
        wrapper = SPARQLWrapper.SPARQLWrapper(f"{address}/sparql")
        wrapper.setQuery(f"SELECT ?t {{ <{EX}rex> a ?t }}")
        wrapper.setReturnFormat(form)
        assert "Animal" in str(
            wrapper.query().convert() if form != "xml" else wrapper.query().convert().toxml()
        )
    writer = SPARQLWrapper.SPARQLWrapper(f"{address}/update")
    writer.setMethod("POST")
    writer.addCustomHttpHeader("Authorization", f"Bearer {TOKEN}")
    writer.setQuery(f"INSERT DATA {{ <{EX}bo> a <{EX}Dog> }}")
    writer.query()
    assert get(f"{address}/sparql", params={"query": f"ASK {{ <{EX}bo> a <{EX}Animal> }}"}).json()["boolean"]


@pytest.mark.skipif(shutil.which("curl") is None, reason="there is no curl")
def test_curl(address: str) -> None:
    def curl(*arguments: str) -> str:
        command = ["curl", "-sS", "--compressed", "--max-time", "30", *arguments]
        return subprocess.run(command, capture_output=True, text=True, check=True).stdout

    token = f"Authorization: Bearer {TOKEN}"
    turtle = "Content-Type: text/turtle"
    curl("-X", "PUT", f"{address}/graphs?graph=urn:g", "-H", token, "-H", turtle, "-d", "<> a <urn:C> .")
    assert "urn:g" in curl(f"{address}/sparql", "--data-urlencode", "query=SELECT ?x { ?x a <urn:C> }")
    assert "<urn:g> a <urn:C>" in curl(f"{address}/graphs?graph=urn:g")
    assert "200 OK" in curl("-I", f"{address}/graphs?graph=urn:g")


def test_a_query_ends_when_its_client_goes_away() -> None:
    service = service_of(store=large_store(), seconds=600)
    with running(service) as address:
        with closing(connected(address)) as connection:
            path = f"/sparql?query={quote(LONG)}"
            connection.sendall(f"GET {path} HTTP/1.1\r\nHost: localhost\r\n\r\n".encode())
            assert eventually(lambda: service.metrics.running == 1)
            time.sleep(0.2)
        assert eventually(lambda: service.metrics.running == 0)
        assert 'route="/sparql",method="GET",status="503"' in get(f"{address}/metrics").text


def test_an_update_ends_when_its_client_goes_away() -> None:
    service = service_of(store=large_store(), seconds=600)
    with running(service) as address:
        with closing(connected(address)) as connection:
            body = f"INSERT {{ <urn:n> <urn:n> ?n }} WHERE {{ {{ {LONG} }} }}"
            head = f"POST /update HTTP/1.1\r\nHost: localhost\r\nContent-Type: {UPDATE}\r\n"
            head += f"Authorization: Bearer {TOKEN}\r\nContent-Length: {len(body)}\r\n\r\n"
            connection.sendall((head + body).encode())
            assert eventually(lambda: service.metrics.running == 1)
            time.sleep(0.2)
        assert eventually(lambda: service.metrics.running == 0)
        headers = {**WRITER, "Content-Type": UPDATE}
        done = post(f"{address}/update", content="INSERT DATA { <urn:m> <urn:m> 1 }", headers=headers)
        assert done.status_code == 204
        assert not get(f"{address}/sparql?query=ASK{{<urn:n> ?p ?o}}").json()["boolean"]


@pytest.mark.parametrize("path", ["/update", "/transactions"])
def test_a_change_that_waits_ends_when_its_client_goes_away(
    path: str, service: Service, address: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The transaction for which the change waits stays open."""
    monkeypatch.setattr("corollary.serve.open_transactions.SECONDS_FOR_TURN", 1000)
    place = post(f"{address}/transactions", headers=WRITER).headers["location"]
    with closing(connected(address)) as connection:
        body = "INSERT DATA { <urn:m> <urn:m> 1 }"
        head = f"POST {path} HTTP/1.1\r\nHost: localhost\r\nContent-Type: {UPDATE}\r\n"
        head += f"Authorization: Bearer {TOKEN}\r\nContent-Length: {len(body)}\r\n\r\n"
        connection.sendall((head + body).encode())
        assert eventually(lambda: service.metrics.running == 1)
        time.sleep(0.2)
    assert eventually(lambda: service.metrics.running == 0)
    assert eventually(lambda: len(service.transactions) == 1)
    assert post(f"{address}{place}/commit", headers=WRITER).json()["committed"]
    assert not get(f"{address}/sparql?query=ASK{{<urn:m> ?p ?o}}").json()["boolean"]


def test_a_slow_head_is_dropped(service: Service, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("corollary.serve.connections.SECONDS_FOR_HEAD", 0.3)
    with running(service) as address:
        for parts in (
            [b""],
            [b"GET / HTTP/1.1\r\nHost: loc"],
            [b"GET /health HTTP/1.1\r\nHost: localhost\r\n\r\n", b"GET"],
        ):
            with closing(connected(address)) as connection:
                for part in parts:
                    connection.sendall(part)
                    time.sleep(0.1)
                received = b""
                with pytest.raises(ConnectionError):
                    while True:
                        chunk = connection.recv(4096)
                        received += chunk
                        if not chunk:
                            raise ConnectionResetError
                assert received.count(b"200 OK") == len(parts) - 1


def test_a_slow_body_is_refused(service: Service, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("corollary.serve.bodies.SECONDS_FOR_BODY", 0.3)
    with running(service) as address, closing(connected(address)) as connection:
        head = "POST /sparql HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/sparql-query\r\n"
        connection.sendall(f"{head}Content-Length: 100\r\n\r\nASK".encode())
        assert connection.recv(4096).startswith(b"HTTP/1.1 408")


def test_a_slow_receiver_is_dropped(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("corollary.serve.connections.SECONDS_FOR_SENDING", 0.3)
    monkeypatch.setattr("corollary.serve.service.BYTES_BEFORE_STREAMING", 1000)
    service = service_of(store=large_store())
    query = "SELECT * { ?a ?p ?x . { SELECT ?b { ?b ?q ?y } LIMIT 100 } }"
    with running(service) as address, closing(connected(address)) as connection:
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        connection.sendall(f"GET /sparql?query={quote(query)} HTTP/1.1\r\nHost: localhost\r\n\r\n".encode())
        assert connection.recv(1)
        assert eventually(lambda: service.metrics.running == 0)


def test_a_large_head_is_refused(address: str) -> None:
    assert get(f"{address}/health", headers={"X-Long": "x" * 60_000}).status_code == 200
    try:
        status = get(f"{address}/health", headers={"X-Long": "x" * 200_000}).status_code
    except httpx.TransportError:  # it is sent while the connection is closed
        status = 400
    assert status in (400, 431)


def answer_of(address: str, *parts: bytes) -> bytes:
    """What a connection receives until it is closed, in answer to parts."""
    received = b""
    with closing(connected(address)) as connection, suppress(ConnectionError):
        for part in parts:
            connection.sendall(part)
        while chunk := connection.recv(1 << 16):
            received += chunk
    return received


HEAD = b"POST /sparql HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/sparql-query\r\n"
CHUNKED = HEAD + b"Transfer-Encoding: chunked\r\n\r\n"
LAST = b"GET /health HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n"


@pytest.mark.parametrize(
    "request_",
    [
        HEAD + b"Content-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
        HEAD + b"Content-Length: 6\r\nContent-Length: 7\r\n\r\nASK {}",
        HEAD + b"Content-Length: -6\r\n\r\nASK {}",
        HEAD + b"Transfer-Encoding: gzip\r\n\r\nASK {}",
        b"GET /\xff HTTP/1.1\r\nHost: localhost\r\n\r\n",
        b"GET /\0 HTTP/1.1\r\nHost: localhost\r\n\r\n",
        b"GET / HTTP/1.1\r\nHost: localhost\r\nX: a\0b\r\n\r\n",
        b"GET / HTTP/1.1\r\nHost : localhost\r\n\r\n",
        b"CONNECT evil.example:443 HTTP/1.1\r\nHost: localhost\r\n\r\n",
        b"FOO<script> / HTTP/1.1\r\nHost: localhost\r\n\r\n",
        b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
        b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03",
    ],
)
def test_what_is_no_request_is_refused(address: str, request_: bytes) -> None:
    received = answer_of(address, request_, LAST)
    assert received.count(b"HTTP/1.1 ") == 1 and received.startswith(b"HTTP/1.1 400")
    assert get(f"{address}/health").status_code == 200


def test_one_host_is_named(address: str) -> None:
    for hosts in (
        b"Host: localhost\r\nHost: evil.example",
        b"Host: evil.example\r\nHost: localhost",
        b"X: y",
    ):
        received = answer_of(address, b"GET /health HTTP/1.1\r\nConnection: close\r\n" + hosts + b"\r\n\r\n")
        assert received.startswith((b"HTTP/1.1 421", b"HTTP/1.1 400"))


@pytest.mark.parametrize(
    ("start", "part"),
    [
        (b"GET /", b"a"),
        (b"GET / HTTP/1.1\r\nX: ", b"a"),
        (b"GET / HTTP/1.1\r\n", b"X: a\r\n"),
        (CHUNKED + b"6;x=", b"a"),
        (CHUNKED + b"6\r\nASK {}\r\n0\r\n", b"X: a\r\n"),
    ],
)
def test_what_has_no_end_is_cut_off(
    address: str, start: bytes, part: bytes, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The connection ends by its bytes, though the head, the chunk or the trailers go on."""
    monkeypatch.setattr("corollary.serve.connections.SECONDS_FOR_HEAD", 1000)
    answer = answer_of(address, start, *[part * 1000] * 2000)
    assert b" 200 OK" not in answer
    assert get(f"{address}/health").status_code == 200


def test_a_body_that_is_sent_in_small_chunks_is_read(address: str) -> None:
    chunks = [b"1\r\n%c\r\n" % letter for letter in b"ASK {}#" + b"x" * 20_000]
    assert answer_of(address, CHUNKED, *chunks, b"0\r\n\r\n" + LAST).count(b"HTTP/1.1 200 OK") == 2


def test_requests_in_a_row_are_answered_in_order(address: str) -> None:
    ask = b"GET /sparql?query=ASK%7B%7D HTTP/1.1\r\nHost: localhost\r\n\r\n"
    answers = answer_of(address, (ask + ask.replace(b"ASK", b"Bad")) * 20 + LAST)
    statuses = [part[:3] for part in answers.split(b"HTTP/1.1 ")[1:]]
    assert statuses == [b"200", b"400"] * 20 + [b"200"]


HALF = "ASK { { ?x <urn:p> 1 MINUS { ?x <urn:q> 1 } } UNION { ?x <urn:q> 1 MINUS { ?x <urn:p> 1 } } }"


def mixed(address: str, seed: int, count: int) -> int:
    """Random requests. Each update adds, or removes, two triples; returns how many half ones a query saw."""
    choice, halves = random.Random(seed), 0
    with httpx.Client(base_url=address, timeout=60) as client:
        for _ in range(count):
            name = f"<urn:{choice.randrange(20)}>"
            if choice.random() < 0.2:
                verb = choice.choice(["INSERT", "DELETE"])
                update = f"{verb} DATA {{ {name} <urn:p> 1 }} ; {verb} DATA {{ {name} <urn:q> 1 }}"
                sent = client.post("/update", content=update, headers={**WRITER, "Content-Type": UPDATE})
                assert sent.status_code == 204, sent.text
            else:
                answer = client.get("/sparql", params={"query": HALF})
                assert answer.status_code == 200, answer.text
                halves += answer.json()["boolean"]
    return halves


@pytest.mark.parametrize(("clients", "requests"), [(8, 25), pytest.param(64, 160, marks=pytest.mark.slow)])
def test_many_clients_see_whole_transactions(address: str, clients: int, requests: int) -> None:
    with ThreadPoolExecutor(clients) as pool:
        found = list(pool.map(lambda seed: mixed(address, seed, requests), range(clients)))
    assert found == [0] * clients


def test_reads_do_not_wait_for_an_open_transaction(address: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("corollary.serve.open_transactions.SECONDS_FOR_TURN", 1000)
    place = post(f"{address}/transactions", headers=WRITER).headers["location"]
    writer = threading.Thread(
        target=post,
        args=(f"{address}/update",),
        kwargs={
            "content": "INSERT DATA { <urn:a> <urn:b> 1 }",
            "headers": {**WRITER, "Content-Type": UPDATE},
        },
    )
    writer.start()
    for _ in range(20):
        assert get(f"{address}/sparql?query=ASK{{}}").status_code == 200
    assert writer.is_alive()
    assert post(f"{address}{place}/commit", headers=WRITER).json()["committed"]
    writer.join(60)
    assert get(f"{address}/sparql?query=ASK{{<urn:a> ?p ?o}}").json()["boolean"]
