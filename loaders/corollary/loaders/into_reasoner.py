"""Loading documents into a reasoner: each document is parsed to ids completely before the reasoner changes.

The owner of the reasoner may supply parsers for formats that ``corollary.loaders`` does not know.

Invariant: a document that fails leaves only unused terms in the dictionary.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol
from uuid import uuid4

from corollary.columns.pairs import NO_KEYS, Pairs
from corollary.kernels.limits import Progress, check
from corollary.loaders.documents import Document
from corollary.loaders.fetching import document_at
from corollary.loaders.files import files_in
from corollary.loaders.gathering import Gathering
from corollary.loaders.ntriples import BadLine
from corollary.loaders.read_ahead import ReadAhead
from corollary.loaders.reading import document_rows, in_turn
from corollary.reasoner.quads import Change
from corollary.reasoner.term_format import TermView
from corollary.reasoner.version import Version
from corollary.reasoner.versions import Versions
from corollary.terms.dictionary import Ids

Source = str | os.PathLike[str] | Document
"""A file, a folder or an address, or a document in memory."""

Facts = Mapping[tuple[int, int], Pairs]
"""Facts by graph and predicate: packed pairs (subject, object)."""


@dataclass(frozen=True)
class Loaded:
    """The contents of documents: facts by graph and predicate, and the prefixes of each document."""

    facts: dict[tuple[int, int], Pairs]
    prefixes: list[dict[str, str]]

    def graphs(self) -> set[int]:
        """The graphs that get facts."""
        return {graph for graph, _ in self.facts}


@dataclass(frozen=True)
class Destination:
    """Where facts go: the terms to encode with, and the graph for triples that are in no graph."""

    terms: TermView
    graph: int


class Receiver(Protocol):
    """The owner's decisions about loaded facts. ``add`` and ``bind`` run inside a transaction."""

    def target(self, version: Version) -> int:
        """The graph for triples that are in no graph."""

    def refuse(self, graph: str) -> None:
        """Raise CorollaryError if a graph, given as N-Triples text, must not be changed."""

    def add(self, facts: Facts) -> int:
        """Add facts by graph and predicate. Returns the number of new facts."""

    def bind(self, prefixes: Iterable[Mapping[str, str]]) -> None:
        """Bind the prefixes of documents, where prefix and namespace are free."""


class PlainReceiver:
    """The receiver of a reasoner without an adapter. ``graph`` is the target, None the default graph."""

    def __init__(self, versions: Versions, graph: str | None) -> None:
        self._versions = versions
        self._graph = graph

    def target(self, version: Version) -> int:
        graph: int = version.terms.default if self._graph is None else version.terms.id_of(self._graph)
        return graph

    def refuse(self, graph: str) -> None:
        """Accepts every graph."""

    def add(self, facts: Facts) -> int:
        before = self._versions.current().quads.fact_count()
        add_facts(self._versions, facts)
        return self._versions.current().quads.fact_count() - before

    def bind(self, prefixes: Iterable[Mapping[str, str]]) -> None:
        for table in prefixes:
            for prefix, namespace in table.items():
                self._versions.change_beside(Version.bound, prefix, namespace, False)


class Parsed(Protocol):
    """A document in memory."""

    def prefixes(self) -> Mapping[str, str]:
        """The prefixes that the document declares."""

    def rows(self, to: Destination) -> Ids:
        """The quads as ids, shape (quads, 4), uint32: subject, predicate, object, graph."""


class OtherParsers(Protocol):
    """Parsers for formats that ``corollary.loaders`` does not know."""

    def parses(self, name: str, format: str | None) -> bool:
        """Whether these parsers read a document of that name and format."""

    def parsed(self, document: Document, format: str | None) -> Parsed:
        """Parse a document. Raises InputError if the document is not of its format."""


def _new_label() -> str:
    """A globally unique label, because graphs of two stores may be merged."""
    return f"_:N{uuid4().hex}"


def load(
    versions: Versions,
    sources: Sequence[Source],
    format: str | None,
    receiver: Receiver,
    *,
    skips: bool = False,
    progress: Progress | None = None,
    others: OtherParsers | None = None,
    keeps_labels: bool = False,
) -> int:
    """Add documents in one transaction. Returns the number of new facts. ``skips`` leaves bad lines out.

    Blank nodes get globally unique labels; with ``keeps_labels`` those of the document, as far as these are
    free (``loaders.labels``).
    The documents are parsed outside of the transaction, and again if another thread has replaced the
    dictionary in the meantime.
    """
    while True:
        bad: list[BadLine] = []
        version = versions.current().to_be_written()
        to = Destination(version.terms, receiver.target(version))
        skipped, new_label = bad if skips else None, None if keeps_labels else _new_label
        loaded = read_documents(sources, format, to, progress, skipped, others, new_label)
        for graph in loaded.graphs():
            receiver.refuse(version.terms.dictionary.decode(graph))
        count = None
        for _ in versions.steps():
            if versions.current().terms is version.terms:  # else the ids are those of a replaced dictionary
                count = receiver.add(loaded.facts)
                receiver.bind(loaded.prefixes)
                versions.change(Version.with_bad_lines, tuple(bad))
        if count is not None:
            return count


def add_facts(versions: Versions, facts: Facts) -> None:
    """Add facts by graph and predicate. Precondition: called inside a transaction."""
    versions.change(Version.with_changes, [Change(*place, NO_KEYS, new) for place, new in facts.items()])


def read_documents(
    sources: Iterable[Source],
    format: str | None,
    to: Destination,
    progress: Progress | None = None,
    skipped: list[BadLine] | None = None,
    others: OtherParsers | None = None,
    new_label: Callable[[], str] | None = _new_label,
) -> Loaded:
    """Parse files, addresses and folders. Raises InputError if a document is bad.

    ``new_label`` makes the labels of blank nodes; None: they are kept as far as they are free.
    If ``skipped`` is given, bad lines of N-Triples and N-Quads are appended to ``skipped`` instead.
    """

    def is_for_others(name: str) -> bool:
        return others is not None and others.parses(name, format)

    documents = [document for source in sources for document in _documents(source, format, is_for_others)]
    by_others = {
        document.name: others.parsed(document, format)
        for document in documents
        if others is not None and others.parses(document.name, format)
    }
    prefixes: list[dict[str, str]] = []

    def read(document: Document, small: int, ahead: ReadAhead | None) -> Iterator[tuple[Ids, int]]:
        prefixes.append({})
        if document.name in by_others:
            parsed = by_others[document.name]
            prefixes[-1].update(parsed.prefixes())
            yield parsed.rows(to), document.size()
            return
        yield from document_rows(
            document, to.terms.dictionary, graph=to.graph, new_label=new_label,
            skipped=skipped, prefixes=prefixes[-1], small=small, ahead=ahead,
        )  # fmt: skip

    gathering = Gathering()
    for rows in in_turn(documents, read, progress, by_others, graphs=True):
        check()
        gathering.add(rows)
    to.terms.dictionary.keep()
    return Loaded(gathering.facts(), prefixes)


def _documents(
    source: Source, format: str | None, is_for_others: Callable[[str], bool]
) -> Iterator[Document]:
    """The documents of a source: one, or those in a folder."""
    if isinstance(source, Document):
        yield source
        return
    for name in files_in([source]):
        # "nt" is a placeholder: for the formats of other parsers only the bytes are read here
        yield document_at(name, "nt" if is_for_others(name) else format)
