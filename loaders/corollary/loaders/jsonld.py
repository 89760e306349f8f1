"""Limits the nesting of JSON-LD: pyoxigraph keeps a context per level, so 10,000 levels take gigabytes."""

from __future__ import annotations

import re
from typing import BinaryIO

import numpy as np

from corollary.loaders.formats import Malformed
from corollary.loaders.tuning import BYTES_READ_AT_ONCE, MAX_NESTED_VALUES

_ESCAPE = re.compile(rb"\\.", re.DOTALL)
_TOKEN = re.compile(rb'"[^"\\]*+(?:\\.[^"\\]*+)*+(?:"|\\?\Z)|[][{}]', re.DOTALL)
_NO_BRACKETS = bytes(set(range(256)) - set(b"[]{}"))


class ShallowJSON:
    """A readable stream of a document's bytes. Raises ``Malformed`` where nesting exceeds its limit."""

    def __init__(self, stream: BinaryIO) -> None:
        self._stream = stream
        self._chunk = b""
        self._given = 0
        self._begun = b""  # the quote of a string that is still open, and a backslash that ends the chunk
        self._depth = 0
        self._line = self._column = 1  # where the chunk begins

    def read(self, size: int) -> bytes:
        """At most ``size`` bytes; empty at the end."""
        if self._given == len(self._chunk):
            self._move(self._chunk)
            self._chunk = self._stream.read(BYTES_READ_AT_ONCE)
            self._given = 0
            self._check()
        start = self._given
        self._given = min(start + size, len(self._chunk))
        return self._chunk[start : self._given]

    def _check(self) -> None:
        """Compute and check the nesting depth at every bracket."""
        text = self._begun + self._chunk
        parts = _ESCAPE.sub(b"", text).split(b'"')  # alternately outside and inside of strings
        brackets = np.frombuffer(b"".join(parts[::2]).translate(None, _NO_BRACKETS), np.uint8)
        if brackets.size:
            steps = np.where((brackets == ord("{")) | (brackets == ord("[")), 1, -1)
            depths = self._depth + np.cumsum(steps)
            if depths.max() > MAX_NESTED_VALUES:
                complaint = f"more than {MAX_NESTED_VALUES:,} objects and arrays lie within each other"
                raise Malformed(complaint, self._place(text))
            self._depth = int(depths[-1])
        is_string = len(parts) % 2 == 0
        self._begun = (b'"' if is_string else b"") + (b"\\" if parts[-1].endswith(b"\\") else b"")

    def _place(self, text: bytes) -> tuple[int, int]:
        """Line and column of the bracket that exceeds the depth."""
        depth = self._depth
        for token in _TOKEN.finditer(text):
            depth += {b"{": 1, b"[": 1, b"}": -1, b"]": -1}.get(token[0], 0)
            if depth > MAX_NESTED_VALUES:
                self._move(text[len(self._begun) : token.start()])
                break
        return self._line, self._column

    def _move(self, text: bytes) -> None:
        lines = text.count(b"\n")
        self._column = len(text) - text.rfind(b"\n") if lines else self._column + len(text)
        self._line += lines
