"""The term dictionary: RDF term <-> 32-bit id.

An id is a kind in its two top bits and a running number below: kinds are checked on whole columns
with one comparison, and since literals sort after IRIs and blank nodes, the facts that RDF forbids
(literal subjects) are one contiguous tail of every sorted relation.

A term's key is its canonical N-Triples text (``<iri>``, ``_:label``, ``"lexical"@lang``), so that
what is printed needs no further work, and equality of keys is equality of terms.
"""

from __future__ import annotations

from array import array
from collections.abc import Iterable
from enum import IntEnum

import numpy as np
from numpy.typing import NDArray

from corollary.kernels.texts import Bytes, Places
from corollary.terms.texts import Texts, TextTable

Ids = NDArray[np.uint32]

KIND_SHIFT = 30
INDEX_MASK = (1 << KIND_SHIFT) - 1


class Kind(IntEnum):
    """What an id stands for: its two top bits. ``RESERVED`` are the engine's own names."""

    IRI = 0
    BLANK_NODE = 1
    LITERAL = 2
    RESERVED = 3


BULK_KINDS = (Kind.IRI, Kind.BLANK_NODE, Kind.LITERAL)
"""The kinds that terms of data are of."""

FIRST_BYTES = {Kind.IRI: ord("<"), Kind.BLANK_NODE: ord("_"), Kind.LITERAL: ord('"')}
"""How the texts of a kind begin."""

MOST_RECENT = 1 << 16

FIRST_LITERAL = Kind.LITERAL << KIND_SHIFT
"""Smallest id that is no legal subject."""


def kind_of_text(text: str) -> Kind:
    """The kind of a term given as N-Triples text."""
    first = text[0]
    if first == "<":
        return Kind.IRI
    if first == "_":
        return Kind.BLANK_NODE
    if first == '"':
        return Kind.LITERAL
    return Kind.RESERVED


def kinds(ids: Ids) -> Ids:
    """The kinds of a column of ids, as uint32 of the same shape."""
    return ids >> np.uint32(KIND_SHIFT)


