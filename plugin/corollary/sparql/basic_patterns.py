"""Basic graph patterns within a query: joined with the rows of a scope or of another operand.

A pattern is planned once for a state of the facts, the variables that are bound, and those that are wanted
(``query_evaluation.Prepared``). ``patterns.PatternJoin`` joins it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator

import numpy as np
from rdflib.term import Variable

from corollary.execute.batches import Batch
from corollary.execute.filters import number_rows
from corollary.kernels.sorted import Mask, Rows
from corollary.sparql.algebra import Filter, Operator, Triples, blank_nodes, mentioned
from corollary.sparql.evaluation_order import shared_variables
from corollary.sparql.pattern_costs import Pattern
from corollary.sparql.patterns import PatternJoin, Reduction, place_of_one
from corollary.sparql.query_evaluation import Evaluation, Planned, Scope
from corollary.sparql.solution_conditions import conditions
from corollary.sparql.solutions import Parts, is_bound, projected
from corollary.sparql.tuning import MAX_JOINS_KEPT, ROWS_PER_CHUNK


def _unchanged(batch: Batch) -> Batch:
    return batch


def pattern_parts(
    own: Evaluation,
    part: Operator,
    scope: Scope,
    start: Batch,
    limit: int,
    wanted: Collection[Variable] | None = None,
    is_counted: bool = False,
    is_kept: bool = False,
) -> Iterator[Batch]:
    """A basic graph pattern and its condition, joined with ``start``: in batches of some ``limit`` rows.

    With ``wanted``, the distinct values of these variables suffice. With ``is_counted``, batches may lack
    columns. With ``is_kept``, all batches are kept.
    """
    pattern: Operator = part
    early: Reduction = _unchanged
    finish: Reduction | None = None
    if isinstance(part, Filter):
        early, finish = conditions(own, part, scope)
        pattern = part.inner
        wanted = None if wanted is None else {*wanted, *mentioned(part.condition)}
    assert isinstance(pattern, Triples)
    key = id(pattern), tuple(start.columns), None if wanted is None else frozenset(wanted)
    known = own.prepared.joins.get(key) if scope.index is own.prepared.index else None
    join: PatternJoin | None = None
    if known is None:
        patterns = own.patterns(pattern)
        unwanted = unwanted_variables(own, patterns, wanted, start.columns)
        places = place_of_one(patterns, start.columns)
        if places is None:
            join = own.pattern_join(pattern, scope, early, unwanted)
            places = join.places(start.columns, patterns)
        known = Planned(places, unwanted, [own.numbers[term] for term in blank_nodes(pattern)])
        joins = own.prepared.joins
        is_lasting = scope.index is own.prepared.index and id(pattern) in own.prepared.patterns
        if is_lasting and len(joins) < MAX_JOINS_KEPT:
            joins[key] = known
    places, unwanted, blank = known
    start, done = own.begun(start, places, scope.index, unwanted)
    if done == len(places):  # the join itself, with its costs, is not needed
        found: Parts = (start,) if start.size else ()
    else:
        join = join or own.pattern_join(pattern, scope, early, unwanted)
        is_last = finish is None
        found = join.parts(start, places[done:], limit, is_counted and is_last, is_kept and is_last)
    for batch in found if finish is None else map(finish, found):
        if blank:
            batch = Batch(batch.size, {v: c for v, c in batch.columns.items() if v not in blank})
        yield batch


def unwanted_variables(
    own: Evaluation, patterns: list[Pattern], wanted: Collection[Variable] | None, bound: Collection[int]
) -> frozenset[int]:
    """The variables of one pattern whose values are not ``wanted`` (None: all are)."""
    if wanted is None:
        return frozenset()
    ends = Counter(end for pattern in patterns for end in (pattern.s, pattern.o) if end < 0)
    once = {end for end, times in ends.items() if times == 1}
    others = {pattern.p for pattern in patterns if type(pattern.p) is int}
    asked = {own.numbers[variable] for variable in wanted}
    return frozenset(once - others - asked - set(bound))


def continues(own: Evaluation, left: Batch, part: Operator, scope: Scope) -> bool:
    """Whether a part may start from a batch: all rows bind the variables of both."""
    common = shared_variables(own, part, left.columns)
    is_complete = scope.seed.columns.keys() <= left.columns.keys()
    return bool(common) and is_complete and is_bound(left, common)


def matches(own: Evaluation, left: Batch, part: Operator, scope: Scope) -> Rows | None:
    """The number of solutions of a triple pattern that join with each row; None if they are listed."""
    if not isinstance(part, Triples) or len(part.triples) != 1 or not continues(own, left, part, scope):
        return None
    (pattern,) = own.patterns(part)
    return own.pattern_join(part, scope, _unchanged, frozenset()).matches(left, pattern)


def has_match(own: Evaluation, left: Batch, part: Operator, scope: Scope) -> Mask:
    """For each row, whether a basic graph pattern has a solution. Precondition: ``continues``."""
    counts = matches(own, left, part, scope)
    if counts is not None:
        return counts > 0
    common = shared_variables(own, part, left.columns)
    asked = projected(left, dict.fromkeys([*common, *scope.seed.columns]))
    if isinstance(part, Triples) and len(part.triples) == 1:
        first = numbers = np.arange(left.size)  # a search takes less time than looking for equal rows
    else:
        first, numbers = number_rows(asked, [v for v in asked.columns if v not in scope.rows])
    row = own.fresh()
    rows = asked.take(first)
    start = Batch(rows.size, rows.columns | {row: np.arange(rows.size, dtype=np.uint32)})
    found: Mask = np.zeros(rows.size, np.bool_)
    for batch in own.pattern_parts(part, scope, start, ROWS_PER_CHUNK, ()):
        found[batch.columns[row]] = True
    answers: Mask = found[numbers]
    return answers
