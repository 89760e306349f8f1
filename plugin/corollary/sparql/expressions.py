"""Expressions over batches: evaluated once for every distinct combination of the values that they read.

Conditions are decided on ids or columns where that is possible, else on terms, see ``term_evaluation``.
EXISTS is evaluated first, for the whole batch: a hidden variable takes its place. Volatile expressions (RAND,
UUID, BNODE, functions registered with rdflib), whose result may differ for equal values, are evaluated for
every row.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
from rdflib.term import Literal, Node, URIRef, Variable

from corollary.columns.numbering import number_keys
from corollary.execute.batches import Batch, filled
from corollary.execute.filters import number_rows
from corollary.expressions.operators import ExpressionError
from corollary.kernels.limits import check, current
from corollary.kernels.sorted import Column, Mask, Rows
from corollary.sparql.algebra import (
    Call,
    Exists,
    Expression,
    Operator,
    conjuncts,
    has_exists,
    is_constant,
    mentioned,
    rewritten,
)
from corollary.sparql.builtin_functions import is_true, order_key, order_keys
from corollary.sparql.column_arguments import ColumnArguments, Part, Unsupported
from corollary.sparql.column_values import Booleans, Numbers, Texts, Values, ranks_of_values
from corollary.sparql.query_terms import QueryTerms
from corollary.sparql.term_evaluation import Environment, Evaluate, Row, compiled, is_volatile
from corollary.sparql.term_order import ranks_of_keys, term_ranks
from corollary.sparql.tuning import MIN_TERMS_ON_COLUMNS, ROWS_DECODED_AT_ONCE, ROWS_ON_COLUMNS_AT_ONCE
from corollary.sparql.written_literals import UNBOUND

if TYPE_CHECKING:
    from corollary.sparql.column_functions import ColumnEvaluator

FindSolutions = Callable[[Operator, Batch], Mask]
"""For each row of a batch, whether a graph pattern has a solution."""


def _slices(expression: Any, batch: Batch) -> Iterator[Batch]:
    """The batch, or parts of it if an expression of several variables is evaluated for very many rows.

    Between parts a query can be cancelled.
    """
    if batch.size <= ROWS_ON_COLUMNS_AT_ONCE or len(mentioned(expression)) < 2:
        yield batch
        return
    for start in range(0, batch.size, ROWS_ON_COLUMNS_AT_ONCE):
        yield batch.take(np.arange(start, min(batch.size, start + ROWS_ON_COLUMNS_AT_ONCE)))


def _as_numbers(evaluator: ColumnArguments, values: Values) -> Numbers:
    """The values as numbers: truth values and strings are none, so sums of them are errors."""
    if isinstance(values, Booleans | Texts):
        return Numbers.whole(np.zeros(values.size, np.int64), ~values.undecided, values.undecided)
    return values if isinstance(values, Numbers) else evaluator.numbers(values)


class Expressions:
    """Evaluates expressions over batches, for one query."""

    def __init__(
        self,
        environment: Environment,
        given: Mapping[Variable, Node],
        terms: QueryTerms,
        numbers: dict[Node, int],
    ) -> None:
        """``given`` are the bindings of the query."""
        self._environment = environment
        self._given = given
        self._terms = terms
        self._numbers = numbers

    def true_rows(self, expression: Any, batch: Batch, exists: FindSolutions) -> Mask:
        """For each row, whether the expression is true; an error counts as false."""
        parts = conjuncts(expression)
        true = self._true_rows(parts[0], batch, exists)
        for part in parts[1:]:
            true = true & self._true_rows(part, batch, exists)
        return true

    def values(self, expression: Any, batch: Batch, exists: FindSolutions) -> Column:
        """The id of the expression's value for each row; UNBOUND for an error."""
        if isinstance(expression, Variable):
            return self.column(expression, batch)
        if is_constant(expression):
            return filled(batch.size, self._terms.id_of(expression))

        def by_terms(some: Batch) -> Column:
            return self._values_by_terms(expression, some, exists)

        found: Column = self._evaluated(expression, batch, ColumnArguments.ids, by_terms)
        return found

    def _evaluated(
        self,
        expression: Expression,
        batch: Batch,
        on_columns: Callable[[ColumnArguments, Part], tuple[Any, Mask]],
        by_terms: Callable[[Batch], Any],
    ) -> Any:
        """The result of ``on_columns`` for each row; of ``by_terms`` for rows that columns do not decide."""
        parts = []
        for some in _slices(expression, batch):
            check()
            evaluation = self._on_columns(expression, some)
            if evaluation is None:
                return by_terms(batch)
            evaluator, part = evaluation
            known, undecided = on_columns(evaluator, part)
            places = evaluator.numbers_of(part.over)
            found, rows = known[places], np.flatnonzero(undecided[places])
            if rows.size:
                found[rows] = by_terms(some.take(rows))
            parts.append(found)
        return parts[0] if len(parts) == 1 else np.concatenate(parts)

    def numbers(self, expression: Expression, batch: Batch) -> Numbers | None:
        """The number of each row; None if some are not decided on columns, and for a batch without rows."""
        if not batch.size:
            return None
        evaluator = self._evaluator(batch)
        part = evaluator.part(expression)
        try:
            found = None if part is None else _as_numbers(evaluator, part.values)
        except Unsupported:
            return None
        if part is None or found is None or found.undecided.any():
            return None
        return found.take(evaluator.numbers_of(part.over))

    def column_values(self, expression: Expression, batch: Batch) -> tuple[Values, Rows] | None:
        """Values on columns, and the place of each row's value; None for few rows, and if terms decide."""
        found = self._on_columns(expression, batch)
        return None if found is None else (found[1].values, found[0].numbers_of(found[1].over))

    def _evaluator(self, batch: Batch) -> ColumnEvaluator:
        from corollary.sparql.column_functions import ColumnEvaluator  # not for the first small query

        return ColumnEvaluator(
            self._terms,
            lambda variable: self.column(variable, batch),
            batch.size,
            self._environment.functions,
        )

    def _on_columns(self, expression: Expression, batch: Batch) -> tuple[ColumnArguments, Part] | None:
        """The values on columns with their evaluator; None for few rows, and if terms have to decide."""
        if batch.size < MIN_TERMS_ON_COLUMNS:
            return None
        evaluator = self._evaluator(batch)
        part = evaluator.part(expression)
        return None if part is None else (evaluator, part)

    def _values_by_terms(self, expression: Expression, batch: Batch, exists: FindSolutions) -> Column:
        def evaluate(own: Evaluate, row: Row) -> int:
            try:
                return self._terms.id_of(own(row))
            except ExpressionError:
                return UNBOUND

        results, numbers = self._over_rows(expression, batch, exists, evaluate)
        column: Column = np.array(results, np.uint32)[numbers]
        return column

    def ranks(self, expression: Any, batch: Batch, exists: FindSolutions) -> Rows:
        """Numbers that order the rows by the expression's values. Errors and unbound values come first."""
        if isinstance(expression, Variable):
            return self._ranks_of(self.column(expression, batch))

        on_columns = self._on_columns(expression, batch)
        if on_columns is not None:
            evaluator, part = on_columns
            found = ranks_of_values(part.values)
            if found is not None:
                return found[evaluator.numbers_of(part.over)]
            return self._ranks_of(self.values(expression, batch, exists))

        def evaluate(own: Evaluate, row: Row) -> Any:
            try:
                return order_key(own(row))
            except ExpressionError:
                return order_key(None)

        keys, numbers = self._over_rows(expression, batch, exists, evaluate)
        return ranks_of_keys(keys)[numbers]

    def _ranks_of(self, column: Column) -> Rows:
        """The ranks of terms, 0 for UNBOUND."""
        rows, numbers = number_keys(column)
        ids = column[rows]
        bound = ids[ids != UNBOUND]
        found = term_ranks(bound, self._terms, bound.size)
        if found is None:
            found = ranks_of_keys(order_keys(self._terms.decode(bound)))
        ranks: Rows = np.zeros(ids.size, np.int64)
        ranks[ids != UNBOUND] = found + 1
        return ranks[numbers]

    def column(self, variable: Variable, batch: Batch) -> Column:
        """A variable's column. Where the variable is unbound, the value given with the query, if any."""
        column = batch.columns.get(self._numbers.get(variable, 0))
        if variable not in self._given:
            return filled(batch.size, UNBOUND) if column is None else column
        own = self._terms.id_of(self._given[variable])
        return (
            filled(batch.size, own) if column is None else np.where(column == UNBOUND, np.uint32(own), column)
        )

    def _true_rows(self, expression: Any, batch: Batch, exists: FindSolutions) -> Mask:
        if isinstance(expression, Exists):
            found = exists(expression.pattern, batch)
            return ~found if expression.is_negated else found
        decided = self._by_ids(expression, batch)
        if decided is not None:
            return decided

        def by_terms(some: Batch) -> Mask:
            return self._true_by_terms(expression, some, exists)

        found = self._evaluated(expression, batch, ColumnArguments.truths, by_terms)
        true: Mask = found
        return true

    def _true_by_terms(self, expression: Expression, batch: Batch, exists: FindSolutions) -> Mask:
        def evaluate(own: Evaluate, row: Row) -> bool:
            try:
                return is_true(own(row))
            except ExpressionError:
                return False

        results, numbers = self._over_rows(expression, batch, exists, evaluate)
        found: Mask = np.array(results, np.bool_)[numbers]
        return found

    def _by_ids(self, expression: Any, batch: Batch) -> Mask | None:
        """``?x = <iri>``, ``?x != <iri>``, ``BOUND(?x)`` and ``!BOUND(?x)``, decided on ids; else None."""
        match expression:
            case Call(name="BOUND", arguments=(Variable() as variable,)):
                is_bound: Mask = self.column(variable, batch) != UNBOUND
                return is_bound
            case Call(name="!", arguments=(Call(name="BOUND", arguments=(Variable(),)) as inner,)):
                found = self._by_ids(inner, batch)
                return None if found is None else ~found
        if not isinstance(expression, Call) or expression.name not in ("=", "!="):
            return None
        left, right = expression.arguments
        if isinstance(left, URIRef):
            left, right = right, left
        if not isinstance(left, Variable) or not isinstance(right, URIRef):
            return None
        column = self.column(left, batch)
        equal: Mask = column == self._terms.id_of(right)
        return equal if expression.name == "=" else ~equal & (column != UNBOUND)

    def _over_rows(
        self,
        expression: Expression,
        batch: Batch,
        exists: FindSolutions,
        evaluate: Callable[[Evaluate, Row], Any],
    ) -> tuple[list[Any], Rows]:
        """The results for all distinct combinations of values that the expression reads.

        Also returns the number of each row's result.
        """
        expression, batch, names = self._without_exists(expression, batch, exists)
        names |= {v: self._numbers[v] for v in mentioned(expression) if v in self._numbers}
        read = [(variable, number) for variable, number in names.items() if number in batch.columns]
        numbers: Rows
        if is_volatile(expression, self._environment.functions):
            rows = numbers = np.arange(batch.size)
        else:
            rows, numbers = number_rows(batch, [number for _, number in read])
        own = compiled(expression, self._environment)
        variables = [variable for variable, _ in read]
        results = []
        given, work = self._given, current()
        for start in range(0, rows.size, ROWS_DECODED_AT_ONCE):
            some = rows[start : start + ROWS_DECODED_AT_ONCE]
            columns = [self._terms.decode(batch.columns[number][some]) for _, number in read]
            for terms in zip(*columns, strict=True) if columns else [()] * some.size:
                work.check()
                row = {v: term for v, term in zip(variables, terms, strict=True) if term is not None}
                results.append(evaluate(own, {**given, **row} if given else row))
        return results, numbers

    def _without_exists(
        self, expression: Expression, batch: Batch, exists: FindSolutions
    ) -> tuple[Expression, Batch, dict[Variable, int]]:
        """The expression with hidden variables for EXISTS; the batch with their columns; their numbers."""
        names: dict[Variable, int] = {}
        if not has_exists(expression):
            return expression, batch, names
        hidden: dict[int, Column] = {}
        yes, no = Literal(True), Literal(False)

        def hide(node: Any) -> Any:
            if not isinstance(node, Exists):
                return node
            found = exists(node.pattern, batch)
            variable = Variable(f"__exists_{len(names)}")
            names[variable] = 1 + len(names)  # variables of the query have negative numbers
            true, false = (self._terms.id_of(term) for term in ((no, yes) if node.is_negated else (yes, no)))
            hidden[names[variable]] = np.where(found, np.uint32(true), np.uint32(false))
            return variable

        expression = rewritten(expression, hide, (Exists,))
        return expression, Batch(batch.size, batch.columns | hidden), names
