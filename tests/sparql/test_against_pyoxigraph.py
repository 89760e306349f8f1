"""Random data and random queries: the same multisets of rows as pyoxigraph's."""

from __future__ import annotations

from collections import Counter
from itertools import combinations

import pyoxigraph
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from rdflib import Dataset, Literal, URIRef, Variable
from rdflib.term import Node
from tests.sparql.constants import set_constant
from tests.strategies import examples

from corollary.execute import intersect
from corollary.sparql import intersections
from corollary.store import CorollaryStore

NODES = ["<urn:a>", "<urn:b>", "<urn:c>", "1", "2", '"x"']
PREDICATES = ["<urn:p>", "<urn:q>", "<urn:r>"]
GRAPHS = ["", "<urn:g>", "<urn:h>"]
VARIABLES = ["?x", "?y", "?z", "?w"]

EVERYWHERE = [("<urn:a>", "<urn:s>", node, graph) for node in [*NODES, *GRAPHS[1:]] for graph in GRAPHS]
"""Every term is a node of every graph: about paths of no steps from other terms opinions differ."""

ALTERNATIVES = ("|<", "|^<", "!<", "!(")
"""Signs of paths that match two nodes in several ways: pyoxigraph counts one or all of them, by its plan."""

variables = st.sampled_from(VARIABLES)
subjects = st.one_of(variables, variables, variables, st.sampled_from(NODES[:3]))
objects = st.one_of(variables, variables, variables, st.sampled_from(NODES))
quads = st.tuples(
    st.sampled_from(NODES[:3]), st.sampled_from(PREDICATES), st.sampled_from(NODES), st.sampled_from(GRAPHS)
)

paths = st.recursive(
    st.sampled_from(
        [
            *PREDICATES,
            "!<urn:p>",
            "!(<urn:p>|<urn:q>)",
            "(<urn:p>|<urn:q>)",
            "(<urn:p>|^<urn:q>)",
            "(<urn:p>/<urn:q>|<urn:r>)",
        ]
    ),
    lambda inner: st.one_of(
        st.tuples(inner, st.sampled_from("*+?")).map(lambda pair: f"({pair[0]}){pair[1]}"),
        st.tuples(inner, inner).map("/".join).map("({})".format),
        inner.map(lambda path: f"^({path})"),
    ),
    max_leaves=3,
)
verbs = st.one_of(st.sampled_from(PREDICATES), st.sampled_from(PREDICATES), variables, paths)
triples = st.tuples(subjects, verbs, objects).map(" ".join)


def around(names: list[str], drawn: list[tuple[str, bool]]) -> str:
    """A cycle: each variable with the next one, by a predicate in either direction."""
    ends = zip(names, [*names[1:], names[0]], drawn, strict=False)
    return " . ".join(f"{b} {p} {a}" if is_turned else f"{a} {p} {b}" for a, b, (p, is_turned) in ends)


edges = st.tuples(st.sampled_from(PREDICATES), st.booleans())
cycles = st.lists(edges, min_size=3, max_size=4).map(lambda drawn: around(VARIABLES[: len(drawn)], drawn))
cliques = st.lists(st.sampled_from(PREDICATES), min_size=6, max_size=6).map(
    lambda drawn: " . ".join(
        f"{a} {p} {b}" for (a, b), p in zip(combinations(VARIABLES, 2), drawn, strict=True)
    )
)
rays = st.tuples(st.sampled_from(PREDICATES), objects, st.booleans()).map(
    lambda drawn: (
        f"{drawn[1]} {drawn[0]} ?x" if drawn[2] and drawn[1][0] == "?" else f"?x {drawn[0]} {drawn[1]}"
    )
)
stars = st.lists(rays, min_size=3, max_size=4).map(" . ".join)
blocks = st.one_of(
    st.lists(triples, min_size=1, max_size=3).map(" . ".join),
    st.lists(triples, min_size=1, max_size=3).map(" . ".join),
    cycles,
    cliques,
    stars,
)

