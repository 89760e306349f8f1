"""The datatype module against the plain definition of its relations; facts come at once or bit by bit."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.engine import Fact
from tests.modules.driver import feed
from tests.strategies import individuals, properties

from corollary.columns import TripleIndex
from corollary.evaluate.fixpoint import Fixpoint
from corollary.language import (
    IRI,
    OWL,
    RDF,
    RDF_TYPE,
    RDFS,
    XSD,
    Constant,
    Literal,
    constant_text,
    parse_constant,
)
from corollary.modules.datatypes import Datatypes
from corollary.program.types_of_literals import Interest
from corollary.terms.dictionary import TermDictionary
from corollary.terms.values import SUPPORTED_DATATYPES, Value, contains, datatype_of, value_of

thorough = settings(max_examples=200, deadline=None)

Pairs = set[tuple[Constant, Constant]]
NAMES = ("VALUE", "ILL_TYPED", "SAME_VALUE", "DIFFERENT_VALUE")

INTEGER, DECIMAL, BYTE, STRING = (IRI(XSD + name) for name in ("integer", "decimal", "byte", "string"))
UNKNOWN = IRI("http://example.org/colour")
SAME_AS = IRI(OWL + "sameAs")
SUB_CLASS, RANGE, DOMAIN = (IRI(RDFS + name) for name in ("subClassOf", "range", "domain"))
TELLING = (SUB_CLASS, RDF_TYPE, DOMAIN, SAME_AS)
"""Predicates of the program whose facts show a datatype."""

LITERALS = (
    Literal("a"),
    Literal("b"),
    Literal("1"),
    Literal("a", XSD + "token"),
    Literal("a@", RDF + "PlainLiteral"),
    Literal("a", language="en"),
    Literal("a@en", RDF + "PlainLiteral"),
    Literal("1", XSD + "integer"),
    Literal("01", XSD + "integer"),
    Literal("1", XSD + "byte"),
    Literal("1.0", XSD + "decimal"),
    Literal("2", XSD + "decimal"),
    Literal("999", XSD + "byte"),
    Literal("one", XSD + "integer"),
    Literal("1", XSD + "double"),
    Literal("true", XSD + "boolean"),
    Literal("1", XSD + "boolean"),
    Literal("1", UNKNOWN.value),
)
DATATYPES = (INTEGER, DECIMAL, BYTE, STRING, IRI(RDFS + "Literal"), IRI(RDF + "PlainLiteral"), UNKNOWN)

literals = st.sampled_from(LITERALS)
datatypes = st.sampled_from(DATATYPES)
facts: st.SearchStrategy[Fact] = st.one_of(
    st.tuples(individuals, properties, literals),
    st.tuples(individuals, properties, literals),
    st.tuples(individuals, st.just(SAME_AS), literals),
    st.tuples(literals, st.just(SAME_AS), literals),
    st.tuples(individuals, st.sampled_from((SUB_CLASS, RDF_TYPE)), datatypes),
    st.tuples(datatypes, st.just(SUB_CLASS), individuals),
    st.tuples(individuals, st.just(RANGE), datatypes),
    st.tuples(st.just(RDF_TYPE), st.sampled_from((RANGE, SUB_CLASS)), individuals),
)


def value(literal: Literal) -> Value | None:
    if datatype_of(literal.datatype, literal.language) not in SUPPORTED_DATATYPES:
        return None
    return value_of(literal.lexical, literal.datatype, literal.language)


def expected(
    facts: Iterable[Fact], classes: Iterable[IRI], interest: Interest = Interest.IN_NAMED
) -> dict[str, Pairs]:
    """The four relations, by definition."""
    known = set(facts)
    used = {term for s, _, o in known for term in (s, o) if isinstance(term, Literal)}
    equated = {t for s, p, o in known if p == SAME_AS for t in (s, o) if isinstance(t, Literal)}
    shown = {t for s, p, o in known if p in TELLING for t in (s, o)} | set(classes)
    values = {literal: value(literal) for literal in used}
    about_type = any(RDF_TYPE in (s, o) for s, p, o in known if p in (*TELLING, RANGE))
    if interest is Interest.IN_ALL or (interest is Interest.IN_FACTS and about_type):
        shown |= {IRI(datatype_of(literal.datatype, literal.language)) for literal in used}
    named = [t for t in shown if isinstance(t, IRI) and t.value in SUPPORTED_DATATYPES]
    return {
        "VALUE": {
            (v, d)
            for v, own in values.items()
            for d in (map(IRI, SUPPORTED_DATATYPES) if v in equated else named)
            if own and contains(d.value, own)
        },
        "ILL_TYPED": {
            (v, IRI(v.datatype))
            for v, own in values.items()
            if v.datatype in SUPPORTED_DATATYPES and own is None
        },
        "SAME_VALUE": {(v, w) for v in used for w in used if v != w and values[v] and values[v] == values[w]},
        "DIFFERENT_VALUE": {
            (v, w) for v in equated for w in equated if values[v] and values[w] and values[v] != values[w]
        },
    }


def found_by_module(
    batches: Iterable[Iterable[Fact]], classes: Iterable[IRI], interest: Interest = Interest.IN_NAMED
) -> dict[str, Pairs]:
    """The four relations as the module derives them."""
    dictionary = TermDictionary()

    def ids(terms: Iterable[IRI]) -> list[int]:
        return [dictionary.encode(constant_text(term)) for term in terms]

    module = Datatypes(dictionary, ids((*TELLING, RANGE)), ids(classes), interest)
    index = feed([module], batches, dictionary)

    def term(term_id: int) -> Constant:
        return parse_constant(dictionary.decode(term_id))

    return {
        name: {
            (term(key >> 32), term(key & 0xFFFFFFFF))
            for key in index.relation(dictionary.encode(name)).keys().tolist()
        }
        for name in NAMES
    }


@thorough
@given(
    st.lists(st.lists(facts, max_size=10), min_size=1, max_size=4),
    st.lists(st.sampled_from((INTEGER, STRING)), max_size=1),
    st.sampled_from(Interest),
)
def test_all_relations(batches: list[list[Fact]], classes: list[IRI], interest: Interest) -> None:
    wanted = expected([fact for batch in batches for fact in batch], classes, interest)
    assert found_by_module(batches, classes, interest) == wanted


def test_one_value_in_many_forms() -> None:
    ones = LITERALS[7:11]
    using: list[Fact] = [(IRI("http://example.org/x"), IRI("http://example.org/p"), one) for one in ones]
    relations = found_by_module([using], ())
    assert relations["SAME_VALUE"] == {(v, w) for v in ones for w in ones if v != w}
    assert not relations["VALUE"], "nobody asked for datatypes"
    assert not relations["DIFFERENT_VALUE"], "nothing is said to be the same"


def test_literals_that_only_the_dictionary_has_are_not_used() -> None:
    dictionary = TermDictionary()
    for literal in LITERALS:
        dictionary.encode(constant_text(literal))
    index = feed([Datatypes(dictionary, (), (), Interest.IN_NAMED)], [[]], dictionary)
    assert not index.all_predicates()


def test_list_members_show_datatypes() -> None:
    """As those of a union of datatypes do."""
    dictionary = TermDictionary()
    integer, one, union, member, value = map(
        dictionary.encode, (constant_text(INTEGER), constant_text(LITERALS[7]), "_:l", "MEMBER", "VALUE")
    )
    module = Datatypes(dictionary, (), (), Interest.IN_NAMED)
    assert module.reads(member)
    fixpoint = Fixpoint(TripleIndex(), [module])
    for predicate, subject, object_ in ((union, union, one), (member, union, integer)):
        assert not len(fixpoint.index.relation(value))
        fixpoint.include({predicate: [np.array([subject << 32 | object_], np.uint64)]})
        fixpoint.run()
    assert fixpoint.index.relation(value).keys().tolist() == [one << 32 | integer]
