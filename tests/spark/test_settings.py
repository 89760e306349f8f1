"""Which settings a new session gets. Without Spark."""

from __future__ import annotations

import pytest

from corollary.loaders.spark.session import DEFAULT_JAVA, OWN_JAVA, SETTINGS, SHORT_JOBS, _all_settings


@pytest.mark.parametrize(
    ("master", "is_short"),
    [
        ("local", True),
        ("local[1]", True),
        ("local[2]", True),
        ("local[2, 8]", True),
        ("local[12]", False),
        ("local[*]", False),
        ("local-cluster[2,1,1024]", False),
        ("spark://here:7077", False),
        (None, False),
    ],
)
def test_java_for_two_cores(master: str | None, is_short: bool) -> None:
    """A Java that has few cores compiles less. Options of the user are taken as they are."""
    found = _all_settings(master, {"spark.ui.enabled": "false"})
    java = SETTINGS[DEFAULT_JAVA] + f" {SHORT_JOBS}" * is_short
    assert found == {**SETTINGS, DEFAULT_JAVA: java, "spark.ui.enabled": "false"}
    for name in (DEFAULT_JAVA, OWN_JAVA):
        given = {name: "-XX:+UseParallelGC"}
        assert _all_settings(master, given) == {**SETTINGS, **given}
