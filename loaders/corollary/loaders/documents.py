"""A document: named bytes, decompressed and parsed; errors are reported with place and remedy.

A document is a file, standard input, or content that was fetched from an address. Invariant: every defect of
a document raises ``InputError``, and a truncated document is never accepted as a complete one.
"""

from __future__ import annotations

import codecs
import io
import os
import re
import sys
import zlib
from collections import deque
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from select import select
from typing import TYPE_CHECKING, BinaryIO, cast
from xml.parsers import expat

import pyoxigraph
from pyoxigraph import RdfFormat

from corollary.kernels.limits import check
from corollary.kernels.tuning import SECONDS_BETWEEN_CHECKS
from corollary.language.errors import Hint, InputError, Span
from corollary.loaders.formats import (
    AMBIGUOUS,
    LINE_FORMATS,
    STANDARD_STREAM,
    FileKind,
    Malformed,
    decompressed,
    format_of,
    input_error,
    not_rdf,
    sniff,
)
from corollary.loaders.jsonld import ShallowJSON
from corollary.loaders.rdfxml import OWLXML, Markup
from corollary.loaders.tuning import MAX_CHARACTERS_QUOTED

if TYPE_CHECKING:
    from _typeshed import WriteableBuffer

_POSITION = re.compile(r"^Parser error (at|between) line .*?: ")


def size_of(name: str) -> int:
    """The size of a file in bytes; 0 for standard input. Raises InputError if the file does not exist."""
    path = Path(name)
    if name == STANDARD_STREAM:
        return 0
    if path.is_dir():
        raise input_error(f"{name}: this is a directory", f"name the files in it, as in {path / '*.nt'}")
    try:
        return path.stat().st_size
    except OSError as error:
        beside = path.parent
        remedy = f"the folder {beside} does not exist either" if not beside.is_dir() else ""
        raise input_error(f"{name}: {error.strerror}", remedy) from None


@dataclass(frozen=True)
class Document:
    """Where a document is, and how to read it.

    ``content`` is the fetched content, None for files and standard input. If ``is_doubtful``, the first bytes
    of the document decide the format instead of ``format``.
    """

    name: str
    format: RdfFormat
    compression: str
    is_doubtful: bool
    base: str | None
    content: bytes | None = None

    @staticmethod
    def declared_by_content(name: str, format: str | None) -> Document:
        """As ``in_file``, but a suffix that names a format takes precedence over ``format``."""
        try:
            return Document.in_file(name, format if name == STANDARD_STREAM else None)
        except InputError:
            return Document.in_file(name, format)

    @staticmethod
    def in_file(name: str, format: str | None = None) -> Document:
        """The document in a file or on standard input (``-``); ``format`` overrides the suffix."""
        kind = FileKind.of(name)
        return Document(
            name,
            format_of(name, format),
            kind.compression,
            kind.suffix in AMBIGUOUS and format is None,
            None if name == STANDARD_STREAM else Path(name).resolve().as_uri(),
        )

    def size(self) -> int:
        """The stored size in bytes; 0 for standard input. Raises InputError if the file does not exist."""
        return size_of(self.name) if self.content is None else len(self.content)

    @contextmanager
    def opened(self) -> Iterator[BinaryIO]:
        """The raw bytes as a stream, not yet decompressed."""
        if self.content is not None:
            yield io.BytesIO(self.content)
        elif self.name == STANDARD_STREAM:
            if sys.stdin is None:
                raise input_error(f"{self.name}: standard input is closed")
            yield counted(sys.stdin.buffer)
        else:
            with open(self.name, "rb") as raw:
                yield raw if raw.seekable() else counted(raw)

    @contextmanager
    def streamed(self) -> Iterator[tuple[BinaryIO, BinaryIO]]:
        """The raw stream, whose position shows the progress, and the decompressed stream to read from.

        A byte order mark of UTF-8 is skipped.

        Raises InputError, also from within the block, if the bytes cannot be read or decompressed.
        """
        try:
            with self.opened() as raw:
                stream = decompressed(raw, self.compression)
                if _peek(stream).startswith(codecs.BOM_UTF8):
                    stream.read(len(codecs.BOM_UTF8))
                yield raw, stream
        except (EOFError, zlib.error, OSError) as error:
            if isinstance(error, PermissionError):
                raise input_error(
                    f"{self.name}: {error.strerror}", "allow this process to read the file"
                ) from None
            bad = "the compressed data end too early or are damaged" if self.compression else "cannot be read"
            remedy = "get the file again; what it held so far was not used"
            raise input_error(f"{self.name}: {bad}", remedy, detail=str(error)) from None

    @contextmanager
    def parsed(self) -> Iterator[tuple[BinaryIO, pyoxigraph.QuadParser]]:
        """The raw stream, and an iterator over the quads, which parses lazily.

        Raises InputError for every error that occurs within the block, at the statement that has it.
        """
        format = self.format
        markup: Markup | None = None
        try:
            with self.streamed() as (raw, stream):
                if self.is_doubtful:
                    format = sniff(_peek(stream), self.name)
                if format == RdfFormat.RDF_XML:
                    markup = Markup(stream, is_slow=not self.can_be_read_again())
                checked = ShallowJSON(stream) if format == RdfFormat.JSON_LD else markup or stream
                yield raw, self._quads(checked, format)
        except OWLXML:
            raise not_rdf(self.name, "OWL/XML") from None
        except Malformed as error:
            raise syntax_error(self.name, format, str(error), *error.place) from None
        except expat.ExpatError as error:
            place = error.lineno, error.offset + 1
            reason = expat.ErrorString(error.code)
            raise syntax_error(self.name, format, reason, *place, self._line(place[0])) from None
        except SyntaxError as error:
            place = self._place(error, markup)
            text = self._line(place[0]) if place[0] else ""
            raise syntax_error(self.name, format, reason_of(error), *place, text) from None

    def _quads(self, stream: BinaryIO | Markup | ShallowJSON, format: RdfFormat) -> pyoxigraph.QuadParser:
        try:
            return pyoxigraph.parse(
                cast(BinaryIO, stream),
                format,
                base_iri=None if format in LINE_FORMATS else self.base,
                # N3 formulas, such as the two sides of a rule, are parsed as graphs. Their triples are not
                # asserted.
                without_named_graphs=format == RdfFormat.N3,
            )
        except ValueError as error:
            raise input_error(f"{self.name}: {error}", "name another base IRI") from None

    def can_be_read_again(self) -> bool:
        """Whether the bytes can be read a second time: files and fetched content can, pipes cannot."""
        return self.content is not None or (self.name != STANDARD_STREAM and Path(self.name).is_file())

    def _place(self, error: SyntaxError, markup: Markup | None) -> tuple[int, int]:
        """Line and column of an error. RDF/XML is parsed again in slow mode to locate the error."""
        if markup is None:
            return error.lineno or 0, error.offset or 1
        if self.can_be_read_again():
            with self.streamed() as (_, stream), suppress(SyntaxError):
                markup = Markup(stream, is_slow=True)
                deque(self._quads(markup, RdfFormat.RDF_XML), maxlen=0)
        return markup.place()

    def _line(self, number: int) -> str:
        """The text of one line for an error message; empty if the line cannot be read again."""
        if not self.can_be_read_again():
            return ""
        with self.streamed() as (_, stream):
            line = next(islice(stream, number - 1, None), b"")
        return "" if b"\0" in line else line.decode(errors="replace")  # UTF-16


