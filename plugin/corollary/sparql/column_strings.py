"""String functions on columns of texts: Arrow's, or regular expressions, with constants as arguments."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
from rdflib.term import Literal

from corollary.expressions.regular_expressions import compiled
from corollary.kernels.arrow import compute
from corollary.kernels.limits import reserve
from corollary.sparql.column_arguments import (
    ColumnArguments,
    Part,
    Table,
    Unsupported,
    errors,
)
from corollary.sparql.column_texts import (
    URI_BYTES,
    bytes_replaced,
    cased,
    contains,
    hashed,
    mapped,
    places_of,
)
from corollary.sparql.column_values import (
    Booleans,
    Ids,
    Numbers,
    Texts,
    Values,
)
from corollary.sparql.term_texts import content_of, cut_out, large, mask_of


def _plain(node: Any) -> str:
    """A constant string without language and datatype."""
    if not isinstance(node, Literal) or node.language or node.datatype is not None:
        raise Unsupported
    return str(node)


def _with_tags(own: ColumnArguments, values: Values) -> Texts:
    """As strings, for a function whose values keep the tag: those with capitals are left to the terms."""
    texts = own.texts(values)
    if texts.suffixes is None or not isinstance(values, Ids):
        return texts
    return replace(texts, undecided=texts.undecided | (own.has_upper_tag(values) & ~texts.failed))


def _length(own: ColumnArguments, node: Any) -> Part:
    (values,), over = own.together([node])
    texts = own.texts(values)
    return Part(
        Numbers.whole(compute.utf8_length(texts.texts).to_numpy(), texts.failed, texts.undecided), over
    )


def _cased(change: Callable[[str], str], own: ColumnArguments, node: Any) -> Part:
    """UCASE and LCASE."""
    (values,), over = own.together([node])
    texts = _with_tags(own, values)
    return Part(replace(texts, texts=cased(texts.texts, change)), over)


def _found(name: str, own: ColumnArguments, text: Any, wanted: Any) -> Part:
    """CONTAINS, STRSTARTS and STRENDS with a constant."""
    constant = _plain(wanted)
    (values,), over = own.together([text])
    texts = own.texts(values)
    if name == "CONTAINS":
        true = contains(texts.texts, constant)
    else:
        search = compute.starts_with if name == "STRSTARTS" else compute.ends_with
        true = mask_of(search(texts.texts, pattern=constant))
    return Part(Booleans(texts.failed, texts.undecided, true), over)


def _cut(name: str, own: ColumnArguments, text: Any, wanted: Any) -> Part:
    """STRBEFORE and STRAFTER with a constant. What is not found gives the empty string without language."""
    constant = _plain(wanted)
    if not constant:
        raise Unsupported
    (values,), over = own.together([text])
    texts = _with_tags(own, values)
    places = places_of(texts.texts, constant)
    bounds, arena = content_of(texts.texts)
    missing = places < 0
    if name == "STRBEFORE":
        starts, ends = bounds[:-1], bounds[:-1] + places
    else:
        starts, ends = bounds[:-1] + places + len(constant.encode()), bounds[1:]
    ends = np.where(missing, starts, ends)
    suffixes = texts.suffixes
    if suffixes is not None:
        suffixes = compute.if_else(missing, large(""), suffixes)
    return Part(replace(texts, texts=cut_out(arena.copy(), starts, ends), suffixes=suffixes), over)


def _substring(own: ColumnArguments, text: Any, *bounds: Any) -> Part:
    """SUBSTR with constants; a start before the first character is left to the terms."""
    numbers = [bound.value if isinstance(bound, Literal) else None for bound in bounds]
    if not all(type(number) is int and 0 <= number < 1 << 31 for number in numbers) or not numbers[0]:
        raise Unsupported
    (values,), over = own.together([text])
    texts = _with_tags(own, values)
    start = numbers[0] - 1
    stop = start + numbers[1] if len(numbers) > 1 else None
    cut = compute.utf8_slice_codeunits(texts.texts, start=start, stop=stop)
    return Part(replace(texts, texts=cut), over)


def _encoded(change: Callable[[Any], Any], own: ColumnArguments, node: Any) -> Part:
    """A function of strings whose values have no language: ENCODE_FOR_URI, MD5 ..."""
    (values,), over = own.together([node])
    texts = own.texts(values)
    return Part(Texts(texts.failed, texts.undecided, change(texts.texts), None), over)


def _replaced(own: ColumnArguments, text: Any, pattern: Any, replacement: Any, *flags: Any) -> Part:
    matcher = compiled(_plain(pattern), *map(_plain, flags))
    wanted = _plain(replacement)
    (values,), over = own.together([text])
    texts = _with_tags(own, values)
    table = matcher.replaced_bytes(wanted)
    if table is not None:
        found = bytes_replaced(texts.texts, table)
    else:
        found = matcher.replaced_column(texts.texts, wanted)
        if found is None:
            found = mapped(lambda each: matcher.replaced(each, wanted), texts.texts)
    return Part(replace(texts, texts=found), over)


def _matched(own: ColumnArguments, text: Any, pattern: Any, *flags: Any) -> Part:
    matcher = compiled(_plain(pattern), *map(_plain, flags))
    (values,), over = own.together([text])
    texts = own.texts(values)
    return Part(Booleans(texts.failed, texts.undecided, matcher.matches_column(texts.texts)), over)


def _concatenated(own: ColumnArguments, *nodes: Any) -> Part:
    """CONCAT: with the suffix that all strings have."""
    import pyarrow

    parts, over = own.together(nodes)
    texts = [own.texts(part) for part in parts]
    failed, undecided = errors(texts)
    for part in parts:
        if isinstance(part, Ids):
            undecided = undecided | (own.has_upper_tag(part) & ~failed)
    reserve(sum(each.texts.nbytes for each in texts))
    joined = compute.binary_join_element_wise(*(each.texts for each in texts), large(""))
    suffixes = None
    if all(each.suffixes is not None for each in texts):
        first, *others = (each.suffixes for each in texts)
        same = pyarrow.array(np.ones(failed.size, np.bool_))
        for other in others:
            same = compute.and_(same, compute.equal(first, other))
        suffixes = compute.if_else(same, first, large(""))
    return Part(Texts(failed, undecided, joined, suffixes), over)


def _language_matches(own: ColumnArguments, tag: Any, wanted: Any) -> Part:
    """LANGMATCHES with a constant range of letters, digits and hyphens, or ``*``."""
    (values,), over = own.together([tag])
    texts = own.texts(values)
    range_ = _plain(wanted).lower()
    if range_ == "*":
        true = compute.binary_length(texts.texts).to_numpy() > 0
    elif range_.isascii() and range_.replace("-", "").isalnum():
        lower = compute.ascii_lower(texts.texts)
        true = mask_of(compute.equal(lower, range_)) | mask_of(
            compute.starts_with(lower, pattern=f"{range_}-")
        )
    else:
        raise Unsupported
    return Part(Booleans(texts.failed, texts.undecided, true), over)


HASHES = ("MD5", "SHA1", "SHA256", "SHA384", "SHA512")


STRINGS: Table = {
    "STRLEN": _length,
    "UCASE": partial(_cased, str.upper),
    "LCASE": partial(_cased, str.lower),
    **{name: partial(_found, name) for name in ("CONTAINS", "STRSTARTS", "STRENDS")},
    **{name: partial(_cut, name) for name in ("STRBEFORE", "STRAFTER")},
    "SUBSTR": _substring,
    "ENCODE_FOR_URI": partial(_encoded, partial(bytes_replaced, table=URI_BYTES)),
    **{name: partial(_encoded, partial(hashed, name)) for name in HASHES},
    "REPLACE": _replaced,
    "REGEX": _matched,
    "CONCAT": _concatenated,
    "LANGMATCHES": _language_matches,
}
