"""Messages for syntax errors: the unexpected token, what is allowed there, a likely remedy."""

from __future__ import annotations

import re
from collections.abc import Container, Iterable, Sequence
from difflib import get_close_matches
from typing import TYPE_CHECKING

from corollary.language.errors import Diagnostic, Span

if TYPE_CHECKING:
    from lark.exceptions import UnexpectedInput

_LITERALS = frozenset({"STRING", "INTEGER", "DECIMAL", "DOUBLE", "TRUE", "FALSE"})
_IRIS = frozenset({"IRIREF", "PNAME"})
_TERMS = _LITERALS | _IRIS | {"VARIABLE", "BLANK_NODE"}
_COMPUTED = frozenset({"_FILTER", "_BIND", "_AGGREGATE", "_EACH", "_NOT"})

_OPERATORS = frozenset({"OR", "AND", "PLUS", "MINUS", "STAR", "SLASH"})

_CALLED = re.compile(r"([A-Za-z]\w*)\s*\(")
_KEYWORDS = ("FILTER", "BIND", "AGGREGATE", "EXISTS", "CHAIN", "PAIR")

_PHRASES: tuple[tuple[str, frozenset[str]], ...] = (
    ("a body atom", _COMPUTED | {"LSQB", "NAME", "VARIABLE"} | _IRIS),
    ("an atom", frozenset({"LSQB", "NAME", "VARIABLE"} | _IRIS)),
    ("a rule or a prefix", frozenset({"LSQB", "FALSE", "NAME_LINE", "_PREFIX", "$END", "VARIABLE"} | _IRIS)),
    ("a rule", frozenset({"LSQB", "FALSE", "VARIABLE"} | _IRIS)),
    ("an atom", frozenset({"LSQB", "VARIABLE"} | _IRIS)),
    ("an expression", _TERMS | {"NAME", "BANG", "PLUS", "MINUS", "LPAR"}),
    ("a term", _TERMS | {"A"}),
    ("a term", _TERMS),
    ("an operator", _OPERATORS | {"COMPARISON", "_IN", "NOT_IN"}),
    ("an operator", _OPERATORS),
    ("an IRI", _IRIS),
    ("an IRI in angle brackets", frozenset({"IRIREF"})),
    ("a prefix such as ex:", frozenset({"PNAME_NS"})),
    ("a variable", frozenset({"VARIABLE"})),
    ("a function name", frozenset({"NAME"})),
    ("`,`", frozenset({"COMMA"})),
    ("`.`", frozenset({"DOT"})),
    ("`:-`", frozenset({"_IF"})),
    ("`[`", frozenset({"LSQB"})),
    ("`]`", frozenset({"RSQB"})),
    ("`(`", frozenset({"LPAR"})),
    ("`)`", frozenset({"RPAR"})),
    ("`*`", frozenset({"STAR"})),
    ("`AS`", frozenset({"_AS"})),
    ("`IN`", frozenset({"_IN"})),
    ("`ON`", frozenset({"_ON"})),
    ("`BIND`", frozenset({"_BIND"})),
)
"""Phrase <- its terminals. In order, a phrase is used if all of them are expected and not yet covered."""


def syntax_diagnostic(error: UnexpectedInput, source: str, lines: Sequence[str]) -> Diagnostic:
    """The diagnostic for an exception of lark: at the first token or character that is not allowed."""
    from lark.exceptions import UnexpectedCharacters, UnexpectedToken

    expected: set[str] = error.interactive_parser.accepts()  # type: ignore[no-untyped-call]
    if isinstance(error, UnexpectedCharacters):
        found, kind, line, column = error.char, "", error.line, error.column
    else:
        assert isinstance(error, UnexpectedToken)
        token = error.token
        found, kind, line, column = str(token), token.type, token.line, token.column
        if kind == "$END":  # lark gives it the place of the last token
            line, column = token.end_line, token.end_column
    text = lines[line - 1].rstrip("\r").replace("\t", " ")
    message, remedy = _broken_token(found, expected) or (
        f"{_found(found, kind)}, expected {_alternatives(expected)}",
        _remedy(found, kind, expected, text[: column - 1]),
    )
    return Diagnostic(message, Span(source, line, column, text), remedy)


def _found(found: str, kind: str) -> str:
    if kind == "$END":
        return "the text ends too early"
    return f"unexpected `{found if len(found) <= 40 else found[:37] + '...'}`"


def _alternatives(expected: Iterable[str]) -> str:
    """The expected terminals in words: ``a term, `,` or `]```."""
    left = set(expected)
    phrases: dict[str, None] = {}
    for phrase, terminals in _PHRASES:
        if terminals <= left:
            left -= terminals
            phrases[phrase] = None
    *most, last = phrases
    return f"{', '.join(most)} or {last}" if most else last


def _broken_token(found: str, expected: Container[str]) -> tuple[str, str] | None:
    """Message and remedy for an incomplete string, IRI or annotation, else None."""
    if found in ('"', "'"):
        return "this string has no end on its line", f"close it with {found}, and write a line break as \\n"
    if found.startswith("<") and "IRIREF" in expected:
        return "this is no IRI", "an IRI is closed with > and has no spaces or quotes within"
    if found.startswith("@") and "NAME_LINE" in expected:
        return "this is no annotation", "write `@name`, a space and the name of the next rule, without spaces"
    return None


def _remedy(found: str, kind: str, expected: Container[str], before: str) -> str:
    """The likely remedy, or "". ``before`` is the line up to the unexpected token."""
    if "DOT" in expected and (kind == "$END" or not before.strip()):
        return "a rule ends with ` .`"
    if kind == "NAME" and "BLANK_NODE" in expected:
        return f"a variable is ?{found}, an IRI is prefix:{found} or <...>"
    if found == "(" and "LSQB" in expected:
        return "the terms of an atom stand in square brackets: :knows[?x, ?y]"
    if "COMMA" in expected and (kind in _TERMS or kind in ("LSQB", "NAME")):
        things = "atoms" if "DOT" in expected else "terms"
        return f"{things} are separated by commas"
    for called in _CALLED.findall(before.upper())[-1:]:
        close = get_close_matches(called, _KEYWORDS, n=1)
        if close and close[0] != called:
            return f"did you mean {close[0]}(...)?"
    return ""
