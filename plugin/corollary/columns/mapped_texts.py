"""A table of texts in a mapped file, which is searched as it is: nothing is rebuilt when it is opened.

The columns of a table are those in memory (``terms.texts``): the coded texts, and the hash slots.

A single look-up checks the blocks that it reads. Before a kernel sees the arrays, all of them are checked:
the offsets ascend within the texts, no text shares more than its head has, the slots have each text once.
"""

from __future__ import annotations

import numpy as np

from corollary.columns.column_file import Column, ColumnFile, ColumnWriter
from corollary.columns.tuning import SLOTS_AT_ONCE, SLOTS_PER_FIND
from corollary.kernels.byte_texts import Bytes, Numbers, Places, Slots
from corollary.kernels.tuning import TEXTS_PER_HEAD
from corollary.terms.texts import ABSENT, Coded, Texts, TextTable, hash_of, with_ending


def write_texts(file: ColumnWriter, name: str, table: TextTable, count: int) -> None:
    """Write the first ``count`` texts of a table."""
    arena, offsets, shared = table.coded(count)
    contents: tuple[Column, ...] = arena, offsets, shared, table.slots(count)
    types = _types("u4" if arena.size <= MAX_SHORT_OFFSET else "i8")
    for column, dtype, content in zip(_NAMES, types, contents, strict=True):
        file.add(f"{name}.{column}", dtype, [content])


_NAMES = "texts", "offsets", "shared", "slots"

MAX_SHORT_OFFSET = (1 << 32) - 1
"""The largest offset that is written in 4 bytes: all of a table's texts are, or none."""


def _types(of_offsets: str) -> tuple[str, ...]:
    return "u1", of_offsets, "u1", "u4"


