"""rdflib's typed literals, but for decimals whose value or canonical form would be out of all proportion."""

from __future__ import annotations

import re
from functools import lru_cache

from rdflib import term as rdflib_term
from rdflib.namespace import XSD
from rdflib.term import Literal, URIRef

from corollary.sparql.tuning import MAX_DATATYPES_CACHED

_OUT_OF_BOUNDS = re.compile(r"nan|inf|e[+-]?[0-9_]{5}", re.IGNORECASE)

_DECIMAL = XSD.decimal

_COMMON = {
    str(datatype): datatype
    for datatype in (
        *(XSD.integer, _DECIMAL, XSD.double, XSD.float),
        *(XSD.boolean, XSD.dateTime, XSD.date, XSD.string),
    )
}
"""The datatypes that ``Literal`` reads without changes of the lexical form."""


def typed_literal(text: str, datatype: URIRef | None, *, normalize: bool | None = None) -> Literal:
    """``Literal(text, datatype=datatype, normalize=normalize)``.

    XSD has no exponents, infinities or NaN in decimals; rdflib reads them. An exponent of five digits, an
    infinity or NaN is ill-typed here, as is any text without a value: ``"1E999999999"^^xsd:decimal`` would
    be normalised to a gigabyte of digits.
    """
    if datatype != _DECIMAL or not _OUT_OF_BOUNDS.search(text):
        return Literal(text, datatype=datatype, normalize=normalize)
    literal = Literal(text, datatype=datatype, normalize=False)
    literal._value, literal._ill_typed = None, True
    return literal


def literal_as_written(text: str, datatype: str) -> Literal:
    """``typed_literal`` without normalisation: in a tenth of the time for common datatypes."""
    common = _COMMON.get(datatype)
    if common is None or (common is _DECIMAL and _OUT_OF_BOUNDS.search(text)):
        return typed_literal(text, datatype_of(datatype), normalize=False)
    convert = rdflib_term._toPythonMapping.get(common)
    if convert is None:  # xsd:string, unless a program has bound it
        return typed_literal(text, common, normalize=False)
    try:
        value = convert(text)
    except Exception:
        return typed_literal(
            text, common, normalize=False
        )  # rdflib meets the same error, warns, and calls it ill-typed
    is_well_formed = rdflib_term._check_well_formed_types.get(common, rdflib_term._well_formed_by_value)
    literal = str.__new__(Literal, text)
    literal._language, literal._datatype = None, common
    literal._value, literal._ill_typed = value, not is_well_formed(text, value)
    return literal


QUOTE_IN_DATATYPE = "\\u0022"
"""What stands for a quotation mark in the datatype of a text, where the last mark closes the characters."""


@lru_cache(maxsize=MAX_DATATYPES_CACHED)
def datatype_of(iri: str) -> URIRef:
    """The datatype that a text of the dictionary names."""
    return str.__new__(URIRef, iri.replace(QUOTE_IN_DATATYPE, '"'))  # no second warning about an invalid IRI
