"""Exceptions out of nowhere: raised in our own code, before any line that is about to run.

Two ways, which see different things:

1. ``traced`` uses ``sys.settrace``. It also stops at lines that run twice (the end of a ``with``), at those
   of kernels, and in modules while they are imported. Python ends tracing with the first exception.
2. ``ticked`` calls a function before each statement, written into our modules as they are imported
   (``instrument``, to be called before anything of ours is imported). It can raise any number of times, so it
   sees the lines of recovery after a first exception.
"""

from __future__ import annotations

import ast
import sys
from collections.abc import Callable, Collection
from importlib.machinery import PathFinder, SourceFileLoader
from pathlib import Path
from types import FrameType, ModuleType
from typing import Any

PROJECT = Path(__file__).parents[2]
SOURCES = tuple(str(PROJECT / root / "corollary") for root in ("plugin", "rulesets", "loaders"))


class Interrupted(BaseException):
    """What is raised; nobody expects it."""


Place = tuple[str, int]
"""A file and a line."""


def traced(work: Callable[[], object], at: int = -1, places: list[Place] | None = None) -> list[Place]:
    """The lines of our own that a piece of work comes to. Before that with the number ``at`` it is raised."""
    places = [] if places is None else places

    def local(frame: FrameType, event: str, _: Any) -> Any:
        if event == "line":
            places.append((frame.f_code.co_filename, frame.f_lineno))
            if len(places) - 1 == at:
                raise Interrupted
        return local

    def start(frame: FrameType, _: str, __: Any) -> Any:
        return local if _is_ours(frame.f_code.co_filename) else None

    before = sys.gettrace()
    sys.settrace(start)
    try:
        work()
    finally:
        sys.settrace(before)
    return places


def _is_ours(file: str) -> bool:
    return file.startswith(SOURCES) or "site-packages/corollary/" in file


class _Ticks:
    """What the statements of instrumented modules call."""

    def __init__(self) -> None:
        self.count = 0
        self.is_counting = False
        self.raised_at: Collection[int] = ()

    def __call__(self) -> None:
        if self.is_counting:
            self.count += 1
            if self.count - 1 in self.raised_at:
                raise Interrupted


ticks = _Ticks()


def ticked(work: Callable[[], object], at: Collection[int] = ()) -> int:
    """How many statements of ours a piece of work comes to. Before those numbered in ``at`` it is raised.

    The count is in ``ticks.count`` if it is raised.
    """
    ticks.count, ticks.raised_at, ticks.is_counting = 0, at, True
    try:
        work()
    finally:
        ticks.is_counting = False
    return ticks.count


class _Writer(ast.NodeTransformer):
    """Puts a call before each statement in a function."""

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.FunctionDef:
        self.generic_visit(node)
        if any("kernel" in ast.unparse(decorator) for decorator in node.decorator_list):
            return node
        for child in ast.walk(node):
            for name in ("body", "orelse", "finalbody"):
                block = getattr(child, name, None)
                if isinstance(block, list) and not isinstance(child, ast.ClassDef):
                    setattr(child, name, _with_calls(block))
        return node


def _with_calls(block: list[ast.stmt]) -> list[ast.stmt]:
    result: list[ast.stmt] = []
    for statement in block:
        is_ticked = getattr(statement, "is_tick", False) or getattr(statement, "is_ticked", False)
        if not is_ticked and not isinstance(statement, ast.Nonlocal | ast.Global | ast.FunctionDef):
            tick = ast.copy_location(ast.Expr(ast.Call(ast.Name("__tick__", ast.Load()), [], [])), statement)
            tick.is_tick = True  # type: ignore[attr-defined]
            result.append(ast.fix_missing_locations(tick))
        statement.is_ticked = True  # type: ignore[attr-defined]
        result.append(statement)
    return result


class _Loader(SourceFileLoader):
    def source_to_code(self, data: Any, path: Any, *, _optimize: int = -1) -> Any:  # type: ignore[override]
        tree = _Writer().visit(ast.parse(data))
        return compile(tree, path, "exec", dont_inherit=True, optimize=_optimize)

    def get_code(self, fullname: str) -> Any:  # never from the cache
        path = self.get_filename(fullname)
        return self.source_to_code(self.get_data(path), path)

    def exec_module(self, module: ModuleType) -> None:
        module.__dict__["__tick__"] = ticks
        super().exec_module(module)


class _Finder(PathFinder):
    @classmethod
    def find_spec(cls, fullname: str, path: Any = None, target: Any = None) -> Any:
        if not fullname.startswith("corollary.") or fullname.startswith("corollary.kernels"):
            return None
        spec = super().find_spec(fullname, path, target)
        if spec is not None and isinstance(spec.loader, SourceFileLoader):
            spec.loader = _Loader(spec.loader.name, spec.loader.path)
        return spec


def instrument() -> None:
    """Write the calls into our modules when they are imported. Precondition: none of them is yet."""
    assert not any(name.startswith("corollary.") for name in sys.modules)
    sys.meta_path.insert(0, _Finder)
