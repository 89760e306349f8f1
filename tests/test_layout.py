"""The folders stay what they are meant to be: one namespace package in three roots, imports one way.

An ``__init__.py`` directly in ``plugin/corollary`` would hide the other two roots from every tool, in
some installations only; an import against the direction makes the rule language need the engine.
"""

import ast
import re
import sys
from collections import Counter
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from types import FrameType

import pytest
from rdflib import RDF, RDFS, Graph, Namespace, URIRef

EX = Namespace("http://example.org/")

MOST_SWITCHES = 134
"""Calls from one folder to another, in a read after one addition that has one consequence."""

PROJECT = Path(__file__).parents[1]
ROOTS = ("rulesets", "plugin", "loaders")
"""In the order of import: each may import itself and those before it."""

FLOORS = (
    *("language", "importers", "profiles"),
    *("kernels", "terms", "columns", "closure", "expressions", "program", "plan", "execute"),
    *("modules", "evaluate", "maintain", "explain"),
    *("reasoner", "sparql", "store"),
    *("loaders", "generators", "loaders.spark", "serve", "cli"),
)
"""All packages: each may import itself and those before it, for annotations and inside functions too."""

LATE_IMPORTS = {
    "plugin/corollary/reasoner/reasoner.py": "a reasoner loads documents and encoded data sets",
    "plugin/corollary/reasoner/snapshot.py": "a snapshot is written to a file",
    "plugin/corollary/reasoner/version.py": "the type of skipped lines",
    "plugin/corollary/store/rdflib_formats.py": "parses documents into rdflib's graphs",
    "plugin/corollary/store/store.py": "a store loads documents and encoded data sets",
    "plugin/corollary/store/loading.py": "LOAD and FROM read documents",
    "plugin/corollary/sparql/external.py": "SERVICE follows the redirects that loaders follow",
}
"""Modules that import ``loaders`` against the direction: inside functions, when they first need it, or for
annotations only. So ``loaders`` and the folders of these modules import each other; no module does."""


MODULES = sorted(path for root in ROOTS for path in (PROJECT / root).rglob("*.py"))


def _name(path: Path) -> str:
    """A module's name without ``corollary``."""
    parts = path.relative_to(PROJECT).with_suffix("").parts[2:]
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


NAMES = {_name(path) for path in MODULES}


@cache
def parsed(path: Path) -> ast.Module:
    """The syntax tree of a module."""
    return ast.parse(path.read_text())


def root_of(part: str) -> str | None:
    """Which root holds ``corollary.<part>``."""
    return next((root for root in ROOTS if (PROJECT / root / "corollary" / part).is_dir()), None)


def imports(tree: ast.AST) -> Iterator[str]:
    """All dotted names that a module imports, inside functions too, also by ``import_module``.

    ``from a import b`` imports a.b if that is a module, else a. Relative names keep their dots.
    """
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            module = "." * node.level + (node.module or "")
            parts = (f"{module}.{alias.name}" for alias in node.names)
            yield from (part if part.removeprefix("corollary.") in NAMES else module for part in parts)
        elif isinstance(node, ast.Call) and ast.unparse(node.func).endswith("import_module"):
            yield from (str(each.value) for each in node.args if isinstance(each, ast.Constant))


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
def test_imports_go_down(path: Path) -> None:
    package = _floor(_name(path))
    tree = parsed(path)
    for name in imports(tree):
        assert not name.startswith("."), f"{path}: a relative import"
        if not name.startswith("corollary."):
            continue
        part = _floor(name.removeprefix("corollary."))
        assert part in FLOORS, f"{path}: corollary has no part '{part}'"
        if part == "loaders" and str(path.relative_to(PROJECT)) in LATE_IMPORTS:
            at_once = ast.Module(_without_late(tree.body), [])
            assert name not in set(imports(at_once)), f"{path} imports {name} before it is needed"
        else:
            assert FLOORS.index(part) <= FLOORS.index(package), f"{path}: {package} stands below {part}"


def test_every_package_has_its_floor() -> None:
    assert {_floor(_name(path)) for path in MODULES} == set(FLOORS)


def test_no_modules_import_each_other() -> None:
    graph = {_name(path): _imported(path) for path in MODULES}
    reached: dict[str, set[str]] = {}
    for name in graph:
        waiting, reached[name] = list(graph[name]), set()
        while waiting:
            if (other := waiting.pop()) not in reached[name]:
                reached[name].add(other)
                waiting += graph.get(other, ())
    circles = {frozenset(o for o in reached[name] if name in reached.get(o, ())) for name in graph}
    assert circles == {frozenset()}


def _floor(name: str) -> str:
    """The floor of a module."""
    return "loaders.spark" if name.startswith("loaders.spark") else name.partition(".")[0]


def _imported(path: Path) -> set[str]:
    """The modules that a module imports."""
    found = set(imports(parsed(path)))
    return {name.removeprefix("corollary.") for name in found if name.startswith("corollary.")} - {
        _name(path)
    }


