"""Solutions that are counted and not listed, and joins with a free predicate in parts of even size."""

from __future__ import annotations

from collections import Counter
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from rdflib import Graph, Literal, Namespace
from tests.sparql.constants import set_constant
from tests.strategies import examples

from corollary.execute import batches
from corollary.sparql import patterns
from corollary.sparql.paths import PathJoin
from corollary.sparql.tuning import ROWS_PER_LIMITED_CHUNK
from corollary.store import CorollaryStore

EX = Namespace("http://example.org/")

SUBJECTS = st.sampled_from(["?a", "?b", "?c", ":x1", "[]"])
PREDICATES = st.sampled_from([":p", ":q", ":r", "?d", "?a", ":p*", "^:q", ":p/:q"])
OBJECTS = st.sampled_from(["?a", "?b", "?c", ":x1", "1", "[]"])
PATTERNS = st.lists(st.tuples(SUBJECTS, PREDICATES, OBJECTS).map(" ".join), min_size=1, max_size=3)
CONDITIONS = st.sampled_from(["", "FILTER(?a != ?b)", "FILTER(isIRI(?a) && ?a != :x1)", "FILTER(?z)"])


@pytest.fixture(scope="module")
def graph() -> Graph:
    graph = Graph(CorollaryStore(rules="none"))
    graph.parse(
        data="""@prefix : <http://example.org/> .
        :x1 :p :x2, :x3, :x1, 1 ; :q :x1, 1, _:b . :x2 :p :x3 ; :q :x2 ; :r 1, 2 .
        :x3 :r :x1, :p . _:b :q :x1 . :p :p :q . :q :r :p .""",
        format="turtle",
    )
    return graph


def number(graph: Graph, query: str) -> int:
    (row,) = graph.query(f"PREFIX : <http://example.org/> {query}")
    value: Any = row
    return int(value[0])


@settings(max_examples=examples(300), deadline=None)
@given(joined=PATTERNS, condition=CONDITIONS, is_small=st.booleans())
def test_as_many_as_are_listed(graph: Graph, joined: list[str], condition: str, is_small: bool) -> None:
    group = " . ".join(joined) + " " + condition
    with pytest.MonkeyPatch.context() as patch:
        if is_small:
            set_constant(patch, "ROWS_PER_CHUNK", 3)
            patch.setattr(patterns, "MAX_RELATIONS_TRIED", 1)
            patch.setattr(batches, "MAX_RELATIONS_TRIED", 1)
        counted = number(graph, f"SELECT (COUNT(*) AS ?n) {{ {group} }}")
        assert (
            counted == number(graph, f"SELECT (COUNT(*) AS ?n) {{ {{ {group} }} UNION {{ {group} }} }}") / 2
        )
        if "?a" in " ".join(joined):
            assert counted == number(graph, f"SELECT (COUNT(?a) AS ?n) {{ {group} }}")


@settings(max_examples=examples(300), deadline=None)
@given(
    joined=st.lists(st.tuples(SUBJECTS, PREDICATES, OBJECTS).map(" ".join), min_size=1, max_size=2),
    condition=CONDITIONS,
    keys=st.sets(st.sampled_from("abcd"), min_size=1, max_size=2),
    counted=st.sampled_from("abcd"),
)
@example(joined=["?a ?d ?b"], condition="", keys={"d"}, counted="b")
@example(joined=["?a ?d ?b"], condition="", keys={"d", "a"}, counted="d")
@example(joined=["?a ?d ?b"], condition="", keys={"b"}, counted="a")
def test_groups_are_as_large_as_listed(
    graph: Graph, joined: list[str], condition: str, keys: set[str], counted: str
) -> None:
    group, names = " . ".join(joined) + " " + condition, sorted(keys)
    listed = Counter(frozenset(row.items()) for row in asked(graph, f"SELECT * {{ {group} }}"))
    wanted: dict[tuple[Any, ...], list[int]] = {}
    for row, times in listed.items():
        found = wanted.setdefault(tuple(dict(row).get(name) for name in names), [0, 0, 0])
        found[:] = found[0] + times, found[1] + times * (counted in dict(row)), found[2] + 1
    by = " ".join("?" + name for name in names)
    counts = f"(COUNT(*) AS ?m) (COUNT(?{counted}) AS ?n) (COUNT(DISTINCT *) AS ?k)"
    for some, places in ((counts, (0, 1, 2)), (counts[: counts.rindex("(COUNT")], (0, 1))):
        rows = asked(graph, f"SELECT {by} {some} {{ {group} }} GROUP BY {by}")
        sizes = {tuple(row.get(name) for name in names): [int(row["mnk"[i]]) for i in places] for row in rows}
        assert sizes == {key: [found[i] for i in places] for key, found in wanted.items()}
    assert number(graph, f"SELECT (COUNT(DISTINCT *) AS ?n) {{ {group} }}") == len(listed)


def test_a_count_is_no_list() -> None:
    """A thousand subjects of one object make a million pairs, of which none is kept."""
    graph = Graph(CorollaryStore(rules="none"))
    for i in range(1000):
        graph.add((EX[f"s{i}"], EX.p, EX.o))
    with pytest.MonkeyPatch.context() as patch:
        extended = _extended_sizes(patch)
        assert number(graph, "SELECT (COUNT(*) AS ?n) { ?a :p ?b . ?c ?q ?b }") == 1_000_000
    assert sum(extended) <= 1000


