"""CONSTRUCT and DESCRIBE: the triples of a result, as columns of ids without duplicates.

No term is decoded here, and no graph is built: see ``result.GraphResult``.
"""

from __future__ import annotations

from collections.abc import Iterable
from itertools import chain, compress
from typing import NamedTuple

import numpy as np
from rdflib.namespace import RDF
from rdflib.term import BNode, Literal, Node, URIRef, Variable

from corollary.columns import TripleIndex
from corollary.columns.pairs import among, distinct
from corollary.execute.batches import Batch, filled, join
from corollary.execute.few_rows import FewRows
from corollary.execute.tuning import MAX_ROWS_JOINED_ONE_BY_ONE
from corollary.kernels.sorted import Column, Mask
from corollary.program.compile import Atom
from corollary.sparql.algebra import Query, kept
from corollary.sparql.evaluate import Evaluator
from corollary.sparql.query_terms import QueryTerms
from corollary.sparql.solutions import distinct as distinct_rows
from corollary.sparql.solutions import stacked
from corollary.sparql.written_literals import UNBOUND
from corollary.terms.dictionary import Kind, kinds

SUBJECT, PREDICATE, OBJECT, STATEMENT = -1, -2, -3, -4
"""The columns of triples, and of the names of reified triples."""

_PLACES = SUBJECT, PREDICATE, OBJECT

_BLANK_NODE = int(Kind.BLANK_NODE)

TRIPLE = Atom(SUBJECT, PREDICATE, OBJECT)


def constructed(evaluator: Evaluator, main: Query) -> Batch:
    """The triples of the template under every solution, if RDF allows them. Each has new blank nodes."""
    assert main.pattern is not None
    solutions = evaluator.solve(main.pattern)
    terms, template = evaluator.terms, _template(main)
    if solutions.size <= MAX_ROWS_JOINED_ONE_BY_ONE:
        return _of_few(template, solutions, evaluator)

    def column(term: Node) -> Column:
        if type(term) is Variable:
            return evaluator.expressions.column(term, solutions)
        if type(term) is BNode:
            return terms.blank_nodes(solutions.size)
        return filled(solutions.size, terms.id_of(term))

    columns = list(map(column, template.terms))
    legal = {end: _is_legal(columns[end[0]], end[1], terms) for end in template.tested}
    parts = []
    for triple in template.triples:
        part = Batch(solutions.size, {place: columns[number] for number, place in triple})
        tests = [legal[end] for end in triple if end in legal]
        is_legal: Mask | None = np.logical_and.reduce(tests) if tests else None
        parts.append(distinct_rows(part if is_legal is None or is_legal.all() else part.take(is_legal)))
    return distinct_rows(stacked(parts)) if len(parts) > 1 else stacked(parts)


End = tuple[int, int]
"""The number of a term in a template, and its place in a triple."""


class Template(NamedTuple):
    """A template by numbers of its terms. ``tested`` are the ends that RDF may not allow, or are unbound."""

    terms: tuple[Node, ...]
    triples: tuple[tuple[End, ...], ...]
    tested: tuple[End, ...]


@kept
def _template(query: Query) -> Template:
    """The template of a query, without triples whose subject is a literal."""
    triples = [triple for triple in query.template if type(triple[0]) is not Literal]
    numbers = {term: number for number, term in enumerate(dict.fromkeys(chain.from_iterable(triples)))}
    ends = [tuple(zip(map(numbers.__getitem__, triple), _PLACES, strict=True)) for triple in triples]
    terms = tuple(numbers)
    every = dict.fromkeys(chain.from_iterable(ends))
    return Template(terms, tuple(ends), tuple([end for end in every if type(terms[end[0]]) is Variable]))


