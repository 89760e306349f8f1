"""Batches of bindings, and the join that extends them.

A batch holds one uint32 column per variable, all of the same length. Its rows are the bindings that satisfy
the atoms joined so far. ``join`` extends every row by every match of one more atom. The bound ends of the
atom select the access path: a search by subject, a search by object, a membership test if both are bound, or
a Cartesian product if none is.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from corollary.columns import Relation, TripleIndex, grouped
from corollary.columns.key_sort import order_of
from corollary.columns.pairs import (
    ascending,
    compose_by_first,
    distinct,
    end_to_end,
    firsts,
    pack,
    seconds,
    spread,
    taken,
)
from corollary.execute.tuning import (
    MAX_RELATIONS_TRIED,
    MIN_ROWS_TO_COMPOSE,
    MIN_WAYS_PER_PAIR,
    ROWS_SAMPLED,
)
from corollary.kernels.limits import check, reserve
from corollary.kernels.sorted import Column, Mask, Rows
from corollary.kernels.tuning import MAX_ROWS_UNRESERVED
from corollary.program.compile import Atom


@dataclass(slots=True)
class Batch:
    """``size`` rows of bindings, with a column per variable. The empty binding has size 1 and no columns."""

    size: int
    columns: dict[int, Column]

    @staticmethod
    def start() -> Batch:
        """The empty binding, from which every plan starts."""
        return Batch(1, {})

    @staticmethod
    def none() -> Batch:
        """No bindings."""
        return Batch(0, {})

    def take(self, rows: Rows | Mask) -> Batch:
        """The rows at these positions, or those where the mask is true."""
        if rows.dtype == np.bool_ and rows.size <= MAX_ROWS_UNRESERVED:
            rows = rows.nonzero()[0]  # once for all columns
        size = int(np.count_nonzero(rows)) if rows.dtype == np.bool_ else int(rows.size)
        if size <= MAX_ROWS_UNRESERVED:
            return Batch(size, {variable: column[rows] for variable, column in self.columns.items()})
        reserve(4 * size * len(self.columns))
        columns = {}
        for variable, column in self.columns.items():
            check()
            columns[variable] = taken(column, rows)
        return Batch(size, columns)

    def cut(self, start: int, end: int) -> Batch:
        """The rows start to end. Cost: none, the columns are views."""
        return Batch(end - start, {variable: column[start:end] for variable, column in self.columns.items()})

    def column(self, term: int) -> Column:
        """The column of a bound variable, or a constant repeated ``size`` times."""
        if term < 0:
            return self.columns[term]
        return filled(self.size, term)

    def knows(self, term: int) -> bool:
        """Whether a term is a constant or a bound variable."""
        return term >= 0 or term in self.columns


def filled(size: int, term: int) -> Column:
    """A column with one id in every row."""
    column: Column = np.empty(size, np.uint32)
    column.fill(term)
    return column


def join(batch: Batch, atom: Atom, facts: TripleIndex) -> Batch:
    """Extend every row of the batch by every fact that matches the atom. Duplicates are kept."""
    if not batch.size:
        return Batch.none()
    if batch.size > MAX_ROWS_UNRESERVED:
        check()
    if atom.p >= 0:
        return join_relation(batch, atom.s, facts.relation(atom.p), atom.o)
    if atom.p not in batch.columns:
        return _join_open_predicate(batch, atom, facts)
    return _join_bound_predicate(batch, atom, facts)


def join_for(batch: Batch, atom: Atom, facts: TripleIndex, wanted: Collection[int]) -> Batch:
    """As ``join``, projected to the ``wanted`` variables: duplicates of these may be removed.

    Where a sequence of joins forms many paths between few pairs, the relations are composed instead. Of
    compressed relations only one end is read, if that is enough.
    """
    ends = [end for end in (atom.s, atom.o) if end < 0 and end not in batch.columns and end in wanted]
    is_open = not (batch.knows(atom.s) or batch.knows(atom.o))
    if is_open and len(ends) == 1 and atom.s != atom.o and batch.size and batch.knows(atom.p):
        predicates = batch.column(atom.p)
        if any(facts.relation(p).is_compressed for p in distinct(predicates).tolist()):
            return _join_end(batch, predicates, atom, facts, ends[0])
    bound, free = (atom.s, atom.o) if atom.s in batch.columns else (atom.o, atom.s)
    if atom.p < 0 or free >= 0 or bound not in batch.columns or free in batch.columns:
        return join(batch, atom, facts)
    relation = facts.relation(atom.p) if bound == atom.s else facts.relation(atom.p).inverse()
    read = {variable: column for variable, column in batch.columns.items() if variable in wanted}
    if bound not in read and len(read) == 1 and free in wanted and _has_many_ways(batch, bound, relation):
        ((start, column),) = read.items()
        keys = compose_by_first(ascending(pack(column, batch.columns[bound])), relation.pairs())
        return Batch(int(keys.size), {start: firsts(keys), free: seconds(keys)})
    rows, values = relation.objects_of(batch.columns[bound])
    joined = Batch(batch.size, read).take(rows)
    joined.columns[free] = values
    return joined


def _has_many_ways(batch: Batch, bound: int, relation: Relation) -> bool:
    """Whether the batch should be composed with the relation instead of being joined by the column ``bound``.

    That is so if the join returns ``MIN_WAYS_PER_PAIR`` rows or more for each row of the batch and each fact.
    Its size is estimated by a sample of the batch.
    """
    if batch.size < MIN_ROWS_TO_COMPOSE:
        return False
    sample = spread(batch.columns[bound], ROWS_SAMPLED)
    ways = int(relation.subject_counts(sample).sum()) * batch.size
    return ways >= MIN_WAYS_PER_PAIR * (batch.size + len(relation)) * sample.size


def _join_end(batch: Batch, predicates: Column, atom: Atom, facts: TripleIndex, end: int) -> Batch:
    """Join every row with the distinct terms at one end of its predicate's relation. Both ends are free."""
    parts = []
    for predicate, rows in grouped(predicates, np.arange(batch.size)):
        relation = facts.relation(predicate)
        terms = relation.subject_terms() if end == atom.s else relation.object_terms()
        reserve(4 * rows.size * terms.size * (2 + len(batch.columns)))
        part = batch.take(np.repeat(rows, terms.size))
        part.columns[end] = np.tile(terms, rows.size)
        if part.size:
            parts.append(part)
    return concatenate(parts)