comparisons = st.one_of(
    st.tuples(variables, st.sampled_from(["=", "!="]), st.one_of(variables, st.sampled_from(NODES))).map(
        " ".join
    ),
    st.tuples(variables, st.sampled_from(["<", ">="])).map(
        lambda p: f"(BOUND({p[0]}) && ISNUMERIC({p[0]}) && {p[0]} {p[1]} 2)"
    ),
    variables.map(lambda v: f"BOUND({v})"),
    variables.map(lambda v: f"ISIRI({v})"),
    st.tuples(st.booleans(), triples).map(lambda t: ("NOT " if t[0] else "") + f"EXISTS {{ {t[1]} }}"),
)
conditions = st.recursive(
    comparisons,
    lambda inner: st.one_of(
        st.tuples(inner, st.sampled_from(["&&", "||"]), inner).map(lambda parts: "({} {} {})".format(*parts)),
        inner.map(lambda condition: f"(!({condition}))"),
    ),
    max_leaves=2,
)
tables = st.lists(
    st.tuples(st.sampled_from([*NODES, "UNDEF"]), st.sampled_from([*NODES, "UNDEF"])), max_size=3
).map(lambda rows: "VALUES (?x ?z) {" + " ".join(f"({a} {b})" for a, b in rows) + "}")


