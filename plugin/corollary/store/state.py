"""What a reader sees: one consistent moment of a store, that no later change reaches.

Which facts a graph shows: a named graph what was put into it; the home graph (a Dataset's default
graph, or a plain Graph on its own) also what is inferred; and two names select one side:
``urn:x-corollary:explicit`` and ``urn:x-corollary:inferred``.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

from corollary.evaluate import Materialisation
from corollary.index.pairs import Pairs
from corollary.index.triples import TripleIndex
from corollary.store.quads import ExplicitFacts
from corollary.terms.dictionary import FIRST_LITERAL, KIND_SHIFT, Kind

CHUNK = 1 << 14
"""So many facts of a scan are taken out of the columns at a time."""

_NOTHING = TripleIndex()

Fact = tuple[int, int, int]


@dataclass(frozen=True)
class View:
    """Facts to read. What RDF does not allow is shown if it is explicit, and hidden if it is inferred."""

    index: TripleIndex
    explicit: TripleIndex

    def __len__(self) -> int:
        if self.index is self.explicit:
            return self.index.fact_count()
        return len(self.index) + self.explicit.fact_count() - len(self.explicit)

    def match(self, s: int | None, p: int | None, o: int | None) -> Iterator[Fact]:
        """The facts that match a pattern; None matches anything. Lazy, each fact once."""
        if p is not None:
            predicates = [p]
        elif s is not None:
            predicates = self.index.predicates_of_subjects().objects(s)
        elif o is not None:
            predicates = self.index.predicates_of_objects().objects(o)
        else:
            predicates = self.index.predicates()
        for predicate in predicates:
            facts = self._match(s, predicate, o)
            if self.index is self.explicit:
                yield from facts
                continue
            known = self.explicit.relation(predicate)
            legal_predicate = predicate >> KIND_SHIFT == Kind.IRI
            for fact in facts:
                if (legal_predicate and fact[0] < FIRST_LITERAL) or known.has(fact[0], fact[2]):
                    yield fact

    def _match(self, s: int | None, p: int, o: int | None) -> Iterator[Fact]:
        relation = self.index.relation(p)
        if s is not None and o is not None:
            if relation.has(s, o):
                yield s, p, o
        elif s is not None:
            for value in relation.objects(s):
                yield s, p, value
        elif o is not None:
            for value in relation.subjects(o):
                yield value, p, o
        else:
            keys = relation.pairs().keys
            for start in range(0, keys.size, CHUNK):
                for key in keys[start : start + CHUNK].tolist():
                    yield key >> 32, p, key & 0xFFFFFFFF


@dataclass(frozen=True)
class State:
    """The explicit facts of all graphs, and what follows from them; no materialisation, no inference."""

    facts: ExplicitFacts
    materialisation: Materialisation | None

    @property
    def index(self) -> TripleIndex:
        """All facts that hold."""
        return self.facts.union if self.materialisation is None else self.materialisation.index

    @cached_property
    def everything(self) -> View:
        """All facts of all graphs, and what follows."""
        return View(self.index, self.facts.union)

    @cached_property
    def explicit(self) -> View:
        """The explicit facts of all graphs."""
        return View(self.facts.union, self.facts.union)

    @cached_property
    def inferred(self) -> View:
        """What follows and is not explicit."""
        if self.materialisation is None:
            return View(TripleIndex(), TripleIndex())
        return View(self.index.difference(self.facts.union), TripleIndex())

    def graph(self, graph: int) -> View:
        """What was put into a graph."""
        index = self.facts.graphs.get(graph, _NOTHING)
        return View(index, index)

    def home(self, graph: int) -> View:
        """What was put into a graph, and all that follows from all graphs."""
        own = self.graph(graph)
        if self.materialisation is None:
            return own
        if own.index.fact_count() == self.facts.union.fact_count():
            return View(self.index, own.index)
        return self._homes(graph, own.index)

    def _homes(self, graph: int, own: TripleIndex) -> View:
        known = self.__dict__.setdefault("_home_views", {})
        if graph not in known:
            merged = own.snapshot()
            for predicate, relation in self.inferred.index.relations():
                merged.add(predicate, Pairs(relation.pairs().keys))
            known[graph] = View(merged, own)
        view: View = known[graph]
        return view
