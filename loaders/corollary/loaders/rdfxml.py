"""Checks and recodes RDF/XML for pyoxigraph.

pyoxigraph does not detect truncated files, reports no places, and reads UTF-8 only. So expat parses the same
bytes: it reports XML errors with their place, and limits the expansion of entities at their uses. The prolog
is replaced: pyoxigraph receives a declaration of each entity with its fully expanded text. External entities
are never opened.
"""

from __future__ import annotations

import codecs
import re
from collections.abc import Iterable, Iterator
from html import escape
from itertools import chain
from typing import BinaryIO
from xml.parsers import expat

from corollary.loaders.formats import Malformed
from corollary.loaders.tuning import BYTES_READ_AT_ONCE, MAX_CHARACTERS_OF_ENTITIES

OWL = "http://www.w3.org/2002/07/owl#"
RDF = "http://www.w3.org/1999/02/22-rdf-syntax-ns#"

PREDEFINED = {"lt": "<", "gt": ">", "amp": "&", "apos": "'", "quot": '"'}

_BYTE_ORDER_MARKS = {
    codecs.BOM_UTF8: "utf-8-sig",
    codecs.BOM_UTF16_LE: "utf-16",
    codecs.BOM_UTF16_BE: "utf-16",
    b"<\0": "utf-16-le",
    b"\0<": "utf-16-be",
}
_DECLARATION = re.compile(rb"""<\?xml\s[^>]*?\sencoding\s*=\s*["']([A-Za-z][\w.-]*)["']""")
_REFERENCE = re.compile(r"&(?:#x([0-9a-fA-F]+)|#([0-9]+)|([^;]+));")
_NOT_SPACE = re.compile(rb"\S|\Z")


class OWLXML(Exception):
    """A document is in OWL/XML, a syntax other than RDF/XML."""


