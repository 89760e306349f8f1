"""What a query or update reaches outside of the store: nothing, unless the store allows it."""

from __future__ import annotations

import socket
import threading
import traceback
import urllib.request
from collections.abc import Callable, Iterator
from email import message_from_string
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from io import BytesIO
from pathlib import Path
from urllib.parse import quote, unquote
from urllib.request import (
    BaseHandler,
    HTTPErrorProcessor,
    HTTPRedirectHandler,
    OpenerDirector,
    Request,
    install_opener,
)
from urllib.response import addinfourl

import pytest
from rdflib import Dataset, Graph, URIRef
from rdflib.term import Node

from corollary.language import CorollaryError, InputError
from corollary.store import CorollaryStore, ExternalAccessRefused


class Listener:
    """A server that closes every connection, and knows of them."""

    def __init__(self) -> None:
        self.connections = 0
        self._socket = socket.socket()
        self._socket.bind(("127.0.0.1", 0))
        self._socket.listen()
        self.address = f"http://127.0.0.1:{self._socket.getsockname()[1]}/data"
        threading.Thread(target=self._listen, daemon=True).start()

    def _listen(self) -> None:
        while True:
            try:
                connection, _ = self._socket.accept()
            except OSError:
                return
            self.connections += 1
            connection.close()

    def close(self) -> None:
        self._socket.close()


@pytest.fixture
def listener(monkeypatch: pytest.MonkeyPatch) -> Iterator[Listener]:
    monkeypatch.delenv("COROLLARY_EXTERNAL", raising=False)
    listener = Listener()
    yield listener
    listener.close()


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "data.ttl"
    path.write_text("<urn:secret> <urn:p> <urn:o> .")
    return path


MAKERS: list[Callable[[CorollaryStore], Graph]] = [
    Graph,
    lambda store: Graph(store, URIRef("urn:g")),
    Dataset,
    lambda store: Dataset(store, default_union=True),
]
QUERIES = [
    "SELECT * { SERVICE <NET> { ?s ?p ?o } }",
    "ASK { SERVICE <NET> { ?s ?p ?o } }",
    "DESCRIBE ?s { SERVICE <NET> { ?s ?p ?o } }",
    "SELECT * { ?s ?p ?o FILTER NOT EXISTS { SERVICE <NET> { ?s ?p ?o } } }",
    "SELECT * { { SELECT ?s { SERVICE <NET> { ?s ?p ?o } } } }",
    "SELECT * { SERVICE <FILE> { ?s ?p ?o } }",
    "SELECT * { SERVICE ?where { ?s ?p ?o } }",
    "SELECT * FROM <NET> { ?s ?p ?o }",
    "SELECT * FROM <FILE> { ?s ?p ?o }",
    "SELECT * FROM NAMED <FILE> { GRAPH ?g { ?s ?p ?o } }",
    "CONSTRUCT { ?s ?p ?o } FROM <NET> { ?s ?p ?o }",
]
UPDATES = [
    "LOAD <NET>",
    "LOAD <FILE>",
    "LOAD <FILE> INTO GRAPH <urn:g>",
    "INSERT DATA { <urn:x> <urn:p> <urn:o> } ; LOAD <NET>",
    "INSERT { ?s ?p ?o } WHERE { SERVICE <NET> { ?s ?p ?o } }",
    "DELETE WHERE { ?s ?p ?o } ; INSERT { ?s ?p ?o } WHERE { SERVICE <NET> { ?s ?p ?o } }",
]


def text(template: str, listener: Listener, file: Path) -> str:
    return template.replace("NET", listener.address).replace("FILE", file.as_uri())


def filled(make: Callable[[CorollaryStore], Graph], external: str | None = None) -> Graph:
    graph = make(CorollaryStore(rules="none", external=external))
    graph.update("INSERT DATA { <urn:a> <urn:p> <urn:b> }")
    return graph


