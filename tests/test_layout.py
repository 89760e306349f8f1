"""The folders stay what they are meant to be: one namespace package in three roots, imports one way.

An ``__init__.py`` directly in ``plugin/corollary`` would hide the other two roots from every tool, in
some installations only; an import against the direction makes the rule language need the engine.
"""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

PROJECT = Path(__file__).parents[1]
ROOTS = ("rulesets", "plugin", "loaders")
"""In the order of import: each may import itself and those before it."""

LATE_IMPORTS = {
    "plugin/corollary/reasoner/documents.py": "loaders",
    "plugin/corollary/reasoner/datasets.py": "loaders",
    "plugin/corollary/store/loading.py": "loaders",
    "plugin/corollary/sparql/external.py": "loaders",
}
"""The imports against the direction, inside functions: the store loads and saves with the loaders."""

USERS = {
    "reasoner": {"reasoner", "store", "sparql", "cli"},
    "store": {"store", "sparql", "cli"},
}
"""Who may import the upper floors: the engine does not know who calls it."""

MODULES = sorted(path for root in ROOTS for path in (PROJECT / root).rglob("*.py"))


def root_of(part: str) -> str | None:
    """Which root holds ``corollary.<part>``."""
    return next((root for root in ROOTS if (PROJECT / root / "corollary" / part).is_dir()), None)


def imports(tree: ast.AST) -> Iterator[str]:
    """All dotted names that a module imports, inside functions too."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            yield node.module


@pytest.mark.parametrize("root", ROOTS)
def test_the_namespace_is_open(root: str) -> None:
    closing = PROJECT / root / "corollary" / "__init__.py"
    assert not closing.exists(), f"{closing} would hide the other roots of the namespace package; delete it"


@pytest.mark.parametrize("root", ROOTS)
def test_only_packages_stand_in_the_namespace(root: str) -> None:
    for entry in (PROJECT / root / "corollary").iterdir():
        if entry.name != "__pycache__":
            assert (entry / "__init__.py").is_file(), f"{entry} is no package"
            assert (entry / "py.typed").is_file(), f"{entry}: without an (empty) py.typed users get no types"


def test_the_table_of_folders_is_complete() -> None:
    table = re.findall(
        r"^\| `(\w+/corollary/\w+)` \|", (PROJECT / "docs/architecture.md").read_text(), re.MULTILINE
    )
    packages = {
        f"{root}/corollary/{entry.name}"
        for root in ROOTS
        for entry in (PROJECT / root / "corollary").iterdir()
    }
    assert sorted(table) == sorted(name for name in packages if not name.endswith("__pycache__"))


def test_no_package_stands_in_two_roots() -> None:
    names = [entry.name for root in ROOTS for entry in (PROJECT / root / "corollary").iterdir()]
    names = [name for name in names if name != "__pycache__"]
    assert len(names) == len(set(names))


def _is_late(node: ast.stmt) -> bool:
    """Whether what a statement imports is not imported with its module."""
    is_for_types = isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING"
    return is_for_types or isinstance(node, ast.FunctionDef)


def _without_late(nodes: list[ast.stmt]) -> list[ast.stmt]:
    """The statements that run with their module: without functions and methods."""
    left: list[ast.stmt] = []
    for node in nodes:
        if isinstance(node, ast.ClassDef):
            left += _without_late(node.body)
        elif not _is_late(node):
            left.append(node)
    return left


@pytest.mark.parametrize("path", MODULES, ids=lambda path: str(path.relative_to(PROJECT)))
def test_imports_go_one_way(path: Path) -> None:
    root, _, package = path.relative_to(PROJECT).parts[:3]
    tree = ast.parse(path.read_text())
    for name in imports(tree):
        first, _, rest = name.partition(".")
        if first != "corollary":
            continue
        part = rest.partition(".")[0]
        imported = root_of(part)
        assert imported, f"{path}: corollary has no part '{part}'"
        assert part != "cli" or package == "cli", f"{path}: nothing imports the command line"
        assert package in USERS.get(part, {package}), f"{path}: {package} stands below {part}"
        if imported == LATE_IMPORTS.get(str(path.relative_to(PROJECT))):
            at_once = ast.Module(_without_late(tree.body), [])
            assert name not in set(imports(at_once)), f"{path} imports {name} before it is needed"
        elif package != "cli":  # it puts everything together
            assert ROOTS.index(imported) <= ROOTS.index(root), f"{path} ({root}) imports {name} ({imported})"
