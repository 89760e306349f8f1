"""Writing gzip in threads: a file of several members, which is read as their content end to end (RFC 1952).

Members are cut at fixed places, and have neither names nor times. So the same content gives the same bytes,
whatever the number of threads.
"""

from __future__ import annotations

import io
import zlib
from collections import deque
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from typing import Any, BinaryIO, cast

from corollary.kernels.limits import current
from corollary.loaders.tuning import BYTES_PER_GZIP_MEMBER, GZIP_LEVEL

GZIP_FORMAT = 16 + zlib.MAX_WBITS


@contextmanager
def gzipped(raw: BinaryIO) -> Iterator[BinaryIO]:
    """A stream that compresses what is written to it into ``raw``, which stays open."""
    threads = current().threads
    with ThreadPoolExecutor(threads) as pool:
        stream = _Members(raw, pool, threads)
        yield cast(BinaryIO, stream)
        stream.finish()


class _Members(io.RawIOBase):
    """Compresses members in a pool. Besides those at work, one may wait to be written."""

    def __init__(self, raw: BinaryIO, pool: ThreadPoolExecutor, threads: int) -> None:
        self._raw, self._pool, self._threads = raw, pool, threads
        self._rest = bytearray()
        self._members: deque[Future[bytes]] = deque()
        self._is_empty = True

    def writable(self) -> bool:
        return True

    def write(self, data: Any) -> int:
        self._rest += data
        while len(self._rest) >= BYTES_PER_GZIP_MEMBER:
            self._compress(bytes(self._rest[:BYTES_PER_GZIP_MEMBER]))
            del self._rest[:BYTES_PER_GZIP_MEMBER]
        return len(data)

    def finish(self) -> None:
        """Write what is left; at least one member, which may be empty."""
        if self._rest or self._is_empty:
            self._compress(bytes(self._rest))
        while self._members:
            self._raw.write(self._members.popleft().result())

    def _compress(self, content: bytes) -> None:
        self._is_empty = False
        self._members.append(self._pool.submit(_member, content))
        while len(self._members) > self._threads:
            self._raw.write(self._members.popleft().result())


def _member(content: bytes) -> bytes:
    compressor = zlib.compressobj(GZIP_LEVEL, zlib.DEFLATED, GZIP_FORMAT)
    return compressor.compress(content) + compressor.flush()
