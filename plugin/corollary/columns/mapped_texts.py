"""A table of texts in a mapped file, which is searched as it is: nothing is rebuilt when it is opened.

The columns of a table: the bytes of all texts, their offsets, and an entry ``hash << 32 | number + 1`` for
each text, ascending. Entries are those of the hash slots in memory (``kernels.byte_texts``), so the slots for
many look-ups are made of them without a look at the texts.

A single look-up checks the blocks that it reads. Before a kernel sees the arrays, all of them are checked,
and that the offsets ascend within the texts.
"""

from __future__ import annotations

from bisect import bisect_left

import numpy as np

from corollary.columns.column_file import ColumnFile
from corollary.columns.tuning import ENTRIES_PER_FIND, MAX_ENTRIES_BESIDE
from corollary.kernels.byte_texts import Bytes, Numbers, Places, Slots
from corollary.terms.texts import ABSENT, Texts, TextTable, slots_of


class MappedTextTable(TextTable):
    """The texts of one kind of terms. New texts go to arrays in memory, to which the file's are copied."""

    def __init__(self, file: ColumnFile, name: str, count: int) -> None:
        """Raises DamagedFile if the columns of the table ``name`` do not have ``count`` texts."""
        super().__init__()
        del self._arena, self._offsets
        self._size = self._mapped = count
        self._file, self._name = file, name
        self._places = file.section(f"{name}.offsets", "i8", count + 1)
        self._texts = file.section(f"{name}.texts", "u1")
        self._hashes = file.section(f"{name}.entries", "u8", count)
        self._place_view = file.unchecked(self._places).data
        self._byte_view = file.unchecked(self._texts).data
        self._entry_view = file.unchecked(self._hashes).data

    def __getattr__(self, name: str) -> Bytes | Places:
        """The whole arrays, checked when they are first asked for."""
        if name == "_arena":
            self._arena = self._file.column(f"{self._name}.texts", "u1")
            return self._arena
        if name == "_offsets":
            offsets: Places = self._file.column(f"{self._name}.offsets", "i8")
            if offsets[0] or offsets[-1] != self._texts.length or (offsets[1:] <= offsets[:-1]).any():
                raise self._file.damage("texts are not one after the other")
            self._offsets = offsets
            return offsets
        raise AttributeError(name)

    def _is_whole(self) -> bool:
        """Whether the arrays were asked for, or there are texts beyond those of the file."""
        return "_arena" in self.__dict__ and "_offsets" in self.__dict__

    def text(self, number: int) -> str:
        """As ``TextTable.text``."""
        if self._is_whole():
            return super().text(number)
        try:
            return self._bytes_of(number).decode("utf-8", "surrogatepass")
        except UnicodeDecodeError as error:
            raise self._file.damage("a text is not UTF-8") from error

    def _bytes_of(self, number: int) -> bytes:
        """The bytes of a text of the file, checked."""
        if not 0 <= number < self._size:
            raise self._file.damage("facts are of unknown terms")
        self._file.check(self._places.offset + 8 * number, 16)
        begin, end = self._place_view[number], self._place_view[number + 1]
        if not 0 <= begin < end <= self._texts.length:
            raise self._file.damage("texts are not one after the other")
        self._file.check(self._texts.offset + begin, end - begin)
        return bytes(self._byte_view[begin:end])

    def find(self, text: str) -> int | None:
        """As ``TextTable.find``."""
        if self._slots is not None or self._is_whole():
            return super().find(text)
        content = text.encode("utf-8", "surrogatepass")
        return self._found(int(Texts.of_strings([text]).hashes[0]), content)

    def look_up(self, texts: Texts, first: int, base: int, numbers: Numbers) -> None:
        """As ``TextTable.look_up``. Few texts are found one by one: without slots, which read all entries."""
        if self._slots is not None or self._is_whole() or ENTRIES_PER_FIND * texts.starts.size > self._size:
            super().look_up(texts, first, base, numbers)
            return
        rows = zip(texts.starts.tolist(), texts.lengths.tolist(), texts.hashes.tolist(), strict=True)
        for row, (start, length, hash_) in enumerate(rows):
            if length and texts.data[start] == first:
                number = self._found(hash_, texts.data[start : start + length].tobytes())
                numbers[row] = ABSENT if number is None else base + number

    def _found(self, wanted: int, content: bytes) -> int | None:
        """The number of a text of the file, by its hash and its bytes; None if there is none."""
        place = self._first_entry(wanted) if self._size else 0
        while place < self._size:
            self._file.check(self._hashes.offset + 8 * place, 8)
            entry = self._entry_view[place]
            if entry >> 32 != wanted:
                return None
            number = (entry & 0xFFFFFFFF) - 1
            if 0 <= number < self._mapped and self._bytes_of(number) == content:
                return number
            place += 1
        return None

    def _first_entry(self, wanted: int) -> int:
        """The place of the first entry whose hash is ``wanted`` or more. Hashes are evenly distributed."""
        expected = wanted * self._size >> 32
        low, high = max(expected - MAX_ENTRIES_BESIDE, 0), min(expected + MAX_ENTRIES_BESIDE, self._size)
        low, high = self._checked(low, high)
        if (low and self._entry_view[low] >> 32 >= wanted) or (
            high < self._size and self._entry_view[high - 1] >> 32 < wanted
        ):
            low, high = self._checked(0, self._size)
        return bisect_left(self._entry_view, wanted << 32, low, high)

    def _checked(self, low: int, high: int) -> tuple[int, int]:
        self._file.check(self._hashes.offset + 8 * low, 8 * (high - low))
        return low, high

    def entries(self, count: int) -> Slots:
        """As ``TextTable.entries``."""
        if self._size != self._mapped or count != self._mapped:
            return super().entries(count)
        entries: Slots = self._file.column(f"{self._name}.entries", "u8")
        numbers = (entries & np.uint64(0xFFFFFFFF)).astype(np.int64)
        is_there = np.bincount(numbers[numbers <= count], minlength=count + 1)[1:] == 1
        if (entries[1:] <= entries[:-1]).any() or not is_there.all():
            raise self._file.damage("the look-up table of texts is not in order")
        return entries

    def _make_slots(self, size: int) -> Slots:
        if self._slots is None and self._size == self._mapped:
            self._slots = slots_of(self.entries(self._mapped), size)
        return super()._make_slots(size)

    def memory(self) -> int:
        """As ``TextTable.memory``, without what is in the file only."""
        if self._size != self._mapped:
            return super().memory()
        return 0 if self._slots is None else self._slots.nbytes

    def __reduce__(self) -> tuple[type[TextTable], tuple[Bytes, Places]]:
        return TextTable, (self.content(), self.offsets())
