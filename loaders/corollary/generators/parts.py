"""The kinds of synthetic data, and writing an ontology and any number of parts into a folder.

Invariant: the content of a part depends only on its number and the seed. Parts can be generated on any
machine, in any order.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from corollary.generators import (
    categories,
    encyclopaedia,
    market,
    museum,
    program_graphs,
    random_graphs,
    university,
)
from corollary.kernels.limits import Progress
from corollary.language.errors import InputError
from corollary.loaders.writing import replacing


@dataclass(frozen=True, slots=True)
class Generator:
    """One kind of data: the file name and content of the ontology, the base name and content of the parts.

    ``part(number, seed)`` returns one part as UTF-8 N-Triples, one triple a line, without duplicates. Numbers
    start at 1.
    """

    ontology_name: str
    ontology: Callable[[], bytes]
    part_name: str
    part: Callable[[int, int], bytes]


def _joined(lines: Callable[[int, int], list[str]]) -> Callable[[int, int], bytes]:
    """The part as bytes, for a function that returns its lines."""
    return lambda number, seed: "".join(lines(number, seed)).encode()


GENERATORS = {
    "university": Generator(
        "university.ttl", university.ontology, "university", _joined(university.university)
    ),
    "encyclopaedia": Generator(
        "encyclopaedia.nt", encyclopaedia.ontology, "volume", _joined(encyclopaedia.volume)
    ),
    "categories": Generator("categories.ttl", categories.ontology, "categories", categories.part),
    "museum": Generator("museum.ttl", museum.ontology, "museum", museum.part),
    "market": Generator("market.nt", market.ontology, "market", _joined(market.part)),
    "dag": Generator("dag.nt", random_graphs.ontology, "dag", random_graphs.dag),
    "rand": Generator("rand.nt", random_graphs.ontology, "rand", random_graphs.rand),
    "rmat": Generator("rmat.nt", random_graphs.ontology, "rmat", random_graphs.rmat),
    "cspa": Generator("cspa.nt", program_graphs.pointer_ontology, "cspa", program_graphs.cspa),
    "csda": Generator("csda.nt", program_graphs.flow_ontology, "csda", program_graphs.csda),
}
"""Name -> kind of data."""


def generate(
    parts: int,
    directory: str | os.PathLike[str],
    kind: str = "university",
    *,
    seed: int = 0,
    compression: str = "",
    progress: Progress | None = None,
) -> list[Path]:
    """Write the ontology and the parts 1 to ``parts`` into a folder, which is created if necessary.

    ``kind`` is a key of ``GENERATORS``, ``compression`` is "", "gz", "bz2" or "zst"; the ontology is not
    compressed. Returns the paths written, the ontology first. Raises InputError if a folder or file cannot
    be written.
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
        content = generator.part(number, seed)
        with replacing(path) as stream:
            stream.write(content)
        paths.append(path)
        triples += content.count(b"\n")
        if progress is not None:
            progress(f"writing {path}", triples, number / parts)
    return paths
