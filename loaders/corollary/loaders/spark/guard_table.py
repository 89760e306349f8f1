"""The matches of a rule's guards as one small table, which represents a family in a plan on the cluster."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass

import numpy as np

from corollary.columns.pairs import among
from corollary.execute.batches import Batch
from corollary.execute.run_plan import distinct_rows
from corollary.kernels.sorted import Mask
from corollary.loaders.spark.facts import Summary
from corollary.loaders.spark.id_translation import GlobalIds, IdTranslation
from corollary.program.compile import Atom, CompiledRule


@dataclass(slots=True)
class GuardTable:
    """Distinct rows of global ids, a column per variable; a table without columns has at most one row."""

    size: int
    columns: dict[int, GlobalIds]

    @staticmethod
    def of(rows: Batch, rule: CompiledRule, translation: IdTranslation) -> GuardTable:
        """The rows of a family, projected to the variables that the other parts of the rule use."""
        needed: set[int] = {v for i in rule.data for v in rule.atoms[i].variables}
        needed |= {v for head in rule.heads for v in head.variables}
        needed |= {v for condition in rule.conditions for v in condition.needs}
        needed |= {v for negation in rule.negations for v in negation.shared}
        names = sorted(needed & rows.columns.keys())
        if not rows.size or not names:
            return GuardTable(min(rows.size, 1), {})
        distinct = distinct_rows(rows, names)
        return GuardTable(distinct.size, {v: translation.outward(distinct.columns[v]) for v in names})

    def take(self, rows: Mask) -> GuardTable:
        """The rows where a mask is true."""
        columns = {v: column[rows] for v, column in self.columns.items()}
        return GuardTable(int(np.count_nonzero(rows)), columns)

    def without(self, other: GuardTable) -> GuardTable:
        """The rows that ``other``, a table of the same rule, does not have."""
        if not self.columns or not other.size:
            return GuardTable(max(self.size - other.size, 0), self.columns)
        known = set(other._rows())
        return self.take(np.array([row not in known for row in self._rows()], np.bool_))

    def matching(self, atom: Atom, summary: Summary, rdf_type: int) -> GuardTable:
        """The rows for which the counted facts may match an atom (with global constants)."""
        kept: Mask = np.ones(self.size, np.bool_)
        if atom.p in self.columns:
            kept &= among_ids(self.columns[atom.p], summary.predicates)
        if atom.p == rdf_type and atom.o in self.columns:
            kept &= among_ids(self.columns[atom.o], summary.classes)
        return self if kept.all() else self.take(kept)

    def most(self, atom: Atom, summary: Summary, rdf_type: int) -> int:
        """An upper bound for the size of the join with an atom (with global constants), by the counts."""
        if atom.p in self.columns:
            return sum(summary.predicates[predicate] for predicate in self.columns[atom.p].tolist())
        if atom.p == rdf_type and atom.o in self.columns:
            return sum(summary.classes[class_] for class_ in self.columns[atom.o].tolist())
        return self.size * summary.most(atom, rdf_type)

    def _rows(self) -> list[tuple[int, ...]]:
        return list(zip(*(column.tolist() for column in self.columns.values()), strict=True))


def among_ids(column: GlobalIds, known: Collection[int]) -> Mask:
    """A mask: which ids of ``column`` are in ``known``."""
    return among(column, np.sort(np.fromiter(known, np.int64, len(known))))
