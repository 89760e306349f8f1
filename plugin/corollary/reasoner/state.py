"""What a reader sees: one consistent moment, which no later change reaches.

Which facts a graph shows: a named graph what was put into it; a home graph (a Dataset's default
graph, or a plain Graph) also what is inferred and not explicit in other graphs; and two names select one
side: ``urn:x-corollary:explicit`` and ``urn:x-corollary:inferred``.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from functools import cached_property
from itertools import chain, repeat

import numpy as np

from corollary.columns.pairs import Pairs, difference, firsts, seconds
from corollary.columns.relation import FIRST_LITERAL_KEY, Relation
from corollary.columns.triples import TripleIndex
from corollary.evaluate import Materialisation
from corollary.kernels.limits import check
from corollary.kernels.sorted import Keys
from corollary.maintain import Report
from corollary.reasoner.quads import Quads
from corollary.reasoner.subjects import FACTS_SORTED_PER_LOOK_UP, BySubject
from corollary.terms.dictionary import FIRST_LITERAL, KIND_SHIFT, Kind

FACTS_PER_CHUNK = 1 << 14
"""How many facts of a scan are decoded at a time."""

_NOTHING = TripleIndex()

Fact = tuple[int, int, int]


class View:
    """Facts to read. What RDF does not allow is shown if it is explicit, and hidden if it is inferred.

    ``explicit`` are the explicit facts that are shown, and ``union`` those of all graphs: what is in
    ``index`` and explicit in other graphs only is hidden. Nothing is copied for that: each read leaves such
    facts out.

    A subject is looked up in one relation after the other; when a view has answered many such questions,
    it arranges its facts by subject, once.
    """

    def __init__(self, index: TripleIndex, explicit: TripleIndex, union: TripleIndex | None = None) -> None:
        self.index = index
        self.explicit = explicit
        self.union = explicit if union is None else union
        self._looked_up = 0
        self._by_subject: BySubject | None = None

    @cached_property
    def _size(self) -> int:
        if self.index is self.explicit:
            return self.index.fact_count()
        return len(self.index) - len(self.union) + self.explicit.fact_count()

    def __len__(self) -> int:
        return self._size

    @cached_property
    def shown(self) -> TripleIndex:
        """An index of just the facts that are shown; it shares the relations that hide nothing."""
        if self.index is self.explicit:
            return self.index
        relations = {predicate: self._shown(predicate, r) for predicate, r in self.index.relations()}
        if all(relation is self.index.relation(p) for p, relation in relations.items()):
            return self.index
        return TripleIndex(relations)

    def match(self, s: int | None, p: int | None, o: int | None) -> Iterator[Fact]:
        """The facts that match a pattern; None matches anything. Lazy, each fact once."""
        if p is not None:
            return iter(self._match(s, p, o))
        if s is not None:
            if o is None and self._is_arranged():
                assert self._by_subject is not None
                return self._by_subject.facts_of(s)
            predicates = self.index.predicates_of_subjects().objects(s)
        elif o is not None:
            predicates = self.index.predicates_of_objects().objects(o)
        else:
            predicates = self.index.predicates()
        return chain.from_iterable(self._match(s, predicate, o) for predicate in predicates)

    def _match(self, s: int | None, p: int, o: int | None) -> Iterable[Fact]:
        """The facts of one predicate."""
        relation = self.index.relation(p)
        if s is not None and o is not None:
            return [(s, p, o)] if relation.has(s, o) and self._shows(s, p, o) else []
        if s is not None:
            values = relation.objects(s)
            if self._may_hide(s, p):
                values = [value for value in values if self._shows(s, p, value)]
            return zip(repeat(s), repeat(p), values)
        if o is not None:
            subjects = relation.subjects(o)
            if subjects and self._may_hide(max(subjects), p):
                keys = np.array(subjects, np.uint64) << np.uint64(32) | np.uint64(o)
                subjects = firsts(self._shown_of(p, keys)).tolist()
            return zip(subjects, repeat(p), repeat(o))
        return self._scan(p, relation)

    def _scan(self, p: int, relation: Relation) -> Iterator[Fact]:
        keys = self._shown(p, relation).pairs().keys
        for start in range(0, keys.size, FACTS_PER_CHUNK):
            check()
            chunk = keys[start : start + FACTS_PER_CHUNK]
            yield from zip(firsts(chunk).tolist(), repeat(p), seconds(chunk).tolist())

    def _is_arranged(self) -> bool:
        """Whether the facts are there by subject; asked at every look-up, which it counts."""
        if self._by_subject is None:
            self._looked_up += 1
            if self._looked_up * FACTS_SORTED_PER_LOOK_UP > self._size:
                self._by_subject = BySubject(self.shown)
        return self._by_subject is not None

    def _may_hide(self, subject: int, predicate: int) -> bool:
        """Whether facts of a subject, or of smaller ones, may be hidden."""
        if self.index is self.explicit:
            return False
        return not _is_legal(subject, predicate) or self._is_elsewhere(predicate)

    def _is_elsewhere(self, predicate: int) -> bool:
        """Whether some facts of a predicate are explicit in other graphs only."""
        if self.union is self.explicit:
            return False
        return len(self.union.relation(predicate)) > len(self.explicit.relation(predicate))

    def _shows(self, s: int, p: int, o: int) -> bool:
        """Whether a fact that holds is shown."""
        if not self._may_hide(s, p) or self.explicit.relation(p).has(s, o):
            return True
        return _is_legal(s, p) and not self.union.relation(p).has(s, o)

    def _shown_of(self, predicate: int, keys: Keys) -> Keys:
        """Those of some facts that hold that are shown: as ``_shows``, many at a time."""
        own = self.explicit.relation(predicate).contains(keys)
        if predicate >> KIND_SHIFT != Kind.IRI:
            return keys[own]
        elsewhere = self.union.relation(predicate).contains(keys)
        return keys[own | ~elsewhere & (keys < FIRST_LITERAL_KEY)]

    def _shown(self, predicate: int, relation: Relation) -> Relation:
        """The facts of a relation that are shown."""
        if self.index is self.explicit:
            return relation
        if self._is_elsewhere(predicate):
            own, union = self.explicit.relation(predicate), self.union.relation(predicate)
            relation = relation.minus(difference(union.pairs().keys, own.pairs().keys))
        legal = relation.legal_count() if predicate >> KIND_SHIFT == Kind.IRI else 0
        if legal == len(relation):
            return relation
        keys = relation.pairs().keys
        doubtful = keys[legal:]
        doubtful = doubtful[self.explicit.relation(predicate).contains(doubtful)]
        return Relation(Pairs(np.concatenate((keys[:legal], doubtful))))


def _is_legal(subject: int, predicate: int) -> bool:
    """Whether RDF allows the facts of a subject and a predicate."""
    return subject < FIRST_LITERAL and predicate >> KIND_SHIFT == Kind.IRI


@dataclass(frozen=True)
class State:
    """The explicit facts of all graphs, and what follows from them; no materialisation, no inference.

    If what follows is kept apart, only ``inferred`` shows it. ``seconds`` is what the last reasoning took,
    ``maintenance`` how it followed the last change; None before there was one.
    """

    facts: Quads
    materialisation: Materialisation | None
    is_apart: bool = False
    seconds: float = 0.0
    maintenance: Report | None = None
    _graphs: dict[int, View] = field(default_factory=dict, init=False, compare=False)
    _homes: dict[int, View] = field(default_factory=dict, init=False, compare=False)

    @property
    def index(self) -> TripleIndex:
        """All facts that hold."""
        return self.facts.union if self.materialisation is None else self.materialisation.index

    @cached_property
    def everything(self) -> View:
        """All facts of all graphs, and what follows."""
        return self.explicit if self.is_apart else View(self.index, self.facts.union)

    @cached_property
    def explicit(self) -> View:
        """The explicit facts of all graphs."""
        return View(self.facts.union, self.facts.union)

    @cached_property
    def inferred(self) -> View:
        """What follows and is not explicit."""
        index = TripleIndex() if self.materialisation is None else self.materialisation.inferred()
        return View(index, index)

    @property
    def inferred_count(self) -> int:
        """How many facts ``inferred`` shows."""
        return 0 if self.materialisation is None else self.materialisation.inferred_count

    def graph(self, graph: int) -> View:
        """What was put into a graph."""
        view = self._graphs.get(graph)
        if view is None:
            index = self.facts.graphs.get(graph, _NOTHING)
            view = self._graphs[graph] = View(index, index)
        return view

    def home(self, graph: int) -> View:
        """What was put into a graph, and what follows from all graphs and is explicit in none."""
        view = self._homes.get(graph)
        if view is None:
            view = self._homes[graph] = self._home(self.graph(graph))
        return view

    def _home(self, put: View) -> View:
        if self.materialisation is None or self.is_apart:
            return put
        own, union = put.index, self.facts.union
        is_all = own.fact_count() == union.fact_count()
        return View(self.index, own, None if is_all else union)
