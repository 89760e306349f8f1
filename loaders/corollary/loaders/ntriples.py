"""N-Triples and N-Quads: the positions of all terms in a chunk of whole lines.

A *plain* line contains the canonical text of its terms: a compiled loop finds them. Every other line is
*odd*: pyoxigraph parses odd lines one by one, and returns the canonical text or an error. Parsing needs no
dictionary and no other state, so chunks can be parsed in any thread or process, in any order.

Invariant: for every line, acceptance and terms are the same as pyoxigraph's, but for terms that the engine
does not support (``unsupported``): such a line is bad.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pyoxigraph
from pyoxigraph import RdfFormat

from corollary.kernels.byte_texts import Bytes, Places
from corollary.language.errors import InputError
from corollary.loaders.documents import reason_of, syntax_error
from corollary.loaders.line_kernel import ABOUT_ODD, RECENT_IRIS, TERMS, find_terms
from corollary.loaders.tuning import BYTES_PER_SHORT_LINE
from corollary.terms.texts import Texts

_LF, _CR = b"\n\r"

_LINE_END = b"\r\n"


@dataclass(frozen=True, slots=True)
class BadLine:
    """A line with an error: its place (line and column count from 1), the reason, and the line's text."""

    name: str
    line: int
    column: int
    reason: str
    text: str

    def error(self, format: RdfFormat) -> InputError:
        """The error that aborts a load."""
        return syntax_error(self.name, format, self.reason, self.line, self.column, self.text)


@dataclass(slots=True)
class Statements:
    """The statements of a chunk in order: ``places`` has ``TERMS`` numbers of texts for each of them.

    They are subject, predicate, object and graph. The text of number 0 is empty: the graph of a triple.
    ``lines`` is the number of lines. The line numbers of ``bad`` count from 1 within the chunk.
    """

    texts: Texts
    places: Places
    lines: int
    bad: list[BadLine]

    def __len__(self) -> int:
        return self.places.size // TERMS


def parse_chunk(
    data: Bytes, format: RdfFormat = RdfFormat.N_TRIPLES, name: str = "", *, graphs: bool = True
) -> Statements:
    """Parse a chunk. Without ``graphs``, quads become triples.

    Precondition: ``data`` is a writable uint8 array of whole lines, of which the caller has no further use.
    """
    terms = TERMS if format == RdfFormat.N_QUADS else TERMS - 1
    kept = TERMS if graphs else TERMS - 1
    places, starts, lengths, odd, lines = _terms_in(data, terms, kept)
    if not odd.size:
        return Statements(Texts.of(data, starts, lengths), places, lines, [])
    careful = _Careful(data, format, name, kept)
    for begin, end, row, rows, line in odd.reshape(-1, ABOUT_ODD).tolist():
        careful.read(begin, end, row, rows, line)
    return Statements(careful.texts(places, starts, lengths), careful.statements(places), lines, careful.bad)


def _terms_in(data: Bytes, terms: int, kept: int) -> tuple[Places, Places, Places, Places, int]:
    """``places``, ``starts``, ``lengths`` and ``odd`` of ``find_terms``, and the number of lines."""
    room = data.size // BYTES_PER_SHORT_LINE + 1
    while True:
        places: Places = np.empty(TERMS * room, np.int64)
        starts: Places = np.empty(TERMS * room + 1, np.int64)
        lengths: Places = np.empty(TERMS * room + 1, np.int64)
        odd: Places = np.empty(ABOUT_ODD * room, np.int64)
        authority: Places = np.zeros(2, np.int64)
        recent: Places = np.zeros(RECENT_IRIS, np.int64)
        counts: Places = np.zeros(5, np.int64)
        with np.errstate(over="ignore"):  # arithmetic modulo 2 ** 64 is intended
            find_terms(data, terms, kept, places, starts, lengths, odd, authority, recent, counts)
        rows, odds, lines, texts, size = counts.tolist()
        if size == data.size:
            return places[: TERMS * rows], starts[:texts], lengths[:texts], odd[: ABOUT_ODD * odds], lines
        room = int(np.count_nonzero((data == _LF) | (data == _CR))) + 1


