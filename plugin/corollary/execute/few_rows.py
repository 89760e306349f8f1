"""Joins of few rows, row by row in Python: a look-up takes 2 µs, an operation on a column 5 to 30."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from corollary.columns import Relation, TripleIndex
from corollary.columns.pairs import NO_PAIRS, Pairs
from corollary.execute.batches import Batch
from corollary.execute.tuning import MAX_LOOK_UPS_ONE_BY_ONE, MAX_ROWS_JOINED_ONE_BY_ONE


@dataclass(slots=True)
class FewRows:
    """Rows of bindings, as lists. Its joins change it.

    Precondition of a join: there are at most ``MAX_ROWS_JOINED_ONE_BY_ONE`` rows.
    """

    size: int
    columns: dict[int, list[int]]

    @staticmethod
    def of(batch: Batch) -> FewRows:
        return FewRows(batch.size, {variable: column.tolist() for variable, column in batch.columns.items()})

    def batch(self) -> Batch:
        """The rows as a batch."""
        return Batch(self.size, {v: np.array(column, np.uint32) for v, column in self.columns.items()})

    def join(self, s: int, relation: Relation, o: int) -> bool:
        """Extend every row by every fact (s, o) of a relation, as ``batches.join_relation``.

        False, and no change, if neither end is known, and if there would be too many rows.
        """
        subjects, objects = self._values(s), self._values(o)
        if subjects is not None and objects is not None:
            has = relation.has
            self._take([i for i in range(self.size) if has(subjects[i], objects[i])])
            return True
        known, free = (subjects, o) if subjects is not None else (objects, s)
        if known is None:
            return False
        found = few_matches(known, relation, is_subject=free == o)
        if found is None:
            return False
        rows, values = found
        self._take(rows)
        self.columns[free] = values
        return True

    def join_open(self, s: int, p: int, o: int, facts: TripleIndex) -> bool:
        """As ``join``, by every fact (s, p, o), where the predicate and one end are free, and not the same.

        False, and no change, for other patterns, and if terms have many facts or predicates.
        """
        subjects, objects = self._values(s), self._values(o)
        known, free = (subjects, o) if subjects is not None else (objects, s)
        is_open = (subjects is None) != (objects is None) and free != p and p not in self.columns
        found = few_facts(known, facts, is_subject=free == o) if is_open and known is not None else None
        if found is None:
            return False
        rows, predicates, values = found
        self._take(rows)
        self.columns[p], self.columns[free] = predicates, values
        return True

    def _values(self, term: int) -> list[int] | None:
        """The values of a constant or bound variable; None of a free one."""
        return [term] * self.size if term >= 0 else self.columns.get(term)

    def _take(self, rows: list[int]) -> None:
        """Keep the rows at these positions, which may repeat."""
        if rows != list(range(self.size)):
            self.columns = {v: [column[i] for i in rows] for v, column in self.columns.items()}
            self.size = len(rows)


def few_matches(
    terms: Sequence[int], relation: Relation, *, is_subject: bool, missing: int | None = None
) -> tuple[list[int], list[int]] | None:
    """The facts with each of some terms as subject, or object: the position of the term, and the other end.

    A term without facts is once beside ``missing``, if that is given. None for more facts than
    ``MAX_ROWS_JOINED_ONE_BY_ONE``. Precondition: there are no more terms.
    """
    if not relation.is_compressed:
        base, added, removed = relation.parts
        if type(base) is Pairs and added is NO_PAIRS and removed is NO_PAIRS:
            return base.few_beside(terms, MAX_ROWS_JOINED_ONE_BY_ONE, is_first=is_subject, missing=missing)
    matches_of = relation.column_of_objects if is_subject else relation.column_of_subjects
    rows: list[int] = []
    values: list[int] = []
    for row, term in enumerate(terms):
        matches = matches_of(term)
        if len(values) + matches.size > MAX_ROWS_JOINED_ONE_BY_ONE:
            return None
        if matches.size:
            values += matches.tolist()
            rows += [row] * matches.size
        elif missing is not None:
            values.append(missing)
            rows.append(row)
    return rows, values


def few_facts(
    terms: Sequence[int], facts: TripleIndex, *, is_subject: bool
) -> tuple[list[int], list[int], list[int]] | None:
    """The facts of each of some terms as subject, or object: the term's position, predicate and other end.

    None if a term has more than ``MAX_ROWS_JOINED_ONE_BY_ONE`` facts with one predicate, or if that takes
    more than ``MAX_LOOK_UPS_ONE_BY_ONE`` look-ups. Cost: a look-up for each term and predicate, or those of
    the term if there is a directory.
    """
    left = MAX_LOOK_UPS_ONE_BY_ONE
    rows: list[int] = []
    predicates: list[int] = []
    values: list[int] = []
    for row, term in enumerate(terms):
        beside = facts.predicates_beside(term, None) if is_subject else facts.predicates_beside(None, term)
        left -= len(beside)
        if left < 0:
            return None
        for predicate in beside:
            found = few_matches((term,), facts.relation(predicate), is_subject=is_subject)
            if found is None:
                return None
            ends = found[1]
            if ends:
                values += ends
                rows += [row] * len(ends)
                predicates += [predicate] * len(ends)
    return rows, predicates, values