def test_a_limit_ends_a_join_with_a_free_predicate() -> None:
    """The parts are as large as the limit asks for, though a few objects have very many facts."""
    graph = Graph(CorollaryStore(rules="none"))
    for i in range(3000):
        graph.add((EX[f"s{i}"], EX.p, EX[f"s{i + 1}"]))
        graph.add((EX[f"s{i}"], EX.q, Literal(i % 2)))
        graph.add((EX[f"s{i}"], EX.r, Literal(i)))
    with pytest.MonkeyPatch.context() as patch:
        extended = _extended_sizes(patch)
        found = graph.query("SELECT * { ?a ?p ?b . ?b ?q ?c } LIMIT 10")
        assert len(found) == 10
        assert len(extended) <= 3
        assert sum(extended) <= 3 * ROWS_PER_LIMITED_CHUNK
        assert len(graph.query("SELECT * { ?a ?p ?b . ?c ?q ?b }")) == 2 * 1501**2 + 3000 + 2998


def _extended_sizes(patch: pytest.MonkeyPatch) -> list[int]:
    """The sizes of the batches that joins return from now on."""
    found: list[int] = []
    extend = PathJoin.extend

    def recorded(self: PathJoin, *arguments: Any) -> Any:
        batch = extend(self, *arguments)
        found.append(batch.size)
        return batch

    patch.setattr(PathJoin, "extend", recorded)
    return found


@settings(max_examples=examples(300), deadline=None)
@given(
    joined=PATTERNS,
    condition=CONDITIONS,
    asked=st.sampled_from(["*", "?a", "?b ?c"]),
    most=st.integers(1, 4),
    offset=st.integers(0, 2),
    is_small=st.booleans(),
)
def test_a_limit_of_distinct_solutions(
    graph: Graph, joined: list[str], condition: str, asked: str, most: int, offset: int, is_small: bool
) -> None:
    query = f"PREFIX : <{EX}> SELECT DISTINCT {asked} {{ {' . '.join(joined)} {condition} }}"
    ours = [frozenset(row.items()) for row in graph.query(query).bindings]
    with pytest.MonkeyPatch.context() as patch:
        if is_small:
            set_constant(patch, "ROWS_PER_LIMITED_CHUNK", 2)
            set_constant(patch, "ROWS_BEFORE_ALL", (1, 3))
        limited = graph.query(f"{query} LIMIT {most} OFFSET {offset}").bindings
    found = [frozenset(row.items()) for row in limited]
    assert len(ours) == len({*ours}) and len(found) == len({*found})
    assert len(found) == max(0, min(most, len(ours) - offset))
    assert {*found} <= {*ours}


def test_distinct_solutions_under_a_limit_are_not_all_found(monkeypatch: pytest.MonkeyPatch) -> None:
    graph = Graph(CorollaryStore(rules="none"))
    for number in range(40):
        graph.add((EX[f"s{number}"], EX.p, EX[f"m{number}"]))
        graph.addN((EX[f"m{number}"], EX.q, EX[f"o{other}"], graph) for other in range(40))
    set_constant(monkeypatch, "ROWS_PER_LIMITED_CHUNK", 40)
    set_constant(monkeypatch, "ROWS_BEFORE_ALL", (60, 120))
    found = 0
    extended = patterns.PatternJoin._extended

    def counted(self: Any, *arguments: Any) -> Any:
        nonlocal found
        for batch in extended(self, *arguments):
            found += batch.size
            yield batch

    monkeypatch.setattr(patterns.PatternJoin, "_extended", counted)
    for condition in ("", "FILTER(?o != ex:o1)"):
        found = 0
        query = f"PREFIX ex: <{EX}> SELECT DISTINCT ?s ?o {{ ?s ex:p ?m . ?m ex:q ?o {condition} }} LIMIT 10"
        assert len(graph.query(query)) == 10
        assert found < 400


@settings(max_examples=examples(300), deadline=None)
@given(
    joined=PATTERNS,
    chosen=st.sets(st.sampled_from("abcd"), min_size=1),
    is_small=st.booleans(),
)
def test_distinct_values_of_some_variables(
    graph: Graph, joined: list[str], chosen: set[str], is_small: bool
) -> None:
    """Variables that are not asked for need not be bound, also beside a free predicate."""
    group, names = " . ".join(joined), sorted(chosen)
    rows = {tuple(row.get(name) for name in names) for row in asked(graph, f"SELECT * {{ {group} }}")}
    with pytest.MonkeyPatch.context() as patch:
        if is_small:
            set_constant(patch, "ROWS_PER_CHUNK", 3)
        found = asked(graph, f"SELECT DISTINCT {' '.join('?' + name for name in names)} {{ {group} }}")
    assert len(found) == len(rows)
    assert {tuple(row.get(name) for name in names) for row in found} == rows


def asked(graph: Graph, query: str) -> list[dict[str, Any]]:
    result = graph.query(f"PREFIX : <http://example.org/> {query}")
    return [{str(name): value for name, value in row.items()} for row in result.bindings]
