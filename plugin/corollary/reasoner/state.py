"""What a reader sees: an immutable state of E and I, and the facts that each graph shows.

A named graph shows its explicit facts. A home graph (a Dataset's default graph, or a plain Graph) shows its
explicit facts and the inferred facts, I - E. The graph ``urn:x-corollary:explicit`` shows E, the graph
``urn:x-corollary:inferred`` shows I - E.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator
from dataclasses import dataclass, field
from functools import cached_property
from itertools import chain, repeat
from typing import Any

import numpy as np

from corollary.columns import TripleIndex
from corollary.columns.mapped_pairs import PartOfPairs
from corollary.columns.pairs import NO_KEYS, Pairs, difference, firsts, seconds, union
from corollary.columns.relation import EMPTY, FIRST_LITERAL_KEY, Relation
from corollary.columns.tuning import MIN_BASE_PER_OVERLAY
from corollary.evaluate import MaterialisedView
from corollary.kernels.limits import check
from corollary.kernels.sorted import Keys
from corollary.maintain import Report
from corollary.reasoner.quads import Quads
from corollary.reasoner.subjects import BySubject
from corollary.reasoner.tuning import FACTS_PER_CHUNK, FACTS_SORTED_PER_LOOK_UP, MAX_FACTS_COMPARED
from corollary.terms.dictionary import FIRST_BLANK_NODE, FIRST_LITERAL

_NOTHING = TripleIndex()

Fact = tuple[int, int, int]


class View:
    """Read access to the facts that a graph shows.

    ``index`` are all facts, ``explicit`` the graph's explicit facts, ``union`` the explicit facts of all
    graphs. Hidden are: facts of ``index`` that are explicit in other graphs only; facts that RDF does not
    allow (a literal subject, a predicate that is no IRI) unless they are in ``explicit``. Reads filter hidden
    facts out; no facts are copied.

    What is shown as an index (``shown``) is cached, and follows from an ``earlier`` view of another state.

    A look-up by subject alone probes one relation after the other. After many such look-ups the view sorts
    its facts by subject, once (``BySubject``).
    """

    def __init__(
        self,
        index: TripleIndex,
        explicit: TripleIndex,
        union: TripleIndex | None = None,
        earlier: View | None = None,
    ) -> None:
        """``earlier`` is a view over the same dictionary that has computed ``shown``."""
        self.index = index
        self.explicit = explicit
        self.union = explicit if union is None else union
        self._is_alone = self.union is explicit  # nothing is explicit in other graphs only
        self._earlier = earlier
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
        """An index of the shown facts. It shares the relations that have no hidden facts.

        Cost: the differences to the earlier view, as far as relations share their base with its; else the
        relations that have hidden facts.
        """
        earlier, self._earlier = self._earlier, None
        if self.index is self.explicit:
            return self.index
        if self.union is self.explicit and len(self.index) == self.index.fact_count():
            return self.index  # RDF allows all facts, and none is explicit elsewhere
        end = FIRST_BLANK_NODE if self.union is self.explicit else 0
        relations = {
            p: relation if p < end and _all_legal(relation) else self._shown_since(p, relation, earlier)
            for p, relation in self.index.relations()
        }
        if all(relation is self.index.relation(p) for p, relation in relations.items()):
            return self.index
        return TripleIndex(relations)

    def last_shown(self) -> View | None:
        """The last view that has computed ``shown``: this one or an earlier one."""
        return self if "shown" in self.__dict__ else self._earlier

    def match(self, s: int | None, p: int | None, o: int | None) -> Iterator[Fact]:
        """The shown facts that match a pattern; None matches any term. Lazy; each fact once."""
        if p is not None:
            return iter(self._match(s, p, o))
        if s is not None and o is None and self._is_arranged():
            assert self._by_subject is not None
            return self._by_subject.facts_of(s)
        is_any = s is None and o is None
        predicates = self.index.predicates() if is_any else self.index.predicates_beside(s, o)
        return chain.from_iterable(self._match(s, predicate, o) for predicate in predicates)

    def has(self, s: int, p: int, o: int) -> bool:
        """Whether a fact is shown."""
        return self.index.relation(p).has_key(s << 32 | o) and (
            (self._is_alone and s < FIRST_LITERAL and p < FIRST_BLANK_NODE) or self._shows(s, p, o)
        )

    def objects(self, s: int, p: int) -> list[int]:
        """The objects of the shown facts of a subject and a predicate."""
        values = self.index.relation(p).objects(s)
        if (self._is_alone and s < FIRST_LITERAL and p < FIRST_BLANK_NODE) or not self._may_hide(s, p):
            return values
        return [value for value in values if self._shows(s, p, value)]

    def _match(self, s: int | None, p: int, o: int | None) -> Iterable[Fact]:
        """``match`` for one predicate."""
        if s is not None and o is not None:
            return [(s, p, o)] if self.has(s, p, o) else []
        if s is not None:
            return zip(repeat(s), repeat(p), self.objects(s, p))
        relation = self.index.relation(p)
        if o is not None:
            subjects = relation.subjects(o)
            if subjects and self._may_hide(max(subjects), p):
                keys = np.array(subjects, np.uint64) << np.uint64(32) | np.uint64(o)
                subjects = firsts(self._shown_of(p, keys)).tolist()
            return zip(subjects, repeat(p), repeat(o))
        return self._scan(p, relation)

    def _scan(self, p: int, relation: Relation) -> Iterator[Fact]:
        for chunk in self._shown(p, relation).chunks(FACTS_PER_CHUNK):
            check()
            yield from zip(firsts(chunk).tolist(), repeat(p), seconds(chunk).tolist())

    def _is_arranged(self) -> bool:
        """Whether ``_by_subject`` exists. Counts its calls, and sorts when the look-ups amortise the sort."""
        if self._by_subject is None:
            self._looked_up += 1
            if self._looked_up * FACTS_SORTED_PER_LOOK_UP > self._size:
                self._by_subject = BySubject(self.shown)
        return self._by_subject is not None

    def _may_hide(self, subject: int, predicate: int) -> bool:
        """Whether facts of this predicate and of any subject id up to ``subject`` may be hidden."""
        if self.index is self.explicit:
            return False
        return (
            subject >= FIRST_LITERAL
            or predicate >= FIRST_BLANK_NODE
            or (self.union is not self.explicit and self._is_elsewhere(predicate))
        )

    def _is_elsewhere(self, predicate: int) -> bool:
        """Whether some facts of a predicate are explicit in other graphs only."""
        if self.union is self.explicit:
            return False
        return len(self.union.relation(predicate)) > len(self.explicit.relation(predicate))

    def _shows(self, s: int, p: int, o: int) -> bool:
        """Whether a fact of ``index`` is shown."""
        if not self._may_hide(s, p) or self.explicit.relation(p).has(s, o):
            return True
        return _is_legal(s, p) and not self.union.relation(p).has(s, o)

    def _shown_of(self, predicate: int, keys: Keys) -> Keys:
        """The shown ones among packed facts of ``index``: ``_shows`` on arrays."""
        own = self.explicit.relation(predicate).contains(keys)
        if predicate >= FIRST_BLANK_NODE:
            return keys[own]
        elsewhere = self.union.relation(predicate).contains(keys)
        return keys[own | ~elsewhere & (keys < FIRST_LITERAL_KEY)]

    def _shown_since(self, predicate: int, relation: Relation, earlier: View | None) -> Relation:
        """As ``_shown``, from what an earlier view has shown and the facts that are different since."""
        if earlier is None or (not self._may_hide(FIRST_LITERAL - 1, predicate) and _all_legal(relation)):
            return self._shown(predicate, relation)
        now = relation, self.explicit.relation(predicate), self.union.relation(predicate)
        then = [index.relation(predicate) for index in (earlier.index, earlier.explicit, earlier.union)]
        changed = NO_KEYS
        for one, other in zip(now, then, strict=True):
            if one.is_compressed or other.is_compressed:
                return self._shown(predicate, relation)
            if not one.shares_base(other) and one.size + other.size > MAX_FACTS_COMPARED:
                return self._shown(predicate, relation)
            for keys in one.since(other):
                changed = union(changed, keys)
        if not changed.size:
            return earlier.shown.relation(predicate)
        shown = self._shown_of(predicate, changed[relation.contains(changed)])
        return earlier.shown.relation(predicate).minus(changed).plus(shown)

    def _shown(self, predicate: int, relation: Relation) -> Relation:
        """The shown facts of a relation; the relation itself if none is hidden."""
        if self.index is self.explicit:
            return relation
        if self._is_elsewhere(predicate):
            own, union = self.explicit.relation(predicate), self.union.relation(predicate)
            is_listed = not own.size and not relation.is_compressed
            if is_listed and MIN_BASE_PER_OVERLAY * union.size > relation.size:
                relation = _without(relation.legal(), union.legal())
            else:
                relation = relation.minus(difference(union.pairs().keys, own.pairs().keys))
        legal = relation.legal_count() if predicate < FIRST_BLANK_NODE else 0
        if legal == len(relation):
            return relation
        if self.explicit.legal_count(predicate) == len(self.explicit.relation(predicate)):
            return relation.legal() if legal else EMPTY
        keys = relation.pairs().keys  # facts that RDF does not allow are explicit
        doubtful = keys[legal:]
        doubtful = doubtful[self.explicit.relation(predicate).contains(doubtful)]
        return Relation(Pairs(np.concatenate((keys[:legal], doubtful))))


def _without(relation: Relation, part: Relation) -> Relation:
    """The facts of a relation without a part of it, found when they are first used. RDF allows all facts."""
    left = relation.size - part.size
    if not left:
        return EMPTY
    return Relation.of_known(PartOfPairs(left, lambda: relation.less(part).pairs().keys), left)


def _all_legal(relation: Relation) -> bool:
    """Whether RDF allows all facts of a relation of an IRI."""
    return relation.legal_count() == len(relation)


def _is_legal(subject: int, predicate: int) -> bool:
    """Whether RDF allows facts of this subject and predicate: no literal subject, an IRI as predicate."""
    return subject < FIRST_LITERAL and predicate < FIRST_BLANK_NODE


@dataclass
class State:
    """E (``facts``) and I (``materialisation``; None without rules), and the views of both. It never changes.

    With ``is_apart`` only the view ``inferred`` shows inferred facts. ``seconds`` is the time of the last
    derivation, ``maintenance`` its report; None if the derivation was no maintenance. ``known_to_queries`` is
    a cache: what queries have computed of this state, by keys of their own.
    """

    facts: Quads
    materialisation: MaterialisedView | None
    is_apart: bool = False
    seconds: float = 0.0
    maintenance: Report | None = None
    _graphs: dict[int, View] = field(default_factory=dict, init=False, compare=False)
    _homes: dict[int | None, View] = field(default_factory=dict, init=False, compare=False)
    _earlier: dict[int | None, View] = field(default_factory=dict, init=False, compare=False, repr=False)
    known_to_queries: dict[Hashable, Any] = field(default_factory=dict, init=False, compare=False, repr=False)

    @property
    def index(self) -> TripleIndex:
        """I; without rules E."""
        return self.facts.union if self.materialisation is None else self.materialisation.facts

    @cached_property
    def everything(self) -> View:
        """The union of all graphs and the inferred facts; without these if ``is_apart``."""
        if self.is_apart:
            return self.explicit
        return View(self.index, self.facts.union, earlier=self._earlier.get(None))

    def go_on_from(self, before: State) -> None:
        """Let the views follow from those of an earlier state. Precondition: no view yet.

        One view is kept for each graph that was read: a reference to the relations of its state.
        """
        mine, others = self.materialisation, before.materialisation
        if mine is None or others is None or mine.dictionary is not others.dictionary:
            return
        views = {**before._earlier, **before._homes}
        if "everything" in before.__dict__:
            views[None] = before.everything
        shown = {graph: view.last_shown() for graph, view in views.items()}
        self._earlier.update({graph: view for graph, view in shown.items() if view is not None})

    @cached_property
    def explicit(self) -> View:
        """The explicit facts of all graphs."""
        return View(self.facts.union, self.facts.union)

    @cached_property
    def inferred(self) -> View:
        """The inferred facts: I - E, without facts that RDF does not allow. Those of a predicate are found
        when they are first used.
        """
        if self.materialisation is None:
            return View(_NOTHING, _NOTHING)
        return View(self.index, _NOTHING, self.facts.union)

    @property
    def inferred_count(self) -> int:
        """The number of facts that ``inferred`` shows."""
        return 0 if self.materialisation is None else self.materialisation.inferred_count

    def graph(self, graph: int) -> View:
        """The explicit facts of a graph."""
        view = self._graphs.get(graph)
        if view is None:
            index = self.facts.graphs.get(graph, _NOTHING)
            view = self._graphs[graph] = View(index, index)
        return view

    def home(self, graph: int) -> View:
        """The explicit facts of a graph, and the inferred facts, which are explicit in no graph."""
        view = self._homes.get(graph)
        if view is None:
            earlier = self._earlier.pop(graph, None)
            view = self._homes[graph] = self._with_inferred(self.graph(graph), earlier)
        return view

    def _with_inferred(self, graph: View, earlier: View | None) -> View:
        """The explicit facts of a graph, and the inferred facts, which are explicit in no graph."""
        if self.materialisation is None or self.is_apart:
            return graph
        own, union = graph.index, self.facts.union
        is_all = own.fact_count() == union.fact_count()
        return View(self.index, own, None if is_all else union, earlier)