@pytest.mark.parametrize("make", MAKERS)
def test_nothing_is_reached_by_default(
    make: Callable[[CorollaryStore], Graph], listener: Listener, file: Path
) -> None:
    """Not a file, not a socket, whichever graph asks; and a refused update has changed nothing."""
    graph = filled(make)
    for template in QUERIES:
        with pytest.raises(ExternalAccessRefused, match="queries and updates reach no"):
            list(graph.query(text(template, listener, file)))
    before = set(graph)
    for template in UPDATES:
        with pytest.raises(ExternalAccessRefused):
            graph.update(text(template, listener, file))
        assert set(graph) == before
    assert not listener.connections


@pytest.mark.parametrize("make", MAKERS)
def test_silent_changes_the_result_and_not_the_access(
    make: Callable[[CorollaryStore], Graph], listener: Listener, file: Path
) -> None:
    graph = filled(make)
    query = text("SELECT * { ?s ?p ?o . SERVICE SILENT <NET> { ?s ?p ?z } }", listener, file)
    assert [row.asdict() for row in graph.query(query)] == [  # type: ignore[union-attr]
        {"s": URIRef("urn:a"), "p": URIRef("urn:p"), "o": URIRef("urn:b")}
    ]
    graph.update(text("LOAD SILENT <NET> ; LOAD SILENT <FILE>", listener, file))
    assert len(graph) == 1
    graph.update(text("INSERT { ?o ?p ?s } WHERE { ?s ?p ?o SERVICE SILENT <NET> { } }", listener, file))
    assert len(graph) == 2
    assert not listener.connections


def test_files_are_no_network_and_the_other_way_round(listener: Listener, file: Path) -> None:
    files, network = (filled(Dataset, external) for external in ("files", "network"))
    files.update(text("LOAD <FILE>", listener, file))
    assert (URIRef("urn:secret"), URIRef("urn:p"), URIRef("urn:o")) in files
    assert len(files.query(text("SELECT * FROM <FILE> { ?s ?p ?o }", listener, file))) == 1
    for template in ("LOAD <NET>", "INSERT { ?s ?p ?o } WHERE { SERVICE <NET> { ?s ?p ?o } }"):
        with pytest.raises(ExternalAccessRefused, match="reach no network"):
            files.update(text(template, listener, file))
    assert not listener.connections
    with pytest.raises(ExternalAccessRefused, match="reach no files"):
        network.update(text("LOAD <FILE>", listener, file))
    with pytest.raises(CorollaryError, match="failed"):
        network.update(text("LOAD <NET>", listener, file))
    assert listener.connections


KEY = "-----BEGIN PRIVATE KEY-----\nhunter2hunter2\n-----END PRIVATE KEY-----\n"
SECRETS: dict[str, tuple[str, str]] = {
    "id_rsa": (KEY, ":1:1: not Turtle"),
    "passwd": ("root:x:0:0:hunter2:/root:/bin/bash\n", ":1:1: not Turtle"),
    ".env": ("PASSWORD=hunter2\n", ":1:1: not Turtle"),
    "secrets.json": ('{"password": "hunter2",}', ":1:24: not JSON-LD"),
    "context.jsonld": ('{"@context": "http://hunter2/", "a": 1}', ": not JSON-LD"),
    "key.nt": (KEY, ":1:1: not N-Triples"),
    "key.nq": (KEY, ":1:1: not N-Quads"),
    "key.ttl": (KEY, ":1:1: not Turtle"),
    "key.trig": (KEY, ":1:1: not TriG"),
    "key.n3": (KEY, ":1:1: not N3"),
    "key.trix": (KEY, ":1:1: not trix"),
    "key.hext": (KEY, ": not hext"),
    "key.rdf": ("<?xml version='1.0'?>\n" + KEY, ":2:1: not RDF/XML"),
    "key.ttl.gz": (KEY, ": the compressed data end too early or are damaged"),
    "key.owl": ("Prefix: hunter2", ": this is Manchester syntax, which is not RDF"),
    "iri.ttl": ("<urn:a> <urn:b> <urn:c> .\n<urn:a> <hunter2 x> 5 .", ":2:9: not Turtle"),
    "term.ttl": ("<urn:a> <urn:b> <<( <urn:a> <urn:b> 'hunter2' )>> .", ": a term is not supported"),
    "iri.rdf": (
        '<rdf:RDF xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#">\n'
        ' <rdf:Description rdf:about="hunter2 x"/></rdf:RDF>',
        ":2:2: not RDF/XML",
    ),
}


