"""Literal values: for each datatype what is valid, what is the same, what differs, what is ill-typed."""

from __future__ import annotations

import math
from datetime import datetime, timedelta
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from corollary.kernels.limits import Cancellation, LimitExceeded, Limits, limited
from corollary.language.model import RDF, RDFS, XSD
from corollary.terms.values import (
    SUPPORTED_DATATYPES,
    Value,
    contains,
    datatype_clash,
    numeric_value,
    value_of,
)


def datatypes_of(value: Value) -> set[str]:
    """The supported datatypes that have a value."""
    return {name for name in SUPPORTED_DATATYPES if contains(name, value)}


# datatype -> (groups of forms of one value each, ill-typed forms)
DATATYPES: dict[str, tuple[list[list[str]], list[str]]] = {
    "xsd:decimal": (
        [["3.141", "+03.1410"], ["42", "42.", "042.0"], ["-0", "0", ".0"], ["-.5", "-0.50"], ["9" * 60]],
        ["", ".", "1e3", "INF", "NaN", "1,5", " 1", "٣"],
    ),
    "xsd:integer": ([["42", "+042"], ["-0", "0"], ["9" * 5000]], ["42.0", "", "+", "--1", "1 "]),
    "xsd:nonNegativeInteger": ([["0", "-0"], ["1"], ["9" * 40]], ["-1", "0.0"]),
    "xsd:positiveInteger": ([["1", "+001"]], ["0", "-1"]),
    "xsd:nonPositiveInteger": ([["0"], ["-42", "-042"]], ["1"]),
    "xsd:negativeInteger": ([["-1"], ["-42", "-042"]], ["0", "1"]),
    "xsd:long": (
        [["9223372036854775807"], ["-9223372036854775808"]],
        ["9223372036854775808", "-9223372036854775809"],
    ),
    "xsd:int": ([["2147483647"], ["-2147483648"]], ["2147483648", "-2147483649"]),
    "xsd:short": ([["32767"], ["-32768"]], ["32768", "-32769"]),
    "xsd:byte": ([["127"], ["-128"], ["42", "+042"]], ["128", "-129"]),
    "xsd:unsignedLong": ([["18446744073709551615"], ["0"]], ["18446744073709551616", "-1"]),
    "xsd:unsignedInt": ([["4294967295"]], ["4294967296", "-1"]),
    "xsd:unsignedShort": ([["65535"]], ["65536", "-1"]),
    "xsd:unsignedByte": ([["255"]], ["256", "-1"]),
    "xsd:double": (
        [
            ["1", "1.0E0", "+1e+0", "10e-1"],
            ["-0", "-0.0"],
            ["0"],
            ["INF", "+INF", "1E400", "1E401"],
            ["-INF"],
            ["NaN"],
            ["9007199254740992.5", "9007199254740991.5"],
            ["9007199254740990.5"],
        ],
        ["", "infinity", "nan", "-NaN", "1e", "0x1", "1_0", "1E1.5"],
    ),
    "xsd:float": (
        [
            ["16777206.5", "16777205.5"],
            ["16777207.5"],
            ["-0"],
            ["0", "1e-99999999999999999999"],
            ["INF", "1E400", "1.0E+40"],
            ["NaN"],
        ],
        ["", "Inf", "1d"],
    ),
    "xsd:boolean": ([["true", "1"], ["false", "0"]], ["TRUE", "yes", "", "nonsense"]),
    "xsd:string": ([["abc"], [""], [" "], ["a\tb"], ["ABC"]], ["\x00", "\ud800", "\uffff"]),
    "xsd:normalizedString": ([["abc "], [""]], ["a\tb", "a\nb", "a\rb"]),
    "xsd:token": ([["abc 123"], [""], ["a"]], [" abc", "abc ", "a  b", "a\tb"]),
    "xsd:language": ([["en"], ["en-uk"], ["x-Klingon1"]], ["", "en-", "123", "abcdefghi", "en_uk"]),
    "xsd:Name": ([["tag"], [":tag"], ["ns:tag"], ["é·1"]], ["", ".tag", "1a", "a b"]),
    "xsd:NCName": ([["tag"], ["_x-1.2"]], ["ex:tag", "", "-a"]),
    "xsd:NMTOKEN": ([["abc"], ["1-a:b"], ["-"]], ["", "a b", "a,b"]),
    "xsd:hexBinary": ([["AF", "af", "aF"], ["01"], [""]], ["A", "0g", "0 1"]),
    "xsd:base64Binary": (
        [["T1dMIDIgRnVsbA==", "T1dM IDIg RnVs bA = ="], [""], ["YQ=="]],
        ["T(1)d#M-I.D:I,g!", "YQ", "YQ=", "YR==", "=", " YQ==", "YQ== "],
    ),
    "xsd:anyURI": (
        [
            ["http://www.example.org/absolute/iri"],
            ["urn:ietf:rfc:3987"],
            ["/relative/a:b"],
            ["#a:b"],
            [""],
            ["a b:c"],
        ],
        [":abc", "\x00"],
    ),
    "xsd:dateTime": (
        [
            ["2009-04-21T12:30:15.00", "2009-04-21T12:30:15"],
            ["2009-04-21T12:30:15Z", "2009-04-21T12:30:15+00:00", "2009-04-21T12:30:15-00:00"],
            ["2009-04-21T13:30:15+01:00"],
            ["1999-12-31T24:00:00", "2000-01-01T00:00:00.0"],
            ["2000-02-29T00:00:00"],
            ["-0004-02-29T00:00:00"],
            ["0000-01-01T00:00:00"],
            ["123456-12-31T24:00:00-14:00", "123457-01-01T00:00:00-14:00"],
            ["2400-02-28T24:00:00", "2400-02-29T00:00:00"],
            ["2100-02-28T24:00:00", "2100-03-01T00:00:00"],
        ],
        [
            "2009-04-21",
            "2009-04-21 12:30:15",
            "2009-02-29T00:00:00",
            "2100-02-29T00:00:00",
            "2009-04-31T00:00:00",
            "2009-04-00T00:00:00",
            "2009-13-01T00:00:00",
            "2009-04-21T24:00:01",
            "2009-04-21T12:60:00",
            "2009-04-21T12:30:60",
            "2009-04-21T12:30:15+14:01",
            "02009-04-21T12:30:15",
            "209-04-21T12:30:15",
            "2009-04-21T12:30:15.",
        ],
    ),
    "xsd:dateTimeStamp": (
        [["2009-04-21T12:30:15-05:00"], ["2009-04-21T12:30:15Z", "2009-04-21T12:30:15.0Z"]],
        ["2009-04-21T12:30:15", "2009-04-21"],
    ),
    "rdf:PlainLiteral": (
        [["abc@de", "abc@DE"], ["abc@"], ["abc@en-uk"], ["a@b@de"], ["@"]],
        ["abc", "", "abc@12", "abc@en-", "abc@en uk"],
    ),
    "rdf:XMLLiteral": (
        [
            ["<a x='1' y='2'/>", '<a  y="2" x="1"></a>'],
            ["<a><!--c--></a>"],
            ["plain &amp; simple", "plain &#38; simple"],
            [""],
            ["<a/><b/>"],
        ],
        ["<illformed", "a & b", "</x><x>", "<!DOCTYPE a><a/>", "<p:a/>", "&nbsp;"],
    ),
    "rdfs:Literal": ([], ["abc", ""]),
    "rdf:langString": ([], ["abc", ""]),
}
PREFIXES = {"xsd": XSD, "rdf": RDF, "rdfs": RDFS}


