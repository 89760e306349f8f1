"""A scanner for N-Triples and N-Quads that finds the terms of plain lines, and leaves all other lines.

A line is *plain* if the text of each of its terms is already the canonical N-Triples text: only the escapes
of canonical text, IRIs of the common form, labels and languages in ASCII. Every other line, valid or not, is
*odd*. The scanner records the place of an odd line, and the caller hands the line to a full parser.

Invariant: every conforming parser accepts a plain line, and reads exactly the terms that are found here.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from corollary.kernels.compiled import kernel

Bytes = NDArray[np.uint8]
Places = NDArray[np.int64]

TERMS = 4
"""Terms per statement: subject, predicate, object, graph (of length 0 in the default graph)."""

_LETTER, _DIGIT, _HEX, _MARK, _PATH = 1, 2, 4, 8, 16
"""Bits of a character class. Marks are ``-._~``. Path characters may follow the host of an IRI."""

_CLASSES = np.zeros(256, np.uint8)
for _characters, _bit in (
    (b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz", _LETTER | _PATH),
    (b"0123456789", _DIGIT | _PATH),
    (b"0123456789ABCDEFabcdef", _HEX),
    (b"-._~", _MARK | _PATH),
    (b"!$&'()*+,;=:@/?", _PATH),
):
    _CLASSES[np.frombuffer(_characters, np.uint8)] |= np.uint8(_bit)

_STRING = np.frombuffer(b"<http://www.w3.org/2001/XMLSchema#string>", np.uint8)


@kernel
def find_terms(
    data: Bytes, is_utf8: bool, most_terms: int, starts: Places, lengths: Places, odd: Places, counts: Places
) -> None:
    """Find the terms of every plain line. Lines end in LF, in CR LF, or at the end of the data.

    ``is_utf8``: whether the data are known to be valid UTF-8; if not, lines with non-ASCII bytes are odd.
    ``most_terms``: 3 for triples, 4 for quads.

    Each statement fills the next ``TERMS`` places of ``starts`` and ``lengths`` (bytes, of the canonical
    text: the datatype xsd:string is left out). Each odd line fills the next four places of ``odd``: start,
    end (past the LF), number of statements before, number of lines before. ``counts`` becomes (statements,
    odd lines, lines). Precondition: with n LFs in the data, ``starts``, ``lengths`` and ``odd`` have room for
    n + 1 lines.
    """
    size = data.size
    at = 0
    rows = 0
    odds = 0
    lines = 0
    while at < size:
        begin = at
        terms = 0
        is_plain = False
        while True:
            while at < size and (data[at] == 32 or data[at] == 9):
                at += 1
            if at == size:
                is_plain = terms == 0
                break
            character = data[at]
            if terms >= 3 and character == 46:  # the full stop
                at += 1
                while at < size and (data[at] == 32 or data[at] == 9):
                    at += 1
                if at == size:
                    is_plain = True
                    break
                terms += 4  # done: what follows may be a comment
                character = data[at]
            if terms == 0 or terms > 4:
                if character == 35:  # a comment
                    while at < size and data[at] >= 32 and data[at] < 127:
                        at += 1
                    if at == size:
                        is_plain = True
                        break
                    character = data[at]
                if character == 13 and at + 1 < size and data[at + 1] == 10:
                    at += 1
                    character = data[at]
                if character == 10:
                    is_plain = True
                    break
                if terms > 4:
                    break
            if terms >= most_terms:
                break
            start = at
            length = 0
            is_literal = character == 34 and terms == 2
            if is_literal:
                at += 1
                while at < size:
                    character = data[at]
                    if character == 34 or character < 32 or character == 127:
                        break
                    if character > 127 and (  # canonical text escapes U+FFFE and U+FFFF
                        not is_utf8 or (character == 239 and data[at + 1] == 191 and data[at + 2] >= 190)
                    ):
                        break
                    at += 1
                    if character == 92:  # canonical escapes: t n r " and the backslash
                        if at == size:
                            break
                        character = data[at]
                        if not (
                            character == 116
                            or character == 110
                            or character == 114
                            or character == 34
                            or character == 92
                        ):
                            break
                        at += 1
                if at + 1 >= size or data[at] != 34:
                    break
                at += 1
                length = at - start
                character = data[at]
                if character == 64:  # a language: two or three lower-case letters, maybe "-" and two more
                    at += 1
                    first = at
                    while at < size and data[at] >= 97 and data[at] <= 122:
                        at += 1
                    if at - first < 2 or at - first > 3 or at + 3 >= size:
                        break
                    if data[at] == 45:
                        if data[at + 1] < 97 or data[at + 1] > 122 or data[at + 2] < 97 or data[at + 2] > 122:
                            break
                        at += 3
                    if data[at] != 32 and data[at] != 9:
                        break
                    length = at - start
                    character = data[at]
                elif character == 94:  # a datatype: the IRI is read below
                    if at + 2 >= size or data[at + 1] != 94 or data[at + 2] != 60:
                        break
                    at += 2
                    character = data[at]
                elif character != 32 and character != 9:
                    break
            if character == 60:  # an IRI: scheme, optional host and port, path, query, fragment
                iri = at
                at += 1
                if at == size or _CLASSES[data[at]] & _LETTER == 0:
                    break
                while at < size and (
                    _CLASSES[data[at]] & (_LETTER | _DIGIT) != 0
                    or data[at] == 43
                    or data[at] == 45
                    or data[at] == 46
                ):
                    at += 1
                if at + 2 >= size or data[at] != 58:
                    break
                at += 1
                if data[at] == 47 and data[at + 1] == 47:
                    at += 2
                    while at < size and _CLASSES[data[at]] & (_LETTER | _DIGIT | _MARK) != 0:
                        at += 1
                    if at < size and data[at] == 58:
                        at += 1
                        while at < size and _CLASSES[data[at]] & _DIGIT != 0:
                            at += 1
                    if at < size and data[at] != 47 and data[at] != 63 and data[at] != 35 and data[at] != 62:
                        break
                fragments = 0
                while at < size:
                    character = data[at]
                    if _CLASSES[character] & _PATH != 0:
                        at += 1
                    elif character == 35 and fragments == 0:
                        fragments = 1
                        at += 1
                    elif (
                        character == 37
                        and at + 2 < size
                        and _CLASSES[data[at + 1]] & _HEX != 0
                        and _CLASSES[data[at + 2]] & _HEX != 0
                    ):
                        at += 3
                    elif (  # U+00A0 to U+D7FF; IRIs allow only parts of the rest
                        is_utf8
                        and character >= 194
                        and character <= 237
                        and (character > 194 or data[at + 1] >= 160)
                    ):
                        at += 2 if character < 224 else 3
                    else:
                        break
                if at == size or data[at] != 62:
                    break
                at += 1
                if not is_literal or data[at - 2] != 103:
                    length = at - start
                else:  # ends in g: xsd:string is implicit, rdf:langString is forbidden here
                    if at - iri != _STRING.size:
                        break
                    is_string = True
                    for position in range(_STRING.size):
                        is_string = is_string and data[iri + position] == _STRING[position]
                    if not is_string:
                        break
            elif character == 95 and terms != 1:  # a blank node
                at += 2
                if at >= size or data[at - 1] != 58:
                    at -= 1
                    break
                first = at
                while at < size and (
                    _CLASSES[data[at]] & (_LETTER | _DIGIT) != 0
                    or data[at] == 95
                    or (data[at] == 45 and at > first)
                ):
                    at += 1
                if at == first or at >= size or (data[at] != 32 and data[at] != 9):
                    break
                length = at - start
            elif not is_literal:
                break
            starts[4 * rows + terms] = start
            lengths[4 * rows + terms] = length
            terms += 1
        if is_plain:
            if terms >= 3:
                if terms == 7 or terms == 3:
                    lengths[4 * rows + 3] = 0
                    starts[4 * rows + 3] = 0
                rows += 1
            at += 1
        else:
            while at < size and data[at] != 10:
                at += 1
            at = at + 1 if at < size else size
            odd[4 * odds] = begin
            odd[4 * odds + 1] = at
            odd[4 * odds + 2] = rows
            odd[4 * odds + 3] = lines
            odds += 1
        lines += 1
    counts[0] = rows
    counts[1] = odds
    counts[2] = lines