@pytest.mark.parametrize("name", SECRETS)
@pytest.mark.parametrize("clause", ["LOAD", "FROM"])
def test_what_a_file_says_is_not_quoted(listener: Listener, tmp_path: Path, name: str, clause: str) -> None:
    """The error names the place; neither the error nor its causes, which a log may show, quote the file."""
    content, complaint = SECRETS[name]
    path = tmp_path / name
    path.write_text(content)
    dataset = filled(Dataset, "files")
    with pytest.raises(CorollaryError) as caught:
        if clause == "LOAD":
            dataset.update(f"LOAD <{path.as_uri()}>")
        else:
            dataset.query(f"SELECT * FROM <{path.as_uri()}> {{ ?s ?p ?o }}")
    assert str(caught.value) == f"{clause} <{path.as_uri()}> failed: {path}{complaint}"
    shown = "".join(traceback.format_exception(caught.value))
    assert not any(secret in shown for secret in ("hunter2", "PRIVATE", "root:"))
    assert len(dataset) == 1
    dataset.update(f"LOAD SILENT <{path.as_uri()}>")
    assert len(dataset) == 1


class Redirecting(BaseHTTPRequestHandler):
    """Redirects ``/CODE/TARGET`` to TARGET; ``/data`` is a triple, ``/service`` the answer of a service."""

    def do_GET(self) -> None:
        assert isinstance(self.server, Server)
        self.server.paths.append(self.path)
        code, _, target = self.path[1:].partition("/")
        if code.isdigit():
            self.send_response(int(code))
            self.send_header("Location", unquote(target.partition("?")[0]))
            self.end_headers()
            return
        is_data = self.path.startswith("/data")
        self.send_response(200)
        self.send_header("Content-Type", "text/turtle" if is_data else "application/sparql-results+json")
        self.end_headers()
        row = '{"s": {"type": "uri", "value": "urn:far"}}'
        answer = f'{{"head": {{"vars": ["s"]}}, "results": {{"bindings": [{row}]}}}}'
        self.wfile.write(b"<urn:far> <urn:p> <#o> ." if is_data else answer.encode())

    do_POST = do_GET

    def log_message(self, *_: object) -> None:
        """Nothing is logged."""


class Server(ThreadingHTTPServer):
    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Redirecting)
        self.paths: list[str] = []
        self.address = f"http://127.0.0.1:{self.server_address[1]}"
        threading.Thread(target=self.serve_forever, args=[0.01], daemon=True).start()

    def leading_to(self, target: str, code: int = 302) -> str:
        return f"{self.address}/{code}/{quote(target, safe='')}"


@pytest.fixture
def server() -> Iterator[Server]:
    with Server() as server:
        yield server
        server.shutdown()


def load(address: str, external: str) -> set[Node]:
    graph = filled(Graph, external)
    graph.update(f"LOAD <{address}>")
    return set(graph.subjects())


def ask_from(address: str, external: str) -> set[Node]:
    dataset = filled(Dataset, external)
    found = {row[0] for row in dataset.query(f"SELECT ?s FROM <{address}> {{ ?s ?p ?o }}")}  # type: ignore
    assert len(dataset) == 1, "a query changes nothing"
    return found | {URIRef("urn:a")}


