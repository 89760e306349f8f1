"""Random ontologies full of aliases, in rdflib's terms, by a seeded generator: thousands in a second.

``ontology(random)`` gives axioms, each a list of triples that belong together, over a small vocabulary:
axioms of all of OWL 2 RL's tables, data, and ``owl:sameAs`` between individuals, members and heads of lists,
classes, properties and literals. With ``meta`` some axioms are about the built-in vocabulary, of which owl2rl
loses consequences (docs/profiles.md says which).
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from itertools import pairwise
from random import Random

from rdflib import OWL, RDF, RDFS, XSD, BNode, Literal, Namespace, URIRef
from rdflib.term import Node

logging.getLogger("rdflib.term").setLevel(logging.CRITICAL)  # it warns of each ill-typed literal

EX = Namespace("http://example.org/")
Triple = tuple[Node, Node, Node]
Axiom = list[Triple]

INDIVIDUALS = [EX[name] for name in "abcde"]
PROPERTIES = [EX[name] for name in "pqr"]
CLASSES = [EX[name] for name in "CDEF"]


def literal(text: str, kind: str) -> Literal:
    return Literal(text, datatype=XSD[kind], normalize=False)


LITERALS = [
    Literal("5"),
    literal("5", "integer"),
    literal("5.0", "decimal"),
    literal("05", "int"),
    literal("5", "double"),
    Literal("a", lang="en"),
    Literal("a", lang="EN"),
    literal("x", "integer"),
    literal("true", "boolean"),
    literal("1", "boolean"),
    literal("1", "integer"),
    literal("1.0", "double"),
    literal("2020-01-01", "date"),
]
RARE = [
    literal("5", "float"),
    literal("0", "double"),
    literal("-0", "double"),
    literal("NaN", "double"),
    literal("INF", "double"),
    literal("+INF", "double"),
    literal("5", "token"),
    Literal("a@En", datatype=RDF.PlainLiteral),
    Literal("5@", datatype=RDF.PlainLiteral),
    Literal("a", lang="de"),
    literal("0A", "hexBinary"),
    literal("0a", "hexBinary"),
    literal("2020-01-01T00:00:00Z", "dateTime"),
    literal("2020-01-01T00:00:00+00:00", "dateTimeStamp"),
    literal("5", "anyURI"),
    literal("300", "byte"),
    literal("-1", "nonNegativeInteger"),
]
ILL_TYPED = [literal("x", "integer"), *RARE[-2:]]
DATATYPES = [XSD.integer, XSD.int, XSD.decimal, XSD.double, XSD.string, XSD.boolean, RDFS.Literal, XSD.date]
CARDINALITIES = [
    *[literal(text, "nonNegativeInteger") for text in ("0", "1", "1", "1", "2")],
    *[literal("1", "integer"), literal("01", "int"), literal("1.0", "double"), literal("0", "integer")],
]
CHARACTERISTICS = [
    OWL[name + "Property"]
    for name in (
        *("Functional", "InverseFunctional", "Symmetric", "Transitive", "Irreflexive", "Asymmetric"),
        *("Object", "Datatype"),
    )
]
META = [RDF.type, OWL.sameAs, OWL.differentFrom, OWL.inverseOf, RDFS.subClassOf, RDFS.subPropertyOf]
META += [RDFS.domain, OWL.equivalentClass]


class Chooser:
    """What axioms choose from, and blank nodes and lists for them."""

    def __init__(self, chance: Random, meta: bool) -> None:
        self.chance = chance
        self.meta = meta
        self.heads: list[Node] = []
        self.nodes: list[Node] = []
        self.literals = LITERALS if chance.random() < 0.6 else chance.sample([*LITERALS, *RARE], 7)
        if chance.random() < 0.7:  # the rest of an inconsistent ontology tells less
            self.literals = [one for one in self.literals if one not in ILL_TYPED]
        self._blank = 0

    def one(self, terms: Sequence[Node]) -> Node:
        return self.chance.choice(terms)

    def individual(self) -> Node:
        return self.one(INDIVIDUALS)

    def property(self) -> Node:
        return self.one(META) if self.meta and self.chance.random() < 0.04 else self.one(PROPERTIES)

    def klass(self) -> Node:
        if self.meta and self.chance.random() < 0.06:
            return self.one([OWL.Thing, OWL.Nothing, OWL.Class, *CHARACTERISTICS[:4]])
        return self.one(CLASSES)

    def range(self) -> Node:
        return self.one(DATATYPES) if self.chance.random() < 0.3 else self.klass()

    def literal(self) -> Node:
        return self.one(self.literals)

    def value(self) -> Node:
        return self.literal() if self.chance.random() < 0.35 else self.individual()

    def blank(self) -> Node:
        """Some nodes of axioms are named, so that aliases find them."""
        self._blank += 1
        node: Node = BNode(f"n{self._blank}") if self.chance.random() < 0.6 else EX[f"n{self._blank}"]
        self.nodes.append(node)
        return node

    def cells(self, axiom: Axiom, items: Sequence[Node]) -> Node:
        """The head of a new list, or, now and then, one that is there already."""
        if self.heads and self.chance.random() < 0.08:
            return self.one(self.heads)
        nodes: list[Node] = [*(self.blank() for _ in items), RDF.nil]
        for item, (cell, following) in zip(items, pairwise(nodes), strict=True):
            axiom += [(cell, RDF.first, item), (cell, RDF.rest, following)]
        self.heads += nodes[:-1]
        if items and self.chance.random() < 0.04:
            axiom.append((self.one(nodes[:-1]), RDF.rest, self.one(nodes)))
        if items and self.chance.random() < 0.04:
            axiom.append((self.one(nodes[:-1]), RDF.first, self.one([*items, *INDIVIDUALS])))
        return nodes[0]

    def some(self, choose: Callable[[], Node], least: int = 1, most: int = 3) -> list[Node]:
        return [choose() for _ in range(self.chance.randint(least, most))]


def _plain(its: Chooser) -> Axiom:
    """An axiom of one triple."""
    c, p = its.klass, its.property
    kinds: list[tuple[Callable[[], Node], URIRef, Callable[[], Node]]] = [
        (c, RDFS.subClassOf, its.range),
        (c, OWL.equivalentClass, its.range),
        (c, OWL.disjointWith, c),
        (c, OWL.complementOf, its.range),
        (p, RDFS.subPropertyOf, p),
        (p, OWL.equivalentProperty, p),
        (p, OWL.inverseOf, p),
        (p, OWL.propertyDisjointWith, p),
        (p, RDFS.domain, c),
        (p, RDFS.range, its.range),
        (c, RDF.type, lambda: OWL.Class),
    ]
    subject, predicate, object_ = its.chance.choice(kinds)
    return [(subject(), predicate, object_())]


def _characteristic(its: Chooser) -> Axiom:
    return [(its.property(), RDF.type, its.one(CHARACTERISTICS))]


def _restriction(its: Chooser) -> Axiom:
    chance = its.chance
    node = its.klass() if chance.random() < 0.4 else its.blank()
    axiom: Axiom = [(node, OWL.onProperty, its.property())]
    kind = chance.randrange(6)
    if kind == 0:
        thing = OWL.Thing if chance.random() < 0.2 else its.range()
        axiom.append((node, OWL.someValuesFrom, thing))
    elif kind == 1:
        axiom.append((node, OWL.allValuesFrom, its.range()))
    elif kind == 2:
        axiom.append((node, OWL.hasValue, its.value()))
    elif kind == 3:
        axiom.append((node, OWL.maxCardinality, its.one(CARDINALITIES)))
    elif kind == 4:
        thing = OWL.Thing if chance.random() < 0.3 else its.range()
        axiom += [(node, OWL.maxQualifiedCardinality, its.one(CARDINALITIES)), (node, OWL.onClass, thing)]
    else:
        axiom += [(node, OWL.someValuesFrom, its.range()), (node, OWL.allValuesFrom, its.range())]
    if chance.random() < 0.6:
        axiom.append((its.klass(), chance.choice([RDFS.subClassOf, OWL.equivalentClass]), node))
    return axiom


def _listed(its: Chooser) -> Axiom:
    """An axiom with a list."""
    axiom: Axiom = []
    kind = its.chance.randrange(9)
    if kind < 3:
        predicate = [OWL.intersectionOf, OWL.unionOf, OWL.intersectionOf][kind]
        axiom.append((its.klass(), predicate, its.cells(axiom, its.some(its.range))))
    elif kind == 3:
        axiom.append((its.klass(), OWL.oneOf, its.cells(axiom, its.some(its.value))))
    elif kind == 4:
        axiom.append((its.property(), OWL.propertyChainAxiom, its.cells(axiom, its.some(its.property))))
    elif kind == 5:
        axiom.append((its.klass(), OWL.hasKey, its.cells(axiom, its.some(its.property, 1, 2))))
    else:
        node = its.blank()
        members, type_, choose = [
            (its.chance.choice([OWL.members, OWL.distinctMembers]), OWL.AllDifferent, its.value),
            (OWL.members, OWL.AllDisjointClasses, its.klass),
            (OWL.members, OWL.AllDisjointProperties, its.property),
        ][kind - 6]
        axiom += [(node, RDF.type, type_), (node, members, its.cells(axiom, its.some(choose, 2, 3)))]
    return axiom


def _negative(its: Chooser) -> Axiom:
    if its.chance.random() < 0.5:
        return [(its.individual(), OWL.differentFrom, its.value())]
    node = its.blank()
    axiom: Axiom = [
        (node, OWL.sourceIndividual, its.individual()),
        (node, OWL.assertionProperty, its.property()),
    ]
    if its.chance.random() < 0.5:
        return [*axiom, (node, OWL.targetIndividual, its.individual())]
    return [*axiom, (node, OWL.targetValue, its.literal())]


def _alias(its: Chooser) -> Axiom:
    kind = its.chance.random()
    if kind < 0.3:
        pair = its.individual(), its.individual()
    elif kind < 0.48:
        pair = its.individual(), its.literal()
    elif kind < 0.62:
        pair = its.klass(), its.klass()
    elif kind < 0.78:
        pair = its.property(), its.property()
    elif kind < 0.82:
        pair = its.klass(), its.one(DATATYPES)
    elif kind < 0.85:
        pair = its.individual(), its.one([*CLASSES, *PROPERTIES])
    elif kind < 0.95 and its.heads:
        pair = its.one(its.heads), its.one([*its.heads, *INDIVIDUALS])
    else:
        pair = its.one(its.nodes or INDIVIDUALS), its.one([*its.nodes, *INDIVIDUALS, *CLASSES])
    return [(pair[0], OWL.sameAs, pair[1])]


def _data(its: Chooser) -> Axiom:
    if its.chance.random() < 0.35:
        return [(its.individual(), RDF.type, its.klass())]
    return [(its.individual(), its.property(), its.value())]


def _meta(its: Chooser) -> Axiom:
    """About the built-in vocabulary, or schema that follows from data."""
    chance, built_in = its.chance, its.one(META)
    return [
        chance.choice(
            [
                (its.one(PROPERTIES), RDFS.subPropertyOf, built_in),
                (built_in, RDFS.subPropertyOf, its.one(PROPERTIES)),
                (built_in, RDFS.domain, its.one(CLASSES)),
                (its.one(CLASSES), OWL.sameAs, its.one([OWL.Thing, OWL.Nothing])),
                (its.one(CLASSES), RDFS.subClassOf, its.one(CHARACTERISTICS)),
                (its.one(PROPERTIES), its.one(PROPERTIES), its.one(PROPERTIES)),
                (its.one(CLASSES), its.one(PROPERTIES), its.one(CLASSES)),
                (its.one(PROPERTIES), RDF.type, its.one(CLASSES)),
            ]
        )
    ]


_KINDS: list[tuple[Callable[[Chooser], Axiom], int]] = [
    (_data, 10),
    (_plain, 6),
    (_listed, 5),
    (_alias, 5),
    (_restriction, 4),
    (_characteristic, 2),
    (_negative, 2),
]


def axiom(its: Chooser) -> Axiom:
    """One axiom of any kind."""
    if its.meta and its.chance.random() < 0.06:
        return _meta(its)
    makers, weights = zip(*_KINDS, strict=True)
    (make,) = its.chance.choices(makers, weights)
    made: Axiom = make(its)
    return made


def ontology(chance: Random, *, meta: bool = False) -> list[Axiom]:
    """Between 5 and 22 axioms, which are 10 to 60 triples."""
    its = Chooser(chance, meta)
    return [axiom(its) for _ in range(chance.randint(5, 22))]
