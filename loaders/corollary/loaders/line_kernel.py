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

ABOUT_ODD = 5
"""Numbers per odd line."""

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

_ONES = np.uint64(0x0101010101010101)
_HIGH, _LOW = np.uint64(0x80 * int(_ONES)), np.uint64(0x7F * int(_ONES))
_SPACES, _QUOTES, _GREATERS, _BACKSLASHES, _UNDERSCORES = (np.uint64(byte * int(_ONES)) for byte in b' ">\\_')

_FROM_SPACE, _FROM_AND, _FROM_A = (np.uint64((0x80 - byte) * int(_ONES)) for byte in b" &a")
_TO_SEMICOLON, _TO_Z = (np.uint64((0x7F - byte) * int(_ONES)) for byte in b";z")
"""Added to a word of ASCII, they set the highest bits of the bytes from a character on, or after it."""

_RECENT_IRIS, _BITS_OF_SLOT, _FACTOR = 1 << 10, 10, np.uint64(0x9E3779B97F4A7C15)
_WORDS_LOOKED_THROUGH = 32


@kernel
def find_terms(
    data: Bytes,
    most_terms: int,
    kept_terms: int,
    places: Places,
    starts: Places,
    lengths: Places,
    odd: Places,
    counts: Places,
) -> None:
    """Find the terms of every plain line. Lines end in LF, in CR LF, or at the end of the data.

    ``most_terms``: 3 for triples, 4 for quads. ``kept_terms``: 3 to leave out the graphs of quads. ``starts``
    and ``lengths`` get the places of texts (bytes, of the canonical text: the datatype xsd:string is left
    out). The first text is empty. Each statement fills the next ``TERMS`` numbers of ``places``: the numbers
    of its texts. A subject that is that of the plain statement before, and most IRIs that are not far behind
    the same IRI, get its number. Each odd line fills the next ``ABOUT_ODD`` numbers of ``odd``: start, end
    (past the LF), and the statements, lines and texts before. ``counts`` becomes (statements, odd lines, lines, texts).
    Precondition: with n LFs in the data, the arrays have room for n + 1 lines, ``starts`` and ``lengths`` for
    one text more.
    """
    recent = np.zeros(_RECENT_IRIS, np.int64)
    authority = np.zeros(2, np.int64)
    starts[0] = lengths[0] = 0
    at: Place = 0
    rows = odds = lines = 0
    texts = 1
    while at < data.size:
        begin = at
        before = texts
        first = TERMS * rows
        places[first + 3] = 0
        terms = 0
        at = _after(data, at, _BLANK)
        if rows > 0:
            subject = places[first - TERMS]
            if _is_again(data, at, starts[subject], lengths[subject]):
                places[first] = subject
                terms = 1
                at = _after(data, at + lengths[subject], _BLANK)
        while terms < most_terms and at < data.size:
            is_iri = data[at] == _LESS
            slot = 0
            number = 0
            if is_iri:
                end = _bracket(data, at)
                if end != NONE:
                    slot = _slot(data, end)
                    number = recent[slot]
                    if number >= texts or lengths[number] != end - at or not _is_same(data, at, starts[number], end - at):
                        number = 0
                if number == 0:
                    end = _iri_end(data, at, authority)
            else:
                end = _other_end(data, at, terms, authority)
            if end == NONE:
                break
            if terms < kept_terms:
                if number == 0:
                    number = texts
                    starts[number] = at
                    lengths[number] = end - at if is_iri else end - at - _implicit(data, at, end)
                    recent[slot] = number
                    texts += 1
                places[first + terms] = number
            terms += 1
            at = _after(data, end, _BLANK)
        end = _statement_end(data, at, terms)
        if end != NONE:
            rows += terms > 0
            at = end
        else:
            texts = before
            at = _next_line(data, at)
            place = ABOUT_ODD * odds
            odd[place], odd[place + 1], odd[place + 2] = begin, at, rows
            odd[place + 3], odd[place + 4] = lines, texts
            odds += 1
        lines += 1
    counts[0], counts[1], counts[2], counts[3] = rows, odds, lines, texts


@part
def _is_again(data: Bytes, at: Place, start: Place, length: Place) -> bool:
    """Whether at ``at`` is the term that is at ``start`` and has a ``length``, with a space behind it."""
    return at + length < data.size and data[at + length] == _SPACE and _is_same(data, at, start, length)


