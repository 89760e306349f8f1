"""GROUP BY and aggregates: on columns, except for sums of numbers that are no integers .

Errors are handled as in rdflib. COUNT and SAMPLE leave out rows with an error. For other functions, the
result of a group with an error is unbound; rows in which the aggregated variable is unbound are left out.
GROUP_CONCAT also leaves out rows in which a variable of its expression is unbound.
"""

from __future__ import annotations

from collections.abc import Iterator
from decimal import Decimal
from typing import Any

import numpy as np
from rdflib.namespace import XSD
from rdflib.term import Literal, Node, Variable

from corollary.columns.pairs import distinct, firsts, order_of, pack, seconds, sorted_unique
from corollary.execute.batches import Batch
from corollary.execute.filters import number_keys, number_rows
from corollary.expressions.operators import ExpressionError
from corollary.kernels.limits import check, reserve_text
from corollary.kernels.sorted import Column, Rows
from corollary.sparql.algebra import Aggregate, Call, Expression, Group, mentioned
from corollary.sparql.builtin_functions import average, order_key, total
from corollary.sparql.expressions import Expressions, FindSolutions
from corollary.sparql.query_terms import UNBOUND, QueryTerms, filled
from corollary.sparql.solutions import first_of_each
from corollary.sparql.term_order import text_ranks
from corollary.sparql.tuning import TERMS_BETWEEN_CHECKS

SET_AGGREGATES = frozenset(("COUNT", "SAMPLE", "MIN", "MAX"))
"""The aggregates that have the same result without duplicates, COUNT if it is DISTINCT."""

EXTREMES = {"MIN": min, "MAX": max}

TOTALS = {"SUM": total, "AVG": average}


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

    With ``times``, each row stands for that many solutions, which bind each variable that is counted.
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
            np.add.at(counts, groups, times)
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
        found = _of_whole_numbers(item, values, groups, size, terms)
    elif not is_concatenation:
        found = _of_texts(item, values, groups, size, terms)
    if found is None:
        found = _of_members(item, values, groups, size, terms)
    return np.where(failed, np.uint32(UNBOUND), found)


def _of_members(item: Aggregate, values: Column, groups: Rows, size: int, terms: QueryTerms) -> Column:
    """An aggregate of each group's terms, in the order of the rows."""
    order = order_of(groups)
    ends = np.cumsum(np.bincount(groups, minlength=size))
    column = filled(size, UNBOUND)
    for group, members in enumerate(np.split(values[order], ends[:-1])):
        check()
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
    reserve_text(sum(map(len, texts)))
    return Literal(item.separator.join(texts))


def _totalled(item: Aggregate, members: Column, terms: QueryTerms) -> Node | None:
    """SUM or AVG of any numbers; None for an error."""
    if item.is_distinct:
        members = members[np.sort(number_keys(members)[0])]
    try:
        return TOTALS[item.function](_decoded(members, terms))
    except ExpressionError:
        return None


def _of_texts(item: Aggregate, values: Column, groups: Rows, size: int, terms: QueryTerms) -> Column | None:
    """MIN or MAX by the ranks of terms; None if the terms have no ``text_ranks``."""
    rows, numbers = number_keys(values)
    ids = values[rows]
    ranks = text_ranks(ids, terms, values.size)
    if ranks is None:
        return None
    is_least = item.function == "MIN"
    best: Rows = np.full(size, ids.size if is_least else -1)
    (np.minimum if is_least else np.maximum).at(best, groups, ranks[numbers])
    by_rank = np.empty(ids.size + 1, np.uint32)
    by_rank[ranks] = ids
    by_rank[-1] = UNBOUND  # of an empty group
    column = by_rank[best]
    for term_id in distinct(column[column != UNBOUND]).tolist():
        column[column == term_id] = terms.id_of(Literal(terms[term_id]))  # as in rdflib, also of an IRI
    return column


def _of_whole_numbers(
    item: Aggregate, values: Column, groups: Rows, size: int, terms: QueryTerms
) -> Column | None:
    """SUM or AVG of xsd:integer for each group; None if there are other values, or sums beyond 64 bits."""
    if item.is_distinct:
        keys = sorted_unique(pack(groups.astype(np.uint32), values))
        groups, values = firsts(keys).astype(np.int64), seconds(keys)
    ids = distinct(values)
    numbers = []
    for term_id in ids.tolist():
        term = terms[term_id]
        if not (isinstance(term, Literal) and term.datatype == XSD.integer and type(term.value) is int):
            return None
        numbers.append(term.value)
    if max(map(abs, numbers), default=0) * max(values.size, 1) >= 1 << 63:
        return None
    whole = np.array(numbers, np.int64)
    sums = np.zeros(size, np.int64)
    np.add.at(sums, groups, whole[np.searchsorted(ids, values)])
    if item.function == "SUM":
        return _counts(sums, terms)
    counts = np.bincount(groups, minlength=size)
    averages = {
        (total, count): terms.id_of(Literal(Decimal(total) / Decimal(count)) if count else Literal(0))
        for total, count in set(zip(sums.tolist(), counts.tolist(), strict=True))
    }
    found = [averages[pair] for pair in zip(sums.tolist(), counts.tolist(), strict=True)]
    return np.array(found, np.uint32)


def _counts(counts: Rows, terms: QueryTerms) -> Column:
    used = distinct(counts)
    ids = np.array([terms.id_of(Literal(count)) for count in used.tolist()], np.uint32)
    return ids[np.searchsorted(used, counts)]
