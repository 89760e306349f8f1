"""The tokens of SPARQL 1.1 (section 19.8 of the recommendation), found by one regular expression."""

from __future__ import annotations

import re
from functools import cache

_LETTERS = (
    "\u00c0-\u00d6\u00d8-\u00f6\u00f8-\u02ff\u0370-\u037d\u037f-\u1fff\u200c-\u200d\u2070-\u218f"
    "\u2c00-\u2fef\u3001-\ud7ff\uf900-\ufdcf\ufdf0-\ufffd\U00010000-\U000effff"
)
_MARKS = "\u00b7\u0300-\u036f\u203f-\u2040"
_ESCAPED = r"\\[_~.\-!$&'()*+,;=/?#@%]|%[0-9A-Fa-f]{2}"
_CHARACTER = r"""\\[tbnrf"'\\]"""


_SKIPPED = r"(?: [\ \t\r\n]+ | \#[^\r\n]* )*"
"""White space and comments."""


@cache
def token_pattern(ascii: bool) -> re.Pattern[str]:
    """The expression that finds one token after white space and comments; its group is the token's kind.

    There is one for ASCII texts and one for others, compiled when first used: in 5 ms and in 33 ms.
    """
    letters, marks = ("", "") if ascii else (_LETTERS, _MARKS)
    base = f"A-Za-z{letters}"
    start = f"{base}_"
    inner = f"{start}0-9{marks}"
    name = f"{inner}\\-"
    prefix = f"(?:[{base}](?:[{name}.]*[{name}])?)?:"
    local = f"(?:[{start}:0-9]|{_ESCAPED})(?:(?:[{name}.:]|{_ESCAPED})*(?:[{name}:]|{_ESCAPED}))?"
    return re.compile(
        rf"""{_SKIPPED}
        (?: (?P<variable> [?$][{start}0-9][{inner}]* )
        |   (?P<iri> <[^<>"{{}}|^`\\\x00-\x20]*> )
        |   (?P<name> {prefix}(?:{local})? )
        |   (?P<blank> _:[{start}0-9](?:[{name}.]*[{name}])? )
        |   (?P<symbol> \^\^ | && | \|\| | [<>!]= | [{{}}()\[\];,*/|^?!=<>] | \.(?![0-9]) | [+-] )
        |   (?P<double> (?: [0-9]+\.[0-9]* | \.?[0-9]+ )[eE][+-]?[0-9]+ )
        |   (?P<decimal> [0-9]*\.[0-9]+ )
        |   (?P<integer> [0-9]+ )
        |   (?P<long> \"\"\"(?:\"{{0,2}}(?:[^"\\]|{_CHARACTER}))*\"\"\"
                | '''(?:'{{0,2}}(?:[^'\\]|{_CHARACTER}))*''' )
        |   (?P<string> "(?:[^"\\\r\n]|{_CHARACTER})*" | '(?:[^'\\\r\n]|{_CHARACTER})*' )
        |   (?P<language> @[A-Za-z]+(?:-[A-Za-z0-9]+)* )
        |   (?P<word> [A-Za-z_][A-Za-z0-9_]* )
        |   (?P<end> \Z )
        |   (?P<other> . )
        )""",
        re.VERBOSE | re.DOTALL,
    )


@cache
def _word_pattern(ascii: bool) -> re.Pattern[str]:
    """As ``token_pattern``, without kinds: its only group is the token."""
    tokens = token_pattern(ascii).pattern.removeprefix(_SKIPPED)
    without_kinds = re.sub(r"\(\?P<\w+>", "(?:", tokens)
    return re.compile(f"{_SKIPPED}({without_kinds})", re.VERBOSE | re.DOTALL)


def words_of(text: str) -> list[str]:
    """The texts of all tokens, as they are written; empty after the last one. Faster than ``tokens``."""
    return _word_pattern(text.isascii()).findall(text)


_CODE_POINT = re.compile(r"\\u([0-9A-Fa-f]{4})|\\U([0-9A-Fa-f]{8})")
_ESCAPE = re.compile(r"\\(.)", re.DOTALL)
_CHARACTERS = {"t": "\t", "b": "\b", "n": "\n", "r": "\r", "f": "\f"}


def tokens(text: str) -> tuple[list[str], list[str], list[int]]:
    """The kinds of all tokens, their texts, and where they start. The last token is of kind ``end``.

    The text of a ``word`` is in upper case, but for the keyword ``a``. Characters that begin no token are of
    kind ``other``. Comments and white space are left out.
    """
    kinds: list[str] = []
    texts: list[str] = []
    starts: list[int] = []
    for match in token_pattern(text.isascii()).finditer(text):
        kind = match.lastgroup
        assert kind is not None
        found = match[kind]
        kinds.append(kind)
        texts.append(found.upper() if kind == "word" and found != "a" else found)
        starts.append(match.start(kind))
        if kind == "end":
            break
    return kinds, texts, starts


def expanded(text: str) -> str:
    r"""The text with ``\uXXXX`` and ``\UXXXXXXXX`` replaced by characters (section 19.2).

    Raises ValueError, whose only argument is the position, for a number that is no character.
    """

    def character(match: re.Match[str]) -> str:
        number = int(match[1] or match[2], 16)
        if number > 0x10FFFF or 0xD800 <= number <= 0xDFFF:
            raise ValueError(match.start())
        return chr(number)

    return _CODE_POINT.sub(character, text) if "\\" in text else text


def unescaped(text: str) -> str:
    r"""A string without its escapes: ``\n``, ``\"`` and the like. Also a local name without ``\``."""
    if "\\" not in text:
        return text
    return _ESCAPE.sub(lambda match: _CHARACTERS.get(match[1], match[1]), text)
