"""Random programs that the rule language can write, for the round trip and for the checks."""

from __future__ import annotations

from hypothesis import strategies as st

from corollary.language import (
    AGGREGATES,
    BUILTIN_NAMES,
    FUNCTIONS,
    IRI,
    RDF_TYPE,
    XSD,
    Aggregate,
    AggregateBinding,
    Bind,
    BlankNode,
    BodyElement,
    Builtin,
    Call,
    Chain,
    Constant,
    Each,
    Expression,
    Filter,
    Literal,
    Not,
    Pair,
    Program,
    Rule,
    Triple,
    Variable,
)

PREFIXES = (("", "http://example.org/"), ("ex", "http://example.org/vocabulary#"), ("a.b", "urn:x:"))

characters = st.characters(exclude_categories=["Cs"])
texts = st.text(characters, max_size=8)
words = st.text("abz_09-.", min_size=1, max_size=4)

variables = st.builds(Variable, st.sampled_from(["x", "y", "z", "x_1", "été", "0"]))
iris = st.builds(
    IRI,
    st.one_of(
        st.sampled_from([RDF_TYPE.value, XSD + "integer", "urn:x:", "urn:x:a:b", "http://example.org/-a"]),
        st.builds("".join, st.tuples(st.sampled_from([namespace for _, namespace in PREFIXES]), words)),
        st.builds("urn:{}".format, texts),
    ),
)
numbers = st.sampled_from(
    ["5", "-5", "+5", "05", "5.", "-.5", "1.5", "1e5", "-1.e-5", ".5E+5", "true", "x", "٣"]
)
datatypes = st.sampled_from([XSD + name for name in ("integer", "decimal", "double", "boolean", "date")])
literals = st.one_of(
    st.builds(Literal, texts),
    st.builds(Literal, texts, st.none(), st.sampled_from(["en", "de-AT", "en--ltr"])),
    st.builds(Literal, numbers, datatypes),
)
blank_nodes = st.builds(BlankNode, st.sampled_from(["b", "b0", "0.b", "a:b"]))
constants: st.SearchStrategy[Constant] = st.one_of(iris, blank_nodes, literals)
terms = st.one_of(variables, constants)

triples = st.builds(Triple, terms, st.one_of(terms, st.just(RDF_TYPE)), terms)
builtins = st.builds(Builtin, st.sampled_from(BUILTIN_NAMES), st.tuples(terms, terms))
triple_lists = st.lists(triples, min_size=1, max_size=3).map(tuple)


def calls(inner: st.SearchStrategy[Expression]) -> st.SearchStrategy[Call]:
    """Calls of every operator and function, with a right number of arguments."""
    binary = ("||", "&&", "=", "!=", "<", "<=", ">", ">=", "+", "-", "*", "/")
    some = st.lists(inner, min_size=1, max_size=3).map(tuple)
    functions = st.sampled_from(sorted(FUNCTIONS)).flatmap(
        lambda name: st.builds(
            Call,
            st.just(name),
            st.lists(inner, min_size=FUNCTIONS[name][0], max_size=min(FUNCTIONS[name][1], 3)).map(tuple),
        )
    )
    return st.one_of(
        st.builds(Call, st.sampled_from(binary), st.tuples(inner, inner)),
        st.builds(Call, st.sampled_from(["!", "+", "-"]), st.tuples(inner)),
        st.builds(Call, st.sampled_from(["in", "not in"]), some),
        functions,
    )


expressions: st.SearchStrategy[Expression] = st.recursive(terms, calls, max_leaves=6)
filters = st.builds(Filter, expressions)
binds = st.builds(Bind, expressions, variables)
negations = st.builds(Not, st.lists(st.one_of(triples, builtins), min_size=1, max_size=3).map(tuple))
aggregations = st.one_of(
    st.builds(AggregateBinding, st.sampled_from(AGGREGATES), expressions, variables, st.booleans()),
    st.builds(AggregateBinding, st.just("count"), st.none(), variables, st.booleans()),
)
aggregates = st.builds(
    Aggregate,
    st.lists(st.one_of(triples, filters, binds), min_size=1, max_size=3).map(tuple),
    st.lists(variables, max_size=3).map(tuple),
    st.lists(aggregations, min_size=1, max_size=2).map(tuple),
)
elements: st.SearchStrategy[BodyElement] = st.one_of(
    triples,
    builtins,
    st.builds(Each, variables, terms, triple_lists),
    st.builds(Chain, terms, terms, terms),
    st.builds(Pair, terms, terms, terms),
    negations,
    filters,
    binds,
    aggregates,
)
bodies = st.lists(elements, max_size=4).map(tuple)
names = st.sampled_from(["", "cax-sco", "#1", "règle", "."])
rules = st.one_of(
    st.builds(Rule, triple_lists, bodies, names),
    st.builds(Rule, st.just(()), bodies.filter(bool), names),
)
programs = st.builds(Program, st.lists(rules, max_size=4).map(tuple), st.just(PREFIXES))
