"""Compact tables of distinct texts: UTF-8 bytes end to end, numbered in order of arrival, with a hash table.

A text costs its bytes and about 30 more; Python objects would cost about 200. A table is append-only. A full
array is replaced by a larger one with the same content at its beginning, so readers that hold the old
array stay valid.

Invariant: text i begins at ``offsets[i]`` in the arena, and no text occurs twice. The hash slots are built at
the first look-up if they are missing: after unpickling, or in a table made from arrays. They are also
rebuilt by the ``append`` after an interrupted one. Bytes after the last text have no meaning.
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
from corollary.kernels.limits import reserve
from corollary.terms.tuning import MAX_RECENT_ROWS, MIN_SLOTS

ABSENT = 0xFFFFFFFF
"""The number that a look-up returns for a text that is not in the table."""


Item = TypeVar("Item", bound=np.generic)


@dataclass(slots=True)
class Texts:
    """Rows of texts in a byte array, with their hashes: the argument of a look-up.

    ``earlier``: for each row, an earlier row with the same text, or the row itself if none was noticed.
    """

    data: Bytes
    starts: Places
    lengths: Places
    hashes: Hashes
    earlier: Places

    @staticmethod
    def of(data: Bytes, starts: Places, lengths: Places) -> Texts:
        """The texts at the given starts and lengths (bytes). A row of length 0 is no text."""
        hashes: Hashes = np.empty(starts.size, np.uint32)
        earlier: Places = np.empty(starts.size, np.int64)
        recent: Places = np.full(MAX_RECENT_ROWS if starts.size > 1 else 1, -1, np.int64)
        with np.errstate(over="ignore"):  # multiplication modulo 2 ** 64 is intended
            hash_texts(data, starts, lengths, hashes, earlier, recent)
        return Texts(data, starts, lengths, hashes, earlier)

    @staticmethod
    def of_strings(strings: list[str]) -> Texts:
        """The given strings as texts."""
        encoded = [string.encode("utf-8", "surrogatepass") for string in strings]
        lengths: Places = np.fromiter(map(len, encoded), np.int64, len(encoded))
        data: Bytes = np.frombuffer(bytearray(b"".join(encoded)), np.uint8)
        return Texts.of(data, np.cumsum(lengths) - lengths, lengths)


class TextTable:
    """An append-only table of distinct texts."""

    def __init__(self, arena: Bytes | None = None, offsets: Places | None = None) -> None:
        """An empty table, or one of distinct texts: text i is ``arena[offsets[i]:offsets[i + 1]]``."""
        # kernels are compiled for writable arrays
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
        """A table of distinct texts, given in parts: the bytes of each part end to end, and their lengths."""
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
        """The bytes of all texts, end to end, as UTF-8."""
        return self._arena[: int(self._offsets[self._size])]

    def offsets(self) -> Places:
        """The start of each text, and the end of the last."""
        return self._offsets[: self._size + 1]

    def memory(self) -> int:
        """The bytes of the texts, the offsets and the hash slots."""
        slots = 0 if self._slots is None else self._slots.nbytes
        return self.content().nbytes + self.offsets().nbytes + slots

    def text(self, number: int) -> str:
        """A text by its number."""
        begin, end = self._offsets[number : number + 2].tolist()
        return self._arena[begin:end].tobytes().decode("utf-8", "surrogatepass")

    def find(self, text: str) -> int | None:
        """The number of a text; None if the table does not have it."""
        if not self._size:
            return None
        data: Bytes = np.frombuffer(bytearray(text.encode("utf-8", "surrogatepass")), np.uint8)
        wanted = Texts.of(data, np.zeros(1, np.int64), np.array([data.size], np.int64))
        numbers: Numbers = np.empty(1, np.uint32)
        self.look_up(wanted, int(data[0]), 0, numbers)
        number = int(numbers[0])
        return None if number == ABSENT else number

    def entries(self, count: int) -> Slots:
        """An entry ``hash << 32 | number + 1`` for each of the first ``count`` texts, ascending."""
        slots = self._slots_for(0)
        entries: Slots = slots[(slots != 0) & (slots & np.uint64(0xFFFFFFFF) <= np.uint64(count))]
        entries.sort()
        return entries

    def look_up(self, texts: Texts, first: int, base: int, numbers: Numbers) -> None:
        """Fill ``numbers`` for the texts that begin with the byte ``first``: ``base`` + number, or ABSENT."""
        self._number(texts, first, base, numbers, grows=False)

    def append(self, texts: Texts, first: int, base: int, numbers: Numbers) -> None:
        """As ``look_up``, but new texts are appended. Precondition: one writer at a time."""
        if self._is_growing:  # an interrupted append left slots of texts that do not exist
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
        size = self._size  # read before the arrays: later arrays hold at least this number of texts
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
        """The hash slots, built or enlarged so that ``more`` texts leave them at most half full."""
        slots = self._slots
        if slots is None or 2 * (self._size + more) > slots.size:
            return alone(self._making_slots, self._make_slots, self._size + more)
        return slots

    def _make_slots(self, size: int) -> Slots:
        slots = self._slots
        if slots is not None and 2 * size <= slots.size:
            return slots  # another thread has made them
        if slots is not None:
            larger = slots_of(slots, size)
        else:
            larger = _free_slots(size)
            offsets = self.offsets()
            if self._size:
                enter_hashes(Texts.of(self._arena, offsets[:-1], np.diff(offsets)).hashes, larger)
        self._slots = larger
        return larger


def slots_of(entries: Slots, size: int) -> Slots:
    """Hash slots for ``size`` texts with the given entries, which are at most as many; zeros are skipped."""
    slots = _free_slots(size)
    enlarge(entries, slots)
    return slots


def _free_slots(size: int) -> Slots:
    """Free slots, at least twice as many as texts."""
    number = max(MIN_SLOTS, 1 << (2 * size - 1).bit_length())
    reserve(8 * number)
    return np.zeros(number, np.uint64)


def _with_room(array: NDArray[Item], used: int, more: int) -> NDArray[Item]:
    """The array if it has room for ``more`` entries, else a larger copy of its used part."""
    if used + more <= array.size:
        return array
    reserve(array.itemsize * (used + more))
    larger = np.empty(max(used + more, 2 * array.size), array.dtype)  # untouched pages cost no memory
    larger[:used] = array[:used]
    return larger
