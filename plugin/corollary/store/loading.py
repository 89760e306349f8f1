"""Documents on their way into a store: parsed to ids, whole, before the store hears of them.

``corollary.loaders`` parses what it can; rdflib the rest. The import goes against the direction of all
others, which is why it is late: whoever loads nothing does not need the loaders.

Invariant: a document that fails has left nothing but unused terms in the dictionary.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any
from urllib.request import Request
from xml.sax import SAXParseException

import numpy as np
from pyoxigraph import RdfFormat
from rdflib import plugin
from rdflib.graph import Dataset
from rdflib.namespace import NamespaceManager
from rdflib.parser import Parser
from rdflib.plugin import PluginException
from rdflib.plugins.sparql import evaluate
from rdflib.term import BNode, URIRef

from corollary.index.pairs import Pairs
from corollary.index.relation import Relation
from corollary.index.triples import TripleIndex
from corollary.kernels.limits import check
from corollary.language import CorollaryError, InputError
from corollary.language.errors import Hint, Span
from corollary.store.external import ExternalAccessRefused, kind_of
from corollary.store.terms import Terms
from corollary.terms.dictionary import Ids

if TYPE_CHECKING:
    from corollary.loaders.documents import Document
    from corollary.loaders.ntriples import BadLine
    from corollary.loaders.reading import Progress

    Source = str | os.PathLike[str] | Document
    __all__ = ["BadLine", "Progress", "Source"]  # for annotations elsewhere

_ONLY_RDFLIB = ("trix", "hext")
"""Suffixes of formats that only rdflib knows."""


class UnreadableDocument(CorollaryError):
    """A document that a query or update names cannot be read. Nothing of it is quoted, here or in causes."""


@dataclass(frozen=True)
class Loaded:
    """What was in some documents: facts by graph and predicate, and the prefixes of each document."""

    facts: dict[tuple[int, int], Pairs]
    prefixes: list[dict[str, str]]

    def graphs(self) -> set[int]:
        """The graphs that they put something into."""
        return {graph for graph, _ in self.facts}

    def bind(self, manager: NamespaceManager) -> None:
        """Bind the prefixes. What is bound already stays; a prefix that is taken gets a number."""
        for prefixes in self.prefixes:
            for prefix, namespace in prefixes.items():
                manager.bind(prefix, namespace, override=False)


@dataclass(frozen=True)
class Destination:
    """Where facts go: terms, and the graph of what is in none."""

    terms: Terms
    graph: int


def read_documents(
    sources: Iterable[Source],
    format: str | None,
    to: Destination,
    progress: Progress | None = None,
    skipped: list[BadLine] | None = None,
) -> Loaded:
    """The contents of files, addresses and folders. InputError if something is bad.

    If ``skipped`` is given, bad lines of N-Triples and N-Quads are put there, and are no reason to stop.
    """
    from corollary.loaders.gathering import Gathering
    from corollary.loaders.reading import document_rows, in_turn

    documents = [document for source in sources for document in _documents(source, format)]
    by_rdflib = {
        document.name: _parsed_by_rdflib(document, format)
        for document in documents
        if _is_for_rdflib(document.name, format)
    }
    prefixes: list[dict[str, str]] = []

    def read(document: Document, small: int) -> Iterator[tuple[Ids, int]]:
        prefixes.append({})
        if document.name in by_rdflib:
            dataset = by_rdflib[document.name]
            prefixes[-1].update((prefix, str(name)) for prefix, name in dataset.namespaces())
            yield _rows(dataset, to), document.size()
            return
        yield from document_rows(
            document, to.terms.dictionary, graph=to.graph, new_label=_new_label,
            skipped=skipped, prefixes=prefixes[-1], small=small,
        )  # fmt: skip

    gathering = Gathering()
    for rows in in_turn(documents, read, progress):
        check()
        gathering.add(rows)
    return Loaded(gathering.facts(), prefixes)


def read_iri(clause: str, iri: URIRef, terms: Terms) -> tuple[TripleIndex, dict[str, str]]:
    """The default graph of a document that a query or update names, and its prefixes.

    UnreadableDocument if it cannot be read; ExternalAccessRefused if it redirects to anything but http.
    """
    from corollary.loaders.fetching import RedirectRefused, document_at, fetched

    read = document_at if kind_of(iri) == "files" else fetched
    format = "nt" if _is_for_rdflib(iri, None) else None
    try:
        document = read(str(iri), format, otherwise="turtle")
        if document.format == RdfFormat.TURTLE:
            document = replace(document, is_doubtful=True)
        loaded = read_documents([document], None, Destination(terms, terms.default))
    except CorollaryError as error:
        refusal = ExternalAccessRefused if isinstance(error, RedirectRefused) else UnreadableDocument
        complaint = error.unquoted()
    else:
        found = {p: facts for (graph, p), facts in loaded.facts.items() if graph == terms.default}
        return TripleIndex({p: Relation(facts) for p, facts in found.items()}), loaded.prefixes[0]
    raise refusal(f"{clause} {iri.n3()} failed: {complaint}")  # out here, so that no cause is kept


def guard_services() -> None:
    """Let rdflib, which asks services with ``urlopen``, follow redirects to http and https only.

    rdflib has no argument for that. Its name for ``urlopen`` is replaced, when a query first needs it.
    """
    from corollary.loaders.fetching import RedirectRefused, opened

    def open_service(request: Request) -> Any:
        try:
            return opened(request)
        except RedirectRefused as error:
            raise ExternalAccessRefused(f"SERVICE: {error}") from None

    evaluate.urlopen = open_service  # type: ignore[assignment, attr-defined]


def _new_label() -> str:
    """A label that is unique everywhere: graphs of two stores may be put together."""
    return f"_:{BNode()}"


def _documents(source: Source, format: str | None) -> Iterator[Document]:
    """The documents that a source stands for: more than one if it is a folder."""
    from corollary.loaders.documents import Document
    from corollary.loaders.fetching import document_at
    from corollary.loaders.files import files_in

    if isinstance(source, Document):
        yield source
        return
    for name in files_in([source]):
        # of rdflib's formats, only the bytes are wanted here
        yield document_at(name, "nt" if _is_for_rdflib(name, format) else format)


def _is_for_rdflib(name: str, format: str | None) -> bool:
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


def _parsed_by_rdflib(document: Document, format: str | None) -> Dataset:
    from corollary.loaders.formats import FileKind, input_error

    chosen = format or FileKind.of(document.name).suffix
    parsed = Dataset("Memory")
    parsed.namespace_manager = NamespaceManager(parsed, "none")
    try:
        with document.streamed() as (_, stream):
            parsed.parse(file=stream, format=chosen, publicID=document.base)
    except Exception as error:  # rdflib's parsers have no common class
        span = None
        if isinstance(error, SAXParseException):
            span = Span(document.name, error.getLineNumber() or 1, (error.getColumnNumber() or 0) + 1)
        message = f"not {chosen}" if span else f"{document.name}: not {chosen}"
        raise input_error(message, span=span, detail=str(error), hint=Hint.CORRECT_FORMAT) from error
    return parsed


def _rows(dataset: Dataset, to: Destination) -> Ids:
    """Rows of shape (quads, 4)."""
    ids = to.terms.id_of
    rows = [
        [*map(ids, triple), to.graph if graph is None else ids(graph)] for *triple, graph in dataset.quads()
    ]
    return np.array(rows, np.uint32).reshape(-1, 4)