@pytest.mark.parametrize(
    ("statement", "name"),
    [
        ("import corollary.store.store as y", "corollary.store.store"),
        ("from corollary.store import CorollaryStore", "corollary.store"),
        ("from corollary import store", "corollary.store"),
        ("from ..store import store", "..store"),
        ("if TYPE_CHECKING:\n    from corollary.store import store", "corollary.store.store"),
        ("def f():\n    return importlib.import_module('corollary.store')", "corollary.store"),
    ],
)
def test_imports_are_seen(statement: str, name: str) -> None:
    assert list(imports(ast.parse(statement))) == [name]


def test_the_late_imports_are_those_that_there_are() -> None:
    below = {path for path in MODULES if FLOORS.index(_floor(_name(path))) < FLOORS.index("loaders")}
    late = {path for path in below if any(_floor(name) == "loaders" for name in _imported(path))}
    assert {str(path.relative_to(PROJECT)) for path in late} == LATE_IMPORTS.keys()


SAME_NAMES = {
    "compacting.py": "the command, and what it calls",
    "explaining.py": "the command, and what it calls",
    "tuning.py": "the constants of a folder",
}
"""File names in several folders, where they mean the same thing."""


def test_a_file_name_means_one_thing() -> None:
    names = Counter(path.name for path in MODULES if path.name != "__init__.py")
    assert {name for name, count in names.items() if count > 1} == SAME_NAMES.keys()


MOST_LINES = 50


def test_a_function_fits_on_a_screen() -> None:
    long = {
        f"{path.relative_to(PROJECT)}::{node.name}"
        for path in MODULES
        for node in ast.walk(parsed(path))
        if isinstance(node, ast.FunctionDef) and _length(node) > MOST_LINES
    }
    assert long == set()


def _length(node: ast.FunctionDef) -> int:
    """The number of lines of a function, with its decorators."""
    first = min([node.lineno, *(decorator.lineno for decorator in node.decorator_list)])
    return (node.end_lineno or 0) - first + 1


MEASURED = ("Measured", "measured", "Not tuned:")
"""What the text of a tuning constant says: how it was measured, or why it was not."""


def _tuning_texts(source: str) -> Iterator[tuple[str, str]]:
    """The constants of a file, each with its text: its comment, and the next string after it.

    Constants one after the other share the string after the last of them.
    """
    names: list[str] = []
    text = ""
    for node in ast.parse(source).body:
        lines = source.splitlines()[node.lineno - 1 : node.end_lineno]
        if isinstance(node, ast.Assign | ast.AnnAssign):
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            names += [
                each.id for target in targets for each in ast.walk(target) if isinstance(each, ast.Name)
            ]
            text += " ".join(line.partition("#")[2] for line in lines)
        elif isinstance(node, ast.Expr) and names:
            yield from ((name, text + " ".join(lines)) for name in names)
            names, text = [], ""
    yield from ((name, "") for name in names)


@pytest.mark.parametrize(
    "path", [path for path in MODULES if path.name == "tuning.py"], ids=lambda path: path.parent.name
)
def test_tuning_constants_say_how_they_were_measured(path: Path) -> None:
    texts = list(_tuning_texts(path.read_text()))
    unsaid = {name for name, text in texts if not any(word in text for word in MEASURED)}
    assert texts
    assert unsaid == set()


def test_every_constant_has_its_text() -> None:
    source = 'A = 1  # measured: x\n"""a"""\nB, C = 2, 3\nD = 4\n"""Measured."""\nE = 5\n"""e"""\nF = 6\n'
    found = dict(_tuning_texts(source))
    assert [name for name, text in found.items() if not any(word in text for word in MEASURED)] == ["E", "F"]


MADE_LATER = {
    "plugin/corollary/columns/mapped_pairs.py::PartOfPairs": "``keys`` are read when they are used",
    "plugin/corollary/columns/mapped_texts.py::MappedTextTable": "whole arrays are read when used",
    "plugin/corollary/columns/pairs.py::Difference": "``keys`` are computed when they are used",
    "plugin/corollary/columns/pairs_below.py::PairsBelow": "``keys`` are read when they are used",
    "plugin/corollary/evaluate/known_closure.py::KnownClosure": "what an engine has is restored when read",
    "plugin/corollary/reasoner/reasoner.py::Reasoner": "``_begin`` is all of ``__init__``",
    "plugin/corollary/sparql/algebra.py::PlanNode": "``kept`` makes the cache of a node with its first entry",
    "plugin/corollary/sparql/result.py::SelectResult": "a property of rdflib's class, which has a setter",
    "plugin/corollary/store/graph_store.py::GraphStore": "a mixin: the store makes its reasoner",
}
"""Classes with attributes that no ``__init__`` makes, or that it deletes again, and why."""


