"""A synthetic museum: objects, how they were made, and places in large connected groups, as in Claros.

The vocabulary is that of the CIDOC Conceptual Reference Model in OWL, so that rules for Claros apply to the
data. The sizes follow the data set Claros-LE of Hu, Motik and Horrocks, "Modular Materialisation of Datalog
Programs" (2019): 188 parts have its number of explicit facts, and under its rules its number of facts in the
materialisation, most of which relate the places of a group. docs/loading.md compares the numbers.

Invariants: a part depends only on its number and the seed. No line occurs twice. No fact relates places of
different parts, so that the materialisation grows linearly with the number of parts. The data are consistent,
and a functional property has one value.
"""

from __future__ import annotations

from collections.abc import Iterator
from importlib.resources import files

import numpy as np

from corollary.generators.drawn_edges import Edges, distinct, groups, random_of_part
from corollary.generators.numbered_lines import numbered_lines

DATA = "https://corollary.example/museum/"
CRM = "http://purl.org/NET/crm-owl#"

OBJECTS = 6_500
"""Number of objects in a part. Each has a production of its own and an image."""

GROUPS = (1300, 500, *[300] * 3, *[20] * 30, *[4] * 100)
"""Numbers of places in the groups of a part, which relatedPlaces and documents connect."""

PLACES = sum(GROUPS)
"""Number of places in a part: 3,700."""

BRANCHES = 8
"""The place with the number n falls within the place with the number n // BRANCHES."""

TYPES, MATERIALS, SPANS, ACTORS = 200, 50, 300, 500
"""Numbers of types, materials, time-spans and actors. All parts share them."""

_TYPE = "<http://www.w3.org/1999/02/22-rdf-syntax-ns#type>"
_LABEL = "<http://www.w3.org/2000/01/rdf-schema#label>"


def ontology() -> bytes:
    """The ontology as UTF-8 Turtle: the part of the reference model that the data use."""
    return files("corollary.generators").joinpath("museum.ttl").read_bytes()


def part(number: int, seed: int = 0) -> bytes:
    """About 100,000 triples as UTF-8 N-Triples."""
    random = random_of_part(number, seed)
    return b"".join((*_objects(f"{DATA}{number}/", random), *_places(f"{DATA}{number}/", random)))


def _objects(base: str, random: np.random.Generator) -> Iterator[bytes]:
    """The objects with their productions and images."""
    numbers = np.arange(OBJECTS)
    one, production, image = f"<{base}object{{}}>", f"<{base}production{{}}>", f"<{base}image{{}}>"
    for name, kind in ((one, "E22_Man-Made_Object"), (production, "E12_Production"), (image, "E38_Image")):
        yield numbered_lines(f"{name} {_TYPE} <{CRM}{kind}> .\n", numbers)
    yield numbered_lines(f'{one} <{CRM}P3_has_note> "Object {{}}" .\n', numbers, numbers)
    yield numbered_lines(f"{one} <{CRM}P108i_was_produced_by> {production} .\n", numbers, numbers)
    yield numbered_lines(f"{one} <{CRM}P138i_has_representation> {image} .\n", numbers, numbers)
    yield numbered_lines(f"{one} <{CRM}P50_has_current_keeper> <{base}keeper> .\n", numbers)
    for subject, predicate, value, known in (
        (one, "P2_has_type", f"{DATA}type{{}}", TYPES),
        (one, "P45_consists_of", f"{DATA}material{{}}", MATERIALS),
        (production, "P4_has_time-span", f"{DATA}span{{}}", SPANS),
        (production, "P14_carried_out_by", f"{DATA}actor{{}}", ACTORS),
        (production, "P7_took_place_at", f"{base}place{{}}", PLACES),
    ):
        values = random.integers(0, known, OBJECTS)
        yield numbered_lines(f"{subject} <{CRM}{predicate}> <{value}> .\n", numbers, values)


def _places(base: str, random: np.random.Generator) -> Iterator[bytes]:
    """The places, and what connects those of a group."""
    numbers = np.arange(PLACES)
    place, document = f"<{base}place{{}}>", f"<{base}document{{}}>"
    yield numbered_lines(f"{place} {_TYPE} <{CRM}E53_Place> .\n", numbers)
    yield numbered_lines(f'{place} {_LABEL} "Place {{}}"@en .\n', numbers, numbers)
    below = numbers[1:]
    yield numbered_lines(f"{place} <{CRM}P89_falls_within> {place} .\n", below, below // BRANCHES)
    stated, (ones, others) = related_places(random)
    yield numbered_lines(f"{place} <{CRM}relatedPlaces> {place} .\n", *stated)
    documents = np.arange(ones.size)
    yield numbered_lines(f"{document} {_TYPE} <{CRM}E31_Document> .\n", documents)
    for places in (ones, others):
        yield numbered_lines(f"{document} <{CRM}P70_documents> {place} .\n", documents, places)


def related_places(random: np.random.Generator) -> tuple[Edges, Edges]:
    """The pairs of places that are stated to be related, and the pairs that a document is about."""
    ones, others = distinct(*groups(GROUPS, random))
    return (ones[::2], others[::2]), (ones[1::2], others[1::2])
