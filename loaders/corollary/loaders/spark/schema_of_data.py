"""Schema facts that follow from data, such as that a predicate of the data is an rdf:Property.

They are found on an outline (``program_cut``). A rule with one data atom has a match in the facts if it has
one in the outline; with the same conclusions, unless these have terms of the outline that stand for others.
"""

from __future__ import annotations

import numpy as np

from corollary.columns import Candidates
from corollary.columns.pairs import among, difference, distinct, firsts, seconds
from corollary.execute.context import ExecutionContext
from corollary.execute.run_plan import emit, run, sizes
from corollary.loaders.spark.driver_schema import DriverSchema
from corollary.loaders.spark.schema import Schema
from corollary.plan.delta_plans import full_plan
from corollary.plan.steps import Age
from corollary.program.compile import CompiledRule
from corollary.terms.dictionary import TermDictionary


def schema_of_data(
    schema: Schema, dictionary: TermDictionary, outline: Candidates, others: frozenset[int]
) -> Candidates:
    """The schema facts that the schema lacks, and that one data atom of a rule gives; ``others`` aside.

    ``outline`` has facts over ``dictionary``, which extends the schema's by ``others``: the terms that stand
    for others.
    """
    index = schema.index.snapshot()
    for predicate, parts in outline.items():
        index.add_new(predicate, list(parts))
    context, found = ExecutionContext(dictionary), Candidates()
    for rule in schema.compiled.rules:
        if _reads_one_fact(rule, schema.on_driver):
            emit(rule.heads, run(full_plan(rule, sizes(index)), {Age.ALL: index}, rule, context), found)
    unknown = np.array(sorted(others), np.uint32)
    new: Candidates = {}
    for predicate, parts in found.items():
        keys = schema.on_driver.only(predicate, distinct(np.concatenate(parts)))
        keys = difference(keys, schema.index.keys(predicate))
        keys = keys[~(among(firsts(keys), unknown) | among(seconds(keys), unknown))]
        if keys.size and predicate not in others:
            new[predicate] = [keys]
    return new


def _reads_one_fact(rule: CompiledRule, on_driver: DriverSchema) -> bool:
    """Whether a rule has one atom that is not schema, without conditions and variables that it repeats."""
    data = [atom for atom in rule.atoms if not on_driver.has(atom)]
    if len(data) != 1 or rule.conditions or not rule.is_monotone or not rule.heads:
        return False
    names = [term for term in data[0].terms if term < 0]
    return len(set(names)) == len(names) and data[0].p not in on_driver.values