def reason_of(error: SyntaxError) -> str:
    """The message of a pyoxigraph error without the place."""
    return _POSITION.sub("", error.msg)


def syntax_error(
    name: str, format: RdfFormat, reason: str, line: int, column: int, text: str = ""
) -> InputError:
    """The error for a document that is not in ``format``, with a remedy.

    ``line`` is 0 if the place is unknown. ``text`` is the text of the line.
    """
    remedy, hint = "", None
    if "No scheme found" in reason:
        remedy = "a relative IRI needs a base: declare one in the file"
    elif "LoadDocumentCallback" in reason:
        remedy = "remote contexts are not fetched: put the context into the file"
    elif "Named graphs" in reason:
        remedy = "N3 formulas and rules are not data: leave them out"
    elif "end of file" in reason or "no element found" in reason:
        remedy = "the file may be cut off: get it again"
    elif format in LINE_FORMATS:
        remedy = "mend the file"
    else:
        hint = Hint.CORRECT_FORMAT
    if format in LINE_FORMATS:
        hint = Hint.SKIP_BAD_LINES
    if not line:
        return input_error(f"{name}: not {format.name}", remedy, detail=reason, hint=hint)
    text = text.rstrip("\r\n").replace("\t", " ")
    shown = text if len(text) <= MAX_CHARACTERS_QUOTED else ""
    return input_error(
        f"not {format.name}", remedy, Span(name, line, column, shown), detail=reason, hint=hint
    )


def _peek(stream: BinaryIO) -> bytes:
    if isinstance(stream, io.BufferedReader):
        return stream.peek(4096)
    first = stream.read(4096)
    stream.seek(0)
    return first


def counted(pipe: BinaryIO) -> BinaryIO:
    """A pipe as a stream with a position."""
    return io.BufferedReader(_Counted(pipe), 1 << 18)


class _Counted(io.RawIOBase):
    """A pipe that counts the bytes read, because a pipe itself has no position."""

    def __init__(self, stream: BinaryIO) -> None:
        self._stream = stream
        self._count = 0

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: WriteableBuffer) -> int:
        _wait_for_input(self._stream)
        with memoryview(buffer) as view:
            read = self._stream.read1(len(view))  # type: ignore[attr-defined]  # of all buffered streams
            view[: len(read)] = read
        self._count += len(read)
        return len(read)

    def tell(self) -> int:
        return self._count


def _wait_for_input(stream: BinaryIO) -> None:
    """Wait until a stream has input, or has ended. Raises Cancelled or LimitExceeded.

    A thread that is blocked in ``read`` could not be cancelled. A stream without a file descriptor never
    blocks.
    """
    if os.name != "posix":  # elsewhere, ``select`` takes sockets only
        return
    try:
        descriptor = stream.fileno()
    except (OSError, ValueError):
        return
    while not select([descriptor], [], [], SECONDS_BETWEEN_CHECKS)[0]:
        check()
