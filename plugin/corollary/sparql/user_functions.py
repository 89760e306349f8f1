"""Functions of users: what a store calls for an IRI in a query, term by term or column by column.

Precondition: a function depends on its arguments only. It is called once for each distinct combination of
terms, or for each row. An argument without a value is an error of the expression, and the function is not
called. A result without a value (None, null) is an error, too. An exception of the function ends the query.

Invariant: what a *vectorised* function receives for a row does not depend on other rows. Its columns have the
texts of terms (``STR``), or floats.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from rdflib.term import Literal, Node, URIRef

from corollary.expressions.operators import ExpressionError
from corollary.language import CorollaryError
from corollary.sparql.builtin_functions import number

TEXTS, NUMBERS = "texts", "numbers"
"""What a column of arguments has: large strings of Arrow, or 64-bit floats."""


@dataclass(frozen=True)
class UserFunction:
    """A function, by the IRI that calls it. ``takes`` (TEXTS, NUMBERS) is None if it takes terms."""

    iri: URIRef
    function: Callable[..., Any]
    takes: str | None

    def value(self, *arguments: Node) -> Node:
        """The value for terms. Raises ``ExpressionError`` if there is none."""
        if self.takes is None:
            return self._term(self._called(arguments))
        read = _number if self.takes == NUMBERS else str
        found = self.column([_column(self.takes, [read(term)]) for term in arguments], 1)
        return self._term(found[0].as_py())

    def column(self, columns: Sequence[Any], size: int) -> Any:
        """The values for columns of arguments, as an array of Arrow.

        Raises CorollaryError if the function returns no column, or one of another size.
        """
        import pyarrow

        found = self._called(columns)
        try:
            if isinstance(found, str):
                raise TypeError("one text")
            if isinstance(found, pyarrow.ChunkedArray):
                found = found.combine_chunks()
            values = found if isinstance(found, pyarrow.Array) else pyarrow.array(found)
            if pyarrow.types.is_dictionary(values.type):
                values = values.dictionary_decode()
        except (TypeError, ValueError, OverflowError, pyarrow.ArrowException) as error:
            raise CorollaryError(
                f"<{self.iri}> returned {type(found).__name__}, and a column was expected, which "
                f"pyarrow.array takes ({error})"
            ) from error
        if len(values) != size:
            raise CorollaryError(
                f"<{self.iri}> returned {len(values):,} values for {size:,} rows: it must return one for each"
            )
        return values

    def _called(self, arguments: Sequence[Any]) -> Any:
        """The function's result. What means something to iterators, or to rdflib, becomes RuntimeError.

        StopIteration would end the iteration over batches, and rdflib would answer after NotImplementedError.
        """
        try:
            return self.function(*arguments)
        except (NotImplementedError, StopIteration) as error:
            raise RuntimeError(f"<{self.iri}>: {str(error) or type(error).__name__}") from error

    def _term(self, value: Any) -> Node:
        if value is None:
            raise ExpressionError(f"<{self.iri}> has no value")
        if isinstance(value, np.generic):
            value = value.item()
        return value if isinstance(value, Node) else self.literal(value)

    @staticmethod
    def literal(value: Any) -> Literal:
        """The literal of a value of Python. Raises CorollaryError if it has no datatype of XML Schema."""
        literal = Literal(value)
        if literal.datatype is None and not isinstance(value, str):
            raise CorollaryError(
                f"a function returned {value!r}, which is no term, and no value of a datatype of XML Schema"
            )
        return literal


NO_FUNCTIONS: Mapping[URIRef, UserFunction] = {}


def _column(takes: str, values: list[Any]) -> Any:
    import pyarrow

    return pyarrow.array(values, pyarrow.float64() if takes == NUMBERS else pyarrow.large_string())


def _number(term: Node) -> float:
    """The value of a number. Raises ``ExpressionError`` for other terms."""
    return float(number(term))
