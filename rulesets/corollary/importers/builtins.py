"""Builtins of other rule languages in terms of ours: what each computes or tests.

Such a builtin is a relation over arguments. One that tests becomes a ``FILTER``. One that computes becomes a
``BIND`` of its result or, if something else binds that already, a ``FILTER`` that compares.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass
from functools import reduce

from corollary.language.model import Bind, BodyElement, Call, Expression, Filter, Variable


class Inapplicable(Exception):
    """A builtin with arguments that it does not take; the text says which it takes."""


Test = Callable[[Sequence[Expression]], Expression]
"""From arguments to a condition, or to a value. Raises Inapplicable."""


@dataclass(frozen=True)
class Computed:
    """A value that a builtin computes, and what its result is to be."""

    value: Expression
    result: Expression


def function(name: str, least: int, most: int | None = None) -> Test:
    """A function or operator of ours with that many arguments."""
    most = least if most is None else most

    def call(arguments: Sequence[Expression]) -> Expression:
        if not least <= len(arguments) <= most:
            wanted = str(least) if least == most else f"{least} to {most}"
            raise Inapplicable(f"it takes {wanted} arguments, here are {len(arguments)}")
        return Call(name, tuple(arguments))

    return call


def folded(operator: str) -> Test:
    """An operator between all arguments, of which there are two at least."""

    def call(arguments: Sequence[Expression]) -> Expression:
        if len(arguments) < 2:
            raise Inapplicable(f"it takes two arguments or more, here are {len(arguments)}")
        return reduce(lambda left, right: Call(operator, (left, right)), arguments)

    return call


def joined(arguments: Sequence[Expression]) -> Expression:
    """Strings in a row; what is no string is taken as it is written."""
    return Call("concat", tuple(Call("str", (argument,)) for argument in arguments))


def negated(test: Test) -> Test:
    return lambda arguments: Call("!", (test(arguments),))


def without_case(test: Test) -> Test:
    return lambda arguments: test([Call("lcase", (argument,)) for argument in arguments])


COMPARISONS = {operator: function(operator, 2) for operator in ("=", "!=", "<", "<=", ">", ">=")}


def elements(computed: Iterable[Computed], bound: Collection[Variable]) -> list[BodyElement]:
    """BIND for a result that nothing else binds, FILTER for all others."""
    known = set(bound)
    found: list[BodyElement] = []
    for one in computed:
        if isinstance(one.result, Variable) and one.result not in known:
            known.add(one.result)
            found.append(Bind(one.value, one.result))
        else:
            found.append(Filter(Call("=", (one.value, one.result))))
    return found
