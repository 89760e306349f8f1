"""A large ontology against a small one: the cost of classes with few instances.

Both ontologies have the same pattern: classes on 15 levels, each below two classes of the next level, and
properties with a domain and a range. The large ontology has 100,000 classes and 10,000 properties for a
million individuals. The small one has a thousandth of the classes and properties, and enough individuals to
infer equally many facts. An engine whose work depends on facts, not on classes, takes equally long.

The parents of a class are in its block of neighbours. So a class has at most 4 ancestors per level, and the
size of the hierarchy's closure is proportional to the number of classes.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from benchmarks.engine import Facts, reason_task
from benchmarks.measure import Demand, Results, Settings, measure

from corollary.kernels.sorted import Column, Rows
from corollary.language.model import OWL, RDF, RDFS
from corollary.terms.dictionary import TermDictionary

NAME = "hierarchy"
TITLE = "100,000 classes and 10,000 properties against 100 and 10, equally many inferred facts"

LEVELS = 15
BLOCK = 4
PREFIX = "https://corollary.example/hierarchy#"


@dataclass(frozen=True, slots=True)
class Shape:
    """The numbers of classes, properties, individuals and links between individuals."""

    classes: int
    properties: int
    individuals: int
    links: int

    def with_individuals(self, individuals: int) -> Shape:
        """The same ontology with other numbers of individuals and, in proportion, links."""
        links = self.links * individuals // self.individuals
        return Shape(self.classes, self.properties, individuals, links)


def parents(classes: int) -> tuple[Rows, Rows]:
    """The edges class -> parent of a hierarchy: class i is on level i % 15, in column i // 15."""
    child = np.arange(classes)
    child = child[child % LEVELS > 0]
    column = child // LEVELS
    block = column - column % BLOCK
    width = (classes - child % LEVELS) // LEVELS + 1  # of the level above, which has at least as many
    size = np.minimum(BLOCK, width - block)
    beside = block + (column - block + 1) % size
    first = child - 1
    second = beside * LEVELS + first % LEVELS
    two = second != first
    return np.concatenate((child, child[two])), np.concatenate((first, second[two]))


def generate(shape: Shape, seed: int = 0) -> Facts:
    """An ontology of that shape with data: types and links are drawn uniformly."""
    dictionary = TermDictionary()
    random = np.random.default_rng(seed)

    def vocabulary(text: str) -> np.uint32:
        return np.uint32(dictionary.encode(f"<{text}>"))

    def named(kind: str, count: int) -> Column:
        return np.array([dictionary.encode(f"<{PREFIX}{kind}{i}>") for i in range(count)], np.uint32)

    rdf_type = vocabulary(RDF + "type")
    classes = named("Class", shape.classes)
    properties = named("property", shape.properties)
    individuals = named("individual", shape.individuals)
    child, parent = parents(shape.classes)
    any_class = random.integers(0, shape.classes, (2, shape.properties))
    types = classes[random.integers(0, shape.classes, shape.individuals)]
    ends = random.integers(0, shape.individuals, (2, shape.links))
    links = properties[random.integers(0, shape.properties, shape.links)]
    parts: list[tuple[Column, Column | np.uint32, Column | np.uint32]] = [
        (classes, rdf_type, vocabulary(OWL + "Class")),
        (classes[child], vocabulary(RDFS + "subClassOf"), classes[parent]),
        (properties, rdf_type, vocabulary(OWL + "ObjectProperty")),
        (properties, vocabulary(RDFS + "domain"), classes[any_class[0]]),
        (properties, vocabulary(RDFS + "range"), classes[any_class[1]]),
        (individuals, rdf_type, types),
        (individuals[ends[0]], links, individuals[ends[1]]),
    ]
    columns: list[list[Column]] = [[], [], []]
    for subject, predicate, object_ in parts:
        for column, values in zip(columns, np.broadcast_arrays(subject, predicate, object_), strict=True):
            column.append(values)
    s, p, o = (np.concatenate(column) for column in columns)
    return Facts(dictionary, (s, p, o))


def inferred(facts: Facts) -> int:
    """The number of facts that ``owl2rl`` infers."""
    result = facts.close()
    return len(result.index) - len(result.explicit)


def matched(shape: Shape, wanted: int) -> tuple[Facts, int]:
    """Data for an ontology with about ``wanted`` inferred facts (aim: within 2 %), and their number."""
    facts = generate(shape)
    found = inferred(facts)
    for _ in range(3):
        if abs(found - wanted) <= wanted / 50:
            break
        shape = shape.with_individuals(shape.individuals * wanted // found)
        facts = generate(shape)
        found = inferred(facts)
    return facts, found


def run(settings: Settings) -> Results:
    """The reasoning time of the large ontology over that of the small one."""
    scale = 100 if settings.small else 1
    large = Shape(100_000 // scale, 10_000 // scale, 1_000_000 // scale, 100_000 // scale)
    small = Shape(100, 10, large.individuals, large.links)
    large_facts = generate(large)
    large_inferred = inferred(large_facts)
    small_facts, small_inferred = matched(small, large_inferred)
    tasks = [reason_task(large_facts, "large"), reason_task(small_facts, "small")]
    slow, quick = measurements = measure(NAME, tasks, settings.repeat)
    text = f"large ontology ({large_inferred:,} facts inferred) over small one ({small_inferred:,})"
    return Results(measurements, [Demand(NAME, text, slow.median / quick.median, 3)])
