"""Loading: documents of every kind come in whole or not at all, beside what is there."""

from __future__ import annotations

import bz2
import gzip
import threading
from collections.abc import Iterator
from functools import partial
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import ClassVar

import pyoxigraph
import pytest
from hypothesis import given
from hypothesis import strategies as st
from rdflib import RDF, RDFS, BNode, ConjunctiveGraph, Dataset, Graph, Literal, Namespace, URIRef
from rdflib.compare import isomorphic
from rdflib.graph import DATASET_DEFAULT_GRAPH_ID
from rdflib.store import TripleAddedEvent

from corollary.language import CorollaryError, InputError
from corollary.store import INFERRED, CorollaryStore

EX = Namespace("http://example.org/")

TURTLE = """\
@prefix ex: <http://example.org/> .
@prefix odd: <http://example.org/odd#> .
ex:ann ex:knows ex:bob, [ ex:name "É\\t\\"x\\""@fr ] ; ex:age 7 .
_:cat ex:owner ex:bob .
"""

TRIG = """\
@prefix ex: <http://example.org/> .
ex:ann ex:knows ex:bob .
ex:one { ex:bob ex:age 7 }
"""

plain = partial(CorollaryStore, rules="none")


def written(folder: Path, name: str, content: str | bytes) -> Path:
    path = folder / name
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    return path


def store_of(graph: Graph) -> CorollaryStore:
    assert isinstance(graph.store, CorollaryStore)
    return graph.store


@pytest.fixture
def turtle(tmp_path: Path) -> Path:
    return written(tmp_path, "data.ttl", TURTLE)


def parsed(text: str = TURTLE, format: str = "turtle") -> Graph:
    return Graph().parse(data=text, format=format)


@pytest.mark.parametrize(
    ("name", "compress"),
    [("data.ttl", bytes), ("data.ttl.gz", gzip.compress), ("data.ttl.bz2", bz2.compress)],
)
@pytest.mark.parametrize("kind", [str, Path])
def test_files(tmp_path: Path, name: str, compress: type[bytes], kind: type[str]) -> None:
    graph = Graph(plain())
    path = written(tmp_path, name, compress(TURTLE.encode()))
    assert store_of(graph).load(kind(path)) == 5
    assert isomorphic(graph, parsed())


@pytest.mark.parametrize("format", ["turtle", "nt", "xml", "json-ld", "n3", "hext", "trix"])
def test_formats_by_name(tmp_path: Path, format: str) -> None:
    source = Dataset()
    source.default_graph.parse(data=TURTLE, format="turtle")
    path = written(tmp_path, "data", source.serialize(format=format) if format in ("hext", "trix") else
                   source.default_graph.serialize(format=format))  # fmt: skip
    graph = Graph(plain())
    store_of(graph).load(path, format=format)
    assert isomorphic(graph, parsed())


def test_formats_that_only_rdflib_reads_go_by_suffix(tmp_path: Path) -> None:
    source = Dataset()
    source.graph(EX.g).add((EX.a, EX.p, Literal("x", lang="en")))
    dataset = Dataset(plain())
    for suffix in ("hext", "trix"):
        path = written(tmp_path, f"data.{suffix}.gz", gzip.compress(source.serialize(format=suffix).encode()))
        store_of(dataset).load(path)
    assert set(dataset.graph(EX.g)) == {(EX.a, EX.p, Literal("x", lang="en"))}


def test_nothing_is_cleared_and_news_are_counted(tmp_path: Path) -> None:
    dataset = Dataset(plain())
    dataset.add((EX.ann, EX.knows, EX.bob))
    quads = written(tmp_path, "data.trig", TRIG)
    assert store_of(dataset).load(quads) == 1
    assert store_of(dataset).load(quads) == 0
    dataset.graph(EX.one).remove((EX.bob, None, None))
    assert store_of(dataset).load(quads, quads) == 1
    assert len(dataset.default_graph) == len(dataset.graph(EX.one)) == 1


def test_the_log_counts_as_there(tmp_path: Path) -> None:
    graph = Graph(plain(), EX.g)
    path = written(tmp_path, "data.nt", "\n".join(f"<{EX.s}> <{EX.p}> <{EX[f'o{n}']}> ." for n in range(4)))
    graph.add((EX.s, EX.p, EX.o0))
    graph.add((EX.s, EX.p, EX.o1))
    len(graph)
    graph.remove((EX.s, EX.p, EX.o1))
    graph.add((EX.s, EX.p, EX.o2))
    assert store_of(graph).load(path, graph=graph) == 2
    assert len(graph) == 4


def test_blank_nodes_of_two_loads_differ(turtle: Path) -> None:
    one, two = Graph(plain()), Graph(plain())
    store_of(one).load(turtle)
    assert store_of(one).load(turtle) == 3
    store_of(two).load(turtle)
    assert len(one + two) == len(one) + 3


