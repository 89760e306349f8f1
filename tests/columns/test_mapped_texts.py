"""Look-ups of texts in a mapped file, one by one and by slots, against a table in memory."""

from __future__ import annotations

from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.strategies import examples

from corollary.columns import mapped_texts
from corollary.columns.column_file import ColumnFile, written
from corollary.columns.mapped_texts import MappedTextTable, write_texts
from corollary.terms.texts import ABSENT, Texts, TextTable

texts = st.sampled_from(["<", '"']).flatmap(lambda first: st.text("aé", max_size=4).map(first.__add__))


def mapped(table: TextTable, place: Path) -> MappedTextTable:
    with written(place) as file:
        write_texts(file, "t", table, len(table))
        file.finish({})
    return MappedTextTable(ColumnFile(place), "t", len(table))


@settings(max_examples=examples(100), deadline=None)
@given(known=st.lists(texts, min_size=1, unique=True), probes=st.lists(texts, max_size=20))
@pytest.mark.parametrize("slots_per_find", [0, 1 << 30])
def test_look_ups(slots_per_find: int, known: list[str], probes: list[str]) -> None:
    given = Texts.of_strings(known)
    table = TextTable.of_parts([(given.data, given.lengths)])
    asked = Texts.of_strings([*probes, ""])
    with TemporaryDirectory() as folder, pytest.MonkeyPatch.context() as patch:
        patch.setattr(mapped_texts, "SLOTS_PER_FIND", slots_per_find)
        found = mapped(table, Path(folder, "texts"))
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