def test_attributes_are_made_with_their_object() -> None:
    """In ``__init__``, or in the body of the class: the order in which methods are called makes none."""
    classes = [
        (path, node) for path in MODULES for node in ast.walk(parsed(path)) if isinstance(node, ast.ClassDef)
    ]
    by_name = {node.name: node for _, node in classes}
    later = {
        f"{path.relative_to(PROJECT)}::{node.name}"
        for path, node in classes
        if (_attributes_set(node.body) | _attributes_promised(node)) - _attributes_made(node, by_name)
        or _is_filled(node)
        or _attributes_of_self(node.body, ast.Del)
    }
    assert later == MADE_LATER.keys()


SETTERS = {"setattr", "object.__setattr__", "self.__dict__.update"}


def _is_filled(node: ast.ClassDef) -> bool:
    """Whether methods set attributes by ``setattr`` or in ``__dict__``, when the object is there already."""
    methods = [each for each in node.body if isinstance(each, ast.FunctionDef)]
    methods = [each for each in methods if each.name not in {"__init__", "__post_init__", "__setstate__"}]
    parts = [part for method in methods for part in ast.walk(method)]
    calls = {ast.unparse(part.func) for part in parts if isinstance(part, ast.Call)}
    stored = (
        ast.unparse(part.value)
        for part in parts
        if isinstance(part, ast.Subscript) and isinstance(part.ctx, ast.Store)
    )
    return "self.__dict__" in stored or not calls.isdisjoint(SETTERS)


def _attributes_made(node: ast.ClassDef, classes: dict[str, ast.ClassDef]) -> set[str]:
    """The attributes that the body or ``__init__`` of a class makes, or of a class that it derives from."""
    made = {
        part.id
        for statement in node.body
        if isinstance(statement, ast.Assign | ast.AnnAssign)
        if statement.value is not None or _has_fields(node)
        for part in ast.walk(statement)
        if isinstance(part, ast.Name) and isinstance(part.ctx, ast.Store)
    }
    makers: list[ast.stmt] = [
        each for each in node.body if isinstance(each, ast.FunctionDef) and each.name == "__init__"
    ]
    made |= _attributes_set(makers)
    for base in node.bases:
        if isinstance(base, ast.Name) and base.id in classes and base.id != node.name:
            made |= _attributes_made(classes[base.id], classes)
    return made


def _has_fields(node: ast.ClassDef) -> bool:
    """Whether annotations without values are fields of a data class, or members of a protocol."""
    words = {
        part.id
        for each in (*node.decorator_list, *node.bases)
        for part in ast.walk(each)
        if isinstance(part, ast.Name)
    }
    return not words.isdisjoint({"dataclass", "NamedTuple", "Protocol"})


def _attributes_promised(node: ast.ClassDef) -> set[str]:
    """The attributes of objects that the body of a class annotates, without a value."""
    return {
        statement.target.id
        for statement in node.body
        if isinstance(statement, ast.AnnAssign) and statement.value is None
        if isinstance(statement.target, ast.Name) and "ClassVar" not in ast.unparse(statement.annotation)
    }


def _attributes_set(body: list[ast.stmt]) -> set[str]:
    """The attributes of ``self`` that methods assign."""
    return _attributes_of_self(body, ast.Store)


def _attributes_of_self(body: list[ast.stmt], use: type[ast.expr_context]) -> set[str]:
    """The attributes of ``self`` that methods assign, or delete."""
    return {
        part.attr
        for method in body
        if isinstance(method, ast.FunctionDef)
        for part in ast.walk(method)
        if isinstance(part, ast.Attribute) and isinstance(part.ctx, use)
        if isinstance(part.value, ast.Name) and part.value.id == "self"
    }


@pytest.mark.parametrize(
    "path", [path for path in MODULES if path.parent.name == "spark"], ids=lambda path: path.stem
)
def test_spark_names_no_module(path: Path) -> None:
    """It knows modules by their protocol and their registry, and shapes of rules."""
    used = {name for name in imports(parsed(path)) if name.startswith("corollary.modules")}
    assert used <= {"corollary.modules.module", "corollary.modules.registry"}


def test_a_read_after_one_addition_calls_few_functions_of_other_folders() -> None:
    """What belongs together is in one folder: a change does not go to and fro between them."""
    graph = Graph(store="Corollary")
    graph.add((EX.C0, RDFS.subClassOf, EX.C1))
    switches = [_switches(graph, EX[f"x{number}"]) for number in range(6)]
    assert switches[-1] <= MOST_SWITCHES


def _switches(graph: Graph, subject: URIRef) -> int:
    """The calls, from one folder of the project to another, of one addition and the read after it."""
    found = 0

    def profile(frame: FrameType, event: str, _: object) -> None:
        nonlocal found
        if event == "call" and frame.f_back is not None:
            called, caller = (str(each.f_globals.get("__package__")) for each in (frame, frame.f_back))
            found += called != caller and called.startswith("corollary.") and caller.startswith("corollary.")

    sys.setprofile(profile)
    try:
        graph.add((subject, RDF.type, EX.C0))
        size = len(graph)
    finally:
        sys.setprofile(None)
    assert size > 1
    return found
