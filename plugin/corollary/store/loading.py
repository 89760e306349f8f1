"""Loading with rdflib: formats that only rdflib parses, and documents that queries and updates name."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING
from xml.sax import SAXParseException

import numpy as np
from pyoxigraph import RdfFormat
from rdflib import plugin
from rdflib.graph import Dataset, Graph
from rdflib.namespace import NamespaceManager
from rdflib.parser import Parser
from rdflib.plugin import PluginException
from rdflib.term import Node, URIRef

from corollary.columns import Relation, TripleIndex
from corollary.language import CorollaryError, InputError
from corollary.language.errors import Hint, Span
from corollary.reasoner.version import Version
from corollary.sparql.access import ExternalAccessRefused, kind_of
from corollary.sparql.rdf_terms import Terms
from corollary.terms.dictionary import Ids

if TYPE_CHECKING:
    from corollary.loaders.documents import Document
    from corollary.loaders.into_reasoner import Destination, Facts
    from corollary.store.graph_store import GraphStore

_ONLY_RDFLIB = ("trix", "hext")
"""Suffixes of the formats that only rdflib parses."""


class UnreadableDocument(CorollaryError):
    """A document that a query or update names cannot be read.

    Neither the message nor a cause quotes the document, which may be secret.
    """


@dataclass(frozen=True)
class StoreReceiver:
    """The store as ``Receiver``. ``graph`` is the target; None is the graph that a nameless graph shows."""

    store: GraphStore
    graph: Graph | Node | str | None

    def target(self, version: Version) -> int:
        return self.store.target(version, self.graph)

    def refuse(self, graph: str) -> None:
        if graph.startswith("<"):
            self.store.refuse_side(URIRef(graph[1:-1]))

    def add(self, facts: Facts) -> int:
        return self.store.add_facts(facts, is_default=self.graph is None)

    def bind(self, prefixes: Iterable[Mapping[str, str]]) -> None:
        """Bind the prefixes. Existing bindings stay; a prefix that is in use gets a number."""
        manager = NamespaceManager(Graph(self.store), "none")
        for table in prefixes:
            for prefix, namespace in table.items():
                manager.bind(prefix, namespace, override=False)


@dataclass(frozen=True)
class _ParsedByRdflib:
    dataset: Dataset

    def prefixes(self) -> Mapping[str, str]:
        return {prefix: str(name) for prefix, name in self.dataset.namespaces()}

    def rows(self, to: Destination) -> Ids:
        ids = to.terms.id_of
        rows = [
            [*map(ids, triple), to.graph if graph is None else ids(graph)]
            for *triple, graph in self.dataset.quads()
        ]
        return np.array(rows, np.uint32).reshape(-1, 4)


class RdflibParsers:
    """The formats that rdflib parses and ``corollary.loaders`` does not."""

    def parses(self, name: str, format: str | None) -> bool:
        from corollary.loaders.formats import FileKind, named_format

        if format is None:
            return FileKind.of(name).suffix in _ONLY_RDFLIB
        try:
            named_format(format)
        except InputError:
            try:
                return plugin.get(format, Parser) is not None
            except PluginException:
                return False
        return False

    def parsed(self, document: Document, format: str | None) -> _ParsedByRdflib:
        from corollary.loaders.formats import FileKind, input_error

        chosen = format or FileKind.of(document.name).suffix
        parsed = Dataset("Memory")
        parsed.namespace_manager = NamespaceManager(parsed, "none")
        try:
            with document.streamed() as (_, stream):
                parsed.parse(file=stream, format=chosen, publicID=document.base)
        except Exception as error:  # rdflib's parsers have no common exception class
            span = None
            if isinstance(error, SAXParseException):
                span = Span(document.name, error.getLineNumber() or 1, (error.getColumnNumber() or 0) + 1)
            message = f"not {chosen}" if span else f"{document.name}: not {chosen}"
            raise input_error(message, span=span, detail=str(error), hint=Hint.CORRECT_FORMAT) from error
        return _ParsedByRdflib(parsed)


PARSERS = RdflibParsers()


def read_iri(clause: str, iri: URIRef, terms: Terms) -> tuple[TripleIndex, dict[str, str]]:
    """Read the document at ``iri``. Returns the triples of its default graph, and its prefixes.

    Raises UnreadableDocument if it cannot be read, ExternalAccessRefused if it redirects to another scheme
    than http or https.
    """
    from corollary.loaders.fetching import RedirectRefused, document_at, fetched
    from corollary.loaders.into_reasoner import Destination, read_documents

    read = document_at if kind_of(iri) == "files" else fetched
    format = "nt" if PARSERS.parses(iri, None) else None
    try:
        document = read(str(iri), format, otherwise="turtle")
        if document.format == RdfFormat.TURTLE:
            document = replace(document, is_doubtful=True)
        loaded = read_documents([document], None, Destination(terms, terms.default), others=PARSERS)
    except CorollaryError as error:
        refusal = ExternalAccessRefused if isinstance(error, RedirectRefused) else UnreadableDocument
        complaint = error.unquoted()
    else:
        found = {p: facts for (graph, p), facts in loaded.facts.items() if graph == terms.default}
        return TripleIndex({p: Relation(facts) for p, facts in found.items()}), loaded.prefixes[0]
    raise refusal(f"{clause} {iri.n3()} failed: {complaint}")  # outside of except: the error has no cause
