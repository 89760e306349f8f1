"""How much is lost at least if a rule goes: told from how many facts its inclusions start from."""

from __future__ import annotations

import numpy as np

from corollary.algebra.execute import family_rows
from corollary.index.pairs import distinct
from corollary.index.triples import TripleIndex
from corollary.kernels.sorted import Column, Rows
from corollary.modules.inclusion import Shape, inclusion_shape
from corollary.plan.compile import CompiledRule
from corollary.plan.program import CompiledProgram


def derived_at_least(
    rule: CompiledRule, compiled: CompiledProgram, facts: TripleIndex, explicit: TripleIndex
) -> int:
    """So many facts that are not explicit does a rule derive at least; 0 if it is no inclusion.

    Of all that is included in a class or property, the largest counts.
    """
    shape = inclusion_shape(rule, compiled.rdf_type)
    if shape is None:
        return 0
    rows = family_rows(rule, facts, compiled.dictionary)
    if not rows.size:
        return 0
    row_targets = rows.column(shape.target)
    targets = distinct(row_targets)
    derived: Rows = np.zeros(targets.size, np.int64)
    from_each = _derived(shape, rows.column(shape.source), compiled.rdf_type, facts)
    np.maximum.at(derived, np.searchsorted(targets, row_targets), from_each)
    types = explicit.relation(compiled.rdf_type)
    given = types.object_counts(targets) if shape.to_class else _sizes(targets, explicit)
    return int(np.maximum(derived - given, 0).sum())


def _derived(shape: Shape, sources: Column, rdf_type: int, facts: TripleIndex) -> Rows:
    """How many facts are derived from each source."""
    if shape.from_class:
        return facts.relation(rdf_type).object_counts(sources)
    properties = distinct(sources)
    if shape.to_class:
        pairs = (facts.relation(p).pairs() for p in properties.tolist())
        ends = (each.distinct_seconds() if shape.flips else each.distinct_firsts() for each in pairs)
        sizes = np.array([column.size for column in ends], np.int64)
    else:
        sizes = _sizes(properties, facts)
    return sizes[np.searchsorted(properties, sources)]


def _sizes(predicates: Column, facts: TripleIndex) -> Rows:
    return np.array([len(facts.relation(p)) for p in predicates.tolist()], np.int64)
