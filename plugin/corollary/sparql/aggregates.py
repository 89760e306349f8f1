"""GROUP BY and aggregates: on columns, where these decide, else on the terms of each group.

Errors are handled as in rdflib. COUNT and SAMPLE leave out rows with an error. For other functions, the
result of a group with an error is unbound; rows in which the aggregated variable is unbound are left out.
GROUP_CONCAT also leaves out rows in which a variable of its expression is unbound.
"""

from __future__ import annotations

from collections.abc import Iterator
from decimal import Decimal
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray
from rdflib.term import Literal, Node, Variable

from corollary.columns.key_sort import order_of
from corollary.columns.numbering import number_keys
from corollary.columns.pairs import firsts, pack, sorted_unique
from corollary.execute.batches import Batch, filled
from corollary.execute.filters import number_rows
from corollary.expressions.operators import ExpressionError
from corollary.kernels.arrow import compute
from corollary.kernels.limits import check, reserve_text
from corollary.kernels.sorted import Column, Rows
from corollary.language.constants import escape
from corollary.sparql.algebra import Aggregate, Call, Expression, Group, mentioned
from corollary.sparql.builtin_functions import average, order_key, total
from corollary.sparql.column_values import (
    Decimals,
    Numbers,
    Texts,
    Values,
    aligned,
    ids_of_decimals,
    ids_of_numbers,
    ids_of_texts,
    ids_of_values,
    ranks_of_values,
)
from corollary.sparql.expressions import Expressions, FindSolutions
from corollary.sparql.number_texts import POWERS
from corollary.sparql.query_terms import QueryTerms
from corollary.sparql.solutions import first_of_each
from corollary.sparql.term_order import term_ranks
from corollary.sparql.term_texts import quoted
from corollary.sparql.tuning import MIN_USES_OF_RANKS, TERMS_BETWEEN_CHECKS
from corollary.sparql.value_columns import Code
from corollary.sparql.written_literals import UNBOUND
from corollary.terms.dictionary import Kind, kinds

SET_AGGREGATES = frozenset(("COUNT", "SAMPLE", "MIN", "MAX"))
"""The aggregates that have the same result without duplicates; COUNT only if it is DISTINCT."""

EXTREMES = {"MIN": min, "MAX": max}

TOTALS = {"SUM": total, "AVG": average}

ARGUMENT = Variable("__argument")


def aggregate(
    part: Group,
    inner: Batch,
    times: Rows | None,
    expressions: Expressions,
    terms: QueryTerms,
    numbers: dict[Node, int],
    exists: FindSolutions,
) -> Batch:
    """One row for every group of ``inner``. Without GROUP BY there is one group, even of no rows.

    With ``times``, each row stands for that many solutions. A variable that is counted has a column, or a
    value in all of them.
    """
    keys = part.keys
    if keys is None:
        size, groups = 1, np.zeros(inner.size, np.int64)
    else:
        if not inner.size:
            return Batch.none()
        columns = {1 + i: expressions.values(key, inner, exists) for i, key in enumerate(keys)}
        rows, groups = number_rows(Batch(inner.size, columns), list(columns))
        size = int(rows.size)
    result = Batch(size, {})
    for item in part.aggregates:
        if times is not None and item.function == "COUNT" and not item.is_distinct:
            counts = np.zeros(size, np.int64)
            is_read = isinstance(item.argument, Variable) and numbers[item.argument] in inner.columns
            valued = expressions.values(item.argument, inner, exists) != UNBOUND if is_read else slice(None)
            np.add.at(counts, groups[valued], times[valued])
            result.columns[numbers[item.result]] = _counts(counts, terms)
            continue
        result.columns[numbers[item.result]] = _aggregate(
            item, inner, size, groups, expressions, terms, exists
        )
    return result


