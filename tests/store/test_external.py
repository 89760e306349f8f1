"""What a query or update reaches outside of the store: nothing, unless the store allows it."""

from __future__ import annotations

import socket
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from rdflib import Dataset, Graph, URIRef

from corollary.language import CorollaryError
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
    "DESCRIBE ?s { ?s ?p ?o SERVICE SILENT <NET> { ?s ?p ?o } }",
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


def test_what_a_file_says_is_not_quoted(listener: Listener, tmp_path: Path) -> None:
    path = tmp_path / "passwords"
    path.write_text("root:x:0:0:secret\n<")
    with pytest.raises(CorollaryError) as caught:
        filled(Graph, "files").update(f"LOAD <{path.as_uri()}>")
    assert "x:0:0" not in str(caught.value) and "secret" not in str(caught.value)


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