class TermDictionary:
    """A growing, append-only two-way table of terms.

    Ids are given in order of arrival and never change or go. The engine's own names (virtual
    relations) are texts that begin with a capital letter, such as ``MEMBER``.

    Terms that come one by one are Python strings: the *young* ones. What comes by the million
    (``encode_texts``) goes into a ``TextTable`` for each kind, after the young terms there are.
    """

    def __init__(self) -> None:
        self._ids: dict[str, int] = {}
        self._young: list[tuple[int, list[str]]] = [(0, []) for _ in Kind]  # number of the first, texts
        self._tables: list[TextTable] | None = None
        self._recent: dict[str, int] = {}  # what was found in the tables of late
        self.marked_literals = array("I")
        """The literals with a datatype or a language; for all others the text is the value."""

    def __len__(self) -> int:
        """How many terms there are, the engine's own names aside."""
        return sum(map(self.count, (Kind.IRI, Kind.BLANK_NODE, Kind.LITERAL)))

    def encode(self, text: str) -> int:
        """The id of a term given as canonical N-Triples text; a new one if it is new."""
        term_id = self.find(text)
        if term_id is None:
            kind = kind_of_text(text)
            first, texts = self._young[kind]
            number = first + len(texts)
            _check_room(kind, number + 1)
            term_id = self._ids[text] = kind << KIND_SHIFT | number
            texts.append(text)
            if kind == Kind.LITERAL and text[-1] != '"':
                self.marked_literals.append(term_id)
        return term_id

    def find(self, text: str) -> int | None:
        """The id of a term, or None if it has none yet."""
        term_id = self._ids.get(text)
        if term_id is None and self._tables is not None:
            term_id = self._recent.get(text)
            kind = kind_of_text(text)
            if term_id is None and kind != Kind.RESERVED:
                number = self._tables[kind].find(text)
                if number is not None:
                    term_id = kind << KIND_SHIFT | number
                    if len(self._recent) >= MOST_RECENT:
                        self._recent = {}
                    self._recent[text] = term_id
        return term_id

    def decode(self, term_id: int) -> str:
        """The N-Triples text of an id. An id never given is a broken invariant."""
        kind, number = term_id >> KIND_SHIFT, term_id & INDEX_MASK
        first, texts = self._young[kind]
        if number >= first:
            return texts[number - first]
        assert self._tables is not None
        return self._tables[kind].text(number)

    def decode_all(self, ids: Iterable[int]) -> list[str]:
        """The texts of many ids, in order."""
        if self._tables is None:
            young = [texts for _, texts in self._young]
            return [young[i >> KIND_SHIFT][i & INDEX_MASK] for i in ids]
        return list(map(self.decode, ids))

    def count(self, kind: Kind) -> int:
        """How many terms there are of one kind; their ids are ``kind << 30`` onwards."""
        first, texts = self._young[kind]
        return first + len(texts)

    def encode_texts(self, texts: Texts, ids: Ids, kinds: Iterable[Kind] = BULK_KINDS) -> None:
        """Ids of many texts at once, new ones for new texts, into ``ids``; where a text is empty, or of
        another kind than those asked for, ``ids`` is left alone. One writer at a time.
        """
        tables = self.tables()
        for kind in kinds:
            before = self.count(kind)
            tables[kind].append(texts, FIRST_BYTES[kind], kind << KIND_SHIFT, ids)
            self._have_grown(kind, before)

    def find_texts(self, texts: Texts, ids: Ids, kind: Kind) -> None:
        """As ``encode_texts``, but what is new gets the id ``ABSENT``."""
        self.tables()[kind].look_up(texts, FIRST_BYTES[kind], kind << KIND_SHIFT, ids)

    def tables(self) -> list[TextTable]:
        """All terms in order, a table for each kind but the engine's own; do not change them."""
        tables = self._tables or [TextTable() for _ in BULK_KINDS]
        for kind in BULK_KINDS:
            first, young = self._young[kind]
            if young:
                texts = Texts.of_strings(young)
                tables[kind].append(texts, FIRST_BYTES[kind], 0, np.empty(len(young), np.uint32))
                assert len(tables[kind]) == first + len(young)
        self._tables = tables  # from now on terms are found there: they can leave the other place
        for kind in BULK_KINDS:
            self._young[kind] = (len(tables[kind]), [])
        for text in [text for text in self._ids if kind_of_text(text) != Kind.RESERVED]:
            del self._ids[text]
        return tables

    @staticmethod
    def of_tables(tables: list[TextTable]) -> TermDictionary:
        """A dictionary of the terms in some tables, one for each of IRIs, blank nodes and literals."""
        dictionary = TermDictionary()
        dictionary._tables = tables
        for kind in BULK_KINDS:
            dictionary._have_grown(kind, 0)
        return dictionary

    def texts_from(self, kind: Kind, number: int) -> tuple[Bytes, Places]:
        """The texts of one of ``BULK_KINDS`` from a number on: end to end as UTF-8, and their lengths."""
        first, young = self._young[kind]
        encoded = [text.encode("utf-8", "surrogatepass") for text in young[max(number - first, 0) :]]
        content: Bytes = np.frombuffer(b"".join(encoded), np.uint8)
        lengths: Places = np.fromiter(map(len, encoded), np.int64, len(encoded))
        if number >= first:
            return content, lengths
        assert self._tables is not None
        table = self._tables[kind]
        offsets = table.offsets()[number:]
        old = table.content()[offsets[0] :]
        return np.concatenate((old, content)), np.concatenate((np.diff(offsets), lengths))

    def memory(self) -> int:
        """The bytes that the tables take."""
        return sum(table.memory() for table in self._tables or ())

    def _have_grown(self, kind: Kind, before: int) -> None:
        """Take note of new terms in a table."""
        assert self._tables is not None
        table = self._tables[kind]
        _check_room(kind, len(table))
        self._young[kind] = (len(table), [])
        if kind == Kind.LITERAL:
            marked = np.flatnonzero(~table.ends_in(before, ord('"')))
            marked += before + FIRST_LITERAL
            self.marked_literals.frombytes(marked.astype(np.uint32).tobytes())

    def __repr__(self) -> str:
        counts = ", ".join(f"{self.count(kind):,} {kind.name}" for kind in Kind)
        return f"TermDictionary({counts})"


def _check_room(kind: Kind, count: int) -> None:
    if count > INDEX_MASK + 1:
        raise OverflowError(f"more than {INDEX_MASK + 1:,} terms of kind {kind.name}")
