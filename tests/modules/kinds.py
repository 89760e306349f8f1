"""Rules for every kind of module, and facts that they have something to do with.

Few rules of each kind, over the vocabulary of ``tests.strategies``: any of them together feed each
other, and what is schema for one is data for another.
"""

from __future__ import annotations

from functools import cache

from hypothesis import strategies as st
from tests import ontology_strategies as ontology
from tests import strategies as some
from tests.strategies import Fact

from corollary.language import IRI, XSD, Literal, Program, parse_program

PREFIX = f"PREFIX : <{some.EXAMPLE}>\n"
HAS = IRI(some.EXAMPLE + "has")

TRANSITIVITY = (
    "[?x, :p, ?z] :- [?x, :p, ?y], [?y, :p, ?z] .",
    "[?x, :q, ?z] :- [?y, :q, ?z], [?x, :q, ?y] .",
    "[?x, ?p, ?z] :- [?p, a, owl:TransitiveProperty], [?x, ?p, ?y], [?y, ?p, ?z] .",
    "[?c, rdfs:subClassOf, ?e] :- [?c, rdfs:subClassOf, ?d], [?d, rdfs:subClassOf, ?e] .",
)
LOOPLESS = (
    "[?x, :p, ?z] :- [?x, :p, ?y], [?y, :p, ?z], FILTER(?x != ?z) .",
    "[?x, :q, ?z] :- [?x, :q, ?y], [?y, :q, ?z], FILTER(?z != ?x) .",
)
SYMMETRY = ("[?y, :p, ?x] :- [?x, :p, ?y] .", "[?y, :q, ?x] :- [?x, :q, ?y] .")
"""Beside the first two: these close the relation together."""

LINEAR = (
    "[?x, :r, ?z] :- [?x, :r, ?y], [?y, :q, ?z] .",
    "[?x, :r, ?z] :- [?x, :q, ?y], [?y, :r, ?z] .",
)
BASES = ("[?x, :r, ?y] :- [?x, :q, ?y] .",)
"""Beside one of these, its closed relation has all edges."""

EQUIVALENCE = (
    "[?y, owl:sameAs, ?x] :- [?x, owl:sameAs, ?y] .",
    "[?x, owl:sameAs, ?z] :- [?x, owl:sameAs, ?y], [?y, owl:sameAs, ?z] .",
)
EQUALITY = (
    "[?y, ?p, ?o] :- [?x, owl:sameAs, ?y], [?x, ?p, ?o] .",
    "[?s, ?q, ?o] :- [?p, owl:sameAs, ?q], [?s, ?p, ?o] .",
    "[?s, ?p, ?y] :- [?x, owl:sameAs, ?y], [?s, ?p, ?x] .",
)
"""Beside these two: then they stand for cliques."""

SCHEMA = (
    "[?c, rdfs:subClassOf, ?d] :- [?c, owl:equivalentClass, ?d] .",
    "[?d, rdfs:subClassOf, ?c] :- [?c, owl:equivalentClass, ?d] .",
    "[?c, owl:equivalentClass, ?d] :- [?c, rdfs:subClassOf, ?d], [?d, rdfs:subClassOf, ?c] .",
    "[?p, rdfs:subPropertyOf, ?r] :- [?p, rdfs:subPropertyOf, ?q], [?q, rdfs:subPropertyOf, ?r], "
    "[?p, owl:equivalentProperty, ?p] .",
    "[?p, rdfs:domain, ?d] :- [?p, rdfs:domain, ?c], [?c, rdfs:subClassOf, ?d] .",
    "[?p, rdfs:domain, ?c] :- [?q, rdfs:domain, ?c], [?p, rdfs:subPropertyOf, ?q] .",
)
INCLUSIONS = (
    "[?x, a, ?d] :- [?c, rdfs:subClassOf, ?d], [?x, a, ?c] .",
    "[?x, ?q, ?y] :- [?p, rdfs:subPropertyOf, ?q], [?x, ?p, ?y] .",
    "[?y, ?q, ?x] :- [?p, owl:inverseOf, ?q], [?x, ?p, ?y] .",
    "[?y, ?p, ?x] :- [?p, a, owl:SymmetricProperty], [?x, ?p, ?y] .",
    "[?x, a, ?c] :- [?p, rdfs:domain, ?c], [?x, ?p, ?y] .",
    "[?y, a, ?c] :- [?p, rdfs:range, ?c], [?x, ?p, ?y] .",
    ":B[?x] :- :A[?x] .",
    ":A[?x] :- :C[?x] .",
    "[?x, :p, ?y] :- [?x, :q, ?y] .",
    "[?y, :r, ?x] :- [?x, :p, ?y] .",
    ":C[?x] :- [?x, :p, ?y] .",
    "[?x, :q, ?y] :- [?x, :r, ?y] .",
)
JOINS = (
    "[?x, :q, ?z] :- [?x, :p, ?y], [?y, :r, ?z] .",
    "[?x, :p, ?y] :- [?x, :q, ?y], [?x, :r, ?z] .",
    "[?x, :r, ?y] :- [?x, :p, ?y], :A[?y] .",
    ":B[?x] :- [?x, :r, ?y], :B[?y] .",
    "[?y, :q, ?x] :- :C[?x], [?x, :p, ?y] .",
    "[?x, a, ?c] :- [?p, rdfs:domain, ?c], [?p, rdfs:range, ?d], [?x, ?p, ?y], [?y, a, ?d] .",
    "[?x, :r, ?x] :- [?x, :p, ?x] .",
)
ENTANGLING = (
    "[?c, rdfs:subClassOf, ?d] :- [?c, :p, ?d] .",
    "owl:TransitiveProperty[?p] :- :A[?p] .",
    "[?p, rdfs:subPropertyOf, ?q] :- [?p, :r, ?x], [?x, :q, ?q] .",
)
"""Data leads to schema."""

