"""Look-ups of texts in a mapped file, one by one and by slots, against a table in memory."""

from __future__ import annotations

from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.strategies import examples

from corollary.columns import mapped_texts
from corollary.columns.column_file import ColumnFile, DamagedFile, written
from corollary.columns.mapped_texts import MappedTextTable, write_texts
from corollary.kernels.byte_texts import number_texts
from corollary.terms import texts as texts_module
from corollary.terms.texts import ABSENT, Texts, TextTable

texts = st.sampled_from(["<", '"']).flatmap(lambda first: st.text("aé", max_size=4).map(first.__add__))


def mapped(table: TextTable, place: Path) -> MappedTextTable:
    with written(place) as file:
        write_texts(file, "t", table, len(table))
        file.finish({})
    return MappedTextTable(ColumnFile(place), "t", len(table))


@settings(max_examples=examples(100), deadline=None)
@given(known=st.lists(texts, min_size=1, unique=True), probes=st.lists(texts, max_size=20))
@pytest.mark.parametrize(("max_short_offset", "type_of_offsets"), [(0, "i8"), (1 << 20, "u4")])
@pytest.mark.parametrize("slots_per_find", [0, 1 << 30])
def test_look_ups(
    slots_per_find: int, max_short_offset: int, type_of_offsets: str, known: list[str], probes: list[str]
) -> None:
    given = Texts.of_strings(known)
    table = TextTable.of_parts([(given.data, given.lengths)])
    asked = Texts.of_strings([*probes, ""])
    with TemporaryDirectory() as folder, pytest.MonkeyPatch.context() as patch:
        patch.setattr(mapped_texts, "SLOTS_PER_FIND", slots_per_find)
        patch.setattr(mapped_texts, "MAX_SHORT_OFFSET", max_short_offset)
        found = mapped(table, Path(folder, "texts"))
        assert ColumnFile(Path(folder, "texts")).type_of("t.offsets") == type_of_offsets
        assert [found.text(number) for number in range(len(known))] == known
        for first in b'<"':
            numbers = [np.full(len(probes) + 1, 7, np.uint32) for _ in range(2)]
            for other, filled in zip((table, found), numbers, strict=True):
                other.look_up(asked, first, 100, filled)
            expected = [
                (100 + known.index(text) if text in known else ABSENT) if text.encode()[0] == first else 7
                for text in probes
            ]
            assert [filled.tolist()[:-1] for filled in numbers] == [expected, expected]
        assert [found.find(text) for text in probes] == [table.find(text) for text in probes]


@pytest.mark.parametrize("dtype", ["i8", "u4"])
def test_offsets_whose_differences_overflow(tmp_path: Path, dtype: str) -> None:
    """0, 2 ** 63 - 1, -2, 6: the differences, modulo 2 ** 64, are positive. So are those of 4 bytes."""
    given = Texts.of_strings(["<a", "<b", "<c"])
    arena, _, shared = TextTable.of_parts([(given.data, given.lengths)]).coded()
    most = (1 << 63) - 1 if dtype == "i8" else (1 << 31) - 1
    offsets = np.array([0, most, -2 if dtype == "i8" else 2 * most, arena.size], dtype)
    assert (np.diff(offsets) > 0).all()
    with written(tmp_path / "texts") as file:
        file.add("t.texts", "u1", [arena])
        file.add("t.offsets", dtype, [offsets])
        file.add("t.shared", "u1", [np.zeros_like(shared)])
        file.add("t.slots", "u4", [np.zeros(8)])
        file.finish({})
    with pytest.raises(DamagedFile, match="one after the other"):
        MappedTextTable(ColumnFile(tmp_path / "texts"), "t", 3).texts_of(np.arange(3))


@pytest.mark.parametrize("is_whole", [False, True])
def test_texts_that_are_not_utf_8(tmp_path: Path, is_whole: bool) -> None:
    with written(tmp_path / "texts") as file:
        for column, dtype, content in (
            ("texts", "u1", [*b"<a<\x80"]),
            ("offsets", "u4", [0, 2, 4]),
            ("shared", "u1", [0, 0]),
            ("slots", "u4", [0, 0, 0, 0]),
        ):
            file.add(f"t.{column}", dtype, [np.array(content)])
        file.finish({})
    table = MappedTextTable(ColumnFile(tmp_path / "texts"), "t", 2)
    if is_whole:
        table.lengths_of(np.arange(2))
    assert table.text(0) == "<a"
    with pytest.raises(DamagedFile, match="a text is not UTF-8"):
        table.text(1)


def test_offsets_of_a_type_that_is_neither(tmp_path: Path) -> None:
    with written(tmp_path / "texts") as file:
        for column, dtype, size in (
            ("texts", "u1", 4),
            ("offsets", "u8", 3),
            ("shared", "u1", 2),
            ("slots", "u4", 4),
        ):
            file.add(f"t.{column}", dtype, [np.zeros(size)])
        file.finish({})
    with pytest.raises(DamagedFile, match=r"t\.offsets is missing, or is not"):
        MappedTextTable(ColumnFile(tmp_path / "texts"), "t", 2)


def test_a_file_has_no_more_slots_than_its_texts_need(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In memory a table grows ahead; 3,000 texts need 4,001 slots, and some more for the next texts."""
    monkeypatch.setattr(texts_module, "MAX_SPARE_SLOTS", 100)
    known = [f"<{number}" for number in range(3000)]
    given, numbers, table = Texts.of_strings(known), np.empty(3000, np.uint32), TextTable()
    for first in range(0, 3000, 300):
        table.append(Texts.of_strings(known[first : first + 300]), ord("<"), 0, np.empty(300, np.uint32))
    assert table.slots(3000).size == 4251 < table._slots_for(0).size
    found = mapped(table, tmp_path / "texts")
    slots = ColumnFile(tmp_path / "texts").section("t.slots", "u4")
    assert slots.length == 4251
    assert [found.find(text) for text in (*known, "<x")] == [*range(3000), None]
    found.append(Texts.of_strings(["<x"]), ord("<"), 0, np.empty(1, np.uint32))
    assert found._slots_for(0).size == 4251
    found.look_up(given, ord("<"), 0, numbers)
    assert numbers.tolist() == [*range(3000)]
    assert found.find("<x") == 3000


def test_appends_that_are_interrupted_after_a_look_up(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The slots of the file stay as they are, though their texts are in the slots of both appends."""
    given = Texts.of_strings([f"<{number}" for number in range(100)])
    table = mapped(TextTable.of_parts([(given.data, given.lengths)]), tmp_path / "texts")
    more, numbers = Texts.of_strings(["<x", "<5"]), np.empty(2, np.uint32)

    def interrupted(*args: Any) -> int:
        number_texts(*args)
        raise KeyboardInterrupt

    table.look_up(given, ord("<"), 0, np.empty(100, np.uint32))
    with monkeypatch.context() as patch:
        patch.setattr(texts_module, "number_texts", interrupted)
        for _ in range(2):
            with pytest.raises(KeyboardInterrupt):
                table.append(more, ord("<"), 0, numbers)
    table.append(more, ord("<"), 0, numbers)
    assert numbers.tolist() == [100, 5]
    assert [table.find(text) for text in ("<x", "<99", "<y")] == [100, 99, None]
