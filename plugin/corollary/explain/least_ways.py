"""The ways to a fact by a recursive aggregate: the edges over which its group has its least value.

So the proof of a distance is a path of that length. Other matches of the aggregate are counted, and need no
proofs.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from corollary.columns import TripleIndex
from corollary.execute.batches import Batch, join
from corollary.execute.common_numbers import CommonNumbers
from corollary.execute.context import ExecutionContext
from corollary.execute.filters import values
from corollary.execute.run_plan import inner_matches
from corollary.explain.backward import Backward
from corollary.explain.proof import Application, Fact, Group
from corollary.explain.tuning import MAX_INSTANCES
from corollary.program.recursion import RecursiveAggregate

Reason = tuple[Application, tuple[Fact, ...]]


def least_ways(
    backward: Backward,
    recursive: RecursiveAggregate,
    fact: Fact,
    facts: TripleIndex,
    context: ExecutionContext,
) -> Iterator[Reason]:
    """The reasons for a fact and their premises, up to ``MAX_INSTANCES``; none if a better value holds."""
    rule, (node, predicate, term) = backward.rule, fact
    numbers = CommonNumbers(context.dictionary, is_max=recursive.is_max, is_minus=recursive.is_minus)
    if not _is_least(numbers, term, facts.relation(predicate).objects(node)):
        return
    grouping = rule.groupings[0]
    own = next(atom for atom in grouping.atoms if atom.p == predicate)
    start = Batch(1, {recursive.group: np.array([node], np.uint32)})
    batch = join(inner_matches(start, recursive.edges, facts, rule, context), own, facts)
    if not batch.size:
        return
    steps, valid = values(batch, recursive.step, rule, context.dictionary)
    pairs = zip(batch.column(own.o).tolist(), steps.tolist(), strict=True)
    is_reached = valid & np.array([numbers.sum(*pair) == numbers.key(term) for pair in pairs], np.bool_)
    shown = batch.take(np.flatnonzero(is_reached)[:MAX_INSTANCES])
    bindings = {rule.names[-1 - v]: t for v, t in zip(backward.head.terms, fact, strict=True) if v < 0}
    columns = [zip(*(shown.column(t).tolist() for t in atom.terms), strict=True) for atom in grouping.atoms]
    for premises in zip(*columns, strict=True):
        group = Group(grouping.element, batch.size, (premises,))
        yield Application(rule, bindings, (group,)), tuple(dict.fromkeys(premises))


def _is_least(numbers: CommonNumbers, term: int, others: list[int]) -> bool:
    """Whether a term is canonical, and the least of the others; sets the rank of the numbers to its own."""
    rank = numbers.rank_of(term, is_step=False)
    if rank is None:
        return False
    numbers.use(rank)
    least = numbers.key(term)
    keys = [numbers.key(other) for other in others if numbers.within_rank(other, is_step=False)]
    is_best = least is not None and not any(key is not None and key < least for key in keys)
    return least is not None and is_best and numbers.term(least) == term
