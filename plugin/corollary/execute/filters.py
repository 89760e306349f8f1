"""FILTER and BIND over batches of bindings.

An expression is evaluated once for each distinct combination of its variables' values, in Python; numpy
distributes the results to the rows. A filter is first evaluated on ids, for whole columns and without
decoding a term: terms with equal ids are equal, two different IRIs are not, and the kind of a term is part of
its id. This evaluation is three-valued: a row is true, false, or undecided. Only undecided rows are evaluated
on terms. Invariant: a decision by ids is equal to the decision by terms.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Sequence
from functools import partial

import numpy as np

from corollary.columns.numbering import number_few, number_keys, pack_tightly
from corollary.columns.pairs import distinct
from corollary.columns.triples import grouped
from corollary.columns.tuning import MAX_ROWS_NUMBERED_ONE_BY_ONE
from corollary.execute.batches import Batch
from corollary.execute.context import Answers, ExecutionContext
from corollary.execute.tuning import MIN_ROWS_BY_FORM
from corollary.expressions.operators import FALSE, TRUE, ExpressionError, boolean, equal, truth
from corollary.expressions.term_functions import STRICT
from corollary.kernels.limits import current
from corollary.kernels.sorted import Column, Keys, Mask, Rows
from corollary.kernels.threads import apart
from corollary.language import (
    XSD,
    Bind,
    Call,
    Constant,
    Expression,
    Filter,
    Variable,
    constant_text,
    parse_constant,
)
from corollary.language.variables import occurrences
from corollary.program.compile import CompiledRule, Condition
from corollary.terms.dictionary import FIRST_LITERAL, Kind, TermDictionary, kinds
from corollary.terms.literal_forms import clashes

Row = Sequence[Constant]
"""The values of the variables that an expression reads, in a fixed order."""

Evaluator = Callable[[Row], Constant]
"""A compiled expression. Returns its value for a row, or raises ``ExpressionError``."""

NO_VALUE = -1
"""In place of an id: the expression has no value (an error)."""

Decided = tuple[Mask, Mask]
"""The masks of the rows that are true and of those that are false. All other rows are undecided."""


NOT_A_NUMBER = tuple(f'"NaN"^^<{XSD}{name}>' for name in ("double", "float"))
"""The terms that are not equal to themselves."""


def select(batch: Batch, condition: Condition, rule: CompiledRule, context: ExecutionContext) -> Batch:
    """Apply a FILTER, or a BIND, to a batch.

    FILTER keeps the rows whose expression has the effective boolean value true; an error is not true. BIND
    adds the column of its variable and drops rows with errors. If the variable is bound already, BIND keeps
    the rows where the term is the same. New terms are added to the dictionary, and counted by the limits.
    """
    dictionary, known = context.dictionary, context.answers(condition)
    if isinstance(condition.element, Filter):
        return batch.take(true_rows(batch, condition.element.expression, rule, dictionary, known))
    assert isinstance(condition.element, Bind) and condition.target is not None
    before = dictionary.ends()
    ids, valid = values(batch, condition.element.expression, rule, dictionary, known)
    if new := [
        range(*ids_of) for ids_of in zip(before, dictionary.ends(), strict=True) if len(range(*ids_of))
    ]:
        current().invented(new, _newest(batch, condition.needs))
    if condition.target in batch.columns:
        return batch.take(valid & (ids == batch.columns[condition.target]))
    extended = Batch(batch.size, {**batch.columns, condition.target: ids})
    return extended if valid.all() else extended.take(valid)


def _newest(batch: Batch, variables: Collection[int]) -> list[int]:
    """The greatest ids among the variables' values: of literals, and of other terms, for each column."""
    columns = [batch.columns[variable] for variable in variables if variable in batch.columns]
    literal = [column >= FIRST_LITERAL for column in columns]
    parts = [
        c[m]
        for column, mask in zip(columns, literal, strict=True)
        for c, m in ((column, mask), (column, ~mask))
    ]
    return [int(part.max()) for part in parts if part.size]


def true_rows(
    batch: Batch,
    expression: Expression,
    rule: CompiledRule,
    dictionary: TermDictionary,
    known: Answers | None = None,
) -> Mask:
    """The mask of the rows where the expression is true. ``known`` is a cache, and is extended."""
    expression = core(expression)
    true, false = _Ids(batch, rule, dictionary).decide(expression)
    undecided = np.flatnonzero(~(true | false))
    if undecided.size:
        true[undecided] = _answers(batch.take(undecided), expression, rule, dictionary, _is_true, known)
    return true


def values(
    batch: Batch,
    expression: Expression,
    rule: CompiledRule,
    dictionary: TermDictionary,
    known: Answers | None = None,
) -> tuple[Column, Mask]:
    """The value of the expression for every row, as a term id, and the mask of the rows that have one.

    ``known`` is a cache, and is extended. New terms are added to the dictionary.
    """
    if not isinstance(expression, Call):
        column = _Ids(batch, rule, dictionary).column(expression)
        if column is None:
            return np.zeros(batch.size, np.uint32), np.zeros(batch.size, np.bool_)
        return column, np.ones(batch.size, np.bool_)

    def value(evaluate: Evaluator, row: Row) -> int:
        try:
            return dictionary.encode(constant_text(evaluate(row)))
        except ExpressionError:
            return NO_VALUE

    found = _answers(batch, core(expression), rule, dictionary, value, known)
    return found.astype(np.uint32), found != NO_VALUE


