"""The optimiser of queries: what each pass makes of its example, what must stay, and equal answers."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from rdflib import Dataset, URIRef
from tests.sparql.test_against_pyoxigraph import EVERYWHERE, NODES, patterns, quads
from tests.strategies import examples

from corollary.sparql.algebra import (
    Distinct,
    Extend,
    Filter,
    Operator,
    OrderBy,
    Project,
    Query,
    Slice,
    children,
)
from corollary.sparql.parser import parse_query
from corollary.sparql.query_passes import PASSES, fold_constants, optimised
from corollary.store import CorollaryStore

PREFIXES = {"": "http://example.org/"}


def parsed(pattern: str) -> Query:
    return parse_query(pattern if "SELECT" in pattern[:9] else f"SELECT * {{ {pattern} }}", PREFIXES)


def passed(query: Query) -> Query:
    """After the passes; without what they note."""
    return replace(optimised(query), takes_constants=False)


CHANGED = [
    ("?x :p ?y FILTER(?x > 1 + 2)", "?x :p ?y FILTER(?x > 3)"),
    ("?x :p ?y FILTER(1 < 2 && ?y > STRLEN('abc'))", "?x :p ?y FILTER(?y > 3)"),
    ("?x :p ?y FILTER(true)", "?x :p ?y"),
    ("{ ?x :p ?y } { ?y :q ?z }", "?x :p ?y . ?y :q ?z"),
    ("?x a :C OPTIONAL { ?x :p ?y } ?x :q ?z", "?x a :C . ?x :q ?z OPTIONAL { ?x :p ?y }"),
    (
        "?x a :C OPTIONAL { ?x :p ?y } OPTIONAL { ?x :r ?u } ?x :q ?z",
        "?x a :C . ?x :q ?z OPTIONAL { ?x :p ?y } OPTIONAL { ?x :r ?u }",
    ),
    (
        "{ ?x :p ?y } { SELECT ?x { ?x :q ?z } LIMIT 2 } FILTER(?y > 1)",
        "{ ?x :p ?y FILTER(?y > 1) } { SELECT ?x { ?x :q ?z } LIMIT 2 }",
    ),
    ("?x :p ?y OPTIONAL { ?x :q ?z } FILTER(?y > 1)", "{ ?x :p ?y FILTER(?y > 1) } OPTIONAL { ?x :q ?z }"),
    ("?x :p ?y MINUS { ?x :q ?z } FILTER(?y > 1)", "{ ?x :p ?y FILTER(?y > 1) } MINUS { ?x :q ?z }"),
    (
        "GRAPH ?g { ?x :p ?y } FILTER(?y > 1) FILTER(?g = :a)",
        "GRAPH ?g { ?x :p ?y FILTER(?y > 1) } FILTER(?g = :a)",
    ),
]


@pytest.mark.parametrize(("before", "after"), CHANGED)
def test_what_passes_change(before: str, after: str) -> None:
    found, expected = passed(parsed(before)), parsed(after)
    assert inner(found) == inner(expected)


def inner(query: Query) -> Operator:
    """The pattern of SELECT *."""
    assert isinstance(query.pattern, Project)
    return query.pattern.inner


STAYS = [
    "?x a :C OPTIONAL { ?x :p ?y } ?z :q ?y",
    "?x a :C OPTIONAL { ?x :p ?y FILTER(?z > 1) } ?x :q ?z",
    "?x :p ?y OPTIONAL { ?x :q ?z } FILTER(?z > 1)",
    "?x :p ?y OPTIONAL { { ?x :q ?z FILTER(?y > 1) } }",
    "{ ?x :p ?y } { SELECT ?x { ?x :q ?z } LIMIT 2 } FILTER(RAND() < 0.5)",
    "{ ?x :p ?y } { SELECT ?x { ?x :q ?z } LIMIT 2 } FILTER(:f(?y))",
    "{ ?x :p ?y } { SELECT ?x { ?x :q ?z } LIMIT 2 } FILTER EXISTS { ?y :r ?x }",
    "{ OPTIONAL { ?x :p ?y } } { OPTIONAL { ?x :q ?y } } FILTER(?y > 1)",
    "?x :p ?y FILTER(1 / 0 > ?y)",
    "?x :p ?y FILTER('a'^^:d)",
    "{ ?x :p ?z OPTIONAL { ?x :q ?y } } UNION { ?x :r ?x } FILTER(?x > 1)",
]


@pytest.mark.parametrize("pattern", STAYS)
def test_what_stays(pattern: str) -> None:
    assert passed(parsed(pattern)) == parsed(pattern)


def test_a_blank_node_of_two_patterns_is_two_nodes() -> None:
    """rdflib prepares such queries, although SPARQL forbids them."""
    from rdflib.plugins.sparql import prepareQuery

    from corollary.sparql.from_rdflib import query_of

    prepared: Any = query_of(prepareQuery("SELECT * { { ?x <urn:p> _:b } { ?y <urn:q> _:b } }"))
    assert passed(prepared) == prepared


def test_distinct_values_come_before_conditions() -> None:
    found: Any = passed(parsed("SELECT DISTINCT ?x { ?x :p ?y FILTER(isIRI(?x)) }")).pattern
    assert isinstance(found, Distinct)
    below: Any = children(found.inner)[0]
    assert isinstance(below, Filter) and isinstance(below.inner, Distinct)
    kept = parsed("SELECT DISTINCT ?x { ?x :p ?y FILTER(isIRI(?x) && ?y > 1) }")
    assert passed(kept) == kept


def test_distinct_values_are_sorted() -> None:
    found: Any = passed(parsed("SELECT DISTINCT ?y { ?x :p ?y } ORDER BY DESC(STR(?y)) LIMIT 3")).pattern
    order: Any = children(children(found)[0])[0]
    assert isinstance(order, OrderBy) and isinstance(order.inner, Distinct)
    for order_by in ("?x", "RAND()", ":f(?y)"):
        kept = parsed(f"SELECT DISTINCT ?y {{ ?x :p ?y }} ORDER BY {order_by}")
        assert passed(kept) == kept


def test_expressions_come_after_the_limit() -> None:
    text = "SELECT (STRLEN(?y) AS ?n) { ?x :p ?y } ORDER BY ?y LIMIT 10"
    found: Any = passed(parsed(text)).pattern
    assert isinstance(found, Project) and isinstance(found.inner, Extend)
    assert isinstance(found.inner.inner, Slice) and isinstance(found.inner.inner.inner, OrderBy)
    kept = parsed(text.replace("BY ?y", "BY ?n"))
    assert passed(kept) == kept


def test_every_pass_has_an_example() -> None:
    assert all("->" in str(each.__doc__) or "yes" in str(each.__doc__) for each in PASSES)


def test_passes_change_no_plan_in_place() -> None:
    query = parsed("?x :p ?y FILTER(?x > 1 + 2)")
    fold_constants(query)
    assert query == parsed("?x :p ?y FILTER(?x > 1 + 2)")


@settings(max_examples=examples(400), deadline=None)
@given(
    st.lists(quads, max_size=15),
    patterns,
    st.one_of(st.none(), st.sampled_from(NODES[:3])),
    st.sampled_from(["SELECT *", "SELECT DISTINCT ?x", "SELECT (STR(?y) AS ?text) ?x"]),
)
@example([], "?x <urn:p> ?y OPTIONAL { { ?x <urn:q> ?z FILTER(?y = 1) } }", None, "SELECT *")
def test_the_answers_stay(
    data: list[tuple[str, str, str, str]], pattern: str, given_x: str | None, form: str
) -> None:
    dataset = Dataset(CorollaryStore(rules="none"), default_union=True)
    store: Any = dataset.store
    text = " ".join(
        f"GRAPH {graph} {{ {s} {p} {o} }}" if graph else f"{s} {p} {o} ."
        for s, p, o, graph in [*data, *EVERYWHERE[::4]]
    )
    dataset.update(f"INSERT DATA {{ {text} }}")
    bindings = {} if given_x is None else {"x": URIRef(given_x[1:-1])}
    query = parse_query(f"{form} {{ {pattern} }}", {})
    before, after = (
        Counter(map(tuple, store.query(each, {}, bindings, "__UNION__")))
        for each in (query, optimised(query))
    )
    assert before == after