def ask_from_named(address: str, external: str) -> set[Node]:
    query = f"SELECT ?s FROM NAMED <{address}> {{ GRAPH ?g {{ ?s ?p ?o }} }}"
    return {row[0] for row in filled(Dataset, external).query(query)} | {URIRef("urn:a")}  # type: ignore


def ask_service(address: str, external: str) -> set[Node]:
    query = f"SELECT ?s {{ SERVICE <{address}> {{ SELECT ?s {{ ?s ?p ?o }} }} }}"
    return {row[0] for row in filled(Graph, external).query(query)} | {URIRef("urn:a")}  # type: ignore


def insert_from_service(address: str, external: str) -> set[Node]:
    graph = filled(Graph, external)
    service = f"SERVICE <{address}> {{ SELECT ?s {{ ?s ?p ?o }} }}"
    graph.update(f"INSERT {{ ?s <urn:p> 1 }} WHERE {{ {service} }}")
    return set(graph.subjects())


def post_to_service(address: str, external: str) -> set[Node]:
    """rdflib asks by POST if a query is long, as it is with rdflib's prefixes."""
    query = f"SELECT ?s {{ SERVICE <{address}> {{ ?s ?p ?o }} }}"
    return {row[0] for row in filled(Graph, external).query(query)} | {URIRef("urn:a")}  # type: ignore


CLAUSES = [load, ask_from, ask_from_named, ask_service, insert_from_service]


@pytest.mark.parametrize("clause", CLAUSES)
@pytest.mark.parametrize("code", [301, 302, 303, 307, 308])
def test_redirects_to_http_are_followed(
    server: Server, clause: Callable[[str, str], set[Node]], code: int
) -> None:
    place = "/service" if "service" in clause.__name__ else "/data"
    for target in (f"{server.address}{place}", place, server.leading_to(place)):
        assert clause(server.leading_to(target, code), "network") == {URIRef("urn:a"), URIRef("urn:far")}


@pytest.mark.parametrize("clause", [*CLAUSES, post_to_service])
@pytest.mark.parametrize(
    "scheme", ["FILE", "FTP", "data:text/turtle,<urn:x>%20a%201.", "gopher://127.0.0.1/"]
)
@pytest.mark.parametrize("access", ["network", "all"])
def test_redirects_to_anything_else_are_refused(
    server: Server,
    listener: Listener,
    file: Path,
    clause: Callable[[str, str], set[Node]],
    scheme: str,
    access: str,
) -> None:
    target = {"FILE": file.as_uri(), "FTP": listener.address.replace("http:", "ftp:")}.get(scheme, scheme)
    for address in (server.leading_to(target), server.leading_to(server.leading_to(target, 307), 301)):
        with pytest.raises(ExternalAccessRefused, match=r"redirects to \w+:.*, which is not fetched"):
            clause(address, access)
    assert server.paths
    assert not listener.connections


@pytest.mark.parametrize("clause", CLAUSES)
def test_where_only_files_are_allowed_no_redirect_is_asked_for(
    server: Server, file: Path, clause: Callable[[str, str], set[Node]]
) -> None:
    with pytest.raises(ExternalAccessRefused, match="reach no network here"):
        clause(server.leading_to(file.as_uri()), "files")
    assert not server.paths


class Reply(addinfourl):
    msg = ""


class Mapped(BaseHandler):
    """Every http address leads to one place."""

    def __init__(self, code: int, content: bytes, headers: str) -> None:
        self.reply = code, content, headers

    def http_open(self, request: Request) -> addinfourl:
        code, content, headers = self.reply
        return Reply(BytesIO(content), message_from_string(headers), request.full_url, code)


@pytest.fixture
def install(monkeypatch: pytest.MonkeyPatch) -> Callable[[OpenerDirector], None]:
    """``install_opener``, until the test ends."""
    monkeypatch.setattr(urllib.request, "_opener", None)
    return install_opener


