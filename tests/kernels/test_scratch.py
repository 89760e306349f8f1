"""Arrays in scratch files: the same content, writable for kernels, and nothing left behind."""

from __future__ import annotations

import errno
import os
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests import strategies as some
from tests.scratch import in_scratch

from corollary.columns.pairs import NO_KEYS, Pairs, swap
from corollary.kernels.limits import Cancellation, Limits, limited
from corollary.kernels.scratch import kept
from corollary.language import CorollaryError
from corollary.terms.dictionary import Kind, TermDictionary
from corollary.terms.texts import Texts

keys = st.lists(st.integers(0, (1 << 64) - 1), max_size=40).map(lambda some: np.array(some, np.uint64))


def test_a_column_is_moved_once() -> None:
    column = np.arange(10, dtype=np.uint64)

    def work() -> None:
        moved = kept(column)
        assert moved is not column
        assert np.array_equal(moved, column)
        assert moved.flags.writeable
        assert moved.flags.c_contiguous
        assert kept(moved) is moved
        part = moved[3:7]
        assert kept(part) is part  # a view of a file
        moved[0] = 5  # copied on write: see the next one
        assert np.array_equal(kept(column), column)
        every_third = kept(column[::3])
        assert np.array_equal(every_third, column[::3])
        assert every_third.flags.c_contiguous

    in_scratch(work)
    assert kept(column) is column


def test_small_columns_stay_in_memory() -> None:
    small, large = np.zeros(100, np.uint8), np.zeros(101, np.uint8)
    assert in_scratch(lambda: kept(small), most=100) is small
    assert in_scratch(lambda: kept(large), most=100) is not large
    assert in_scratch(lambda: kept(NO_KEYS)) is NO_KEYS


@some.thorough(50)
@given(keys)
def test_pairs_in_files(given_keys: np.ndarray) -> None:
    wanted = sorted(set(given_keys.tolist()))
    pairs = in_scratch(lambda: Pairs.of(given_keys))
    assert pairs.keys.tolist() == wanted
    by_object = in_scratch(lambda: pairs.by_object)
    assert by_object.tolist() == sorted(swap(pairs.keys).tolist())
    assert in_scratch(pairs.inverse).by_object is pairs.keys


def test_a_dictionary_in_files_grows() -> None:
    """Its columns are moved, found, and copied when terms are added."""
    dictionary = TermDictionary()
    texts = [f"<http://example.org/{n}>" for n in range(200)]
    ids = np.empty(100, np.uint32)
    dictionary.encode_texts(Texts.of_strings(texts[:100]), ids)
    dictionary.keep()  # there is no folder
    for end in (100, 150, 200):
        before = list(map(dictionary.find, texts))
        in_scratch(dictionary.keep)
        assert list(map(dictionary.find, texts)) == before
        assert dictionary.encode_all(texts[:end]) == list(range(end))
    in_scratch(dictionary.keep)
    assert dictionary.decode_all(range(200)) == texts
    assert dictionary.count(Kind.IRI) == 200


def test_a_folder_that_is_gone(tmp_path: Path) -> None:
    folder = tmp_path / "scratch"
    with pytest.raises(CorollaryError, match=r"scratch=.*scratch: there is no such folder"):
        Limits(scratch=folder)
    folder.mkdir()
    limits = Limits(scratch=folder)
    folder.rmdir()
    with (
        pytest.MonkeyPatch.context() as patch,
        pytest.raises(CorollaryError, match="free some space, or name another folder"),
    ):
        patch.setattr("corollary.kernels.scratch.MIN_BYTES_IN_SCRATCH", 1)
        limited(limits, Cancellation(), kept, np.arange(3))


@pytest.mark.parametrize("folder", ["", 5, b"/", "/\0", "x" * 5000])
def test_what_names_no_folder(folder: Any) -> None:
    with pytest.raises(CorollaryError, match="there is no such folder"):
        Limits(scratch=folder)


def test_a_folder_is_found_from_elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    limits = Limits(scratch=".")
    monkeypatch.chdir("/")
    assert limits == Limits(scratch=tmp_path)


def test_too_many_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object) -> None:
        raise OSError(errno.EMFILE, "Too many open files")

    monkeypatch.setattr("corollary.kernels.scratch.MIN_BYTES_IN_SCRATCH", 1)
    monkeypatch.setattr("corollary.kernels.scratch.mapped_privately", refuse)
    with pytest.raises(CorollaryError, match=r"Too many open files: .*ulimit -n"):
        limited(Limits(scratch=tmp_path), Cancellation(), kept, np.arange(3))


def test_inner_work_has_the_folder_of_the_outer_one(tmp_path: Path) -> None:
    column = np.arange(5 << 20, dtype=np.uint64)

    def inner() -> object:
        return limited(Limits(seconds=60), Cancellation(), kept, column)

    assert limited(Limits(scratch=tmp_path), Cancellation(), inner) is not column
    assert inner() is column


def test_files_are_closed(tmp_path: Path) -> None:
    """The descriptors of scratch files are closed with the arrays over them, and none is left behind."""
    descriptors = Path("/proc/self/fd")
    if not descriptors.is_dir():
        pytest.skip("the system does not list open files")
    before = len(os.listdir(descriptors))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        held = in_scratch(lambda: [kept(np.arange(n)) for n in range(1, 50)])
    # Python's mmap has a descriptor of its own for each
    assert len(os.listdir(descriptors)) - before in (0, 49)
    del held
    assert len(os.listdir(descriptors)) == before
