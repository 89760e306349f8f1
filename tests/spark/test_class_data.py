"""Java writes class data when a first session ends, and maps them in the next one."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

pytestmark = pytest.mark.slow

SESSION = """
from pathlib import Path
from corollary.loaders.spark import session
spark = session("local[1]", "1g")
print(spark.range(3).count())
java = spark._jvm.java.lang.ProcessHandle.current().pid()
print("/corollary/spark-" in Path(f"/proc/{java}/maps").read_text())
spark.stop()
"""


def test_a_second_session_maps_what_the_first_one_left(needs_spark: None, tmp_path: Path) -> None:
    """Nothing else is printed, neither at the end of the first one."""
    if sys.platform != "linux":
        pytest.skip("looks at /proc")
    cache = tmp_path / "a cache"
    for is_mapped in (False, True):
        environment = os.environ | {"XDG_CACHE_HOME": str(cache), "PYSPARK_PYTHON": sys.executable}
        done = subprocess.run(
            [sys.executable, "-c", SESSION], env=environment, capture_output=True, text=True, timeout=300
        )
        assert (done.stdout.split(), done.stderr) == (["3", str(is_mapped)], "")
        for _ in range(1200):
            if any(path.read_bytes()[:4] > bytes(4) for path in cache.rglob("*.jsa")):
                break
            time.sleep(0.1)
