"""Functions on columns of strings: Arrow's large strings, none of which is null.

Each function has the values that its counterpart in Python has, text by text.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence
from typing import Any
from urllib.parse import quote

import numpy as np

from corollary.columns.numbering import number_keys
from corollary.expressions.regular_expressions import exactly
from corollary.kernels.arrow import compute
from corollary.kernels.byte_texts import Bytes, Places, replace_bytes
from corollary.kernels.limits import check, reserve
from corollary.kernels.sorted import Mask
from corollary.language.constants import NEEDS_ESCAPE, escape
from corollary.sparql.term_texts import content_of, mask_of
from corollary.sparql.tuning import MAX_CHARACTERS_OF_RE2, TERMS_BETWEEN_CHECKS

try:  # for short texts in half the time of hashlib's, which is OpenSSL's
    from _md5 import md5  # type: ignore[import-not-found]
except ImportError:  # Python may be built without
    from hashlib import md5

_LEAD = 0xC0
"""Bytes from here on begin a character beyond ASCII in UTF-8."""


def contains(texts: Any, part: str) -> Mask:
    """The texts that contain a text."""
    if len(part) > MAX_CHARACTERS_OF_RE2:
        return mask_of(compute.match_substring(texts, part))
    return mask_of(compute.match_substring_regex(texts, exactly(part)))


def places_of(texts: Any, part: str) -> Places:
    """The byte where a text occurs first in each text, -1 if it does not."""
    if len(part) > MAX_CHARACTERS_OF_RE2:
        found = compute.find_substring(texts, part)
    else:
        found = compute.find_substring_regex(texts, exactly(part))
    return found.to_numpy().astype(np.int64)  # type: ignore[no-any-return]


def cased(texts: Any, change: Callable[[str], str]) -> Any:
    """``str.upper`` or ``str.lower`` of each text.

    Each character beyond ASCII is changed once, by Python. Texts in which a character becomes longer or
    shorter, or changes by its neighbours (sigma), are changed by Python.
    """
    import pyarrow

    offsets, content = content_of(texts)
    content = content[offsets[0] : offsets[-1]]
    first = ord("a") if change("a") == "A" else ord("A")
    changed: Bytes = content - np.uint8(first)
    np.less(changed, 26, out=changed.view(np.bool_))  # the letters of ASCII that change
    changed *= ord("a") - ord("A")
    changed ^= content
    leads = np.flatnonzero(content >= _LEAD)
    others = leads[~_change_letters(content, changed, leads, change)]
    buffers = [None, pyarrow.py_buffer(offsets - offsets[0]), pyarrow.py_buffer(changed)]
    found = pyarrow.Array.from_buffers(pyarrow.large_string(), len(texts), buffers)
    if not others.size:
        return found
    by_python: Mask = np.zeros(len(texts), np.bool_)
    by_python[np.searchsorted(offsets - offsets[0], others, "right") - 1] = True
    values = mapped(change, texts.filter(pyarrow.array(by_python)))
    return compute.replace_with_mask(found, pyarrow.array(by_python), values)


def _change_letters(content: Bytes, changed: Bytes, leads: Places, change: Callable[[str], str]) -> Mask:
    """Write the other case of the characters that begin at ``leads``. Returns which of them are decided."""
    widths = np.where(content[leads] < 0xE0, 2, np.where(content[leads] < 0xF0, 3, 4))
    decided: Mask = np.ones(leads.size, np.bool_)
    for width in (2, 3, 4):
        rows = np.flatnonzero(widths == width)
        characters = np.zeros((rows.size, 4), np.uint8)
        for place in range(width):
            characters[:, place] = content[leads[rows] + place]
        codes = characters.view(np.uint32).ravel()
        first, numbers = number_keys(codes)
        before = [code.tobytes()[:width].decode() for code in codes[first]]
        after = [change(character).encode() for character in before]
        kept = [len(b) == width and a not in "Σ" for a, b in zip(before, after, strict=True)]
        decided[rows] = np.array(kept, np.bool_)[numbers]
        written = b"".join(b if keep else bytes(width) for b, keep in zip(after, kept, strict=True))
        table = np.frombuffer(written, np.uint8).reshape(-1, width)
        for place in range(width):
            changed[leads[rows] + place] = table[numbers, place]
    return decided


def hashed(name: str, texts: Any) -> Any:
    """The hexadecimal digits of MD5, SHA1 ... of each text."""
    import pyarrow

    make = md5 if name == "MD5" else getattr(hashlib, name.lower())
    size, width = len(texts), 2 * make().digest_size
    reserve(2 * size * width)
    parts, values = [], texts.cast(pyarrow.large_binary())
    for start in range(0, size, TERMS_BETWEEN_CHECKS):
        check()
        some = values[start : start + TERMS_BETWEEN_CHECKS].to_pylist()
        parts.append(b"".join([make(each).digest() for each in some]).hex())
    ends: Places = np.arange(0, (size + 1) * width, width, dtype=np.int64)
    buffers = [None, pyarrow.py_buffer(ends), pyarrow.py_buffer("".join(parts).encode())]
    return pyarrow.Array.from_buffers(pyarrow.large_string(), size, buffers)


def mapped(change: Callable[[Any], str], values: Any) -> Any:
    """A function of Python on every value."""
    import pyarrow

    changed = [pyarrow.array([], pyarrow.large_string())]
    for start in range(0, len(values), TERMS_BETWEEN_CHECKS):
        check()
        some = values[start : start + TERMS_BETWEEN_CHECKS].to_pylist()
        changed.append(pyarrow.array(list(map(change, some)), pyarrow.large_string()))
    reserve(sum(part.nbytes for part in changed))
    return pyarrow.concat_arrays(changed)


URI_BYTES = [quote(bytes([code]), safe="").encode() for code in range(256)]
"""What ENCODE_FOR_URI writes for each byte."""


ESCAPES = [escape(chr(code)).encode() if code < 0x80 else bytes([code]) for code in range(256)]
"""What a canonical string has for each byte of UTF-8. Only characters of one byte have escapes here."""


def bytes_replaced(texts: Any, table: Sequence[bytes]) -> Any:
    """The texts with every byte replaced by its bytes in a table of 256. Precondition: the results are UTF-8.

    Memory: the bytes of the texts, times the length of the longest replacement.
    """
    import pyarrow

    offsets, content = content_of(texts)
    lengths = np.array([len(each) for each in table], np.int64)
    most = int(lengths.max()) * int(offsets[-1] - offsets[0])
    reserve(most)
    parts: Bytes = np.frombuffer(bytearray(b"".join(table)), np.uint8)
    bounds: Places = np.concatenate((np.zeros(1, np.int64), np.cumsum(lengths)))
    ends: Places = np.zeros(len(texts) + 1, np.int64)
    changed: Bytes = np.empty(most, np.uint8)
    replace_bytes(content, offsets, parts, bounds, ends, changed)
    buffers = [None, pyarrow.py_buffer(ends), pyarrow.py_buffer(changed[: ends[-1]])]
    return pyarrow.Array.from_buffers(pyarrow.large_string(), len(texts), buffers)


def escaped(texts: Any) -> Any:
    """The texts with the escapes of canonical strings, without quotes."""
    needs = compute.match_substring_regex(texts, NEEDS_ESCAPE)
    if not compute.any(needs).as_py():
        return texts
    some = compute.filter(texts, needs)
    changed = bytes_replaced(some, ESCAPES)
    is_rare = compute.match_substring_regex(some.cast("large_binary"), rb"\xef\xbf[\xbe\xbf]")
    if compute.any(is_rare).as_py():  # U+FFFE or U+FFFF: of several bytes
        changed = compute.replace_with_mask(changed, is_rare, mapped(escape, compute.filter(some, is_rare)))
    return compute.replace_with_mask(texts, needs, changed)