@pytest.mark.parametrize("clause", [load, ask_from, ask_from_named])
def test_an_installed_opener_is_used(
    install: Callable[[OpenerDirector], None], clause: Callable[[str, str], set[Node]]
) -> None:
    opener = OpenerDirector()
    opener.add_handler(Mapped(200, b"<urn:far> a <urn:x> .", "Content-Type: text/turtle"))
    install(opener)
    assert clause("http://nowhere.test/data", "network") == {URIRef("urn:a"), URIRef("urn:far")}
    assert [handler.parent for handler in vars(opener)["handlers"]] == [opener]


@pytest.mark.parametrize("clause", CLAUSES)
def test_an_installed_opener_follows_to_no_file(
    install: Callable[[OpenerDirector], None], file: Path, clause: Callable[[str, str], set[Node]]
) -> None:
    redirecting = Mapped(302, b"", f"Location: ftp://127.0.0.1:1{file}")
    opener = OpenerDirector()
    for handler in (redirecting, HTTPErrorProcessor(), HTTPRedirectHandler()):
        opener.add_handler(handler)
    install(opener)
    with pytest.raises(ExternalAccessRefused, match=r"redirects to ftp:.*, which is not fetched"):
        clause("http://nowhere.test/data", "network")


def test_what_a_program_loads_is_not_led_to_a_file_either(server: Server, file: Path) -> None:
    store = CorollaryStore(rules="none")
    with pytest.raises(InputError, match=r"redirects to file:.*, which is not fetched\n  help: only http"):
        store.load(server.leading_to(file.as_uri()))
    assert store.load(server.leading_to("/data")) == 1


@pytest.mark.parametrize(
    "query", ["DESCRIBE <urn:far> FROM <{}> { SERVICE <{}> { } }", "ASK FROM <{}> { SERVICE <{}> { } }"]
)
def test_what_rdflib_answers_reads_no_graphs(server: Server, query: str) -> None:
    address = f"{server.address}/data"
    with pytest.raises(CorollaryError, match="load the graph into the store first"):
        filled(Dataset, "all").query(query.replace("{}", address))


def test_where_it_is_allowed(listener: Listener, file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """By the constructor, the configuration string, or else the environment."""
    load = text("LOAD <FILE>", listener, file)
    store = CorollaryStore(rules="none")
    store.open("external=files")
    Graph(store).update(load)
    monkeypatch.setenv("COROLLARY_EXTERNAL", "files")
    filled(Graph).update(load)
    with pytest.raises(ExternalAccessRefused):
        filled(Graph, "none").update(load)
    monkeypatch.setenv("COROLLARY_EXTERNAL", "everything")
    with pytest.raises(CorollaryError, match="COROLLARY_EXTERNAL=everything: queries and updates may reach"):
        filled(Graph).update(load)
    with pytest.raises(CorollaryError, match="COROLLARY_EXTERNAL=everything"):
        filled(Graph).query("SELECT * FROM <urn:other> { ?s ?p ?o }")
    assert len(filled(Graph).query("SELECT * { ?s ?p ?o }"))  # it needs no access
    for call in (lambda: CorollaryStore(external="some"), lambda: CorollaryStore().open("external=some")):
        with pytest.raises(CorollaryError, match="external=some: queries and updates may reach none"):
            call()


def test_what_is_here_needs_no_access(listener: Listener, file: Path) -> None:
    """FROM a graph that the store has, and what the program itself loads."""
    store = CorollaryStore(rules="none")
    dataset = Dataset(store)
    dataset.graph(URIRef("urn:g")).parse(file)
    store.load(file)
    assert len(dataset.query("SELECT * FROM <urn:g> { ?s ?p ?o }")) == 1
    assert len(dataset.query("SELECT * FROM NAMED <urn:g> { GRAPH ?g { ?s ?p ?o } }")) == 1
    dataset.update("INSERT { ?s <urn:q> ?o } USING <urn:nowhere> USING <urn:g> WHERE { ?s ?p ?o }")
    assert (URIRef("urn:secret"), URIRef("urn:q"), URIRef("urn:o")) in dataset
