"""Inclusions between classes and properties, closed: what single-atom rules copy where.

An inclusion is a row of the family of a rule that ``program.shapes.inclusion_shape`` recognises: the facts of
a source are copied to a target. The inclusion module and the cluster apply the closure to facts.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from corollary.closure.reachability import close_graph, close_keys
from corollary.columns import TripleIndex
from corollary.columns.key_sort import sort_keys
from corollary.columns.pairs import (
    NO_KEYS,
    NO_PAIRS,
    Pairs,
    distinct,
    firsts,
    follow,
    pack,
    seconds,
    sorted_unique,
    swap,
)
from corollary.execute.context import ExecutionContext
from corollary.execute.run_plan import family_rows
from corollary.execute.tuning import MAX_CLASSES_COMPARED
from corollary.kernels.sorted import Keys
from corollary.program.compile import CompiledRule
from corollary.program.compiled_program import CompiledProgram
from corollary.program.shapes import InclusionShape, inclusion_shape


@dataclass(slots=True)
class Inclusions:
    """Closed inclusions as pairs (source, target), one set for every kind.

    ``inverses`` are inclusions between properties that swap subject and object.
    """

    classes: Pairs = NO_PAIRS
    properties: Pairs = NO_PAIRS
    inverses: Pairs = NO_PAIRS
    domains: Pairs = NO_PAIRS
    ranges: Pairs = NO_PAIRS

    @property
    def kinds(self) -> tuple[Pairs, Pairs, Pairs, Pairs, Pairs]:
        return self.classes, self.properties, self.inverses, self.domains, self.ranges

    def without(self, other: Inclusions) -> Inclusions:
        """The inclusions that ``other`` does not have."""
        return Inclusions(*(new.minus(old) for new, old in zip(self.kinds, other.kinds, strict=True)))

    def __len__(self) -> int:
        return sum([kind.keys.size for kind in self.kinds])

    def least(self, classes: list[int]) -> list[int]:
        """Those of some classes from which inclusions lead to all others; of equivalent ones the first.

        All classes, if there are more than ``MAX_CLASSES_COMPARED``.
        """
        if len(classes) > MAX_CLASSES_COMPARED:
            return classes
        left = list(classes)
        for class_ in reversed(classes):
            if any(other != class_ and self.classes.has(other << 32 | class_) for other in left):
                left.remove(class_)
        return left


def closed_inclusions(
    rules: Iterable[tuple[CompiledRule, InclusionShape]],
    facts: TripleIndex,
    context: ExecutionContext,
    rdf_type: int,
) -> Inclusions:
    """The closure of the inclusions of some rules, given the guards among ``facts``."""
    rows: dict[tuple[bool, bool, bool], list[Keys]] = {}
    for rule, shape in rules:
        kind = (shape.from_class, shape.to_class, shape.is_inverse)
        rows.setdefault(kind, []).append(_rows(rule, shape, facts, context, rdf_type))

    def given(from_class: bool, to_class: bool, is_inverse: bool) -> Keys:
        return sorted_unique(np.concatenate(rows.get((from_class, to_class, is_inverse), [NO_KEYS])))

    classes = close_keys(given(True, True, False))
    classes = classes[firsts(classes) != seconds(classes)]
    properties, inverses = _close_properties(given(False, False, False), given(False, False, True))
    domains, ranges = given(False, True, False), given(False, True, True)
    # a property has the domains and ranges of the properties that include it, and their superclasses
    within, inverse_within = properties.by_object, inverses.by_object
    domains, ranges = (
        np.concatenate((domains, follow(within, domains), follow(inverse_within, ranges))),
        np.concatenate((ranges, follow(within, ranges), follow(inverse_within, domains))),
    )
    return Inclusions(
        Pairs(classes),
        properties,
        inverses,
        *(
            Pairs.of(np.concatenate((ends, follow(sort_keys(swap(ends)), classes))))
            for ends in (domains, ranges)
        ),
    )


def about_rdf_type(rule: CompiledRule, program: CompiledProgram) -> Sequence[CompiledRule]:
    """The rule with rdf:type in place of each variable property: such a rule is no inclusion."""
    shape = inclusion_shape(rule, program.rdf_type)
    assert shape is not None
    ends = [shape.source] * (not shape.from_class) + [shape.target] * (not shape.to_class)
    return program.about_rdf_type(rule, ends)


def _rows(
    rule: CompiledRule, shape: InclusionShape, facts: TripleIndex, context: ExecutionContext, rdf_type: int
) -> Keys:
    """The rows of a rule's family as pairs source << 32 | target; rdf:type is no property here."""
    rows = family_rows(rule, facts, context)
    if not rows.size:
        return NO_KEYS
    source, target = rows.column(shape.source), rows.column(shape.target)
    kept = np.ones(rows.size, np.bool_)
    if not shape.from_class:
        kept &= source != rdf_type
    if not shape.to_class:
        kept &= target != rdf_type
    return pack(source[kept], target[kept])


def _close_properties(straight: Keys, inverse: Keys) -> tuple[Pairs, Pairs]:
    """The closure of direct and of inverse inclusions between properties; two inverses make a direct one.

    Every property is two nodes of a graph: reached by an even or by an odd number of swaps. Direct inclusions
    of a property in itself are left out.
    """
    edges = np.concatenate((straight, inverse))
    nodes = distinct(np.concatenate((firsts(edges), seconds(edges))))
    is_inverse = np.repeat(np.array([0, 1]), [straight.size, inverse.size])
    start = 2 * np.searchsorted(nodes, firsts(edges))
    end = 2 * np.searchsorted(nodes, seconds(edges))
    starts, ends = (
        np.concatenate((start, start + 1)),
        np.concatenate((end + is_inverse, end + 1 - is_inverse)),
    )
    from_state, to_state = close_graph(2 * nodes.size, starts, ends)
    wanted = (from_state % 2 == 0) & (from_state != to_state)
    from_state, to_state = from_state[wanted], to_state[wanted]
    pairs, leads_to_inverse = pack(nodes[from_state // 2], nodes[to_state // 2]), to_state % 2 == 1
    return Pairs(sort_keys(pairs[~leads_to_inverse])), Pairs(sort_keys(pairs[leads_to_inverse]))