def _join_bound_predicate(batch: Batch, atom: Atom, facts: TripleIndex) -> Batch:
    """Join where the predicate is bound: one join for every distinct predicate in its column."""
    predicates = batch.columns[atom.p]
    if batch.size == 1 or (predicates[0] == predicates[-1] and (predicates == predicates[0]).all()):
        return join_relation(batch, atom.s, facts.relation(int(predicates[0])), atom.o)
    order = order_of(predicates)
    ordered = predicates[order]
    cuts = (np.flatnonzero(ordered[1:] != ordered[:-1]) + 1).tolist()
    groups = [order[start:end] for start, end in pairwise((0, *cuts, order.size))]
    s, o = (batch.column(term) if batch.knows(term) else None for term in (atom.s, atom.o))
    if s is None and o is None:
        parts = [
            join_relation(batch.take(rows), atom.s, facts.relation(int(predicates[rows[0]])), atom.o)
            for rows in groups
        ]
        return concatenate([part for part in parts if part.size])
    # the rows of the batch that match, and what they match
    found: list[Rows] = []
    values: list[Column] = []
    for rows in groups:
        relation = facts.relation(int(predicates[rows[0]]))
        if not relation.size:
            continue
        if s is not None and o is not None:
            found.append(rows[relation.contains_rows(s[rows], o[rows])])
            continue
        if s is not None:
            matches, value = relation.objects_of(s[rows])
        elif o is not None:
            matches, value = relation.subjects_of(o[rows])
        found.append(rows[matches])
        values.append(value)
    if not found:
        return Batch.none()
    joined = batch.take(np.concatenate(found))
    if values:
        joined.columns[atom.s if s is None else atom.o] = np.concatenate(values)
    return joined


def _join_open_predicate(batch: Batch, atom: Atom, facts: TripleIndex) -> Batch:
    """Join where the predicate is free: bind the predicate first, by a directory or to every predicate."""
    if batch.size == 1:
        return _join_open_predicate_of_one(batch, atom, facts)
    predicates = facts.predicates()
    if len(predicates) > MAX_RELATIONS_TRIED and (batch.knows(atom.s) or batch.knows(atom.o)):
        if batch.knows(atom.s):
            directory, end = facts.predicates_of_subjects(), atom.s
        else:
            directory, end = facts.predicates_of_objects(), atom.o
        rows, found = directory.objects_of(batch.column(end))
        extended = batch.take(rows)
        extended.columns[atom.p] = found
        return _join_bound_predicate(extended, atom, facts) if extended.size else Batch.none()
    return _join_each(batch, atom, facts, predicates)


def _join_open_predicate_of_one(batch: Batch, atom: Atom, facts: TripleIndex) -> Batch:
    """As ``_join_open_predicate``, for one row."""
    s, o = (int(batch.columns[end][0]) if end in batch.columns else end for end in (atom.s, atom.o))
    if s < 0 and o < 0:
        predicates = facts.predicates()
    else:
        predicates = facts.predicates_beside(s if s >= 0 else None, o)
        if (s < 0 or o < 0) and atom.p not in (s, o):
            return _matches_of_one(batch, atom.p, s, o, predicates, facts)
    matching = [predicate for predicate in predicates if facts.has_match(s, predicate, o)]
    return _join_each(batch, atom, facts, matching)


