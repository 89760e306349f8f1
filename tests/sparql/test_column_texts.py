"""Functions on columns of strings and numbers, against Python's functions on each of them."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from decimal import Decimal
from typing import Any
from urllib.parse import quote

import hypothesis.strategies as st
import numpy as np
import pyarrow
import pytest
from hypothesis import example, given, settings
from rdflib import XSD, Literal
from tests.strategies import examples

from corollary.expressions.regular_expressions import compiled
from corollary.language.constants import escape
from corollary.sparql.column_texts import (
    URI_BYTES,
    bytes_replaced,
    cased,
    contains,
    escaped,
    hashed,
    places_of,
)
from corollary.sparql.number_texts import decimal_texts, exact_texts
from corollary.sparql.rdf_terms import text_of

LETTERS = 'aZ~ "\\\n\r\t\0\x7fäßÄéσςΣİıſKÅǅάΐﬁŉɐⱥ꧁ẞ𐐀𐐨質\uffff\ufffe\ufffd\U0001f600'  # noqa: RUF001
texts = st.lists(st.text(st.one_of(st.sampled_from(LETTERS), st.characters(exclude_categories=["Cs"]))))


def column(values: list[str]) -> Any:
    """A column that begins within its buffers."""
    return pyarrow.array(["before", *values], pyarrow.large_string())[1:]


@settings(max_examples=examples(300), deadline=None)
@given(texts, st.sampled_from([str.upper, str.lower]))
@example(["ΑΣ", "Σ", "ΑΣΑ"], str.lower)
@example(["straße", "İ"], str.upper)
def test_cases_are_those_of_python(values: list[str], change: Callable[[str], str]) -> None:
    assert cased(column(values), change).to_pylist() == list(map(change, values))


@pytest.mark.parametrize("change", [str.upper, str.lower])
def test_cases_of_all_characters_are_those_of_python(change: Callable[[str], str]) -> None:
    values = [chr(code) for code in range(0x110000) if not 0xD800 <= code < 0xE000]
    assert cased(column(values), change).to_pylist() == list(map(change, values))


@settings(max_examples=examples(200), deadline=None)
@given(texts, st.text(st.sampled_from(LETTERS), max_size=2))
def test_searches_are_those_of_python(values: list[str], part: str) -> None:
    assert contains(column(values), part).tolist() == [part in value for value in values]
    if part:
        expected = [value.encode().find(part.encode()) for value in values]
        assert places_of(column(values), part).tolist() == expected


def test_long_texts_are_found() -> None:
    part = "long ." * 40
    values = [f"a {part}", part[:-1], f"{part}."]
    assert contains(column(values), part).tolist() == [True, False, True]
    assert places_of(column(values), part).tolist() == [2, -1, 0]


@settings(max_examples=examples(200), deadline=None)
@given(texts)
def test_escapes_hashes_and_iris_are_those_of_python(values: list[str]) -> None:
    assert escaped(column(values)).to_pylist() == list(map(escape, values))
    expected = [hashlib.sha1(value.encode(), usedforsecurity=False).hexdigest() for value in values]
    assert hashed("SHA1", column(values)).to_pylist() == expected
    assert bytes_replaced(column(values), URI_BYTES).to_pylist() == [
        quote(value, safe="") for value in values
    ]


@settings(max_examples=examples(300), deadline=None)
@given(
    st.lists(st.text(st.sampled_from("abc\n\\$é"), max_size=6), max_size=4),
    st.sampled_from(["a", "[ab]", "[^a]", "b|ab", "a+?", "(a)(b)?", "^.", "$", "a*", ".", r"\n", "(a|b)*c"]),
    st.sampled_from(["", "-", "$0$0", "[$1]", r"\$\\", "$2x"]),
    st.sampled_from(["", "i", "s", "m", "q"]),
)
def test_patterns_match_and_replace_columns_as_texts(
    values: list[str], pattern: str, replacement: str, flags: str
) -> None:
    matcher = compiled(pattern, flags)
    values *= 70  # RE2 matches many texts
    assert matcher.matches_column(column(values)).tolist() == matcher.matches(values).tolist()
    if matcher.matches([""])[0]:
        return
    expected = [matcher.replaced(value, replacement) for value in values]
    table = matcher.replaced_bytes(replacement)
    if table is not None:
        assert bytes_replaced(column(values), table).to_pylist() == expected
    found = matcher.replaced_column(column(values), replacement)
    assert found is None or found.to_pylist() == expected


@settings(max_examples=examples(200), deadline=None)
@given(st.lists(st.tuples(st.integers(-(10**18) + 1, 10**18 - 1), st.integers(-1, 18)), min_size=1))
@example([(5, 9), (-5, 9), (0, 2), (-100, 2), (7, 0), (-7, -1)])
def test_numbers_are_written_as_rdflib_writes_them(numbers: list[tuple[int, int]]) -> None:
    """Scale -1 stands for an integer."""
    values = np.array([value for value, _ in numbers], np.int64)
    scales = np.array([scale for _, scale in numbers], np.int16)
    terms = [
        Literal(value)
        if scale < 0
        else Literal(
            Decimal((int(value < 0), tuple(map(int, str(abs(value)))), -scale)), datatype=XSD.decimal
        )
        for value, scale in numbers
    ]
    found = exact_texts(scales < 0, values, np.maximum(scales, 0).astype(np.int16))
    assert found.to_pylist() == list(map(text_of, terms))


@settings(max_examples=examples(100), deadline=None)
@given(st.lists(st.decimals(allow_nan=False, allow_infinity=False)))
def test_decimals_are_written_as_rdflib_writes_them(decimals: list[Decimal]) -> None:
    assert decimal_texts(decimals).to_pylist() == [text_of(Literal(each)) for each in decimals]
