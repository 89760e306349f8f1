"""Constants and their canonical N-Triples text, and the escapes of strings and IRIs.

The canonical text of a term is, character for character, the text that pyoxigraph prints. The term dictionary
uses this text as the key of the term.
"""

from __future__ import annotations

import re

from corollary.language.errors import CorollaryError
from corollary.language.model import IRI, OWL, RDF, RDFS, XSD, BlankNode, Constant, Literal, Reserved

PREDECLARED = {"rdf": RDF, "rdfs": RDFS, "owl": OWL, "xsd": XSD}
"""Prefixes that a rule text may use without a declaration, with their namespaces."""

NAMED_ESCAPES = {"b": "\b", "t": "\t", "n": "\n", "f": "\f", "r": "\r", '"': '"', "'": "'", "\\": "\\"}
"""Character after a backslash -> the character that the escape stands for."""

_ESCAPED = {
    **{code: f"\\u{code:04X}" for code in (*range(0x20), 0x7F, 0xFFFE, 0xFFFF)},
    **{ord(character): f"\\{name}" for name, character in NAMED_ESCAPES.items() if name != "'"},
}
"""Code point -> its escape in a canonical string. All other characters are written unescaped."""

NEEDS_ESCAPE = r'[\x00-\x1f\x7f\x{fffe}\x{ffff}"\\]'
"""The characters that have escapes, as a regular expression of RE2."""

_NEEDS_ESCAPE = re.compile('[\x00-\x1f\x7f\ufffe\uffff"\\\\]')
_ESCAPE = re.compile(r"\\(?:u([0-9A-Fa-f]{4})|U([0-9A-Fa-f]{8})|(.)|$)", re.DOTALL)
_LITERAL = re.compile(r'"((?:[^"\\]|\\.)*)"(?:@(\S+)|\^\^<([^<>"]*)>)?', re.DOTALL)


class NotATerm(CorollaryError, ValueError):
    """A text that should be a term in N-Triples is none."""


def escape(text: str) -> str:
    """The text with the escapes of a canonical string, without quotes."""
    return text.translate(_ESCAPED) if _NEEDS_ESCAPE.search(text) else text


def unescape(text: str) -> str:
    """A string or IRI with its escapes replaced by characters. ``ValueError`` names an invalid escape."""
    return _ESCAPE.sub(_unescaped, text) if "\\" in text else text


def _unescaped(match: re.Match[str]) -> str:
    short, long, name = match.groups()
    digits = short or long
    if digits:
        code = int(digits, 16)
        if code <= 0x10FFFF and not 0xD800 <= code < 0xE000:
            return chr(code)
    elif name in NAMED_ESCAPES:
        return NAMED_ESCAPES[name]
    raise ValueError(f"{match[0]} is not an escape for a character")


def constant_text(constant: Constant) -> str:
    """The canonical N-Triples text of a constant, exactly as pyoxigraph prints it.

    The datatype ``xsd:string`` is not written. Language tags are written in lower case, because RDF compares
    them case-insensitively: ``"a"@EN`` becomes ``"a"@en``.
    """
    match constant:
        case Reserved(name):
            return name
        case IRI(value):
            return f"<{value}>"
        case BlankNode(label):
            return f"_:{label}"
        case Literal(lexical, _, str(language)):
            return f'"{escape(lexical)}"@{language.lower()}'
        case Literal(lexical, None | "http://www.w3.org/2001/XMLSchema#string"):
            return f'"{escape(lexical)}"'
        case Literal(lexical, datatype):
            return f'"{escape(lexical)}"^^<{datatype}>'
    raise AssertionError(f"not a constant: {constant!r}")


def parse_constant(text: str) -> Constant:
    """The constant with that N-Triples text.

    Raises ``NotATerm`` for any other text. Triple terms (``<<( ... )>>``) are not in the rule language.
    """
    try:
        return _parsed(text)
    except ValueError as error:
        raise NotATerm(str(error)) from None


def _parsed(text: str) -> Constant:
    if text.startswith("_:") and len(text) > 2:
        return BlankNode(text[2:])
    if text.startswith("<") and text.endswith(">") and not text.startswith("<<"):
        return IRI(unescape(text[1:-1]))
    match = _LITERAL.fullmatch(text)
    if match is None:
        raise ValueError(f"not an N-Triples term: {text}")
    lexical, language, datatype = match.groups()
    return literal(unescape(lexical), datatype and unescape(datatype), language)


def literal(lexical: str, datatype: str | None = None, language: str | None = None) -> Literal:
    """A literal; an implied datatype (``xsd:string``, ``rdf:langString`` with a language) becomes None."""
    implied = RDF + "langString" if language else XSD + "string"
    return Literal(lexical, None if datatype == implied else datatype, language)
