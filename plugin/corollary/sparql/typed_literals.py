"""rdflib's typed literals, but for decimals whose value or canonical form would be out of all proportion."""

from __future__ import annotations

import re

from rdflib.namespace import XSD
from rdflib.term import Literal, URIRef

_OUT_OF_BOUNDS = re.compile(r"nan|inf|e[+-]?[0-9_]{5}", re.IGNORECASE)


def typed_literal(text: str, datatype: URIRef | None, *, normalize: bool | None = None) -> Literal:
    """``Literal(text, datatype=datatype, normalize=normalize)``.

    XSD has no exponents, infinities or NaN in decimals; rdflib reads them. An exponent of five digits, an
    infinity or NaN is ill-typed here, as is any text without a value: ``"1E999999999"^^xsd:decimal`` would
    be normalised to a gigabyte of digits.
    """
    if datatype != XSD.decimal or not _OUT_OF_BOUNDS.search(text):
        return Literal(text, datatype=datatype, normalize=normalize)
    literal = Literal(text, datatype=datatype, normalize=False)
    literal._value, literal._ill_typed = None, True
    return literal
