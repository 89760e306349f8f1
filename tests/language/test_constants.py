"""Constants are written as pyoxigraph writes them, and read back."""

from __future__ import annotations

import pyoxigraph
import pytest
from hypothesis import example, given
from tests.language.strategies import constants, texts

from corollary.language import IRI, RDF, XSD, BlankNode, Constant, Literal, constant_text, parse_constant


@pytest.mark.parametrize(
    ("constant", "text"),
    [
        (IRI("http://example.org/é"), "<http://example.org/é>"),
        (BlankNode("b0"), "_:b0"),
        (Literal("a"), '"a"'),
        (Literal("a", XSD + "string"), '"a"'),
        (Literal("a", None, "EN-us"), '"a"@en-us'),
        (Literal("1", XSD + "integer"), f'"1"^^<{XSD}integer>'),
        (Literal('"\\\n\t\x07'), '"\\"\\\\\\n\\t\\u0007"'),
    ],
)
def test_constant_text(constant: Constant, text: str) -> None:
    assert constant_text(constant) == text


@given(texts)
@example("".join(map(chr, range(0x300))) + "\u2028\ufeff\ufffe\uffff\U0001fffe\U0010ffff")
def test_strings_as_pyoxigraph_prints_them(text: str) -> None:
    """Plain, tagged and typed."""
    integer = pyoxigraph.NamedNode(XSD + "integer")
    assert constant_text(Literal(text)) == str(pyoxigraph.Literal(text))
    assert constant_text(Literal(text, None, "De-AT")) == str(pyoxigraph.Literal(text, language="De-AT"))
    assert constant_text(Literal(text, XSD + "integer")) == str(pyoxigraph.Literal(text, datatype=integer))


@given(constants)
def test_parse_constant_is_the_inverse(constant: Constant) -> None:
    text = constant_text(constant)
    if isinstance(constant, IRI) and "\\" in constant.value:
        return  # no IRI has a backslash
    assert constant_text(parse_constant(text)) == text
    if not isinstance(constant, Literal) or constant.language is None:
        assert parse_constant(text) == constant


def test_parse_constant_reads_every_escape() -> None:
    assert parse_constant(r'"\t\b\n\r\f\"\'\\\u00e9\U0001F600"') == Literal("\t\b\n\r\f\"'\\é😀")
    assert parse_constant(r"<http://example.org/\u00E9>") == IRI("http://example.org/é")
    assert parse_constant(f'"a"^^<{XSD}string>') == Literal("a")
    assert parse_constant('"a"@en') == Literal("a", None, "en")
    assert parse_constant(f'"a"^^<{RDF}langString>') == Literal("a", RDF + "langString")


@pytest.mark.parametrize(
    "text", ["", "a", "_:", '"a', '"a"@', '"a" ', r'"\q"', r'"\uD800"', r'"\U00110000"', '"\\']
)
def test_parse_constant_refuses(text: str) -> None:
    with pytest.raises(ValueError, match=r"not an"):
        parse_constant(text)
