"""Kernels over texts in a byte array: hashing, and a hash table that numbers distinct texts.

A *text* is a start and a length in a byte array. A *table* numbers distinct texts in order of arrival, and
stores them coded by their *heads*: every ``TEXTS_PER_HEAD``-th text is a head, and is stored whole. Of each
other text, ``shared`` has the number of bytes in which it begins as the last head does, and the arena the
others, from ``offsets[i]`` to ``offsets[i + 1]``. Of a head, ``shared`` is 0. So each text is decoded from
two places, whatever its number. Example, after the head ``<http://a/b/c1>``:

    <http://a/b/c23>: 13 bytes shared, 23> in the arena

An ending that many literals have (``ENDINGS``) takes one byte of the arena: its *code*, which is no byte of
UTF-8. Example: ``"1"^^<http://www.w3.org/2001/XMLSchema#integer>`` is ``"1`` and the byte F6.

``slots`` is an open-addressing hash table of the numbers, with linear probing. Probing starts at the slot
that the upper bits of the hash give. A slot is 0 if free, else number + 1 in as many bits as the number of
slots takes, and the lower bits of the hash in the others: a text is compared only if these are equal.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from corollary.kernels.compiled import inlined_part, lean_kernel, part
from corollary.kernels.tuning import TEXTS_PER_HEAD

Place = int | np.int64
Bytes = NDArray[np.uint8]
Places = NDArray[np.int64]
Hashes = NDArray[np.uint32]
Slots = NDArray[np.uint32]
Numbers = NDArray[np.uint32]

MAX_SHARED = 255
"""Bytes that a text shares with its head at most: the number is stored in a byte."""

_SHORT = ("integer", "decimal", "double", "float", "boolean", "date", "dateTime", "gYear", "int", "anyURI")
ENDINGS = (b'"@en', *(f'"^^<http://www.w3.org/2001/XMLSchema#{name}>'.encode() for name in _SHORT))
"""The endings with a code, in the order of their codes: F5, F6 ... FF. A part of the format of snapshots."""

FIRST_CODE, MAX_ENDING = 256 - len(ENDINGS), max(map(len, ENDINGS))

ENDING_BYTES: Bytes = np.frombuffer(bytearray(b"".join(ENDINGS)), np.uint8)
ENDING_PLACES: Places = np.zeros(257, np.int64)
"""The ending of the byte c is ``ENDING_BYTES[ENDING_PLACES[c]:ENDING_PLACES[c + 1]]``; it may be empty."""
ENDING_PLACES[FIRST_CODE + 1 :] = np.cumsum([len(ending) for ending in ENDINGS])

_QUOTE = ord('"')


@lean_kernel
def hash_texts(
    data: Bytes,
    starts: Places,
    lengths: Places,
    firsts: Bytes,
    hashes: Hashes,
    earlier: Places,
    recent: Places,
) -> None:
    """Fill ``hashes`` with a 32-bit hash of every text, and ``earlier`` with an earlier row of the same text.

    ``firsts`` gets the first byte of every text, 0 of an empty one.

    ``recent`` is a direct-mapped cache of rows by hash. Precondition: its length is a power of two, all -1.
    ``earlier[row]`` becomes the cached row if that row has the same text, else ``row``. Some repetitions
    are therefore missed.
    """
    last_place = recent.size - 1
    for row in range(starts.size):
        start, length = starts[row], lengths[row]
        hashes[row] = _hash(data, start, length)
        firsts[row] = data[start] if length > 0 else 0
        place = hashes[row] & last_place
        candidate = recent[place]
        earlier[row] = row
        recent[place] = row
        if (
            candidate >= 0
            and hashes[candidate] == hashes[row]
            and lengths[candidate] == length
            and _are_equal(data, starts[candidate], data, start, length)
        ):
            earlier[row] = candidate


@inlined_part
def _hash(data: Bytes, start: Place, length: Place) -> np.uint32:
    """A 32-bit hash of a text."""
    factor = np.uint64(0x9E3779B97F4A7C15)
    at = np.uint64(start)
    mixed = np.uint64(length) * factor
    for _ in range(length >> 3):
        mixed = (mixed ^ _word(data, at)) * factor
        mixed ^= mixed >> np.uint64(32)
        at += np.uint64(8)
    rest = np.uint64(length & 7)
    word = np.uint64(0)
    if length < 8:
        for _ in range(rest):
            word = word << np.uint64(8) | np.uint64(data[at])
            at += np.uint64(1)
    else:  # the last bytes, the first of them highest
        at = np.uint64(start + length - 1)
        word = (
            np.uint64(data[at])
            | np.uint64(data[at - np.uint64(1)]) << np.uint64(8)
            | np.uint64(data[at - np.uint64(2)]) << np.uint64(16)
            | np.uint64(data[at - np.uint64(3)]) << np.uint64(24)
            | np.uint64(data[at - np.uint64(4)]) << np.uint64(32)
            | np.uint64(data[at - np.uint64(5)]) << np.uint64(40)
            | np.uint64(data[at - np.uint64(6)]) << np.uint64(48)
            | np.uint64(data[at - np.uint64(7)]) << np.uint64(56)
        ) & ((np.uint64(1) << (np.uint64(8) * rest)) - np.uint64(1))
    mixed = (mixed ^ word) * factor
    mixed ^= mixed >> np.uint64(29)
    return np.uint32((mixed * factor) >> np.uint64(32))


@inlined_part
def _word(data: Bytes, at: np.uint64) -> np.uint64:
    """The eight bytes from ``at`` on, the first of them lowest."""
    return (
        np.uint64(data[at])
        | np.uint64(data[at + np.uint64(1)]) << np.uint64(8)
        | np.uint64(data[at + np.uint64(2)]) << np.uint64(16)
        | np.uint64(data[at + np.uint64(3)]) << np.uint64(24)
        | np.uint64(data[at + np.uint64(4)]) << np.uint64(32)
        | np.uint64(data[at + np.uint64(5)]) << np.uint64(40)
        | np.uint64(data[at + np.uint64(6)]) << np.uint64(48)
        | np.uint64(data[at + np.uint64(7)]) << np.uint64(56)
    )


@inlined_part
def _are_equal(one: Bytes, start: Place, other: Bytes, place: Place, length: Place) -> bool:
    """Whether a number of bytes of ``one``, from ``start`` on, are those of ``other`` from ``place`` on."""
    differing = np.uint64(0)
    here, there = np.uint64(start), np.uint64(place)
    if length < 8:
        if start + 8 <= one.size and place + 8 <= other.size:
            few = (np.uint64(1) << np.uint64(8 * length)) - np.uint64(1)
            return bool((_word(one, here) ^ _word(other, there)) & few == 0)
        for _ in range(length):
            differing |= np.uint64(one[here] ^ other[there])
            here += np.uint64(1)
            there += np.uint64(1)
        return bool(differing == 0)
    for _ in range((length - 1) >> 3):
        differing |= _word(one, here) ^ _word(other, there)
        here += np.uint64(8)
        there += np.uint64(8)
    last = np.uint64(length - 8)  # may overlap what was compared
    differing |= _word(one, np.uint64(start) + last) ^ _word(other, np.uint64(place) + last)
    return bool(differing == 0)


@lean_kernel
def number_texts(
    data: Bytes,
    starts: Places,
    lengths: Places,
    firsts: Bytes,
    hashes: Hashes,
    earlier: Places,
    first: int,
    slots: Slots,
    offsets: Places,
    shared: Bytes,
    arena: Bytes,
    size: int,
    grows: bool,
    numbers: Numbers,
    base: int,
) -> int:
    """Look up the texts that begin with the byte ``first``; ``numbers`` of other rows are not written.

    ``numbers[row]`` becomes ``base`` plus the number of the text; all ones for an absent one, unless
    ``grows``: then it is appended. Precondition: there is room for all rows. ``firsts`` and ``earlier`` are
    those of ``hash_texts``. Texts from ``size`` on, which another thread appends, are skipped. Returns the
    new size.
    """
    width = _bits(slots)
    for row in range(starts.size):
        if firsts[row] != first:
            continue
        if earlier[row] < row:
            numbers[row] = numbers[earlier[row]]
            continue
        start, length = starts[row], lengths[row]
        place = _slot_of(hashes[row], slots, width, offsets, shared, arena, size, data, start, length)
        number = _number_in(slots[place], width, size)
        if number < 0 and grows:
            number = np.int64(size)
            _append(size, offsets, shared, arena, data, start, length)
            size += 1
            slots[place] = np.uint32(_tag(hashes[row], width) << width | np.uint64(size))
        numbers[row] = np.uint32(0xFFFFFFFF) if number < 0 else np.uint32(base + number)
    return size


@lean_kernel
def find_text(data: Bytes, slots: Slots, offsets: Places, shared: Bytes, arena: Bytes, size: int) -> np.int64:
    """The number of a text, given by all of ``data``, among the first ``size``; -1 if it is absent."""
    width, hashed = _bits(slots), _hash(data, 0, data.size)
    place = _slot_of(hashed, slots, width, offsets, shared, arena, size, data, 0, data.size)
    return _number_in(slots[place], width, size)


@inlined_part
def _slot_of(
    hashed: np.uint32,
    slots: Slots,
    width: np.uint64,
    offsets: Places,
    shared: Bytes,
    arena: Bytes,
    size: int,
    data: Bytes,
    start: Place,
    length: Place,
) -> np.int64:
    """The slot of a text among the first ``size``, or the free one where it would be entered."""
    mask = (np.uint64(1) << width) - np.uint64(1)
    tag = _tag(hashed, width)
    place = _first_slot(hashed, slots)
    while slots[place] != 0:
        if np.uint64(slots[place]) >> width == tag:
            found = np.int64(np.uint64(slots[place]) & mask) - 1
            if found < size and _is_text(found, offsets, shared, arena, data, start, length):
                break
        place = np.int64(0) if place == slots.size - 1 else place + 1
    return place


@inlined_part
def _number_in(slot: np.uint32, width: np.uint64, size: int) -> np.int64:
    """The number of the text in a slot; -1 if it is free, or another thread has entered a text since."""
    number = np.int64(np.uint64(slot) & ((np.uint64(1) << width) - np.uint64(1))) - 1
    return number if number < size else np.int64(-1)


@inlined_part
def _is_text(
    number: np.int64,
    offsets: Places,
    shared: Bytes,
    arena: Bytes,
    data: Bytes,
    start: Place,
    length: Place,
) -> bool:
    """Whether the text with a number is that of ``data`` with this start and length."""
    begin, end = offsets[number], offsets[number + 1]
    same = np.int64(shared[number])
    code = _code(begin, end, arena)
    first, last = ENDING_PLACES[code], ENDING_PLACES[code + 1]
    if last > first:
        end -= 1
    own = end - begin
    if own + same + last - first != length:
        return False
    if not _are_equal(arena, begin, data, start + same, own):
        return False
    if last > first and not _are_equal(ENDING_BYTES, first, data, start + same + own, last - first):
        return False
    return same == 0 or _are_equal(arena, offsets[number - number % TEXTS_PER_HEAD], data, start, same)


@inlined_part
def _code(begin: Place, end: Place, arena: Bytes) -> np.int64:
    """The last byte of ``arena[begin:end]``, which may be the code of an ending. 0 if there is no byte."""
    return np.int64(arena[np.uint64(end - 1)]) if end > begin else np.int64(0)


@inlined_part
def _code_of(data: Bytes, start: Place, length: Place) -> np.int64:
    """The code of the ending of a text, which has more bytes than that; 0 without such an ending."""
    if length and data[start] == _QUOTE and data[start + length - 1] != _QUOTE:
        for code in range(FIRST_CODE, 256):
            first, position = ENDING_PLACES[code], ENDING_PLACES[code + 1] - 1
            begin = start + length - 1 - position + first
            if begin > start:
                while position >= first and ENDING_BYTES[position] == data[begin + position - first]:
                    position -= 1
                if position < first:
                    return np.int64(code)
    return np.int64(0)


@inlined_part
def _append(
    number: Place, offsets: Places, shared: Bytes, arena: Bytes, data: Bytes, start: Place, length: Place
) -> None:
    """Code the text of ``data`` with this start and length as text ``number``, behind all others."""
    same: Place = 0
    head = number - number % TEXTS_PER_HEAD
    code = _code_of(data, start, length)
    length -= ENDING_PLACES[code + 1] - ENDING_PLACES[code]
    if head < number:
        begin = offsets[head]
        most = min(length, offsets[head + 1] - begin, MAX_SHARED)
        while same + 8 <= most and _word(arena, np.uint64(begin + same)) == _word(
            data, np.uint64(start + same)
        ):
            same += 8
        while same < most and arena[np.uint64(begin + same)] == data[np.uint64(start + same)]:
            same += 1
    shared[number] = same
    end = offsets[number]
    for position in range(length - same):
        arena[np.uint64(end + position)] = data[np.uint64(start + same + position)]
    end += length - same
    if code:
        arena[np.uint64(end)] = code
        end += 1
    offsets[number + 1] = end


@part
def _decode(number: Place, offsets: Places, shared: Bytes, arena: Bytes, texts: Bytes, place: Place) -> Place:
    """Write the text with a number to ``texts``, from ``place`` on. Returns its end there."""
    begin = offsets[number]
    length: Place = offsets[number + 1] - begin
    same: Place = np.int64(shared[number])
    if same:
        head = offsets[number - number % TEXTS_PER_HEAD]
        for position in range(same):
            texts[np.uint64(place + position)] = arena[np.uint64(head + position)]
    for position in range(length):
        texts[np.uint64(place + same + position)] = arena[np.uint64(begin + position)]
    return _end(begin, begin + length, arena, texts, place + same + length)


@inlined_part
def _end(begin: Place, end: Place, arena: Bytes, texts: Bytes, place: Place) -> Place:
    """If ``arena[begin:end]`` ends with a code, write its ending over it, which ends before ``place``.

    Returns the end of the text.
    """
    code = _code(begin, end, arena)
    if code >= FIRST_CODE:
        place -= 1
        for position in range(ENDING_PLACES[code], ENDING_PLACES[code + 1]):
            texts[np.uint64(place)] = ENDING_BYTES[position]
            place += 1
    return place


@part
def _bits(slots: Slots) -> np.uint64:
    """The bits of a slot that have the number of a text."""
    width = np.uint64(0)
    size: Place = slots.size
    while size > 0:
        size >>= 1
        width += np.uint64(1)
    return width


@part
def _tag(hashed: np.uint32, width: np.uint64) -> np.uint64:
    """The lower bits of a hash, as many as a slot has beside ``width`` bits."""
    return np.uint64(hashed) & ((np.uint64(1) << (np.uint64(32) - width)) - np.uint64(1))


@part
def _first_slot(hashed: np.uint32, slots: Slots) -> np.int64:
    """The slot at which probing starts."""
    return np.int64((np.uint64(hashed) * np.uint64(slots.size)) >> np.uint64(32))


@lean_kernel
def append_texts(
    data: Bytes, lengths: Places, offsets: Places, shared: Bytes, arena: Bytes, size: int
) -> int:
    """Append the texts that stand end to end in ``data``, without a look for them. Returns the new size.

    Precondition: the arrays of the table have room.
    """
    start = 0
    for row in range(lengths.size):
        _append(size + row, offsets, shared, arena, data, start, lengths[row])
        start += lengths[row]
    return size + lengths.size


@lean_kernel
def enter_slots(
    offsets: Places,
    shared: Bytes,
    arena: Bytes,
    slots: Slots,
    text: Bytes,
    hashes: Hashes,
    start: int,
    end: int,
) -> None:
    """Fill free ``slots`` with the texts from number ``start`` to ``end``.

    Preconditions: there are more slots than texts; ``start`` is the number of a head; ``text`` has room for
    each of the texts, and ``MAX_ENDING`` bytes more; ``hashes`` has room.
    """
    width = _bits(slots)
    for first in range(start, end, hashes.size):
        count = min(hashes.size, end - first)
        known: Place = 0  # bytes of the head in ``text``: texts one after the other share about as many
        for row in range(count):  # all hashes first: so the processor waits for many slots at once
            number = first + row
            begin = offsets[number]
            length = offsets[number + 1] - begin
            same = np.int64(shared[number])
            head = offsets[number - number % TEXTS_PER_HEAD]
            for position in range(known if number % TEXTS_PER_HEAD else 0, same):
                text[np.uint64(position)] = arena[np.uint64(head + position)]
            for position in range(length):
                text[np.uint64(same + position)] = arena[np.uint64(begin + position)]
            size = _end(begin, begin + length, arena, text, same + length)
            known = same if number % TEXTS_PER_HEAD else max(length - 1, 0)  # its last byte may be a code
            hashes[row] = _hash(text, 0, size)
        for row in range(count):
            place: Place = _first_slot(hashes[row], slots)
            while slots[place] != 0:
                place += 1
                if place == slots.size:
                    place = 0
            slots[place] = np.uint32(_tag(hashes[row], width) << width | np.uint64(first + row + 1))


@lean_kernel
def decode_texts(
    offsets: Places, shared: Bytes, arena: Bytes, numbers: Places, places: Places, texts: Bytes
) -> None:
    """Write text ``numbers[i]`` of a table to ``texts``, from ``places[i]`` on."""
    for row in range(numbers.size):
        _decode(numbers[row], offsets, shared, arena, texts, places[row])


@lean_kernel
def decode_in_parts(
    offsets: Places,
    shared: Bytes,
    arena: Bytes,
    numbers: Places,
    byte: int,
    ends: Places,
    further_ends: Places,
    further: Bytes,
    texts: Bytes,
) -> None:
    """Write texts of a table in two parts: before the last occurrence of a byte, and after it.

    The first byte of a text is left out, and the byte that is looked for. Of text ``numbers[i]``, the first
    part becomes ``texts[1 + ends[i]:1 + ends[i + 1]]``, the second ``further[further_ends[i]:further_ends[i +
    1]]``. If the byte is not there, all but the first byte is the second part. Precondition: ``texts`` has
    room for all bytes of all texts and one more, ``further`` for all, and no text is empty.
    """
    ends[0] = 0
    further_ends[0] = 0
    for row in range(numbers.size):
        start = ends[row]
        before = texts[np.uint64(start)]  # of the text before: here comes the first byte
        end = _decode(numbers[row], offsets, shared, arena, texts, start)
        texts[np.uint64(start)] = before
        last = end - 1
        while last > start and texts[np.uint64(last)] != byte:
            last -= 1
        place = further_ends[row]
        for position in range(last + 1, end):
            further[np.uint64(place)] = texts[np.uint64(position)]
            place += 1
        further_ends[row + 1] = place
        ends[row + 1] = max(last - 1, start)


@lean_kernel
def gather_texts(arena: Bytes, starts: Places, lengths: Places, places: Places, texts: Bytes) -> None:
    """Copy text i, ``lengths[i]`` bytes from ``starts[i]`` on, to ``texts`` from ``places[i]`` on."""
    for row in range(starts.size):
        at = np.uint64(starts[row])
        for place in range(places[row], places[row] + lengths[row]):
            texts[np.uint64(place)] = arena[at]
            at += np.uint64(1)


@lean_kernel
def join_texts(
    arena: Bytes,
    offsets: Places,
    order: Places,
    bounds: Places,
    separator: Bytes,
    around: int,
    ends: Places,
    texts: Bytes,
) -> None:
    """Write groups of texts end to end: ``separator`` between the texts of a group, the byte ``around`` it.

    Text i is ``arena[offsets[i]:offsets[i + 1]]``, group j has the texts ``order[bounds[j]:bounds[j + 1]]``,
    and its end in ``texts`` becomes ``ends[j + 1]``. Precondition: ``texts`` has room.
    """
    at = np.uint64(0)
    for group in range(bounds.size - 1):
        texts[at] = around
        at += np.uint64(1)
        for row in range(bounds[group], bounds[group + 1]):
            if row > bounds[group]:
                for byte in separator:
                    texts[at] = byte
                    at += np.uint64(1)
            for place in range(offsets[order[row]], offsets[order[row] + 1]):
                texts[at] = arena[np.uint64(place)]
                at += np.uint64(1)
        texts[at] = around
        at += np.uint64(1)
        ends[group + 1] = at


@lean_kernel
def replace_bytes(
    arena: Bytes, offsets: Places, parts: Bytes, bounds: Places, ends: Places, texts: Bytes
) -> None:
    """Write texts end to end with each byte b replaced by ``parts[bounds[b]:bounds[b + 1]]``.

    Text i is ``arena[offsets[i]:offsets[i + 1]]``, and its end in ``texts`` becomes ``ends[i + 1]``.
    Precondition: ``texts`` has room.
    """
    at = 0
    for row in range(offsets.size - 1):
        for place in range(offsets[row], offsets[row + 1]):
            byte = np.int64(arena[np.uint64(place)])
            for source in range(bounds[byte], bounds[byte + 1]):
                texts[np.uint64(at)] = parts[np.uint64(source)]
                at += 1
        ends[row + 1] = at


@lean_kernel
def replace_escapes(
    arena: Bytes, offsets: Places, escape: int, characters: Bytes, ends: Places, texts: Bytes
) -> None:
    """Write texts end to end, with ``characters[b]`` for a byte ``escape`` and the byte b after it.

    Text i is ``arena[offsets[i]:offsets[i + 1]]``, and its end in ``texts`` becomes ``ends[i + 1]``.
    Precondition: ``texts`` has room, and no text ends within an escape.
    """
    at = 0
    for row in range(offsets.size - 1):
        place = offsets[row]
        while place < offsets[row + 1]:
            byte = arena[np.uint64(place)]
            place += 1
            if byte == escape:
                byte = characters[arena[np.uint64(place)]]
                place += 1
            texts[np.uint64(at)] = byte
            at += 1
        ends[row + 1] = at