def _aggregate(
    item: Aggregate,
    inner: Batch,
    size: int,
    groups: Rows,
    expressions: Expressions,
    terms: QueryTerms,
    exists: FindSolutions,
) -> Column:
    """One aggregate's result for each of ``size`` groups. ``groups`` has the group number of each row."""
    if item.argument is None:
        if item.is_distinct:
            first = first_of_each(inner, tuple(inner.columns))
            groups = groups[first]  # equal rows are in the same group
        return _counts(np.bincount(groups, minlength=size), terms)
    is_concatenation = item.function == "GROUP_CONCAT"
    argument = _text_argument(item.argument) if is_concatenation else item.argument
    if not isinstance(argument, Variable):
        on_columns = _of_column_values(item, argument, inner, size, groups, expressions, terms)
        if on_columns is not None:
            return on_columns
    values = expressions.values(argument, inner, exists)
    valued = values != UNBOUND
    if item.function == "COUNT":
        keys = pack(groups[valued].astype(np.uint32), values[valued])
        if item.is_distinct:
            keys = sorted_unique(keys)
        return _counts(np.bincount(firsts(keys), minlength=size), terms)
    if item.function == "SAMPLE":
        column = filled(size, UNBOUND)
        column[groups[valued][::-1]] = values[valued][::-1]  # in reverse: the first value is written last
        return column
    failed = np.zeros(size, np.bool_)
    if not isinstance(argument, Variable):
        blamed = ~valued
        if is_concatenation:
            for variable in mentioned(argument):
                blamed &= expressions.column(variable, inner) != UNBOUND
        failed[groups[blamed]] = True
    values, groups = values[valued], groups[valued]
    found = None
    if item.function in TOTALS:
        found = _of_values(item, values, groups, size, terms)
    elif not is_concatenation:
        found = _of_texts(item, values, groups, size, terms)
    if is_concatenation:
        found = _joined(item, values, groups, size, terms)
    if found is None:
        found = _of_members(item, values, groups, size, terms)
    return np.where(failed, np.uint32(UNBOUND), found)


def _of_column_values(
    item: Aggregate,
    argument: Expression,
    inner: Batch,
    size: int,
    groups: Rows,
    expressions: Expressions,
    terms: QueryTerms,
) -> Column | None:
    """A total or an extreme of an expression's values, which get no ids; None if ids must decide."""
    if item.function in TOTALS and not item.is_distinct:
        numbers = expressions.numbers(argument, inner)
        if numbers is None or (item.function == "AVG" and numbers.failed.any()):
            return None  # an error, or no number, which does not count: the terms decide
        return _of_numbers(item, numbers, groups, size, terms)
    if item.function in EXTREMES:
        found = expressions.column_values(argument, inner)
        return None if found is None else _extremes(item, *found, groups, size, terms)
    return None


def _of_members(item: Aggregate, values: Column, groups: Rows, size: int, terms: QueryTerms) -> Column:
    """An aggregate of the terms of each group, which are read in the order of the rows."""
    order = order_of(groups)
    ends = np.cumsum(np.bincount(groups, minlength=size))
    column = filled(size, UNBOUND)
    ordered = values[order]
    for group, (start, end) in enumerate(pairwise((0, *ends.tolist()))):
        check()
        members = ordered[start:end]
        if item.function == "GROUP_CONCAT":
            found: Node | None = _concatenated(item, members, terms)
        elif item.function in EXTREMES:
            extreme: Any = EXTREMES[item.function]
            found = extreme(_decoded(members, terms), key=order_key, default=None)
            found = None if found is None else Literal(found)  # as in rdflib, also of an IRI
        else:
            found = _totalled(item, members, terms)
        if found is not None:
            column[group] = terms.id_of(found)
    return column


def _joined(item: Aggregate, values: Column, groups: Rows, size: int, terms: QueryTerms) -> Column | None:
    """GROUP_CONCAT on columns of texts; None for few terms, and if columns do not decide a text.

    The texts of the terms are joined with their escapes: so are those of the results.
    """
    if values.size < MIN_USES_OF_RANKS:
        return None
    first, numbers = number_keys(values)
    texts = terms.escaped_texts_of(values[first])
    if texts is None:
        return None
    if item.is_distinct:  # of terms, or of texts if these are asked for
        is_text = _is_text(item.argument)
        compared = compute.dictionary_encode(texts).indices.to_numpy()[numbers] if is_text else numbers
        rows = _first_in_groups(groups, compared)
        groups, numbers = groups[rows], numbers[rows]
    counts = np.bincount(groups, minlength=size)
    joined = quoted(texts, numbers[order_of(groups)], counts, escape(item.separator))
    return terms.ids_of_literals(joined)


