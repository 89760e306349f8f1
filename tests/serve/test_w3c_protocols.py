"""The W3C's tests of the SPARQL Protocol and of the Graph Store Protocol.

The graphs that a test names are put into the store first. The tests use one path for queries and updates:
here updates go to /update. The older tests of the Graph Store Protocol are comments: these are parsed.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl, quote

import httpx
import pytest
from rdflib import RDF, BNode, Graph, Namespace, URIRef
from rdflib.collection import Collection
from rdflib.compare import isomorphic
from tests.conftest import NO_CORPUS, find_corpus
from tests.serve.client import WRITER, Client, client_of

from corollary.serve.negotiation import ANSWERS, ROWS, TRIPLES

HT = Namespace("http://www.w3.org/2011/http#")
CNT = Namespace("http://www.w3.org/2011/content#")
MF = Namespace("http://www.w3.org/2001/sw/DataAccess/tests/test-manifest#")
UT = Namespace("http://www.w3.org/2009/sparql/tests/test-update#")
RDFS = Namespace("http://www.w3.org/2000/01/rdf-schema#")
STATUS = {"OK": 200, "Created": 201, "NoContent": 204, "NotFound": 404}
FORMATS = {"boolean": ANSWERS, "tabular": ROWS, "RDF": TRIPLES}

CORPUS = find_corpus()
SUITE = None if CORPUS is None else CORPUS / "w3c" / "sparql" / "sparql11"
MANIFESTS = (
    "protocol/manifest.ttl",
    *(f"graph-store-protocol/manifest-{way}direct.ttl" for way in ("", "in")),
)


@dataclass
class Exchange:
    """A request, and what its response must be."""

    method: str
    path: str
    headers: dict[str, str]
    body: bytes | None
    statuses: set[str]
    boolean: bool | None = None
    format: str | None = None
    graph: str | None = None
    location: str | None = None


@dataclass
class Case:
    """A test: the graphs to put first, and its requests in order."""

    name: str
    data: list[tuple[str, Path]] = field(default_factory=list)
    exchanges: list[Exchange] = field(default_factory=list)


def text(graph: Graph, node: Any, predicate: URIRef) -> str | None:
    found = graph.value(node, predicate)
    return None if found is None else str(found)


def headers_of(graph: Graph, node: Any) -> dict[str, str]:
    listed = graph.value(node, HT.headers)
    items: Any = [] if listed is None else Collection(graph, listed)
    return {str(graph.value(h, HT.fieldName)): str(graph.value(h, HT.fieldValue)) for h in items}


def exchange_of(graph: Graph, request: Any) -> Exchange:
    response, body = graph.value(request, HT.resp), graph.value(request, HT.body)
    content = None
    if body is not None:
        content = str(graph.value(body, CNT.chars)).encode(str(graph.value(body, CNT.characterEncoding)))
    boolean = text(graph, response, MF.expectedBoolean)
    expected = graph.value(response, HT.body)
    return Exchange(
        str(graph.value(request, HT.methodName)),
        str(graph.value(request, HT.absolutePath)),
        headers_of(graph, request),
        content,
        {str(status).rpartition("#")[2] for status in graph.objects(response, MF.expectedStatus)},
        None if boolean is None else boolean == "true",
        text(graph, response, MF.expectedFormat),
        None if expected is None else text(graph, expected, CNT.chars),
        text(graph, response, MF.expectedLocation),
    )


def cases() -> Iterator[Case]:
    """The tests of the manifests."""
    for name in MANIFESTS if SUITE is not None and SUITE.is_dir() else ():
        assert SUITE is not None
        file = SUITE / name
        graph = Graph().parse(file, publicID=file.as_uri())
        manifest = graph.value(None, RDF.type, MF.Manifest)
        entries = graph.value(manifest, MF.entries)
        assert entries is not None
        for entry in Collection(graph, entries):
            requests = graph.value(graph.value(entry, MF.action), HT.requests)
            assert isinstance(requests, BNode)
            data = [
                (
                    str(graph.value(each, RDFS.label)),
                    Path(str(graph.value(each, UT.graph)).removeprefix("file://")),
                )
                for each in graph.objects(entry, UT.graphData)
            ]
            exchanges = [exchange_of(graph, each) for each in Collection(graph, requests)]
            yield Case(str(entry).rpartition("#")[2], data, exchanges)


CASES = list(cases())


def path_here(exchange: Exchange) -> str:
    """The path of a request on this server."""
    path = re.sub(r"^/gsp", "/graphs", exchange.path)
    body = exchange.body or b""
    is_update = "sparql-update" in exchange.headers.get("content-type", "") or body.startswith(b"update=")
    return re.sub(r"^/sparql/", "/update" if is_update else "/sparql", path)


def put_graphs(client: Client, case: Case) -> None:
    """Put the graphs that a test has data for; the other ones that its requests name become empty graphs."""
    known = dict(case.data)
    named = [
        value
        for exchange in case.exchanges
        for name, value in parse_qsl(exchange.path.partition("?")[2])
        if name.endswith("graph-uri")
    ]
    for name in {*known, *named}:
        body = known[name].read_bytes() if name in known else b""
        headers = {**WRITER, "Content-Type": "application/n-triples"}
        response = client.request(
            "PUT", f"/graphs?graph={quote(name, safe='')}", content=body, headers=headers
        )
        assert response.status_code in (201, 204), response.text


def check(response: httpx.Response, expected: Exchange) -> None:
    status = response.status_code
    allowed = {
        STATUS.get(name) or f"{status // 100}xx" == name.removeprefix("StatusCode")
        for name in expected.statuses
    }
    assert status in allowed or True in allowed, f"{status}: {response.text}"
    media_type = response.headers.get("content-type", "").split(";")[0]
    if expected.format is not None:
        assert media_type in FORMATS[expected.format]
    if expected.boolean is not None:
        assert response.json()["boolean"] is expected.boolean
    if expected.graph is not None:
        assert response.headers["content-type"] == "text/turtle; charset=utf-8"
        assert isomorphic(Graph().parse(data=response.text), Graph().parse(data=expected.graph))


@pytest.mark.corpus
@pytest.mark.skipif(not CASES, reason=NO_CORPUS)
@pytest.mark.parametrize("case", CASES, ids=[case.name for case in CASES])
def test_the_protocols_of_the_w3c(case: Case) -> None:
    client = client_of("none", hosts=("www.example", "server.test"))
    put_graphs(client, case)
    found: dict[str, str] = {}
    for exchange in case.exchanges:
        path = path_here(exchange)
        for name, value in found.items():
            path = path.replace(name, quote(value, safe=""))
        headers = {**WRITER, "Host": "www.example", **exchange.headers}
        response = client.request(exchange.method, path, content=exchange.body, headers=headers)
        check(response, exchange)
        if exchange.location is not None:
            found[exchange.location] = response.headers["location"]


# The older tests: comments in Markdown, to be done in order

OLD_STATUSES = {200: {200, 204}, 201: {201, 204}, 204: {204}, 404: {404}}
"""A response without a body is 204 here; the default graph always exists, so that PUT does not create it."""


def requests_in_comments() -> Iterator[tuple[str, str, str, int]]:
    """The name, the request, the response's body, and its status, of each of the older tests."""
    file = None if SUITE is None else SUITE / "http-rdf-update" / "manifest.ttl"
    if file is None or not file.is_file():
        return
    graph = Graph().parse(file, publicID=file.as_uri())
    entries = graph.value(graph.value(None, RDF.type, MF.Manifest), MF.entries)
    assert entries is not None
    for entry in Collection(graph, entries):
        comment = next(
            text for text in map(str, graph.objects(entry, RDFS.comment)) if "#### Request" in text
        )
        request, response = (
            "\n".join(line.removeprefix("    ") for line in part.strip("\n").splitlines())
            for part in comment.partition("#### Request")[2].split("#### Response")
        )
        status = re.search(r"^(\d{3}) ", response, re.MULTILINE)
        assert status is not None
        yield str(entry).rpartition("#")[2], request, response, int(status[1])


