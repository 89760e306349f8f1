"""Constraints with PAIR: the plan for long lists, whose pairs of items are too many to look at each."""

from __future__ import annotations

from itertools import pairwise

import numpy as np

from corollary.columns import TripleIndex
from corollary.columns.pairs import distinct
from corollary.evaluate.tuning import MIN_PAIRS_BY_DATA
from corollary.execute.context import ExecutionContext
from corollary.execute.run_plan import run, sizes
from corollary.plan.delta_plans import full_plan, plan_with_late_cells
from corollary.plan.passes import order_joins
from corollary.plan.steps import Age, Join, Plan, PlanContext
from corollary.program.compile import CompiledRule
from corollary.terms.dictionary import TermDictionary


def constraint_plan(rule: CompiledRule, facts: TripleIndex, context: ExecutionContext) -> Plan:
    """The plan for all bindings of a constraint. Cost: a look at the lists that the rule's pairs are from.

    If these lists have more pairs of items than there are facts, data lead from one item to the other.
    """
    seconds = second_cells(rule, context.dictionary)
    pairs = sum(_count_pairs(rule, cell, facts, context) for cell in seconds)
    if pairs > max(MIN_PAIRS_BY_DATA, facts.fact_count()):
        return plan_with_late_cells(rule, seconds, sizes(facts))
    return full_plan(rule, sizes(facts))


def second_cells(rule: CompiledRule, dictionary: TermDictionary) -> tuple[int, ...]:
    """The positions of CELL(k, d) after a CELL(k, c) of the same reading, one for each PAIR.

    The next atom is [d, rdf:first, y] (``language.list_patterns.with_cells``).
    """
    cell = dictionary.find("CELL")
    found = [i for i, atom in enumerate(rule.atoms) if atom.p == cell]
    return tuple(j for i, j in pairwise(found) if rule.atoms[i].s == rule.atoms[j].s)


def _count_pairs(rule: CompiledRule, second: int, facts: TripleIndex, context: ExecutionContext) -> int:
    """The number of pairs of cells in the readings that a PAIR is about, given its second CELL atom."""
    cell, reading = rule.atoms[second], next(a for a in rule.atoms if a.o == rule.atoms[second].s)
    known, atoms = {reading.s}, [reading]
    waiting = [a for i, a in enumerate(rule.atoms) if a != reading and i not in range(second - 2, second + 2)]
    while near := [atom for atom in waiting if atom.variables & known]:
        atoms += near
        known.update(variable for atom in near for variable in atom.variables)
        waiting = [atom for atom in waiting if atom not in near]
    joins = tuple(Join(atom, Age.ALL) for atom in atoms)
    plan = order_joins(joins, PlanContext(rule, sizes(facts)))
    batch = run(plan, {Age.ALL: facts}, rule, context)
    if not batch.size:
        return 0
    lengths = facts.relation(cell.p).subject_counts(distinct(batch.columns[reading.o]))
    return int(np.square(lengths).sum())