def _is_true(evaluate: Evaluator, row: Row) -> bool:
    try:
        return truth(evaluate(row))
    except ExpressionError:
        return False


# Distinct rows


def number_rows(batch: Batch, variables: Sequence[int]) -> tuple[Rows, Rows]:
    """Number the distinct combinations of some variables' values, in ascending order, from 0.

    Returns the first row of the batch for each combination, and for every row the number of its combination.
    """
    if variables and batch.size <= MAX_ROWS_NUMBERED_ONE_BY_ONE:
        return number_few(list(zip(*[batch.columns[v].tolist() for v in variables], strict=True)))
    return apart(batch.size, partial(_number_rows, batch, variables))


def _number_rows(batch: Batch, variables: Sequence[int]) -> tuple[Rows, Rows]:
    if not variables:
        return number_keys(np.zeros(batch.size, np.uint32))
    keys: Column | Keys = batch.columns[variables[0]]
    for position, variable in enumerate(variables[1:]):
        # A key packs two columns. Numbering the distinct keys reduces them to one column again.
        column = keys if position == 0 else number_keys(keys)[1]
        keys = pack_tightly(column.astype(np.uint32), batch.columns[variable])
    return number_keys(keys)


class Terms(dict[int, Constant]):
    """The constants of ids. Each id is decoded once."""

    def __init__(self, dictionary: TermDictionary) -> None:
        self._dictionary = dictionary

    def __missing__(self, term_id: int) -> Constant:
        constant = self[term_id] = parse_constant(self._dictionary.decode(term_id))
        return constant


def _answers(
    batch: Batch,
    expression: Expression,
    rule: CompiledRule,
    dictionary: TermDictionary,
    answer: Callable[[Evaluator, Row], int],
    known: Answers | None,
) -> Rows:
    """The answer for every row, computed once for each combination of the expression's variables.

    ``known`` is a cache, and is extended.
    """
    known = {} if known is None else known
    read = {variable: rule.slot(variable) for variable in occurrences(expression)}
    read = {variable: slot for variable, slot in read.items() if slot in batch.columns}
    first_rows, numbers = number_rows(batch, tuple(read.values()))
    columns = [batch.columns[slot][first_rows].tolist() for slot in read.values()]
    keys: list[tuple[int, ...]] = list(zip(*columns, strict=True)) if columns else [()] * first_rows.size
    found = [known.get(key) for key in keys]
    if None in found:
        evaluate, terms, work = evaluator(expression, list(read)), Terms(dictionary), current()
        for position, key in enumerate(keys):
            if found[position] is None:
                work.check()
                found[position] = known[key] = answer(evaluate, tuple(map(terms.__getitem__, key)))
    return np.array(found, np.int64)[numbers]


# Expressions over constants


def core(expression: Expression) -> Expression:
    """The expression with ``!=`` and ``not in`` replaced by ``!`` of ``=`` and of ``in``."""
    if not isinstance(expression, Call):
        return expression
    arguments = tuple(map(core, expression.arguments))
    match expression.function:
        case "!=":
            return Call("!", (Call("=", arguments),))
        case "not in":
            return Call("!", (Call("in", arguments),))
    return Call(expression.function, arguments)


def evaluator(expression: Expression, variables: Sequence[Variable]) -> Evaluator:
    """Compile an expression in ``core`` form to a function of rows, which hold these variables' values."""
    if isinstance(expression, Variable):
        if expression not in variables:
            return _unbound
        position = variables.index(expression)
        return lambda row: row[position]
    if not isinstance(expression, Call):
        constant = normal(expression)
        return lambda row: constant
    arguments = [evaluator(argument, variables) for argument in expression.arguments]
    match expression.function, arguments:
        case ("||" | "&&") as operator, _:
            return lambda row: _logical(operator == "||", arguments, row)
        case "in", [value, *items]:
            tests = [partial(_equal, value, item) for item in items]
            return lambda row: _logical(True, tests, row)
        case "if", [test, then, otherwise]:
            return lambda row: then(row) if truth(test(row)) else otherwise(row)
        case "coalesce", _:
            return lambda row: _coalesce(arguments, row)
        case "bound", [_]:
            is_bound = boolean(expression.arguments[0] in variables)
            return lambda row: is_bound
    function = STRICT[expression.function]
    match arguments:
        case [one]:
            return lambda row: function(one(row))
        case [one, two]:
            return lambda row: function(one(row), two(row))
    return lambda row: function(*[argument(row) for argument in arguments])


def normal(constant: Constant) -> Constant:
    """The constant as the dictionary would return it."""
    return parse_constant(constant_text(constant))


