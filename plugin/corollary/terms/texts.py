"""Compact tables of distinct texts, numbered in order of arrival: coded, with a hash table.

A text costs what distinguishes it from its head (``kernels.byte_texts`` has the code) and some 16 bytes more;
Python objects would cost about 200. A table is append-only. A full array is replaced by a larger one with the
same content at its beginning, so readers that hold the old array stay valid.

Invariant: no text occurs twice. The hash slots are built at the first look-up if they are missing: after
unpickling, or in a table made from columns. They are also rebuilt by the ``append`` after an interrupted one.
Bytes after the last text have no meaning.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import partial
from itertools import pairwise
from struct import unpack_from
from threading import RLock
from typing import Any, NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from corollary.kernels.byte_texts import (
    ENDINGS,
    FIRST_CODE,
    MAX_ENDING,
    MAX_SHARED,
    Bytes,
    Hashes,
    Numbers,
    Places,
    Slots,
    append_texts,
    decode_in_parts,
    decode_texts,
    enter_slots,
    find_text,
    hash_texts,
    number_texts,
)
from corollary.kernels.interrupts import alone
from corollary.kernels.limits import check, reserve
from corollary.kernels.scratch import kept
from corollary.kernels.sorted import Mask
from corollary.kernels.threads import apart
from corollary.kernels.tuning import TEXTS_PER_HEAD
from corollary.terms.tuning import (
    GROWTH_OF_SLOTS,
    HASHES_AT_ONCE,
    MAX_RECENT_ROWS,
    MAX_SPARE_SLOTS,
    MAX_TEXTS_PER_SLOT,
    MIN_SLOTS,
    ROOM_IN_FILE,
    TEXTS_PER_PART,
)

ABSENT = 0xFFFFFFFF
"""The number that a look-up returns for a text that is not in the table."""

_MORE: Places = np.zeros(256, np.int64)
"""By the last byte of a coded text: how many bytes the text has more."""
_MORE[FIRST_CODE:] = [len(ending) - 1 for ending in ENDINGS]

_LAST: Bytes = np.arange(256, dtype=np.uint8)
"""By the last byte of a coded text: the last byte of the text."""
_LAST[FIRST_CODE:] = [ending[-1] for ending in ENDINGS]

Item = TypeVar("Item", bound=np.generic)


@dataclass(slots=True)
class Texts:
    """Rows of texts in a byte array, with their hashes: the argument of a look-up.

    ``firsts``: the first byte of each text; 0 for an empty one, which is no text. ``earlier``: for each row,
    an earlier row with the same text, or the row itself if none was noticed.
    """

    data: Bytes
    starts: Places
    lengths: Places
    firsts: Bytes
    hashes: Hashes
    earlier: Places

    @staticmethod
    def of(data: Bytes, starts: Places, lengths: Places) -> Texts:
        """The texts at the given starts and lengths (bytes). A row of length 0 is no text."""
        firsts: Bytes = np.empty(starts.size, np.uint8)
        hashes: Hashes = np.empty(starts.size, np.uint32)
        earlier: Places = np.empty(starts.size, np.int64)
        recent: Places = np.full(MAX_RECENT_ROWS if starts.size > 1 else 1, -1, np.int64)
        with np.errstate(over="ignore"):  # multiplication modulo 2 ** 64 is intended
            hash_texts(data, starts, lengths, firsts, hashes, earlier, recent)
        return Texts(data, starts, lengths, firsts, hashes, earlier)

    @staticmethod
    def of_strings(strings: list[str]) -> Texts:
        """The given strings as texts."""
        encoded = [string.encode("utf-8", "surrogatepass") for string in strings]
        lengths: Places = np.fromiter(map(len, encoded), np.int64, len(encoded))
        data: Bytes = np.frombuffer(bytearray(b"".join(encoded)), np.uint8)
        return Texts.of(data, np.cumsum(lengths) - lengths, lengths)


class Coded(NamedTuple):
    """The columns of a table: the bytes that texts do not share, where they begin, how many they share."""

    arena: Bytes
    offsets: Places
    shared: Bytes


class TextTable:
    """An append-only table of distinct texts."""

    def __init__(self, coded: Coded | None = None) -> None:
        """An empty table, or one of coded texts, which ``Coded`` of another table has."""
        nothing: Bytes = np.empty(0, np.uint8)
        coded = coded or Coded(nothing, np.zeros(1, np.int64), nothing)
        self._arena, self._offsets, self._shared = coded
        self._size = self._offsets.size - 1
        self._slots: Slots | None = None
        self._making_slots = RLock()
        self._is_growing = False

    @staticmethod
    def of_parts(parts: Iterable[tuple[Bytes, Places]]) -> TextTable:
        """A table of distinct texts, given in parts: the bytes of each part end to end, and their lengths."""
        table = TextTable()
        for content, lengths in parts:
            table.extend(content, lengths)
        return table

    def __len__(self) -> int:
        return self._size

    def __getstate__(self) -> Coded:
        return self.coded()

    def __setstate__(self, state: Coded) -> None:
        TextTable.__init__(self, state)

    def __deepcopy__(self, memo: dict[int, Any]) -> TextTable:
        arena, offsets, shared = self.coded()
        return TextTable(Coded(arena.copy(), offsets.copy(), shared.copy()))

    def coded(self, count: int | None = None) -> Coded:
        """The columns of the first ``count`` texts, by default of all."""
        count = self._size if count is None else count
        offsets = self._offsets[: count + 1]
        return Coded(self._arena[: int(offsets[-1])], offsets, self._shared[:count])

    def is_like(self, other: TextTable) -> bool:
        """Whether another table has the same texts under the same numbers."""
        one, another = self.coded(), other.coded()
        return (
            np.array_equal(one.offsets, another.offsets)
            and np.array_equal(one.shared, another.shared)
            and np.array_equal(one.arena, another.arena)
        )

    def slots(self, count: int) -> Slots:
        """The hash slots of the first ``count`` texts. No more than a file needs: ``MAX_SPARE_SLOTS``."""
        if count == self._size and not self._is_growing:
            slots = self._slots_for(0)
            if slots.size <= self._slots_in_file(count) + MAX_SPARE_SLOTS:
                return slots
        return self._slots_of(count, self._slots_in_file(count))

    @staticmethod
    def _slots_in_file(count: int) -> int:
        return int((1 + ROOM_IN_FILE) * count / MAX_TEXTS_PER_SLOT) + 1

    def memory(self) -> int:
        """The bytes of the coded texts and the hash slots."""
        slots = 0 if self._slots is None else self._slots.nbytes
        return sum(column.nbytes for column in self.coded()) + slots

    def text(self, number: int) -> str:
        """A text by its number."""
        begin, end = self._offsets[number : number + 2].tolist()
        own, shared = with_ending(self._arena[begin:end].tobytes()), int(self._shared[number])
        if shared:
            head = int(self._offsets[number - number % TEXTS_PER_HEAD])
            own = self._arena[head : head + shared].tobytes() + own
        return own.decode("utf-8", "surrogatepass")

    def lengths_of(self, numbers: Places) -> Places:
        """The lengths of texts in bytes."""
        starts, ends = self._offsets[numbers], self._offsets[numbers + 1]
        own = ends - starts
        more = _MORE[self._arena[ends - 1]]
        more[own == 0] = 0  # a beginning of its head: the byte is another text's
        return own + self._shared[numbers] + more

    def texts_of(self, numbers: Places) -> tuple[Bytes, Places]:
        """The bytes of texts end to end, and where each begins and the last one ends."""
        places: Places = np.zeros(numbers.size + 1, np.int64)
        np.cumsum(self.lengths_of(numbers), out=places[1:])
        reserve(int(places[-1]))
        texts: Bytes = np.empty(int(places[-1]), np.uint8)
        self.write(numbers, places[:-1], texts)
        return texts, places

    def strings(self, numbers: Places) -> list[str]:
        """Texts by their numbers. Cost: a third of ``text`` for each."""
        texts, places = self.texts_of(numbers)
        content = texts.tobytes()
        return [
            content[start:end].decode("utf-8", "surrogatepass") for start, end in pairwise(places.tolist())
        ]

    def write(self, numbers: Places, places: Places, texts: Bytes) -> None:
        """Write each text into ``texts``, from its place on."""
        decode_texts(self._offsets, self._shared, self._arena, numbers, places, texts)

    def in_parts(self, numbers: Places, byte: int) -> tuple[tuple[Bytes, Places], tuple[Bytes, Places]]:
        """Of each text, what is before the last occurrence of a byte, without its first byte, and after it.

        Both as ``texts_of`` gives them. If the byte is not there, all but the first byte is the second part.
        """
        most = int(self.lengths_of(numbers).sum())
        reserve(2 * most)
        parts: list[Bytes] = [np.empty(most + 1, np.uint8) for _ in range(2)]
        ends: list[Places] = [np.zeros(numbers.size + 1, np.int64) for _ in range(2)]
        columns = self._offsets, self._shared, self._arena
        decode_in_parts(*columns, numbers, byte, ends[0], ends[1], parts[1], parts[0])
        first, second = parts[0][1 : 1 + int(ends[0][-1])], parts[1][: int(ends[1][-1])]
        return (first, ends[0]), (second, ends[1])

    def bytes_at(self, place: int) -> Bytes:
        """The byte at a place of each text; 0 where a text is shorter. No text is decoded.

        Precondition: the texts are no literals.
        """
        numbers: Places = np.arange(self._size)
        lengths, shared = self.lengths_of(numbers), self._shared[numbers].astype(np.int64)
        heads = numbers - numbers % TEXTS_PER_HEAD
        starts = np.where(place < shared, self._offsets[heads], self._offsets[numbers] - shared) + place
        found: Bytes = np.zeros(self._size, np.uint8)
        found[lengths > place] = self._arena[starts[lengths > place]]
        return found

    def end_with(self, numbers: Places, byte: int) -> Mask:
        """Which texts end with a byte. No text is decoded."""
        last = self._offsets[numbers + 1] - 1
        is_shared = last < self._offsets[numbers]  # a text that is a beginning of its head
        some = numbers[is_shared]
        last[is_shared] = self._offsets[some - some % TEXTS_PER_HEAD] + self._shared[some] - 1
        ends: Mask = _LAST[self._arena[last]] == byte
        return ends

    def parts(self, start: int = 0, end: int | None = None) -> Iterator[tuple[Bytes, Places]]:
        """Yield the texts with the numbers ``start`` <= n < ``end``, some at a time.

        Each part has their bytes end to end, and their lengths: see ``of_parts``.
        """
        end = self._size if end is None else end
        for first in range(start, end, TEXTS_PER_PART):
            numbers: Places = np.arange(first, min(first + TEXTS_PER_PART, end))
            texts, places = self.texts_of(numbers)
            yield texts, np.diff(places)

    def find(self, text: str) -> int | None:
        """The number of a text; None if the table does not have it."""
        size = self._size  # read before the arrays: later arrays hold at least this number of texts
        if not size:
            return None
        data: Bytes = np.frombuffer(bytearray(text.encode("utf-8", "surrogatepass")), np.uint8)
        slots = self._slots_for(0)
        with np.errstate(over="ignore"):  # multiplication modulo 2 ** 64 is intended
            number = int(find_text(data, slots, self._offsets, self._shared, self._arena, size))
        return None if number < 0 else number

    def look_up(self, texts: Texts, first: int, base: int, numbers: Numbers) -> None:
        """Fill ``numbers`` for the texts that begin with the byte ``first``: ``base`` + number, or ABSENT."""
        self._number(texts, first, base, numbers, grows=False)

    def append(self, texts: Texts, first: int, base: int, numbers: Numbers) -> None:
        """As ``look_up``, but new texts are appended. Precondition: one writer at a time."""
        if self._is_growing:  # an interrupted append left slots of texts that do not exist
            self._slots = None
        self._is_growing = True
        self._slots_for(texts.starts.size)
        self._make_room(texts.starts.size, int(texts.lengths.sum()))
        self._size = self._number(texts, first, base, numbers, grows=True)
        self._is_growing = False

    def extend(self, content: Bytes, lengths: Places) -> None:
        """Append texts, given end to end, without a look-up. Precondition: the table has none of them."""
        self._slots = None
        self._make_room(lengths.size, content.size)
        content, lengths = np.require(content, requirements="W"), np.require(lengths, requirements="W")
        with np.errstate(over="ignore"):
            self._size = append_texts(content, lengths, self._offsets, self._shared, self._arena, self._size)

    def keep(self) -> None:
        """Move large columns to scratch files: see ``kernels.scratch``. Precondition: no other writer."""
        arena, offsets, shared = self.coded()
        columns = kept(arena), kept(offsets), kept(shared), self._slots
        self._arena, self._offsets, self._shared, slots = columns
        self._slots = None if slots is None else kept(slots)

    def _make_room(self, texts: int, size: int) -> None:
        """Make room for more texts, of ``size`` bytes in all."""
        self._arena = _with_room(self._arena, int(self._offsets[self._size]), size)
        self._shared = _with_room(self._shared, self._size, texts)
        self._offsets = _with_room(self._offsets, self._size + 1, texts)

    def _number(self, texts: Texts, first: int, base: int, numbers: Numbers, *, grows: bool) -> int:
        size = self._size  # read before the arrays: later arrays hold at least this number of texts
        return number_texts(
            texts.data,
            texts.starts,
            texts.lengths,
            texts.firsts,
            texts.hashes,
            texts.earlier,
            first,
            self._slots_for(0),
            self._offsets,
            self._shared,
            self._arena,
            size,
            grows,
            numbers,
            base,
        )

    def _slots_for(self, more: int) -> Slots:
        """The hash slots, built or enlarged so that there is room for ``more`` texts."""
        slots = self._slots
        if slots is None or self._size + more > MAX_TEXTS_PER_SLOT * slots.size:
            return alone(self._making_slots, self._make_slots, self._size + more)
        return slots

    def _make_slots(self, size: int) -> Slots:
        slots = self._slots
        if slots is None or size > MAX_TEXTS_PER_SLOT * slots.size:  # else another thread has made them
            larger = 0 if slots is None else int(GROWTH_OF_SLOTS * slots.size)
            self._slots = slots = self._slots_of(self._size, max(int(size / MAX_TEXTS_PER_SLOT) + 1, larger))
        return slots

    def _slots_of(self, count: int, size: int = 0) -> Slots:
        """New hash slots of the first ``count`` texts, at least ``size``."""
        number = max(MIN_SLOTS, int(count / MAX_TEXTS_PER_SLOT) + 1, size)
        reserve(4 * number)
        slots: Slots = np.zeros(number, np.uint32)
        hashes: Hashes = np.empty(HASHES_AT_ONCE, np.uint32)
        for start in range(0, count, TEXTS_PER_PART):
            check()
            end = min(start + TEXTS_PER_PART, count)
            longest = int(np.diff(self._offsets[start : end + 1]).max())
            text: Bytes = np.empty(longest + MAX_SHARED + MAX_ENDING, np.uint8)
            with np.errstate(over="ignore"):  # multiplication modulo 2 ** 64 is intended
                enter_slots(self._offsets, self._shared, self._arena, slots, text, hashes, start, end)
        return slots


def with_ending(coded: bytes) -> bytes:
    """The end of a text, of which the arena has ``coded``."""
    has_code = coded and coded[-1] >= FIRST_CODE
    return coded[:-1] + ENDINGS[coded[-1] - FIRST_CODE] if has_code else coded


def _with_room(array: NDArray[Item], used: int, more: int) -> NDArray[Item]:
    """The array if it has room for ``more`` entries, else a larger copy of its used part."""
    if used + more <= array.size:
        return array
    reserve(array.itemsize * (used + more))
    larger = np.empty(max(used + more, 2 * array.size), array.dtype)  # untouched pages cost no memory
    apart(used, partial(np.copyto, larger[:used], array[:used]))
    return larger


def hash_of(text: bytes) -> int:
    """The hash of one text, as the kernel ``hash_texts`` computes it, without arrays and machine code."""
    factor, bits = 0x9E3779B97F4A7C15, (1 << 64) - 1
    mixed, rest = len(text) * factor & bits, len(text) & ~7
    for word in unpack_from(f"<{rest >> 3}Q", text):
        mixed = (mixed ^ word) * factor & bits
        mixed ^= mixed >> 32
    mixed = (mixed ^ int.from_bytes(text[rest:], "big")) * factor & bits
    mixed ^= mixed >> 29
    return (mixed * factor & bits) >> 32
