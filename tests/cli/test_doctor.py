"""``corollary doctor``: every line says what is there, or what is missing for what."""

import json
from importlib.metadata import version
from pathlib import Path

import pytest
from tests.cli.test_commands import succeeds


def test_versions_memory_and_caches() -> None:
    printed = succeeds("doctor").stdout.splitlines()
    found = {line[:17].strip(): line[17:].strip() for line in printed}
    assert found["rdflib"] == version("rdflib")
    assert found["compiled loops"].startswith("kept in ")
    assert "MB free of" in found["memory"] or "not watched" in found["memory"]


def test_a_missing_program_has_a_remedy(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.delenv("JAVA_HOME", raising=False)
    found = json.loads(succeeds("doctor", "--json").stdout)
    assert found["java"] == {
        "found": "not found: needed for Spark",
        "remedy": "Spark 4 needs Java 17 or 21 on the PATH, or JAVA_HOME set",
    }
    assert found["dot"]["remedy"] == "install Graphviz"


def test_a_java_that_does_not_start(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin" / "java").write_text("no program")
    monkeypatch.setenv("JAVA_HOME", str(tmp_path))
    assert "java" in succeeds("doctor").stdout
    assert json.loads(succeeds("doctor", "--json").stdout)["java"]["found"].startswith("does not start")


def test_a_cache_that_cannot_be_written(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr("os.access", lambda *_: False)
    monkeypatch.setenv("NUMBA_CACHE_DIR", str(tmp_path))
    found = json.loads(succeeds("doctor", "--json").stdout)
    assert found["compiled loops"]["remedy"] == "let NUMBA_CACHE_DIR name another folder"
    assert "in each process" in found["parsed profiles"]["found"]
