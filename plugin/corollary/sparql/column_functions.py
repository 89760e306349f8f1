"""Expressions evaluated on columns: once for each distinct term of a variable, or for each row.

What is not decided on columns is left to the evaluation on terms, row by row (``undecided``), or as a whole
(``Unsupported``). Invariant: what is decided here has the value that the evaluation on terms has, with the
same lexical form and datatype.

Here are the evaluation of nested calls, the table of all functions, and the functions of users; the modules
``column_logic``, ``column_comparisons``, ``column_arithmetic``, ``column_times``, ``column_terms`` and
``column_strings`` have the others.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from rdflib.term import Literal, URIRef, Variable

from corollary.expressions.operators import ExpressionError
from corollary.kernels.limits import check
from corollary.kernels.sorted import Column, Mask, Rows
from corollary.sparql.algebra import Call, FunctionCall
from corollary.sparql.column_arguments import (
    ColumnArguments,
    Part,
    Table,
    Unsupported,
    errors,
    no_rows,
)
from corollary.sparql.column_arithmetic import ARITHMETIC
from corollary.sparql.column_comparisons import COMPARISONS
from corollary.sparql.column_logic import LOGIC
from corollary.sparql.column_strings import STRINGS
from corollary.sparql.column_terms import TERMS, cast
from corollary.sparql.column_times import TIMES
from corollary.sparql.column_values import (
    LARGEST,
    Booleans,
    Ids,
    Numbers,
    Texts,
    Values,
)
from corollary.sparql.query_terms import QueryTerms
from corollary.sparql.term_evaluation import CHAINED
from corollary.sparql.term_texts import mask_of
from corollary.sparql.user_functions import NO_FUNCTIONS, NUMBERS, UserFunction
from corollary.sparql.value_columns import Code
from corollary.sparql.written_literals import UNBOUND

FUNCTIONS: Table = {**LOGIC, **COMPARISONS, **ARITHMETIC, **TIMES, **TERMS, **STRINGS}
"""The built-in functions and operators that are evaluated on columns, by name."""


class ColumnEvaluator(ColumnArguments):
    """Evaluates expressions for one batch of ``size`` rows. ``column_of`` gives the ids of a variable."""

    def __init__(
        self,
        terms: QueryTerms,
        column_of: Callable[[Variable], Column],
        size: int,
        functions: Mapping[URIRef, UserFunction] = NO_FUNCTIONS,
    ) -> None:
        super().__init__(terms, column_of, size)
        self.functions = functions
        self._left: tuple[Any, Part] | None = None
        """The left operand of the call that is evaluated next, and its values."""

    def part(self, expression: Any) -> Part | None:
        """The values on their domain; None if the expression is not evaluated on columns."""
        try:
            return self.evaluated(expression)
        except (Unsupported, ExpressionError, UnicodeEncodeError):
            return None

    def evaluated(self, node: Any) -> Part:
        """See ``ColumnArguments``. Chains of ``+``, ``-`` ... are evaluated without recursion."""
        if self._left is not None and self._left[0] is node:
            found, self._left = self._left[1], None
            return found
        chained = []
        while isinstance(node, Call) and node.name in CHAINED:
            chained.append(node)
            node = node.arguments[0]
        if not chained:
            return self._called(node)
        for call in reversed(chained):  # without recursion
            found = self._called(call)
            self._left = call, found
        self._left = None
        return found

    def _called(self, node: Any) -> Part:
        check()
        if isinstance(node, Variable):
            ids = self.domain(node)[0]
            return Part(Ids(ids == UNBOUND, np.zeros(ids.size, np.bool_), ids), node)
        if isinstance(node, Literal | URIRef):
            ids = np.array([self.terms.id_of(node)], np.uint32)
            return Part(Ids(no_rows(1), no_rows(1), ids), None)
        if isinstance(node, FunctionCall):
            own = self.functions.get(node.iri)
            return cast(self, node) if own is None else _of_user(self, own, node)
        if not isinstance(node, Call):
            raise Unsupported
        function = FUNCTIONS.get(node.name)
        if function is None:
            raise Unsupported
        return function(self, *node.arguments)


def _of_user(own: ColumnArguments, function: UserFunction, call: FunctionCall) -> Part:
    """A user's vectorised function, called once: for the places of the domain whose arguments have values."""
    import pyarrow

    if function.takes is None or not call.arguments:
        raise Unsupported
    values, over = own.together(call.arguments)
    parts: list[Numbers] | list[Texts]
    if function.takes == NUMBERS:
        parts = [own.numbers(each) for each in values]
        columns = [pyarrow.array(part.doubles()) for part in parts]
    else:
        parts = [own.texts(each, any_term=True) for each in values]
        columns = [part.texts for part in parts]
    failed, undecided = errors(parts)
    rows = np.flatnonzero(~failed & ~undecided)
    if not rows.size:
        return Part(Ids(failed, undecided, np.full(failed.size, UNBOUND, np.uint32)), over)
    found = function.column([column.take(rows) for column in columns], rows.size)
    missing = mask_of(found.is_null())
    failed[rows[missing]] = True
    places = np.zeros(failed.size, np.int64)
    places[rows] = np.arange(rows.size)
    return Part(_values_of(own, found, places, failed, undecided), over)


def _values_of(own: ColumnArguments, found: Any, places: Rows, failed: Mask, undecided: Mask) -> Values:
    """The values of an Arrow array at some places; any value where ``failed`` or ``undecided``."""
    import pyarrow

    types = pyarrow.types
    if types.is_boolean(found.type):
        return Booleans(failed, undecided, mask_of(found.fill_null(False))[places])
    if types.is_string(found.type) or types.is_large_string(found.type):
        texts = found.cast(pyarrow.large_string()).fill_null("")
        return Texts(failed, undecided, texts.take(places), None)
    if types.is_floating(found.type):
        doubles = found.cast(pyarrow.float64()).fill_null(0.0).to_numpy()[places]
        codes = np.full(places.size, Code.DOUBLE, np.uint8)
        return Numbers(failed, undecided, codes, doubles.view(np.int64), np.zeros(places.size, np.int16))
    if types.is_integer(found.type) and not types.is_uint64(found.type):
        whole = found.cast(pyarrow.int64()).fill_null(0).to_numpy()[places]
        is_large = (whole <= -LARGEST) | (whole >= LARGEST)
        return Numbers.whole(whole, failed, undecided | (is_large & ~failed))
    values = found.to_pylist()
    ids = [UNBOUND if value is None else own.terms.id_of(UserFunction.literal(value)) for value in values]
    return Ids(failed, undecided, np.array(ids, np.uint32)[places])
