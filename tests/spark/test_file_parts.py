"""Parts of local files, without Spark: each line is in one part, whatever the sizes; damage is named."""

from __future__ import annotations

import gzip
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from corollary.language.errors import InputError
from corollary.loaders.spark import file_parts
from corollary.loaders.spark.file_parts import Part, tasks_for

lines = st.lists(st.binary(max_size=9).map(lambda line: line.replace(b"\n", b"")), max_size=30)


def whole(number: int, path: Path, content: bytes, compression: str = "") -> Part:
    path.write_bytes(content)
    return Part(number, path, compression, 0, len(content), len(content))


@given(
    st.lists(st.tuples(lines, st.booleans()), min_size=1, max_size=3), st.integers(1, 40), st.integers(1, 4)
)
def test_each_line_is_in_one_part(
    tmp_path_factory: pytest.TempPathFactory, files: list[tuple[list[bytes], bool]], most: int, cores: int
) -> None:
    folder = tmp_path_factory.mktemp("parts")
    contents = [b"\n".join(found) + b"\n" * ends for found, ends in files]
    parts = [whole(n, folder / f"{n}", content) for n, content in enumerate(contents)]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(file_parts, "BYTES_PER_TASK", most)
        patch.setattr(file_parts, "MIN_BYTES_PER_TASK", 1)
        tasks = tasks_for(parts, cores)
    read: dict[int, bytes] = {}
    for task in tasks:
        assert sum(part.size for part in task) <= most
        for part in task:
            found = [chunk.tobytes() for chunk in part.chunks()]
            assert all(chunk.endswith(b"\n") for chunk in found[:-1])
            before = read.get(part.document, b"")
            assert not before or not found or before.endswith(b"\n")
            read[part.document] = before + b"".join(found)
    assert read == {n: content.removeprefix(b"\xef\xbb\xbf") for n, content in enumerate(contents)}


def test_small_files_share_a_task_and_a_compressed_one_is_whole(tmp_path: Path) -> None:
    small = [whole(n, tmp_path / f"{n}.nt", b"x\n") for n in range(9)]
    large = whole(9, tmp_path / "9.nt.gz", gzip.compress(b"a line\n" * 9), "gz")
    tasks = tasks_for([*small, large], 2)
    assert [part for task in tasks for part in task] == [*small, large]
    assert len(tasks) == 1
    assert b"".join(chunk.tobytes() for chunk in large.chunks()) == b"a line\n" * 9


def test_a_file_that_cannot_be_read_is_named(tmp_path: Path) -> None:
    gone = Part(1, tmp_path / "gone.nt", "", 0, 10, 10)
    with pytest.raises(InputError, match=r"gone\.nt: cannot be read: .*No such file"):
        list(gone.chunks())
    short = whole(1, tmp_path / "short.nt", b"a line\n" * 9)
    short.path.write_bytes(b"a line\n" * 8)
    with pytest.raises(InputError, match=r"short\.nt: it became shorter after it was listed"):
        list(short.chunks())
    cut = whole(2, tmp_path / "cut.nt.gz", gzip.compress(b"a line\n" * 999)[:-9], "gz")
    with pytest.raises(InputError, match=r"cut\.nt\.gz: the compressed data end too early or are damaged: "):
        list(cut.chunks())
