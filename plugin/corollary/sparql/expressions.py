"""FILTER and BIND expressions: evaluated by rdflib, once for every distinct combination of values.

An expression is copied for each evaluation: rdflib's expressions keep their context while they are evaluated,
and parsed queries are shared between threads. EXISTS is evaluated first, for the whole batch. The copy has a
hidden variable in its place. Volatile expressions (RAND, BNODE, user functions), whose result may differ for
equal values, are evaluated for every row. ``OWN`` has the functions that are not rdflib's.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from itertools import pairwise
from types import SimpleNamespace
from typing import Any, cast

import numpy as np
from rdflib.namespace import XSD
from rdflib.plugins.sparql import operators
from rdflib.plugins.sparql.evalutils import _ebv, _eval, _val
from rdflib.plugins.sparql.parserutils import CompValue, Expr, value
from rdflib.plugins.sparql.sparql import FrozenBindings, QueryContext, SPARQLError
from rdflib.term import Literal, Node, URIRef, Variable

from corollary.execute.batches import Batch
from corollary.execute.filters import number_keys, number_rows
from corollary.expressions.operators import ExpressionError
from corollary.expressions.regular_expressions import compiled
from corollary.kernels.limits import check, reserve_text
from corollary.kernels.sorted import Column, Mask, Rows
from corollary.sparql.column_conditions import Conditions
from corollary.sparql.column_functions import ColumnEvaluator, Part, Unsupported
from corollary.sparql.column_values import Numbers, Texts, Values, ranks_of_numbers, ranks_of_texts
from corollary.sparql.expression_calls import call_of
from corollary.sparql.query_terms import UNBOUND, QueryTerms, filled
from corollary.sparql.term_order import term_ranks
from corollary.sparql.tuning import MIN_TERMS_ON_COLUMNS, ROWS_DECODED_AT_ONCE, ROWS_ON_COLUMNS_AT_ONCE

EXISTS = ("Builtin_EXISTS", "Builtin_NOTEXISTS")
VOLATILE = ("Builtin_RAND", "Builtin_UUID", "Builtin_STRUUID", "Builtin_BNODE")

AND = "ConditionalAndExpression"
OR = "ConditionalOrExpression"
COMPARISON = "RelationalExpression"
REGEX = "Builtin_REGEX"
REPLACE = "Builtin_REPLACE"
CONCAT = "Builtin_CONCAT"


Exists = Callable[[Any, Batch], Mask]
"""For each row of a batch, whether a graph pattern has a solution."""


def conjuncts(expression: Any) -> Iterator[Any]:
    """The conjuncts: operands of ``&&`` at the top, or the expression itself. A trivial filter has none."""
    if isinstance(expression, Expr) and expression.name == AND and expression.other:
        others = expression.other
        yield from conjuncts(expression.expr)
        for other in others if isinstance(others, list) else [others]:
            yield from conjuncts(other)
    elif not (isinstance(expression, Expr) and expression.name == "TrueFilter"):
        yield expression


def is_exists(expression: Any) -> bool:
    return isinstance(expression, Expr) and expression.name in EXISTS


def mentioned(node: Any) -> set[Variable]:
    """All variables in a part of a query, at any depth."""
    if isinstance(node, Variable):
        return {node}
    if isinstance(node, dict):
        return set().union(*(mentioned(part) for part in [*node, *node.values()]))
    if isinstance(node, list | tuple):
        return set().union(*(mentioned(part) for part in node))
    return set()


def has_exists(node: Any) -> bool:
    """Whether EXISTS or NOT EXISTS occurs in an expression."""
    if is_exists(node):
        return True
    parts = node.values() if isinstance(node, dict) else node if isinstance(node, list | tuple) else ()
    return any(has_exists(part) for part in parts)


def both(conjunction: Expr, row: FrozenBindings) -> Literal:
    """``&&`` as SPARQL defines it: false if an operand is false, even if another operand is an error."""
    failure = None
    for part in (dict.__getitem__(conjunction, "expr"), *dict.__getitem__(conjunction, "other")):
        try:
            if not operators.EBV(value(row, part)):
                return Literal(False)
        except SPARQLError as error:
            failure = error
    if failure is not None:
        raise failure
    return Literal(True)


def either(disjunction: Expr, row: FrozenBindings) -> Literal:
    """``||`` as SPARQL defines it: true if an operand is true, even if another one is an unbound variable."""
    failure = None
    for part in (dict.__getitem__(disjunction, "expr"), *dict.__getitem__(disjunction, "other")):
        try:
            if operators.EBV(value(row, part)):
                return Literal(True)
        except SPARQLError as error:
            failure = error
    if failure is not None:
        raise failure
    return Literal(False)


def compare(comparison: Expr, row: FrozenBindings) -> Literal:
    """Comparisons by rdflib, but IN and NOT IN compare values, as SPARQL defines; rdflib compares terms."""
    if comparison.op not in ("IN", "NOT IN"):
        return operators.RelationalExpression(comparison, row)
    wanted, members = comparison.expr, dict.__getitem__(comparison, "other")
    failure = None
    for part in members if isinstance(members, list) else ():  # the empty list is rdf:nil
        try:
            equality = SimpleNamespace(expr=wanted, op="=", other=value(row, part))
            if operators.RelationalExpression(cast(Expr, equality), row):
                return Literal(comparison.op == "IN")
        except SPARQLError as error:
            failure = error
    if failure is not None:
        raise failure
    return Literal(comparison.op == "NOT IN")


def regex(call: Expr, _: FrozenBindings) -> Literal:
    """``REGEX`` with XPath's regular expressions; rdflib has Python's."""
    text, pattern = (operators.string(part) for part in (call.text, call.pattern))
    try:
        return Literal(bool(compiled(str(pattern), _flags(call)).matches([str(text)])[0]))
    except ExpressionError as error:
        raise SPARQLError(str(error)) from None


def replace(call: Expr, _: FrozenBindings) -> Literal:
    """``REPLACE`` with XPath's regular expressions; keeps the language tag and the datatype."""
    text, pattern, replacement = (
        operators.string(part) for part in (call.arg, call.pattern, call.replacement)
    )
    try:
        replaced = compiled(str(pattern), _flags(call)).replaced(str(text), str(replacement))
    except ExpressionError as error:
        raise SPARQLError(str(error)) from None
    return Literal(replaced, datatype=text.datatype, lang=text.language)