def iri(name: str) -> str:
    prefix, local = name.split(":")
    return PREFIXES[prefix] + local


def test_every_supported_datatype_is_tested() -> None:
    assert {iri(name) for name in DATATYPES} == SUPPORTED_DATATYPES


@pytest.mark.parametrize("name", DATATYPES)
def test_forms_of_one_value_are_equal_and_values_are_distinct(name: str) -> None:
    groups, _ = DATATYPES[name]
    seen = set()
    for forms in groups:
        values = {value_of(form, iri(name)) for form in forms}
        assert len(values) == 1, f"{forms[0][:40]} and its like are {values}"
        (value,) = values
        assert value is not None, f"{forms[0]!r} is ill-typed"
        assert contains(iri(name), value)
        assert value not in seen
        seen.add(value)


@pytest.mark.parametrize("name", DATATYPES)
def test_ill_typed_forms_have_no_value(name: str) -> None:
    for form in DATATYPES[name][1]:
        assert value_of(form, iri(name)) is None, f"{form!r} is well-typed"


def test_values_are_shared_by_derived_datatypes() -> None:
    assert (
        value_of("42", XSD + "integer") == value_of("42.0", XSD + "decimal") == value_of("+42", XSD + "byte")
    )
    assert value_of("a", XSD + "NCName") == value_of("a") == value_of("a@", RDF + "PlainLiteral")
    assert value_of("a", None, "EN") == value_of("a@en", RDF + "PlainLiteral")


@pytest.mark.parametrize(
    ("left", "right"),
    [
        (("1", XSD + "integer"), ("1", XSD + "double")),
        (("1", XSD + "float"), ("1", XSD + "double")),
        (("1", XSD + "boolean"), ("1", XSD + "integer")),
        (("a", XSD + "anyURI"), ("a", XSD + "string")),
        (("00", XSD + "hexBinary"), ("AA==", XSD + "base64Binary")),
        (("a", RDF + "XMLLiteral"), ("a", None)),
    ],
)
def test_primitive_value_spaces_are_disjoint(
    left: tuple[str, str | None], right: tuple[str, str | None]
) -> None:
    assert value_of(*left) != value_of(*right)


