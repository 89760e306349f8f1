"""Files in folders, and the bytes of a document in chunks of whole lines, read and parsed ahead.

Invariant: chunks are returned in document order, whichever thread parsed them. At most ``CHUNKS_AHEAD``
chunks more than there are threads are in memory.
"""

from __future__ import annotations

import io
import os
from collections import deque
from collections.abc import Callable, Generator, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextvars import copy_context
from itertools import count
from pathlib import Path
from shlex import quote
from threading import Event, Lock
from typing import BinaryIO, TypeVar

import numpy as np

from corollary.kernels.byte_texts import Bytes
from corollary.kernels.limits import Cancellation, Limits, current, limited
from corollary.loaders.encoded_format import is_encoded
from corollary.loaders.formats import FORMATS, STANDARD_STREAM, FileKind, input_error
from corollary.loaders.tuning import BYTES_LOOKED_THROUGH, BYTES_PER_CHUNK, CHUNKS_AHEAD

Chunk = TypeVar("Chunk")
Parsed = TypeVar("Parsed")


def files_in(paths: Iterable[str | os.PathLike[str]]) -> list[str]:
    """The paths, with every folder replaced by the RDF files in and below it, in the order of their names.

    Raises InputError for a folder without RDF files, and for an encoded data set.
    """
    from corollary.reasoner.folder_place import has_store  # imports SQLite

    names: list[str] = []
    for path in (os.fspath(path) for path in paths):
        if path == STANDARD_STREAM or not Path(path).is_dir():
            names.append(path)
            continue
        if is_encoded(path):
            raise input_error(f"{path}: this is an encoded data set", "load it with store.load_encoded(...)")
        found = sorted(
            str(file)
            for file in Path(path).rglob("*")
            if FileKind.of(file.name).suffix in FORMATS and file.is_file()
        )
        if not found and has_store(path, "read"):
            raise input_error(
                f"{path}: this is the folder of a store, and no RDF file",
                f"`corollary convert {quote(path)} NAME.snapshot` makes a snapshot of it, which can be read; "
                "`corollary serve --store`, and a store's `open`, take the folder",
            )
        if not found:
            known = " ".join(f".{name}" for name in FORMATS)
            raise input_error(f"{path}: this is a directory without RDF files", f"their suffixes are {known}")
        names += found
    return names


def chunks_of_lines(head: bytes, stream: BinaryIO, size: int = BYTES_PER_CHUNK) -> Iterator[Bytes]:
    """Yield the bytes of ``head`` and then of ``stream`` as writable arrays. All but the last end in LF.

    Cost: each byte is read into its array, and copied only if its line does not end there.
    """
    rest: Bytes = np.empty(0, np.uint8)
    for source in (io.BytesIO(head), stream):
        is_at_end = False
        while not is_at_end:
            chunk = np.empty(rest.size + max(size, rest.size), np.uint8)
            chunk[: rest.size] = rest
            filled = rest.size + _read_into(source, chunk[rest.size :])
            is_at_end = filled < chunk.size
            end = _end_of_lines(chunk[:filled])
            if end:
                yield chunk[:end]
            rest = chunk[end:filled].copy() if end else chunk[:filled]
    if rest.size:
        yield rest


def _read_into(source: BinaryIO, target: Bytes) -> int:
    """Fill an array from a stream, which may give few bytes at a time. Returns the number of bytes read."""
    room, read = memoryview(target), 0  # type: ignore[arg-type]
    while read < len(room) and (count := source.readinto(room[read:])):  # type: ignore[attr-defined]
        read += count
    return read


def _end_of_lines(chunk: Bytes) -> int:
    """The place behind the last LF; 0 if there is none. Cost: linear in what is behind it."""
    start = chunk.size
    while start > 0:
        end, start = start, max(0, start - BYTES_LOOKED_THROUGH)
        if found := chunk[start:end].tobytes().rfind(b"\n") + 1:
            return start + found
    return 0


def parsed_ahead(chunks: Iterator[Chunk], parse: Callable[[Chunk], Parsed]) -> Generator[Parsed, None, None]:
    """Yield the result of ``parse`` for each chunk, in order. Threads read and parse ahead of the caller.

    An exception in a thread is raised here, at the position of its chunk. If the current work may use one
    thread only, this is the caller's. The threads are within the caller's limits, and are cancelled when the
    caller leaves: one of them may wait for input that never comes.
    """
    threads = current().threads
    if threads == 1:
        yield from map(parse, chunks)
        return
    lock, numbers = Lock(), count()
    reading, left = Cancellation(), Event()

    def read_and_parse() -> tuple[int, Parsed | Exception] | None:
        """The next chunk, parsed, or what was raised; None behind the last one."""
        with lock:
            number = next(numbers)
            try:
                chunk = None if left.is_set() else next(chunks, None)
            except Exception as error:
                return number, error
        if chunk is None:
            return None
        try:
            return number, parse(chunk)
        except Exception as error:
            return number, error

    def begin() -> tuple[int, Parsed | Exception] | None:
        return limited(Limits(terms=None), reading, read_and_parse)

    with ThreadPoolExecutor(threads) as pool:
        tasks = deque(pool.submit(copy_context().run, begin) for _ in range(threads + CHUNKS_AHEAD))
        try:
            parsed: dict[int, Parsed | Exception] = {}
            wanted = 0
            while tasks:
                if (done := tasks.popleft().result()) is None:
                    continue
                tasks.append(pool.submit(copy_context().run, begin))
                parsed[done[0]] = done[1]
                while wanted in parsed:
                    yield _result(parsed.pop(wanted))
                    wanted += 1
        finally:
            left.set()  # for tasks that begin later
            reading.cancel()


def _result(found: Parsed | Exception) -> Parsed:
    """What was found, or raises it if it is an exception."""
    if isinstance(found, Exception):
        raise found
    return found
