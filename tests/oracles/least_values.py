"""The least values of a recursive aggregate, by Bellman and Ford's rounds over exact fractions.

Nothing is shared with the engine but how a number is written. Edges are given as a list: how they are
matched is not tested here.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from decimal import Decimal, localcontext
from fractions import Fraction
from math import inf, isfinite

from corollary.expressions.operators import Number, Rank, literal_of
from corollary.language.model import IRI, XSD, Constant, Literal

Fact = tuple[Constant, Constant, Constant]
Value = Fraction | float
NAMES = ("integer", "decimal", "double")


class Endless(Exception):
    """There is no least value."""


def read(term: Constant) -> tuple[int, Value] | None:
    """The place in ``NAMES`` and the number of a literal."""
    if not isinstance(term, Literal) or term.datatype is None:
        return None
    name = term.datatype.removeprefix(XSD)
    if name in ("double", "float"):
        return 2, float(term.lexical.replace("INF", "inf"))
    try:
        return (0 if name == "integer" else NAMES.index(name)), Fraction(Decimal(term.lexical))
    except (ArithmeticError, ValueError):
        return None


def write(rank: int, value: Value) -> Literal:
    """The canonical literal."""
    if rank == 2:
        return literal_of(Number(Rank.DOUBLE, float(value) + 0.0))
    exact = Fraction(value)
    if rank == 0:
        return literal_of(Number(Rank.INTEGER, int(exact)))
    with localcontext(prec=200):
        return literal_of(Number(Rank.DECIMAL, Decimal(exact.numerator) / Decimal(exact.denominator)))


def derived(
    facts: Iterable[Fact],
    predicate: IRI,
    edges: Sequence[tuple[Constant, Constant, Constant]],
    *,
    is_max: bool = False,
    is_minus: bool = False,
) -> set[Fact]:
    """The derived facts, from all facts of the predicate as seeds, and edges (source, group, step)."""
    worst = -inf if is_max else inf
    seeds = [
        (s, number)
        for s, p, o in facts
        if p == predicate and (number := read(o)) is not None and number[1] == number[1] != worst
    ]
    steps = [
        (x, y, number)
        for x, y, w in edges
        if (number := read(w)) is not None and (number[0] < 2 or isfinite(number[1]))
    ]
    ranks = [number[0] for _, number in seeds] + [number[0] for _, _, number in steps]
    rank = max(ranks, default=0)

    def common(value: Value) -> Value:
        return float(value) if rank == 2 else value

    def is_better(one: Value, other: Value | None) -> bool:
        return one != worst and (other is None or (one > other if is_max else one < other))

    best: dict[Constant, Value] = {}
    for node, (_, value) in seeds:
        if is_better(common(value), best.get(node)):
            best[node] = common(value)
    values = dict(best)
    nodes = {node for node, *_ in seeds} | {node for x, y, _ in steps for node in (x, y)}
    for _ in range(len(nodes) + 2):
        changed = False
        for x, y, (_, step) in steps:
            if x in values:
                total = values[x] - common(step) if is_minus else values[x] + common(step)
                if is_better(total, values.get(y)):
                    values[y], changed = total, True
        if not changed:
            return {
                (node, predicate, write(rank, value))
                for node, value in values.items()
                if best.get(node) != value
            }
    raise Endless