def concat(call: Expr, row: FrozenBindings) -> Literal:
    """``CONCAT`` by rdflib, after memory for the text is reserved. Each argument is evaluated once."""
    parts = call.arg
    reserve_text(sum(len(part) for part in parts if isinstance(part, str)))
    return operators.Builtin_CONCAT(cast(Expr, SimpleNamespace(arg=parts)), row)


def _is_string(term: Node) -> bool:
    return isinstance(term, Literal) and term.datatype in (None, XSD.string)


def _flags(call: Expr) -> str:
    return "" if call.flags is None else str(operators.string(call.flags))


OWN: Mapping[str, Callable[[Expr, FrozenBindings], Literal]] = {
    AND: both,
    OR: either,
    COMPARISON: compare,
    REGEX: regex,
    REPLACE: replace,
    CONCAT: concat,
}
"""Functions that replace rdflib's, by rdflib's names."""


@dataclass
class _Copy:
    """Copies an expression. Collects its variables, and whether it is volatile.

    ``hide`` gives the hidden variable for an EXISTS.
    """

    hide: Callable[[Any], Variable]
    variables: set[Variable] = field(default_factory=set)
    volatile: bool = False

    def of(self, node: Any) -> Any:
        if isinstance(node, Variable):
            self.variables.add(node)
            return node
        if is_exists(node):
            hidden = self.hide(node)
            self.variables.add(hidden)
            return hidden
        if isinstance(node, Expr):
            self._notice(node)
            parts = {key: self.of(part) for key, part in node.items()}
            evaluate = None if node._evalfn is None else node._evalfn.__func__
            return Expr(node.name, OWN.get(node.name, evaluate), **parts)
        if isinstance(node, CompValue):
            return CompValue(node.name, **{key: self.of(part) for key, part in node.items()})
        if isinstance(node, list):
            return [self.of(part) for part in node]
        return node

    def _notice(self, node: Expr) -> None:
        if node.name in VOLATILE:
            self.volatile = True
        if node.name == "Function":
            function, raw = operators._CUSTOM_FUNCTIONS.get(node.iri, (None, False))
            if function is not None and function is not operators.default_cast:
                self.volatile = True
                if raw:
                    raise NotImplementedError("this function wants to see rdflib's own evaluation")


