"""Results as Arrow tables, for data frames: from columns of ids, without a term of rdflib.

A term is its N-Triples text, so that nothing is lost. In *typed* columns a term is its value. If all terms of
a column are literals of one datatype in ``CONVERSIONS``, and Arrow can convert all of them, the values are
numbers, truth values, dates or times. Otherwise a value is the text without quotation marks, language and
datatype. Columns of texts are dictionary-encoded. Unbound is null.

    "2024-06-01T10:00:00"^^xsd:dateTime: timestamp[us]     with a timezone: text
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from rdflib.query import Result

from corollary.columns.numbering import number_keys
from corollary.kernels.sorted import Column
from corollary.language import XSD, CorollaryError
from corollary.language.constants import unescape
from corollary.sparql.query_terms import QueryTerms
from corollary.sparql.rdf_terms import Terms
from corollary.sparql.result import FailedResult, GraphResult, SelectResult
from corollary.sparql.term_texts import gathered_texts
from corollary.sparql.written_literals import FIRST_LOCAL, UNBOUND
from corollary.terms.dictionary import TermDictionary

TRIPLE = ("subject", "predicate", "object")
"""The names of the columns of a CONSTRUCT or DESCRIBE."""

LITERAL = r'(?s)^"(?P<lexical>.*)"(?P<suffix>[^"]*)$'

INTEGERS = (
    *(
        "integer",
        "int",
        "long",
        "short",
        "byte",
        "nonNegativeInteger",
        "positiveInteger",
        "nonPositiveInteger",
    ),
    *("negativeInteger", "unsignedLong", "unsignedInt", "unsignedShort", "unsignedByte"),
)


MAX_DIGITS = 38
"""The digits of Arrow's decimals of 128 bits."""


def arrow_table(result: Result, *, typed: bool = False) -> Any:
    """A result as a ``pyarrow.Table``: a column for each variable; three columns of triples; or one answer.

    Cost: one text for every distinct term of a column. Raises CorollaryError for texts that are no Unicode.
    """
    import pyarrow

    if isinstance(result, FailedResult):
        len(result)  # raises the error of the evaluation
    if result.type == "ASK":
        return pyarrow.table({"answer": [result.askAnswer]})
    if isinstance(result, SelectResult):
        names, columns, terms = [str(v) for v in result.vars or ()], result.ids, result.terms
    elif isinstance(result, GraphResult):
        names, columns, terms = list(TRIPLE), result.ids, result.terms
    else:
        names, columns, terms = _encoded(result)
    arrays = [_array(column, terms, typed) for column in columns]
    return pyarrow.Table.from_arrays(arrays, names=names)


def _encoded(result: Result) -> tuple[list[str], list[Column], QueryTerms]:
    """The columns of a result that rdflib has evaluated."""
    terms = QueryTerms(Terms(TermDictionary()))
    if result.type == "SELECT":
        names = list(map(str, result.vars or ()))
        rows: Any = [[row.get(variable) for variable in result.vars or ()] for row in result.bindings]
    else:
        names, rows = list(TRIPLE), list(result)
    columns = zip(*rows, strict=True) if rows else [()] * len(names)
    ids = [[UNBOUND if term is None else terms.id_of(term) for term in column] for column in columns]
    return names, [np.array(column, np.uint32) for column in ids], terms


def _array(column: Column, terms: QueryTerms, typed: bool) -> Any:
    import pyarrow
    from pyarrow import compute

    rows, numbers = number_keys(column)
    ids = column[rows]
    is_unbound = column == UNBOUND
    places = pyarrow.array(numbers.astype(np.int32), mask=is_unbound if is_unbound.any() else None)
    ids = ids[: ids.size - bool(ids.size and ids[-1] == UNBOUND)]  # ids ascend
    texts = _texts(ids, terms)
    values = _values(texts) if typed else texts
    if pyarrow.types.is_large_string(values.type):
        encoded = compute.dictionary_encode(values)  # equal texts of different terms are one
        places = encoded.indices.take(places)
        return pyarrow.DictionaryArray.from_arrays(places, encoded.dictionary)
    return values.take(places)


