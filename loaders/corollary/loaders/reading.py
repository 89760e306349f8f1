"""Files to columns or to an index: every term becomes its id, every statement a row.

Large N-Triples and N-Quads documents are parsed by compiled loops (``bulk``). pyoxigraph parses all others:
the inner loop is one look-up per term in a Python dict keyed by pyoxigraph's term objects, and only a miss
creates the term's text.

Invariant: two blank nodes are the same node if and only if they have the same label *and* the same file.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from contextlib import closing, nullcontext
from dataclasses import replace
from functools import partial
from itertools import chain, compress, cycle, groupby, islice

import numpy as np
import pyoxigraph

from corollary.columns import Relation, TripleIndex
from corollary.columns.pairs import firsts, seconds
from corollary.kernels.limits import Progress
from corollary.loaders.bulk import Numbering
from corollary.loaders.documents import Document
from corollary.loaders.encoded import load_encoded
from corollary.loaders.encoded_format import is_encoded
from corollary.loaders.fetching import document_at
from corollary.loaders.files import chunks_of_lines, files_in, parsed_ahead
from corollary.loaders.formats import LINE_FORMATS, STANDARD_STREAM, input_error
from corollary.loaders.gathering import Gathering
from corollary.loaders.labels import free_label
from corollary.loaders.line_kernel import find_terms
from corollary.loaders.ntriples import BadLine, parse_chunk, parse_line, unsupported
from corollary.loaders.read_ahead import ReadAhead
from corollary.loaders.translating import Translation
from corollary.loaders.tuning import (
    MIN_BYTES_IF_COMPILED,
    MIN_BYTES_TO_COMPILE,
    TRIPLES_PER_CHUNK_READ,
    USUAL_COMPRESSION,
)
from corollary.terms.dictionary import Ids, TermDictionary

Columns = tuple[Ids, Ids, Ids]
"""Subjects, predicates and objects: term ids, in uint32 arrays of equal length."""


MEGABYTE = 1_000_000


class DocumentTerms(dict[object, int]):
    """The ids of one document's terms, keyed by pyoxigraph's term objects; a miss asks the dictionary.

    If ``new_label`` is given, it makes the labels of all blank nodes. If ``graph`` is given, rows have a
    fourth column with the graph name, and ``graph`` for statements of the default graph.
    """

    def __init__(
        self,
        name: str,
        dictionary: TermDictionary,
        new_label: Callable[[], str] | None = None,
        graph: int | None = None,
    ) -> None:
        self.dictionary = dictionary
        self.new_label = new_label
        self.graph = graph
        self._name = name
        if graph is not None:
            self[pyoxigraph.DefaultGraph()] = graph

    def __missing__(self, term: object) -> int:
        if reason := unsupported(term):
            remedy = "leave it out, or say it in another way"
            raise input_error(f"{self._name}: a term is not supported", remedy, detail=reason)
        text = str(term)
        if text.startswith("_:"):
            text = self.new_label() if self.new_label else free_label(text, self.dictionary)
        term_id = self[term] = self.dictionary.encode(text)
        return term_id

    def rows(self, quads: Iterable[pyoxigraph.Quad]) -> Iterator[Ids]:
        """Yield the ids as arrays of shape (n, 3), or (n, 4) with graph names."""
        width = 3 if self.graph is None else 4
        wanted = compress(chain.from_iterable(quads), cycle((1, 1, 1, width - 3)))
        ids = map(self.__getitem__, wanted)
        while len(chunk := np.fromiter(islice(ids, width * TRIPLES_PER_CHUNK_READ), np.uint32)):
            yield chunk.reshape(-1, width)


def read(
    paths: Iterable[str | os.PathLike[str]],
    dictionary: TermDictionary,
    progress: Progress | None = None,
    *,
    format: str | None = None,
    skipped: list[BadLine] | None = None,
) -> Columns:
    """Read all triples of some files as three uint32 columns of equal length, in document order.

    The format is that of the suffix (``.nt .ttl .rdf .owl .jsonld`` ..., optionally followed by ``.gz``,
    ``.bz2`` or ``.zst``). ``format`` is for standard input (``-``, by default N-Triples) and for names
    without a known suffix. An http or https address is fetched. A folder stands for the RDF files in it, or
    for the explicit facts of an encoded data set. Data sets are read first. The graph names of quads are
    dropped. Duplicates are kept. Blank nodes of different files are different. ``progress`` is called at
    least every 65,536 triples of a document.

    Raises InputError, with place and remedy, if a document cannot be found, read or parsed. If a list
    ``skipped`` is given, bad lines of N-Triples and N-Quads are appended to ``skipped`` instead.
    """
    rows = list(_rows(paths, dictionary, progress, format, skipped))
    columns = (
        np.concatenate([part[:, column] for part in rows]) if rows else np.empty(0, np.uint32)
        for column in range(3)
    )
    s, p, o = columns
    return s, p, o


def read_index(
    paths: Iterable[str | os.PathLike[str]],
    dictionary: TermDictionary,
    progress: Progress | None = None,
    *,
    format: str | None = None,
    skipped: list[BadLine] | None = None,
) -> TripleIndex:
    """As ``read``, but returns an index. Needs less memory than columns: rows are packed as they come."""
    gathering = Gathering()
    for rows in _rows(paths, dictionary, progress, format, skipped):
        gathering.add(rows)
    return TripleIndex({predicate: Relation(facts) for (_, predicate), facts in gathering.facts().items()})


def _rows(
    paths: Iterable[str | os.PathLike[str]],
    dictionary: TermDictionary,
    progress: Progress | None,
    format: str | None,
    skipped: list[BadLine] | None,
) -> Iterator[Ids]:
    paths = list(paths)
    documents = [
        document_at(name, otherwise=format)
        for name in files_in(path for path in paths if not is_encoded(path))
    ]

    def read(document: Document, small: int, ahead: ReadAhead | None) -> Iterator[tuple[Ids, int]]:
        return document_rows(document, dictionary, skipped=skipped, small=small, ahead=ahead)

    return chain(
        data_set_rows(filter(is_encoded, paths), dictionary), in_turn(documents, read, progress, graphs=False)
    )


def data_set_rows(paths: Iterable[str | os.PathLike[str]], dictionary: TermDictionary) -> Iterator[Ids]:
    """Yield the explicit facts of encoded data sets as arrays of shape (n, 3), one per predicate."""
    for path in paths:
        data = load_encoded(path, inferred=False)
        translation = Translation(data.dictionary, dictionary)
        for predicate, relation in data.explicit.relations():
            keys = relation.pairs().keys
            names = np.full(keys.size, translation.id(predicate), np.uint32)
            ends = map(translation.column, (firsts(keys), seconds(keys)))
            yield np.stack([next(ends), names, next(ends)], axis=1)


Reader = Callable[[Document, int, ReadAhead | None], Iterator[tuple[Ids, int]]]
"""Reads a document: yields arrays of rows with the number of bytes read so far.

