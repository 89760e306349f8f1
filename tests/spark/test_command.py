"""The commands from outside: what they print, and what a process that is killed leaves behind."""

from __future__ import annotations

import fcntl
import json
import os
import pty
import re
import signal
import struct
import subprocess
import sys
import termios
import time
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from tests.spark.conftest import SETTINGS
from tests.spark.data import read_texts, texts
from tests.strategies import MORE_EXAMPLES

from corollary.language.errors import InputError
from corollary.loaders.encoded import load_encoded
from corollary.reasoner import Reasoner

if TYPE_CHECKING:
    pass

pytestmark = pytest.mark.slow


DELAYS = (0.7, 0.1, 0.3, 1.2, 1.6, 2.1)
"""Seconds after which a process is killed, which is in the middle of one load after the other."""

LOADS = f"""
import sys
from corollary.loaders.spark import load, session

spark = session("local[2]", "1g", {SETTINGS})
for n in range(100):
    load(spark, [sys.argv[1]], f"{{sys.argv[2]}}/set-{{n % 2}}", files=2)  # from the third on over another
    print(n, flush=True)
"""


@pytest.mark.usefixtures("needs_spark")
@pytest.mark.parametrize("delay", DELAYS if MORE_EXAMPLES > 1 else DELAYS[:1])
def test_a_load_that_is_killed_leaves_nothing_half_written(tmp_path: Path, delay: float) -> None:
    path = tmp_path / "a.nt"
    path.write_text("".join(f'<http://e/{n % 999}> <http://e/p> "{n}" .\n' for n in range(20_000)))
    target = tmp_path / "sets"
    target.mkdir()
    process = subprocess.Popen(
        [sys.executable, "-c", LOADS, str(path), str(target)],
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        env=os.environ | {"PYSPARK_PYTHON": sys.executable},
        start_new_session=True,
    )
    assert process.stdout is not None
    for _ in range(2):
        assert process.stdout.readline(), "the process ended by itself"
    time.sleep(delay)
    os.killpg(process.pid, signal.SIGKILL)
    process.wait()
    accepted = 0
    wanted = read_texts([path])
    for folder in target.iterdir():
        try:
            found = load_encoded(folder)
        except InputError:
            continue
        accepted += 1
        assert texts(found.explicit, found.dictionary) == wanted
    assert accepted >= 1  # at most one of the two was being replaced


def command(*arguments: str) -> list[str]:
    """A command as a user calls it."""
    settings = (part for setting in SETTINGS.items() for part in ("--conf", "=".join(setting)))
    program = str(Path(sys.executable).with_name("corollary"))
    return [program, *arguments, "--master", "local[2]", *settings]


@pytest.mark.usefixtures("needs_spark")
def test_commands(tmp_path: Path) -> None:
    """As a user calls them."""

    def run(*arguments: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(command(*arguments), cwd=tmp_path, capture_output=True, text=True, check=False)

    (tmp_path / "a.nt").write_text(
        "<http://e/a> a <http://e/b> .\n<http://e/a> <http://e/p> <http://e/b> .\n"
    )
    loaded = run("spark-load", "a.nt", "set", "--json")
    assert loaded.returncode == 0, loaded.stderr
    assert loaded.stderr.rstrip().endswith("corollary: 1 bad line is in set/quarantine")
    assert json.loads(loaded.stdout)["facts"] == 1
    (tmp_path / "rules.dlog").write_text("[?y, <http://e/q>, ?x] :- [?x, <http://e/p>, ?y] .")
    closed = run("spark-materialise", "set", "closed", "--rules", "rules.dlog")
    assert closed.returncode == 0, closed.stderr
    assert "largest predicates" in closed.stdout
    found = load_encoded(tmp_path / "closed")
    assert texts(found.inferred, found.dictionary) == {("<http://e/b>", "<http://e/q>", "<http://e/a>")}
    (tmp_path / "more.nt").write_text("<http://e/c> <http://e/p> <http://e/d> .\n")
    updated = run("spark-update", "closed", "newer", "--add", "more.nt", "--rules", "rules.dlog", "--json")
    assert updated.returncode == 0, updated.stderr
    report = json.loads(updated.stdout)
    assert all(seconds >= 0 for seconds in report.pop("seconds").values())
    assert report == {
        "explicit": 2,
        "inferred": 2,
        "added": 1,
        "removed": 0,
        "absent": 0,
        "bad_lines": 0,
        "rounds": report["rounds"],
        "method": "one task",
        "strategy": "additions",
        "reason": "",
    }


@pytest.mark.usefixtures("needs_spark")
def test_a_line_on_a_terminal_says_what_goes_on(tmp_path: Path) -> None:
    """With tasks, facts and their rate. In the end it is erased; nothing of it is in standard output."""
    lines = "".join(f"<http://e/{n}> <http://e/p> <http://e/{n + 1}> .\n" for n in range(20))
    (tmp_path / "a.nt").write_text(lines)
    (tmp_path / "rules.dlog").write_text("[?y, <http://e/q>, ?x] :- [?x, <http://e/p>, ?y] .")
    reasoner = Reasoner("none")
    reasoner.load(tmp_path / "a.nt")
    reasoner.save_encoded(tmp_path / "set")
    arguments = command("spark-materialise", "set", "closed", "--rules", "rules.dlog", "--files", "2")
    ours, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 24, 120, 0, 0))
    with subprocess.Popen(
        [*arguments, "--json"],
        cwd=tmp_path,
        stdout=subprocess.PIPE,
        stderr=theirs,
        env=os.environ | {"TERM": "xterm"},
    ) as process:
        os.close(theirs)
        shown = b""
        with suppress(OSError):  # of Linux, when the other end is closed
            while part := os.read(ours, 1 << 16):
                shown += part
        assert process.stdout is not None
        printed = process.stdout.read()
    os.close(ours)
    assert process.returncode == 0, shown
    report = json.loads(printed)
    assert (report["inferred"], report["inconsistencies"], report["uncounted"]) == (20, 0, "")
    text = re.sub(rb"\x1b\[[0-9;?]*[A-Za-z]", b"", shown).decode()
    assert re.search(r"rounds .*0:00:\d\d", text)
    assert re.search(r"40 facts [0-9,]+/s", text) and re.search(r"\d+/\d+ tasks", text)
    assert shown.endswith(b"\x1b[2K") or text.endswith("\r")
