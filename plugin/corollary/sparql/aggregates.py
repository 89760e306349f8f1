"""GROUP BY and aggregates: COUNT, SAMPLE, and sums of integers on columns, others by rdflib's accumulators.

Errors are handled as in rdflib. COUNT and SAMPLE leave out rows with an error. For other functions, the
result of a group with an error is unbound; rows in which the aggregated variable is unbound are left out.
GROUP_CONCAT also leaves out rows in which a variable of its expression is unbound.
"""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import numpy as np
from rdflib.namespace import XSD
from rdflib.plugins.sparql.aggregates import Aggregator
from rdflib.plugins.sparql.parserutils import CompValue
from rdflib.plugins.sparql.sparql import SPARQLError
from rdflib.term import Literal, Node, Variable

from corollary.columns.pairs import distinct, firsts, order_of, pack, seconds, sorted_unique
from corollary.execute.batches import Batch
from corollary.execute.filters import number_rows
from corollary.kernels.limits import check
from corollary.kernels.sorted import Column, Rows
from corollary.sparql.expressions import Exists, Expressions, mentioned
from corollary.sparql.query_terms import UNBOUND, QueryTerms, filled
from corollary.sparql.solutions import first_of_each
from corollary.sparql.tuning import TERMS_BETWEEN_CHECKS

SET_AGGREGATES = frozenset(f"Aggregate_{name}" for name in ("Count", "Sample", "Min", "Max"))
"""The aggregates that have the same result without duplicates, COUNT if it is DISTINCT."""

KEY, ARGUMENT = Variable("__key"), Variable("__argument")


def aggregate(
    part: CompValue,
    inner: Batch,
    times: Rows | None,
    expressions: Expressions,
    terms: QueryTerms,
    numbers: dict[Node, int],
    exists: Exists,
) -> Batch:
    """One row for every group of ``inner``. Without GROUP BY there is one group, even of no rows.

    With ``times``, each row stands for that many solutions, which bind each variable that is counted.
    """
    keys = part.p.expr
    if keys is None:
        size, groups = 1, np.zeros(inner.size, np.int64)
    else:
        if not inner.size:
            return Batch.none()
        columns = {1 + i: expressions.values(key, inner, exists) for i, key in enumerate(keys)}
        rows, groups = number_rows(Batch(inner.size, columns), list(columns))
        size = int(rows.size)
    result = Batch(size, {})
    for item in part.A:
        if times is not None and item.name == "Aggregate_Count" and not item.distinct:
            counts = np.zeros(size, np.int64)
            np.add.at(counts, groups, times)
            result.columns[numbers[item.res]] = _counts(counts, terms)
            continue
        result.columns[numbers[item.res]] = _aggregate(item, inner, size, groups, expressions, terms, exists)
    return result


def _aggregate(
    item: CompValue,
    inner: Batch,
    size: int,
    groups: Rows,
    expressions: Expressions,
    terms: QueryTerms,
    exists: Exists,
) -> Column:
    """One aggregate's result for each of ``size`` groups. ``groups`` has the group number of each row."""
    if item.name == "Aggregate_Count" and item.vars == "*":
        if item.distinct:
            first = first_of_each(inner, tuple(inner.columns))
            groups = groups[first]  # equal rows are in the same group
        return _counts(np.bincount(groups, minlength=size), terms)
    values = expressions.values(item.vars, inner, exists)
    valued = values != UNBOUND
    if item.name == "Aggregate_Count":
        keys = pack(groups[valued].astype(np.uint32), values[valued])
        if item.distinct:
            keys = sorted_unique(keys)
        return _counts(np.bincount(firsts(keys), minlength=size), terms)
    if item.name == "Aggregate_Sample":
        column = filled(size, UNBOUND)
        column[groups[valued][::-1]] = values[valued][::-1]  # in reverse: the first value is written last
        return column
    failed = np.zeros(size, np.bool_)
    if not isinstance(item.vars, Variable):
        blamed = ~valued
        if item.name == "Aggregate_GroupConcat":
            for variable in mentioned(item.vars):
                blamed &= expressions.column(variable, inner) != UNBOUND
        failed[groups[blamed]] = True
    if item.name in ("Aggregate_Sum", "Aggregate_Avg"):
        totals = _of_whole_numbers(item, values[valued], groups[valued], size, terms)
        if totals is not None:
            return np.where(failed, np.uint32(UNBOUND), totals)
    order = order_of(groups[valued])
    ends = np.cumsum(np.bincount(groups[valued], minlength=size))
    column = filled(size, UNBOUND)
    known = {}
    for group, members in enumerate(np.split(values[valued][order], ends[:-1])):
        check()
        if failed[group]:
            continue
        aggregator = Aggregator([_plain(item)])
        try:
            for number, term_id in enumerate(members.tolist()):
                if number % TERMS_BETWEEN_CHECKS == 0:
                    check()
                if term_id not in known:
                    known[term_id] = expressions.row({ARGUMENT: terms[term_id]})
                aggregator.update(known[term_id])
            found = aggregator.get_bindings().get(KEY)
        except SPARQLError:
            continue
        if found is not None:
            column[group] = terms.id_of(found)
    return column


def _of_whole_numbers(
    item: CompValue, values: Column, groups: Rows, size: int, terms: QueryTerms
) -> Column | None:
    """SUM or AVG of xsd:integer for each group; None if there are other values, or sums beyond 64 bits."""
    if item.distinct:
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
    if item.name == "Aggregate_Sum":
        return _counts(sums, terms)
    counts = np.bincount(groups, minlength=size)
    averages = {
        (total, count): terms.id_of(Literal(Decimal(total) / Decimal(count)) if count else Literal(0))
        for total, count in set(zip(sums.tolist(), counts.tolist(), strict=True))
    }
    found = [averages[pair] for pair in zip(sums.tolist(), counts.tolist(), strict=True)]
    return np.array(found, np.uint32)


def _plain(item: CompValue) -> Any:
    """The same aggregate, of the variable ``ARGUMENT``."""
    parts = {"vars": ARGUMENT, "res": KEY, "distinct": item.distinct, "separator": item.separator}
    return CompValue(item.name, **parts)


def _counts(counts: Rows, terms: QueryTerms) -> Column:
    used = distinct(counts)
    ids = np.array([terms.id_of(Literal(count)) for count in used.tolist()], np.uint32)
    return ids[np.searchsorted(used, counts)]
