"""``docs/api.md`` lists the public names: those of every public ``__all__``, and each has a docstring."""

from __future__ import annotations

import ast
import importlib
import re
from pathlib import Path
from types import ModuleType

import pytest

PROJECT = Path(__file__).parents[1]
PAGE = PROJECT / "docs" / "api.md"
SECTION = re.compile(r"^## `(corollary\.[\w.]+)`\n(.*?)(?=^## |\Z)", re.MULTILINE | re.DOTALL)
ROW = re.compile(r"^\| `(\w+)` \| .+ \|$", re.MULTILINE)

PUBLIC = {module: ROW.findall(text) for module, text in SECTION.findall(PAGE.read_text())}


def source_of(module: str) -> ast.Module:
    file = importlib.import_module(module).__file__
    assert file is not None
    return ast.parse(Path(file).read_text())


def text_below(assignments: list[ast.stmt]) -> str | None:
    """The text after an assignment, or after several in a row."""
    rest = (node for node in assignments if not isinstance(node, ast.Assign | ast.AnnAssign))
    match next(rest, None):
        case ast.Expr(ast.Constant(value=str(text))):
            return text
    return None


def docstring(module: str, name: str) -> str | None:
    """The docstring of a name: of what is defined, or the text below an assignment or several of them."""
    body = source_of(module).body
    for position, node in enumerate(body):
        match node:
            case ast.ImportFrom(module=str(origin), names=aliases, level=0):
                if any(alias.name == name and alias.asname is None for alias in aliases):
                    return docstring(origin, name)
            case ast.FunctionDef() | ast.ClassDef() if node.name == name:
                return ast.get_docstring(node)
            case ast.Assign(targets=[ast.Name(id=target)]) | ast.AnnAssign(target=ast.Name(id=target)):
                if target == name:
                    return text_below(body[position:])
    raise AssertionError(f"{module} does not define {name}")


def test_the_page_has_rows() -> None:
    named = ("store", "reasoner", "language", "profiles", "loaders", "loaders.spark", "generators")
    assert {f"corollary.{name}" for name in named} <= PUBLIC.keys()
    assert all(PUBLIC.values())


@pytest.mark.parametrize("name", PUBLIC)
def test_a_module_has_the_names_of_the_page(name: str) -> None:
    module: ModuleType = importlib.import_module(name)
    assert module.__doc__
    assert sorted(PUBLIC[name]) == sorted(module.__all__)
    assert [public for public in PUBLIC[name] if not hasattr(module, public)] == []


@pytest.mark.parametrize("name", PUBLIC)
def test_public_names_have_docstrings(name: str) -> None:
    assert [public for public in PUBLIC[name] if not docstring(name, public)] == []


def test_pages_use_public_names_only() -> None:
    """The examples of the README and of ``docs/``, but for the page that is about private interfaces."""
    pages = {PROJECT / "README.md", *(PROJECT / "docs").glob("*.md")} - {PROJECT / "docs" / "extending.md"}
    for page in sorted(pages):
        for code in re.findall(r"^```python\n(.*?)^```$", page.read_text(), re.MULTILINE | re.DOTALL):
            for module, name in imported(code):
                assert name in PUBLIC.get(module, ()), f"{page.name} imports {name} from {module}"


def imported(code: str) -> list[tuple[str, str]]:
    """What a program imports from Corollary: module and name."""
    return [
        (node.module, alias.name)
        for node in ast.walk(ast.parse(code))
        if isinstance(node, ast.ImportFrom) and node.module and node.module.startswith("corollary")
        for alias in node.names
    ]
