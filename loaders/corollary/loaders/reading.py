"""Files to columns: pyoxigraph parses, a dictionary turns each distinct term into its id once.

Nearly every term of a file has been seen before in it, so the inner loop is one look-up per term in
a Python dict keyed by pyoxigraph's own term objects; only a miss makes the term's text. The loop
itself runs inside numpy and itertools.

Invariant: a blank node is the same node as another exactly if label *and* file are the same. Labels
are kept while they are free; a label that another file has taken, and the random names that the
parser gives to anonymous nodes, become short new ones, so the same files always give the same text.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterable, Iterator
from itertools import chain, compress, count, cycle, islice

import numpy as np
import pyoxigraph

from corollary.language.errors import InputError
from corollary.loaders.documents import Document, size_of
from corollary.loaders.formats import STANDARD_STREAM, input_error
from corollary.terms.dictionary import Ids, Kind, TermDictionary

Columns = tuple[Ids, Ids, Ids]

Progress = Callable[[str, int, float | None], None]
"""Called now and then: what is being done, triples so far, share done (None where unknown)."""

TRIPLES_A_CHUNK = 1 << 16

_ANONYMOUS = re.compile(r"_:[a-f][0-9a-f]{27,31}")


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
        if isinstance(term, pyoxigraph.Triple):
            remedy = "statements about statements are supported by reification only"
            raise input_error(f"{self._name}: the triple term <<( {term} )>>", remedy)
        if isinstance(term, pyoxigraph.Literal) and term.direction is not None:
            raise input_error(f"{self._name}: the literal {term}", "base directions are not supported")
        text = str(term)
        if text.startswith("_:"):
            text = self._new_label() if self._new_label else self._free_label(text)
        term_id = self[term] = self._dictionary.encode(text)
        return term_id

    def _free_label(self, text: str) -> str:
        """The label itself, or if it is a random one or taken by an earlier file, a free one like it."""
        anonymous = _ANONYMOUS.fullmatch(text) is not None
        if not anonymous and self._dictionary.find(text) is None:
            return text
        stem = "_:b" if anonymous else f"{text}-"
        first = self._dictionary.count(Kind.BLANK_NODE) + 1
        return next(label for n in count(first) if self._dictionary.find(label := f"{stem}{n}") is None)


def read(
    paths: Iterable[str | os.PathLike[str]],
    dictionary: TermDictionary,
    progress: Progress | None = None,
    *,
    format: str | None = None,
) -> Columns:
    """All triples of some files as three uint32 columns of equal length, in the order read.

    The format goes by suffix (``.nt .ttl .rdf .owl .jsonld`` ..., then maybe ``.gz`` or ``.bz2``); ``-`` is
    standard input, N-Triples unless ``format`` says otherwise, as it also does for names without a known
    suffix. Of quads the graph name is dropped. Duplicates stay. Blank nodes of different files are
    different. ``progress`` is called about every 65,536 triples.

    Raises InputError, with the place and a remedy, for what cannot be found, read or parsed.
    """
    chunks: list[Ids] = []
    triples = 0
    names = [os.fspath(path) for path in paths]
    sizes = [size_of(name) for name in names]  # all are looked for before the first is read
    documents = [_document(name, format) for name in names]
    known_size = 0 if STANDARD_STREAM in names else sum(sizes)
    for position, document in enumerate(documents):
        before = sum(sizes[:position])
        for chunk, bytes_read in _read(document, dictionary):
            chunks.append(chunk)
            triples += len(chunk)
            if progress is not None:
                share = (before + bytes_read) / known_size if known_size else None
                progress(f"reading {document.name}", triples, share)
    rows = np.concatenate(chunks) if chunks else np.empty((0, 3), np.uint32)
    s, p, o = (np.ascontiguousarray(rows[:, column]) for column in range(3))
    return s, p, o


def _document(name: str, format: str | None) -> Document:
    """A format given by the user is for standard input and names that do not tell; not for the others."""
    if name == STANDARD_STREAM or format is None:
        return Document.in_file(name, format)
    try:
        return Document.in_file(name)
    except InputError:
        return Document.in_file(name, format)


def _read(document: Document, dictionary: TermDictionary) -> Iterator[tuple[Ids, int]]:
    """Chunks of shape (triples, 3), and how many bytes of the document have been read at each."""
    with document.parsed() as (raw, quads):
        for chunk in _chunks(quads, DocumentTerms(document.name, dictionary)):
            yield chunk, 0 if document.name == STANDARD_STREAM else raw.tell()


def _chunks(quads: Iterable[pyoxigraph.Quad], terms: DocumentTerms) -> Iterator[Ids]:
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