def _first_in_groups(groups: Rows, values: NDArray[Any]) -> Rows:
    """The first row of each distinct value of each group, ascending."""
    return np.sort(number_keys(pack(groups.astype(np.uint32), values.astype(np.uint32)))[0])


def _decoded(members: Column, terms: QueryTerms) -> Iterator[Node]:
    for number, term_id in enumerate(members.tolist()):
        if number % TERMS_BETWEEN_CHECKS == 0:
            check()
        yield terms[term_id]


def _text_argument(argument: Expression) -> Expression:
    """The argument of GROUP_CONCAT, without STR around a variable: all arguments are made texts."""
    if _is_text(argument) and isinstance(argument.arguments[0], Variable):
        return argument.arguments[0]
    return argument


def _is_text(argument: Expression) -> bool:
    return isinstance(argument, Call) and argument.name == "STR"


def _concatenated(item: Aggregate, members: Column, terms: QueryTerms) -> Literal:
    """GROUP_CONCAT. DISTINCT compares terms, or texts if these are asked for."""
    is_text = _is_text(item.argument)
    if item.is_distinct and not is_text:
        members = members[np.sort(number_keys(members)[0])]
    texts = list(map(str, _decoded(members, terms)))
    if item.is_distinct and is_text:
        texts = list(dict.fromkeys(texts))
    reserve_text(sum(map(len, texts)) + len(item.separator) * len(texts))
    return Literal(item.separator.join(texts))


def _totalled(item: Aggregate, members: Column, terms: QueryTerms) -> Node | None:
    """SUM or AVG of any numbers; None for an error."""
    if item.is_distinct:
        members = members[np.sort(number_keys(members)[0])]
    try:
        return TOTALS[item.function](_decoded(members, terms))
    except (ExpressionError, ArithmeticError):  # also infinite decimals, and integers beyond floats
        return None


def _of_texts(item: Aggregate, values: Column, groups: Rows, size: int, terms: QueryTerms) -> Column | None:
    """MIN or MAX by the ranks of terms; None if the terms have no ``term_ranks``."""
    rows, numbers = number_keys(values)
    ids = values[rows]
    if (kinds(ids) == Kind.BLANK_NODE).any():
        return None
    ranks = term_ranks(ids, terms, values.size)
    if ranks is None:
        return None
    best = _best_rows(item, ranks[numbers], groups, size)
    column = filled(size, UNBOUND)
    column[best >= 0] = _as_literals(values[best[best >= 0]], terms)
    return column


def _best_rows(item: Aggregate, ranks: Rows, groups: Rows, size: int) -> Rows:
    """The first row with the least or greatest rank of each of ``size`` groups; -1 if it has no rows."""
    is_least = item.function == "MIN"
    best: Rows = np.full(size, ranks.max(initial=0) if is_least else -1)
    (np.minimum if is_least else np.maximum).at(best, groups, ranks)
    hits = np.flatnonzero(ranks == best[groups])[::-1]  # in reverse: the first row is written last
    found: Rows = np.full(size, -1)
    found[groups[hits]] = hits
    return found


def _as_literals(ids: Column, terms: QueryTerms) -> Column:
    """The ids of terms, strings in the place of IRIs: as in rdflib. Precondition: no blank nodes."""
    iris = kinds(ids) == Kind.IRI
    texts = terms.texts_of(ids[iris])
    if texts is None:
        return np.array([terms.id_of(Literal(terms[term_id])) for term_id in ids.tolist()], np.uint32)
    no = np.zeros(len(texts.lexical), np.bool_)
    found = ids.copy()
    found[iris] = ids_of_texts(Texts(no, no, texts.lexical, None), terms)
    return found


