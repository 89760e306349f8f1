"""A log gives back what was appended, whatever a crash leaves of the last commit. Damage is noticed."""

from __future__ import annotations

import errno
import os
from pathlib import Path
from typing import Any
from unittest.mock import patch
from zlib import crc32

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from corollary.reasoner import commit_log
from corollary.reasoner.commit_log import CommitLog, DamagedLog, LoggedCommit, logged_commits
from corollary.reasoner.contents import NONSENSE
from corollary.reasoner.tuning import LOG_STEP_BYTES, MAX_LINE_BYTES

SEED = 0x0BADCAFE

texts = st.lists(st.text(st.characters(), min_size=1, max_size=9), max_size=3)
keys = st.sets(st.integers(0, 2**64 - 1), min_size=1, max_size=4)
ids = st.integers(0, 2**32 - 1)
commits = st.tuples(
    st.lists(st.tuples(st.integers(0, 2), texts), max_size=2),
    st.lists(st.tuples(ids, ids, st.booleans(), keys), max_size=3),
    st.dictionaries(st.sampled_from(("named", "prefixes")), st.binary(max_size=5), max_size=2),
)


def logged(number: int, facts: list[int], text: str = '"é\n"@en') -> LoggedCommit:
    return LoggedCommit(
        number, [(2, [text])], [(3, 4, True, np.array(facts, np.uint64))], {"named": b"\0\n", "prefixes": b""}
    )


def plain(commit: LoggedCommit) -> object:
    changes = [(*place, keys.tolist(), keys.dtype) for *place, keys in commit.changes]
    return commit.number, commit.terms, changes, commit.others


def read(content: bytes, number: int = 7) -> list[object]:
    return [plain(commit) for commit in logged_commits(content, SEED, number)]


COMMITS = [logged(8, [1, 2**64 - 1]), logged(9, []), logged(10, [5], "\ud800\udc00")]
LINES = [commit.line(SEED) for commit in COMMITS]


@given(st.lists(commits, max_size=4))
def test_commits_come_back(drawn: list[tuple[list, list, dict]]) -> None:  # type: ignore[type-arg]
    given = [
        LoggedCommit(
            number,
            terms,
            [(graph, p, added, np.array(sorted(some), np.uint64)) for graph, p, added, some in changes],
            others,
        )
        for number, (terms, changes, others) in enumerate(drawn, 8)
    ]
    assert read(b"".join(commit.line(SEED) for commit in given)) == list(map(plain, given))


def test_what_a_crash_cuts_off_is_the_last_commit() -> None:
    content, ends = b"".join(LINES), [sum(map(len, LINES[:n])) for n in range(4)]
    for end in range(len(content) + 1):
        whole = sum(1 for place in ends[1:] if place <= end)
        assert read(content[:end]) == list(map(plain, COMMITS[:whole]))
    for start in range(ends[2], len(content) - 1):  # a part that did not reach the disk
        for end in range(start + 2, len(content) + 1):
            torn = content[:start] + bytes(end - start) + content[end:]
            assert read(torn) == list(map(plain, COMMITS[:2]))


ZEROS = bytes(MAX_LINE_BYTES + 1)


def test_zeros_behind_the_last_line_are_the_end() -> None:
    """Of a line that a crash tore, any part may have reached the disk: the others are zeros still."""
    assert read(ZEROS) == []
    content, start = b"".join(LINES), len(LINES[0]) + len(LINES[1])
    assert read(content + b"\0") == read(content + ZEROS) == list(map(plain, COMMITS))
    kept = list(map(plain, COMMITS[:2]))
    for end in range(start, len(content)):
        assert read(content[:end] + ZEROS) == kept
        assert read(content[:start] + bytes(end + 1 - start) + content[end + 1 :] + ZEROS) == kept
    for first in range(start, len(content) - 2):
        assert read(content[:first] + bytes(2) + content[first + 2 :] + ZEROS) == kept