@part
def _is_same(data: Bytes, one: Place, other: Place, length: Place) -> bool:
    """Whether the same bytes are at two places."""
    differing = np.uint64(0)
    if length < 8:
        for step in range(length):
            differing |= np.uint64(data[np.uint64(one + step)] ^ data[np.uint64(other + step)])
        return bool(differing == 0)
    for step in range(0, length - 8, 8):
        differing |= _word(data, one + step) ^ _word(data, other + step)
    return bool(differing | (_word(data, one + length - 8) ^ _word(data, other + length - 8)) == 0)


@part
def _word(data: Bytes, at: Place) -> np.uint64:
    """The eight bytes from ``at`` on."""
    place = np.uint64(at)
    return (
        np.uint64(data[place])
        | np.uint64(data[place + np.uint64(1)]) << np.uint64(8)
        | np.uint64(data[place + np.uint64(2)]) << np.uint64(16)
        | np.uint64(data[place + np.uint64(3)]) << np.uint64(24)
        | np.uint64(data[place + np.uint64(4)]) << np.uint64(32)
        | np.uint64(data[place + np.uint64(5)]) << np.uint64(40)
        | np.uint64(data[place + np.uint64(6)]) << np.uint64(48)
        | np.uint64(data[place + np.uint64(7)]) << np.uint64(56)
    )


@part
def _first(marks: np.uint64) -> int:
    """The number of the first byte of a word whose highest bit is set. Precondition: there is one."""
    below = (marks ^ (marks - np.uint64(1))) & _ONES
    return np.int64((below * _ONES) >> np.uint64(56)) - 1


@part
def _are(word: np.uint64, byte: np.uint64) -> np.uint64:
    """The highest bits of the bytes of a word that are a byte, given eight times. Precondition: all are ASCII."""
    return ~((word ^ byte) + _LOW) & _HIGH


@part
def _bracket(data: Bytes, start: Place) -> Place:
    """The place after the first > behind ``start``, or ``NONE`` if it is far."""
    at = start
    for _ in range(_WORDS_LOOKED_THROUGH):
        if at + 8 > data.size:
            return NONE
        word = _word(data, at)
        marks = _are(word & _LOW, _GREATERS) & ~word
        if marks != 0:
            return at + _first(marks) + 1
        at += 8
    return NONE


@part
def _slot(data: Bytes, end: Place) -> int:
    """The slot, in a table of recent IRIs, of one with an end: by the last bytes."""
    return np.int64((_word(data, max(end - 8, 0)) * _FACTOR) >> np.uint64(64 - _BITS_OF_SLOT))


@part
def _after_path(data: Bytes, at: Place) -> Place:
    """A place from ``at`` on, with characters of paths before it, that is not followed by eight usual ones."""
    while at + 8 <= data.size:
        word = _word(data, at)
        ascii = word & _LOW
        small = ascii | _SPACES
        usual = (ascii + _FROM_AND) & ~(ascii + _TO_SEMICOLON)
        usual |= (small + _FROM_A) & ~(small + _TO_Z)
        marks = ~(usual | _are(ascii, _UNDERSCORES)) & _HIGH | word & _HIGH
        if marks != 0:
            return at + _first(marks)
        at += 8
    return at


@part
def _after_text(data: Bytes, at: Place) -> Place:
    """The first place from ``at`` on whose byte is no text in ASCII, or one with less than eight bytes behind."""
    while at + 8 <= data.size:
        word = _word(data, at)
        ascii = word & _LOW
        marks = ~(ascii + _FROM_SPACE) | _are(ascii, _QUOTES) | _are(ascii, _BACKSLASHES) | (ascii + _ONES) | word
        marks &= _HIGH
        if marks != 0:
            return at + _first(marks)
        at += 8
    return at


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
def _other_end(data: Bytes, start: Place, position: int, authority: Places) -> Place:
    """The place after the term that begins at ``start``, or ``NONE`` where no plain term does.

    ``position`` is 0 for the subject, 1 for the predicate, 2 for the object, 3 for the graph.
    """
    character = data[start]
    if character == _QUOTE and position == 2:
        return _literal_end(data, start, authority)
    if character == _UNDERSCORE and position != 1:
        return _blank_node_end(data, start)
    return NONE


