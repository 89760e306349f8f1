"""The RDF format and the compression of a file: by its name, and for ambiguous suffixes by its first bytes.

Invariant: a file of unknown format is refused, with the list of known suffixes. The format is never guessed.
"""

from __future__ import annotations

import bz2
import gzip
import io
import re
from dataclasses import dataclass
from pathlib import PurePath
from typing import BinaryIO

from pyoxigraph import RdfFormat

from corollary.language.errors import Diagnostic, Hint, InputError, Span

FORMATS = {
    "nt": RdfFormat.N_TRIPLES,
    "ntriples": RdfFormat.N_TRIPLES,
    "nq": RdfFormat.N_QUADS,
    "nquads": RdfFormat.N_QUADS,
    "ttl": RdfFormat.TURTLE,
    "turtle": RdfFormat.TURTLE,
    "trig": RdfFormat.TRIG,
    "n3": RdfFormat.N3,
    "rdf": RdfFormat.RDF_XML,
    "rdfs": RdfFormat.RDF_XML,
    "owl": RdfFormat.RDF_XML,
    "xml": RdfFormat.RDF_XML,
    "jsonld": RdfFormat.JSON_LD,
    "json": RdfFormat.JSON_LD,
}
"""Formats by file name suffix, without the dot. The suffixes also serve as format names."""

LINE_FORMATS = (RdfFormat.N_TRIPLES, RdfFormat.N_QUADS)
"""Formats with one statement per line, without prefixes, relative IRIs and anonymous blank nodes."""

COMPRESSIONS = ("gz", "bz2", "zst")

AMBIGUOUS = ("owl", "rdf", "rdfs", "xml")
"""Suffixes that real files use for several syntaxes, Turtle among them."""

STANDARD_STREAM = "-"


def input_error(
    message: str, remedy: str = "", span: Span | None = None, *, detail: str = "", hint: Hint | None = None
) -> InputError:
    """An InputError from its parts. Only ``detail`` may quote the content of the file."""
    return InputError(Diagnostic(message, span, remedy, detail, hint))


@dataclass(frozen=True, slots=True)
class FileKind:
    """The suffix of a file name that names the format, and the compression. Either may be empty."""

    suffix: str
    compression: str

    @classmethod
    def of(cls, path: str) -> FileKind:
        """``data.nt.gz`` -> ``nt`` and ``gz``. Suffixes are case-insensitive."""
        suffixes = [suffix[1:].lower() for suffix in PurePath(path).suffixes]
        compression = suffixes.pop() if suffixes and suffixes[-1] in COMPRESSIONS else ""
        return cls(suffixes[-1] if suffixes else "", compression)


def named_format(name: str) -> RdfFormat:
    """The format of a name such as ``ttl``, ``json-ld`` or ``text/turtle``. Raises InputError if unknown."""
    found = FORMATS.get(name.lower().removeprefix(".").replace("-", "")) or RdfFormat.from_media_type(name)
    if found is None:
        raise input_error(f"unknown format '{name}'", f"it is one of {', '.join(FORMATS)}")
    return found


def format_of(path: str, override: str | None = None, hint: Hint = Hint.NAME_FORMAT) -> RdfFormat:
    """The format of a path: ``override`` if given, else by suffix; N-Triples for ``-``.

    Raises InputError, with ``hint``, for a suffix that names no format.
    """
    if override is not None:
        return named_format(override)
    if path == STANDARD_STREAM:
        return RdfFormat.N_TRIPLES
    suffix = FileKind.of(path).suffix
    if suffix not in FORMATS:
        complaint = f"'.{suffix}' is no suffix of an RDF format" if suffix else "the name has no suffix"
        known = " ".join(f".{name}" for name in FORMATS)
        remedy = f"use one of the suffixes {known} (and .gz, .bz2 or .zst after it)"
        raise input_error(f"{path}: {complaint}", remedy, hint=hint)
    return FORMATS[suffix]


def decompressed(raw: BinaryIO, compression: str) -> BinaryIO:
    """A stream of the decompressed bytes of ``raw``; ``raw`` itself if ``compression`` is empty."""
    if compression == "gz":
        return io.BufferedReader(gzip.GzipFile(fileobj=raw, mode="rb"), 1 << 18)
    if compression == "bz2":
        return io.BufferedReader(bz2.BZ2File(raw, "rb"), 1 << 18)
    if compression == "zst":
        import pyarrow

        return io.BufferedReader(pyarrow.CompressedInputStream(raw, "zstd"), 1 << 18)
    return raw


_NOT_RDF = (
    (re.compile(rb"(Prefix|Ontology)\s*\("), "OWL functional syntax"),
    (re.compile(rb"Prefix:|Ontology:"), "Manchester syntax"),
    (re.compile(rb"format-version:"), "OBO format"),
)
_XML = re.compile(rb"<\?xml\s|<!DOCTYPE|<!--|<(\w+:)?RDF\b|<[\w:.-]+\s")
"""The beginning of an XML document. ``<``, a name and a space cannot begin an IRI of Turtle."""


class Malformed(Exception):
    """A document has an error that pyoxigraph does not detect; ``place`` is its line and column."""

    def __init__(self, reason: str, place: tuple[int, int] = (1, 1)) -> None:
        super().__init__(reason)
        self.place = place


def not_rdf(path: str, syntax: str) -> InputError:
    """The error for an ontology in a syntax other than RDF."""
    remedy = "convert it to RDF first, for example with `robot convert --output ontology.ttl`"
    return input_error(f"{path}: this is {syntax}, which is not RDF", remedy)


def sniff(first: bytes, path: str) -> RdfFormat:
    """The format of a file with an ambiguous suffix (``.owl``), from its first bytes.

    Raises InputError for OWL functional syntax, Manchester syntax and OBO, which are not RDF. OWL/XML is
    returned as RDF/XML: only the root element, which is read later, distinguishes them.
    """
    text = first.removeprefix(b"\xef\xbb\xbf").lstrip()
    for pattern, name in _NOT_RDF:
        if pattern.match(text):
            raise not_rdf(path, name)
    if not text or _XML.match(text) or first.startswith((b"\xfe\xff", b"\xff\xfe")):
        return RdfFormat.RDF_XML
    return RdfFormat.JSON_LD if text.startswith(b"{") else RdfFormat.TURTLE
