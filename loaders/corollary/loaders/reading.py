"""Files to columns or to an index: every term becomes its id, every statement a row.

Large N-Triples and N-Quads documents are parsed by compiled loops (``bulk``). pyoxigraph parses all else;
there the inner loop is one look-up per term in a Python dict keyed by pyoxigraph's own term objects, and
only a miss makes the term's text.

Invariant: a blank node is the same node as another exactly if label *and* file are the same.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from itertools import chain, compress, cycle, islice
from typing import BinaryIO

import numpy as np
import pyoxigraph

from corollary.index.pairs import Pairs, pack
from corollary.index.relation import Relation
from corollary.index.triples import TripleIndex, grouped
from corollary.kernels.sorted import Keys
from corollary.language.errors import InputError
from corollary.loaders.bulk import bulk_rows
from corollary.loaders.documents import Document, size_of
from corollary.loaders.files import THREADS, files_in
from corollary.loaders.formats import LINE_FORMATS, STANDARD_STREAM, input_error
from corollary.loaders.labels import free_label
from corollary.loaders.ntriples import BadLine, parse_line, unsupported
from corollary.terms.dictionary import Ids, TermDictionary

Columns = tuple[Ids, Ids, Ids]

Progress = Callable[[str, int, float | None], None]
"""Called now and then: what is being done, triples so far, share done (None where unknown)."""

TRIPLES_A_CHUNK = 1 << 16

SMALL = 1 << 24
"""Bytes; less than that is read before the compiled loops are even there."""

USUAL_COMPRESSION = 10
"""How many times smaller compressed N-Triples are, more or less."""

ROWS_A_BLOCK = 1 << 20
"""So many rows are sorted by predicate at once."""


class DocumentTerms(dict[object, int]):
    """The ids of one document's terms, keyed by pyoxigraph's term objects; a miss asks the dictionary.

    ``new_label`` gives each blank node another label than the document's.
    """

    def __init__(
        self, name: str, dictionary: TermDictionary, new_label: Callable[[], str] | None = None
    ) -> None:
        self._name = name
        self._dictionary = dictionary
        self._new_label = new_label

    def __missing__(self, term: object) -> int:
        if reason := unsupported(term):
            raise input_error(f"{self._name}: {reason}", "leave it out, or say it in another way")
        text = str(term)
        if text.startswith("_:"):
            text = self._new_label() if self._new_label else free_label(text, self._dictionary)
        term_id = self[term] = self._dictionary.encode(text)
        return term_id


def read(
    paths: Iterable[str | os.PathLike[str]],
    dictionary: TermDictionary,
    progress: Progress | None = None,
    *,
    format: str | None = None,
    skipped: list[BadLine] | None = None,
) -> Columns:
    """All triples of some files as three uint32 columns of equal length, in the order read.

    The format goes by suffix (``.nt .ttl .rdf .owl .jsonld`` ..., then maybe ``.gz``, ``.bz2`` or ``.zst``);
    ``-`` is standard input, N-Triples unless ``format`` says otherwise, as it also does for names without a
    known suffix. A folder stands for the RDF files in it. Of quads the graph name is dropped. Duplicates
    stay. Blank nodes of different files are different. ``progress`` is called at least every 65,536 triples.

    Raises InputError, with the place and a remedy, for what cannot be found, read or parsed; but if a list
    ``skipped`` is given, the bad lines of N-Triples and N-Quads are put there, and reading goes on.
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
    """As ``read``, but as an index, which takes less memory than columns first: rows go as they are read."""
    parts: dict[int, list[Keys]] = {}
    block: list[Ids] = []
    waiting = 0
    for rows in _rows(paths, dictionary, progress, format, skipped):
        block.append(rows)
        waiting += len(rows)
        if waiting >= ROWS_A_BLOCK:
            _group(block, parts)
            waiting = 0
    _group(block, parts)

    def relation(predicate: int) -> Relation:
        keys = parts.pop(predicate)
        return Relation(Pairs.of(np.concatenate(keys) if len(keys) > 1 else keys[0]))

    predicates = list(parts)
    with ThreadPoolExecutor(THREADS) as pool:
        return TripleIndex(dict(zip(predicates, pool.map(relation, predicates), strict=True)))


def _group(block: list[Ids], parts: dict[int, list[Keys]]) -> None:
    """Move some rows to the facts of their predicates."""
    if block:
        rows = np.concatenate(block)
        block.clear()
        for predicate, keys in grouped(rows[:, 1].copy(), pack(rows[:, 0], rows[:, 2])):
            parts.setdefault(predicate, []).append(keys)


