"""Which RDF format a file is in, and how it is compressed: by its name, and where names lie, its first bytes.

Invariant: what cannot be told is refused with the list of what can, never guessed.
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
"""File name suffixes, without the dot; also the names that a user may give a format by."""

LINE_FORMATS = (RdfFormat.N_TRIPLES, RdfFormat.N_QUADS)
"""One statement a line, no prefixes, no relative IRIs, no anonymous blank nodes."""

COMPRESSIONS = ("gz", "bz2", "zst")

AMBIGUOUS = ("owl", "rdf", "rdfs", "xml")
"""Suffixes under which Turtle and other syntaxes are found in the wild."""

STANDARD_STREAM = "-"


def input_error(
    message: str, remedy: str = "", span: Span | None = None, *, detail: str = "", hint: Hint | None = None
) -> InputError:
    """What is wrong with a file, where, and what to do about it; only ``detail`` quotes the file."""
    return InputError(Diagnostic(message, span, remedy, detail, hint))


@dataclass(frozen=True, slots=True)
class FileKind:
    """What a file name says: the suffix that names the format, and the compression (or an empty string)."""

    suffix: str
    compression: str

    @classmethod
    def of(cls, path: str) -> FileKind:
        """``data.nt.gz`` -> ``nt`` and ``gz``; the suffixes' case does not matter."""
        suffixes = [suffix[1:].lower() for suffix in PurePath(path).suffixes]
        compression = suffixes.pop() if suffixes and suffixes[-1] in COMPRESSIONS else ""
        return cls(suffixes[-1] if suffixes else "", compression)


def named_format(name: str) -> RdfFormat:
    """The format a user names, as in ``ttl``, ``json-ld``, ``text/turtle``. InputError lists the names."""
    found = FORMATS.get(name.lower().removeprefix(".").replace("-", "")) or RdfFormat.from_media_type(name)
    if found is None:
        raise input_error(f"unknown format '{name}'", f"it is one of {', '.join(FORMATS)}")
    return found


def format_of(path: str, override: str | None = None, hint: Hint = Hint.NAME_FORMAT) -> RdfFormat:
    """The format to read or write a path in: ``override`` if given, else by suffix; ``-`` is N-Triples.

    Raises InputError for a suffix that names no format, with a ``hint`` how to name one.
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
    """The bytes behind a compressed file opened for reading; ``raw`` itself if it is not compressed."""
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
"""A name and a space after < are no IRI."""


class Malformed(Exception):
    """A document is bad in a way that pyoxigraph does not see; ``place`` is a line and a column."""

    def __init__(self, reason: str, place: tuple[int, int] = (1, 1)) -> None:
        super().__init__(reason)
        self.place = place


def not_rdf(path: str, syntax: str) -> InputError:
    """The complaint about an ontology in a syntax that is no RDF."""
    remedy = "convert it to RDF first, for example with `robot convert --output ontology.ttl`"
    return input_error(f"{path}: this is {syntax}, which is not RDF", remedy)


def sniff(first: bytes, path: str) -> RdfFormat:
    """The format of a file whose suffix says little (``.owl``), from its first bytes.

    Ontologies are also kept in syntaxes that are no RDF; those are refused by name with InputError. (OWL/XML
    is XML; what kind of XML the root element tells, when it is read.)
    """
    text = first.removeprefix(b"\xef\xbb\xbf").lstrip()
    for pattern, name in _NOT_RDF:
        if pattern.match(text):
            raise not_rdf(path, name)
    if not text or _XML.match(text) or first.startswith((b"\xfe\xff", b"\xff\xfe")):
        return RdfFormat.RDF_XML
    return RdfFormat.JSON_LD if text.startswith(b"{") else RdfFormat.TURTLE
