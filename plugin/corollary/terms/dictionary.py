"""The term dictionary: RDF term <-> 32-bit id.

The two top bits of an id are the kind of the term, the other 30 bits a running number. One comparison
therefore tests the kinds of a whole column. Literals sort after IRIs and blank nodes, so the facts that
RDF forbids (literal subjects) are one contiguous tail of every sorted relation.

A term is stored as its canonical N-Triples text (``<iri>``, ``_:label``, ``"lexical"@lang``). Printing a term
needs no conversion, and two terms are equal iff their texts are equal.
"""

from __future__ import annotations

import copy
from collections.abc import Collection, Iterable, Iterator, Sequence
from enum import IntEnum
from threading import RLock
from typing import Any

import numpy as np
from numpy.typing import NDArray

from corollary.kernels.byte_texts import Bytes, Places
from corollary.kernels.interrupts import alone
from corollary.kernels.limits import current
from corollary.language import CorollaryError
from corollary.terms.literal_forms import LiteralForms
from corollary.terms.texts import Texts, TextTable
from corollary.terms.tuning import LITERALS_PER_CHUNK, MAX_RECENT_IDS, MIN_TEXTS_TOGETHER, TEXTS_PER_PART

Ids = NDArray[np.uint32]

KIND_SHIFT = 30
INDEX_MASK = (1 << KIND_SHIFT) - 1


class Kind(IntEnum):
    """The kind of a term: the two top bits of its id. ``RESERVED`` names virtual relations of the engine."""

    IRI = 0
    BLANK_NODE = 1
    LITERAL = 2
    RESERVED = 3


BULK_KINDS = (Kind.IRI, Kind.BLANK_NODE, Kind.LITERAL)
"""The kinds of RDF terms."""

FIRST_BYTES = {Kind.IRI: ord("<"), Kind.BLANK_NODE: ord("_"), Kind.LITERAL: ord('"')}
"""The first byte of the texts of each kind."""

FIRST_BLANK_NODE = Kind.BLANK_NODE << KIND_SHIFT
"""The smallest id that is not a legal predicate."""

