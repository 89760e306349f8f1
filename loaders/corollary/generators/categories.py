"""Synthetic categories in SKOS: long chains and cycles of broader categories, as in DBpedia's categories.

The sizes follow the data set DBpedia-SKOS of Hu, Motik and Horrocks, "Modular Materialisation of Datalog
Programs" (2019): 50 parts have its number of explicit facts, and under the profile ``skos`` its number of
facts in the materialisation. docs/loading.md compares the numbers.

Invariants: a part depends only on its number and the seed. No line occurs twice. No fact relates categories
of different parts, so that the materialisation grows linearly with the number of parts.
"""

from __future__ import annotations

from collections.abc import Iterator
from importlib.resources import files

import numpy as np

from corollary.generators.drawn_edges import Edges, chains, distinct, groups, random_of_part
from corollary.generators.numbered_lines import numbered_lines

DATA = "https://corollary.example/categories/"

LENGTHS = (500, *[200] * 2, *[100] * 18, *[50] * 80, *[10] * 1830)
"""Numbers of categories of the chains of a part. Chains of 60 categories and more have cycles."""

CATEGORIES = sum(LENGTHS)
"""Number of categories in a part: 25,000."""

RINGS = (3, 4)
"""Of these chains, counted from 0, the first category is below the last: the whole chain is a cycle."""

FURTHER, SHARE = 3, 0.4
"""A category is below the one before it, and with probability SHARE below each of the FURTHER before that."""

MATCHED = (4,) * 350
"""Sizes of the groups of categories that exactMatch connects."""

RELATED = 1_200
"""Number of draws of a related category."""

_TYPE = "<http://www.w3.org/1999/02/22-rdf-syntax-ns#type>"
_SKOS = "http://www.w3.org/2004/02/skos/core#"


def ontology() -> bytes:
    """The axioms of the profile ``skos`` as UTF-8 Turtle, for other profiles."""
    return files("corollary.generators").joinpath("categories.ttl").read_bytes()


def part(number: int, seed: int = 0) -> bytes:
    """About 100,000 triples as UTF-8 N-Triples: type, label, broader, related and exactMatch."""
    random = random_of_part(number, seed)
    category = f"<{DATA}{number}/C{{}}>"
    all_numbers = np.arange(CATEGORIES)
    return b"".join(
        (
            numbered_lines(f"{category} {_TYPE} <{_SKOS}Concept> .\n", all_numbers),
            numbered_lines(f'{category} <{_SKOS}prefLabel> "Category {{}}"@en .\n', all_numbers, all_numbers),
            *(
                numbered_lines(f"{category} <{_SKOS}{name}> {category} .\n", *edges)
                for name, edges in _relations(random)
            ),
        )
    )


def _relations(random: np.random.Generator) -> Iterator[tuple[str, Edges]]:
    """The relations between categories, with the pairs of numbers that they relate."""
    narrower, broader = chains(LENGTHS, FURTHER, SHARE, random)
    ends = np.cumsum(LENGTHS)
    rings = np.array(RINGS)
    yield (
        "broader",
        (
            np.concatenate((narrower, ends[rings - 1])),
            np.concatenate((broader, ends[rings] - 1)),
        ),
    )
    ones, others = random.integers(0, CATEGORIES, (2, RELATED))
    yield "related", distinct(ones, others)
    # Spread evenly over all categories
    ones, others = (nodes * (CATEGORIES // sum(MATCHED)) for nodes in groups(MATCHED, random))
    yield "exactMatch", distinct(ones, others)