def _join_each(batch: Batch, atom: Atom, facts: TripleIndex, predicates: Sequence[int]) -> Batch:
    """Join every row with the facts of each of some predicates."""
    parts = []
    for predicate in predicates:
        extended = Batch(batch.size, dict(batch.columns))
        extended.columns[atom.p] = filled(batch.size, predicate)
        part = join_relation(extended, atom.s, facts.relation(predicate), atom.o)
        if part.size:
            parts.append(part)
    return concatenate(parts)


def _matches_of_one(
    batch: Batch, p: int, s: int, o: int, predicates: Sequence[int], facts: TripleIndex
) -> Batch:
    """Join one row where one end is known, and the predicate and the other end are two free variables."""
    found: list[Column] = []
    of: list[int] = []
    for predicate in predicates:
        relation = facts.relation(predicate)
        values = relation.column_of_subjects(o) if s < 0 else relation.column_of_objects(s)
        if values.size:
            found.append(values)
            of.append(predicate)
    if not found:
        return Batch.none()
    matches = np.concatenate(found)
    columns = {variable: column.repeat(matches.size) for variable, column in batch.columns.items()}
    columns[p] = np.array(of, np.uint32).repeat([values.size for values in found])
    columns[s if s < 0 else o] = matches
    return Batch(int(matches.size), columns)


def join_relation(batch: Batch, s: int, relation: Relation, o: int) -> Batch:
    """As ``join``, with the facts (s, o) of one relation. The bound ends select the access path."""
    if not batch.size or not relation.size:
        return Batch.none()
    if batch.size == 1:
        s, o = (int(batch.columns[end][0]) if end in batch.columns else end for end in (s, o))
    if s not in batch.columns and o not in batch.columns:
        return product(batch, _scan(s, relation, o))
    if batch.knows(s) and batch.knows(o):
        return batch.take(relation.contains_rows(batch.column(s), batch.column(o)))
    is_forward = s in batch.columns
    matches_of = relation.objects_of if is_forward else relation.subjects_of
    rows, values = matches_of(batch.columns[s if is_forward else o])
    extended = batch.take(rows)
    extended.columns[o if is_forward else s] = values
    return extended


def product(batch: Batch, other: Batch) -> Batch:
    """The Cartesian product, in the order of the batch's rows."""
    if batch.size == 1 and not batch.columns:
        return Batch(other.size, dict(other.columns))
    if batch.size == 1 and other.size == 1:
        return Batch(1, batch.columns | other.columns)
    size = batch.size * other.size
    reserve(size * (8 + 4 * len(other.columns)))
    if batch.size == 1:
        return Batch(size, {v: c.repeat(other.size) for v, c in batch.columns.items()} | other.columns)
    if other.size == 1:
        return Batch(size, batch.columns | {v: c.repeat(batch.size) for v, c in other.columns.items()})
    extended = batch.take(np.arange(batch.size).repeat(other.size))
    return Batch(size, extended.columns | {v: np.tile(c, batch.size) for v, c in other.columns.items()})


def _scan(s: int, relation: Relation, o: int) -> Batch:
    """The matches of an atom whose ends are constants or free variables."""
    if s >= 0 and o >= 0:
        return Batch.start() if relation.has(s, o) else Batch.none()
    if s >= 0:
        values = relation.column_of_objects(s)
        return Batch(values.size, {o: values})
    if o >= 0:
        values = relation.column_of_subjects(o)
        return Batch(values.size, {s: values})
    if s == o:
        subjects = relation.subject_terms()
        subjects = subjects[relation.contains(pack(subjects, subjects))]
        return Batch(subjects.size, {s: subjects})
    keys = relation.pairs().keys
    return Batch(keys.size, {s: firsts(keys), o: seconds(keys)})


def concatenate(parts: list[Batch]) -> Batch:
    """The bag union of batches over the same variables."""
    if not parts:
        return Batch.none()
    if len(parts) == 1:
        return parts[0]
    size = sum(part.size for part in parts)
    reserve(4 * size * len(parts[0].columns))
    columns = {v: end_to_end([part.columns[v] for part in parts]) for v in parts[0].columns}
    return Batch(size, columns)


def distinct_values(atom: Atom, variable: int, facts: TripleIndex) -> Batch:
    """The distinct values of an atom's predicate or class among the facts: see ``plan.steps.Distinct``."""
    if variable == atom.p:
        values = np.array(facts.predicates(), np.uint32)
    else:
        relation = facts.relation(atom.p)
        if atom.s >= 0:
            values = np.sort(relation.objects_of(np.array([atom.s], np.uint32))[1])
        else:
            values = relation.object_terms()
    return Batch(int(values.size), {variable: values})