def test_language_tagged_strings() -> None:
    assert value_of("abc", None, "de") == value_of("abc", None, "DE") != value_of("abc")
    assert value_of("abc", None, "de") != value_of("abc", None, "en")
    value = value_of("abc", None, "de")
    assert value is not None
    assert datatypes_of(value) == {RDF + "langString", RDF + "PlainLiteral", RDFS + "Literal"}


def test_datatypes_of_a_small_integer() -> None:
    value = value_of("200", XSD + "integer")
    assert value is not None
    names = {name.removeprefix(XSD) for name in datatypes_of(value) if name.startswith(XSD)}
    assert names == {
        "decimal",
        "integer",
        "nonNegativeInteger",
        "positiveInteger",
        "long",
        "int",
        "short",
        "unsignedLong",
        "unsignedInt",
        "unsignedShort",
        "unsignedByte",
    }


def test_unsupported_datatype_is_a_key_error() -> None:
    with pytest.raises(KeyError):
        value_of("1", "http://example.org/mine")


def test_datatype_clash() -> None:
    assert datatype_clash("1", XSD + "integer", None, XSD + "string")
    assert datatype_clash("-1", XSD + "integer", None, XSD + "nonNegativeInteger")
    assert datatype_clash("a", None, None, RDF + "langString")
    assert datatype_clash("a", None, "en", XSD + "string")
    assert not datatype_clash("1", XSD + "integer", None, XSD + "byte")
    assert not datatype_clash("1.0", XSD + "decimal", None, XSD + "byte")
    assert not datatype_clash("1", XSD + "integer", None, RDFS + "Literal")


def test_nothing_clashes_that_is_unknown_or_ill_typed() -> None:
    assert not datatype_clash("1", "http://example.org/mine", None, XSD + "string")
    assert not datatype_clash("1", XSD + "integer", None, "http://example.org/mine")
    assert not datatype_clash("x", XSD + "integer", None, XSD + "string")


def test_numeric_values() -> None:
    integer = numeric_value("+042", XSD + "byte")
    assert integer == 42 and isinstance(integer, int)
    decimal = numeric_value("42.0", XSD + "decimal")
    assert decimal == 42 and isinstance(decimal, Decimal)
    assert numeric_value("1e3", XSD + "double") == 1000.0
    assert numeric_value("INF", XSD + "float") == math.inf
    assert numeric_value("300", XSD + "byte") is None
    assert numeric_value("1", None) is None
    assert numeric_value("1", XSD + "boolean") is None


@given(st.integers())
def test_integers_are_read_whole(number: int) -> None:
    assert numeric_value(str(number), XSD + "integer") == number
    value = value_of(str(number), XSD + "integer")
    assert value == value_of(f"{number}.000", XSD + "decimal") != value_of(f"{number}.5", XSD + "decimal")


@given(st.floats(min_value=0, width=32, allow_infinity=False), st.sampled_from([-1, 1]))
def test_floats_are_rounded_once(number: float, side: int) -> None:
    """Just beside the middle of two floats, by too little for a double to see: to the nearer one."""
    below = np.float32(number)
    with np.errstate(over="ignore"):
        above = np.nextafter(below, np.float32(np.inf))
    assume(np.isfinite(above))
    exact = (Fraction(float(below)) + Fraction(float(above))) / 2 + Fraction(side, 10**300)
    digits = exact.numerator * 10**400 // exact.denominator
    nearer = above if side > 0 else below
    assert numeric_value(f"{digits}e-400", XSD + "float") == float(nearer)


@given(st.datetimes(max_value=datetime(9999, 12, 31)), st.sampled_from(["", "Z", "+05:30", "-14:00"]))
def test_date_times_differ_by_their_seconds(moment: datetime, zone: str) -> None:
    value = value_of(moment.isoformat() + zone, XSD + "dateTime")
    later = value_of((moment + timedelta(seconds=1)).isoformat() + zone, XSD + "dateTime")
    assert value is not None and contains(XSD + "dateTime", value)
    assert value != later
    assert contains(XSD + "dateTimeStamp", value) == bool(zone)


@pytest.mark.parametrize("sign", ["", "-"])
def test_a_year_may_have_any_number_of_digits(sign: str) -> None:
    cycles = 10**10_000 // 400  # of 146,097 days
    value = value_of(f"{sign}1{'0' * 10_000}-01-02T00:00:00Z", XSD + "dateTime")
    days = (-cycles if sign else cycles) * 146_097 + 2
    assert value is not None and value.key == (days, 0, 0)
    later = value_of(f"{sign}1{'0' * 9_998}12-01-02T00:00:00Z", XSD + "dateTime")
    assert later is not None
    assert later.key == (days + (-12 * 365 - 3 if sign else 12 * 365 + 3), 0, 0)


def test_the_reading_of_xml_can_be_cancelled() -> None:
    deep = "<a>" * 100_000  # takes minutes
    with pytest.raises(LimitExceeded):
        limited(Limits(seconds=0.1), Cancellation(), value_of, deep, RDF + "XMLLiteral")