@part
def _literal_end(data: Bytes, start: Place, authority: Places) -> Place:
    """As ``_other_end``, for a literal."""
    quoted = _string_end(data, start)
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
    end = _iri_end(data, iri, authority)
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
def _string_end(data: Bytes, start: Place) -> Place:
    """The place after the quoted string at ``start``, if data follow."""
    size = data.size
    at = start + 1
    while True:
        at = _after(data, _after_text(data, at), _TEXT)
        if at + 1 >= size:
            return NONE
        character = data[at]
        if character == _QUOTE:
            return at + 1
        if character == _BACKSLASH:
            if data[at + 1] not in (_SMALL_T, _SMALL_N, _SMALL_R, _QUOTE, _BACKSLASH):
                return NONE  # canonical text has no other escapes
            at += 2
        else:
            step = _character(data, at)
            if step == 0 or (character == 239 and data[at + 1] == 191 and data[at + 2] >= 190):
                return NONE  # canonical text escapes U+FFFE and U+FFFF
            at += step


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
def _iri_end(data: Bytes, start: Place, authority: Places) -> Place:
    """The place after the IRI at ``start``: scheme, optional host and port, path, query, fragment.

    ``authority`` has the start and the length of an IRI's beginning, up to the slash behind the host.
    """
    size = data.size
    if authority[1] > 0 and start + authority[1] <= size and _is_same(data, start, authority[0], authority[1]):
        at = start + authority[1]
    else:
        at = _after_authority(data, start)
        if at == NONE:
            return NONE
        if data[at - 1] == _SLASH:
            authority[0], authority[1] = start, at - start
    fragments = 0
    while at < size:
        at = _after_path(data, at)
        if at == size:
            return NONE
        character = data[np.uint64(at)]
        if character == _GREATER:
            return at + 1
        if _CLASSES[character] & _PATH != 0:
            at += 1
        else:
            fragments += character == _HASH
            step = _step(data, at)
            if step == 0 or fragments > 1:
                return NONE
            at += step
    return NONE


@part
def _after_authority(data: Bytes, start: Place) -> Place:
    """The place after scheme, host and port of the IRI at ``start``, and the slash behind a host.

    ``NONE`` where they are not of the common form.
    """
    size = data.size
    at = start + 1
    if at == size or _CLASSES[data[at]] & _LETTER == 0:
        return NONE
    while at < size and _CLASSES[data[np.uint64(at)]] & _SCHEME != 0:
        at += 1
    if at + 2 >= size or data[at] != _COLON:
        return NONE
    at += 1
    if data[at] != _SLASH or data[at + 1] != _SLASH:
        return at
    at += 2
    while at < size and _CLASSES[data[np.uint64(at)]] & _HOST != 0:
        at += 1
    if at < size and data[at] == _COLON:
        at += 1
        while at < size and _CLASSES[data[at]] & _DIGIT != 0:
            at += 1
    if at < size and data[at] not in (_SLASH, _QUESTION, _HASH, _GREATER):
        return NONE
    return at + 1 if at < size and data[at] == _SLASH else at


@part
def _step(data: Bytes, at: Place) -> int:
    """The number of bytes of the number sign, escape or non-ASCII character at ``at``; 0 if it is none."""
    character = data[at]
    if character == _HASH:
        return 1
    if character == _PERCENT:
        is_escape = at + 2 < data.size and _CLASSES[data[at + 1]] & _CLASSES[data[at + 2]] & _HEX != 0
        return 3 if is_escape else 0
    step = _character(data, at)
    # U+00A0 to U+D7FF: IRIs allow only parts of the rest.
    if step == 2 and character == 194 and data[at + 1] < 160 or step == 3 and character > 237 or step > 3:
        return 0
    return step


@part
def _character(data: Bytes, at: Place) -> int:
    """The number of bytes of the non-ASCII character at ``at``; 0 if it is none, or no UTF-8."""
    first = data[at]
    if first < 194 or first > 244:
        return 0
    step = 2 if first < 224 else 3 if first < 240 else 4
    if at + step > data.size:
        return 0
    least, most = 128, 191
    if first == 224:
        least = 160  # else there is a shorter form
    elif first == 237:
        most = 159  # else it is a half of a pair of UTF-16
    elif first == 240:
        least = 144
    elif first == 244:
        most = 143  # else it is above U+10FFFF
    if data[at + 1] < least or data[at + 1] > most:
        return 0
    for place in range(at + 2, at + step):
        if data[place] < 128 or data[place] > 191:
            return 0
    return step
