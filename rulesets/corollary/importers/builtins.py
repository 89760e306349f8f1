"""Translation of builtins of other rule languages into expressions.

A builtin is a relation over its arguments. A test becomes a ``FILTER``. A computation becomes a ``BIND`` of
its result or, if another body element binds the result, a ``FILTER`` that compares the two values.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass
from functools import reduce

from corollary.language.model import Bind, BodyElement, Call, Expression, Filter, Variable


class Inapplicable(Exception):
    """A builtin with a wrong number of arguments. The text says how many it takes."""


Test = Callable[[Sequence[Expression]], Expression]
"""Function from arguments to an expression: a condition, or a value. Raises Inapplicable."""


@dataclass(frozen=True)
class Computed:
    """The value that a builtin computes, and the variable or constant that it has to equal."""

    value: Expression
    result: Expression


def function(name: str, least: int, most: int | None = None) -> Test:
    """A function or operator with ``least`` to ``most`` arguments; exactly ``least`` without ``most``."""
    most = least if most is None else most

    def call(arguments: Sequence[Expression]) -> Expression:
        if not least <= len(arguments) <= most:
            wanted = str(least) if least == most else f"{least} to {most}"
            raise Inapplicable(f"it takes {wanted} arguments, here are {len(arguments)}")
        return Call(name, tuple(arguments))

    return call


def folded(operator: str) -> Test:
    """A left-associative operator over two or more arguments: ``a + b + c``."""

    def call(arguments: Sequence[Expression]) -> Expression:
        if len(arguments) < 2:
            raise Inapplicable(f"it takes two arguments or more, here are {len(arguments)}")
        return reduce(lambda left, right: Call(operator, (left, right)), arguments)

    return call


def joined(arguments: Sequence[Expression]) -> Expression:
    """The concatenation of the arguments; each is converted by ``str``."""
    return Call("concat", tuple(Call("str", (argument,)) for argument in arguments))


def negated(test: Test) -> Test:
    """The negation of a test."""
    return lambda arguments: Call("!", (test(arguments),))


def without_case(test: Test) -> Test:
    """A test of the arguments in lower case."""
    return lambda arguments: test([Call("lcase", (argument,)) for argument in arguments])


COMPARISONS = {operator: function(operator, 2) for operator in ("=", "!=", "<", "<=", ">", ">=")}


def elements(computed: Iterable[Computed], bound: Collection[Variable]) -> list[BodyElement]:
    """``BIND`` for a result that is a variable not bound yet, ``FILTER`` for all others.

    ``bound`` are the variables that the rest of the body binds.
    """
    known = set(bound)
    found: list[BodyElement] = []
    for one in computed:
        if isinstance(one.result, Variable) and one.result not in known:
            known.add(one.result)
            found.append(Bind(one.value, one.result))
        else:
            found.append(Filter(Call("=", (one.value, one.result))))
    return found
