"""Columns to files: N-Triples by joining texts, every other format by pyoxigraph from N-Triples.

Invariant: a target file is the old one or the complete new one. Data are written to a temporary file in the
same folder, which replaces the target at the end.
"""

from __future__ import annotations

import bz2
import os
import re
import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO, cast

import numpy as np
import pyoxigraph
from pyoxigraph import RdfFormat

from corollary.columns import Columns, TripleIndex
from corollary.language.errors import Hint
from corollary.loaders.formats import LINE_FORMATS, STANDARD_STREAM, FileKind, format_of, input_error
from corollary.loaders.gzip_members import gzipped
from corollary.loaders.line_texts import lines_of
from corollary.loaders.tuning import FACTS_PER_BATCH, MIN_TRIPLES_COPIED, TRIPLES_PER_CHUNK_WRITTEN
from corollary.terms.dictionary import Ids, TermDictionary

if TYPE_CHECKING:
    from corollary.kernels.limits import Progress

PREFIXES = {
    "rdf": "http://www.w3.org/1999/02/22-rdf-syntax-ns#",
    "rdfs": "http://www.w3.org/2000/01/rdf-schema#",
    "owl": "http://www.w3.org/2002/07/owl#",
    "xsd": "http://www.w3.org/2001/XMLSchema#",
}

_FIRST_OF_SURROGATES = b"\xed"

_ENDS_IN_XML_NAME = re.compile(r"[^\W\d][\w.-]*>$")


def write(
    path: str | os.PathLike[str],
    facts: TripleIndex | Columns,
    dictionary: TermDictionary,
    format: str | None = None,
    progress: Progress | None = None,
) -> None:
    """Write facts to a file or (``-``) to standard output.

    ``facts``: an index, of which the facts that RDF allows are written, or three uint32 columns of equal
    length. The format is ``format`` if given, else that of the suffix. ``.gz``, ``.bz2`` and ``.zst``
    compress. N-Triples and N-Quads keep the order, and list an index in parts; other formats are sorted by
    subject. A file appears complete or not at all. ``progress`` is called before every part, which has at
    most ``FACTS_PER_BATCH`` facts of an index. Raises InputError if the file cannot be written or the format
    cannot represent the facts.
    """
    name = os.fspath(path)
    rdf_format = check_target(name, format)
    if name == STANDARD_STREAM:
        _write_to(sys.stdout.buffer, facts, dictionary, rdf_format, progress)
        sys.stdout.buffer.flush()
        return
    with replacing(name) as stream:
        _write_to(stream, facts, dictionary, rdf_format, progress)


def check_target(name: str, format: str | None = None) -> RdfFormat:
    """The format to write. Checks the target in advance: raises InputError where ``write`` would."""
    rdf_format = format_of(name, format, Hint.NAME_OUTPUT_FORMAT)
    if name != STANDARD_STREAM:
        check_folder(name)
    if Path(name).is_dir():
        raise input_error(f"{name}: this is a folder", "name a file")
    return rdf_format


def check_folder(name: str) -> None:
    """Raise InputError if there is no folder for a target."""
    folder = Path(name).parent
    if not folder.is_dir():
        raise input_error(f"{name}: there is no folder {folder}", f"make the folder {folder} first")


@contextmanager
def replacing(path: str | os.PathLike[str]) -> Iterator[BinaryIO]:
    """Open a file for writing bytes, compressed by suffix. The file appears when the block succeeds.

    If the block fails, no temporary file remains and an older file is unchanged. Pipes and devices are
    written to directly. Raises InputError if the file system reports an error.
    """
    target = Path(path)
    try:
        if target.exists() and not target.is_file() and not target.is_dir():
            with target.open("wb") as raw, _compressing(raw, str(path)) as stream:
                yield stream
            return
        target = target.resolve()  # replace the target of a symbolic link, not the link
        partial = target.with_name(f".{target.name}.{os.getpid()}.part")
        try:
            with partial.open("xb") as raw, _compressing(raw, str(path)) as stream:
                yield stream
            partial.replace(target)
        except BaseException:
            partial.unlink(missing_ok=True)
            raise
    except BrokenPipeError:
        raise
    except OSError as error:
        raise input_error(f"{path}: cannot be written: {error.strerror}") from None