class Markup:
    """A readable stream of a document's bytes in UTF-8.

    Raises ``ExpatError`` for XML errors, ``OWLXML`` and ``Malformed``. With ``is_slow`` a read returns at
    most one tag, so that ``place`` locates the tag at which the reader stopped. Slow mode takes twice the
    time.
    """

    def __init__(self, stream: BinaryIO, *, is_slow: bool = False) -> None:
        self._is_slow = is_slow
        self._parser = expat.ParserCreate("utf-8")
        self._parser.StartElementHandler = self._meet_root
        self._parser.EntityDeclHandler = self._meet_entity
        self._entities = dict(PREDEFINED)
        self._room = MAX_CHARACTERS_OF_ENTITIES
        self._root: int | None = None  # its first byte
        self._root_place = 1, 1
        self._chunks = self._checked(_in_utf8(stream))
        self._chunk = b""
        self._begin = self._end = 0  # of the bytes that were returned last
        self._line = self._column = 1  # where the chunk begins

    def read(self, size: int) -> bytes:
        """At most ``size`` bytes; empty at the end."""
        if not self._is_slow or self._chunk[self._end - 1 : self._end] == b">":
            self._begin = self._end
        if self._end == len(self._chunk):
            self._line, self._column = self._place_of(self._begin)
            self._chunk = self._chunk[self._begin :]
            self._begin, self._end = 0, len(self._chunk)
            self._chunk += next(self._chunks, b"")
        start = self._end
        self._end = min(start + size, len(self._chunk))
        if self._is_slow:
            self._end = self._chunk.find(b">", start, self._end) + 1 or self._end
        return self._chunk[start : self._end]

    def place(self) -> tuple[int, int]:
        """Line and column, from 1, of the tag or text that was returned last; (1, 1) unless ``is_slow``."""
        found = _NOT_SPACE.search(self._chunk, self._begin)
        assert found is not None
        return self._place_of(found.start())

    def _place_of(self, position: int) -> tuple[int, int]:
        if not self._is_slow:
            return 1, 1
        before = self._chunk[:position]
        lines = before.count(b"\n")
        last = before.rpartition(b"\n")[2].decode(errors="replace")
        return self._line + lines, len(last) + (1 if lines else self._column)

    def _checked(self, chunks: Iterable[bytes]) -> Iterator[bytes]:
        """Check all chunks with expat. Yields declarations of all entities, then the root element onwards."""
        prolog = bytearray()
        for chunk in chain(chunks, (b"",)):
            is_prolog = self._root is None
            self._parser.Parse(chunk, not chunk)
            if not is_prolog:
                yield chunk
                continue
            prolog += chunk
            if self._root is not None:
                place = self._root_place
                yield self._declarations()
                self._line, self._column = place
                yield bytes(prolog[self._root :])
                prolog.clear()

    def _declarations(self) -> bytes:
        entities = "".join(
            f'<!ENTITY {name} "{escape(text)}">'
            for name, text in self._entities.items()
            if name not in PREDEFINED
        )
        return f'<?xml version="1.0"?><!DOCTYPE root [{entities}]>'.encode()

    def _meet_entity(self, name: str, is_parameter: bool, value: str | None, *_: object) -> None:
        """Store the expanded text of an internal entity, unless it has markup or refers to later entities."""
        if is_parameter or value is None or "<" in value or name in self._entities:
            return
        try:
            text = self._entities[name] = _REFERENCE.sub(self._referred, value)
        except KeyError:
            return
        self._room -= len(text)
        if self._room < 0:
            place = self._parser.CurrentLineNumber, self._parser.CurrentColumnNumber + 1
            raise Malformed(f"its entities have more than {MAX_CHARACTERS_OF_ENTITIES:,} characters", place)

    def _referred(self, reference: re.Match[str]) -> str:
        hexadecimal, decimal, name = reference.groups()
        if name:
            return self._entities[name]
        return chr(int(hexadecimal, 16) if hexadecimal else int(decimal))

    def _meet_root(self, name: str, attributes: dict[str, str]) -> None:
        """Detect OWL/XML by its root element. An owl:Ontology with rdf:about is RDF/XML."""
        self._parser.StartElementHandler = None
        self._root = self._parser.CurrentByteIndex
        self._root_place = self._parser.CurrentLineNumber, self._parser.CurrentColumnNumber + 1
        prefix, _, local = name.rpartition(":")
        names = {key[6:]: value for key, value in attributes.items() if key.startswith("xmlns:")}
        names[""] = attributes.get("xmlns", "")
        is_node = any(names.get(key.rpartition(":")[0]) == RDF for key in attributes if ":" in key)
        if local == "Ontology" and names.get(prefix) == OWL and not is_node:
            raise OWLXML


def _in_utf8(stream: BinaryIO) -> Iterator[bytes]:
    """The bytes of an XML document in chunks, recoded to UTF-8 if necessary."""
    first = stream.read(BYTES_READ_AT_ONCE)
    encoding = _encoding(first)
    chunks = chain((first,), iter(lambda: stream.read(BYTES_READ_AT_ONCE), b""))
    if encoding in ("utf-8", "utf8"):
        yield from chunks
        return
    try:
        bytes(4).decode(encoding)  # LookupError for codecs that are not for text
        decoder = codecs.getincrementaldecoder(encoding)()
        for chunk in chunks:
            yield decoder.decode(chunk).encode()
        decoder.decode(b"", final=True)
    except LookupError:
        raise Malformed(f"the encoding {encoding} is not known") from None
    except UnicodeError:
        raise Malformed(f"it has bytes that are no {encoding}") from None


def _encoding(first: bytes) -> str:
    """The encoding by the byte order mark, else by the XML declaration, else UTF-8."""
    for mark, encoding in _BYTE_ORDER_MARKS.items():
        if first.startswith(mark):
            return encoding
    declared = _DECLARATION.match(first)
    return declared[1].decode().lower() if declared else "utf-8"
