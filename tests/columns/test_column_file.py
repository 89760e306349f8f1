"""Files of columns: what is written is read, and no damage goes unnoticed."""

from __future__ import annotations

import builtins
import errno
import os
from pathlib import Path
from unittest.mock import patch

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.strategies import thorough

from corollary.columns import column_file
from corollary.columns.column_file import (
    BLOCK_BYTES,
    FIRST_BYTE,
    ColumnFile,
    DamagedFile,
    is_column_file,
    written,
)
from corollary.language import CorollaryError


def write(place: Path, columns: dict[str, tuple[str, list[np.ndarray]]]) -> None:
    with written(place) as file:
        for name, (dtype, parts) in columns.items():
            file.add(name, dtype, parts)
        file.finish({"a": [1, "é"]})


def test_columns_are_read_as_they_were_written(tmp_path: Path) -> None:
    keys = np.arange(100_000, dtype=np.uint64)
    place = tmp_path / "columns"
    write(place, {"keys": ("u8", [keys[:7], keys[7:]]), "none": ("u4", []), "ids": ("u4", [keys[:3]])})
    file = ColumnFile(place)
    assert is_column_file(place)
    assert file.about == {"a": [1, "é"]}
    assert np.array_equal(file.column("keys", "u8"), keys)
    assert not file.column("none", "u4").size
    assert file.column("ids", "u4", 3).tolist() == [0, 1, 2]
    assert [path.name for path in tmp_path.iterdir()] == ["columns"]


@pytest.mark.parametrize("version", [2, 3, 4, 6])
def test_files_of_other_formats(tmp_path: Path, version: int) -> None:
    """Formats 3 and 4 are read."""
    with patch.object(column_file, "FORMAT_VERSION", version):
        write(tmp_path / "columns", {"ids": ("u4", [np.arange(3)])})
    if version in (3, 4):
        assert ColumnFile(tmp_path / "columns").column("ids", "u4").tolist() == [0, 1, 2]
    else:
        with pytest.raises(
            CorollaryError, match=f"is of format {version}, and this Corollary reads format 5"
        ):
            ColumnFile(tmp_path / "columns")


def test_columns_are_writable_and_the_file_is_not_written(tmp_path: Path) -> None:
    """Kernels are compiled for writable arrays."""
    place = tmp_path / "columns"
    write(place, {"ids": ("u4", [np.arange(3)])})
    column = ColumnFile(place).column("ids", "u4")
    column[0] = 9
    assert ColumnFile(place).column("ids", "u4").tolist() == [0, 1, 2]


def test_a_block_is_verified_when_it_is_used(tmp_path: Path) -> None:
    """The flipped bit is in the second block, and found by who reads there."""
    place = tmp_path / "columns"
    write(place, {"bytes": ("u1", [np.zeros(3 * BLOCK_BYTES, np.uint8)])})
    content = bytearray(place.read_bytes())
    content[FIRST_BYTE + BLOCK_BYTES + 5] ^= 1
    place.write_bytes(content)
    file = ColumnFile(place)
    section = file.section("bytes", "u1")
    file.check(section.offset, BLOCK_BYTES)
    file.check(section.offset + 2 * BLOCK_BYTES, 9)
    with pytest.raises(DamagedFile, match="a checksum differs"):
        file.check(section.offset + BLOCK_BYTES - 1, 2)


@thorough(60)
@given(st.data())
def test_no_flipped_bit_goes_unnoticed(tmp_path_factory: pytest.TempPathFactory, data: st.DataObject) -> None:
    place = tmp_path_factory.mktemp("files") / "columns"
    write(place, {"keys": ("u8", [np.arange(40, dtype=np.uint64)]), "ids": ("u4", [np.arange(5)])})
    content = bytearray(place.read_bytes())
    ends = [*range(60), *range(FIRST_BYTE, len(content))]  # between header and columns nothing is written
    at = data.draw(st.sampled_from(ends))
    content[at] ^= 1 << data.draw(st.integers(0, 7))
    place.write_bytes(content)
    with pytest.raises(CorollaryError, match=str(place)):
        ColumnFile(place).check_all()


@thorough(40)
@given(st.data())
def test_no_cut_goes_unnoticed(tmp_path_factory: pytest.TempPathFactory, data: st.DataObject) -> None:
    place = tmp_path_factory.mktemp("files") / "columns"
    write(place, {"keys": ("u8", [np.arange(40, dtype=np.uint64)])})
    content = place.read_bytes()
    place.write_bytes(content[: data.draw(st.integers(0, len(content) - 1))])
    with pytest.raises(DamagedFile):
        ColumnFile(place)


def test_an_error_while_writing_leaves_the_older_file(tmp_path: Path) -> None:
    place = tmp_path / "columns"
    write(place, {"ids": ("u4", [np.arange(3)])})
    with pytest.raises(ZeroDivisionError), written(place) as file:
        file.add("ids", "u4", [np.arange(4)])
        raise ZeroDivisionError
    assert ColumnFile(place).column("ids", "u4").size == 3
    assert [path.name for path in tmp_path.iterdir()] == ["columns"]


def test_a_disk_that_is_full(tmp_path: Path) -> None:
    full = OSError(errno.ENOSPC, "No space left on device")
    with (
        patch.object(os, "fsync", side_effect=full),
        pytest.raises(CorollaryError, match="nothing was changed there: free some space"),
    ):
        write(tmp_path / "columns", {})
    assert not list(tmp_path.iterdir())


def test_a_file_that_must_not_be_read_counts_as_one(tmp_path: Path) -> None:
    """Found: ``query --as-is`` and ``open`` said that it was something else."""
    place = tmp_path / "closed.snapshot"
    write(place, {})
    denied = PermissionError(errno.EACCES, "Permission denied")
    with patch.object(builtins, "open", side_effect=denied):
        assert is_column_file(place)
        with pytest.raises(CorollaryError, match="Permission denied: name a file that can be read"):
            ColumnFile(place)


def test_places_that_cannot_be_written_or_read(tmp_path: Path) -> None:
    with pytest.raises(CorollaryError, match="name a file that can be written"):
        write(tmp_path / "missing" / "columns", {})
    with pytest.raises(CorollaryError, match="name a file that can be read"):
        ColumnFile(tmp_path / "missing")
    assert not is_column_file(tmp_path)
    assert not is_column_file(tmp_path / "a\0b")
