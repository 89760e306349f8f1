"""Files in folders, and the bytes of a document in chunks of whole lines, read and parsed ahead.

Invariant: chunks are returned in document order, whichever thread parsed them. At most
two chunks more than there are threads are in memory.
"""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from itertools import chain
from pathlib import Path
from typing import BinaryIO, TypeVar

import numpy as np

from corollary.kernels.byte_texts import Bytes
from corollary.kernels.limits import current
from corollary.loaders.encoded_format import is_encoded
from corollary.loaders.formats import FORMATS, STANDARD_STREAM, FileKind, input_error
from corollary.loaders.tuning import BYTES_PER_CHUNK

Parsed = TypeVar("Parsed")


def files_in(paths: Iterable[str | os.PathLike[str]]) -> list[str]:
    """The paths, with every folder replaced by the RDF files in and below it, in the order of their names.

    Raises InputError for a folder without RDF files, and for an encoded data set.
    """
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
        if not found:
            known = " ".join(f".{name}" for name in FORMATS)
            raise input_error(f"{path}: this is a directory without RDF files", f"their suffixes are {known}")
        names += found
    return names


def chunks_of_lines(head: bytes, stream: BinaryIO, size: int = BYTES_PER_CHUNK) -> Iterator[Bytes]:
    """Yield the bytes of ``head`` and then of ``stream`` as writable arrays. All but the last end in LF."""
    pieces = chain(
        (head[start : start + size] for start in range(0, len(head), size)),
        iter(lambda: stream.read(size), b""),
    )
    rest = bytearray()
    for piece in pieces:
        rest += piece
        end = rest.rfind(b"\n") + 1
        if end:
            chunk, rest = rest, rest[end:]
            del chunk[end:]
            yield np.frombuffer(chunk, np.uint8)
    if rest:
        yield np.frombuffer(rest, np.uint8)


def parsed_ahead(chunks: Iterator[Bytes], parse: Callable[[Bytes], Parsed]) -> Iterator[Parsed]:
    """Yield the result of ``parse`` for each chunk, in order. Threads read and parse ahead of the caller.

    An exception in a thread is raised here, at the position of its chunk. If the current work may use one
    thread only, this is the caller's.
    """
    threads = current().threads
    if threads == 1:
        yield from map(parse, chunks)
        return
    with ThreadPoolExecutor(threads) as pool:
        reading = pool.submit(next, chunks, None)
        parsing: deque[Future[Parsed]] = deque()
        while True:
            chunk = reading.result()
            if chunk is not None:
                reading = pool.submit(next, chunks, None)
                parsing.append(pool.submit(parse, chunk))
            while parsing and (chunk is None or len(parsing) > threads):
                yield parsing.popleft().result()
            if chunk is None:
                return