def _texts(ids: Column, terms: QueryTerms) -> Any:
    """The N-Triples texts of distinct ids, in order."""
    import pyarrow

    known = ids < FIRST_LOCAL  # ids ascend: these are first
    parts = [gathered_texts(ids[known], terms.dictionary)]
    try:
        parts.append(pyarrow.array([terms.text_of(i) for i in ids[~known].tolist()], pyarrow.large_string()))
        texts = pyarrow.concat_arrays(parts)
        texts.validate(full=True)
    except (UnicodeEncodeError, pyarrow.ArrowInvalid):
        raise CorollaryError(
            "a text of the result has half of a character, which Arrow does not hold"
        ) from None
    return texts


def _values(texts: Any) -> Any:
    """Terms as values: of a type that all of them have, or as large strings."""
    import pyarrow
    from pyarrow import compute

    literals = compute.extract_regex(texts, pattern=LITERAL)
    suffixes = compute.fill_null(compute.struct_field(literals, "suffix"), "")
    is_iri, is_literal = (compute.starts_with(texts, pattern=first) for first in '<"')
    names = compute.if_else(is_iri, compute.utf8_slice_codeunits(texts, 1, -1), texts)
    lexical = compute.if_else(is_literal, compute.struct_field(literals, "lexical"), names)
    found = compute.unique(suffixes).to_pylist()
    conversion = CONVERSIONS.get(found[0][3:-1]) if len(found) == 1 and found[0][:3] == "^^<" else None
    if conversion is not None:
        pattern, convert = conversion
        try:
            if compute.all(compute.match_substring_regex(lexical, f"^({pattern})$")).as_py():
                return convert(lexical)
        except (pyarrow.ArrowInvalid, pyarrow.ArrowNotImplementedError):  # a value that is no such number
            pass
    escaped = np.flatnonzero(compute.match_substring(lexical, "\\").to_numpy(zero_copy_only=False))
    if not escaped.size:
        return lexical
    plain = lexical.to_pylist()
    for place in escaped.tolist():
        if is_literal[place].as_py():
            plain[place] = unescape(plain[place])
    return pyarrow.array(plain, pyarrow.large_string())


def _cast(name: str, *arguments: Any) -> Callable[[Any], Any]:
    """A conversion from texts to one of Arrow's types."""

    def convert(lexical: Any) -> Any:
        import pyarrow
        from pyarrow import compute

        return compute.cast(compute.utf8_ltrim(lexical, "+"), getattr(pyarrow, name)(*arguments))

    return convert


def _decimals(lexical: Any) -> Any:
    import pyarrow
    from pyarrow import compute

    digits = compute.replace_substring_regex(lexical, "[-+.]", "")
    if (compute.max(compute.utf8_length(digits)).as_py() or 0) > MAX_DIGITS:  # Arrow does not check them
        raise pyarrow.ArrowInvalid("too many digits")
    fractions = compute.replace_substring_regex(lexical, r"^[^.]*\.?", "")
    scale = compute.max(compute.utf8_length(fractions)).as_py() or 0
    return compute.cast(compute.utf8_ltrim(lexical, "+"), pyarrow.decimal128(MAX_DIGITS, scale))


YEAR = "[1-9][0-9]{3}|0[1-9][0-9]{2}|00[1-9][0-9]|000[1-9]"
"""The years of Python's dates. Arrow also converts the year 0."""

DATE = f"({YEAR})-[0-9]{{2}}-[0-9]{{2}}"

CONVERSIONS = {
    **{XSD + name: ("[+-]?[0-9]+", _cast("int64")) for name in INTEGERS},
    **{
        XSD + name: (r"[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?|[+-]?INF|NaN", _cast("float64"))
        for name in ("double", "float")
    },
    XSD + "decimal": (r"[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)", _decimals),
    XSD + "boolean": ("true|false|0|1", _cast("bool_")),
    XSD + "date": (DATE, _cast("date32")),
    XSD + "dateTime": (DATE + r"T[0-9]{2}:[0-9]{2}:[0-9]{2}(\.[0-9]+)?", _cast("timestamp", "us")),
}
"""Lexical forms that are converted, and the conversion to values, by datatype.

Arrow also converts texts without a value, such as ``"0x10"^^xsd:integer``.
"""
