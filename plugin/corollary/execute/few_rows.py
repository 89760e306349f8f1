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
from corollary.execute.tuning import MAX_ROWS_JOINED_ONE_BY_ONE

Row = dict[int, int]
"""The values of variables."""


@dataclass(slots=True)
class FewRows:
    """Rows of bindings. Its joins replace the rows.

    Precondition of a join: there are at most ``MAX_ROWS_JOINED_ONE_BY_ONE`` rows.
    """

    rows: list[Row]

    @staticmethod
    def of(batch: Batch) -> FewRows:
        columns = batch.columns
        if batch.size == 1:
            return FewRows([{variable: int(column[0]) for variable, column in columns.items()}])
        if not columns:
            return FewRows([{} for _ in range(batch.size)])
        values = zip(*[column.tolist() for column in columns.values()], strict=True)
        return FewRows([dict(zip(columns, row, strict=True)) for row in values])

    def batch(self, wanted: Collection[int] = ()) -> Batch:
        """The rows as a batch; with ``wanted``, only the columns of these variables."""
        rows = self.rows
        if not rows:
            return Batch.none()
        return Batch(len(rows), {v: np.array([row[v] for row in rows], np.uint32) for v in wanted or rows[0]})

    def join(self, s: int, p: int, o: int, facts: TripleIndex) -> bool:
        """Extend every row by every fact that matches an atom, as ``batches.join``.

        False, and no change, if the predicate is free, and if there would be too many rows.
        """
        found: list[Row] = []
        for row in self.rows:
            predicate = row.get(p, p)
            if predicate < 0:
                return False
            extended = _extended(row, s, facts.relation(predicate), o)
            if extended is None or len(found) + len(extended) > MAX_ROWS_JOINED_ONE_BY_ONE:
                return False
            found += extended
        self.rows = found
        return True

    def join_open(self, s: int, p: int, o: int, facts: TripleIndex) -> bool:
        """As ``join``, where the predicate and one end are free, and not the same: there may be more rows.

        False, and no change, for other patterns, and if a term has many facts with one predicate.
        """
        found: list[Row] = []
        for row in self.rows:
            subject, value = row.get(s, s), row.get(o, o)
            is_subject = subject >= 0
            known, free = (subject, o) if is_subject else (value, s)
            if is_subject == (value >= 0) or p >= 0 or p in row or p == free:
                return False
            ends = (known, None) if is_subject else (None, known)
            for predicate in facts.predicates_beside(*ends):
                matches = few_matches((known,), facts.relation(predicate), is_subject=is_subject)
                if matches is None:
                    return False
                found += [{**row, p: predicate, free: end} for end in matches[1]]
        self.rows = found
        return True


def _extended(row: Row, s: int, relation: Relation, o: int) -> list[Row] | None:
    """A row with every fact (s, o) of a relation; None for too many facts, and for loops [?x, p, ?x]."""
    subject, value = row.get(s, s), row.get(o, o)
    if subject >= 0 and value >= 0:
        return [row] if relation.has_key(subject << 32 | value) else []
    if subject < 0 and value < 0:
        if s == o or relation.size > MAX_ROWS_JOINED_ONE_BY_ONE:
            return None
        keys = relation.pairs().keys.tolist()
        return [{**row, s: key >> 32, o: key & 0xFFFFFFFF} for key in keys]
    is_subject = subject >= 0
    known, free = (subject, o) if is_subject else (value, s)
    found = few_matches((known,), relation, is_subject=is_subject)
    return None if found is None else [{**row, free: end} for end in found[1]]


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
        keys = [
            terms[row] << 32 | value if is_subject else value << 32 | terms[row]
            for row, value in zip(rows, values, strict=True)
        ]
        kept = [number for number, key in enumerate(keys) if not removed.has(key)]
        rows, values = [rows[number] for number in kept], [values[number] for number in kept]
    if added is not NO_PAIRS:
        more = added.few_beside(terms, MAX_ROWS_JOINED_ONE_BY_ONE - len(rows), is_first=is_subject)
        if more is None:
            return None
        rows, values = rows + more[0], values + more[1]
    return rows, values
