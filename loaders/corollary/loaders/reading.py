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
import sys
import zlib
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from itertools import chain, compress, count, cycle, islice
from pathlib import Path
from typing import BinaryIO, cast
from xml.parsers import expat

import numpy as np
import pyoxigraph
from pyoxigraph import RdfFormat

from corollary.language.errors import InputError, Span
from corollary.loaders.formats import (
    AMBIGUOUS,
    LINE_FORMATS,
    STANDARD_STREAM,
    FileKind,
    decompressed,
    format_of,
    input_error,
    sniff,
)
from corollary.terms.dictionary import Ids, Kind, TermDictionary

Columns = tuple[Ids, Ids, Ids]

Progress = Callable[[str, int, float | None], None]
"""Called now and then: what is being done, triples so far, share done (None where unknown)."""

TRIPLES_A_CHUNK = 1 << 16

_ANONYMOUS = re.compile(r"_:[a-f][0-9a-f]{27,31}")
_POSITION = re.compile(r"^Parser error (at|between) line .*?: ")
_LONGEST_QUOTED_LINE = 160


class _FileTerms(dict[object, int]):
    """The ids of one file's terms, keyed by pyoxigraph's term objects; a miss asks the dictionary."""

    def __init__(self, name: str, dictionary: TermDictionary) -> None:
        self._name = name
        self._dictionary = dictionary

    def __missing__(self, term: object) -> int:
        if isinstance(term, pyoxigraph.Triple):
            remedy = "statements about statements are supported by reification only"
            raise input_error(f"{self._name}: the triple term <<( {term} )>>", remedy)
        text = str(term)
        if text.startswith("_:"):
            text = self._free_label(text)
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
    sizes = [0 if name == STANDARD_STREAM else _size(name) for name in names]
    known_size = sum(sizes) if STANDARD_STREAM not in names else 0
    for position, name in enumerate(names):
        before = sum(sizes[:position])
        for chunk, bytes_read in _read_file(name, dictionary, _override(name, format)):
            chunks.append(chunk)
            triples += len(chunk)
            if progress is not None:
                share = (before + bytes_read) / known_size if known_size else None
                progress(f"reading {name}", triples, share)
    rows = np.concatenate(chunks) if chunks else np.empty((0, 3), np.uint32)
    s, p, o = (np.ascontiguousarray(rows[:, column]) for column in range(3))
    return s, p, o


def _override(name: str, format: str | None) -> str | None:
    """A format given by the user is for standard input and names that do not tell; not for the others."""
    if name != STANDARD_STREAM:
        try:
            format_of(name)
        except InputError:
            return format
        return None
    return format


def _size(name: str) -> int:
    """The bytes of a file. All files are looked for before the first is read."""
    path = Path(name)
    if path.is_dir():
        remedy = f"name the files in it, as in {path / '*.nt'}"
        raise input_error(f"{name}: this is a directory", remedy)
    try:
        return path.stat().st_size
    except OSError as error:
        beside = path.parent
        remedy = f"the folder {beside} does not exist either" if not beside.is_dir() else ""
        raise input_error(f"{name}: {error.strerror}", remedy) from None


@contextmanager
def _opened(name: str) -> Iterator[BinaryIO]:
    """The raw, still compressed, bytes of a file or of standard input."""
    if name == STANDARD_STREAM:
        yield sys.stdin.buffer
        return
    with open(name, "rb") as raw:
        yield raw


def _read_file(name: str, dictionary: TermDictionary, override: str | None) -> Iterator[tuple[Ids, int]]:
    """Chunks of shape (triples, 3), and how many bytes of the file have been read at each."""
    kind = FileKind.of(name)
    format = format_of(name, override)
    try:
        with _opened(name) as raw:
            stream = decompressed(raw, kind.compression)
            if kind.suffix in AMBIGUOUS and override is None:
                format = sniff(_peek(stream), name)
            terms = _FileTerms(name, dictionary)
            for chunk in _chunks(_quads(name, stream, format), terms):
                yield chunk, 0 if name == STANDARD_STREAM else raw.tell()
    except (SyntaxError, expat.ExpatError) as error:
        raise _syntax_error(name, format, error) from None
    except (EOFError, zlib.error, OSError) as error:
        reason = "the compressed data end too early or are damaged" if kind.compression else "cannot be read"
        remedy = "get the file again; what it held so far was not used"
        raise input_error(f"{name}: {reason} ({error})", remedy) from None


def _peek(stream: BinaryIO) -> bytes:
    first = stream.read(4096)
    stream.seek(0)
    return first


class _CheckedXML:
    """The bytes of an XML file on their way to pyoxigraph, which does not notice when a file is cut off."""

    def __init__(self, stream: BinaryIO) -> None:
        self._stream = stream
        self._parser = expat.ParserCreate()

    def read(self, size: int = -1) -> bytes:
        data = self._stream.read(size)
        self._parser.Parse(data, not data)
        return data


def _quads(name: str, stream: BinaryIO, format: RdfFormat) -> pyoxigraph.QuadParser:
    has_base = name != STANDARD_STREAM and format not in LINE_FORMATS
    return pyoxigraph.parse(
        cast(BinaryIO, _CheckedXML(stream)) if format == RdfFormat.RDF_XML else stream,
        format,
        base_iri=Path(name).resolve().as_uri() if has_base else None,
        # N3 has "graphs" too: formulas, such as the two sides of a rule. What they hold is not asserted.
        without_named_graphs=format == RdfFormat.N3,
    )


def _chunks(quads: Iterable[pyoxigraph.Quad], terms: _FileTerms) -> Iterator[Ids]:
    """Arrays of shape (triples, 3)."""
    wanted = compress(chain.from_iterable(quads), cycle((1, 1, 1, 0)))  # all but the graph names
    ids = map(terms.__getitem__, wanted)
    while len(chunk := np.fromiter(islice(ids, 3 * TRIPLES_A_CHUNK), np.uint32)):
        yield chunk.reshape(-1, 3)


def _syntax_error(name: str, format: RdfFormat, error: SyntaxError | expat.ExpatError) -> InputError:
    """The parser's complaint with file, line and column as far as it tells, and a remedy."""
    if isinstance(error, expat.ExpatError):
        reason = expat.ErrorString(error.code)
        line, column = error.lineno, error.offset + 1
    else:
        reason = _POSITION.sub("", error.msg)
        line, column = error.lineno or 0, error.offset or 1
    message = f"not {format.name}: {reason}"
    if "No scheme found" in reason:
        remedy = "a relative IRI needs a base: declare one in the file"
    elif "LoadDocumentCallback" in reason:
        remedy = "remote contexts are not fetched: put the context into the file"
    elif "Named graphs" in reason:
        remedy = "N3 formulas and rules are not data: leave them out"
    elif "end of file" in reason or "no element found" in reason:
        remedy = "the file may be cut off: get it again"
    else:
        remedy = "mend the file, or name its format if it is another one"
    if not line:  # semantic errors in RDF/XML have no place
        return input_error(f"{name}: {message}", remedy)
    return input_error(message, remedy, Span(name, line, column, _line(name, line)))


def _line(name: str, number: int) -> str:
    """One line of a file, to show in a message; nothing if it cannot be shown."""
    if name == STANDARD_STREAM:
        return ""
    with _opened(name) as raw:
        line = next(islice(decompressed(raw, FileKind.of(name).compression), number - 1, None), b"")
    text = line.decode(errors="replace").rstrip("\r\n").replace("\t", " ")
    return text if len(text) <= _LONGEST_QUOTED_LINE else ""
