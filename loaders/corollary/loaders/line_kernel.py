"""A scanner for N-Triples and N-Quads that finds the terms of plain lines, and leaves all other lines.

A line is *plain* if the text of each of its terms is already the canonical N-Triples text: only the escapes
of canonical text, IRIs of the common form, labels and languages in ASCII. Every other line, valid or not, is
*odd*. The scanner records the place of an odd line, and the caller hands the line to a full parser.

Invariant: every conforming parser accepts a plain line, and reads exactly the terms that are found here.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from corollary.kernels.compiled import kernel, part

Bytes = NDArray[np.uint8]
Places = NDArray[np.int64]
Place = int | np.int64

TERMS = 4
"""Terms per statement: subject, predicate, object, graph (of length 0 in the default graph)."""

_LETTER, _DIGIT, _HEX, _SCHEME, _HOST, _PATH, _TEXT, _BLANK = (1 << bit for bit in range(8))
"""Bits of a character class. Path characters may follow the host of an IRI; text is ASCII within quotes."""

_LETTERS, _DIGITS = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz", b"0123456789"

_CLASSES = np.zeros(256, np.uint8)
for _characters, _bits in (
    (_LETTERS, _LETTER | _SCHEME | _HOST | _PATH),
    (_DIGITS, _DIGIT | _HEX | _SCHEME | _HOST | _PATH),
    (b"ABCDEFabcdef", _HEX),
    (b"+-.", _SCHEME),
    (b"-._~", _HOST | _PATH),
    (b"!$&'()*+,;=:@/?", _PATH),
    (b" \t", _BLANK),
    (bytes(range(32, 127)).translate(None, b'"\\'), _TEXT),
):
    _CLASSES[np.frombuffer(_characters, np.uint8)] |= np.uint8(_bits)

_STRING = np.frombuffer(b"^^<http://www.w3.org/2001/XMLSchema#string>", np.uint8)

NONE = -1
"""In place of an end: the bytes are not of the common form."""

_LF, _CR, _SPACE, _QUOTE, _HASH, _PERCENT, _HYPHEN, _STOP, _SLASH = b'\n\r "#%-./'
_COLON, _LESS, _GREATER, _QUESTION, _AT, _BACKSLASH, _CARET, _UNDERSCORE = b":<>?@\\^_"
_SMALL_A, _SMALL_G, _SMALL_N, _SMALL_R, _SMALL_T, _SMALL_Z = b"agnrtz"


@kernel
def find_terms(
    data: Bytes, is_utf8: bool, most_terms: int, starts: Places, lengths: Places, odd: Places, counts: Places
) -> None:
    """Find the terms of every plain line. Lines end in LF, in CR LF, or at the end of the data.

    ``is_utf8``: whether the data are known to be valid UTF-8; if not, lines with non-ASCII bytes are odd.
    ``most_terms``: 3 for triples, 4 for quads. Each statement fills the next ``TERMS`` places of ``starts``
    and ``lengths`` (bytes, of the canonical text: the datatype xsd:string is left out). A subject that is
    that of the plain statement before, as is usual, gets the same place. Each odd line fills the next four
    places of ``odd``: start, end (past the LF), statements before, lines before. ``counts`` becomes
    (statements, odd lines, lines). Precondition: with n LFs in the data, ``starts``, ``lengths`` and ``odd``
    have room for n + 1 lines.
    """
    at: Place = 0
    rows = odds = lines = 0
    while at < data.size:
        begin = at
        first = TERMS * rows
        terms = 0
        at = _after(data, at, _BLANK)
        if rows > 0 and _is_again(data, at, starts[first - TERMS], lengths[first - TERMS]):
            starts[first] = starts[first - TERMS]
            lengths[first] = lengths[first - TERMS]
            terms = 1
            at = _after(data, at + lengths[first], _BLANK)
        while terms < most_terms and at < data.size:
            is_iri = data[at] == _LESS
            end = _iri_end(data, at, is_utf8) if is_iri else _other_end(data, at, terms, is_utf8)
            if end == NONE:
                break
            starts[first + terms] = at
            lengths[first + terms] = end - at if is_iri else end - at - _implicit(data, at, end)
            terms += 1
            at = _after(data, end, _BLANK)
        if terms == 3:
            starts[first + 3] = 0
            lengths[first + 3] = 0
        end = _statement_end(data, at, terms)
        if end != NONE:
            rows += terms > 0
            at = end
        else:
            at = _next_line(data, at)
            place = 4 * odds
            odd[place], odd[place + 1], odd[place + 2], odd[place + 3] = begin, at, rows, lines
            odds += 1
        lines += 1
    counts[0], counts[1], counts[2] = rows, odds, lines


@part
def _is_again(data: Bytes, at: Place, start: Place, length: Place) -> bool:
    """Whether at ``at`` is the term that is at ``start`` and has a ``length``, with a space behind it."""
    if at + length >= data.size or data[at + length] != _SPACE:
        return False
    differing = np.uint8(0)
    for step in range(length):
        differing |= data[np.uint64(at + step)] ^ data[np.uint64(start + step)]
    return bool(differing == 0)


@part
def _after(data: Bytes, at: Place, classes: int) -> Place:
    """The first place from ``at`` on whose byte is of none of the classes."""
    while at < data.size and _CLASSES[data[np.uint64(at)]] & classes != 0:
        at += 1
    return at


@part
def _next_line(data: Bytes, at: Place) -> Place:
    """The place after the next LF, or the end."""
    while at < data.size and data[at] != _LF:
        at += 1
    return min(at + 1, data.size)


@part
def _statement_end(data: Bytes, at: Place, terms: int) -> Place:
    """The place after the end of the line, if the full stop is at ``at`` where there are terms.

    Only a comment in ASCII may stand before the end.
    """
    size = data.size
    if terms > 0:
        if terms < 3 or at == size or data[at] != _STOP:
            return NONE
        at = _after(data, at + 1, _BLANK)
    if at < size and data[at] == _HASH:
        while at < size and data[at] >= _SPACE and data[at] < 127:
            at += 1
    if at + 1 < size and data[at] == _CR and data[at + 1] == _LF:
        at += 1
    if at == size:
        return at
    return at + 1 if data[at] == _LF else NONE


@part
def _other_end(data: Bytes, start: Place, position: int, is_utf8: bool) -> Place:
    """The place after the term that begins at ``start``, or ``NONE`` where no plain term does.

    ``position`` is 0 for the subject, 1 for the predicate, 2 for the object, 3 for the graph.
    """
    character = data[start]
    if character == _QUOTE and position == 2:
        return _literal_end(data, start, is_utf8)
    if character == _UNDERSCORE and position != 1:
        return _blank_node_end(data, start)
    return NONE


@part
def _literal_end(data: Bytes, start: Place, is_utf8: bool) -> Place:
    """As ``_other_end``, for a literal."""
    quoted = _string_end(data, start, is_utf8)
    if quoted == NONE:
        return NONE
    character = data[quoted]
    if _CLASSES[character] & _BLANK != 0:
        return quoted
    if character == _AT:
        return _language_end(data, quoted)
    iri = quoted + 2
    if character != _CARET or iri >= data.size or data[quoted + 1] != _CARET or data[iri] != _LESS:
        return NONE
    end = _iri_end(data, iri, is_utf8)
    if end == NONE or data[end - 2] != _SMALL_G or _implicit(data, start, end) > 0:
        return end
    return NONE  # ends in g, and may be rdf:langString, which is forbidden here


@part
def _implicit(data: Bytes, start: Place, end: Place) -> int:
    """The length of the datatype xsd:string with its carets, if it ends a literal."""
    if data[start] != _QUOTE or data[end - 1] != _GREATER or data[end - 2] != _SMALL_G:
        return 0
    first = end - _STRING.size
    if first <= start:
        return 0
    for position in range(_STRING.size):
        if data[first + position] != _STRING[position]:
            return 0
    return _STRING.size


@part
def _string_end(data: Bytes, start: Place, is_utf8: bool) -> Place:
    """The place after the quoted string at ``start``, if data follow."""
    size = data.size
    at = start + 1
    while True:
        at = _after(data, at, _TEXT)
        if at + 1 >= size:
            return NONE
        character = data[at]
        if character == _QUOTE:
            return at + 1
        if character == _BACKSLASH:
            if data[at + 1] not in (_SMALL_T, _SMALL_N, _SMALL_R, _QUOTE, _BACKSLASH):
                return NONE  # canonical text has no other escapes
            at += 2
        elif is_utf8 and character > 127:
            if character == 239 and data[at + 1] == 191 and data[at + 2] >= 190:
                return NONE  # canonical text escapes U+FFFE and U+FFFF
            at += 1
        else:
            return NONE


@part
def _language_end(data: Bytes, start: Place) -> Place:
    """The place after the language at ``start``: two or three small letters, maybe a hyphen and two more."""
    at = start + 1
    while at < data.size and data[at] >= _SMALL_A and data[at] <= _SMALL_Z:
        at += 1
    if at - start < 3 or at - start > 4 or at + 3 >= data.size:
        return NONE
    if data[at] == _HYPHEN:
        for place in range(at + 1, at + 3):
            if data[place] < _SMALL_A or data[place] > _SMALL_Z:
                return NONE
        at += 3
    return at if _CLASSES[data[at]] & _BLANK != 0 else NONE


@part
def _blank_node_end(data: Bytes, start: Place) -> Place:
    """The place after the blank node at ``start``."""
    if start + 1 >= data.size or data[start + 1] != _COLON:
        return NONE
    first = start + 2
    at = first
    while at < data.size and (
        _CLASSES[data[at]] & (_LETTER | _DIGIT) != 0
        or data[at] == _UNDERSCORE
        or (data[at] == _HYPHEN and at > first)
    ):
        at += 1
    if at == first or at >= data.size or _CLASSES[data[at]] & _BLANK == 0:
        return NONE
    return at


@part
def _iri_end(data: Bytes, start: Place, is_utf8: bool) -> Place:
    """The place after the IRI at ``start``: scheme, optional host and port, path, query, fragment."""
    size = data.size
    at = start + 1
    if at == size or _CLASSES[data[at]] & _LETTER == 0:
        return NONE
    while at < size and _CLASSES[data[np.uint64(at)]] & _SCHEME != 0:
        at += 1
    if at + 2 >= size or data[at] != _COLON:
        return NONE
    at += 1
    if data[at] == _SLASH and data[at + 1] == _SLASH:
        at += 2
        while at < size and _CLASSES[data[np.uint64(at)]] & _HOST != 0:
            at += 1
        if at < size and data[at] == _COLON:
            at += 1
            while at < size and _CLASSES[data[at]] & _DIGIT != 0:
                at += 1
        if at < size and data[at] not in (_SLASH, _QUESTION, _HASH, _GREATER):
            return NONE
    fragments = 0
    while at < size:
        character = data[np.uint64(at)]
        if _CLASSES[character] & _PATH != 0:
            at += 1
        elif character == _GREATER:
            return at + 1
        else:
            fragments += character == _HASH
            step = _step(data, at, is_utf8)
            if step == 0 or fragments > 1:
                return NONE
            at += step
    return NONE


@part
def _step(data: Bytes, at: Place, is_utf8: bool) -> int:
    """The number of bytes of the number sign, escape or non-ASCII character at ``at``; 0 if it is none."""
    character = data[at]
    if character == _HASH:
        return 1
    if character == _PERCENT:
        is_escape = at + 2 < data.size and _CLASSES[data[at + 1]] & _CLASSES[data[at + 2]] & _HEX != 0
        return 3 if is_escape else 0
    # U+00A0 to U+D7FF: IRIs allow only parts of the rest.
    if is_utf8 and character >= 194 and character <= 237 and (character > 194 or data[at + 1] >= 160):
        return 2 if character < 224 else 3
    return 0
