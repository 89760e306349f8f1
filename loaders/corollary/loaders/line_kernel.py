"""A scanner for N-Triples and N-Quads that finds the terms of plain lines, and leaves all other lines.

A line is *plain* if the text of each of its terms is already the canonical N-Triples text: only the escapes
of canonical text, IRIs of the common form, labels and languages in ASCII. Every other line, valid or not, is
*odd*. The scanner records the place of an odd line, and the caller hands the line to a full parser.

``find_terms`` fills these arrays:

* ``starts``, ``lengths``: the places of texts (bytes, of the canonical text: the datatype xsd:string is left
  out). The text of number 0 is empty.
* ``places``: rows of ``TERMS`` numbers of texts, one row for each statement. A subject that is that of the
  plain statement before has its number. So have most IRIs that are not far behind an equal IRI.
* ``odd``: ``ABOUT_ODD`` numbers for each odd line. The line gets as many rows as it may have statements, with
  empty texts of their own.
* ``counts``: (rows, odd lines, lines, texts, bytes). The bytes are fewer than the data have if ``places`` or
  ``odd`` has too little room.

It works with two more. ``recent`` is a direct-mapped table of texts that are IRIs, by their last eight bytes.
``authority`` has the start and the length of an IRI's beginning, up to the slash behind the host.

Invariant: every conforming parser accepts a plain line, and reads exactly the terms that are found here.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from corollary.kernels.compiled import inlined_part, lean_kernel, part

Bytes = NDArray[np.uint8]
Places = NDArray[np.int64]
Place = int | np.int64

TERMS = 4
"""Terms per statement: subject, predicate, object, graph (of length 0 in the default graph)."""

ABOUT_ODD = 5
"""Numbers that are recorded of an odd line: start, end (past the LF), first row, rows, lines before."""

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
_HIGH, _LOW = (np.uint64(bits * int(_ONES)) for bits in (0x80, 0x7F))
_SPACES, _QUOTES, _GREATERS, _BACKSLASHES, _UNDERSCORES = (np.uint64(byte * int(_ONES)) for byte in b' ">\\_')
_FROM_SPACE, _FROM_AND, _FROM_A = (np.uint64((0x80 - byte) * int(_ONES)) for byte in b" &a")
_AFTER_SEMICOLON, _AFTER_Z = (np.uint64((0x7F - byte) * int(_ONES)) for byte in b";z")
"""Words of eight bytes. Added to a word of ASCII, ``_FROM_`` sets the highest bit of each byte that is the
character or a greater one, and ``_AFTER_`` of each that is greater."""

_BITS_OF_SLOT = 10
RECENT_IRIS = 1 << _BITS_OF_SLOT
"""Slots of the table of recent IRIs, 8 KB. Not tuned: most chunks have fewer predicates and classes."""

_FACTOR = np.uint64(0x9E3779B97F4A7C15)

_BYTES_LOOKED_THROUGH = 256
"""Bytes in which the end of an IRI is looked for before it is looked up. Not tuned: longer than most IRIs."""


@lean_kernel
def find_terms(
    data: Bytes,
    most_terms: int,
    kept_terms: int,
    places: Places,
    starts: Places,
    lengths: Places,
    odd: Places,
    authority: Places,
    recent: Places,
    counts: Places,
) -> None:
    """Fill the arrays that the head of this file describes. Lines end in LF, in CR LF, or with the data.

    ``most_terms``: 3 for triples, 4 for quads. ``kept_terms``: 3 to leave out the graphs of quads.
    Preconditions: ``starts`` and ``lengths`` have room for one text more than ``places``; ``recent`` has
    ``RECENT_IRIS`` zeros, ``authority`` two.
    """
    starts[0] = lengths[0] = 0
    at: Place = 0
    rows = odds = lines = 0
    texts, subject = 1, np.int64(0)
    while at < data.size and TERMS * rows < places.size and ABOUT_ODD * odds < odd.size:
        begin, before, first = at, texts, TERMS * rows
        at, terms, texts = _terms(
            data, at, most_terms, kept_terms, first, subject, texts,
            places, starts, lengths, authority, recent,
        )  # fmt: skip
        end = _statement_end(data, at, terms)
        if end == NONE:
            at = _next_line(data, at)
            more = _most_statements(data, begin, at)
            if TERMS * (rows + more) > places.size:
                at = begin
                break
            place = ABOUT_ODD * odds
            odd[place], odd[place + 1], odd[place + 2] = begin, at, rows
            odd[place + 3], odd[place + 4] = more, lines
            odds += 1
            rows += more
            texts = _add_empty(before, first, TERMS * rows, places, starts, lengths)
        else:
            at = end
            if terms > 0:
                subject = places[first]
                rows += 1
        lines += 1
    counts[0], counts[1], counts[2], counts[3], counts[4] = rows, odds, lines, texts, at


@inlined_part
def _terms(
    data: Bytes,
    at: Place,
    most_terms: int,
    kept_terms: int,
    first: int,
    subject: np.int64,
    texts: int,
    places: Places,
    starts: Places,
    lengths: Places,
    authority: Places,
    recent: Places,
) -> tuple[Place, int, int]:
    """Find the terms of the line at ``at``, and fill the row of ``places`` from ``first`` on.

    ``subject``: the number of the subject of the plain statement before. ``texts``: the number of texts.
    Returns the place after the terms, how many they are, and the new number of texts.
    """
    terms = 0
    places[first + 3] = 0
    at = _after(data, at, _BLANK)
    if _is_again(data, at, starts[subject], lengths[subject]):
        places[first] = subject
        terms = 1
        at = _after(data, at + lengths[subject], _BLANK)
    while terms < most_terms and at < data.size:
        end = _bracket(data, at)
        slot = _slot(data, end)
        number = recent[slot]
        if number >= texts or lengths[number] != end - at or not _is_same(data, at, starts[number], end - at):
            number = np.int64(0)
            end = _term_end(data, at, terms, authority)
        if end == NONE:
            break
        if terms < kept_terms:
            if number == 0:
                number = np.int64(texts)
                starts[number] = at
                lengths[number] = end - at - _implicit(data, at, end)
                texts += 1
                recent[slot] = number if slot > 0 else 0
            places[first + terms] = number
        terms += 1
        at = _after(data, end, _BLANK)
    return at, terms, texts


@part
def _add_empty(texts: int, first: int, last: int, places: Places, starts: Places, lengths: Places) -> int:
    """Fill ``places[first:last]`` with new empty texts. Returns the number of texts."""
    for place in range(first, last):
        places[place] = texts
        starts[texts] = lengths[texts] = 0
        texts += 1
    return texts


@inlined_part
def _is_again(data: Bytes, at: Place, start: Place, length: Place) -> bool:
    """Whether at ``at`` is the term that is at ``start`` and has a ``length``, with a space behind it.

    Precondition: no space is at ``at``. So an empty text is not found.
    """
    return bool(at + length < data.size and data[at + length] == _SPACE and _is_same(data, at, start, length))


@inlined_part
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


@inlined_part
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


@inlined_part
def _first(marks: np.uint64) -> np.int64:
    """The number of the first byte of a word whose highest bit is set. Precondition: there is one."""
    below = (marks ^ (marks - np.uint64(1))) & _ONES
    return np.int64((below * _ONES) >> np.uint64(56)) - 1


@inlined_part
def _are(word: np.uint64, byte: np.uint64) -> np.uint64:
    """The highest bits of those bytes of a word that are a byte, given eight times. Precondition: ASCII."""
    return ~((word ^ byte) + _LOW) & _HIGH


@inlined_part
def _bracket(data: Bytes, start: Place) -> Place:
    """The place after the first > behind a < at ``start``; ``NONE`` if it is far, or there is no <."""
    at = start
    last = min(start + _BYTES_LOOKED_THROUGH, data.size - 8) if data[start] == _LESS else NONE
    end: Place = NONE
    while at <= last and end == NONE:
        word = _word(data, at)
        marks = _are(word & _LOW, _GREATERS) & ~word
        if marks != 0:
            end = at + _first(marks) + 1
        at += 8
    return end


@inlined_part
def _slot(data: Bytes, end: Place) -> np.int64:
    """The slot, in a table of recent IRIs, of one with an end: by its last bytes. 0 if there are none."""
    word = _word(data, end - 8) if end >= 8 else np.uint64(0)
    return np.int64((word * _FACTOR) >> np.uint64(64 - _BITS_OF_SLOT))


@inlined_part
def _after_path(data: Bytes, at: Place) -> Place:
    """A place from ``at`` on, with only path characters between. Fewer than eight usual ones follow it."""
    marks = np.uint64(0)
    while at + 8 <= data.size and marks == 0:
        word = _word(data, at)
        ascii = word & _LOW
        small = ascii | _SPACES
        usual = (ascii + _FROM_AND) & ~(ascii + _AFTER_SEMICOLON)
        usual |= (small + _FROM_A) & ~(small + _AFTER_Z)
        marks = (~(usual | _are(ascii, _UNDERSCORES)) | word) & _HIGH
        at += 8 if marks == 0 else _first(marks)
    return at


@inlined_part
def _after_text(data: Bytes, at: Place) -> Place:
    """A place from ``at`` on, with only text in ASCII between. Fewer than eight bytes of it follow."""
    marks = np.uint64(0)
    while at + 8 <= data.size and marks == 0:
        word = _word(data, at)
        ascii = word & _LOW
        marks = ~(ascii + _FROM_SPACE) | _are(ascii, _QUOTES) | _are(ascii, _BACKSLASHES) | (ascii + _ONES)
        marks = (marks | word) & _HIGH
        at += 8 if marks == 0 else _first(marks)
    return at


@inlined_part
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
def _most_statements(data: Bytes, begin: Place, end: Place) -> int:
    """The most statements in the bytes of a line: parsers may end a line at a lone CR, too."""
    most = 1
    for at in range(begin, end):
        most += data[np.uint64(at)] == _CR
    return most


@part
def _statement_end(data: Bytes, at: Place, terms: int) -> Place:
    """The place after the end of the line, if the full stop is at ``at`` where there are terms.

    Only a comment in ASCII may stand before the end.
    """
    size = data.size
    is_good = terms == 0
    if terms >= 3 and at < size and data[at] == _STOP:
        is_good = True
        at = _after(data, at + 1, _BLANK)
    end: Place = NONE
    if is_good:
        if at < size and data[at] == _HASH:
            while at < size and data[at] >= _SPACE and data[at] < 127:
                at += 1
        if at + 1 < size and data[at] == _CR and data[at + 1] == _LF:
            at += 1
        if at == size:
            end = at
        elif data[at] == _LF:
            end = at + 1
    return end


@part
def _term_end(data: Bytes, start: Place, position: int, authority: Places) -> Place:
    """The place after the term that begins at ``start``, or ``NONE`` where no plain term does.

    ``position`` is 0 for the subject, 1 for the predicate, 2 for the object, 3 for the graph.
    """
    character = data[start]
    end: Place = NONE
    if character == _LESS:
        end = _iri_end(data, start, authority)
    elif character == _QUOTE and position == 2:
        end = _literal_end(data, start, authority)
    elif character == _UNDERSCORE and position != 1:
        end = _blank_node_end(data, start)
    return end


@part
def _literal_end(data: Bytes, start: Place, authority: Places) -> Place:
    """As ``_term_end``, for a literal."""
    end = _string_end(data, start)
    if end != NONE and _CLASSES[data[end]] & _BLANK == 0:
        iri = end + 2
        if data[end] == _AT:
            end = _language_end(data, end)
        elif data[end] != _CARET or iri >= data.size or data[end + 1] != _CARET or data[iri] != _LESS:
            end = NONE
        else:
            end = _iri_end(data, iri, authority)
            if end != NONE and data[end - 2] == _SMALL_G and _implicit(data, start, end) == 0:
                end = NONE  # ends in g, and may be rdf:langString, which is forbidden here
    return end


@part
def _implicit(data: Bytes, start: Place, end: Place) -> int:
    """The length of the datatype xsd:string with its carets, if it ends a literal."""
    first = end - _STRING.size
    length = 0
    if first > start and data[start] == _QUOTE and data[end - 1] == _GREATER and data[end - 2] == _SMALL_G:
        length = _STRING.size
        for position in range(_STRING.size):
            if data[first + position] != _STRING[position]:
                length = 0
    return length


@part
def _string_end(data: Bytes, start: Place) -> Place:
    """The place after the quoted string at ``start``, if data follow."""
    size = data.size
    at = start + 1
    end: Place = NONE
    step = 1
    while step > 0:
        at = _after(data, _after_text(data, at), _TEXT)
        step = 0
        if at + 1 < size:
            character, following = data[at], data[at + 1]
            if character == _QUOTE:
                end = at + 1
            elif character == _BACKSLASH:
                if following in (_SMALL_T, _SMALL_N, _SMALL_R, _QUOTE, _BACKSLASH):
                    step = 2  # canonical text has no other escapes
            else:
                step = _character(data, at)
                if step == 3 and character == 239 and following == 191 and data[at + 2] >= 190:
                    step = 0  # canonical text escapes U+FFFE and U+FFFF
            at += step
    return end


@part
def _language_end(data: Bytes, start: Place) -> Place:
    """The place after the language at ``start``: two or three small letters, maybe a hyphen and two more."""
    at = start + 1
    while at < data.size and data[at] >= _SMALL_A and data[at] <= _SMALL_Z:
        at += 1
    end: Place = NONE
    if at - start >= 3 and at - start <= 4 and at + 3 < data.size:
        is_good = True
        if data[at] == _HYPHEN:
            for place in range(at + 1, at + 3):
                is_good &= data[place] >= _SMALL_A and data[place] <= _SMALL_Z
            at += 3
        if is_good and _CLASSES[data[at]] & _BLANK != 0:
            end = at
    return end


@part
def _blank_node_end(data: Bytes, start: Place) -> Place:
    """The place after the blank node at ``start``."""
    end: Place = NONE
    if start + 1 < data.size and data[start + 1] == _COLON:
        first = start + 2
        at = first
        while at < data.size and (
            _CLASSES[data[at]] & (_LETTER | _DIGIT) != 0
            or data[at] == _UNDERSCORE
            or (data[at] == _HYPHEN and at > first)
        ):
            at += 1
        if at > first and at < data.size and _CLASSES[data[at]] & _BLANK != 0:
            end = at
    return end


@part
def _iri_end(data: Bytes, start: Place, authority: Places) -> Place:
    """The place after the IRI at ``start``: scheme, optional host and port, path, query, fragment."""
    size = data.size
    at = start + authority[1]
    if at == start or at > size or not _is_same(data, start, authority[0], authority[1]):
        at = _after_authority(data, start)
        if at != NONE and data[at - 1] == _SLASH:
            authority[0], authority[1] = start, at - start
    end: Place = NONE
    fragments = 0
    step = 0 if at == NONE else 1
    while step > 0:
        at = _after_path(data, at)
        step = 0
        if at < size:
            character = data[np.uint64(at)]
            if character == _GREATER:
                end = at + 1
            elif _CLASSES[character] & _PATH != 0:
                step = 1
            else:
                step = _step(data, at)
                if character == _HASH:
                    fragments += 1
                    if fragments > 1:
                        step = 0
            at += step
    return end


@part
def _after_authority(data: Bytes, start: Place) -> Place:
    """The place after scheme, host and port of the IRI at ``start``, and the slash behind a host.

    ``NONE`` where they are not of the common form.
    """
    size = data.size
    at = start + 1
    end: Place = NONE
    if at < size and _CLASSES[data[at]] & _LETTER != 0:
        while at < size and _CLASSES[data[np.uint64(at)]] & _SCHEME != 0:
            at += 1
        if at + 2 < size and data[at] == _COLON:
            end = at + 1
            if data[at + 1] == _SLASH and data[at + 2] == _SLASH:
                at += 3
                while at < size and _CLASSES[data[np.uint64(at)]] & _HOST != 0:
                    at += 1
                if at < size and data[at] == _COLON:
                    at += 1
                    while at < size and _CLASSES[data[at]] & _DIGIT != 0:
                        at += 1
                end = NONE
                if at < size:
                    if data[at] == _SLASH:
                        end = at + 1
                    elif data[at - 1] != _SLASH and (
                        data[at] == _QUESTION or data[at] == _HASH or data[at] == _GREATER
                    ):  # an empty host is common before a slash only
                        end = at
    return end


@part
def _step(data: Bytes, at: Place) -> int:
    """The number of bytes of the number sign, escape or non-ASCII character at ``at``; 0 if it is none."""
    character = data[at]
    step = 0
    if character == _HASH:
        step = 1
    elif character == _PERCENT:
        if at + 2 < data.size and _CLASSES[data[at + 1]] & _CLASSES[data[at + 2]] & _HEX != 0:
            step = 3
    elif character >= 194 and character <= 237:  # U+0080 to U+D7FF: IRIs allow only parts of the rest
        step = _character(data, at)
        if character == 194 and step == 2 and data[at + 1] < 160:
            step = 0
    return step


@part
def _character(data: Bytes, at: Place) -> int:
    """The number of bytes of the non-ASCII character at ``at``; 0 if it is none, or no UTF-8."""
    first = data[at]
    size = 0
    if first >= 194 and first <= 244:
        size = 2 if first < 224 else 3 if first < 240 else 4
        if at + size > data.size:
            size = 0
        else:
            second = data[at + 1]
            is_bad = second < 128 or second > 191
            is_bad |= first == 224 and second < 160  # there is a shorter form
            is_bad |= first == 237 and second > 159  # a half of a pair of UTF-16
            is_bad |= first == 240 and second < 144
            is_bad |= first == 244 and second > 143  # above U+10FFFF
            for place in range(at + 2, at + size):
                is_bad |= data[place] < 128 or data[place] > 191
            if is_bad:
                size = 0
    return size
