"""Texts by the million: their bytes end to end, numbered in order of arrival, found through a hash table.

A term costs its bytes and some thirty more, where Python objects would cost some two hundred. A table only
grows, and what it has given out stays true: arrays are replaced by larger ones with the same beginning, so
a reader who holds older ones is never disturbed.

Invariant: text i lies at ``offsets[i]`` in the arena; no text is there twice. The hash slots may be
missing (after unpickling, or when a whole table was handed in): they are made when first needed. They are
made anew, too, after an ``append`` that was interrupted: what it left behind the last text is nothing.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from threading import RLock
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from corollary.kernels.byte_texts import (
    Bytes,
    Hashes,
    Numbers,
    Places,
    Slots,
    enlarge,
    enter_hashes,
    hash_texts,
    number_texts,
)
from corollary.kernels.interrupts import alone

ABSENT = 0xFFFFFFFF
"""The number of what is not there."""

_LEAST_SLOTS = 1 << 10

_RECENT = 1 << 12
"""So many recent texts are remembered to notice that one comes again; they fit the processor's cache."""

Item = TypeVar("Item", bound=np.generic)


@dataclass(slots=True)
class Texts:
    """Texts somewhere in some bytes, and their hashes: what a table is asked about.

    ``earlier`` has for each text the row of an equal one before it, or its own row if none was noticed.
    """

    data: Bytes
    starts: Places
    lengths: Places
    hashes: Hashes
    earlier: Places

    @staticmethod
    def of(data: Bytes, starts: Places, lengths: Places) -> Texts:
        """The texts at some places. A length of 0 is no text."""
        hashes: Hashes = np.empty(starts.size, np.uint32)
        earlier: Places = np.empty(starts.size, np.int64)
        recent: Places = np.full(_RECENT, -1, np.int64)
        with np.errstate(over="ignore"):  # multiplication modulo 2 ** 64 is meant
            hash_texts(data, starts, lengths, hashes, earlier, recent)
        return Texts(data, starts, lengths, hashes, earlier)

    @staticmethod
    def of_strings(strings: list[str]) -> Texts:
        """The texts of some strings."""
        encoded = [string.encode("utf-8", "surrogatepass") for string in strings]
        lengths: Places = np.fromiter(map(len, encoded), np.int64, len(encoded))
        data: Bytes = np.frombuffer(bytearray(b"".join(encoded)), np.uint8)
        return Texts.of(data, np.cumsum(lengths) - lengths, lengths)


