"""What GROUP BY and aggregates need of their pattern: a count, distinct values, or solutions.

Solutions that are only counted, or of which distinct values suffice, are not listed.
"""

from __future__ import annotations

import numpy as np
from rdflib.term import BNode, Literal, Node, URIRef, Variable

from corollary.execute.batches import Batch, filled
from corollary.kernels.sorted import Rows
from corollary.sparql.aggregates import SET_AGGREGATES, aggregate
from corollary.sparql.algebra import Aggregate, Group, Triples, has_exists, mentioned
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
    single triple pattern is counted in groups by one end, this end is enough.
    """
    pattern, asked = part.inner, wanted_variables(own, part, scope)
    if asked is None:
        return _reduced_to_group(own, part, scope)
    assert isinstance(pattern, Triples)
    inner = collected(own.pattern_parts(pattern, scope, scope.seed, ROWS_PER_CHUNK, asked))
    counts = _plain_counts(part)
    end = _counted_end(pattern, counts, asked) if counts else None
    if end is None:
        return inner, None
    s, p, _ = pattern.triples[0]
    relation = scope.index.relation(own.terms.id_of(p))
    times = relation.subject_counts if end == s else relation.object_counts
    return inner, times(inner.columns[own.numbers[end]]) if inner.size else None


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
    is_found = not counts or (not scope.seed.columns and _counted_end(pattern, counts, asked))
    return asked if is_found else None


def _counted_end(pattern: Triples, counts: list[Aggregate], asked: frozenset[Variable]) -> Node | None:
    """The only end asked for of a single triple pattern with two variables as ends, if it is counted."""
    if len(pattern.triples) != 1:
        return None
    s, p, o = pattern.triples[0]
    ends = [end for end in (s, o) if isinstance(end, Variable | BNode)]
    if len({*ends}) != 2 or not isinstance(p, URIRef):
        return None
    kept = [end for end in ends if end in asked]
    is_counted = all(item.argument is None or item.argument in ends for item in counts)
    return kept[0] if len(kept) == 1 and is_counted else None


def _count(own: Evaluation, part: Group, scope: Scope) -> int | None:
    """The number of solutions of a pattern, none of which is kept.

    None if the aggregates ask for more than this number.
    """
    if part.keys is not None or scope.seed.columns:
        return None
    asked = {None, *certain(part.inner)}
    if not all(_is_plain_count(item) and item.argument in asked for item in part.aggregates):
        return None
    return sum(batch.size for batch in own.parts(part.inner, scope, is_counted=True))


def _plain_counts(part: Group) -> list[Aggregate]:
    """The aggregates of a group that count solutions."""
    return [item for item in part.aggregates if _is_plain_count(item)]


def _is_plain_count(item: Aggregate) -> bool:
    return item.function == "COUNT" and not item.is_distinct
