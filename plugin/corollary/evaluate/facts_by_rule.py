"""The inferred facts that one rule derives, counted on demand: engines keep no reasons of facts."""

from __future__ import annotations

import numpy as np

from corollary.columns import Candidates, TripleIndex
from corollary.columns.pairs import gathered
from corollary.evaluate.materialise import MaterialisedView
from corollary.execute.context import ExecutionContext
from corollary.execute.run_plan import emit, run, sizes
from corollary.language import Rule
from corollary.modules.list_rules import long_list_rule
from corollary.modules.triggers import viable
from corollary.plan.delta_plans import full_plan
from corollary.plan.steps import Age


def inferred_by(rule: Rule, result: MaterialisedView, legal: TripleIndex) -> int:
    """The number of facts of ``legal`` that are not explicit, and that a rule instance over I derives.

    A fact that several rules derive counts for each. Precondition: the rule is in force in ``result``;
    ``legal`` ⊆ I. Cost: O(instances of the rule). Raises LimitExceeded or Cancelled.
    """
    context = ExecutionContext(result.dictionary)
    context.readings = dict(result.cells)
    heads: Candidates = {}
    for compiled in result.compiled.forms_of(rule):
        if not viable(compiled, result.index):
            continue
        if compiled.along is not None:
            batch = long_list_rule(compiled, context).all(result.index)
        else:
            batch = run(full_plan(compiled, sizes(result.index)), {Age.ALL: result.index}, compiled, context)
        emit(compiled.heads, batch, heads)
    count = 0
    for predicate, parts in heads.items():
        keys = gathered(parts)
        is_explicit = result.explicit.relation(predicate).contains(keys)
        count += int(np.count_nonzero(legal.relation(predicate).contains(keys) & ~is_explicit))
    return count