class TextTable:
    """An append-only table of distinct texts."""

    def __init__(self, arena: Bytes | None = None, offsets: Places | None = None) -> None:
        """An empty table, or one of given texts, known to be distinct: text i ends where i + 1 begins."""
        # kernels are compiled for arrays that can be written
        self._arena: Bytes = np.empty(0, np.uint8) if arena is None else np.require(arena, requirements="W")
        self._offsets: Places = (
            np.zeros(1, np.int64) if offsets is None else np.require(offsets, requirements="W")
        )
        self._size = self._offsets.size - 1
        self._slots: Slots | None = None
        self._making_slots = RLock()
        self._is_growing = False

    @staticmethod
    def of_parts(contents: Sequence[Bytes], lengths: Sequence[Places]) -> TextTable:
        """A table of texts, known to be distinct, that come in parts: end to end, and their lengths."""
        offsets: Places = np.zeros(sum(part.size for part in lengths) + 1, np.int64)
        np.cumsum(np.concatenate([*lengths, np.empty(0, np.int64)]), out=offsets[1:])
        return TextTable(np.concatenate([*contents, np.empty(0, np.uint8)]), offsets)

    def __len__(self) -> int:
        return self._size

    def __getstate__(self) -> tuple[Bytes, Places]:
        return self.content(), self.offsets()

    def __setstate__(self, state: tuple[Bytes, Places]) -> None:
        TextTable.__init__(self, *state)

    def __deepcopy__(self, memo: dict[int, Any]) -> TextTable:
        return TextTable(self.content().copy(), self.offsets().copy())

    def content(self) -> Bytes:
        """All texts, end to end, as UTF-8."""
        return self._arena[: int(self._offsets[self._size])]

    def offsets(self) -> Places:
        """Where each text begins, and the end of the last."""
        return self._offsets[: self._size + 1]

    def memory(self) -> int:
        """The bytes in use."""
        slots = 0 if self._slots is None else self._slots.nbytes
        return self.content().nbytes + self.offsets().nbytes + slots

    def text(self, number: int) -> str:
        """A text by its number."""
        begin, end = self._offsets[number : number + 2].tolist()
        return self._arena[begin:end].tobytes().decode("utf-8", "surrogatepass")

    def ends_in(self, start: int, byte: int) -> NDArray[np.bool_]:
        """Which texts from ``start`` on end in that byte."""
        last: NDArray[np.bool_] = self._arena[self._offsets[start + 1 : self._size + 1] - 1] == byte
        return last

    def find(self, text: str) -> int | None:
        """The number of a text, None if it is not there."""
        if not self._size:
            return None
        wanted = Texts.of_strings([text])
        numbers: Numbers = np.empty(1, np.uint32)
        self.look_up(wanted, int(wanted.data[0]), 0, numbers)
        return None if numbers[0] == ABSENT else int(numbers[0])

    def look_up(self, texts: Texts, first: int, base: int, numbers: Numbers) -> None:
        """``numbers`` of the texts that begin with the byte ``first``, plus ``base``; ABSENT if not there."""
        self._number(texts, first, base, numbers, grows=False)

    def append(self, texts: Texts, first: int, base: int, numbers: Numbers) -> None:
        """As ``look_up``, but what is not there gets the next number. One writer at a time."""
        if self._is_growing:  # and was interrupted: it left slots of texts that there are not
            self._slots = None
        self._is_growing = True
        most = texts.starts.size
        self._slots_for(most)
        used = int(self._offsets[self._size])
        self._arena = _with_room(self._arena, used, int(texts.lengths.sum()))
        self._offsets = _with_room(self._offsets, self._size + 1, most)
        self._size = self._number(texts, first, base, numbers, grows=True)
        self._is_growing = False

    def _number(self, texts: Texts, first: int, base: int, numbers: Numbers, *, grows: bool) -> int:
        size = self._size  # before the arrays: whatever a writer does meanwhile, they hold so many
        return number_texts(
            texts.data,
            texts.starts,
            texts.lengths,
            texts.hashes,
            texts.earlier,
            first,
            self._slots_for(0),
            self._offsets,
            self._arena,
            size,
            grows,
            numbers,
            base,
        )

    def _slots_for(self, more: int) -> Slots:
        """The hash slots, made or enlarged so that they stay at most half full."""
        slots = self._slots
        if slots is None or 2 * (self._size + more) > slots.size:
            return alone(self._making_slots, self._make_slots, self._size + more)
        return slots

    def _make_slots(self, size: int) -> Slots:
        slots = self._slots
        if slots is not None and 2 * size <= slots.size:
            return slots  # another thread has made them
        larger: Slots = np.zeros(max(_LEAST_SLOTS, 1 << (2 * size - 1).bit_length()), np.uint64)
        if slots is not None:
            enlarge(slots, larger)
        elif self._size:
            offsets = self.offsets()
            enter_hashes(Texts.of(self._arena, offsets[:-1], np.diff(offsets)).hashes, larger)
        self._slots = larger
        return larger


def _with_room(array: NDArray[Item], used: int, more: int) -> NDArray[Item]:
    """The array, or a larger one that begins with what is used of it."""
    if used + more <= array.size:
        return array
    larger = np.empty(max(used + more, 2 * array.size), array.dtype)  # pages never touched cost nothing
    larger[:used] = array[:used]
    return larger