def test_prefixes_are_bound_beside_those_that_are(turtle: Path) -> None:
    graph = Graph(plain(), bind_namespaces="none")
    store = store_of(graph)
    graph.bind("mine", "http://example.org/odd#")
    graph.bind("ex", "http://example.com/")
    store.load(turtle)
    assert dict(store.namespaces()) == {
        "mine": URIRef("http://example.org/odd#"),
        "ex": URIRef("http://example.com/"),
        "ex1": URIRef(EX),
    }


BAD_TURTLE = "@prefix : <http://example.org/> .\n:a :b :c .\n:a :b ?c .\n"
BAD: dict[str, str | bytes] = {
    "bad.ttl": BAD_TURTLE,
    "bad.nt.gz": gzip.compress(b"<http://a> <http://b> <http://c> .\n" * 99)[:-9],
    "bad.rdf": "<rdf:RDF",
    "bad.trix": "<TriX><graph></TriX>",
    "bad.trig": f"<{INFERRED}> {{ <http://a> <http://b> <http://c> }}",
    "bad.csv": "a,b",
}


@pytest.mark.parametrize("name", BAD)
def test_a_bad_document_leaves_everything_as_it_was(tmp_path: Path, turtle: Path, name: str) -> None:
    graph = Graph(plain(), bind_namespaces="none")
    store = store_of(graph)
    graph.add((EX.a, EX.b, EX.c))
    len(graph)
    shown = repr(store)
    with pytest.raises(CorollaryError):
        store.load(turtle, written(tmp_path, name, BAD[name]))
    assert repr(store) == shown
    assert set(graph) == {(EX.a, EX.b, EX.c)}
    assert not list(store.namespaces())


def test_a_complaint_tells_place_and_remedy(tmp_path: Path) -> None:
    path = written(tmp_path, "bad.ttl", BAD_TURTLE)
    with pytest.raises(InputError) as raised:
        plain().load(path)
    message = str(raised.value)
    assert message.startswith(f"{path}:3:7: not Turtle: ")
    assert "\n    :a :b ?c .\n" in message
    assert "\n  help: " in message


@pytest.mark.parametrize(
    ("source", "complaint"),
    [
        ("none.ttl", "No such file"),
        (str(Path(__file__).parent), "a directory without RDF files"),
        ("ftp://example.org/x", "nothing is known"),
    ],
)
def test_what_is_no_document(source: str, complaint: str) -> None:
    with pytest.raises(InputError, match=complaint):
        plain().load(source)


def test_an_unknown_format_is_refused(turtle: Path) -> None:
    with pytest.raises(InputError, match="unknown format 'csv'"):
        plain().load(turtle, format="csv")


def test_what_rdflib_cannot_hold_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="base directions"):
        plain().load(written(tmp_path, "data.ttl", '<http://a> <http://b> "x"@en--ltr .'))


# Which graph


def test_a_plain_graph_shows_what_its_store_has_loaded(turtle: Path) -> None:
    graph = Graph(store="Corollary")
    store_of(graph).load(turtle)
    assert (EX.ann, EX.knows, EX.bob) in graph
    graph.add((EX.new, EX.p, EX.o))
    store_of(graph).load(turtle)
    assert (EX.new, EX.p, EX.o) in graph
    assert {context.identifier for context in store_of(graph).contexts()} == {DATASET_DEFAULT_GRAPH_ID}
    graph.update("DELETE WHERE { ?s ?p ?o }")
    assert not len(store_of(graph).explicit())


def test_looking_at_one_side_claims_nothing(turtle: Path) -> None:
    graph = Graph(plain())
    store = store_of(graph)
    assert not len(store.explicit())
    store.load(turtle)
    assert len(store.explicit()) == len(graph) == 5


def test_a_plain_graph_in_use_is_loaded_into(turtle: Path) -> None:
    graph = Graph(plain())
    assert not len(graph)
    store_of(graph).load(turtle)
    assert len(graph) == 5
    assert (EX.ann, EX.knows, EX.bob) in graph


@pytest.mark.parametrize("make", [Dataset, ConjunctiveGraph])
def test_a_dataset_has_it_in_its_default_graph(turtle: Path, make: type[ConjunctiveGraph]) -> None:
    dataset = make(plain())
    store_of(dataset).load(turtle)
    default = dataset.default_graph if isinstance(dataset, Dataset) else dataset.default_context
    assert len(dataset) == len(default) == 5


def test_blank_graph_names_of_a_dataset_stay_names(turtle: Path) -> None:
    dataset = Dataset(plain())
    store_of(dataset).load(turtle)
    graph = dataset.graph(BNode())
    graph.add((EX.a, EX.p, EX.o))
    assert len(graph) == 1
    store_of(dataset).load(turtle)
    assert len(graph) == 1
    assert len(dataset.default_graph) == 8


def test_one_nameless_graph_only_stands_for_the_default_graph(turtle: Path) -> None:
    store = plain()
    store.load(turtle)
    first, second = Graph(store), Graph(store)
    assert len(first) == 5
    assert len(second) == 0


