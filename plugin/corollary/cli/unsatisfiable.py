"""Classes that cannot have members: a fresh member would cause an inconsistency.

Fresh members of many classes at once are not independent: ``:A`` and ``:B`` with the same value of an inverse
functional property get equal members, and if they are disjoint, an inconsistency that neither causes alone.
But rules without negation are monotone: if a set of classes causes no new inconsistency, no part of the set
does. So a set that causes one is halved, down to single classes, whose answers are exact.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

from corollary.cli.pipeline import prefixes_of

if TYPE_CHECKING:
    from rdflib.term import URIRef

    from corollary.evaluate import MaterialisedView
    from corollary.loaders import Progress
    from corollary.store import CorollaryStore

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
    missed. Cost: one change, rolled back, for each of u log(n/u) sets of classes, of n classes and u
    unsatisfiable ones.
    """
    result = store.materialise()
    if result is None:
        return []
    before = result.inconsistency_count
    known = frozenset(result.inconsistencies)
    found: list[Unsatisfiable] = []
    waiting: list[Sequence[URIRef]] = [_classes(store)]
    count = len(waiting[0])
    while waiting:
        left = sum(map(len, waiting))
        progress(f"{left:,} of {count:,} classes", 0, 1 - left / count if count else None)
        classes = waiting.pop()
        clash = _clash(store, classes, before, known) if classes else None
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
    store: CorollaryStore, classes: Sequence[URIRef], before: int, known: frozenset[object]
) -> Unsatisfiable | None:
    """The first new inconsistency with a fresh member in each of some classes, of the first; or None."""
    from rdflib import RDF, BNode, Graph
    from rdflib.graph import DATASET_DEFAULT_GRAPH_ID

    data = Graph(store, DATASET_DEFAULT_GRAPH_ID)
    member = BNode()
    found: Unsatisfiable | None = None
    try:
        with store.transaction():
            for number, each in enumerate(classes):
                data.add((BNode() if number else member, RDF.type, each))
            result = store.materialise()
            if result is not None and result.inconsistency_count > before:
                found = _said(store, result, classes[0], member, known)
            raise _Undo
    except _Undo:
        return found


def _said(
    store: CorollaryStore, result: MaterialisedView, of: URIRef, member: object, known: frozenset[object]
) -> Unsatisfiable:
    """The new inconsistency with the fewest inferred facts, in a sentence about \"a member\"."""
    from corollary.explain.mistakes import mistakes, wording_of

    wording = wording_of(result, prefixes_of(store))
    name = wording.term(f"<{of}>")
    for mistake in mistakes(result):
        new = [copy for copy in mistake.copies if copy not in known]
        if new:
            facts = "; ".join(map(wording.fact, new[0].facts))
            said = wording.said(mistake.rule, dict(new[0].bindings)) or facts
            return Unsatisfiable(str(of), name, mistake.rule, said.replace(f"_:{member}", "a member"))
    return Unsatisfiable(str(of), name, "", "there are more inconsistencies than are listed")