The other arguments are the parameters ``small`` and ``ahead`` of ``document_rows``.
"""


def in_turn(
    documents: Sequence[Document],
    read: Reader,
    progress: Progress | None,
    others: Collection[str] = (),
    *,
    graphs: bool,
) -> Iterator[Ids]:
    """Yield the rows of several documents, and report progress.

    ``others``: the names of documents that ``read`` does not read by ``document_rows``. ``graphs``: whether
    the rows of ``read`` have graphs. Raises InputError for a missing document before the first is read.
    """
    sizes = [document.size() for document in documents]
    is_size_known = all(document.name != STANDARD_STREAM for document in documents)
    expected = sum(
        size * (USUAL_COMPRESSION if document.compression else 1)
        for size, document in zip(sizes, documents, strict=True)
    )
    limit = (
        min(MIN_BYTES_IF_COMPILED, MIN_BYTES_TO_COMPILE) if find_terms.is_compiled else MIN_BYTES_TO_COMPILE
    )
    small = limit if expected < MIN_BYTES_TO_COMPILE else 0  # many small documents are large in sum
    triples = before = 0
    total = sum(sizes) if is_size_known else 0
    of = f" of {total / MEGABYTE:,.0f}" if total else ""

    def may_be_ahead(listed: tuple[Document, int]) -> bool:
        document, size = listed
        is_line_document = document.format in LINE_FORMATS and document.name not in others
        return is_line_document and size >= small and document.can_be_read_again()

    for are_ahead, some in groupby(zip(documents, sizes, strict=True), may_be_ahead):
        run = list(some)
        listed = [document for document, _ in run]
        with closing(ReadAhead(listed, graphs=graphs)) if are_ahead and run[1:] else nullcontext() as ahead:
            for document, size in run:
                for rows, bytes_read in read(document, small, ahead):
                    yield rows
                    triples += len(rows)
                    if progress is not None:
                        done = before + bytes_read
                        text = f"reading {document.name}, {done / MEGABYTE:,.0f}{of} MB"
                        progress(text, triples, done / total if total else None)
                before += size


def document_rows(
    document: Document,
    dictionary: TermDictionary,
    *,
    graph: int | None = None,
    new_label: Callable[[], str] | None = None,
    skipped: list[BadLine] | None = None,
    prefixes: dict[str, str] | None = None,
    small: int = MIN_BYTES_TO_COMPILE,
    ahead: ReadAhead | None = None,
) -> Iterator[tuple[Ids, int]]:
    """Yield the rows of a document as arrays, each with the number of bytes read so far.

    The shape is (n, 3); with ``graph`` it is (n, 4), and ``graph`` is the graph of statements that name none.
    If ``new_label`` is given, it makes the labels of all blank nodes. The document's declarations of prefixes
    are added to ``prefixes``. Bad lines of N-Triples and N-Quads are appended to ``skipped``; if ``skipped``
    is None, the first bad line raises InputError. A line document of fewer than ``small`` bytes is parsed
    without compiled code, and gets the same ids. With ``ahead``, of which it is the next, it is read there.
    """
    terms = DocumentTerms(document.name, dictionary, new_label, graph)
    if document.format in LINE_FORMATS:
        yield from line_rows(document, terms, skipped, small, ahead)
        return
    with document.parsed() as (raw, quads):
        for rows in terms.rows(quads):
            yield rows, raw.tell()
        if prefixes is not None:
            prefixes.update(quads.prefixes)


def line_rows(
    document: Document,
    terms: DocumentTerms,
    skipped: list[BadLine] | None,
    small: int,
    ahead: ReadAhead | None = None,
) -> Iterator[tuple[Ids, int]]:
    """As ``document_rows``, for N-Triples or N-Quads."""
    numbering = Numbering(
        document, terms.dictionary, graph=terms.graph, new_label=terms.new_label, skipped=skipped
    )
    if ahead is not None:
        for statements, bytes_read in ahead.of_next():
            yield numbering.rows(statements), bytes_read
        return
    parse = partial(parse_chunk, format=document.format, name=document.name, graphs=terms.graph is not None)
    with document.streamed() as (raw, stream):
        head = stream.read(small)
        if len(head) < small:
            whole = replace(document, content=head, compression="")
            for rows in _small_document_rows(whole, head, terms, skipped):
                yield rows, raw.tell()
            return
        for statements in parsed_ahead(chunks_of_lines(head, stream), parse):
            yield numbering.rows(statements), raw.tell()


def _small_document_rows(
    document: Document, content: bytes, terms: DocumentTerms, skipped: list[BadLine] | None
) -> Iterator[Ids]:
    if skipped is not None:
        yield from terms.rows(_good_quads(document, content, skipped))
        return
    with document.parsed() as (_, quads):
        yield from terms.rows(quads)


def _good_quads(document: Document, content: bytes, skipped: list[BadLine]) -> Iterator[pyoxigraph.Quad]:
    """The statements of the good lines; bad lines are appended to ``skipped``."""
    for number, line in enumerate(content.split(b"\n"), start=1):
        found = parse_line(line, document.format, document.name, number)
        if isinstance(found, BadLine):
            skipped.append(found)
        else:
            yield from found
