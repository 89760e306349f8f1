"""Parsers and serialisers for rdflib's graphs: the same graphs as rdflib's own, on any store."""

from __future__ import annotations

from importlib.metadata import entry_points
from io import StringIO

import pytest
from rdflib import BNode, Dataset, Graph, Literal, Namespace, URIRef
from rdflib.compare import isomorphic

from corollary.language.errors import CorollaryError, InputError
from corollary.store import CorollaryStore

EX = Namespace("http://example.org/")
TURTLE = """
@prefix ex: <http://example.org/> .
@prefix xsd: <http://www.w3.org/2001/XMLSchema#> .
ex:ann ex:knows [ ex:name "Bob"@en ; ex:age 7 ] ; ex:says "two\\nlines", "1.50"^^xsd:decimal .
<relative> ex:is ex:here .
"""
TRIG = "@prefix ex: <http://example.org/> . ex:a ex:b ex:c . ex:g { ex:d ex:e _:f . _:f ex:e ex:g }"

OURS = {"nt": "nt", "ttl": "turtle", "rdf": "xml", "jsonld": "json-ld", "nq": "nquads", "trig": "trig"}
"""Our suffixes, and rdflib's names."""

STORES = ["default", "Corollary"]


def test_all_are_registered() -> None:
    for group in ("rdf.plugins.parser", "rdf.plugins.serializer"):
        found = {entry.name for entry in entry_points(group=group) if entry.name.startswith("corollary-")}
        assert found == {f"corollary-{suffix}" for suffix in OURS}


@pytest.mark.parametrize("store", STORES)
@pytest.mark.parametrize("suffix", ["nt", "ttl", "rdf", "jsonld"])
def test_graphs(store: str, suffix: str) -> None:
    """What rdflib writes is read, and what is written rdflib reads."""
    wanted = Graph().parse(data=TURTLE, format="turtle", publicID="http://example.org/base/")
    read = Graph(CorollaryStore(rules="none") if store == "Corollary" else store)
    read.parse(data=wanted.serialize(format=OURS[suffix]), format=f"corollary-{suffix}")
    assert isomorphic(read, wanted)
    written = read.serialize(format=f"corollary-{suffix}")
    assert isomorphic(Graph().parse(data=written, format=OURS[suffix]), wanted)


@pytest.mark.parametrize("store", STORES)
@pytest.mark.parametrize("suffix", ["nq", "trig"])
def test_datasets(store: str, suffix: str) -> None:
    wanted = Dataset()
    wanted.parse(data=TRIG, format="trig")
    read = Dataset(store)
    read.parse(data=wanted.serialize(format=OURS[suffix]), format=f"corollary-{suffix}")
    again = Dataset()
    again.parse(data=read.serialize(format=f"corollary-{suffix}"), format=OURS[suffix])
    for found in (read, again):
        assert (EX.a, EX.b, EX.c) in found.graph(EX["g"]) or (EX.a, EX.b, EX.c) in found
        graph = found.graph(EX.g)
        assert isomorphic(Graph() + graph, Graph() + wanted.graph(EX.g))


@pytest.mark.parametrize("store", STORES)
def test_a_base_and_a_prefix(store: str) -> None:
    graph = Graph(store)
    graph.parse(data=TURTLE, format="corollary-ttl", publicID="http://example.org/base/")
    assert (URIRef("http://example.org/base/relative"), EX["is"], EX.here) in graph
    assert dict(graph.namespaces())["ex"] == URIRef(str(EX))
    assert "ex:ann" in graph.serialize(format="corollary-ttl")


@pytest.mark.parametrize("store", STORES)
def test_streams_of_characters(store: str) -> None:
    """Found: rdflib passes them as streams of bytes."""
    data = '<ex:a> <ex:b> "\u00e9\U0001f600" .'
    graph = Graph(store).parse(StringIO(data), format="corollary-ttl")
    assert isomorphic(Graph() + graph, Graph().parse(StringIO(data), format="turtle"))


@pytest.mark.parametrize("store", STORES)
def test_a_document_with_an_error_adds_nothing(store: str) -> None:
    graph = Graph(store)
    with pytest.raises(InputError, match="2:"):
        graph.parse(data="<urn:a> <urn:b> <urn:c> .\n<urn:a> <urn:b> oops .\n", format="corollary-nt")
    assert len(graph) == 0


def test_named_graphs_need_a_store_that_has_them() -> None:
    graph = Graph("SimpleMemory")
    with pytest.raises(CorollaryError, match="parse it into a Dataset"):
        graph.parse(data=TRIG, format="corollary-trig")
    assert len(graph) == 0


def test_blank_nodes_of_two_documents_differ() -> None:
    graph = Graph()
    for _ in range(2):
        graph.parse(data="_:a <urn:b> _:a .", format="corollary-nt")
    assert len(graph) == 2


@pytest.mark.parametrize(
    "term", [Literal("a", lang="en"), URIRef("http://example.org/a b"), BNode("not a label")]
)
def test_unusual_terms(term: URIRef | Literal | BNode) -> None:
    graph = Graph()
    graph.add((EX.s, EX.p, term))
    if isinstance(term, URIRef):
        with pytest.raises(CorollaryError, match="cannot be written"):
            graph.serialize(format="corollary-nt")
    else:
        assert isomorphic(Graph().parse(data=graph.serialize(format="corollary-nt"), format="nt"), graph)


def test_another_encoding() -> None:
    graph = Graph()
    graph.add((EX.s, EX.p, Literal("é")))
    assert "é".encode("latin-1") in graph.serialize(format="corollary-ttl", encoding="latin-1")