class MappedTextTable(TextTable):
    """The texts of one kind of terms. New texts go to arrays in memory, to which the file's are copied."""

    def __init__(self, file: ColumnFile, name: str, count: int) -> None:
        """Raises DamagedFile if the columns of the table ``name`` do not have ``count`` texts."""
        super().__init__()
        del self._arena, self._offsets, self._shared
        self._size = self._mapped = count
        self._file = file
        counts = (None, count + 1, count, None)
        types = _types("i8" if file.type_of(f"{name}.offsets") == "i8" else "u4")
        self._sections = [
            file.section(f"{name}.{column}", dtype, size)
            for column, dtype, size in zip(_NAMES, types, counts, strict=True)
        ]
        self._in_slots, self._width = self._sections[-1], self._sections[1].width
        if self._in_slots.length <= count:
            raise file.damage("the look-up table of texts has no room for them")
        self._views = [file.unchecked(section).data for section in self._sections]

    def __getattr__(self, name: str) -> Bytes | Places:
        """The whole arrays, checked when one is first asked for."""
        if name not in ("_arena", "_offsets", "_shared"):
            raise AttributeError(name)
        for section in self._sections[:3]:
            self._file.check(section.offset, section.size)
        arena, offsets, shared = map(self._file.unchecked, self._sections[:3])
        offsets = offsets.astype(np.int64, copy=False)  # as kernels are compiled for
        own = np.diff(offsets)
        of_heads = own[::TEXTS_PER_HEAD].repeat(TEXTS_PER_HEAD)[: self._mapped]
        is_ascending = (offsets[1:] >= offsets[:-1]).all()  # a difference of hostile offsets may overflow
        if offsets[0] or offsets[-1] != arena.size or not is_ascending or (own + shared == 0).any():
            raise self._file.damage("texts are not one after the other")
        if (shared > of_heads).any() or shared[::TEXTS_PER_HEAD].any():
            raise self._file.damage("a text shares what is not there")
        self._shared, self._offsets, self._arena = shared, offsets, arena
        found: Bytes | Places = self.__dict__[name]
        return found

    def _is_whole(self) -> bool:
        """Whether the arrays were asked for, or there are texts beyond those of the file."""
        return "_arena" in self.__dict__

    def text(self, number: int) -> str:
        """As ``TextTable.text``."""
        try:
            if self._is_whole():
                return super().text(number)
            return self._bytes_of(number).decode("utf-8", "surrogatepass")
        except UnicodeDecodeError as error:
            raise self._file.damage("a text is not UTF-8") from error

    def strings(self, numbers: Places) -> list[str]:
        """As ``TextTable.strings``."""
        try:
            return super().strings(numbers)
        except UnicodeDecodeError as error:
            raise self._file.damage("a text is not UTF-8") from error

    def _bytes_of(self, number: int) -> bytes:
        """The bytes of a text of the file, checked."""
        if not 0 <= number < self._size:
            raise self._file.damage("facts are of unknown terms")
        texts, offsets, sharing, _ = self._sections
        content, places, shares, _ = self._views
        head = number - number % TEXTS_PER_HEAD
        self._file.check(offsets.offset + self._width * head, self._width * (number - head + 2))
        self._file.check(sharing.offset + number, 1)
        first, begin, end, shared = places[head], places[number], places[number + 1], shares[number]
        if not 0 <= first <= begin <= end <= texts.length:
            raise self._file.damage("texts are not one after the other")
        of_head = min(places[head + 1], begin) - first if number > head else 0
        if shared > of_head or shared + end == begin:
            raise self._file.damage("a text shares what is not there")
        self._file.check(texts.offset + first, end - first)
        return bytes(content[first : first + shared]) + with_ending(bytes(content[begin:end]))

    def find(self, text: str) -> int | None:
        """As ``TextTable.find``."""
        if self._slots is not None or self._is_whole():
            return super().find(text)
        content = text.encode("utf-8", "surrogatepass")
        return self._found(hash_of(content), content)

    def look_up(self, texts: Texts, first: int, base: int, numbers: Numbers) -> None:
        """As ``TextTable.look_up``. Few texts are found one by one: without a check of all slots."""
        if self._slots is not None or self._is_whole() or SLOTS_PER_FIND * texts.starts.size > self._size:
            super().look_up(texts, first, base, numbers)
            return
        columns = texts.starts, texts.lengths, texts.firsts, texts.hashes
        rows = zip(*[column.tolist() for column in columns], strict=True)
        for row, (start, length, its_first, hash_) in enumerate(rows):
            if its_first == first:
                number = self._found(hash_, texts.data[start : start + length].tobytes())
                numbers[row] = ABSENT if number is None else base + number

    def _found(self, wanted: int, content: bytes) -> int | None:
        """The number of a text of the file, by its hash and its bytes; None if there is none."""
        size, slots = self._in_slots.length, self._views[3]
        width = size.bit_length()
        none = (wanted & (1 << 32 - width) - 1) << width  # slots with the tag of the hash are above it
        last, place, seen = none + self._mapped, wanted * size >> 32, 0
        while seen < size:
            end = min(place + SLOTS_AT_ONCE, size)
            self._file.check(self._in_slots.offset + 4 * place, 4 * (end - place))
            for slot in slots[place:end]:
                if not slot:
                    return None
                if none < slot <= last and self._bytes_of(slot - none - 1) == content:
                    number: int = slot - none - 1
                    return number
            seen += end - place
            place = end % size
        raise self._file.damage("the look-up table of texts is full")

    def _make_slots(self, size: int) -> Slots:
        if self._slots is None and self._size == self._mapped:
            self._slots = self._checked_slots().copy()  # an interrupted append leaves those of the file
        return super()._make_slots(size)

    def _checked_slots(self) -> Slots:
        """The slots of the file. Raises DamagedFile unless they have each text once."""
        self._file.check(self._in_slots.offset, self._in_slots.size)
        slots: Slots = self._file.unchecked(self._in_slots)
        mask = np.uint32((1 << slots.size.bit_length()) - 1)
        numbers = slots[slots != 0] & mask
        is_there = np.zeros(self._mapped + 1, np.bool_)
        if numbers.size == self._mapped and numbers.size and numbers.max() <= self._mapped:
            is_there[numbers] = True
        if numbers.size != self._mapped or not is_there[1:].all():
            raise self._file.damage("the look-up table of texts is not in order")
        return slots

    def memory(self) -> int:
        """As ``TextTable.memory``, without what is in the file only."""
        if self._size != self._mapped:
            return super().memory()
        return 0 if self._slots is None else self._slots.nbytes

    def __reduce__(self) -> tuple[type[TextTable], tuple[Coded]]:
        return TextTable, (self.coded(),)
