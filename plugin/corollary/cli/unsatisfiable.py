"""Classes that cannot have members: a fresh member would cause an inconsistency.

Fresh members of many classes at once are not independent: ``:A`` and ``:B`` with the same value of an inverse
functional property get equal members, and if they are disjoint, an inconsistency that neither causes alone.
But rules without negation are monotone: if a set of classes causes no new inconsistency, no part of the set
does. So a set that causes one is halved, down to single classes, whose answers are exact.

OWL 2 RL invents no individuals. Here members get the values that ``owl:someValuesFrom`` asks for, as fresh
individuals, and these get theirs, ``MAX_LEVELS_OF_VALUES`` deep:

    :IceCream rdfs:subClassOf (:topping some :Fruit) ; owl:disjointWith :Pizza . :topping rdfs:domain :Pizza .
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

from corollary.cli.pipeline import prefixes_of
from corollary.cli.tuning import MAX_CLASSES_AT_ONCE, MAX_LEVELS_OF_VALUES

if TYPE_CHECKING:
    from rdflib import Graph
    from rdflib.term import BNode, Node, URIRef

    from corollary.evaluate import MaterialisedView
    from corollary.loaders import Progress
    from corollary.store import CorollaryStore

    Restrictions = dict[Node, list[tuple[URIRef, Node]]]
    Fresh = dict[BNode, URIRef | None]
    """Fresh individuals: of what property each is a value; None for members of classes."""

_BUILT_IN = tuple(
    f"http://www.w3.org/{place}#"
    for place in ("2002/07/owl", "2000/01/rdf-schema", "1999/02/22-rdf-syntax-ns", "2001/XMLSchema")
)


@dataclass(frozen=True)
class Unsatisfiable:
    """A class, its name with prefixes, and the constraint that a member would violate, in a sentence."""

    iri: str
    name: str
    rule: str
    sentence: str

    def as_dict(self) -> dict[str, Any]:
        """The fields as JSON-ready data."""
        return asdict(self)


class _Undo(Exception):
    """Rolls back a transaction."""


def unsatisfiable_classes(
    store: CorollaryStore, progress: Progress = lambda text, facts, share: None
) -> list[Unsatisfiable]:
    """The named classes one member of which would cause an inconsistency that is not there already.

    ``progress`` is called before each set of classes. The store is not changed. Precondition: rules without
    negation and aggregates; with them, a class whose inconsistency depends on what other classes lack may be
    missed. Cost: one change, rolled back, for each of n / ``MAX_CLASSES_AT_ONCE`` + u log(n/u) sets of
    classes, of n classes and u unsatisfiable ones.
    """
    result = store.materialise()
    if result is None:
        return []
    before = result.inconsistency_count
    known, restrictions = frozenset(result.inconsistencies), _restrictions(store)
    found: list[Unsatisfiable] = []
    every = _classes(store)
    count, size = len(every), MAX_CLASSES_AT_ONCE
    waiting = [every[start : start + size] for start in range(0, count, size)][::-1]
    while waiting:
        left = sum(map(len, waiting))
        progress(f"{left:,} of {count:,} classes", 0, 1 - left / count)
        classes = waiting.pop()
        clash = _clash(store, classes, restrictions, before, known)
        if clash is None:
            continue
        if len(classes) == 1:
            found.append(clash)
        else:
            half = len(classes) // 2
            waiting += [classes[half:], classes[:half]]
    return found


def _classes(store: CorollaryStore) -> list[URIRef]:
    """The named classes that are declared or used in axioms, without those of RDF, RDFS and OWL; sorted."""
    from rdflib import OWL, RDF, RDFS
    from rdflib.term import URIRef

    def terms() -> Iterator[object]:
        for kind in (OWL.Class, RDFS.Class):
            yield from (s for (s, _, _), _ in store.triples((None, RDF.type, kind)))
        for predicate in (RDFS.subClassOf, OWL.equivalentClass, OWL.disjointWith):
            for (s, _, o), _ in store.triples((None, predicate, None)):
                yield from (s, o)

    named = {term for term in terms() if isinstance(term, URIRef)}
    return sorted(term for term in named if not str(term).startswith(_BUILT_IN))


def _clash(
    store: CorollaryStore,
    classes: Sequence[URIRef],
    restrictions: Restrictions,
    before: int,
    known: frozenset[object],
) -> Unsatisfiable | None:
    """The first new inconsistency with a fresh member in each of some classes, of the first; or None."""
    from rdflib import RDF, BNode, Graph
    from rdflib.graph import DATASET_DEFAULT_GRAPH_ID

    data = Graph(store, DATASET_DEFAULT_GRAPH_ID)
    fresh: Fresh = {}
    found: Unsatisfiable | None = None
    try:
        with store.transaction():
            latest: Fresh = {BNode(): None for _ in classes}
            for member, kind in zip(latest, classes, strict=True):
                data.add((member, RDF.type, kind))
            for level in range(MAX_LEVELS_OF_VALUES + 1):
                latest = _with_values(data, latest, restrictions) if level else latest
                fresh |= latest
                result = store.materialise()
                if result is not None and result.inconsistency_count > before:
                    found = _said(store, result, classes[0], fresh, known)
                    break
            raise _Undo
    except _Undo:
        return found


def _restrictions(store: CorollaryStore) -> Restrictions:
    """Each class of what has some value of a class: the property, and the class of the value."""
    from rdflib import OWL, RDF, RDFS
    from rdflib.term import URIRef

    found: Restrictions = {}
    for (restriction, _, kind), _ in store.triples((None, OWL.someValuesFrom, None)):
        is_data = str(kind).startswith(_BUILT_IN[-1]) or _has(store, (kind, RDF.type, RDFS.Datatype))
        for (_, _, on), _ in store.triples((restriction, OWL.onProperty, None)):
            if isinstance(on, URIRef) and not (is_data or _has(store, (on, RDF.type, OWL.DatatypeProperty))):
                found.setdefault(restriction, []).append((on, kind))
    return found


def _has(store: CorollaryStore, triple: tuple[Node, Node, Node]) -> bool:
    return any(True for _ in store.triples(triple))


def _with_values(data: Graph, members: Iterable[BNode], restrictions: Restrictions) -> Fresh:
    """Add the values that members must have, and return them."""
    from rdflib import RDF, BNode

    added = [
        (member, on, BNode(), kind)
        for member in members
        for restriction in list(data.objects(member, RDF.type))
        for on, kind in restrictions.get(restriction, ())
    ]
    data.addN((member, on, value, data) for member, on, value, _ in added)
    data.addN((value, RDF.type, kind, data) for _, _, value, kind in added)
    return {value: on for _, on, value, _ in added}


def _said(
    store: CorollaryStore,
    result: MaterialisedView,
    of: URIRef,
    fresh: Fresh,
    known: frozenset[object],
) -> Unsatisfiable:
    """The new inconsistency with the fewest inferred facts, in a sentence."""
    from rdflib.term import BNode

    from corollary.explain.mistakes import mistakes, wording_of

    def named(label: re.Match[str]) -> str:
        node = BNode(label[1])
        if node not in fresh:
            return label[0]
        on = fresh[node]
        return "a member" if on is None else f"a value of {wording.term(on.n3())}"

    wording = wording_of(result, prefixes_of(store))
    name = wording.term(f"<{of}>")
    for mistake in mistakes(result):
        new = [copy for copy in mistake.copies if copy not in known]
        if new:
            facts = "; ".join(map(wording.fact, new[0].facts))
            said = wording.said(mistake.rule, dict(new[0].bindings)) or facts
            return Unsatisfiable(str(of), name, mistake.rule, re.sub(r"_:(\w+)", named, said))
    return Unsatisfiable(str(of), name, "", "there are more inconsistencies than are listed")