def _extremes(
    item: Aggregate, values: Values, places: Rows, groups: Rows, size: int, terms: QueryTerms
) -> Column | None:
    """MIN or MAX of values on columns; None if terms have to decide. ``places``: of each row's value."""
    ranks = ranks_of_values(values)
    if ranks is None:
        return None
    of_rows = ranks[places]
    best = _best_rows(item, of_rows, groups, size)
    column = filled(size, UNBOUND)
    column[best >= 0] = ids_of_values(values.take(places[best[best >= 0]]), terms)
    column[groups[of_rows == 0]] = UNBOUND  # an error of one is an error of the group
    return column


def _of_values(item: Aggregate, values: Column, groups: Rows, size: int, terms: QueryTerms) -> Column | None:
    """SUM or AVG of numbers by their ids, each once in a group if DISTINCT; None if terms have to decide."""
    if item.is_distinct:
        rows = _first_in_groups(groups, values)
        groups, values = groups[rows], values[rows]
    from corollary.sparql.column_functions import ColumnEvaluator

    evaluator = ColumnEvaluator(terms, lambda _: values, values.size)
    part = evaluator.part(ARGUMENT)
    assert part is not None
    numbers = evaluator.numbers(part.values).take(evaluator.numbers_of(ARGUMENT))
    if numbers.failed.any() or numbers.undecided.any():
        return None
    return _of_numbers(item, numbers, groups, size, terms)


def _of_numbers(
    item: Aggregate, numbers: Numbers, groups: Rows, size: int, terms: QueryTerms
) -> Column | None:
    """SUM or AVG of each group; None if terms have to decide: floats together with others, large sums.

    Floats are added in the order of the rows, from zero on. A group with an error has no value.
    """
    is_average = item.function == "AVG"
    failed = np.zeros(size, np.bool_)
    failed[groups[numbers.failed]] = True
    some, own = numbers, groups
    if numbers.failed.any():
        rows = np.flatnonzero(~numbers.failed)
        some, own = numbers.take(rows), groups[rows]
    counts = np.bincount(own, minlength=size)
    codes = _in_groups(np.maximum, some.codes, own, size)
    scale = np.zeros(size, np.int16)
    if some.is_float.all() and own.size:
        sums = np.bincount(own, some.doubles(), size)
        if not np.isfinite(sums).all():
            return None
        values = (np.divide(sums, np.maximum(counts, 1)) if is_average else sums).view(np.int64)
        codes[is_average & (codes > 0)] = Code.DOUBLE
    elif not some.is_float.any():
        scale = _in_groups(np.maximum, some.scale, own, size)
        digits = aligned(some.values, some.scale, int(scale.max(initial=0)))
        if digits is None or np.abs(digits).max(initial=0) * max(own.size, 1) >= 1 << 62:
            return None
        values = _in_groups(np.add, digits, own, size)
        values //= POWERS[int(scale.max(initial=0)) - scale]
    else:
        return None
    codes[counts == 0] = Code.INTEGER
    totals = Numbers(failed, np.zeros(size, np.bool_), codes, values, scale)
    if is_average and not some.is_float.any():
        return _averages(totals, counts, terms)
    return ids_of_numbers(totals, terms)


def _in_groups(function: np.ufunc, values: NDArray[Any], groups: Rows, size: int) -> NDArray[Any]:
    """The values of each of ``size`` groups, combined by a function, with 0 as the first value."""
    found = np.zeros(size, values.dtype)
    if size == 1:
        found[:] = function.reduce(values, initial=0, dtype=values.dtype)
    else:
        function.at(found, groups, values)
    return found


def _averages(totals: Numbers, counts: Rows, terms: QueryTerms) -> Column:
    """The quotients of exact sums and counts; 0 for a group without values."""
    divisors = np.array([Decimal(count or 1) for count in counts.tolist()], np.object_)
    quotients = Decimals(totals.failed, totals.undecided, totals.decimals() / divisors)
    column = ids_of_decimals(quotients, terms)
    column[(counts == 0) & ~totals.failed] = terms.id_of(Literal(0))
    return column


def _counts(counts: Rows, terms: QueryTerms) -> Column:
    no = np.zeros(counts.size, np.bool_)
    return ids_of_numbers(Numbers.whole(counts, no, no), terms)