def groups(inner: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    """Patterns made of patterns."""
    return st.one_of(
        st.tuples(inner, inner).map(lambda p: f"{{ {p[0]} }} {{ {p[1]} }}"),
        st.tuples(inner, blocks).map(lambda p: f"{p[1]} . {{ {p[0]} }}"),
        st.tuples(inner, inner).map(lambda p: f"{{ {p[0]} }} UNION {{ {p[1]} }}"),
        st.tuples(inner, inner).map(lambda p: f"{{ {p[0]} }} OPTIONAL {{ {p[1]} }}"),
        st.tuples(inner, inner, conditions).map(
            lambda p: f"{{ {p[0]} }} OPTIONAL {{ {p[1]} FILTER({p[2]}) }}"
        ),
        st.tuples(inner, inner).map(lambda p: f"{{ {p[0]} }} MINUS {{ {p[1]} }}"),
        st.tuples(inner, conditions).map(lambda p: f"{p[0]} FILTER({p[1]})"),
        # with a triple in it: pyoxigraph does not go through the graphs for a pattern without one
        st.tuples(blocks, inner, st.sampled_from([*GRAPHS[1:], "?g", "?w"])).map(
            lambda p: f"GRAPH {p[2]} {{ {p[0]} . {{ {p[1]} }} }}"
        ),
        st.tuples(inner, tables).map(lambda p: f"{{ {p[0]} }} {p[1]}"),
        st.tuples(inner, conditions)
        .map(lambda p: f"{{ {p[0]} }} BIND(IF({p[1]}, ?x, ?y) AS ?new)")
        .filter(lambda text: text.count("?new") == 1),
        inner.map(lambda p: f"{{ SELECT DISTINCT ?x ?y {{ {p} }} }}"),
        inner.map(lambda p: f"{{ SELECT ?x (COUNT(?y) AS ?n) {{ {p} }} GROUP BY ?x }}").filter(
            lambda text: text.count("?n)") == 1
        ),
    )


patterns = st.recursive(st.one_of(blocks, blocks, tables), groups, max_leaves=4)


def oxigraph_rows(
    data: list[tuple[str, str, str, str]], query: str, columns: list[str]
) -> Counter[tuple[str, ...]]:
    store = pyoxigraph.Store()
    text = "".join(f"{s} {p} {shown(o)} {g} .\n" for s, p, o, g in data)
    store.load(text.encode(), pyoxigraph.RdfFormat.N_QUADS)
    solutions = store.query(query)
    assert isinstance(solutions, pyoxigraph.QuerySolutions)
    found = [[solution[v] for v in columns] for solution in solutions]
    return Counter(tuple("" if term is None else str(term) for term in row) for row in found)


def shown(node: str) -> str:
    """A node as N-Triples has it."""
    return f'"{node}"^^<http://www.w3.org/2001/XMLSchema#integer>' if node.isdigit() else node


def term(node: str) -> Node:
    if node.startswith("<"):
        return URIRef(node[1:-1])
    return Literal(int(node)) if node.isdigit() else Literal(node.strip('"'))


def own_rows(
    data: list[tuple[str, str, str, str]], query: str, columns: list[str]
) -> Counter[tuple[str, ...]]:
    dataset = Dataset(store=CorollaryStore(rules="none"))
    for s, p, o, g in data:
        graph = dataset.graph(URIRef(g[1:-1])) if g else dataset.default_graph
        graph.add((term(s), term(p), term(o)))
    result = dataset.store.query(query, {}, {}, dataset.default_graph.identifier)  # not handed back
    found = [[solution.get(Variable(v)) for v in columns] for solution in result.bindings]
    return Counter(tuple("" if value is None else value.n3() for value in row) for row in found)


def intersect_always(patch: pytest.MonkeyPatch) -> None:
    """Small joins are intersected, too."""
    patch.setattr(intersections, "MAX_GROWTH_JOINED", 0)
    patch.setattr(intersections, "MIN_FACTS_PER_TERM", 0)
    patch.setattr(intersections, "MIN_FACTS", 0)
    patch.setattr(intersections, "MIN_CANDIDATES", 1)
    patch.setattr(intersections, "MAX_SHARE_LEFT", 1)
    patch.setattr(intersect, "MAX_VALUES_PER_ROW_JOINED", 0)


@settings(max_examples=examples(250), deadline=None)
@given(st.lists(quads, max_size=15), patterns)
def test_same_rows(data: list[tuple[str, str, str, str]], pattern: str) -> None:
    check_rows(data, pattern)


@settings(max_examples=examples(250), deadline=None)
@given(st.lists(quads, max_size=40), patterns, st.sampled_from((1, 3, 1 << 20)), st.sampled_from((0, 3)))
def test_same_rows_by_intersections(
    data: list[tuple[str, str, str, str]], pattern: str, rows: int, joined: int
) -> None:
    """Chunks have few rows, so that lists are cut; lists may be short enough to be joined."""
    with pytest.MonkeyPatch.context() as patch:
        intersect_always(patch)
        patch.setattr(intersect, "MAX_VALUES_PER_ROW_JOINED", joined)
        set_constant(patch, "ROWS_PER_CHUNK", rows)
        check_rows(data, pattern)


def check_rows(data: list[tuple[str, str, str, str]], pattern: str) -> None:
    """The rows of a query are pyoxigraph's."""
    columns = ["x", "y", "z", "w", "g", "new", "n"]
    query = f"SELECT {' '.join('?' + v for v in columns)} WHERE {{ {pattern} }}"
    data += EVERYWHERE
    found, expected = own_rows(data, query, columns), oxigraph_rows(data, query, columns)
    if any(sign in pattern for sign in ALTERNATIVES):
        assume("COUNT" not in pattern)
        assert found.keys() == expected.keys(), query
    else:
        assert found == expected, query


def test_a_path_of_alternatives_matches_as_often_as_there_are_some() -> None:
    data = [("<urn:a>", predicate, "<urn:b>", "") for predicate in PREDICATES]
    for path, times in (
        ("(<urn:p>|<urn:q>)", 2),
        ("!<urn:p>", 2),
        ("^(!(<urn:p>|<urn:q>))", 1),
        ("(!<urn:p>)?", 1),
    ):
        ends = "<urn:b> {} ?x" if path.startswith("^") else "?x {} <urn:b>"
        for known in ("", "VALUES ?x { <urn:a> }"):
            found = own_rows(data, f"SELECT ?x {{ {known} {ends.format(path)} FILTER(?x = <urn:a>) }}", ["x"])
            assert found == {("<urn:a>",): times}, (path, known)
