"""Parsing of rule texts: text -> syntax tree (lark) -> ``Program``.

A parsed program is syntactically valid but may be unsafe: see ``check``. Importing this module does not
import lark. The first call builds the LALR parser, which is kept for later calls.
"""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING

from corollary.language.builder import Builder
from corollary.language.complaints import syntax_diagnostic
from corollary.language.errors import InputError, RuleSyntaxError
from corollary.language.program import Program

if TYPE_CHECKING:
    from lark import Lark


@cache
def _parser() -> Lark:
    from lark import Lark

    grammar = files("corollary.language").joinpath("grammar.lark").read_text(encoding="utf-8")
    return Lark(grammar, parser="lalr", propagate_positions=True, maybe_placeholders=False)


def parse_program(text: str, source: str = "<text>") -> Program:
    """The program of a rule text. ``source`` is the name of the text in messages.

    Raises ``RuleSyntaxError``: with the first place that the grammar does not allow, else with all unknown
    prefixes, unknown builtins, invalid constants and too deep expressions.
    """
    from lark.exceptions import UnexpectedInput

    lines = text.split("\n")
    try:
        tree = _parser().parse(text)
    except UnexpectedInput as error:
        raise RuleSyntaxError((syntax_diagnostic(error, source, lines),)) from None
    builder = Builder(source, lines)
    program = builder.program(tree)
    if builder.diagnostics:
        raise RuleSyntaxError(tuple(builder.diagnostics))
    return program


def parse_file(path: str | Path) -> Program:
    """The program of a rule file (UTF-8). ``Program.name`` is the file name without its suffix.

    Raises ``InputError`` if the file cannot be read, ``RuleSyntaxError`` as ``parse_program``.
    """
    path = Path(path)
    try:
        text = path.read_text(encoding="utf-8-sig")
    except OSError as error:
        raise InputError(f"cannot read the rule file {path}: {error.strerror}") from None
    except UnicodeDecodeError as error:
        raise InputError(f"the rule file {path} is not UTF-8: byte {error.start} is wrong") from None
    return replace(parse_program(text, str(path)), name=path.stem)