def _unbound(_: Row) -> Constant:
    raise ExpressionError("a variable without a value")


def _logical(deciding: bool, arguments: Sequence[Evaluator], row: Row) -> Constant:
    """``||`` if ``deciding`` is true, ``&&`` if it is false. A deciding argument outweighs errors."""
    failure = None
    for argument in arguments:
        try:
            if truth(argument(row)) == deciding:
                return boolean(deciding)
        except ExpressionError as error:
            failure = error
    if failure:
        raise failure
    return boolean(not deciding)


def _equal(left: Evaluator, right: Evaluator, row: Row) -> Constant:
    return boolean(equal(left(row), right(row)))


def _coalesce(arguments: Sequence[Evaluator], row: Row) -> Constant:
    for argument in arguments:
        try:
            return argument(row)
        except ExpressionError:
            continue
    raise ExpressionError("no argument of COALESCE has a value")


# Expressions over ids


class _Ids:
    """Evaluates expressions in ``core`` form on the ids of a batch, without decoding terms."""

    def __init__(self, batch: Batch, rule: CompiledRule, dictionary: TermDictionary) -> None:
        self.batch = batch
        self.rule = rule
        self.dictionary = dictionary

    def column(self, expression: Expression) -> Column | None:
        """The ids of a variable or a constant; None for calls and variables without a column."""
        if isinstance(expression, Call):
            return None
        if isinstance(expression, Variable):
            return self.batch.columns.get(self.rule.slot(expression))
        return self.batch.column(self.dictionary.encode(constant_text(expression)))

    def decide(self, expression: Expression) -> Decided:
        """Evaluate in Kleene's three-valued logic, over columns."""
        nothing: Decided = (np.zeros(self.batch.size, np.bool_), np.zeros(self.batch.size, np.bool_))
        if not isinstance(expression, Call):
            return nothing if expression not in (TRUE, FALSE) else self.known(expression == TRUE)
        arguments = expression.arguments
        match expression.function:
            case "!":
                true, false = self.decide(arguments[0])
                return false, true
            case "&&":
                return self.all_of(map(self.decide, arguments))
            case "||":
                return self.any_of(map(self.decide, arguments))
        if expression.function in _BY_IDS:
            columns = [column for column in map(self.column, arguments) if column is not None]
            if len(columns) == len(arguments):
                return _BY_IDS[expression.function](self, *columns)
        return nothing

    def all_of(self, parts: Iterable[Decided]) -> Decided:
        true, false = self.known(True)
        for part_true, part_false in parts:
            true, false = true & part_true, false | part_false
        return true, false

    def any_of(self, parts: Iterable[Decided]) -> Decided:
        false, true = self.all_of((part_false, part_true) for part_true, part_false in parts)
        return true, false

    def known(self, true: Mask | bool) -> Decided:
        """Decide every row by a mask, or all rows alike."""
        mask = np.full(self.batch.size, true, np.bool_)
        return mask, ~mask

    def equal(self, left: Column, right: Column) -> Decided:
        """Undecided are pairs of different literals, which may have the same value, and NaN with itself."""
        same = left == right
        for text in NOT_A_NUMBER:
            term_id = self.dictionary.find(text)
            if term_id is not None:
                same &= left != term_id
        either_is_no_literal = (left < FIRST_LITERAL) | (right < FIRST_LITERAL)
        return same, (left != right) & either_is_no_literal

    def datatype_clash(self, column: Column, datatypes: Column) -> Decided:
        """As ``values.datatype_clash``. Undecided are literals whose values have to be computed for it."""
        true, false = np.zeros(column.size, np.bool_), column < FIRST_LITERAL
        if column.size < MIN_ROWS_BY_FORM:
            return true, false
        rows = np.flatnonzero((kinds(column) == Kind.LITERAL) & (kinds(datatypes) == Kind.IRI))
        forms = self.dictionary.literal_forms
        codes = forms.codes(column[rows].astype(np.int64) - FIRST_LITERAL)
        for datatype in distinct(datatypes[rows]).tolist():
            name = self.dictionary.decode(datatype)[1:-1]
            asked = np.flatnonzero(datatypes[rows] == datatype)
            for code, places in grouped(codes[asked].astype(np.uint32), rows[asked]):
                is_clash = clashes(forms.markers[code >> 1], bool(code & 1), name)
                if is_clash is not None:
                    (true if is_clash else false)[places] = True
        return true, false


_BY_IDS: dict[str, Callable[..., Decided]] = {
    "=": _Ids.equal,
    "in": lambda ids, value, *items: ids.any_of(ids.equal(value, item) for item in items),
    "sameterm": lambda ids, left, right: ids.known(left == right),
    "isiri": lambda ids, column: ids.known(kinds(column) == Kind.IRI),
    "isblank": lambda ids, column: ids.known(kinds(column) == Kind.BLANK_NODE),
    "isliteral": lambda ids, column: ids.known(column >= FIRST_LITERAL),
    "datatype_clash": _Ids.datatype_clash,
}
"""The functions that columns of ids decide, at least for some rows."""
