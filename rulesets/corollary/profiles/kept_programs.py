"""A cache of parsed profiles beside Python's bytecode. Parsing a profile takes 0.1 s, reading it 2 ms.

A cached program is a pickle in the folder of this package's bytecode, and is trusted like bytecode.
``PYTHONDONTWRITEBYTECODE`` and ``PYTHONPYCACHEPREFIX`` apply to it. Its key is a digest of the rule files,
with the sizes and times of the code of the rule language. If a file cannot be read, or has another key, the
rules are parsed again.
"""

from __future__ import annotations

import os
import pickle
import sys
from collections.abc import Callable, Sequence
from contextlib import suppress
from hashlib import sha256
from importlib.util import cache_from_source
from pathlib import Path

import corollary.language
from corollary.language.program import Program

Key = tuple[str, tuple[tuple[int, int], ...]]


def kept(name: str, sources: Sequence[Path], parse: Callable[[], Program]) -> Program:
    """The program that is cached for these rule files; else the result of ``parse``, which is then cached.

    Precondition: the rule files are in one folder, and ``name`` is a file name. Cost: O(rules).
    """
    try:
        key = _key(sources)
        place = Path(cache_from_source(str(sources[0].with_name(f"{name}.py")))).with_suffix(".rules")
    except (OSError, NotImplementedError):
        return parse()
    found = _read(place, key)
    if found is None:
        found = parse()
        if not sys.dont_write_bytecode:
            _write(place, key, found)
    return found


def _key(sources: Sequence[Path]) -> Key:
    (folder,) = corollary.language.__path__
    language = sorted(path for path in Path(folder).iterdir() if path.suffix in (".py", ".lark"))
    states = [path.stat() for path in language]
    digest = sha256(b"\0".join(source.read_bytes() for source in sources)).hexdigest()
    return digest, tuple((state.st_size, state.st_mtime_ns) for state in states)


def _read(place: Path, key: Key) -> Program | None:
    try:
        known, program = pickle.loads(place.read_bytes())
    except Exception:  # an unreadable file can raise anything
        return None
    return program if known == key and isinstance(program, Program) else None


def _write(place: Path, key: Key, program: Program) -> None:
    """Write a program. Readers see the old file or the complete new one. Ignores OSError."""
    draft = place.with_suffix(f".{os.getpid()}")
    with suppress(OSError):
        place.parent.mkdir(parents=True, exist_ok=True)
        try:
            draft.write_bytes(pickle.dumps((key, program)))
            draft.replace(place)
        finally:
            draft.unlink(missing_ok=True)
