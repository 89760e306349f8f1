"""What columns tell of a term: its kind, text, language and datatype; and casts to another datatype."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
from rdflib.namespace import RDF, XSD
from rdflib.term import Literal, URIRef, Variable

from corollary.kernels.arrow import compute
from corollary.sparql.algebra import FunctionCall
from corollary.sparql.builtin_functions import CASTS
from corollary.sparql.column_arguments import (
    ColumnArguments,
    Part,
    Table,
    Unsupported,
    errors,
    is_local,
)
from corollary.sparql.column_values import (
    LARGEST,
    MAX_EXACT,
    PROMOTED,
    Booleans,
    Ids,
    Numbers,
    Texts,
    per_row,
)
from corollary.sparql.number_texts import POWERS
from corollary.sparql.term_evaluation import custom_function
from corollary.sparql.term_texts import large
from corollary.sparql.typed_literals import datatype_of
from corollary.sparql.value_columns import Code
from corollary.sparql.written_literals import UNBOUND
from corollary.terms.dictionary import Kind, kinds


def _check_terms(*nodes: Any) -> None:
    """Raise Unsupported for arguments that are calls: these functions have a value for some errors."""
    if not all(isinstance(node, Variable | Literal | URIRef) for node in nodes):
        raise Unsupported


def _of_kind(kind: Kind, own: ColumnArguments, node: Any) -> Part:
    _check_terms(node)
    part = own.evaluated(node)
    values = part.values
    if not isinstance(values, Ids):
        return Part(
            Booleans(values.failed, values.undecided, np.full(values.size, kind == Kind.LITERAL)), part.over
        )
    return Part(
        Booleans(values.failed, values.undecided | is_local(values), kinds(values.ids) == kind), part.over
    )


def _is_numeric(own: ColumnArguments, node: Any) -> Part:
    _check_terms(node)
    (values,), over = own.together([node])
    numbers = own.numbers(values)
    return Part(Booleans(values.failed, numbers.undecided, ~numbers.failed), over)


def _same(own: ColumnArguments, left: Any, right: Any) -> Part:
    _check_terms(left, right)
    (one, other), over = own.together([left, right])
    if not isinstance(one, Ids) or not isinstance(other, Ids):
        raise Unsupported
    return Part(Booleans(*errors([one, other]), one.ids == other.ids), over)


def _text(own: ColumnArguments, node: Any) -> Part:
    """STR."""
    (values,), over = own.together([node])
    return Part(own.texts(values, any_term=True), over)


def _language(own: ColumnArguments, node: Any) -> Part:
    """LANG. Tags that a term has in upper case are left to the terms."""
    import pyarrow

    (values,), over = own.together([node])
    if not isinstance(values, Ids) or is_local(values).any():
        raise Unsupported
    ids = values.ids
    found = own.term_texts(ids)
    places = np.full(ids.size, len(found.suffixes), np.int64)
    places[found.rows] = np.arange(found.rows.size)
    tags = compute.if_else(compute.starts_with(found.suffixes, pattern="@"), found.suffixes, large(""))
    tags = pyarrow.concat_arrays([compute.utf8_ltrim(tags, "@"), pyarrow.array([""], pyarrow.large_string())])
    is_literal = kinds(ids) == Kind.LITERAL
    undecided = values.undecided | own.has_upper_tag(values)
    return Part(Texts(~is_literal, undecided, tags.take(places), None), over)


def _datatype(own: ColumnArguments, node: Any) -> Part:
    (values,), over = own.together([node])
    if isinstance(values, Numbers):
        names = [own.terms.id_of(PROMOTED[Code(code)]) for code in range(Code.INTEGER, Code.DOUBLE + 1)]
        ids = np.array(names, np.uint32)[values.codes - Code.INTEGER]
        return Part(Ids(values.failed, values.undecided, ids), over)
    if not isinstance(values, Ids) or is_local(values).any():
        raise Unsupported
    found = own.term_texts(values.ids)
    encoded = compute.dictionary_encode(found.suffixes)
    names = []
    for suffix in encoded.dictionary.to_pylist():
        datatype = (
            RDF.langString if suffix[:1] == "@" else datatype_of(suffix[3:-1]) if suffix else XSD.string
        )
        names.append(own.terms.id_of(datatype))
    ids = np.full(values.size, UNBOUND, np.uint32)
    ids[found.rows] = np.array([*names, 0], np.uint32)[encoded.indices.to_numpy()]
    is_literal = kinds(values.ids) == Kind.LITERAL
    return Part(Ids(~is_literal, values.undecided, ids), over)


def cast(own: ColumnArguments, call: FunctionCall) -> Part:
    """Casts of truth values and numbers to numbers, of strings to doubles, and of all terms to strings."""
    if call.iri not in CASTS or custom_function(call.iri) or len(call.arguments) != 1:
        raise Unsupported
    (values,), over = own.together(call.arguments)
    if call.iri == XSD.string:
        texts = own.texts(values, any_term=True)
        suffixes = per_row(f"^^<{XSD.string}>", texts.size)
        return Part(replace(texts, suffixes=suffixes), over)
    if isinstance(values, Texts):
        return Part(_read(call.iri, values), over)
    if isinstance(values, Booleans):
        numbers = Numbers.whole(values.true, values.failed, values.undecided)
    else:
        numbers = own.numbers(values)
    undecided = numbers.undecided | (numbers.failed & ~values.failed)
    if call.iri in (XSD.double, XSD.float):
        code = Code.DOUBLE if call.iri == XSD.double else Code.FLOAT
        undecided = undecided | (~numbers.is_float & (np.abs(numbers.values) >= MAX_EXACT))
        found = replace(numbers, values=numbers.doubles().view(np.int64), scale=np.zeros_like(numbers.scale))
    elif call.iri == XSD.decimal:
        code, found = Code.DECIMAL, numbers
        undecided = undecided | numbers.is_float
    elif call.iri == XSD.integer:
        code, doubles = Code.INTEGER, numbers.doubles()
        undecided = undecided | (numbers.is_float & (np.abs(doubles) >= LARGEST))
        whole = np.abs(numbers.values) // POWERS[np.where(numbers.is_float, 0, numbers.scale)]
        exact = np.where(numbers.values < 0, -whole, whole)
        with np.errstate(invalid="ignore"):
            cut = np.where(numbers.is_float, np.trunc(doubles).astype(np.int64), exact)
        found = replace(numbers, values=cut, scale=np.zeros_like(numbers.scale))
    else:
        raise Unsupported
    codes = np.full(found.size, code, np.uint8)
    return Part(replace(found, failed=values.failed, undecided=undecided, codes=codes), over)


def _read(datatype: URIRef, texts: Texts) -> Numbers:
    """Strings as doubles. What is no finite number is undecided."""
    if datatype != XSD.double or texts.suffixes is not None:
        raise Unsupported
    encoded = compute.dictionary_encode(texts.texts)
    read = np.array([_double(text) for text in encoded.dictionary.to_pylist()], np.float64)
    doubles = read[encoded.indices.to_numpy()]
    is_read = np.isfinite(doubles)
    undecided = texts.undecided | ~is_read
    zeros = np.zeros(texts.size, np.int16)
    codes = np.full(texts.size, Code.DOUBLE, np.uint8)
    return Numbers(texts.failed, undecided & ~texts.failed, codes, doubles.view(np.int64), zeros)


def _double(text: str) -> float:
    """The number of a text; NaN if there is none."""
    try:
        return float(text)
    except ValueError:
        return float("nan")


TERMS: Table = {
    "ISIRI": partial(_of_kind, Kind.IRI),
    "ISLITERAL": partial(_of_kind, Kind.LITERAL),
    "ISBLANK": partial(_of_kind, Kind.BLANK_NODE),
    "ISNUMERIC": _is_numeric,
    "SAMETERM": _same,
    "STR": _text,
    "LANG": _language,
    "DATATYPE": _datatype,
}
