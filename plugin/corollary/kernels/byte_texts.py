"""Loops over texts that lie in an array of bytes: hashing, and numbering distinct ones in a hash table.

A *text* is a start and a length in some bytes. A *table* numbers texts in order of arrival: text i is
``arena[offsets[i]:offsets[i + 1]]``, and ``slots`` (a power of two of them, at least as many as texts and
one more) finds it: a slot is 0 if free, else hash << 32 | number + 1, probed linearly from the place that
the top bits of the hash name. So slots ascend, by and large, in the hash, and growing them needs no text.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from corollary.kernels.compiled import kernel

Bytes = NDArray[np.uint8]
Places = NDArray[np.int64]
Hashes = NDArray[np.uint32]
Slots = NDArray[np.uint64]
Numbers = NDArray[np.uint32]


@kernel
def hash_texts(
    data: Bytes, starts: Places, lengths: Places, hashes: Hashes, earlier: Places, recent: Places
) -> None:
    """Fills ``hashes`` with 32 well-mixed bits of every text, eight bytes at a time.

    ``earlier[row]`` becomes a row before with the same text, if that is easily found: if it was the last row
    whose hash has its place in ``recent`` (a power of two of them, all -1), else the row itself.
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
    """Look up the texts that begin with the byte ``first``; the others' ``numbers`` are left alone.

    ``earlier`` are rows with the same text, as ``hash_texts`` finds them: these are looked up once.
    The table holds ``size`` texts; slots of later ones, which another thread is making, are passed over.
    ``numbers[row]`` becomes ``base`` plus the text's number. A new text is appended if ``grows``, for which
    there must be room, and gets all ones otherwise. Returns the new size.
    """
    last_slot = slots.size - 1
    shift = np.uint64(64)
    width = slots.size
    while width > 1:
        width >>= 1
        shift -= np.uint64(1)
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
                begin = offsets[candidate] if candidate < size else 0
                if candidate < size and offsets[candidate + 1] - begin == length:
                    differing = np.uint8(0)
                    for position in range(length):
                        differing |= arena[np.uint64(begin + position)] ^ data[np.uint64(start + position)]
                    if differing == 0:
                        number = candidate
                        break
            place = (place + 1) & last_slot
        if number < 0 and grows:
            number = size
            begin = offsets[size]
            for position in range(length):
                arena[np.uint64(begin + position)] = data[np.uint64(start + position)]
            offsets[size + 1] = begin + length
            size += 1
            slots[place] = tag << np.uint64(32) | np.uint64(size)
        numbers[row] = np.uint32(0xFFFFFFFF) if number < 0 else np.uint32(base + number)
    return size


@kernel
def enter_hashes(hashes: Hashes, slots: Slots) -> None:
    """Fill empty ``slots`` with texts known to be distinct, numbered by their place in ``hashes``."""
    last_slot = slots.size - 1
    shift = np.uint64(64)
    width = slots.size
    while width > 1:
        width >>= 1
        shift -= np.uint64(1)
    for row in range(hashes.size):
        tag = np.uint64(hashes[row])
        place = np.int64((tag << np.uint64(32)) >> shift)
        while slots[place] != 0:
            place = (place + 1) & last_slot
        slots[place] = tag << np.uint64(32) | np.uint64(row + 1)


@kernel
def enlarge(slots: Slots, larger: Slots) -> None:
    """Enter what is in ``slots`` into ``larger``, which is empty and has room."""
    last_slot = larger.size - 1
    shift = np.uint64(64)
    width = larger.size
    while width > 1:
        width >>= 1
        shift -= np.uint64(1)
    for old in range(slots.size):
        slot = slots[old]
        if slot != 0:
            place = np.int64((slot >> np.uint64(32) << np.uint64(32)) >> shift)
            while larger[place] != 0:
                place = (place + 1) & last_slot
            larger[place] = slot
