"""Several line documents, parsed ahead: threads go on with the next document while the last is numbered.

Without this, all threads but one would wait at the end of every document, and that one at every beginning.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial
from itertools import count
from typing import NamedTuple

from corollary.kernels.byte_texts import Bytes
from corollary.loaders.documents import Document
from corollary.loaders.files import chunks_of_lines, parsed_ahead
from corollary.loaders.ntriples import Statements, parse_chunk


class _Chunk(NamedTuple):
    """Whole lines of a document, which has a number, and the place in its file up to which was read."""

    number: int
    document: Document
    content: Bytes
    place: int


class _ParsedChunk(NamedTuple):
    number: int
    statements: Statements
    place: int


class ReadAhead:
    """The statements of documents, chunk by chunk. Threads read and parse them ahead: see ``parsed_ahead``.

    Without ``graphs``, quads become triples. Precondition: the documents can be opened without waiting for
    another program, as files can. Close this object when it is left: the threads end then.
    """

    def __init__(self, documents: Sequence[Document], *, graphs: bool) -> None:
        self._parsed = parsed_ahead(_chunks(documents), partial(_parsed_chunk, graphs))
        self._numbers = count()
        self._waiting: _ParsedChunk | None = None

    def of_next(self) -> Iterator[tuple[Statements, int]]:
        """Yield the statements of the next document, and the bytes of its file that were read for them.

        Precondition: those of the document before were consumed. Raises InputError if the document cannot be
        read.
        """
        number = next(self._numbers)
        while True:
            chunk = self._waiting or next(self._parsed, None)
            if chunk is None or chunk.number != number:
                self._waiting = chunk
                return
            self._waiting = None
            yield chunk.statements, chunk.place

    def close(self) -> None:
        """End the threads."""
        self._parsed.close()


def _chunks(documents: Sequence[Document]) -> Iterator[_Chunk]:
    for number, document in enumerate(documents):
        with document.streamed() as (raw, stream):
            for content in chunks_of_lines(b"", stream):
                yield _Chunk(number, document, content, raw.tell())


def _parsed_chunk(graphs: bool, chunk: _Chunk) -> _ParsedChunk:
    document = chunk.document
    statements = parse_chunk(chunk.content, document.format, document.name, graphs=graphs)
    return _ParsedChunk(chunk.number, statements, chunk.place)