@contextmanager
def _compressing(raw: BinaryIO, name: str) -> Iterator[BinaryIO]:
    compression = FileKind.of(name).compression
    if compression == "gz":
        with gzipped(raw) as members:
            yield members
    elif compression == "bz2":
        with bz2.BZ2File(raw, "wb") as stream:
            yield cast(BinaryIO, stream)
    elif compression == "zst":
        import pyarrow

        with pyarrow.CompressedOutputStream(raw, "zstd") as compressed:
            yield compressed
    else:
        yield raw


def _write_to(
    stream: BinaryIO,
    facts: TripleIndex | Columns,
    dictionary: TermDictionary,
    format: RdfFormat,
    progress: Progress | None,
) -> None:
    size = len(facts) if isinstance(facts, TripleIndex) else len(facts[0])
    if format in LINE_FORMATS:
        parts = facts.batches(FACTS_PER_BATCH) if isinstance(facts, TripleIndex) else [facts]
        counted = parts if progress is None else _reported(parts, size, progress)
        copies = size >= MIN_TRIPLES_COPIED
        stream.writelines(_copied(counted, dictionary) if copies else _lines(counted, dictionary))
        return
    columns = facts.columns() if isinstance(facts, TripleIndex) else facts
    if format == RdfFormat.RDF_XML:
        _check_element_names(columns[1], dictionary)
    chunks = _by_subject(columns)
    lines = _lines(chunks if progress is None else _reported(chunks, size, progress), dictionary)
    quads = (quad for chunk in lines for quad in pyoxigraph.parse(chunk, RdfFormat.N_TRIPLES, lenient=True))
    pyoxigraph.serialize(quads, stream, format, prefixes=PREFIXES)


def _by_subject(columns: Columns) -> Iterator[Columns]:
    """The facts sorted by subject, predicate and object, ``TRIPLES_PER_CHUNK_WRITTEN`` at a time."""
    s, p, o = columns
    order = np.lexsort((o, p, s))
    for start in range(0, len(order), TRIPLES_PER_CHUNK_WRITTEN):
        chunk = order[start : start + TRIPLES_PER_CHUNK_WRITTEN]
        yield s[chunk], p[chunk], o[chunk]


def _check_element_names(predicates: Ids, dictionary: TermDictionary) -> None:
    """Raise InputError for a predicate that RDF/XML cannot write: its IRI must end in an XML name."""
    for predicate in dictionary.decode_all(set(predicates.tolist())):
        if not _ENDS_IN_XML_NAME.search(predicate):
            raise input_error(
                f"RDF/XML cannot write the predicate {predicate}: it ends in no XML name",
                "choose another format, such as .nt or .ttl",
            )


def _reported(parts: Iterable[Columns], size: int, progress: Progress) -> Iterator[Columns]:
    """The parts; how many of ``size`` facts were taken is reported when the next part is."""
    written = 0
    for part in parts:
        progress("write", written, written / max(size, 1))
        yield part
        written += len(part[0])


def _copied(parts: Iterable[Columns], dictionary: TermDictionary) -> Iterator[bytes]:
    """As ``_lines``, by copies of the terms' bytes.

    Raises UnicodeDecodeError for lone surrogates, which no file can have.
    """
    for text in lines_of(parts, dictionary):
        content = text.tobytes()
        if _FIRST_OF_SURROGATES in content:
            content.decode()
        yield content


def _lines(parts: Iterable[Columns], dictionary: TermDictionary) -> Iterator[bytes]:
    """Yield N-Triples text, ``TRIPLES_PER_CHUNK_WRITTEN`` lines at a time."""
    for s, p, o in parts:
        for start in range(0, len(s), TRIPLES_PER_CHUNK_WRITTEN):
            chunk = slice(start, start + TRIPLES_PER_CHUNK_WRITTEN)
            texts = (dictionary.decode_all(column[chunk].tolist()) for column in (s, p, o))
            yield "".join([f"{a} {b} {c} .\n" for a, b, c in zip(*texts, strict=True)]).encode()
