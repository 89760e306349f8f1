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
from threading import RLock
from typing import Any

import numpy as np
from numpy.typing import NDArray

from corollary.kernels.byte_texts import Bytes, Places
from corollary.kernels.interrupts import alone
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

FIRST_BLANK_NODE = Kind.BLANK_NODE << KIND_SHIFT
"""Smallest id that is no legal predicate."""

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

    Any number of threads may read and give ids. Giving ids may be interrupted anywhere: a term whose id was
    not returned stays without a fact. Invariant: ``count`` of a kind is the number of its next term, however
    far an interrupted step has come.
    """

    def __init__(self) -> None:
        self._ids: dict[str, int] = {}
        self._young: list[tuple[int, list[str]]] = [(0, []) for _ in Kind]  # number of the first, texts
        self._tables: list[TextTable] | None = None
        self._recent: dict[str, int] = {}  # what was found in the tables of late
        self._marked: tuple[int, int, array[int]] = (0, 0, array("I"))  # literals looked at, found, their ids
        self._growing = RLock()

    def __getstate__(self) -> dict[str, Any]:
        kept = self.__dict__.copy()
        del kept["_growing"]
        return kept

    def __setstate__(self, kept: dict[str, Any]) -> None:
        self.__dict__.update(kept)
        self._growing = RLock()

    def copied(self) -> TermDictionary:
        """A dictionary of its own that has the terms of this moment, with their ids."""
        return alone(self._growing, self._copied)

    def _copied(self) -> TermDictionary:
        copy = TermDictionary()
        copy._ids = self._ids.copy()
        copy._young = [(first, texts.copy()) for first, texts in self._young]
        if self._tables is not None:
            copy._tables = [TextTable(table.content(), table.offsets()) for table in self._tables]
        return copy

    def __len__(self) -> int:
        """How many terms there are, the engine's own names aside."""
        return sum(map(self.count, (Kind.IRI, Kind.BLANK_NODE, Kind.LITERAL)))

    def ends(self) -> tuple[int, ...]:
        """For each kind of data, the id that its next term will have."""
        return tuple(kind << KIND_SHIFT | self.count(kind) for kind in BULK_KINDS)

    def encode(self, text: str) -> int:
        """The id of a term given as canonical N-Triples text; a new one if it is new."""
        looked_through = 0 if self._tables is None else self._tabled(text)
        term_id = self.find(text)
        return alone(self._growing, self._enter, text, looked_through) if term_id is None else term_id

    def _tabled(self, text: str) -> int:
        """How many terms the table has that a term would be in."""
        kind = kind_of_text(text)
        return 0 if self._tables is None or kind == Kind.RESERVED else len(self._tables[kind])

    def _enter(self, text: str, looked_through: int) -> int:
        """The id of a term that had none, nor was it among so many terms of the table."""
        kind = kind_of_text(text)
        first, texts = self._youngest(kind)
        # another thread, or an interrupted step, may have entered it
        term_id = self._ids.get(text) if self._tabled(text) == looked_through else self.find(text)
        if term_id is None:
            number = first + len(texts)
            _check_room(kind, number + 1)
            texts.append(text)
            term_id = self._ids[text] = kind << KIND_SHIFT | number
        return term_id

    def _youngest(self, kind: Kind) -> tuple[int, list[str]]:
        """The young terms of a kind: after those of its table, each with its id."""
        first, texts = self._young[kind]
        if not texts:  # else the table has not grown since
            first, texts = self._young[kind] = self.count(kind), texts
        elif texts[-1] not in self._ids:
            self._ids[texts[-1]] = kind << KIND_SHIFT | first + len(texts) - 1
        return first, texts

    @property
    def marked_literals(self) -> array[int]:
        """The literals with a datatype or a language, ascending; for all others the text is the value."""
        return alone(self._growing, self._with_marks)

    def _with_marks(self) -> array[int]:
        looked_at, found, marked = self._marked
        count = self.count(Kind.LITERAL)
        if looked_at < count:
            del marked[found:]
            first, texts = self._youngest(Kind.LITERAL)
            if looked_at < first:
                assert self._tables is not None
                in_table = np.flatnonzero(~self._tables[Kind.LITERAL].ends_in(looked_at, ord('"')))
                in_table += looked_at + FIRST_LITERAL
                marked.frombytes(in_table.astype(np.uint32).tobytes())
                looked_at = first
            young = enumerate(texts[looked_at - first :], looked_at + FIRST_LITERAL)
            marked.extend([term_id for term_id, text in young if text[-1] != '"'])
            self._marked = count, len(marked), marked
        return marked

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
        if first <= number < first + len(texts):
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
        count = first + len(texts)
        if self._tables is None or kind == Kind.RESERVED:
            return count
        return max(count, len(self._tables[kind]))

    def encode_texts(self, texts: Texts, ids: Ids, kinds: Iterable[Kind] = BULK_KINDS) -> None:
        """Ids of many texts at once, new ones for new texts, into ``ids``; where a text is empty, or of
        another kind than those asked for, ``ids`` is left alone.
        """
        alone(self._growing, self._enter_texts, texts, ids, kinds)

    def _enter_texts(self, texts: Texts, ids: Ids, kinds: Iterable[Kind]) -> None:
        tables = self._absorbed()
        for kind in kinds:
            tables[kind].append(texts, FIRST_BYTES[kind], kind << KIND_SHIFT, ids)
            _check_room(kind, len(tables[kind]))

    def find_texts(self, texts: Texts, ids: Ids, kind: Kind) -> None:
        """As ``encode_texts``, but what is new gets the id ``ABSENT``."""
        self.tables()[kind].look_up(texts, FIRST_BYTES[kind], kind << KIND_SHIFT, ids)

    def tables(self) -> list[TextTable]:
        """All terms in order, a table for each kind but the engine's own; do not change them."""
        return alone(self._growing, self._absorbed)

    def _absorbed(self) -> list[TextTable]:
        """The tables, after they took in the young terms. To be called again if it is interrupted."""
        tables = self._tables or [TextTable() for _ in BULK_KINDS]
        for kind in BULK_KINDS:
            first, young = self._youngest(kind)
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
            _check_room(kind, len(tables[kind]))
            dictionary._young[kind] = (len(tables[kind]), [])
        return dictionary

    def texts_between(self, kind: Kind, start: int, end: int) -> tuple[Bytes, Places]:
        """The texts of one of ``BULK_KINDS`` with numbers from ``start`` to before ``end``.

        End to end as UTF-8, and their lengths in bytes.
        """
        first, young = alone(self._growing, self._youngest, kind)
        chosen = young[max(start - first, 0) : max(end - first, 0)]
        encoded = [text.encode("utf-8", "surrogatepass") for text in chosen]
        content: Bytes = np.frombuffer(b"".join(encoded), np.uint8)
        lengths: Places = np.fromiter(map(len, encoded), np.int64, len(encoded))
        if start >= first:
            return content, lengths
        assert self._tables is not None
        table = self._tables[kind]
        offsets = table.offsets()[start : min(end, first) + 1]
        old = table.content()[offsets[0] : offsets[-1]]
        return np.concatenate((old, content)), np.concatenate((np.diff(offsets), lengths))

    def memory(self) -> int:
        """The bytes that the tables take."""
        return sum(table.memory() for table in self._tables or ())

    def __repr__(self) -> str:
        counts = ", ".join(f"{self.count(kind):,} {kind.name}" for kind in Kind)
        return f"TermDictionary({counts})"


def _check_room(kind: Kind, count: int) -> None:
    if count > INDEX_MASK + 1:
        raise OverflowError(f"more than {INDEX_MASK + 1:,} terms of kind {kind.name}")
