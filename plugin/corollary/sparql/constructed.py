"""CONSTRUCT and DESCRIBE: the triples of a result, as columns of ids without duplicates.

No term is decoded here, and no graph is built: see ``result.GraphResult``.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from itertools import compress, repeat
from typing import Any

import numpy as np
from rdflib.namespace import RDF
from rdflib.term import BNode, Literal, Node, URIRef, Variable

from corollary.columns import TripleIndex
from corollary.columns.pairs import among, distinct
from corollary.execute.batches import Batch, filled, join
from corollary.execute.tuning import MAX_ROWS_JOINED_ONE_BY_ONE
from corollary.kernels.sorted import Column, Mask
from corollary.program.compile import Atom
from corollary.sparql.algebra import Query, Triple
from corollary.sparql.evaluate import Evaluator
from corollary.sparql.query_terms import QueryTerms
from corollary.sparql.solutions import distinct as distinct_rows
from corollary.sparql.solutions import stacked
from corollary.sparql.written_literals import UNBOUND
from corollary.terms.dictionary import Kind, kinds

SUBJECT, PREDICATE, OBJECT, STATEMENT = -1, -2, -3, -4
"""The columns of triples, and of the names of reified triples."""

_PLACES = SUBJECT, PREDICATE, OBJECT

TRIPLE = Atom(SUBJECT, PREDICATE, OBJECT)


def constructed(evaluator: Evaluator, main: Query) -> Batch:
    """The triples of the template under every solution, if RDF allows them. Each has new blank nodes."""
    assert main.pattern is not None
    solutions = evaluator.solve(main.pattern)
    terms, known = evaluator.terms, dict[Node, Column]()

    def column(term: Any) -> Column:
        found = known.get(term)
        if found is None:
            if type(term) is Variable:
                found = evaluator.expressions.column(term, solutions)
            elif type(term) is BNode:
                found = terms.blank_nodes(solutions.size)
            else:
                found = filled(solutions.size, terms.id_of(term))
            known[term] = found
        return found

    template = [triple for triple in main.template if type(triple[0]) is not Literal]
    if solutions.size <= MAX_ROWS_JOINED_ONE_BY_ONE:
        return _of_few(template, column, terms)

    @cache
    def legal(variable: Variable, place: int) -> Mask:
        return _is_legal(column(variable), place, terms)

    parts = []
    for triple in template:
        part = Batch(solutions.size, dict(zip(_PLACES, map(column, triple), strict=True)))
        tests = [legal(*each) for each in zip(triple, _PLACES, strict=True) if type(each[0]) is Variable]
        is_legal: Mask | None = np.logical_and.reduce(tests) if tests else None
        parts.append(distinct_rows(part if is_legal is None or is_legal.all() else part.take(is_legal)))
    return distinct_rows(stacked(parts)) if len(parts) > 1 else stacked(parts)


def _is_legal(ids: Column, place: int, terms: QueryTerms) -> Mask:
    """Where RDF allows a variable's value at this place of a triple."""
    allowed: Mask = ids != UNBOUND
    if place == SUBJECT:
        allowed &= terms.kinds_of(ids) != Kind.LITERAL
    elif place == PREDICATE:
        allowed &= terms.kinds_of(ids) == Kind.IRI
    return allowed


def _of_few(template: list[Triple], column: Callable[[Node], Column], terms: QueryTerms) -> Batch:
    """As ``constructed``, for few solutions, one by one."""
    found: dict[tuple[int, ...], None] = {}
    for triple in template:
        values = [column(term) for term in triple]
        tests = [
            _is_legal(ids, place, terms).tolist()
            for ids, term, place in zip(values, triple, _PLACES, strict=True)
            if type(term) is Variable and place != OBJECT
        ]
        rows = zip(*[ids.tolist() for ids in values], strict=True)
        are_legal = map(all, zip(*tests, strict=True)) if tests else repeat(True)
        found.update((row, None) for row in compress(rows, are_legal) if UNBOUND not in row)
    columns = np.array([*found], np.uint32).reshape(-1, 3).T.copy()
    return Batch(len(found), dict(zip(_PLACES, columns, strict=True)))


def described(evaluator: Evaluator, main: Query) -> Batch:
    """The concise bounded description of every resource that is asked for, as in rdflib: ``described_by``."""
    terms = evaluator.terms
    parts = [np.array([terms.id_of(term) for term in main.terms if isinstance(term, URIRef)], np.uint32)]
    if main.pattern is not None:
        parts += evaluator.solve(main.pattern).columns.values()
    resources = distinct(np.concatenate(parts))
    names = [terms.id_of(name) for name in (RDF.subject, RDF.predicate, RDF.object)]
    return described_by(resources[resources != UNBOUND], evaluator.dataset.default, names)


def described_by(resources: Column, index: TripleIndex, names: list[int]) -> Batch:
    """The triples whose subjects are resources, blank nodes in their objects, or names of their reifications.

    ``names`` are the predicates of reified triples. Precondition: the resources ascend. Cost: O(result),
    and a look-up in each relation for every step from a blank node or a reification to the next ones.
    """
    known, parts = resources, []
    while resources.size:
        found = join(Batch(resources.size, {SUBJECT: resources}), TRIPLE, index)
        parts.append(found)
        ends = found.columns.get(OBJECT, resources[:0])
        further = np.concatenate((ends[kinds(ends) == Kind.BLANK_NODE], _reified(resources, index, names)))
        if not further.size:
            break
        further = distinct(further)
        resources = further[~among(further, known)]
        known = distinct(np.concatenate((known, resources)))
    return stacked(parts)


def _reified(subjects: Column, index: TripleIndex, names: list[int]) -> Column:
    """The names of reified facts with these subjects."""
    if not index.relation(names[0]).size:
        return subjects[:0]
    batch = Batch(subjects.size, {SUBJECT: subjects})
    for name, end in zip(names, (SUBJECT, PREDICATE, OBJECT), strict=True):
        batch = join(batch, Atom(STATEMENT, name, end), index)
    batch = join(batch, TRIPLE, index)
    return batch.columns.get(STATEMENT, subjects[:0])
