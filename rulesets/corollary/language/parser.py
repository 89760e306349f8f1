"""Reading rule texts: text -> syntax tree (lark) -> ``Program``.

What comes out is in the language but may still be unsafe: ``check`` tells. Importing this module
loads no parser; the first text does, and the parser is kept.
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
from corollary.language.model import Program

if TYPE_CHECKING:
    from lark import Lark


@cache
def _parser() -> Lark:
    from lark import Lark

    grammar = files("corollary.language").joinpath("grammar.lark").read_text(encoding="utf-8")
    return Lark(grammar, parser="lalr", propagate_positions=True, maybe_placeholders=False)


def parse_program(text: str, source: str = "<text>") -> Program:
    """The program that a text states; ``source`` is what messages call it.

    Raises ``RuleSyntaxError`` with the first place that is not in the language or, when all of it is,
    with every unknown prefix, unknown builtin and impossible constant at once.
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
    """The program of a rule file (UTF-8), named after the file; ``InputError`` if it cannot be read."""
    path = Path(path)
    try:
        text = path.read_text(encoding="utf-8-sig")
    except OSError as error:
        raise InputError(f"cannot read the rule file {path}: {error.strerror}") from None
    except UnicodeDecodeError as error:
        raise InputError(f"the rule file {path} is not UTF-8: byte {error.start} is wrong") from None
    return replace(parse_program(text, str(path)), name=path.stem)