def test_each_flipped_bit_before_zeros_is_noticed() -> None:
    content = LINES[0]
    for place in range(len(content)):
        for bit in range(8):
            damaged = bytearray(content + ZEROS)
            damaged[place] ^= 1 << bit
            with pytest.raises(DamagedLog):
                read(bytes(damaged))
    for written in (ZEROS + b"0", ZEROS + LINES[0], LINES[0] + ZEROS + LINES[1]):
        with pytest.raises(DamagedLog):
            read(written + ZEROS)


def test_each_flipped_bit_is_noticed() -> None:
    content = b"".join(LINES)
    for place in range(len(content)):
        for bit in range(8):
            damaged = bytearray(content)
            damaged[place] ^= 1 << bit
            with pytest.raises(DamagedLog):
                read(bytes(damaged))


def test_lines_that_are_missing_or_swapped_are_noticed() -> None:
    for lines in ([LINES[1]], [LINES[0], LINES[2]], [LINES[1], LINES[0]], [LINES[0], LINES[0]]):
        with pytest.raises(DamagedLog):
            read(b"".join(lines))


def test_lines_of_a_former_state_of_the_database_are_void() -> None:
    assert read(logged(6, [1]).line(SEED + 1) + logged(7, [1]).line(SEED + 1)) == []


def test_lines_of_a_later_state_of_the_database_are_noticed() -> None:
    with pytest.raises(DamagedLog, match="a later state"):
        read(logged(8, [1]).line(SEED + 1))


def test_zeros_in_more_than_one_line_are_noticed() -> None:
    """Only the last line can be unfinished: the others were forced to the disk."""
    content, ends = b"".join(LINES), [len(LINES[0]), len(LINES[0]) + len(LINES[1])]
    for end in range(ends[1] + 1, len(content)):
        with pytest.raises(DamagedLog):
            read(content[: ends[0] + 30] + bytes(end - ends[0] - 30) + content[end:])
    with pytest.raises(DamagedLog):
        read(LINES[0] + bytes(MAX_LINE_BYTES + 1) + b"0")


@pytest.mark.parametrize(
    "content",
    [
        "[" * 99_999,
        "null",
        "[8, [], [], {}, 0]",
        "[8.5, [], [[0, 1, true, [2]]], {}]",
        '[8, [[-1, ["x"]]], [], {}]',
        '[8, [[3, ["x"]]], [], {}]',
        '[8, [[2, [""]]], [], {}]',
        '[8, [[2, "x"]], [], {}]',
        "[8, [[2, [5]]], [], {}]",
        "[8, [], [[0, 1, 1, [2]]], {}]",
        '[8, [], [["0", 1, true, [2]]], {}]',
        "[8, [], [[0, 1.0, true, [2]]], {}]",
        '[8, [], [[0, 1, true, ["2"]]], {}]',
        "[8, [], [[0, 1, true, [[2]]]], {}]",
        "[8, [], [[0, 1, true, 2]], {}]",
        "[8, [], [[0, 1, true, [2.5]]], {}]",
        "[8, [], [[0, 1, true, [-1]]], {}]",
        f"[8, [], [[0, 1, true, [{1 << 64}]]], {{}}]",
        f"[8, [], [[0, 1, true, [{'9' * 5000}]]], {{}}]",
        '[8, [], [], {"named": 0}]',
        '[8, [], [], {"named": "0"}]',
    ],
)
def test_what_no_store_writes_makes_no_sense(content: str) -> None:
    text = content.encode() + b"\n"
    with pytest.raises(NONSENSE):
        read(b"%08x %08x %08x %b" % (27 + len(text), SEED, crc32(text, SEED), text))


def begun(place: Path) -> CommitLog:
    log = CommitLog(place)
    log.begin(SEED)
    return log


def many(number: int, text: str = "x") -> list[LoggedCommit]:
    """Commits from the eighth on."""
    return [logged(8 + n, [n], text) for n in range(number)]


