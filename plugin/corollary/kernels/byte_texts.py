"""Kernels over texts in a byte array: hashing, and a hash table that numbers distinct texts.

A *text* is a start and a length in a byte array. A *table* numbers distinct texts in order of arrival. Text i
is ``arena[offsets[i]:offsets[i + 1]]``. ``slots`` is an open-addressing hash table with linear probing; its
length is a power of two, and greater than the number of texts. A slot is 0 if free, else hash << 32 | number
+ 1. Probing starts at the slot that the top bits of the hash give. The slots are therefore nearly sorted by
hash, and enlarging the hash table reads no texts.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from corollary.kernels.compiled import kernel, part

Place = int | np.int64
Bytes = NDArray[np.uint8]
Places = NDArray[np.int64]
Hashes = NDArray[np.uint32]
Slots = NDArray[np.uint64]
Numbers = NDArray[np.uint32]


@kernel
def hash_texts(
    data: Bytes, starts: Places, lengths: Places, hashes: Hashes, earlier: Places, recent: Places
) -> None:
    """Fill ``hashes`` with a 32-bit hash of every text, and ``earlier`` with an earlier row of the same text.

    ``recent`` is a direct-mapped cache of rows by hash. Precondition: its length is a power of two, all -1.
    ``earlier[row]`` becomes the cached row if that row has the same text, else ``row``. Some repetitions
    are therefore missed.
    """
    last_place = recent.size - 1
    factor = np.uint64(0x9E3779B97F4A7C15)
    for row in range(starts.size):
        at = np.uint64(starts[row])
        length = lengths[row]
        mixed = np.uint64(length) * factor
        for _ in range(length >> 3):
            word = (
                np.uint64(data[at])
                | np.uint64(data[at + np.uint64(1)]) << np.uint64(8)
                | np.uint64(data[at + np.uint64(2)]) << np.uint64(16)
                | np.uint64(data[at + np.uint64(3)]) << np.uint64(24)
                | np.uint64(data[at + np.uint64(4)]) << np.uint64(32)
                | np.uint64(data[at + np.uint64(5)]) << np.uint64(40)
                | np.uint64(data[at + np.uint64(6)]) << np.uint64(48)
                | np.uint64(data[at + np.uint64(7)]) << np.uint64(56)
            )
            mixed = (mixed ^ word) * factor
            mixed ^= mixed >> np.uint64(32)
            at += np.uint64(8)
        word = np.uint64(0)
        for _ in range(length & 7):
            word = word << np.uint64(8) | np.uint64(data[at])
            at += np.uint64(1)
        mixed = (mixed ^ word) * factor
        mixed ^= mixed >> np.uint64(29)
        hashes[row] = np.uint32((mixed * factor) >> np.uint64(32))
        place = hashes[row] & last_place
        candidate = recent[place]
        earlier[row] = row
        recent[place] = row
        if candidate >= 0 and hashes[candidate] == hashes[row] and lengths[candidate] == length:
            one = starts[row]
            other = starts[candidate]
            differing = np.uint8(0)
            for position in range(length):
                differing |= data[np.uint64(one + position)] ^ data[np.uint64(other + position)]
            if differing == 0:
                earlier[row] = candidate


@kernel
def number_texts(
    data: Bytes,
    starts: Places,
    lengths: Places,
    hashes: Hashes,
    earlier: Places,
    first: int,
    slots: Slots,
    offsets: Places,
    arena: Bytes,
    size: int,
    grows: bool,
    numbers: Numbers,
    base: int,
) -> int:
    """Look up the texts that begin with the byte ``first``; ``numbers`` of other rows are not written.

    ``numbers[row]`` becomes ``base`` plus the number of the text; all ones for a text that is not in the
    table, unless ``grows``: then the text is appended. Precondition with ``grows``: ``slots``, ``offsets``
    and ``arena`` have room for all rows. ``earlier``, filled by ``hash_texts``, saves the look-up of repeated
    texts. Slots of texts from ``size`` on, which another thread appends, are skipped. Returns the new size.
    """
    shift = _shift(slots)
    for row in range(starts.size):
        length = lengths[row]
        start = starts[row]
        if length == 0 or data[start] != first:
            continue
        if earlier[row] < row:
            numbers[row] = numbers[earlier[row]]
            continue
        tag = np.uint64(hashes[row])
        place = np.int64((tag << np.uint64(32)) >> shift)
        number: int | np.int64 = -1
        while slots[place] != 0:
            slot = slots[place]
            if slot >> np.uint64(32) == tag:
                candidate = np.int64(slot & np.uint64(0xFFFFFFFF)) - 1
                if candidate < size and _is_text(candidate, offsets, arena, data, start, length):
                    number = candidate
                    break
            place = (place + 1) & (slots.size - 1)
        if number < 0 and grows:
            number = size
            offsets[size + 1] = _append(arena, offsets[size], data, start, length)
            size += 1
            slots[place] = tag << np.uint64(32) | np.uint64(size)
        numbers[row] = np.uint32(0xFFFFFFFF) if number < 0 else np.uint32(base + number)
    return size


@part
def _is_text(
    number: np.int64, offsets: Places, arena: Bytes, data: Bytes, start: Place, length: Place
) -> bool:
    """Whether the text with a number is that of ``data`` with this start and length."""
    begin = offsets[number]
    if offsets[number + 1] - begin != length:
        return False
    differing = np.uint8(0)
    for position in range(length):
        differing |= arena[np.uint64(begin + position)] ^ data[np.uint64(start + position)]
    return bool(differing == 0)


@part
def _append(arena: Bytes, end: Place, data: Bytes, start: Place, length: Place) -> Place:
    """Write ``length`` bytes of ``data``, from ``start`` on, at ``end``. Returns the new end."""
    for position in range(length):
        arena[np.uint64(end + position)] = data[np.uint64(start + position)]
    return end + length


@part
def _shift(slots: Slots) -> np.uint64:
    """By how many bits a hash << 32 is shifted to give the first slot to probe."""
    shift = np.uint64(64)
    width = slots.size
    while width > 1:
        width >>= 1
        shift -= np.uint64(1)
    return shift


@kernel
def enter_hashes(hashes: Hashes, slots: Slots) -> None:
    """Fill empty ``slots`` with distinct texts: row i of ``hashes`` is text i."""
    last_slot = slots.size - 1
    shift = _shift(slots)
    for row in range(hashes.size):
        tag = np.uint64(hashes[row])
        place = np.int64((tag << np.uint64(32)) >> shift)
        while slots[place] != 0:
            place = (place + 1) & last_slot
        slots[place] = tag << np.uint64(32) | np.uint64(row + 1)


@kernel
def enlarge(slots: Slots, larger: Slots) -> None:
    """Insert the entries of ``slots`` into ``larger``. Precondition: ``larger`` is all zero and has room."""
    last_slot = larger.size - 1
    shift = _shift(larger)
    for old in range(slots.size):
        slot = slots[old]
        if slot != 0:
            place = np.int64((slot >> np.uint64(32) << np.uint64(32)) >> shift)
            while larger[place] != 0:
                place = (place + 1) & last_slot
            larger[place] = slot


@kernel
def find_last(arena: Bytes, starts: Places, ends: Places, byte: int, found: Places) -> None:
    """For every text ``arena[start:end]``, the place of the last occurrence of a byte; ``start`` if none.

    Precondition: no text is empty.
    """
    for row in range(starts.size):
        place = ends[row] - 1
        while place > starts[row] and arena[np.uint64(place)] != byte:
            place -= 1
        found[row] = place


@kernel
def gather_texts(arena: Bytes, starts: Places, lengths: Places, places: Places, texts: Bytes) -> None:
    """Copy text i, ``lengths[i]`` bytes from ``starts[i]`` on, to ``texts`` from ``places[i]`` on."""
    for row in range(starts.size):
        at = np.uint64(starts[row])
        for place in range(places[row], places[row] + lengths[row]):
            texts[np.uint64(place)] = arena[at]
            at += np.uint64(1)


@kernel
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


@kernel
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