def _is_legal(ids: Column, place: int, terms: QueryTerms) -> Mask:
    """Where RDF allows a variable's value at this place of a triple."""
    allowed: Mask = ids != UNBOUND
    if place == SUBJECT:
        allowed &= terms.kinds_of(ids) != Kind.LITERAL
    elif place == PREDICATE:
        allowed &= terms.kinds_of(ids) == Kind.IRI
    return allowed


def _of_few(template: Template, solutions: Batch, evaluator: Evaluator) -> Batch:
    """As ``constructed``, for few solutions, one by one."""
    terms, size = evaluator.terms, solutions.size

    def values(term: Node) -> list[int]:
        if type(term) is Variable:
            found: list[int] = evaluator.expressions.column(term, solutions).tolist()
            return found
        return terms.blank_nodes(size).tolist() if type(term) is BNode else [terms.id_of(term)] * size

    columns = list(map(values, template.terms))
    legal = {
        (number, place): _is_legal(np.array(columns[number], np.uint32), place, terms).tolist()
        for number, place in template.tested
        if place != OBJECT
    }
    found: dict[tuple[int, ...], None] = {}
    for triple in template.triples:
        rows: Iterable[tuple[int, ...]] = zip(*[columns[number] for number, _ in triple], strict=True)
        tests = [legal[end] for end in triple if end in legal]
        if tests:
            rows = compress(rows, map(all, zip(*tests, strict=True)))
        found.update([(row, None) for row in rows if UNBOUND not in row])
    ends = np.array([*found], np.uint32).reshape(-1, 3).T.copy()
    return Batch(len(found), dict(zip(_PLACES, ends, strict=True)))


_REIFYING = RDF.subject, RDF.predicate, RDF.object


def described(evaluator: Evaluator, main: Query) -> Batch:
    """The concise bounded description of every resource that is asked for, as in rdflib: ``described_by``."""
    terms = evaluator.terms
    parts = [np.array([terms.id_of(term) for term in main.terms if isinstance(term, URIRef)], np.uint32)]
    if main.pattern is not None:
        parts += evaluator.solve(main.pattern).columns.values()
    resources = distinct(np.concatenate(parts))
    names = list(map(terms.id_of, _REIFYING))
    return described_by(resources[resources != UNBOUND], evaluator.dataset.default, names)


def described_by(resources: Column, index: TripleIndex, names: list[int]) -> Batch:
    """The triples whose subjects are resources, blank nodes in their objects, or names of their reifications.

    ``names`` are the predicates of reified triples. Precondition: the resources ascend. Cost: O(result),
    and a look-up in each relation for every step from a blank node or a reification to the next ones.
    """
    known, parts = resources, []
    while resources.size:
        found = _facts_of(resources, index)
        parts.append(found)
        ends = found.columns.get(OBJECT, resources[:0])
        further = np.concatenate((ends[kinds(ends) == _BLANK_NODE], _reified(resources, index, names)))
        if not further.size:
            break
        further = distinct(further)
        resources = further[~among(further, known)]
        known = distinct(np.concatenate((known, resources)))
    return stacked(parts)


def _facts_of(subjects: Column, index: TripleIndex) -> Batch:
    """The facts with these subjects."""
    if subjects.size <= MAX_ROWS_JOINED_ONE_BY_ONE:
        few = FewRows(subjects.size, {SUBJECT: subjects.tolist()})
        if few.join_open(SUBJECT, PREDICATE, OBJECT, index):
            return few.batch()
    return join(Batch(subjects.size, {SUBJECT: subjects}), TRIPLE, index)


def _reified(subjects: Column, index: TripleIndex, names: list[int]) -> Column:
    """The names of reified facts with these subjects."""
    if not index.relation(names[0]).size:
        return subjects[:0]
    batch = Batch(subjects.size, {SUBJECT: subjects})
    for name, end in zip(names, (SUBJECT, PREDICATE, OBJECT), strict=True):
        batch = join(batch, Atom(STATEMENT, name, end), index)
    batch = join(batch, TRIPLE, index)
    return batch.columns.get(STATEMENT, subjects[:0])
