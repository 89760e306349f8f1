"""Queries of one triple pattern with a known end, which are look-ups: answered without an evaluator.

    SELECT ?p ?o { <urn:rex> ?p ?o }      ASK { <urn:rex> a <urn:Dog> }

Most queries of small programs are such. An evaluator, with its plan and its batches, takes several times as
long as their look-ups.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from rdflib.term import Identifier, Literal, Node, URIRef, Variable

from corollary.columns import TripleIndex
from corollary.execute.few_rows import few_facts, few_matches
from corollary.kernels.limits import current
from corollary.sparql.algebra import Project, Query, Triples
from corollary.sparql.dataset import Source, is_union
from corollary.sparql.operator_places import Place


class Found(NamedTuple):
    """The number of solutions, and the values of each projected variable."""

    size: int
    columns: list[list[int]]


def only_pattern(query: Query) -> Triples | None:
    """The pattern of a SELECT of variables, or of an ASK, that has one triple pattern and nothing else."""
    part = query.pattern.inner if type(query.pattern) is Project else query.pattern
    if type(part) is not Triples or len(part.triples) != 1:
        return None
    return part if query.form == "ASK" or (query.form == "SELECT" and query.terms) else None


def looked_up(
    source: Source, query: Query, part: Triples, given: Mapping[Variable, Node], home: Identifier
) -> Found | None:
    """The solutions of a query over the graph ``home``; None if it is no look-up, or has many.

    ``part`` is its ``only_pattern``, ``given`` are its bindings. Precondition: the query chooses no graphs.
    """
    asked = query.terms if query.form == "SELECT" else ()
    ids: list[int | None] = []
    places: dict[Node, int] = {}
    for place, term in enumerate(part.triples[0]):
        known: int | None = None
        if type(term) is Variable:
            if term in places:
                return None
            places[term] = place
            if term in given:
                known = source.terms.find(given[term])
                known = _NOWHERE if known is None else known
        elif type(term) is URIRef or type(term) is Literal:
            known = source.terms.find(term)
            known = _NOWHERE if known is None else known
        else:  # a path, or a blank node
            return None
        ids.append(known)
    if not places.keys() >= set(asked):
        return None
    work = current()
    around, work.where = work.where, Place(part)
    work.check()
    found = _matches(ids, source.index(None if is_union(home) else home))
    if found is not None:
        work.rows(found[0])
    work.where = around
    if found is None:
        return None
    size, values = found
    columns = []
    for variable in asked:
        place = places[variable]
        known = ids[place]
        columns.append(values[place] if known is None else [known] * size)
    return Found(size, columns)


_NOWHERE = (1 << 32) - 1
"""In the place of the id of a term that the store does not have: an id that occurs in no fact."""


def _matches(ids: list[int | None], index: TripleIndex) -> tuple[int, list[list[int]]] | None:
    """The facts that match a pattern, None for a variable: their number, and the values in each place.

    None for more than a few, and for patterns that are no look-up of one end, or of one fact.
    """
    s, p, o = ids
    if _NOWHERE in ids:
        return 0, [[], [], []]
    if s is not None and o is not None:
        return None if p is None else (int(index.relation(p).has(s, o)), [])
    end = o if s is None else s
    if end is None:
        return None
    if p is None:
        facts = few_facts((end,), index, is_subject=o is None)
        return None if facts is None else (len(facts[0]), [facts[2], facts[1], facts[2]])
    found = few_matches((end,), index.relation(p), is_subject=o is None)
    return None if found is None else (len(found[1]), [found[1], [], found[1]])
