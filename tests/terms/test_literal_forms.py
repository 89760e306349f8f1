"""The forms of literals: columns and single texts agree, and regular literals denote different values."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from tests.strategies import thorough

from corollary.language import Literal, constant_text, parse_constant
from corollary.language.model import RDF, XSD
from corollary.terms import literal_forms
from corollary.terms.dictionary import TermDictionary
from corollary.terms.literal_forms import LiteralForms, canonical, clashes, datatypes_of, values_within
from corollary.terms.values import SUPPORTED_DATATYPES, contains, datatype_clash, datatype_of, value_of

DATATYPES = [*sorted(SUPPORTED_DATATYPES), XSD + "date", "ex:" + "d" * 200]

numbers = st.from_regex(r"-?0{0,2}[0-9]{0,19}(\.[0-9]{0,6}0{0,5})?", fullmatch=True)
times = st.from_regex(
    r"(0000|00[0-9]{2}|1900|2000|20[0-9]{2}|12000)-(0[0-9]|1[0-3])-(0[1-9]|2[89]|3[0-2])"
    r"T(0[0-9]|2[3-5]):([0-6][0-9]):([0-6][0-9])(\.0{0,3})?(Z|\+00:00|\+01:00)?",
    fullmatch=True,
)
floats = st.floats().map(repr) | st.floats(width=32).map(lambda x: repr(float(np.float32(x))))
lexicals = (
    numbers | times | floats | st.sampled_from(["INF", "NaN", "inf", "1_0", "", "-", ".", "a@en", "true"])
)
texts = st.builds(
    lambda lexical, datatype: constant_text(Literal(lexical, datatype)), lexicals, st.sampled_from(DATATYPES)
) | st.builds(
    lambda text, language: constant_text(Literal(text, None, language)),
    st.text(max_size=5) | st.sampled_from(["\x00", "\ufffe", "\ud800", "a\nb", 'q"q', "한", "\uf000"]),
    st.sampled_from(["en", "en-gb", "toolongtag", None]),
)


@pytest.fixture(autouse=True)
def on_columns(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(literal_forms, "MIN_TEXTS_ON_COLUMNS", 2)


@thorough(300)
@given(st.lists(texts, min_size=2, max_size=30))
@example(
    [
        '"0.0001"^^<http://www.w3.org/2001/XMLSchema#double>',
        '"0.00001"^^<http://www.w3.org/2001/XMLSchema#float>',
    ]
)
@example(
    ['"-0"^^<http://www.w3.org/2001/XMLSchema#integer>', '"-"^^<http://www.w3.org/2001/XMLSchema#integer>']
)
def test_columns_and_single_texts_agree(texts: list[str]) -> None:
    together, alone = LiteralForms(), LiteralForms()
    together.extend(texts)
    for text in texts:
        alone.extend([text])
    rows = np.arange(len(texts))
    found, wanted = together.codes(rows).tolist(), alone.codes(rows).tolist()
    assert [(together.markers[code >> 1], code & 1) for code in found] == [
        (alone.markers[code >> 1], code & 1) for code in wanted
    ]
    for text, code in zip(texts, found, strict=True):
        marker = together.markers[code >> 1]
        assert text.endswith(f'"{marker}')
        if code & 1:
            literal = parse_constant(text)
            assert isinstance(literal, Literal)
            value = value_of(literal.lexical, literal.datatype, literal.language)
            assert value is not None
            if literal.datatype is not None:
                assert canonical(value) == literal.lexical
                assert marker in datatypes_of(value.space)
        assert_decided(text, marker, bool(code & 1))


def assert_decided(text: str, marker: str, is_sound: bool) -> None:
    """What is decided by the form is what the value decides."""
    literal = parse_constant(text)
    assert isinstance(literal, Literal)
    parts = literal.lexical, literal.datatype, literal.language
    is_supported = datatype_of(*parts[1:]) in SUPPORTED_DATATYPES
    value = value_of(*parts) if is_supported else None
    for datatype in (*SUPPORTED_DATATYPES, XSD + "date"):
        has = value is not None and datatype in SUPPORTED_DATATYPES and contains(datatype, value)
        assert values_within(marker, is_sound, datatype) in (None, has)
        is_clash = datatype_clash(*parts, datatype)
        assert clashes(marker, is_sound, datatype) in (None, is_clash)


@thorough(100)
@given(st.lists(lexicals, min_size=2, max_size=20, unique=True), st.sampled_from(sorted(SUPPORTED_DATATYPES)))
def test_regular_literals_of_a_datatype_differ(lexicals: list[str], datatype: str) -> None:
    forms = LiteralForms()
    forms.extend([constant_text(Literal(lexical, datatype)) for lexical in lexicals])
    codes = forms.codes(np.arange(len(lexicals)))
    regular = [lexical for lexical, code in zip(lexicals, codes.tolist(), strict=True) if code & 1]
    for one, other in combinations(regular, 2):
        assert value_of(one, datatype) != value_of(other, datatype)


def test_usual_forms_are_regular() -> None:
    usual = {
        "integer": "0 7 -12 123456789012345678", "int": "2147483", "nonNegativeInteger": "3",
        "decimal": "0.5 -12.25 7", "double": "48.8566 -0.0 1e+16 0.3333333333333333", "float": "2.0 48.85",
        "dateTime": "2000-02-29T23:59:59 2001-01-01T00:00:00Z",
    }  # fmt: skip
    forms = LiteralForms()
    texts = [constant_text(Literal(one, XSD + name)) for name, ones in usual.items() for one in ones.split()]
    forms.extend(texts)
    codes = forms.codes(np.arange(len(texts))).tolist()
    assert [text for text, code in zip(texts, codes, strict=True) if not code & 1] == []


def test_more_markers_than_have_numbers(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(literal_forms, "MOST_MARKERS", 2)
    forms = LiteralForms()
    forms.extend(['"a"', '"a"@en', f'"1"^^<{XSD}integer>', f'"2"^^<{XSD}integer>', f'"a"^^<{RDF}HTML>'])
    codes = forms.codes(np.arange(5)).tolist()
    assert [forms.markers[code >> 1] for code in codes] == ["", "@en", "^^", "^^", "^^"]
    assert [code & 1 for code in codes] == [1, 1, 0, 0, 0]


def test_a_dictionary_looks_at_each_literal_once() -> None:
    dictionary = TermDictionary()
    for text in ('"a"', "<ex:a>", '"b"@en'):
        dictionary.encode(text)
    assert dictionary.literal_forms.all_codes().tolist() == [1, 3]
    dictionary.tables()
    dictionary.encode(f'"7"^^<{XSD}int>')
    assert dictionary.literal_forms.all_codes().tolist() == [1, 3, 5]
    assert dictionary.copied().literal_forms.all_codes().tolist() == [1, 3, 5]
