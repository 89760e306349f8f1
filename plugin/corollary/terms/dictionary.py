"""The term dictionary: RDF term <-> 32-bit id.

An id is a kind in its two top bits and a running number below: kinds are checked on whole columns
with one comparison, and since literals sort after IRIs and blank nodes, the facts that RDF forbids
(literal subjects) are one contiguous tail of every sorted relation.

A term's key is its canonical N-Triples text (``<iri>``, ``_:label``, ``"lexical"@lang``), so that
what is printed needs no further work, and equality of keys is equality of terms.
"""

from __future__ import annotations

from collections.abc import Iterable
from enum import IntEnum

import numpy as np
from numpy.typing import NDArray

Ids = NDArray[np.uint32]

KIND_SHIFT = 30
INDEX_MASK = (1 << KIND_SHIFT) - 1


class Kind(IntEnum):
    """What an id stands for: its two top bits. ``RESERVED`` are the engine's own names."""

    IRI = 0
    BLANK_NODE = 1
    LITERAL = 2
    RESERVED = 3


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
    """

    def __init__(self) -> None:
        self._ids: dict[str, int] = {}
        self._texts: tuple[list[str], ...] = tuple([] for _ in Kind)
        self.marked_literals: list[int] = []
        """The literals with a datatype or a language; for all others the text is the value."""

    def __len__(self) -> int:
        """How many terms there are, the engine's own names aside."""
        return sum(len(texts) for texts in self._texts[: Kind.RESERVED])

    def encode(self, text: str) -> int:
        """The id of a term given as canonical N-Triples text; a new one if it is new."""
        term_id = self._ids.get(text)
        if term_id is None:
            kind = kind_of_text(text)
            texts = self._texts[kind]
            if len(texts) > INDEX_MASK:
                raise OverflowError(f"more than {INDEX_MASK + 1:,} terms of kind {kind.name}")
            term_id = self._ids[text] = kind << KIND_SHIFT | len(texts)
            texts.append(text)
            if kind == Kind.LITERAL and text[-1] != '"':
                self.marked_literals.append(term_id)
        return term_id

    def find(self, text: str) -> int | None:
        """The id of a term, or None if it has none yet."""
        return self._ids.get(text)

    def decode(self, term_id: int) -> str:
        """The N-Triples text of an id. An id never given is a broken invariant."""
        return self._texts[term_id >> KIND_SHIFT][term_id & INDEX_MASK]

    def decode_all(self, ids: Iterable[int]) -> list[str]:
        """The texts of many ids, in order."""
        texts = self._texts
        return [texts[i >> KIND_SHIFT][i & INDEX_MASK] for i in ids]

    def count(self, kind: Kind) -> int:
        """How many terms there are of one kind; their ids are ``kind << 30`` onwards."""
        return len(self._texts[kind])

    def __repr__(self) -> str:
        counts = ", ".join(f"{len(self._texts[kind]):,} {kind.name}" for kind in Kind)
        return f"TermDictionary({counts})"
