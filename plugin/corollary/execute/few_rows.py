"""Joins of few rows, row by row in Python: a look-up takes 2 µs, an operation on a column 5 to 30.

Most changes are of one fact, and the plans of rules start from the few rows that such a change touches. Many
queries start from one resource.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass

import numpy as np

from corollary.columns import Relation, TripleIndex
from corollary.columns.pairs import NO_PAIRS, Pairs
from corollary.execute.batches import Batch
from corollary.execute.tuning import MAX_LOOK_UPS_ONE_BY_ONE, MAX_ROWS_JOINED_ONE_BY_ONE


@dataclass(slots=True)
class FewRows:
    """Rows of bindings. Its joins replace the rows.

    Precondition of a join: there are at most ``MAX_ROWS_JOINED_ONE_BY_ONE`` rows.
    """

    size: int
    columns: dict[int, list[int]]

    @staticmethod
    def of(batch: Batch) -> FewRows:
        return FewRows(batch.size, {variable: column.tolist() for variable, column in batch.columns.items()})

    def batch(self, wanted: Collection[int] = ()) -> Batch:
        """The rows as a batch; with ``wanted``, only the columns of these variables."""
        if not self.size:
            return Batch.none()
        return Batch(self.size, {v: np.array(self.columns[v], np.uint32) for v in wanted or self.columns})

    def join(self, s: int, p: int, o: int, facts: TripleIndex) -> bool:
        """Extend every row by every fact that matches an atom, as ``batches.join``.

        False, and no change, if the predicate is free, for loops [?x, p, ?x] of a free variable, and if there
        would be too many rows.
        """
        size, columns = self.size, self.columns
        if p < 0:
            predicates = columns.get(p)
            if predicates is None:
                return False
            if size != 1:
                return self._join_each(s, predicates, o, facts)
            p = predicates[0]
        relation = facts.relation(p)
        subjects = [s] * size if s >= 0 else columns.get(s)
        objects = [o] * size if o >= 0 else columns.get(o)
        if subjects is not None and objects is not None:
            has = relation.has_key
            kept = [row for row in range(size) if has(subjects[row] << 32 | objects[row])]
            if len(kept) < size:
                self._take(kept)
            return True
        if subjects is None and objects is None:
            if s == o or relation.size * size > MAX_ROWS_JOINED_ONE_BY_ONE:
                return False
            keys = relation.pairs().keys.tolist()
            if len(keys) != 1:
                self._take([row for row in range(size) for _ in keys])
            self.columns[s] = [key >> 32 for key in keys] * size
            self.columns[o] = [key & 0xFFFFFFFF for key in keys] * size
            return True
        known, free = (subjects, o) if subjects is not None else (objects, s)
        assert known is not None
        found = few_matches(known, relation, is_subject=free == o)
        if found is None:
            return False
        rows, values = found
        if len(rows) != 1 or size != 1:
            self._take(rows)
        self.columns[free] = values
        return True

    def _join_each(self, s: int, predicates: Sequence[int], o: int, facts: TripleIndex) -> bool:
        """As ``join``, with a predicate for each row."""
        parts = [FewRows(1, {v: [column[i]] for v, column in self.columns.items()}) for i in range(self.size)]
        for part, predicate in zip(parts, predicates, strict=True):
            if not part.join(s, predicate, o, facts):
                return False
        size = sum([part.size for part in parts])
        if size > MAX_ROWS_JOINED_ONE_BY_ONE:
            return False
        names = next((part.columns for part in parts if part.size), {})
        self.columns = {v: [value for part in parts if part.size for value in part.columns[v]] for v in names}
        self.size = size
        return True

    def join_open(self, s: int, p: int, o: int, facts: TripleIndex) -> bool:
        """As ``join``, where the predicate and one end are free, and not the same: there may be more rows.

        False, and no change, for other patterns, and if terms have many facts or predicates.
        """
        subjects, objects = self._values(s), self._values(o)
        known, free = (subjects, o) if subjects is not None else (objects, s)
        is_open = (subjects is None) != (objects is None) and free != p and self._values(p) is None
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
        if self.columns and rows != list(range(self.size)):
            self.columns = {v: list(map(column.__getitem__, rows)) for v, column in self.columns.items()}
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
        is_plain = added is NO_PAIRS and removed is NO_PAIRS
        if type(base) is Pairs and (is_plain or missing is None):
            found = base.few_beside(terms, MAX_ROWS_JOINED_ONE_BY_ONE, is_first=is_subject, missing=missing)
            return (
                found if is_plain or found is None else _overlaid(*found, terms, added, removed, is_subject)
            )
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


def _overlaid(
    rows: list[int], values: list[int], terms: Sequence[int], added: Pairs, removed: Pairs, is_subject: bool
) -> tuple[list[int], list[int]] | None:
    """The facts of a base (``few_matches``) that are not removed, and the added ones."""
    if removed is not NO_PAIRS:
        found, rows, values = zip(rows, values, strict=True), [], []
        for row, value in found:
            if not removed.has(terms[row] << 32 | value if is_subject else value << 32 | terms[row]):
                rows.append(row)
                values.append(value)
    if added is not NO_PAIRS:
        more = added.few_beside(terms, MAX_ROWS_JOINED_ONE_BY_ONE - len(rows), is_first=is_subject)
        if more is None:
            return None
        rows, values = rows + more[0], values + more[1]
    return rows, values


def few_facts(
    terms: Sequence[int], facts: TripleIndex, *, is_subject: bool
) -> tuple[list[int], list[int], list[int]] | None:
    """The facts of each of some terms as subject, or object: the term's position, predicate and other end.

    None if a term has more than ``MAX_ROWS_JOINED_ONE_BY_ONE`` facts with one predicate, or if that takes
    more than ``MAX_LOOK_UPS_ONE_BY_ONE`` look-ups. Cost: a look-up for each term and predicate, or those of
    the term if there is a directory.
    """
    left, relations_of = MAX_LOOK_UPS_ONE_BY_ONE, facts.relations_of
    rows: list[int] = []
    predicates: list[int] = []
    values: list[int] = []
    for row, term in enumerate(terms):
        beside = facts.predicates_beside(term, None) if is_subject else facts.predicates_beside(None, term)
        left -= len(beside)
        if left < 0:
            return None
        for predicate, relation in relations_of(beside).items():
            parts = None if relation.is_compressed else relation.parts
            if parts and parts[1] is NO_PAIRS and parts[2] is NO_PAIRS and type(parts[0]) is Pairs:
                ends = parts[0].few_of(term, MAX_ROWS_JOINED_ONE_BY_ONE, is_first=is_subject)
            else:
                found = few_matches((term,), relation, is_subject=is_subject)
                ends = None if found is None else found[1]
            if ends is None:
                return None
            if ends:
                values += ends
                rows += [row] * len(ends)
                predicates += [predicate] * len(ends)
    return rows, predicates, values
