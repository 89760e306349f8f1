"""Every Python and console snippet of the README and of ``docs/`` runs, in order, in one fresh folder a page.

Python snippets of a page share their names. In a ``console`` snippet a line after ``$`` is a command, and the
lines below it are what it prints, ``...`` standing for anything; a command without such lines may print
whatever it likes. Other snippets (``sh``, ``turtle`` ...) are only shown, unless their first line is a
comment that is a file name (``# rules.dlog``): these are saved under that name. A page whose snippets import
software that is not installed is skipped.
"""

import ast
import doctest
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

from corollary.loaders.spark.session import has_java
from corollary.maintain.strategy import DeletionStrategy
from corollary.maintain.transaction import LayerDeletion, LayerwiseStrategy
from corollary.modules.module import Module

PROJECT = Path(__file__).parents[1]
PAGES = [PROJECT / "README.md", *sorted((PROJECT / "docs").glob("**/*.md"))]
SNIPPET = re.compile(r"^```(\w+)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
FILE = re.compile(r"# (\S+\.\w+)\n")
OPTIONAL = {"owlrl", "pyshacl", "pyspark", "reasonable"}
COMMAND = re.compile(r"^\$ (.*(?:\\\n.*)*)\n((?:(?!\$ ).*\n)*)", re.MULTILINE)


def snippets(page: Path) -> Iterator[tuple[str, str]]:
    """Language and text of each fenced block."""
    for match in SNIPPET.finditer(page.read_text()):
        yield match[1], match[2]


def imported(page: Path) -> set[str]:
    """The packages that Python snippets import."""
    nodes = [
        node
        for language, text in snippets(page)
        if language == "python"
        for node in ast.walk(ast.parse(text))
    ]
    names = [alias.name for node in nodes if isinstance(node, ast.Import) for alias in node.names]
    names += [node.module for node in nodes if isinstance(node, ast.ImportFrom) and node.module]
    return {name.partition(".")[0] for name in names}


def run_console(text: str, folder: Path) -> None:
    scripts = str(Path(sys.executable).parent)
    environment = {**os.environ, "PATH": os.pathsep.join((scripts, os.environ["PATH"]))}
    for match in COMMAND.finditer(text):
        command, expected = match[1], match[2]
        process = subprocess.run(
            ["bash", "-c", command], cwd=folder, env=environment, capture_output=True, text=True, timeout=300
        )
        assert process.returncode == 0, f"{command}\n{process.stderr}"
        flags = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE
        if expected.strip():
            agrees = doctest.OutputChecker().check_output(expected, process.stdout, flags)
            assert agrees, f"$ {command}\nprinted\n{process.stdout}\nand not\n{expected}"


@pytest.mark.parametrize(
    "page",
    [
        pytest.param(page, marks=pytest.mark.slow if "```console" in page.read_text() else ())
        for page in PAGES
    ],
    ids=[str(page.relative_to(PROJECT)) for page in PAGES],
)
def test_snippets_run(page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    names: dict[str, Any] = {}
    if missing := sorted(name for name in imported(page) & OPTIONAL if find_spec(name) is None):
        pytest.skip(f"needs {', '.join(missing)}")
    if "pyspark" in imported(page) and not has_java():
        pytest.skip("needs Java 17 or 21: install it, or set JAVA_HOME")
    for language, text in snippets(page):
        if language == "python":
            exec(compile(text, str(page), "exec"), names)
        elif language == "console":
            run_console(text, tmp_path)
        elif file := FILE.match(text):
            (tmp_path / file[1]).write_text(text)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(PROJECT)))
def test_links_to_files_lead_somewhere(page: Path) -> None:
    for target in re.findall(r"\]\(([^)#:]+)\)", page.read_text()):
        assert (page.parent / target).exists(), f"{page}: no {target}"


def headings(page: Path) -> set[str]:
    """The anchors of a page, as GitHub makes them of its headings."""
    text = SNIPPET.sub("", page.read_text())
    found = (re.sub(r"[^\w -]", "", line.lower()) for line in re.findall(r"^#+ (.+)$", text, re.MULTILINE))
    return {line.replace(" ", "-") for line in found}


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(PROJECT)))
def test_links_to_headings_lead_somewhere(page: Path) -> None:
    for target, anchor in re.findall(r"\]\(([^)#:]*)#([^)]+)\)", SNIPPET.sub("", page.read_text())):
        other = page.parent / target if target else page
        assert anchor in headings(other), f"{page}: no {target}#{anchor}"


def test_every_page_is_in_the_navigation_of_the_site() -> None:
    docs = PROJECT / "docs"
    parts = re.findall(
        r"^```\{toctree\}\n(?::[^\n]*\n)*\n(.*?)^```$", (docs / "index.md").read_text(), re.M | re.S
    )
    pages = {path.stem for path in docs.iterdir() if path.suffix in (".md", ".ipynb")} - {"index"}
    assert sorted(line for part in parts for line in part.split()) == sorted(pages)


def names_of_files() -> Iterator[tuple[str, str]]:
    """The files that prose names in backticks: pages and docstrings, each with the file named."""
    files = [PROJECT / "CONTRIBUTING.md", *PAGES]
    files += [path for root in ("plugin", "rulesets", "loaders") for path in (PROJECT / root).rglob("*.py")]
    for path in files:
        for named in re.findall(r"`([\w./-]+/[\w-]+\.py)`", path.read_text()):
            yield str(path.relative_to(PROJECT)), named


def test_files_that_prose_names_exist() -> None:
    parts = [PROJECT, *PROJECT.glob("*/corollary"), *PROJECT.glob("*/corollary/*")]
    missing = [
        (place, named)
        for place, named in names_of_files()
        if not any((folder / named).is_file() for folder in parts)
    ]
    assert not missing


MODULES = {
    ".".join(path.relative_to(root).with_suffix("").parts)
    for root in PROJECT.glob("*/corollary")
    for path in root.rglob("*.py")
}


def test_modules_that_docstrings_name_exist() -> None:
    folders = {name.partition(".")[0] for name in MODULES if "." in name}
    missing = [
        (str(path.relative_to(PROJECT)), named)
        for root in PROJECT.glob("*/corollary")
        for path in root.rglob("*.py")
        for named in re.findall(r"``(?:corollary\.)?([a-z]+\.[a-z_0-9]+)(?=[.`])", path.read_text())
        if named.partition(".")[0] in folders - {"store", "reasoner"}  # these are variables, too
        and named not in MODULES
        and not hasattr(import_module(f"corollary.{named.partition('.')[0]}"), named.partition(".")[2])
        and not any(module.startswith(f"{named}.") for module in MODULES)
    ]
    assert not missing


@pytest.mark.parametrize("protocol", [Module, DeletionStrategy, LayerwiseStrategy, LayerDeletion])
def test_the_page_about_extending_names_all_members(protocol: type) -> None:
    page = (PROJECT / "docs" / "extending.md").read_text()
    members = {name for name in {*vars(protocol), *protocol.__annotations__} if not name.startswith("_")}
    missing = {name for name in members if not re.search(rf"`{name}`|def {name}\(|\b{name} = ", page)}
    assert not missing
