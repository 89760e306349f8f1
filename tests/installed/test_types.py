"""What is installed has types for its users: every package has a ``py.typed``, and mypy sees no Any."""

from __future__ import annotations

import subprocess
import sys
import sysconfig
import venv
from pathlib import Path
from zipfile import ZipFile

import pytest

pytest.importorskip("mypy", reason="needs mypy: pip install -e '.[dev]'")
pytest.importorskip("hatchling", reason="needs hatchling: pip install -e '.[dev]'")

PROJECT = Path(__file__).parents[2]
PROGRAM = Path(__file__).with_name("program.py")

REVEALED = {
    "store.CorollaryStore().load('a.nt')": "int",
    "store.Limits().seconds": "float | None",
    "reasoner.Reasoner().load('a.nt')": "int",
    "profiles.load_profile": "def (name: str) -> corollary.language.program.Program",
    "language.parse_program('')": "corollary.language.program.Program",
    "loaders.read([], loaders.TermDictionary())[2].dtype.name": "str",
    "generators.generate(1, 'folder')": "list[pathlib.Path]",
}
"""Expressions and the types that mypy shows for them."""


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("wheel")
    pip = [sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps", "--no-build-isolation", "--no-index"]
    subprocess.run([*pip, "-w", folder, PROJECT], check=True, timeout=300)
    return next(folder.glob("*.whl"))


@pytest.fixture(scope="module")
def python(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The interpreter of a new environment, which has the wheel and links to our dependencies."""
    folder = tmp_path_factory.mktemp("environment")
    venv.create(folder, symlinks=True)
    places = {"base": str(folder), "platbase": str(folder)}
    packages = Path(sysconfig.get_path("purelib", vars=places))
    ZipFile(wheel).extractall(packages)
    installed = [Path(place) for place in sys.path if Path(place).name in {"site-packages", "dist-packages"}]
    for entry in (entry for place in installed for entry in place.iterdir()):  # a .pth may name some of these
        if "corollary" not in entry.name and entry.suffix != ".pth" and not (packages / entry.name).exists():
            (packages / entry.name).symlink_to(entry)
    return Path(sysconfig.get_path("scripts", vars=places)) / "python"


@pytest.fixture(scope="module")
def checked(python: Path, tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    """What mypy prints of a user's programs, without our settings.

    It sees both in one run: most of its time goes to what they import.
    """
    folder = tmp_path_factory.mktemp("programs")
    (folder / PROGRAM.name).write_text("# mypy: disallow-any-expr\n" + PROGRAM.read_text())
    imports = "from corollary import generators, language, loaders, profiles, reasoner, store\n"
    (folder / "revealed.py").write_text(
        imports + "".join(f"reveal_type({expression})\n" for expression in REVEALED)
    )
    command = [sys.executable, "-m", "mypy", "--strict", "--config-file=", f"--python-executable={python}"]
    process = subprocess.run(
        [*command, PROGRAM.name, "revealed.py"], cwd=folder, capture_output=True, text=True, timeout=600
    )
    assert process.returncode in (0, 1), process.stdout + process.stderr
    return process.stdout.splitlines()


def test_the_wheel_is_small(wheel: Path) -> None:
    """It has the page of the workbench, and nothing of what makes its editor."""
    assert wheel.stat().st_size < 3_000_000
    names = ZipFile(wheel).namelist()
    assert "corollary/serve/page/index.html" in names
    assert not [name for name in names if "page/source" in name]


def test_every_package_in_the_wheel_is_typed(wheel: Path) -> None:
    names = {Path(name) for name in ZipFile(wheel).namelist()}
    packages = {Path(*name.parts[:2]) for name in names if name.parts[0] == "corollary"}
    assert len(packages) > 10
    assert {package for package in packages if package / "py.typed" not in names} == set()


@pytest.mark.slow
def test_a_program_has_no_any(checked: list[str]) -> None:
    assert [line for line in checked if ": error:" in line] == []
    assert checked[-1].startswith("Success")


@pytest.mark.slow
def test_types_are_those_declared(checked: list[str]) -> None:
    notes = [line for line in checked if "Revealed type" in line]
    assert [note.split('"')[1] for note in notes] == list(REVEALED.values())