class _Careful:
    """Parses the odd lines of a chunk one by one with pyoxigraph, and fills the rows that they have."""

    def __init__(self, data: Bytes, format: RdfFormat, name: str, kept_terms: int) -> None:
        self._data = data
        self._bytes = memoryview(data)  # type: ignore[arg-type]
        self._format = format
        self._name = name
        self._kept_terms = kept_terms
        self._rows: list[int] = []
        self._empty_rows: list[int] = []
        self._starts: list[int] = []
        self._lengths: list[int] = []
        self._behind: list[bytes] = []
        self._size = data.size
        self.bad: list[BadLine] = []

    def read(self, begin: int, end: int, row: int, rows: int, line: int) -> None:
        """Parse the bytes from ``begin`` to ``end``, a line with ``line`` lines before it.

        Its statements have ``rows`` rows, from ``row`` on. Their texts are written over the line, if they are
        not longer.
        """
        found = parse_line(bytes(self._bytes[begin:end]), self._format, self._name, line + 1)
        if isinstance(found, BadLine):
            self.bad.append(found)
            found = []
        self._rows += range(row, row + len(found))
        self._empty_rows += range(row + len(found), row + rows)
        texts = [self._text(term, place) for quad in found for place, term in enumerate(quad)]
        content = b"".join(texts)
        if len(content) <= end - begin:
            self._bytes[begin : begin + len(content)] = content
        else:
            begin = self._size
            self._behind.append(content)
            self._size += len(content)
        for text in texts:
            self._starts.append(begin if text else 0)
            self._lengths.append(len(text))
            begin += len(text)

    def _text(self, term: object, place: int) -> bytes:
        is_left_out = place >= self._kept_terms or isinstance(term, pyoxigraph.DefaultGraph)
        return b"" if is_left_out else str(term).encode()

    def texts(self, places: Places, starts: Places, lengths: Places) -> Texts:
        """The texts of all lines. Fills the rows of the odd ones."""
        rows = places.reshape(-1, TERMS)
        numbers = rows[self._rows].reshape(-1)
        starts[numbers], lengths[numbers] = self._starts, self._lengths
        rows[self._rows] = np.where(lengths[numbers] > 0, numbers, 0).reshape(-1, TERMS)
        behind: Bytes = np.frombuffer(b"".join(self._behind), np.uint8)
        data = np.concatenate((self._data, behind)) if behind.size else self._data
        return Texts.of(data, starts, lengths)

    def statements(self, places: Places) -> Places:
        """The rows that have a statement."""
        if not self._empty_rows:
            return places
        rows: Places = np.delete(places.reshape(-1, TERMS), self._empty_rows, axis=0)
        return rows.reshape(-1)


def parse_line(content: bytes, format: RdfFormat, name: str, line: int) -> list[pyoxigraph.Quad] | BadLine:
    """The statements (usually one) of the line with the number ``line``, or its error."""
    content = content.rstrip(_LINE_END)
    column = 1
    try:
        quads = list(pyoxigraph.parse(content, format))
        reason = next(filter(None, [unsupported(quad.object) for quad in quads]), "")
        if not reason:
            return quads
    except SyntaxError as error:
        line += (error.lineno or 1) - 1  # for pyoxigraph a lone CR ends a line, too
        column, reason = error.offset or 1, reason_of(error)
    except MemoryError as error:
        reason = f"too long a line ({error})"
    return BadLine(name, line, column, reason, content.decode(errors="replace"))


def unsupported(term: object) -> str:
    """Why the engine does not support a valid RDF term; empty if it does."""
    if isinstance(term, pyoxigraph.Triple):
        return (
            f"the triple term <<( {term} )>>: statements about statements are supported by reification only"
        )
    if isinstance(term, pyoxigraph.Literal) and term.direction is not None:
        return f"the literal {term}: base directions are not supported"
    return ""
