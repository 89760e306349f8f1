"""Documents on their way into a reasoner: parsed to ids, whole, before anything is changed.

``corollary.loaders`` parses what it can; the owner of the reasoner may bring parsers for other formats. The
import of the loaders goes against the direction of all others. It is inside functions: who loads nothing does
not need the loaders.

Invariant: a document that fails has left nothing but unused terms in the dictionary.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol
from uuid import uuid4

from corollary.columns.pairs import NO_KEYS, Pairs
from corollary.columns.triples import Columns
from corollary.kernels.limits import check
from corollary.reasoner.quads import Change
from corollary.reasoner.term_format import TermView
from corollary.reasoner.version import Version
from corollary.reasoner.versions import Versions
from corollary.terms.dictionary import Ids, TermDictionary

if TYPE_CHECKING:
    from corollary.loaders.documents import Document
    from corollary.loaders.ntriples import BadLine
    from corollary.loaders.reading import Progress

    Source = str | os.PathLike[str] | Document
    __all__ = ["BadLine", "Document", "Progress", "Source"]  # for annotations elsewhere

Facts = Mapping[tuple[int, int], Pairs]
"""Facts by graph and predicate."""


@dataclass(frozen=True)
class Loaded:
    """What was in some documents: facts by graph and predicate, and the prefixes of each document."""

    facts: dict[tuple[int, int], Pairs]
    prefixes: list[dict[str, str]]

    def graphs(self) -> set[int]:
        """The graphs that they put something into."""
        return {graph for graph, _ in self.facts}


@dataclass(frozen=True)
class Destination:
    """Where facts go: terms, and the graph of what is in none."""

    terms: TermView
    graph: int


class Receiver(Protocol):
    """What the owner of a reasoner decides about loaded facts. ``add`` and ``bind`` run in a transaction."""

    def target(self, version: Version) -> int:
        """The graph of what is in no graph."""

    def refuse(self, graph: str) -> None:
        """Raise CorollaryError if a graph, given as N-Triples text, cannot be changed."""

    def add(self, facts: Facts) -> int:
        """Add facts by graph and predicate. Returns how many are new."""

    def bind(self, prefixes: Iterable[Mapping[str, str]]) -> None:
        """Bind the prefixes of documents, as far as prefix and namespace are free."""


class PlainReceiver:
    """Where a reasoner puts what is loaded. Prefixes are bound if they and their namespaces are free."""

    def __init__(self, versions: Versions, graph: str | None) -> None:
        self._versions = versions
        self._graph = graph

    def target(self, version: Version) -> int:
        graph: int = version.terms.default if self._graph is None else version.terms.id_of(self._graph)
        return graph

    def refuse(self, graph: str) -> None:
        """Every graph may be changed."""

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
        """The prefixes that it declares."""

    def rows(self, to: Destination) -> Ids:
        """Subject, predicate, object, graph: shape (quads, 4)."""


class OtherParsers(Protocol):
    """Parsers for formats that ``corollary.loaders`` does not know."""

    def parses(self, name: str, format: str | None) -> bool:
        """Whether a document of that name and format is for these parsers."""

    def parsed(self, document: Document, format: str | None) -> Parsed:
        """The document. InputError if it is not of its format."""


def load(
    versions: Versions,
    sources: Sequence[Source],
    format: str | None,
    receiver: Receiver,
    *,
    skips: bool = False,
    progress: Progress | None = None,
    others: OtherParsers | None = None,
) -> int:
    """Add documents in one transaction. Returns how many facts are new. ``skips`` leaves bad lines out."""
    while True:
        bad: list[BadLine] = []
        version = versions.current().to_be_written()
        to = Destination(version.terms, receiver.target(version))
        loaded = read_documents(sources, format, to, progress, bad if skips else None, others)
        for graph in loaded.graphs():
            receiver.refuse(version.terms.dictionary.decode(graph))
        count = None
        for _ in versions.steps():
            if versions.current().terms is version.terms:  # else others have taken their place
                count = receiver.add(loaded.facts)
                receiver.bind(loaded.prefixes)
                versions.change(Version.with_bad_lines, tuple(bad))
        if count is not None:
            return count


def add_facts(versions: Versions, facts: Facts) -> None:
    """Inside a transaction, add facts by graph and predicate."""
    versions.change(Version.with_changes, [Change(*place, NO_KEYS, new) for place, new in facts.items()])


def read_documents(
    sources: Iterable[Source],
    format: str | None,
    to: Destination,
    progress: Progress | None = None,
    skipped: list[BadLine] | None = None,
    others: OtherParsers | None = None,
) -> Loaded:
    """The contents of files, addresses and folders. InputError if something is bad.

    If ``skipped`` is given, bad lines of N-Triples and N-Quads are put there, and are no reason to stop.
    """
    from corollary.loaders.gathering import Gathering
    from corollary.loaders.reading import document_rows, in_turn

    def is_for_others(name: str) -> bool:
        return others is not None and others.parses(name, format)

    documents = [document for source in sources for document in _documents(source, format, is_for_others)]
    by_others = {
        document.name: others.parsed(document, format)
        for document in documents
        if others is not None and others.parses(document.name, format)
    }
    prefixes: list[dict[str, str]] = []

    def read(document: Document, small: int) -> Iterator[tuple[Ids, int]]:
        prefixes.append({})
        if document.name in by_others:
            parsed = by_others[document.name]
            prefixes[-1].update(parsed.prefixes())
            yield parsed.rows(to), document.size()
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


def _new_label() -> str:
    """A label that is unique everywhere: graphs of two stores may be put together."""
    return f"_:N{uuid4().hex}"


def _documents(
    source: Source, format: str | None, is_for_others: Callable[[str], bool]
) -> Iterator[Document]:
    """The documents that a source stands for: more than one if it is a folder."""
    from corollary.loaders.documents import Document
    from corollary.loaders.fetching import document_at
    from corollary.loaders.files import files_in

    if isinstance(source, Document):
        yield source
        return
    for name in files_in([source]):
        # of the others' formats, only the bytes are wanted here
        yield document_at(name, "nt" if is_for_others(name) else format)


def write(path: str | os.PathLike[str], columns: Columns, dictionary: TermDictionary) -> None:
    """Write facts to a file, in the format of its suffix. InputError if that cannot be done."""
    from corollary.loaders.writing import write as write_columns

    write_columns(path, columns, dictionary)