@pytest.mark.parametrize("name", [EX.g, str(EX.g)])
def test_the_graph_can_be_named(turtle: Path, name: str) -> None:
    dataset = Dataset(plain())
    store_of(dataset).load(turtle, graph=name)
    assert len(dataset.graph(EX.g)) == 5
    store_of(dataset).load(turtle, graph=dataset.graph(EX.h))
    assert len(dataset.graph(EX.h)) == 5
    assert not len(dataset.default_graph)


# What else holds of it


def test_loading_reasons_when_somebody_looks(tmp_path: Path) -> None:
    graph = Graph(CorollaryStore(rules="rdfs"))
    store_of(graph).load(written(tmp_path, "one.ttl", f"<{EX.A}> <{RDFS.subClassOf}> <{EX.B}> ."))
    assert "1 explicit, reasoning waits" in repr(graph.store)
    assert (EX.A, RDFS.subClassOf, EX.B) in graph
    store_of(graph).load(written(tmp_path, "two.ttl", f"<{EX.x}> a <{EX.A}> ."))
    assert (EX.x, RDF.type, EX.B) in graph


def test_subscribers_are_notified(turtle: Path) -> None:
    store = plain()
    events: list[TripleAddedEvent] = []
    store.dispatcher.subscribe(TripleAddedEvent, events.append)  # type: ignore[no-untyped-call]
    store.load(turtle)
    store.load(turtle)
    assert len(events) == 5 + 3


@given(st.text(st.characters(exclude_categories=["Cs"])))
def test_terms_are_the_same_loaded_or_added(text: str) -> None:
    store = plain()
    for literal, loaded in (
        (Literal(text), pyoxigraph.Literal(text)),
        (Literal(text, lang="EN-gb"), pyoxigraph.Literal(text, language="EN-gb")),
        (Literal(text, datatype=EX.d), pyoxigraph.Literal(text, datatype=pyoxigraph.NamedNode(EX.d))),
    ):
        assert store.reasoner.versions.current().terms.id_of(
            literal
        ) == store.reasoner.versions.current().terms.dictionary.find(str(loaded))


# Addresses


class Replies(BaseHTTPRequestHandler):
    """Serves a few documents."""

    DOCUMENTS: ClassVar = {
        "/typed": ("text/turtle; charset=utf-8", TURTLE.encode()),
        "/data.ttl": ("text/plain", TURTLE.encode()),
        "/data.ttl.gz": ("application/gzip", gzip.compress(TURTLE.encode())),
        "/squeezed": ("text/turtle", gzip.compress(TURTLE.encode())),
        "/page": ("text/html", b"<html>"),
        "/bad": ("text/turtle", BAD_TURTLE.encode()),
        "/relative": ("text/turtle", b"<#a> <b> <c> ."),
    }

    def do_GET(self) -> None:
        if self.path not in self.DOCUMENTS:
            self.send_error(404)
            return
        media_type, content = self.DOCUMENTS[self.path]
        self.send_response(200)
        self.send_header("Content-Type", media_type)
        self.end_headers()
        self.wfile.write(content)

    def log_message(self, *_: object) -> None:
        pass


@pytest.fixture(scope="module")
def address() -> Iterator[str]:
    with ThreadingHTTPServer(("127.0.0.1", 0), Replies) as server:
        thread = threading.Thread(target=server.serve_forever, args=[0.01])
        thread.start()
        yield f"http://127.0.0.1:{server.server_address[1]}"
        server.shutdown()
        thread.join()


@pytest.mark.parametrize("path", ["/typed", "/data.ttl", "/data.ttl.gz", "/squeezed"])
def test_addresses(address: str, path: str) -> None:
    graph = Graph(plain())
    assert store_of(graph).load(address + path) == 5
    assert isomorphic(graph, parsed())


def test_an_address_is_the_base(address: str) -> None:
    graph = Graph(plain())
    store_of(graph).load(f"{address}/relative#part")
    assert set(graph.subjects()) == {URIRef(f"{address}/relative#a")}


@pytest.mark.parametrize(
    ("path", "complaint"),
    [
        ("/none", "cannot be fetched .*404"),
        ("/page", r"\(text/html\) tells the format"),
        ("/bad", r"/bad:3:7: not Turtle(.|\n)*:a :b \?c \."),
    ],
)
def test_bad_addresses(address: str, path: str, complaint: str) -> None:
    with pytest.raises(InputError, match=complaint):
        plain().load(address + path)


def test_a_format_helps_an_address_that_does_not_tell(address: str) -> None:
    with pytest.raises(InputError, match="not N-Triples"):
        plain().load(f"{address}/page", format="nt")


def test_file_addresses(turtle: Path) -> None:
    assert plain().load(turtle.as_uri()) == 5


# Size


@pytest.mark.corpus
def test_lubm(corpus: Path) -> None:
    graph = Graph(store="Corollary")
    folder = corpus / "lubm"
    count = store_of(graph).load(folder / "lubm-1.nt.gz", folder / "univ-bench.owl")
    assert count == len(store_of(graph).explicit()) == 100_866
