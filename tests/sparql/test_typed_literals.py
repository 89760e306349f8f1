"""Typed literals as rdflib makes them, without its constructor."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from rdflib import XSD, Literal, URIRef
from tests.strategies import examples

from corollary.sparql.typed_literals import literal_as_written, typed_literal

DATATYPES = (
    *(XSD.integer, XSD.decimal, XSD.double, XSD.float, XSD.boolean, XSD.dateTime, XSD.date, XSD.string),
    *(XSD.token, XSD.normalizedString, XSD.byte, XSD.nonPositiveInteger, XSD.gYear, URIRef("urn:d")),
)

TEXTS = (
    *("", "1", "-1", "+01", " 5 ", "5_000", "300", "1.50", ".5", "1e3", "1E99999", "1E999999999", "NaN"),
    *("INF", "-inf", "true", "1 ", "maybe", "a  b\t", "2024-06-01", "2024-13-01", "2024-06-01T10:00:00"),
    *("2024-06-01T10:00:00Z", "2024-06-01T10:00:00.5+02:00", "2024-06-01T25:00:00", "24", "é"),
)


def same(text: str, datatype: URIRef) -> None:
    made, known = literal_as_written(text, str(datatype)), typed_literal(text, datatype, normalize=False)
    assert type(made) is Literal
    assert str(made) == str(known)
    assert (made.datatype, made.language, made.ill_typed) == (known.datatype, None, known.ill_typed)
    assert repr(made.value) == repr(known.value)  # NaN is not equal to itself


@pytest.mark.filterwarnings("ignore::UserWarning")
@pytest.mark.parametrize("datatype", DATATYPES)
def test_literals_are_those_of_rdflib(datatype: URIRef) -> None:
    for text in TEXTS:
        same(text, datatype)


@pytest.mark.filterwarnings("ignore::UserWarning")
@settings(max_examples=examples(100))
@given(st.text(alphabet="0123456789+-.eETZ:_ aNnIiFf", max_size=12), st.sampled_from(DATATYPES))
def test_literals_with_any_text(text: str, datatype: URIRef) -> None:
    same(text, datatype)
