"""Python workers that are killed in the middle of rounds: tasks are repeated, and the facts are the same."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from tests.spark.conftest import SETTINGS
from tests.spark.data import assert_equal_facts

from corollary.evaluate import materialise
from corollary.generators import generate
from corollary.loaders import read_index
from corollary.loaders.encoded import load_encoded, save_encoded
from corollary.loaders.encoded_format import EncodedDataSet
from corollary.profiles import load_profile
from corollary.terms.dictionary import TermDictionary

pytestmark = pytest.mark.slow

CLOSES = f"""
import json, os, signal, sys, threading, time
from pathlib import Path
from corollary.loaders.spark import materialise, session
from corollary.profiles import load_profile

killed = []


def is_daemon(pid):
    return b"pyspark.daemon" in Path(f"/proc/{{pid}}/cmdline").read_bytes()


def kill_one():
    for _ in range(200):
        for pid in filter(str.isdigit, os.listdir("/proc")):
            try:
                parent = int(Path(f"/proc/{{pid}}/stat").read_text().rsplit(")", 1)[1].split()[1])
                is_ours = os.getsid(int(pid)) == os.getsid(0) and is_daemon(pid) and is_daemon(parent)
            except OSError:
                continue
            if is_ours:
                os.kill(int(pid), signal.SIGKILL)
                killed.append(pid)
                return
        time.sleep(0.02)


def notify(stage):
    if stage == "rounds" or stage.startswith("round 1"):
        threading.Timer(0.1, kill_one).start()


spark = session("local[2, 8]", "1g", {SETTINGS})
done = materialise(spark, sys.argv[1], sys.argv[2], load_profile("owl2rl"), files=3, notify=notify)
print(json.dumps([done.method, done.inferred, len(killed)]))
"""


@pytest.mark.usefixtures("needs_spark")
@pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="finds workers in /proc")
def test_workers_that_are_killed_leave_nothing_that_is_read(tmp_path: Path) -> None:
    dictionary = TermDictionary()
    explicit = read_index(generate(1, tmp_path / "in"), dictionary)
    save_encoded(tmp_path / "set", EncodedDataSet(dictionary, explicit))
    wanted = materialise(explicit, load_profile("owl2rl"), dictionary)
    done = subprocess.run(
        [sys.executable, "-c", CLOSES, str(tmp_path / "set"), str(tmp_path / "closed")],
        capture_output=True,
        text=True,
        env=os.environ | {"PYSPARK_PYTHON": sys.executable},
        start_new_session=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    method, inferred, killed = json.loads(done.stdout.splitlines()[-1])
    assert (method, inferred) == ("partitions", wanted.inferred_count)
    assert killed >= 1
    found = load_encoded(tmp_path / "closed")
    assert_equal_facts((found.inferred, found.dictionary), (wanted.inferred(), dictionary))
    assert_equal_facts((found.generalised, found.dictionary), (wanted.generalised(), dictionary))