FIRST_LITERAL = Kind.LITERAL << KIND_SHIFT
"""The smallest id that is not a legal subject."""


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
    """An append-only two-way table of terms and ids.

    Ids are assigned in order of arrival, and are never changed or removed. Virtual relations of the engine
    have texts that begin with a capital letter, such as ``MEMBER``.

    Terms are stored in two places. *Young* terms were encoded one by one, and are Python strings. A bulk load
    (``encode_texts``) moves them into a ``TextTable`` for each kind, and appends its own terms.

    Thread-safe for readers and writers. An encoding may be interrupted at any point; the new term may then
    exist, but no fact uses it. Invariant: ``count`` of a kind is the number that its next term gets, also
    after an interruption.
    """

    def __init__(self) -> None:
        self._ids: dict[str, int] = {}
        self._young: list[tuple[int, list[str]]] = [(0, []) for _ in Kind]  # number of the first, texts
        self._tables: list[TextTable] | None = None
        self._recent: dict[str, int] = {}  # cache of ids found in the tables
        self._forms = LiteralForms()
        self._growing = RLock()

    def __getstate__(self) -> dict[str, Any]:
        kept = self.__dict__.copy()
        del kept["_growing"]
        return kept

    def __setstate__(self, kept: dict[str, Any]) -> None:
        self.__dict__.update(kept)
        self._growing = RLock()

    def copied(self) -> TermDictionary:
        """An independent copy with the same terms and ids."""
        return alone(self._growing, self._copied)

    def _copied(self) -> TermDictionary:
        copied = TermDictionary()
        copied._ids = self._ids.copy()
        copied._young = [(first, texts.copy()) for first, texts in self._young]
        if self._tables is not None:
            copied._tables = [copy.deepcopy(table) for table in self._tables]
        return copied

    @property
    def is_young(self) -> bool:
        """Whether all terms are young."""
        return self._tables is None

    def __len__(self) -> int:
        """The number of terms, without the names of virtual relations."""
        return sum(map(self.count, (Kind.IRI, Kind.BLANK_NODE, Kind.LITERAL)))

    def ends(self) -> tuple[int, ...]:
        """The id that the next term gets, for each of ``BULK_KINDS``."""
        return tuple(kind << KIND_SHIFT | self.count(kind) for kind in BULK_KINDS)

    def encode(self, text: str) -> int:
        """The id of a term, which is added if new. Precondition: ``text`` is canonical N-Triples text."""
        looked_through = 0 if self._tables is None else self._tabled(text)
        term_id = self.find(text)
        return alone(self._growing, self._enter, text, looked_through) if term_id is None else term_id

    def encode_all(self, texts: Sequence[str]) -> list[int]:
        """The ids of terms: see ``encode``. Many that are neither young nor cached are looked up together."""
        known, recent = self._ids, self._recent
        if self._tables is not None and len(texts) >= MIN_TEXTS_TOGETHER:
            unseen = {text for text in texts if text not in known and text not in recent}
            if len(unseen) >= MIN_TEXTS_TOGETHER and all(text[0] in '<_"' for text in unseen):
                return self._encode_together(texts, unseen)
        return [
            known[text] if text in known else recent[text] if text in recent else self.encode(text)
            for text in texts
        ]

    def _encode_together(self, texts: Sequence[str], unseen: Collection[str]) -> list[int]:
        """As ``encode_all``: the ``unseen`` texts by one search, which moves young terms into the tables."""
        ids = np.empty(len(unseen), np.uint32)
        self.encode_texts(Texts.of_strings([*unseen]), ids)
        found = dict(zip(unseen, ids.tolist(), strict=True))
        self._recent = (self._recent if len(self._recent) + len(found) <= MAX_RECENT_IDS else {}) | found
        return [found[text] if text in found else self.encode(text) for text in texts]

    def _tabled(self, text: str) -> int:
        """The number of terms in the table for the kind of this term; 0 without a table."""
        kind = kind_of_text(text)
        return 0 if self._tables is None or kind == Kind.RESERVED else len(self._tables[kind])

    def _enter(self, text: str, looked_through: int) -> int:
        """Add a term, or return its id. The first ``looked_through`` terms of the table do not have it."""
        kind = kind_of_text(text)
        first, texts = self._youngest(kind)
        # another thread, or an interrupted step, may have added the term
        term_id = self._ids.get(text) if self._tabled(text) == looked_through else self.find(text)
        if term_id is None:
            number = first + len(texts)
            _check_room(kind, number + 1)
            texts.append(text)
            term_id = self._ids[text] = kind << KIND_SHIFT | number
        return term_id

    def _youngest(self, kind: Kind) -> tuple[int, list[str]]:
        """The number of the first young term of a kind, and the young terms.

        Brings both up to date: the table may have grown, and an interrupted step may have left the last young
        term without an id.
        """
        first, texts = self._young[kind]
        if not texts:  # while there are young terms, the table does not grow
            first, texts = self._young[kind] = self.count(kind), texts
        elif texts[-1] not in self._ids:
            self._ids[texts[-1]] = kind << KIND_SHIFT | first + len(texts) - 1
        return first, texts

    @property
    def literal_forms(self) -> LiteralForms:
        """The markers of all literals. Cost: amortised O(1) per literal; each literal is looked at once."""
        return alone(self._growing, self._with_forms)

    def _with_forms(self) -> LiteralForms:
        forms = self._forms
        if forms.size < self.count(Kind.LITERAL):
            first, texts = self._youngest(Kind.LITERAL)
            while forms.size < first:
                assert self._tables is not None
                some: Places = np.arange(forms.size, min(forms.size + LITERALS_PER_CHUNK, first))
                texts_of, places = self._tables[Kind.LITERAL].texts_of(some)
                try:
                    forms.extend_by_columns(texts_of, np.diff(places))
                except ValueError as error:  # also what is not UTF-8
                    raise CorollaryError(
                        f"a stored text is no literal ({error}): the file of the store is damaged; put back "
                        "a copy of it"
                    ) from error
            while forms.size < first + len(texts):
                start = forms.size - first
                forms.extend(texts[start : start + LITERALS_PER_CHUNK])
        return forms

    def find(self, text: str) -> int | None:
        """The id of a term; None if the dictionary does not have it."""
        term_id = self._ids.get(text)
        if term_id is None and self._tables is not None:
            term_id = self._recent.get(text)
            if term_id is None and (kind := kind_of_text(text)) != Kind.RESERVED:
                number = self._tables[kind].find(text)
                if number is not None:
                    term_id = kind << KIND_SHIFT | number
                    if len(self._recent) >= MAX_RECENT_IDS:
                        self._recent = {}
                    self._recent[text] = term_id
        return term_id

    def decode(self, term_id: int) -> str:
        """The N-Triples text of an id. Precondition: the dictionary has assigned the id."""
        kind, number = term_id >> KIND_SHIFT, term_id & INDEX_MASK
        first, texts = self._young[kind]
        if first <= number < first + len(texts):
            return texts[number - first]
        assert self._tables is not None
        return self._tables[kind].text(number)

    def decode_all(self, ids: Iterable[int]) -> list[str]:
        """The texts of the given ids, in order."""
        young = [texts for _, texts in self._young]  # complete, if another thread makes tables only now
        if self._tables is None:
            return [young[i >> KIND_SHIFT][i & INDEX_MASK] for i in ids]
        return list(map(self.decode, ids))

    def count(self, kind: Kind) -> int:
        """The number of terms of one kind. Their ids are consecutive from ``kind << KIND_SHIFT`` on."""
        first, texts = self._young[kind]
        count = first + len(texts)
        if self._tables is None or kind == Kind.RESERVED:
            return count
        return max(count, len(self._tables[kind]))

    def extend(self, kind: Kind, texts: Sequence[str]) -> None:
        """Add terms of one kind, in order, without a look for them: they get the next ids.

        Preconditions: the dictionary has none of them; no other thread has the dictionary.
        """
        first, young = self._youngest(kind)
        start = kind << KIND_SHIFT | first + len(young)
        _check_room(kind, first + len(young) + len(texts))
        young.extend(texts)
        self._ids.update(zip(texts, range(start, start + len(texts)), strict=True))

    def encode_texts(self, texts: Texts, ids: Ids, kinds: Iterable[Kind] = BULK_KINDS) -> None:
        """Write the id of each text into ``ids``, and add new texts.

        ``ids`` is not written where a text is empty, or of a kind that is not in ``kinds``.
        """
        alone(self._growing, self._enter_texts, texts, ids, kinds)

    def _enter_texts(self, texts: Texts, ids: Ids, kinds: Iterable[Kind]) -> None:
        tables = self._absorbed()
        for kind in kinds:
            tables[kind].append(texts, FIRST_BYTES[kind], kind << KIND_SHIFT, ids)
            _check_room(kind, len(tables[kind]))

    def keep(self) -> None:
        """Move the tables' large columns to scratch files, if the current work has a folder for these."""
        alone(self._growing, self._keep)

    def _keep(self) -> None:
        for table in self._tables or () if current().scratch is not None else ():
            table.keep()

    def find_texts(self, texts: Texts, ids: Ids, kind: Kind) -> None:
        """As ``encode_texts`` for one kind, without adding terms: unknown texts get the id ``ABSENT``."""
        self.tables()[kind].look_up(texts, FIRST_BYTES[kind], kind << KIND_SHIFT, ids)

    def tables(self) -> list[TextTable]:
        """All terms in order, one table for each of ``BULK_KINDS``. The caller must not change the tables."""
        return alone(self._growing, self._absorbed)

    def _absorbed(self) -> list[TextTable]:
        """Move the young terms into the tables, and return the tables. Repeatable after an interruption."""
        tables = self._tables or [TextTable() for _ in BULK_KINDS]
        for kind in BULK_KINDS:
            first, young = self._youngest(kind)
            if young:
                texts = Texts.of_strings(young)
                tables[kind].append(texts, FIRST_BYTES[kind], 0, np.empty(len(young), np.uint32))
                assert len(tables[kind]) == first + len(young)
        self._tables = tables  # terms are now found in the tables: the young terms can be dropped
        for kind in BULK_KINDS:
            self._young[kind] = (len(tables[kind]), [])
        for text in [text for text in self._ids if kind_of_text(text) != Kind.RESERVED]:
            del self._ids[text]
        return tables

    @staticmethod
    def of_tables(tables: list[TextTable]) -> TermDictionary:
        """A dictionary of the terms in the given tables, one for each of ``BULK_KINDS``."""
        dictionary = TermDictionary()
        dictionary._tables = tables
        for kind in BULK_KINDS:
            _check_room(kind, len(tables[kind]))
            dictionary._young[kind] = (len(tables[kind]), [])
        return dictionary

    def texts_between(self, kind: Kind, start: int, end: int) -> Iterator[tuple[Bytes, Places]]:
        """Yield the texts of one of ``BULK_KINDS`` with the numbers ``start`` <= n < ``end``, some at a time.

        Each part has their UTF-8 bytes end to end, and their lengths in bytes.
        """
        first, young = alone(self._growing, self._youngest, kind)
        chosen = young[max(start - first, 0) : max(end - first, 0)]
        encoded = [text.encode("utf-8", "surrogatepass") for text in chosen]
        last: Bytes = np.frombuffer(b"".join(encoded), np.uint8)
        lengths: Places = np.fromiter(map(len, encoded), np.int64, len(encoded))
        tabled = min(end, first)
        if self._tables is not None and start < tabled:
            most = max(start, tabled - TEXTS_PER_PART)
            yield from self._tables[kind].parts(start, most)
            content, places = self._tables[kind].texts_of(np.arange(most, tabled))
            last, lengths = np.concatenate((content, last)), np.concatenate((np.diff(places), lengths))
        if lengths.size:
            yield last, lengths

    def memory(self) -> int:
        """The bytes of the tables; young terms are not counted."""
        return sum(table.memory() for table in self._tables or ())

    def __repr__(self) -> str:
        counts = ", ".join(f"{self.count(kind):,} {kind.name}" for kind in Kind)
        return f"TermDictionary({counts})"


def _check_room(kind: Kind, count: int) -> None:
    if count > INDEX_MASK + 1:
        raise OverflowError(f"more than {INDEX_MASK + 1:,} terms of kind {kind.name}")
