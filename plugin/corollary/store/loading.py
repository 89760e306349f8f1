"""Documents on their way into a store: parsed to ids, whole, before the store hears of them.

pyoxigraph parses what it can, by ``corollary.loaders``; rdflib the rest. The import goes against the
direction of all others, which is why it is late: whoever loads nothing does not need the loaders.

Invariant: ids are given under the store's lock, a chunk at a time, so that a long document keeps nobody
waiting for long; a document that fails has left nothing but unused terms in the dictionary.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import AbstractContextManager
from dataclasses import dataclass

import numpy as np
import pyoxigraph
from rdflib import plugin
from rdflib.graph import Dataset
from rdflib.namespace import NamespaceManager
from rdflib.parser import Parser
from rdflib.plugin import PluginException
from rdflib.term import BNode

from corollary.index.pairs import Pairs, distinct, pack
from corollary.index.triples import grouped
from corollary.kernels.sorted import Keys
from corollary.language import InputError
from corollary.store.terms import Terms
from corollary.terms.dictionary import Ids

_ONLY_RDFLIB = ("trix", "hext")
"""Suffixes of formats that only rdflib knows."""


@dataclass(frozen=True)
class Loaded:
    """What was in a document: rows subject, predicate, object, graph; and its prefixes."""

    rows: Ids
    prefixes: dict[str, str]

    def graphs(self) -> list[int]:
        """The graphs that it puts something into."""
        names: list[int] = distinct(self.rows[:, 3]).tolist()
        return names

    def groups(self) -> Iterator[tuple[int, int, Keys]]:
        """Graph, predicate, and the facts as sorted, unique keys."""
        subjects, predicates, objects, graphs = np.ascontiguousarray(self.rows.T)
        keys = pack(subjects, objects)
        for graph in self.graphs():
            chosen = slice(None) if (graphs == graph).all() else graphs == graph
            for predicate, facts in grouped(predicates[chosen], keys[chosen]):
                yield graph, predicate, Pairs.of(facts).keys

    def bind(self, manager: NamespaceManager) -> None:
        """Bind the prefixes. What is bound already stays; a prefix that is taken gets a number."""
        for prefix, namespace in self.prefixes.items():
            manager.bind(prefix, namespace, override=False)


def read_document(
    source: str | os.PathLike[str],
    format: str | None,
    terms: Terms,
    default: int,
    lock: AbstractContextManager[object],
) -> Loaded:
    """A document's contents; ``default`` is the graph of what it puts into none. InputError if it is bad."""
    from corollary.loaders.fetching import document_at
    from corollary.loaders.reading import DocumentTerms, quad_chunks

    if _is_for_rdflib(source, format):
        return _read_by_rdflib(source, format, terms, default, lock)
    document = document_at(source, format)
    # Blank nodes get rdflib's labels, which are unique everywhere: graphs of two stores may be put together.
    ids = DocumentTerms(document.name, terms.dictionary, lambda: f"_:{BNode()}")
    ids[pyoxigraph.DefaultGraph()] = default
    rows = [np.empty((0, 4), np.uint32)]
    with document.parsed() as (_, quads):
        chunks = quad_chunks(quads, ids)
        while True:
            with lock:
                chunk = next(chunks, None)
            if chunk is None:
                return Loaded(np.concatenate(rows), quads.prefixes)
            rows.append(chunk)


def _is_for_rdflib(source: str | os.PathLike[str], format: str | None) -> bool:
    from corollary.loaders.formats import FileKind, named_format

    if format is None:
        return FileKind.of(os.fspath(source)).suffix in _ONLY_RDFLIB
    try:
        named_format(format)
    except InputError:
        try:
            return plugin.get(format, Parser) is not None
        except PluginException:
            return False
    return False


def _read_by_rdflib(
    source: str | os.PathLike[str],
    format: str | None,
    terms: Terms,
    default: int,
    lock: AbstractContextManager[object],
) -> Loaded:
    from corollary.loaders.fetching import document_at
    from corollary.loaders.formats import FileKind, decompressed, input_error

    document = document_at(source, "nt")  # for its bytes
    chosen = format or FileKind.of(os.fspath(source)).suffix
    parsed = Dataset("Memory")
    parsed.namespace_manager = NamespaceManager(parsed, "none")
    try:
        with document.opened() as raw:
            stream = decompressed(raw, document.compression)
            parsed.parse(file=stream, format=chosen, publicID=document.base)
    except Exception as error:  # rdflib's parsers have no common class
        remedy = "mend the file, or name its format if it is another one"
        raise input_error(f"{document.name}: not {chosen}: {error}", remedy) from error
    with lock:
        rows = [
            [*map(terms.id_of, triple), default if graph is None else terms.id_of(graph)]
            for *triple, graph in parsed.quads()
        ]
    return Loaded(
        np.array(rows, np.uint32).reshape(-1, 4), {prefix: str(name) for prefix, name in parsed.namespaces()}
    )
