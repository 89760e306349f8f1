"""Parsers and serialisers for any rdflib graph, by pyoxigraph.

    graph.parse("data.ttl", format="corollary-ttl")

They are registered as rdflib's plugins under ``corollary-`` and the suffix of the format. A graph of a
Corollary store loads the document as ``CorollaryStore.load`` does.

Invariant: a document with an error adds nothing.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import IO, Any, ClassVar

from pyoxigraph import BlankNode, DefaultGraph, NamedNode, Quad, QuadParser, RdfFormat, Triple, serialize
from pyoxigraph import Literal as OxLiteral
from rdflib.graph import ConjunctiveGraph, Graph
from rdflib.parser import InputSource, Parser
from rdflib.serializer import Serializer
from rdflib.term import BNode, Literal, Node, URIRef

from corollary.language.errors import CorollaryError
from corollary.sparql.rdf_terms import plain_literal
from corollary.store.store import CorollaryStore

OxTerm = NamedNode | BlankNode | OxLiteral


class FastParser(Parser):
    """A parser of one format."""

    format: ClassVar[RdfFormat]

    def parse(self, source: InputSource, sink: Graph, **_: Any) -> None:
        """Add the triples of a document, and bind its prefixes. Blank nodes get new names.

        Triples in no graph go into ``sink``, or into its default graph. Raises InputError with the place of
        an error, and CorollaryError for named graphs if the store has none.
        """
        from corollary.loaders.documents import Document

        base = source.getPublicId() or source.getSystemId() or None
        document = Document(base or "document", self.format, "", False, base, _content(source))
        if isinstance(sink.store, CorollaryStore):
            sink.store.load(document, graph=_default_of(sink))
            return
        with document.parsed() as (_raw, quads):
            _add(quads, sink)


def _content(source: InputSource) -> bytes:
    """The bytes of a document. rdflib passes a stream of characters as one of bytes, too."""
    stream = source.getByteStream() or source.getCharacterStream()
    content: bytes | str = b"" if stream is None else stream.read()
    return content.encode() if isinstance(content, str) else content


def _default_of(graph: Graph) -> Graph:
    """The graph for triples that are in no graph."""
    return graph._default_context if isinstance(graph, ConjunctiveGraph) else graph


def _add(quads: QuadParser, sink: Graph) -> None:
    """Add all statements, when all are parsed; bind the prefixes."""
    default, graphs = _default_of(sink), dict[str, Graph]()
    found: list[tuple[Node, Node, Node, Graph]] = []
    names: dict[str, BNode] = {}
    for quad in quads:
        graph, name = default, quad.graph_name
        if not isinstance(name, DefaultGraph):
            if not sink.store.context_aware:
                raise CorollaryError("the document has named graphs: parse it into a Dataset")
            graph = graphs.setdefault(str(name), Graph(sink.store, _node(name, names)))  # type: ignore[arg-type]
        s, p, o = (_node(term, names) for term in (quad.subject, quad.predicate, quad.object))
        found.append((s, p, o, graph))
    for prefix, namespace in quads.prefixes.items():
        sink.bind(prefix, namespace, override=False)
    sink.store.addN(found)


def _node(term: object, names: dict[str, BNode]) -> Node:
    """The term in rdflib."""
    if isinstance(term, NamedNode):
        return URIRef(term.value)
    if isinstance(term, BlankNode):
        return names.setdefault(term.value, BNode())
    if not isinstance(term, OxLiteral):
        raise CorollaryError(f"{term}: rdflib has no triples as terms")
    if term.language is not None or term.datatype.value == "http://www.w3.org/2001/XMLSchema#string":
        return plain_literal(term.value, term.language)
    return Literal(term.value, datatype=URIRef(term.datatype.value))


class FastSerializer(Serializer):
    """A serialiser to one format."""

    format: ClassVar[RdfFormat]

    def serialize(
        self, stream: IO[bytes], base: str | None = None, encoding: str | None = None, **_: Any
    ) -> None:
        """Write all triples, with the prefixes of the graph. Raises CorollaryError for terms RDF forbids.

        The whole text is made in memory first, so that nothing is written after an error.
        """
        has_prefixes = self.format not in (RdfFormat.N_TRIPLES, RdfFormat.N_QUADS)
        content = serialize(
            _quads(self.store) if self.format.supports_datasets else _triples(self.store),
            None,
            self.format,
            prefixes={prefix: str(name) for prefix, name in self.store.namespaces()}
            if has_prefixes
            else None,
            base_iri=base if has_prefixes else None,
        )
        assert content is not None
        stream.write(content if encoding is None else content.decode().encode(encoding))


def _triples(graph: Graph) -> Iterator[Triple]:
    labels: dict[BNode, BlankNode] = {}
    for s, p, o in graph:
        yield Triple(_ox(s, labels), _ox(p, labels), _ox(o, labels))  # type: ignore[arg-type]


def _quads(graph: Graph) -> Iterator[Quad]:
    """All statements; those of a single graph, or of the default graph, are in no graph."""
    labels: dict[BNode, BlankNode] = {}
    if not isinstance(graph, ConjunctiveGraph):
        yield from (Quad(each.subject, each.predicate, each.object) for each in _triples(graph))
        return
    default = _default_of(graph).identifier
    for s, p, o, context in graph.quads():
        name = context.identifier if isinstance(context, Graph) else context
        terms = _ox(s, labels), _ox(p, labels), _ox(o, labels)
        into = DefaultGraph() if name in (None, default) else _ox(name, labels)
        yield Quad(*terms, into)  # type: ignore[arg-type]


def _ox(term: object, labels: dict[BNode, BlankNode]) -> OxTerm:
    """The term in pyoxigraph. Raises CorollaryError for terms that RDF forbids."""
    try:
        if isinstance(term, URIRef):
            return NamedNode(term)
        if isinstance(term, BNode):
            if term not in labels:
                labels[term] = BlankNode()
            return labels[term]
        if isinstance(term, Literal):
            if term.language is not None:
                return OxLiteral(str(term), language=term.language)
            return OxLiteral(str(term), datatype=None if term.datatype is None else NamedNode(term.datatype))
    except ValueError as error:
        raise CorollaryError(f"{term!r}: this cannot be written: {error}") from None
    raise CorollaryError(f"{term!r}: this cannot be written: RDF has IRIs, blank nodes and literals")


class NTriplesParser(FastParser):
    format = RdfFormat.N_TRIPLES


class NQuadsParser(FastParser):
    format = RdfFormat.N_QUADS


class TurtleParser(FastParser):
    format = RdfFormat.TURTLE


class TriGParser(FastParser):
    format = RdfFormat.TRIG


class RDFXMLParser(FastParser):
    format = RdfFormat.RDF_XML


class JSONLDParser(FastParser):
    format = RdfFormat.JSON_LD


class NTriplesSerializer(FastSerializer):
    format = RdfFormat.N_TRIPLES


class NQuadsSerializer(FastSerializer):
    format = RdfFormat.N_QUADS


class TurtleSerializer(FastSerializer):
    format = RdfFormat.TURTLE


class TriGSerializer(FastSerializer):
    format = RdfFormat.TRIG


class RDFXMLSerializer(FastSerializer):
    format = RdfFormat.RDF_XML


class JSONLDSerializer(FastSerializer):
    format = RdfFormat.JSON_LD