def _rows(
    paths: Iterable[str | os.PathLike[str]],
    dictionary: TermDictionary,
    progress: Progress | None,
    format: str | None,
    skipped: list[BadLine] | None,
) -> Iterator[Ids]:
    """Arrays of shape (triples, 3), with progress told."""
    triples = 0
    names = files_in(paths)
    sizes = [size_of(name) for name in names]  # all are looked for before the first is read
    documents = [_document(name, format) for name in names]
    known_size = 0 if STANDARD_STREAM in names else sum(sizes)
    expected = sum(
        size * (USUAL_COMPRESSION if document.compression else 1)
        for size, document in zip(sizes, documents, strict=True)
    )
    small = SMALL if expected < SMALL else 0  # many documents, each of them small, are large together
    for position, document in enumerate(documents):
        before = sum(sizes[:position])
        for rows, bytes_read in _read(document, dictionary, skipped, small):
            yield rows
            triples += len(rows)
            if progress is not None:
                share = (before + bytes_read) / known_size if known_size else None
                progress(f"reading {document.name}", triples, share)


def _document(name: str, format: str | None) -> Document:
    """A format given by the user is for standard input and names that do not tell; not for the others."""
    if name == STANDARD_STREAM or format is None:
        return Document.in_file(name, format)
    try:
        return Document.in_file(name)
    except InputError:
        return Document.in_file(name, format)


def _read(
    document: Document, dictionary: TermDictionary, skipped: list[BadLine] | None, small: int
) -> Iterator[tuple[Ids, int]]:
    """Chunks of shape (triples, 3), and how many bytes of the document have been read at each."""
    if document.format in LINE_FORMATS:
        yield from line_rows(document, dictionary, skipped=skipped, small=small)
        return
    with document.parsed() as (raw, quads):
        for chunk in triple_chunks(quads, DocumentTerms(document.name, dictionary)):
            yield chunk, _position(document, raw)


def line_rows(
    document: Document,
    dictionary: TermDictionary,
    *,
    graph: int | None = None,
    new_label: Callable[[], str] | None = None,
    skipped: list[BadLine] | None = None,
    small: int = SMALL,
) -> Iterator[tuple[Ids, int]]:
    """Rows of an N-Triples or N-Quads document, and how many of its bytes have been read at each.

    Arrays of shape (triples, 3); or (quads, 4) if ``graph`` says in which graph those are that name none.
    ``new_label`` gives each blank node another label than the document's. Bad lines are put into
    ``skipped``; without that the first one raises InputError. A document of less than ``small`` bytes goes
    the way that needs no compiler; ids are the same.
    """
    with document.streamed() as (raw, stream):
        head = stream.read(small)
        if len(head) < small:
            whole = replace(document, content=head, compression="")
            terms = DocumentTerms(document.name, dictionary, new_label)
            for rows in _small_document_rows(whole, head, terms, graph, skipped):
                yield rows, _position(document, raw)
            return
        for rows in bulk_rows(
            document, head, stream, dictionary, graph=graph, new_label=new_label, skipped=skipped
        ):
            yield rows, _position(document, raw)


def _position(document: Document, raw: BinaryIO) -> int:
    return 0 if document.name == STANDARD_STREAM else raw.tell()


def _small_document_rows(
    document: Document,
    content: bytes,
    terms: DocumentTerms,
    graph: int | None,
    skipped: list[BadLine] | None,
) -> Iterator[Ids]:
    if graph is not None:
        terms[pyoxigraph.DefaultGraph()] = graph
    chunks = triple_chunks if graph is None else quad_chunks
    if skipped is not None:
        yield from chunks(_good_quads(document, content, skipped), terms)
        return
    with document.parsed() as (_, quads):
        yield from chunks(quads, terms)


def _good_quads(document: Document, content: bytes, skipped: list[BadLine]) -> Iterator[pyoxigraph.Quad]:
    """What the good lines say."""
    for number, line in enumerate(content.split(b"\n"), start=1):
        found = parse_line(line, document.format, document.name, number)
        if isinstance(found, BadLine):
            skipped.append(found)
        else:
            yield from found


def triple_chunks(quads: Iterable[pyoxigraph.Quad], terms: DocumentTerms) -> Iterator[Ids]:
    """Arrays of shape (triples, 3)."""
    wanted = compress(chain.from_iterable(quads), cycle((1, 1, 1, 0)))  # all but the graph names
    ids = map(terms.__getitem__, wanted)
    while len(chunk := np.fromiter(islice(ids, 3 * TRIPLES_A_CHUNK), np.uint32)):
        yield chunk.reshape(-1, 3)


def quad_chunks(quads: Iterable[pyoxigraph.Quad], terms: DocumentTerms) -> Iterator[Ids]:
    """Arrays of shape (quads, 4): subject, predicate, object, graph."""
    ids = map(terms.__getitem__, chain.from_iterable(quads))
    while len(chunk := np.fromiter(islice(ids, 4 * TRIPLES_A_CHUNK), np.uint32)):
        yield chunk.reshape(-1, 4)
