"""Hypothesis strategies for small ontologies over the vocabulary of ``tests.strategies``.

An axiom is a function from a prefix for its blank nodes to the facts that state it, so that any few
axioms can be put together. ``meta_axioms`` make schema facts follow from data: a property below
rdfs:subClassOf, a class of properties below owl:TransitiveProperty.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import pairwise

from hypothesis import strategies as st
from tests.strategies import Fact, classes, individuals, plain_facts, properties, sets_of

from corollary.language.model import IRI, OWL, RDF, RDF_TYPE, RDFS, XSD, BlankNode, Constant, Literal

FIRST, REST, NIL = (IRI(RDF + name) for name in ("first", "rest", "nil"))


def rdfs(name: str) -> IRI:
    return IRI(RDFS + name)


def owl(name: str) -> IRI:
    return IRI(OWL + name)


Axiom = Callable[[str], set[Fact]]
"""Facts that state one axiom, given a prefix for the labels of its blank nodes."""


def statement(subject: Constant, predicate: Constant, object_: Constant) -> Axiom:
    return lambda _: {(subject, predicate, object_)}


def with_list(subject: Constant, predicate: Constant, items: Sequence[Constant]) -> Axiom:
    """An axiom about a list, whose nodes are blank."""

    def facts(prefix: str) -> set[Fact]:
        nodes: list[Constant] = [*(BlankNode(f"{prefix}l{i}") for i in range(len(items))), NIL]
        made: set[Fact] = {(subject, predicate, nodes[0])}
        for item, (node, following) in zip(items, pairwise(nodes), strict=True):
            made |= {(node, FIRST, item), (node, REST, following)}
        return made

    return facts


def restriction(
    context: tuple[Constant, Constant], property_: Constant, *constraints: tuple[Constant, Constant]
) -> Axiom:
    """A class related to an anonymous restriction by ``context``: (class, subClassOf), for instance."""

    def facts(prefix: str) -> set[Fact]:
        node = BlankNode(prefix + "r")
        made: set[Fact] = {(node, owl("onProperty"), property_), (*context, node)}
        return made | {(node, predicate, object_) for predicate, object_ in constraints}

    return facts


def number_of(value: str) -> Literal:
    return Literal(value, XSD + "nonNegativeInteger")


CHARACTERISTICS = tuple(
    owl(name)
    for name in ("TransitiveProperty", "SymmetricProperty", "FunctionalProperty", "InverseFunctionalProperty")
)
META_PROPERTIES = (
    RDF_TYPE,
    rdfs("subClassOf"),
    rdfs("subPropertyOf"),
    rdfs("domain"),
    rdfs("range"),
    owl("inverseOf"),
    owl("equivalentClass"),
    owl("equivalentProperty"),
)

rdfs_axioms: st.SearchStrategy[Axiom] = st.one_of(
    st.builds(statement, classes, st.just(rdfs("subClassOf")), classes),
    st.builds(statement, properties, st.just(rdfs("subPropertyOf")), properties),
    st.builds(statement, properties, st.just(rdfs("domain")), classes),
    st.builds(statement, properties, st.just(rdfs("range")), classes),
)

meta_axioms: st.SearchStrategy[Axiom] = st.one_of(
    st.builds(statement, properties, st.just(rdfs("subPropertyOf")), st.sampled_from(META_PROPERTIES)),
    st.builds(statement, classes, st.just(rdfs("subClassOf")), st.sampled_from(CHARACTERISTICS)),
    st.builds(statement, properties, st.just(rdfs("domain")), st.sampled_from(CHARACTERISTICS)),
    st.builds(statement, properties, st.just(RDF_TYPE), classes),
    st.builds(statement, properties, properties, properties),
    st.builds(statement, classes, properties, classes),
)
"""Axioms that make schema facts follow from data: a property below rdfs:subClassOf, say."""

property_axioms: st.SearchStrategy[Axiom] = st.one_of(
    st.builds(statement, properties, st.just(RDF_TYPE), st.sampled_from(CHARACTERISTICS)),
    st.builds(statement, properties, st.just(owl("inverseOf")), properties),
    st.builds(statement, properties, st.just(owl("equivalentProperty")), properties),
    st.builds(
        with_list,
        properties,
        st.just(owl("propertyChainAxiom")),
        st.lists(properties, min_size=1, max_size=3),
    ),
)

class_lists = st.lists(classes, min_size=1, max_size=3)
contexts = st.tuples(classes, st.sampled_from((rdfs("subClassOf"), owl("equivalentClass"))))
class_axioms: st.SearchStrategy[Axiom] = st.one_of(
    st.builds(statement, classes, st.just(owl("equivalentClass")), classes),
    st.builds(with_list, classes, st.just(owl("intersectionOf")), class_lists),
    st.builds(with_list, classes, st.just(owl("unionOf")), class_lists),
    st.builds(with_list, classes, st.just(owl("oneOf")), st.lists(individuals, min_size=1, max_size=2)),
    st.builds(restriction, contexts, properties, st.tuples(st.just(owl("someValuesFrom")), classes)),
    st.builds(restriction, contexts, properties, st.tuples(st.just(owl("allValuesFrom")), classes)),
    st.builds(restriction, contexts, properties, st.tuples(st.just(owl("hasValue")), individuals)),
    st.builds(restriction, contexts, properties, st.just((owl("maxCardinality"), number_of("1")))),
    st.builds(
        restriction,
        contexts,
        properties,
        st.just((owl("maxQualifiedCardinality"), number_of("1"))),
        st.tuples(st.just(owl("onClass")), classes),
    ),
)

key_axioms: st.SearchStrategy[Axiom] = st.builds(
    with_list, classes, st.just(owl("hasKey")), st.lists(properties, min_size=1, max_size=2)
)

same_individuals: st.SearchStrategy[Axiom] = st.builds(
    statement, individuals, st.just(owl("sameAs")), individuals
)
equality_axioms: st.SearchStrategy[Axiom] = st.one_of(
    same_individuals,
    st.builds(statement, properties, st.just(owl("sameAs")), properties),
    st.builds(statement, classes, st.just(owl("sameAs")), classes),
)

clash_axioms: st.SearchStrategy[Axiom] = st.one_of(
    st.builds(statement, individuals, st.just(owl("differentFrom")), individuals),
    st.builds(statement, classes, st.just(owl("disjointWith")), classes),
    st.builds(statement, classes, st.just(owl("complementOf")), classes),
    st.builds(statement, properties, st.just(owl("propertyDisjointWith")), properties),
    st.builds(
        statement,
        properties,
        st.just(RDF_TYPE),
        st.sampled_from((owl("AsymmetricProperty"), owl("IrreflexiveProperty"))),
    ),
    st.builds(restriction, contexts, properties, st.just((owl("maxCardinality"), number_of("0")))),
)
"""Axioms that can only lead to inconsistencies."""


individual_facts = sets_of(plain_facts, 12)


@st.composite
def ontologies(
    draw: st.DrawFn,
    *axioms: st.SearchStrategy[Axiom],
    data: st.SearchStrategy[frozenset[Fact]] = individual_facts,
    max_size: int = 8,
) -> frozenset[Fact]:
    """A few axioms of the given kinds, and data."""
    facts = set(draw(data))
    chosen = st.one_of(*axioms)
    many = st.lists(chosen, min_size=max_size // 2, max_size=max_size)
    stated = draw(st.one_of(st.lists(chosen, min_size=1, max_size=max_size), many, many))
    for number, axiom in enumerate(stated):
        facts |= axiom(f"x{number}")
    return frozenset(facts)
