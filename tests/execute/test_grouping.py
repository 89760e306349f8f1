"""AGGREGATE: every function over groups of rows, errors, DISTINCT; and what pyoxigraph makes of the same."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence

import numpy as np
import pyoxigraph
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from corollary.execute.batches import Batch
from corollary.execute.grouping import group
from corollary.language import (
    XSD,
    Aggregate,
    AggregateBinding,
    Call,
    Expression,
    Literal,
    Rule,
    Triple,
    Variable,
    parse_constant,
)
from corollary.program.compile import compile_rule
from corollary.terms.dictionary import TermDictionary
from corollary.terms.values import numeric_value

X, Y, Z, RESULT = Variable("x"), Variable("y"), Variable("z"), Variable("result")
A, B, C = ("<http://example.org/a>", "<http://example.org/b>", "<http://example.org/c>")


def integer(value: int) -> str:
    return f'"{value}"^^<{XSD}integer>'


def decimal(value: str) -> str:
    return f'"{value}"^^<{XSD}decimal>'


def double(value: str) -> str:
    return f'"{value}"^^<{XSD}double>'


def grouped(
    rows: Iterable[Sequence[str]], on: Sequence[Variable], *bindings: AggregateBinding
) -> dict[tuple[str, ...], tuple[str, ...]]:
    """Group -> results, of the distinct rows of ?x ?y ?z."""
    dictionary = TermDictionary()
    rule = compile_rule(Rule((), (Aggregate((Triple(X, Y, Z),), tuple(on), bindings),)), 0, dictionary)
    distinct = sorted(set(map(tuple, rows)))
    columns = {
        rule.slot(variable): np.array([dictionary.encode(row[i]) for row in distinct], np.uint32)
        for i, variable in enumerate((X, Y, Z))
    }
    result = group(Batch(len(distinct), columns), rule.groupings[0], rule, dictionary)
    assert set(result.columns) == {rule.slot(v) for v in (*on, *(binding.variable for binding in bindings))}
    assert {column.size for column in result.columns.values()} <= {result.size}
    keys = zip(*(dictionary.decode_all(result.columns[rule.slot(v)].tolist()) for v in on), strict=True)
    results = [dictionary.decode_all(result.columns[rule.slot(b.variable)].tolist()) for b in bindings]
    found = list(zip(keys if on else [()] * result.size, zip(*results, strict=True), strict=True))
    assert len(dict(found)) == len(found)
    return dict(found)


def one(function: str, values: Iterable[str], argument: Expression = Z, distinct: bool = False) -> str | None:
    """The aggregate over one group with these values, each in its own row; None if it has no result."""
    rows = [(A, f"<http://example.org/row{i}>", value) for i, value in enumerate(values)]
    found = grouped(rows, [X], AggregateBinding(function, argument, RESULT, distinct))
    return found[(A,)][0] if found else None


CASES = [
    ("sum", [integer(1), integer(2), integer(2)], integer(5)),
    ("sum", [integer(1), decimal("0.5")], decimal("1.5")),
    ("sum", [decimal("0.1")] * 3, decimal("0.3")),
    ("sum", [double("1e16"), double("1"), double("-1e16")], double("1")),
    ("sum", [double("1e308"), double("1e308")], double("INF")),
    ("sum", [double("INF"), double("-INF")], double("NaN")),
    ("sum", [f'"{0.1}"^^<{XSD}float>', integer(1)], f'"1.1"^^<{XSD}float>'),
    ("sum", [f'"1"^^<{XSD}byte>'], integer(1)),
    ("avg", [integer(1), integer(2)], decimal("1.5")),
    ("avg", [integer(2), integer(2)], decimal("2")),
    ("avg", [integer(1), integer(1), integer(0)], decimal("0.666666666666666667")),
    ("avg", [double("1"), integer(2)], double("1.5")),
    ("min", [integer(3), decimal("2.5"), double("1e1")], decimal("2.5")),
    ("max", [integer(3), decimal("2.5"), double("1e1")], double("1e1")),
    ("min", [decimal("1.0"), integer(1)], integer(1)),
    ("max", [decimal("1.0"), integer(1)], integer(1)),
    ("min", ['"b"', '"a"'], '"a"'),
    ("max", [f'"2000-01-02"^^<{XSD}date>', f'"2000-01-01"^^<{XSD}date>'], f'"2000-01-02"^^<{XSD}date>'),
    ("median", [integer(5), integer(1), integer(3)], decimal("3")),
    ("median", [integer(5), integer(1), integer(3), integer(2)], decimal("2.5")),
    ("median", [integer(1), integer(1), integer(5)], decimal("1")),
    ("median", [double("2"), integer(1)], double("1.5")),
    ("median", [double("2"), double("NaN"), integer(1)], double("NaN")),
    ("count", [integer(1), A, '"a"'], integer(3)),
    # Not one value that can be computed with: no result.
    ("sum", [integer(1), '"a"'], None),
    ("avg", [A], None),
    ("min", [integer(1), '"a"'], None),
    ("min", [A], None),
    ("max", [A, B], None),
    ("median", [integer(1), '"2"'], None),
    ("sum", [f'"x"^^<{XSD}integer>'], None),
]


@pytest.mark.parametrize(("function", "values", "expected"), CASES)
def test_result(function: str, values: list[str], expected: str | None) -> None:
    assert one(function, values) == expected
    assert one(function, reversed(values)) == expected


@pytest.mark.parametrize(
    ("function", "expected"),
    [("count", integer(2)), ("sum", integer(3)), ("avg", decimal("1.5")), ("median", decimal("1.5"))],
)
def test_distinct_takes_every_value_once(function: str, expected: str) -> None:
    values = [integer(1), integer(2), integer(2), integer(2)]
    assert one(function, values, distinct=True) == expected


def test_groups_are_apart() -> None:
    rows = [(A, A, integer(1)), (A, B, integer(2)), (B, A, integer(3)), (B, A, integer(3))]
    total, count = AggregateBinding("sum", Z, RESULT), AggregateBinding("count", None, Variable("n"))
    assert grouped(rows, [X], total, count) == {
        (A,): (integer(3), integer(2)),
        (B,): (integer(3), integer(1)),
    }
    assert grouped(rows, [X, Y], total).keys() == {(A, A), (A, B), (B, A)}
    assert grouped(rows, [], total, count) == {(): (integer(6), integer(3))}


def test_without_rows_there_are_no_groups() -> None:
    count = AggregateBinding("count", None, RESULT)
    assert grouped([], [X], count) == {}
    assert grouped([], [], count) == {}


def test_a_group_with_an_error_has_no_row_and_others_have() -> None:
    rows = [(A, A, '"a"'), (A, B, integer(1)), (B, A, integer(1))]
    total, count = AggregateBinding("sum", Z, RESULT), AggregateBinding("count", Z, Variable("n"))
    assert grouped(rows, [X], count, total) == {(B,): (integer(1), integer(1))}


def test_the_argument_is_an_expression() -> None:
    double_z = Call("*", (Z, Literal("2", XSD + "integer")))
    assert one("sum", [integer(1), integer(2)], double_z) == integer(6)
    assert one("sum", [integer(1), '"a"'], double_z) is None
    assert one("count", [integer(1), '"a"', integer(2)], double_z) == integer(2)
    assert one("count", ['"a"'], double_z) == integer(0)
    parity = Call("floor", (Call("/", (Z, Literal("2", XSD + "integer"))),))
    assert one("count", map(integer, [1, 2, 3, 4]), parity, distinct=True) == integer(3)


rows_of_numbers = st.lists(
    st.tuples(
        st.sampled_from([A, B, C]),
        st.sampled_from([A, B, C]),
        st.sampled_from([integer(0), integer(3), integer(-7), decimal("0.5"), double("0.25"), '"a"', A]),
    ),
    max_size=20,
)


@settings(max_examples=150, deadline=None)
@given(
    rows_of_numbers,
    st.sampled_from([(), (X,), (X, Y)]),
    st.sampled_from(["count", "sum", "avg", "min", "max"]),
    st.booleans(),
)
def test_agrees_with_pyoxigraph(
    rows: list[tuple[str, str, str]], on: tuple[Variable, ...], function: str, distinct: bool
) -> None:
    """Up to how numbers are written, for groups of numbers only: the least of other terms is not ours."""
    if function != "count":
        rows = [row for row in rows if row[2] not in ('"a"', A)]
    ours = grouped(rows, on, AggregateBinding(function, Z, RESULT, distinct))
    keys = " ".join(f"?{variable.name}" for variable in on)
    table = " ".join(f"({' '.join(row)})" for row in set(rows))
    chosen = f"{function}({'DISTINCT ' if distinct else ''}?z)"
    query = f"SELECT {keys} ({chosen} AS ?result) {{ VALUES (?x ?y ?z) {{ {table} }} }}"
    query += f" GROUP BY {keys}" if on else ""
    solutions = pyoxigraph.Store().query(query)
    assert isinstance(solutions, pyoxigraph.QuerySolutions)
    theirs = {tuple(map(str, list(row)[:-1])): (str(row["result"]),) for row in solutions} if rows else {}
    assert {key: numbers(found) for key, found in ours.items()} == {
        key: numbers(found) for key, found in theirs.items()
    }


def numbers(texts: tuple[str, ...]) -> list[float]:
    """Numbers up to the digits in which divisions differ."""
    found = []
    for text in texts:
        constant = parse_constant(text)
        assert isinstance(constant, Literal)
        value = numeric_value(constant.lexical, constant.datatype)
        assert value is not None
        found.append(round(float(value), 12))
    return found


@given(rows_of_numbers, st.sampled_from([(), (Y,), (Z, X)]))
def test_counts_are_those_of_a_plain_loop(rows: list[tuple[str, str, str]], on: tuple[Variable, ...]) -> None:
    members = defaultdict(set)
    for row in rows:
        members[tuple(row[(X, Y, Z).index(variable)] for variable in on)].add(row)
    found = grouped(
        rows,
        on,
        AggregateBinding("count", None, RESULT),
        AggregateBinding("count", None, Variable("d"), distinct=True),
        AggregateBinding("count", Z, Variable("v"), distinct=True),
    )
    assert found == {
        key: (integer(len(group)), integer(len(group)), integer(len({row[2] for row in group})))
        for key, group in members.items()
    }