LISTS = (
    "[?x, :q, ?y] :- [?x, :has, ?l], MEMBER(?l, ?y) .",
    "[?x, :r, ?y] :- [?x, :has, ?l], REPEATED(?l, ?y) .",
    "[?x, a, ?c] :- [?c, owl:unionOf, ?l], MEMBER(?l, ?d), [?x, a, ?d] .",
    "[?x, a, ?c] :- [?c, owl:intersectionOf, ?l], EACH ?d IN ?l ([?x, a, ?d]) .",
    "[?x, ?p, ?y] :- [?p, owl:propertyChainAxiom, ?l], CHAIN(?l, ?x, ?y) .",
)
VALUES = (
    "[?x, :r, ?w] :- [?x, :p, ?v], SAME_VALUE(?v, ?w) .",
    "[?x, a, ?d] :- [?x, :q, ?v], ILL_TYPED(?v, ?d) .",
)
ALL_VALUES = frozenset(
    f"[?x, :r, ?y] :- {builtin}, [?x, {predicate}, ?y] ."
    for builtin in ("VALUE(?x, ?y)", "ILL_TYPED(?x, ?y)", "SAME_VALUE(?x, ?y)", "DIFFERENT_VALUE(?x, ?y)")
    for predicate in ("a", "owl:sameAs", "rdfs:subClassOf", "rdfs:domain", "rdfs:range")
)
ANY_LIST = frozenset(("[?x, :q, ?y] :- MEMBER(?x, ?y) .",))
ABSENCE = (
    ":D[?x] :- :A[?x], NOT [?x, :q, ?x] .",
    "[?x, :s, ?y] :- [?x, :p, ?y], NOT [?y, :p, ?x] .",
    "[?x, :t, ?y] :- [?x, :s, ?y], NOT :D[?y] .",
    "[?x, :t, ?x] :- :B[?x], NOT ([?x, :p, ?y], [?y, :q, ?z]) .",
)

ABOVE = (
    "[?x, :t, ?z] :- [?x, :s, ?y], [?y, :t, ?z] .",
    "[?x, :s, ?z] :- [?x, :s, ?y], [?y, :s, ?z] .",
    "[?y, :u, ?x] :- [?x, :t, ?y] .",
    "[?x, :s, ?y] :- [?x, :u, ?y] .",
    "[?x, :s, ?y] :- [?x, :q, ?y] .",
    ":E[?x] :- :D[?x] .",
    ":D[?x] :- :B[?x] .",
    ":F[?x] :- :E[?x], NOT [?x, :u, ?x] .",
)
"""Beside these: rules that read what they conclude."""


def without_guards(rules: tuple[str, ...]) -> tuple[str, ...]:
    """The rules that name all their predicates and classes."""
    return tuple(text for text in rules if "?p," not in text and "a, ?" not in text)


POSITIVE = TRANSITIVITY + LOOPLESS + SYMMETRY + LINEAR + SCHEMA + INCLUSIONS + JOINS + LISTS + VALUES
NAMED = without_guards(TRANSITIVITY + LOOPLESS + SYMMETRY + LINEAR + INCLUSIONS + JOINS + LISTS)


@cache
def rule_set(texts: frozenset[str]) -> Program:
    """The rules with these texts, always in the same order."""
    return parse_program(PREFIX + "\n".join(sorted(texts)))


def programs_of(
    *texts: str, least: int = 1, most: int = 8, beside: tuple[str, ...] = ()
) -> st.SearchStrategy[Program]:
    """Programs of some of these rules, with others beside."""
    chosen = st.frozensets(st.sampled_from(texts), min_size=least, max_size=most)
    return chosen.map(lambda some_texts: rule_set(some_texts.union(beside)))


positive_programs = st.one_of(
    programs_of(*POSITIVE, least=3),
    programs_of(*POSITIVE, least=3),
    programs_of(*POSITIVE, *ENTANGLING, least=3),
    programs_of(*EQUALITY, *NAMED, least=2, beside=EQUIVALENCE),
)
programs_with_not = st.builds(
    lambda rules, more: rules + more, programs_of(*NAMED, least=2, most=6), programs_of(*ABSENCE)
)
programs_with_strata = programs_of(*NAMED[:6], *ABSENCE, *ABSENCE, *ABOVE, least=3)

same = st.tuples(*[st.sampled_from(some.INDIVIDUALS[:3] + some.PROPERTIES[:2])] * 2).map(
    lambda pair: (pair[0], ontology.owl("sameAs"), pair[1])
)
equivalences = st.tuples(
    st.one_of(some.classes, some.properties),
    st.sampled_from((ontology.owl("equivalentClass"), ontology.owl("equivalentProperty"))),
    st.one_of(some.classes, some.properties),
)
values = st.sampled_from(
    tuple(Literal(text, XSD + name) for text in ("1", "2", "x") for name in ("integer", "nonNegativeInteger"))
)
value_facts: st.SearchStrategy[Fact] = st.tuples(some.individuals, some.properties, values)
list_axioms = st.builds(
    ontology.with_list, some.individuals, st.just(HAS), st.lists(some.individuals, min_size=1, max_size=3)
)
fact_sets = ontology.ontologies(
    ontology.rdfs_axioms,
    ontology.property_axioms,
    ontology.class_axioms,
    list_axioms,
    data=some.sets_of(st.one_of(some.plain_facts, some.plain_facts, some.plain_facts, value_facts, same), 14),
    max_size=6,
)