def filled(template: str, location: str) -> str:
    """A request or response with the names of this server."""
    base = template.replace("http://$HOST$/$GRAPHSTORE$", "http://www.example/graphs")
    return (
        base.replace("$NEWPATH$", location)
        .replace("$GRAPHSTORE$", "/graphs")
        .replace("$HOST$", "www.example")
    )


def parsed(request: str) -> tuple[str, str, dict[str, str], str]:
    """Method, path, headers and body of a request."""
    head, _, body = request.strip().partition("\n\n")
    first, *lines = head.splitlines()
    method, path, _ = first.split()
    headers = dict(line.strip().split(": ", 1) for line in lines)
    if "multipart" in headers.get("Content-Type", ""):
        body = body.replace("\n", "\r\n")
    return method, path, headers, body


def mended(body: str) -> str:
    """A document of the older tests: some leave out the last full stop."""
    return re.sub(r'(name "\w+(?: \w+)?")\s*(?=\r?\n\r?\n--|\s*$)', r"\1 .\n", body, flags=re.IGNORECASE)


@pytest.mark.corpus
def test_the_older_tests_of_the_graph_store_protocol(corpus: Path) -> None:
    client, location, count = client_of("none", hosts=("www.example", "server.test")), "", 0
    removed = {**WRITER, "Host": "www.example", "Content-Type": "text/turtle"}
    client.request("PUT", "/graphs/person/2.ttl", content="", headers=removed)
    for name, request, response, status in requests_in_comments():
        method, path, headers, body = parsed(filled(request, location))
        given = {**WRITER, **headers}
        found = client.request(method, path, content=mended(body).encode() if body else None, headers=given)
        assert found.status_code in OLD_STATUSES[status], f"{name}: {found.status_code} {found.text}"
        location = found.headers.get("location", location)
        expected = filled(response, location).partition("\n\n")[2]
        if status == 200 and method == "GET" and name not in WRONG:
            assert isomorphic(Graph().parse(data=found.text), Graph().parse(data=expected)), name
        count += 1
    assert count == 18


WRONG = {"get_of_post__existing_graph"}
"""A test whose response is not what the requests before it make: it has the name of before."""
