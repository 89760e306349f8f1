"""What is known of the memory of this process."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from corollary.kernels import memory


@pytest.mark.skipif(not Path("/proc/meminfo").exists(), reason="no /proc here")
def test_what_is_used_and_left() -> None:
    before, found = memory.used(), memory.room()
    kept = [
        np.ones(50_000_000, np.uint8) for _ in range(8)
    ]  # what was free in this process may be used first
    after = memory.used()
    assert before is not None and after is not None and found is not None
    assert 200_000_000 < after - before < 500_000_000
    assert sum(map(len, kept)) < found.left <= found.total


def group(folder: Path, limit: str, use: int, cache: int) -> memory.Group:
    files = [folder / name for name in ("limit", "use", "statistics")]
    for path, text in zip(
        files, (limit, str(use), f"anon 7\ninactive_file {cache - 40}\nactive_file 40\n"), strict=True
    ):
        path.write_text(text)
    limit_file, use_file, statistics = files
    return memory.Group(limit_file, use_file, statistics, ("inactive_file", "active_file"))


def test_a_control_group_leaves_what_it_does_not_use_but_for_its_cache(tmp_path: Path) -> None:
    assert memory._of_group(group(tmp_path, "1000\n", 600, 100)) == memory.Room(500, 1000)
    assert memory._of_group(group(tmp_path, "max\n", 600, 100)) is None
    assert memory._of_group(group(tmp_path, str((1 << 63) - 4096), 600, 100)) is None
    nowhere = tmp_path / "nowhere"
    assert memory._of_group(memory.Group(nowhere, nowhere, nowhere, ())) is None


def test_the_least_room_counts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(memory, "_groups", lambda: (group(tmp_path, "1000", 600, 40),))
    assert memory.room() == memory.Room(440, 1000)
