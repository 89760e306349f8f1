"""What GROUP BY and aggregates need of their pattern: a count, distinct values, or solutions.

Solutions that are only counted, or of which distinct values suffice, are not listed.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from rdflib.paths import Path
from rdflib.term import BNode, Literal, URIRef, Variable

from corollary.execute.batches import Batch, filled
from corollary.kernels.sorted import Rows
from corollary.sparql.aggregates import SET_AGGREGATES, aggregate
from corollary.sparql.algebra import Aggregate, Filter, Group, Operator, Triples, has_exists, mentioned
from corollary.sparql.query_evaluation import Evaluation, Scope
from corollary.sparql.scopes import certain
from corollary.sparql.solution_conditions import exists_in
from corollary.sparql.solutions import collected, counted_rows, projected
from corollary.sparql.tuning import ROWS_PER_CHUNK
from corollary.sparql.written_literals import UNBOUND


def grouped(own: Evaluation, part: Group, scope: Scope) -> Batch:
    """The solutions of an aggregate: one for each group."""
    count = _count(own, part, scope)
    if count is not None:
        column = np.full(1, own.terms.id_of(Literal(count)), np.uint32)
        return Batch(1, {own.numbers[item.result]: column for item in part.aggregates})
    inner, times = _rows_to_group(own, part, scope)
    return aggregate(part, inner, times, own.expressions, own.terms, own.numbers, exists_in(own, scope))


def _rows_to_group(own: Evaluation, part: Group, scope: Scope) -> tuple[Batch, Rows | None]:
    """The solutions of an aggregate's pattern, or some columns of them, and how many each row stands for.

    If all aggregates ignore duplicates, the distinct values of the variables asked for are enough. If a
    single triple pattern is counted in groups by its predicate, by one end or by both, these are enough.
    """
    pattern, asked = part.inner, wanted_variables(own, part, scope)
    if asked is None:
        return _reduced_to_group(own, part, scope)
    assert isinstance(pattern, Triples)
    inner = collected(own.pattern_parts(pattern, scope, scope.seed, ROWS_PER_CHUNK, asked))
    has_counts = bool(inner.size and _plain_counts(part))
    return inner, _times(own, pattern.triples[0], inner, scope) if has_counts else None


def _times(own: Evaluation, pattern: tuple[Any, Any, Any], inner: Batch, scope: Scope) -> Rows:
    """The number of facts that match a pattern in each row, which binds what ``_counted_by`` names.

    Cost: a search for each row that binds an end, and no more than that for each predicate.
    """
    s, p, o = pattern
    end = next((v for v in (s, o) if own.numbers.get(v) in inner.columns), None)
    ends = None if end is None else inner.columns[own.numbers[end]]
    if isinstance(p, URIRef):
        predicates, starts = [own.terms.id_of(p)], [0]
    else:  # the rows of a predicate follow each other
        column = inner.columns[own.numbers[p]]
        starts = [0, *(np.flatnonzero(column[1:] != column[:-1]) + 1).tolist()]
        predicates = column[starts].tolist()
    times: Rows = np.empty(inner.size, np.int64)
    for predicate, start, stop in zip(predicates, starts, [*starts[1:], inner.size], strict=True):
        relation = scope.index.relation(predicate)
        if ends is None:
            times[start:stop] = len(relation)
        else:
            counts = relation.subject_counts if end == s else relation.object_counts
            times[start:stop] = counts(ends[start:stop])
    return times


def _reduced_to_group(own: Evaluation, part: Group, scope: Scope) -> tuple[Batch, Rows | None]:
    """As ``_rows_to_group``, of any pattern.

    If duplicates are ignored or only counted, many solutions become distinct rows, each with the number
    of solutions that it stands for.
    """
    arguments = (*(part.keys or ()), *(item.argument for item in part.aggregates))
    are_listed = [item for item in part.aggregates if item.argument is None and item.is_distinct]
    if are_listed or has_exists(arguments):
        return own.solutions(part.inner, scope), None
    columns = [own.numbers[v] for v in mentioned(arguments)]
    found = (projected(batch, columns) for batch in own.parts(part.inner, scope))
    are_counted = all(
        item.argument is None or isinstance(item.argument, Variable) for item in _plain_counts(part)
    )
    if not are_counted or not all(item.function in SET_AGGREGATES for item in part.aggregates):
        return collected(found), None
    inner, times = counted_rows(found, ROWS_PER_CHUNK)
    unbound = [v for v in columns if v not in inner.columns] if inner.size else []
    return Batch(inner.size, inner.columns | {v: filled(inner.size, UNBOUND) for v in unbound}), times


def wanted_variables(own: Evaluation, part: Group, scope: Scope) -> frozenset[Variable] | None:
    """The variables whose distinct values an aggregate needs; None if it needs all solutions."""
    pattern, keys = part.inner, part.keys or ()
    counts = _plain_counts(part)
    others = [item for item in part.aggregates if not _is_plain_count(item)]
    arguments = (*keys, *(item.argument for item in others))
    are_sets = all(item.function in SET_AGGREGATES and item.argument is not None for item in others)
    if not isinstance(pattern, Triples) or not are_sets or has_exists(arguments):
        return None
    asked = mentioned(arguments)
    if not counts:
        return asked
    return None if scope.seed.columns else _counted_by(pattern, counts, asked)


def _counted_by(
    pattern: Triples, counts: list[Aggregate], asked: frozenset[Variable]
) -> frozenset[Variable] | None:
    """What rows have to bind, so that facts are counted for each of them: what is asked for, the predicate.

    None if solutions have to be listed: the pattern is one of several, has a path, a constant or the same
    variable twice, or both of its ends are asked for, or none of its variables.
    """
    if len(pattern.triples) != 1:
        return None
    s, p, o = pattern.triples[0]
    open_ = {term for term in (s, p, o) if isinstance(term, Variable | BNode)}
    if len(open_) != (2 if isinstance(p, URIRef) else 3) or {s, o} <= asked or not open_ & asked:
        return None
    is_counted = all(item.argument is None or item.argument in open_ for item in counts)
    return (asked if isinstance(p, URIRef) else asked | {p}) if is_counted else None


def _count(own: Evaluation, part: Group, scope: Scope) -> int | None:
    """The number of solutions of a pattern, none of which is kept.

    None if the aggregates ask for more than this number.
    """
    if part.keys is not None or scope.seed.columns:
        return None
    asked = {None, *certain(part.inner)}
    for item in part.aggregates:
        is_of_all = item.argument is None and item.function == "COUNT" and _are_distinct(part.inner)
        if not is_of_all and not (_is_plain_count(item) and item.argument in asked):
            return None
    return sum(batch.size for batch in own.parts(part.inner, scope, is_counted=True))


def _are_distinct(part: Operator) -> bool:
    """Whether no two solutions are equal: each binds all that tells the facts which it matches."""
    if isinstance(part, Filter):
        return _are_distinct(part.inner)
    hiding = (BNode, Path)  # what these match is not in the solution
    return isinstance(part, Triples) and not any(
        isinstance(term, hiding) for row in part.triples for term in row
    )


def _plain_counts(part: Group) -> list[Aggregate]:
    """The aggregates of a group that count solutions."""
    return [item for item in part.aggregates if _is_plain_count(item)]


def _is_plain_count(item: Aggregate) -> bool:
    return item.function == "COUNT" and not item.is_distinct
