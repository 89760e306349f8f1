"""Made-up data on disk: an ontology and as many parts as one likes, each of some 100,000 triples.

Invariant: a part depends on its number and the seed alone, so parts can be made anywhere, in any order.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from corollary.language.errors import InputError
from corollary.loaders import encyclopaedia, university
from corollary.loaders.reading import Progress
from corollary.loaders.writing import replacing


@dataclass(frozen=True, slots=True)
class Generator:
    """What makes a kind of data: the ontology's file name and content, and N-Triples lines.

    ``part`` gives the lines of one part, by number (from 1) and seed; no line occurs twice.
    """

    ontology_name: str
    ontology: Callable[[], bytes]
    part_name: str
    part: Callable[[int, int], list[str]]


GENERATORS = {
    "university": Generator("university.ttl", university.ontology, "university", university.university),
    "encyclopaedia": Generator("encyclopaedia.nt", encyclopaedia.ontology, "volume", encyclopaedia.volume),
}


def generate(
    parts: int,
    directory: str | os.PathLike[str],
    kind: str = "university",
    *,
    seed: int = 0,
    compression: str = "",
    progress: Progress | None = None,
) -> list[Path]:
    """Write the ontology and so many parts of a kind in ``GENERATORS`` into a folder, made if need be.

    ``compression`` is "", "gz", "bz2" or "zst". Returns the paths written, the ontology first. Raises
    InputError if the file system refuses.
    """
    generator = GENERATORS[kind]
    folder = Path(directory)
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise InputError(f"{folder}: this folder cannot be made: {error.strerror}") from None
    paths = [folder / generator.ontology_name]
    with replacing(paths[0]) as stream:
        stream.write(generator.ontology())
    triples = 0
    for number in range(1, parts + 1):
        path = folder / f"{generator.part_name}-{number}.nt{'.' if compression else ''}{compression}"
        lines = generator.part(number, seed)
        with replacing(path) as stream:
            stream.write("".join(lines).encode())
        paths.append(path)
        triples += len(lines)
        if progress is not None:
            progress(f"writing {path}", triples, number / parts)
    return paths