def _order_key(term: Any) -> Any:
    """What terms are ordered by: their kind, then the term. Other values are first."""
    key: Any = _val(term)
    return (0, "") if key is None or key[0] == 0 else key


def _ranks(keys: list[Any]) -> Rows:
    """For each key, how many different ones are less."""
    order = sorted(range(len(keys)), key=keys.__getitem__)
    ranks: Rows = np.zeros(len(keys), np.int64)
    for before, after in pairwise(order):
        ranks[after] = ranks[before] + bool(keys[before] < keys[after])
    return ranks


def _slices(expression: Any, batch: Batch) -> Iterator[Batch]:
    """The batch, or parts of it if an expression of several variables is evaluated for very many rows.

    Between parts a query can be cancelled.
    """
    if batch.size <= ROWS_ON_COLUMNS_AT_ONCE or len(mentioned(expression)) < 2:
        yield batch
        return
    for start in range(0, batch.size, ROWS_ON_COLUMNS_AT_ONCE):
        yield batch.take(np.arange(start, min(batch.size, start + ROWS_ON_COLUMNS_AT_ONCE)))


def _as_numbers(evaluator: ColumnEvaluator, values: Values) -> Numbers:
    return values if isinstance(values, Numbers) else evaluator.numbers(values)


class Expressions:
    """Evaluates expressions over batches, for one query."""

    def __init__(self, context: QueryContext, terms: QueryTerms, numbers: dict[Node, int]) -> None:
        self._context = context
        self._terms = terms
        self._numbers = numbers

    def true_rows(self, expression: Any, batch: Batch, exists: Exists) -> Mask:
        """For each row, whether the expression is true; an error counts as false."""
        true: Mask = np.ones(batch.size, np.bool_)
        on_columns = Conditions(self._terms, lambda variable: self.column(variable, batch))
        for part in conjuncts(expression):
            true &= self._true_rows(part, batch, exists, on_columns)
        return true

    def values(self, expression: Any, batch: Batch, exists: Exists) -> Column:
        """The id of the expression's value for each row; UNBOUND for an error."""
        if isinstance(expression, Variable):
            return self.column(expression, batch)
        if isinstance(expression, Literal | URIRef):
            return filled(batch.size, self._terms.id_of(expression))

        parts = []
        for some in _slices(expression, batch):
            check()
            on_columns = self._on_columns(expression, some)
            if on_columns is None:
                return self._values_by_terms(expression, batch, exists)
            evaluator, part = on_columns
            ids, undecided = evaluator.ids(part)
            places = evaluator.numbers_of(part.over)
            column, rows = ids[places], np.flatnonzero(undecided[places])
            if rows.size:
                column[rows] = self._values_by_terms(expression, some.take(rows), exists)
            parts.append(column)
        return parts[0] if len(parts) == 1 else np.concatenate(parts)

    def numbers(self, expression: Any, batch: Batch) -> Numbers | None:
        """The numbers of each row; None if some are not decided on columns."""
        if not batch.size:
            return None
        evaluator = self._evaluator(batch)
        part = evaluator.part(call_of(expression))
        try:
            found = None if part is None else _as_numbers(evaluator, part.values)
        except Unsupported:
            return None
        if part is None or found is None or found.undecided.any():
            return None
        return found.take(evaluator.numbers_of(part.over))

    def _evaluator(self, batch: Batch) -> ColumnEvaluator:
        return ColumnEvaluator(self._terms, lambda variable: self.column(variable, batch), batch.size)

    def _on_columns(self, expression: Any, batch: Batch) -> tuple[ColumnEvaluator, Part] | None:
        """The values on columns with their evaluator; None for few rows, and if terms have to decide."""
        if batch.size < MIN_TERMS_ON_COLUMNS:
            return None
        evaluator = self._evaluator(batch)
        part = evaluator.part(call_of(expression))
        return None if part is None else (evaluator, part)

    def _values_by_terms(self, expression: Any, batch: Batch, exists: Exists) -> Column:
        def evaluate(own: Any, row: FrozenBindings) -> int:
            try:
                result = _eval(own, row)
            except SPARQLError:
                return UNBOUND
            if isinstance(result, SPARQLError) or result is None:
                return UNBOUND
            if not isinstance(result, Node):
                raise NotImplementedError(f"{result!r} is no RDF term")
            return self._terms.id_of(result)

        results, numbers = self._over_rows(expression, batch, exists, evaluate)
        column: Column = np.array(results, np.uint32)[numbers]
        return column

    def ranks(self, expression: Any, batch: Batch, exists: Exists) -> Rows:
        """Numbers that order the rows by the expression's values. Errors and unbound values come first."""
        if isinstance(expression, Variable):
            return self._ranks_of(self.column(expression, batch))

        on_columns = self._on_columns(expression, batch)
        if on_columns is not None:
            evaluator, part = on_columns
            found = None
            if isinstance(part.values, Numbers):
                found = ranks_of_numbers(part.values)
            elif isinstance(part.values, Texts):
                found = ranks_of_texts(part.values)
            if found is not None:
                return found[evaluator.numbers_of(part.over)]
            return self._ranks_of(self.values(expression, batch, exists))

        def evaluate(own: Any, row: FrozenBindings) -> Any:
            try:
                return _order_key(value(row, own, variables=True))
            except SPARQLError:
                return (0, "")

        keys, numbers = self._over_rows(expression, batch, exists, evaluate)
        return _ranks(keys)[numbers]

    def _ranks_of(self, column: Column) -> Rows:
        """The ranks of terms, 0 for UNBOUND."""
        rows, numbers = number_keys(column)
        ids = column[rows]
        bound = ids[ids != UNBOUND]
        found = term_ranks(bound, self._terms, bound.size)
        if found is None:
            found = _ranks([_order_key(term) for term in self._terms.decode(bound)])
        ranks: Rows = np.zeros(ids.size, np.int64)
        ranks[ids != UNBOUND] = found + 1
        return ranks[numbers]

    def column(self, variable: Variable, batch: Batch) -> Column:
        """A variable's column. Where the variable is unbound, the value given with the query, if any."""
        column = batch.columns.get(self._numbers.get(variable, 0))
        given = self._context.initBindings or {}
        if variable not in given:
            return filled(batch.size, UNBOUND) if column is None else column
        own = self._terms.id_of(given[variable])
        return (
            filled(batch.size, own) if column is None else np.where(column == UNBOUND, np.uint32(own), column)
        )

    def row(self, bindings: dict[Variable, Node]) -> FrozenBindings:
        return FrozenBindings(self._context, bindings)

    def _true_rows(self, expression: Any, batch: Batch, exists: Exists, on_columns: Conditions) -> Mask:
        if is_exists(expression):
            found = exists(expression.graph, batch)
            return found if expression.name == "Builtin_EXISTS" else ~found
        decided = self._by_ids(expression, batch)
        if decided is not None:
            return decided
        decision = on_columns.decide(expression)
        if decision is None:
            return self._by_terms(expression, batch, exists)
        true, _, undecided = decision
        if undecided.any():
            true[undecided] = self._by_terms(expression, batch.take(undecided), exists)
        return true

    def _by_terms(self, expression: Any, batch: Batch, exists: Exists) -> Mask:
        """For each row, whether the expression is true, evaluated on terms."""
        found = self._by_pattern(expression, batch)
        if found is not None:
            return found
        parts = []
        for some in _slices(expression, batch):
            check()
            on_columns = self._on_columns(expression, some)
            if on_columns is None:
                return self._true_by_terms(expression, batch, exists)
            evaluator, part = on_columns
            decision = evaluator.booleans(part.values)
            places = evaluator.numbers_of(part.over)
            true = (decision.true & ~decision.failed)[places]
            rows = np.flatnonzero(decision.undecided[places])
            if rows.size:
                true[rows] = self._true_by_terms(expression, some.take(rows), exists)
            parts.append(true)
        return parts[0] if len(parts) == 1 else np.concatenate(parts)

    def _true_by_terms(self, expression: Any, batch: Batch, exists: Exists) -> Mask:
        results, numbers = self._over_rows(expression, batch, exists, lambda own, row: bool(_ebv(own, row)))
        found: Mask = np.array(results, np.bool_)[numbers]
        return found

    def _by_ids(self, expression: Any, batch: Batch) -> Mask | None:
        """``?x = <iri>`` and ``?x != <iri>``, decided on ids; None for other expressions."""
        if not isinstance(expression, Expr) or expression.name != COMPARISON:
            return None
        left, right = expression.expr, expression.other
        if isinstance(left, URIRef):
            left, right = right, left
        if (
            expression.op not in ("=", "!=")
            or not isinstance(left, Variable)
            or not isinstance(right, URIRef)
        ):
            return None
        column = self.column(left, batch)
        equal: Mask = column == self._terms.id_of(right)
        return equal if expression.op == "=" else ~equal & (column != UNBOUND)

    def _by_pattern(self, expression: Any, batch: Batch) -> Mask | None:
        """``REGEX(?x, "...")`` and ``REGEX(STR(?x), "...")``, for all distinct texts together; else None."""
        if not isinstance(expression, Expr) or expression.name != REGEX:
            return None
        read, pattern, flags = expression.text, expression.pattern, expression.flags
        any_term = isinstance(read, Expr) and read.name == "Builtin_STR"
        variable = read.arg if any_term else read
        if not isinstance(variable, Variable) or not isinstance(pattern, Literal):
            return None
        if not (flags is None or isinstance(flags, Literal)):
            return None
        column = self.column(variable, batch)
        rows, numbers = number_keys(column)
        found = np.zeros(rows.size, np.bool_)
        try:
            operators.string(pattern)
            matcher = compiled(str(pattern), _flags(expression))
        except (ExpressionError, SPARQLError):
            return found[numbers]
        for start in range(0, rows.size, ROWS_DECODED_AT_ONCE):
            positions, texts = [], []
            some = rows[start : start + ROWS_DECODED_AT_ONCE]
            for position, term in enumerate(self._terms.decode(column[some]), start):
                if term is not None and (any_term or _is_string(term)):
                    positions.append(position)
                    texts.append(str(term))
            found[positions] = matcher.matches(texts)
        true: Mask = found[numbers]
        return true

    def _over_rows(
        self, expression: Any, batch: Batch, exists: Exists, evaluate: Callable[[Any, FrozenBindings], Any]
    ) -> tuple[list[Any], Rows]:
        """The results for all distinct combinations of values that the expression reads.

        Also returns the number of each row's result.
        """
        hidden: dict[int, Column] = {}
        names: dict[Variable, int] = {}

        def hide(node: Any) -> Variable:
            found = exists(node.graph, batch)
            if node.name != "Builtin_EXISTS":
                found = ~found
            variable = Variable(f"__exists_{len(names)}")
            names[variable] = 1 + len(names)  # variables of the query have negative numbers
            yes, no = (self._terms.id_of(Literal(answer)) for answer in (True, False))
            hidden[names[variable]] = np.where(found, np.uint32(yes), np.uint32(no))
            return variable

        copy = _Copy(hide)
        own = copy.of(expression)
        names |= {v: self._numbers[v] for v in copy.variables if v in self._numbers}
        batch = Batch(batch.size, batch.columns | hidden)
        read = [(variable, number) for variable, number in names.items() if number in batch.columns]
        numbers: Rows
        if copy.volatile:
            rows = numbers = np.arange(batch.size)
        else:
            rows, numbers = number_rows(batch, [number for _, number in read])
        variables = [variable for variable, _ in read]
        results = []
        for start in range(0, rows.size, ROWS_DECODED_AT_ONCE):
            some = rows[start : start + ROWS_DECODED_AT_ONCE]
            columns = [self._terms.decode(batch.columns[number][some]) for _, number in read]
            for terms in zip(*columns, strict=True) if columns else [()] * some.size:
                check()
                bound = {v: term for v, term in zip(variables, terms, strict=True) if term is not None}
                results.append(evaluate(own, self.row(bound)))
        return results, numbers