def test_lines_change_the_size_of_the_file_seldom(tmp_path: Path) -> None:
    place, log = tmp_path / "log", begun(tmp_path / "log")
    commits = many(LOG_STEP_BYTES // 500, "x" * 1000)
    sizes = set()
    for commit in commits:
        log.append(commit.line(SEED))
        assert log.is_as_left()
        sizes.add(place.stat().st_size)
    assert sizes == {LOG_STEP_BYTES * n for n in range(1, 1 + len(sizes))} and len(sizes) == 3
    assert read(place.read_bytes()) == list(map(plain, commits))
    log.begin(SEED + 1)
    assert place.read_bytes() == b"" and log.is_as_left()
    log.close()


class FullDisk:
    """A file that ``write`` makes at most ``room`` bytes long, as on a full disk; then it raises ENOSPC."""

    def __init__(self, file: object, room: int) -> None:
        self._file, self._room = file, room

    def __getattr__(self, name: str) -> object:
        return getattr(self._file, name)

    def write(self, content: bytes) -> int:
        file: Any = self._file
        fits = self._room - file.tell()
        if fits <= 0:
            raise OSError(errno.ENOSPC, "No space left on device")
        count: int = file.write(content[:fits])
        return count


@pytest.mark.parametrize("room", [0, 1, len(LINES[0]), len(LINES[0]) + 1, sum(map(len, LINES)), 70_000])
def test_on_a_full_disk_what_fits_is_written(room: int, tmp_path: Path) -> None:
    place, log = tmp_path / "log", begun(tmp_path / "log")
    log._file = FullDisk(log._file, room)  # type: ignore[assignment]
    lines = [commit.line(SEED) for commit in many(800)]
    fitting = [number for number in range(len(lines)) if sum(map(len, lines[: number + 1])) <= room]
    for line in lines[: len(fitting)]:
        log.append(line)
        assert log.is_as_left()
    for _ in range(2):
        with pytest.raises(OSError, match=r"No space left|not written as a whole"):
            log.append(lines[len(fitting)])
        assert log.is_as_left()
        assert len(read(place.read_bytes())) == len(fitting)
    log.close()


@pytest.mark.parametrize("cut", [0, 1, len(LINES[1]) - 1, len(LINES[1])])
def test_what_an_interruption_left_is_settled(cut: int, tmp_path: Path) -> None:
    place, log = tmp_path / "log", begun(tmp_path / "log")
    log.append(LINES[0])
    with place.open("r+b") as file:
        file.seek(len(LINES[0]))
        file.write(LINES[1][:cut])
    is_whole = cut == len(LINES[1])
    assert log.settle(LINES[1]) == is_whole and log.is_as_left()
    log.append(LINES[2 if is_whole else 1])
    expected = COMMITS if is_whole else COMMITS[:2]
    assert read(place.read_bytes()) == list(map(plain, expected)) and log.is_as_left()
    log.close()


def test_an_interruption_behind_the_writing_leaves_the_line(tmp_path: Path) -> None:
    place, log = tmp_path / "log", begun(tmp_path / "log")
    for number, line in enumerate(LINES, 1):
        log.append(line)
        assert log.settle(line) and log.settle(line) and log.is_as_left()
        assert read(place.read_bytes()) == list(map(plain, COMMITS[:number]))
    log.close()


def test_a_line_that_cannot_be_written_is_not_there(tmp_path: Path) -> None:
    log = begun(tmp_path / "log")
    log.append(LINES[0])
    broken = OSError(5, "Input/output error")
    with patch.object(commit_log, "_to_disk", side_effect=broken), pytest.raises(OSError):
        log.append(LINES[1])
    assert (tmp_path / "log").read_bytes() == LINES[0] and log.is_as_left()
    log.append(LINES[1])
    assert read((tmp_path / "log").read_bytes()) == list(map(plain, COMMITS[:2]))
    os.truncate(tmp_path / "log", 5)
    assert not log.is_as_left()
    (tmp_path / "log").unlink()
    assert not log.is_as_left()
    log.close()
