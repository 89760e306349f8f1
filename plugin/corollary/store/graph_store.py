"""rdflib's graphs over a reasoner: triples in graphs, written and read; graphs, formulas and prefixes.

``CorollaryStore`` adds rules, folders, SPARQL and loading.
"""

from __future__ import annotations

import warnings
from array import array
from collections.abc import Generator, Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, cast

import numpy as np
from rdflib.graph import Graph, QuotedGraph
from rdflib.store import Store
from rdflib.term import IdentifiedNode, Node, URIRef

from corollary.columns import TripleIndex
from corollary.columns.pairs import NO_KEYS
from corollary.kernels.limits import check
from corollary.reasoner import Reasoner
from corollary.reasoner.pending import FIELDS
from corollary.reasoner.quads import Change, differences, matching
from corollary.reasoner.state import Fact, View
from corollary.reasoner.version import StaleTerms, Version
from corollary.sparql.rdf_terms import EXPLICIT, INFERRED, Terms
from corollary.store.default_graph import DefaultGraphAlias
from corollary.store.graphs import (
    formula_of,
    identifier_of,
    is_plain,
    last_view,
    pattern_of,
    refuse_side,
    view_of,
    with_alias,
    with_graph,
)
from corollary.store.store_options import StoreOptions

if TYPE_CHECKING:
    from rdflib.graph import _ContextType, _QuadType, _TriplePatternType, _TripleType

    from corollary.columns import Pairs

Contexts = Iterator["_ContextType | None"]


class InferredTripleWarning(UserWarning):
    """The triple of a ``remove`` is not explicit but inferred, and so stays."""


class GraphStore(Store):
    """A store whose triples are facts of ``reasoner``. Reads first apply pending changes, and derive."""

    context_aware = True
    graph_aware = True
    formula_aware = True
    transaction_aware = True

    reasoner: Reasoner

    # Writing

    def add(self, triple: _TripleType, context: _ContextType, quoted: bool = False) -> None:
        """Add a triple to a graph. Nothing is derived until the next read or commit."""
        if self._has_listeners():
            self.reasoner.versions.current().to_be_written()
            super().add(triple, context, quoted)
        subject, predicate, value = triple
        while True:
            version = self.reasoner.versions.current()
            graph = self._graph_id(version, context)
            row = graph, *version.terms.ids_of((subject, predicate, value)), 1
            try:
                if quoted or (type(context) is not Graph and isinstance(context, QuotedGraph)):
                    self.reasoner.versions.change(Version.with_quoted, version.terms, row)
                else:
                    self.reasoner.versions.change(Version.recorded, version.terms, row)
            except StaleTerms:
                continue
            return

    def addN(self, quads: Iterable[_QuadType]) -> None:
        """Add triples to graphs: all of them, or none if the iterable raises an exception."""
        given = list(quads)
        if self._has_listeners() or any(isinstance(quad[3], QuotedGraph) for quad in given):
            for _ in self.reasoner.versions.steps():
                for subject, predicate, value, context in given:
                    self.add((subject, predicate, value), context)
            return
        while True:
            version = self.reasoner.versions.current()
            rows = np.ones((len(given), FIELDS), np.uint32)
            rows[:, 0] = [self._graph_id(version, quad[3]) for quad in given]
            terms = version.terms.ids_of([term for quad in given for term in quad[:3]])
            rows[:, 1:4] = np.array(terms, np.uint32).reshape(-1, 3)
            try:
                self.reasoner.versions.change(Version.recorded, version.terms, array("I", rows.tobytes()))
            except StaleTerms:
                continue
            return

    def remove(self, triple: _TriplePatternType, context: _ContextType | None = None) -> None:
        """Remove the matching explicit triples from a graph, or from all graphs.

        A triple that is only inferred stays; a pattern without wildcard then gives an
        ``InferredTripleWarning``. To decide this, the first removal of an absent triple derives if no state
        has been derived yet.
        """
        if self._has_listeners():
            self.reasoner.versions.current().to_be_written()
            super().remove(triple, context)
        subject, predicate, value = triple
        if subject is not None and predicate is not None and value is not None:
            self._warn_of_inferred(self._remove([(subject, predicate, value, context)]))
            return
        for _ in self.reasoner.versions.steps():
            version = self.reasoner.versions.current().to_be_written()
            graphs = version.graph_ids() if context is None else {self._graph_id(version, context)}
            pattern = pattern_of(version, triple)
            if pattern is None:
                return
            found = [
                Change(graph, predicate, keys)
                for graph in graphs
                if (index := version.quads.index(graph)) is not None
                for predicate, keys in matching(index, *pattern)
            ]
            if found:
                self.reasoner.versions.change(Version.with_changes, found)

    def removeN(self, quads: Iterable[tuple[Node, Node, Node, Graph | None]]) -> None:
        """Remove triples from graphs; None stands for all graphs. At most one ``InferredTripleWarning``."""
        given = list(quads)
        if self._has_listeners():
            self.reasoner.versions.current().to_be_written()
            for subject, predicate, value, context in given:
                super().remove((subject, predicate, value), context)
        self._warn_of_inferred(self._remove(given))

    def _remove(self, quads: Sequence[tuple[Node, Node, Node, Graph | None]]) -> list[Fact]:
        """Remove triples from graphs. Returns the triples that were in none of their graphs."""
        while True:
            version = self.reasoner.versions.current()
            find = version.terms.find
            wanted: list[tuple[int | None, int, int, int]] = []
            for subject, predicate, value, context in quads:
                graph = None if context is None else self._graph_id(version, context)
                s, p, o = find(subject), find(predicate), find(value)
                if s is not None and p is not None and o is not None:
                    wanted.append((graph, s, p, o))
            missed: list[Fact] = []
            try:
                self.reasoner.versions.change(Version.without, version.terms, wanted, missed)
            except StaleTerms:
                continue
            return missed

    def _warn_of_inferred(self, missed: Sequence[Fact]) -> None:
        """Warn if some of the ``missed`` triples, which no removal has found, are inferred."""
        if not missed:
            return
        version = self.reasoner.versions.current()
        state = version.derived.state or self.reasoner.derived_last()
        if state is None and version.options.has_rules:
            version = self.reasoner.settled()
            state = version.state
        result = None if state is None else state.materialisation
        if state is None or result is None or result.dictionary is not version.terms.dictionary:
            return
        inferred = [
            (s, p, o)
            for s, p, o in missed
            if state.index.relation(p).has(s, o) and not state.facts.union.relation(p).has(s, o)
        ]
        if inferred:
            text = " ".join(version.terms[term].n3() for term in inferred[0])
            others = f", and {len(inferred) - 1:,} more that were to go" if len(inferred) > 1 else ""
            warnings.warn(
                f"{text} is not explicit{others}: it follows from others, and stays until one of them goes",
                InferredTripleWarning,
                stacklevel=4,
            )

    def _has_listeners(self) -> bool:
        """Whether rdflib's event dispatcher has subscribers."""
        return bool(self.dispatcher.get_map())  # type: ignore[no-untyped-call]

    def add_facts(self, facts: Mapping[tuple[int, int], Pairs], *, is_default: bool) -> int:
        """Add facts by graph and predicate. Returns the number of new facts.

        Precondition: called inside a transaction. ``is_default``: the load has no named target, so a later
        nameless graph becomes an alias of the target (``DefaultGraphAlias``).
        """
        before = self.reasoner.versions.current()
        self.reasoner.versions.change(
            Version.with_changes, [Change(*place, NO_KEYS, new) for place, new in facts.items()]
        )
        if is_default:
            self.reasoner.versions.change(with_alias)
        after = self.reasoner.versions.current()
        if self._has_listeners():
            for graph, index in after.quads.graphs.items():
                for predicate, _, added in differences(before.quads.graphs.get(graph, TripleIndex()), index):
                    self._notify(after, graph, predicate, added.tolist())
        return after.quads.fact_count() - before.quads.fact_count()

    def _notify(self, version: Version, graph: int, predicate: int, added: Sequence[int]) -> None:
        """Dispatch rdflib's event for each fact added to a graph."""
        terms, context = version.terms, self._context(version, graph)
        for key in added:
            super().add((terms[key >> 32], terms[predicate], terms[key & 0xFFFFFFFF]), context)

    # Reading

    def triples(
        self, triple: _TriplePatternType, context: _ContextType | None = None
    ) -> Iterator[tuple[_TripleType, Contexts]]:
        """The matching triples, each once, with its graphs.

        With subject and predicate the facts are looked up now, in few steps; else when they are asked for.
        """
        version = self.reasoner.settled()  # before terms are looked up: rules may have computed new terms
        subject, predicate, value = triple
        if subject is None or predicate is None or type(context) is not Graph:
            return self._triples(version, triple, context)
        view = last_view(version, context.identifier)
        if view is None:
            return self._triples(version, triple, context)
        check()
        terms: Terms = version.terms
        found_before = terms.found.get
        o: int | None
        s = found_before(subject) if type(subject) is URIRef else None
        p = found_before(predicate) if type(predicate) is URIRef else None
        if (s is None and (s := terms.find(subject)) is None) or (
            p is None and (p := terms.find(predicate)) is None
        ):
            return iter(())
        if value is None:
            found = view.objects(s, p)
            if len(found) != 1:
                return self._with_objects(version, s, p, found)
            o = found[0]
        elif (o := terms.find(value)) is None or not view.has(s, p, o):
            return iter(())
        return iter((((terms[s], terms[p], terms[o]), self._contexts_of(version, s, p, o)),))

    def _with_objects(
        self, version: Version, s: int, p: int, objects: Sequence[int]
    ) -> Iterator[tuple[_TripleType, Contexts]]:
        """The triples of a subject and a predicate with some objects, each with its graphs. Lazy."""
        terms = version.terms
        subject, predicate = terms[s], terms[p]
        for o in objects:
            yield (subject, predicate, terms[o]), self._contexts_of(version, s, p, o)

    def _triples(
        self, version: Version, triple: _TriplePatternType, context: _ContextType | None
    ) -> Iterator[tuple[_TripleType, Contexts]]:
        """``triples`` for any pattern. Lazy."""
        pattern = pattern_of(version, triple)
        if pattern is None:
            return
        terms = version.terms
        formula = None if context is None else formula_of(version, context)
        if formula is not None:
            for s, p, o in View(formula, formula).match(*pattern):
                yield (terms[s], terms[p], terms[o]), iter((cast(Graph, context),))
            return
        check()
        for s, p, o in view_of(version, context).match(*pattern):
            yield (terms[s], terms[p], terms[o]), self._contexts_of(version, s, p, o)

    def __len__(self, context: _ContextType | None = None) -> int:
        """The number of triples that a graph, or the union, shows. Cost after derivation: O(1)."""
        version = self.reasoner.settled()
        formula = None if context is None else formula_of(version, context)
        return len(view_of(version, context)) if formula is None else formula.fact_count()

    def contexts(self, triple: _TripleType | None = None) -> Generator[_ContextType, None, None]:
        """The graphs and formulas of the store; for a triple, the graphs that contain it.

        An inferred triple that is explicit in no graph is in ``urn:x-corollary:inferred``.
        """
        version = self.reasoner.settled()
        state = version.state
        pattern = None if triple is None else pattern_of(version, triple)
        if triple is None or pattern == (None, None, None):
            yield from [self._context(version, graph) for graph in {*state.facts.graphs, *version.named}]
            yield from [self._formula(version.terms[name]) for name in state.facts.formulas]
            return
        if pattern is not None and None not in pattern:
            s, p, o = pattern
            assert s is not None and p is not None and o is not None
            if any(True for _ in state.everything.match(s, p, o)):
                graphs = self._contexts_of(version, s, p, o)
                yield from (graph for graph in graphs if graph is not None)

    def _contexts_of(self, version: Version, s: int, p: int, o: int) -> Contexts:
        found = False
        for graph, index in version.state.facts.graphs.items():
            if index.relation(p).has(s, o):
                found = True
                yield self._context(version, graph)
        if not found:
            yield self._context(version, version.terms.inferred)

    def explicit_triples(self, graph: Node) -> Iterator[_TripleType]:
        """The explicit triples of a graph. Derives nothing."""
        self.reasoner.versions.change_beside(Version.applied)
        version = self.reasoner.versions.current()
        index = version.quads.graphs.get(version.terms.id_of(version.adapter_state.meet(graph)))
        terms = version.terms
        if index is not None:
            for s, p, o in View(index, index).match(None, None, None):
                yield terms[s], terms[p], terms[o]

    # Graphs

    def explicit(self) -> Graph:
        """A read-only graph of the explicit triples of all graphs."""
        return Graph(self, EXPLICIT)

    def inferred(self) -> Graph:
        """A read-only graph of the inferred triples, those that are explicit in no graph."""
        return Graph(self, INFERRED)

    def add_graph(self, graph: Graph) -> None:
        """Add a graph, which exists even if it is empty. The store is then no longer a plain store."""
        while True:
            version = self.reasoner.versions.current()
            name = self._graph_id(version, graph, is_used=False)
            if name in version.named:
                return
            try:
                self.reasoner.versions.change(with_graph, version.terms, name)
            except StaleTerms:
                continue
            return

    def create_graph(self, graph: Graph) -> None:
        """Add a graph; a plain store stays a plain store. Precondition: called inside a transaction."""
        self.reasoner.versions.change(
            Version.with_created, self._graph_id(self.reasoner.versions.current(), graph)
        )

    def remove_graph(self, graph: Graph) -> None:
        """Remove a graph and its triples. The default graph, which always exists, is emptied."""
        for _ in self.reasoner.versions.steps():
            if self._has_listeners():
                super().remove((None, None, None), graph)
            version = self.reasoner.versions.current()
            # is_used=False: rdflib's parsers of quads also remove the default graph of plain stores
            name = self._graph_id(version, graph, is_used=False)
            self.reasoner.versions.change(Version.without_graph, name)

    def target(self, version: Version, graph: Graph | Node | str | None) -> int:
        """The id of the graph to load into: ``graph``, else the default graph or the store's plain graph."""
        if graph is not None:
            return self._graph_id(version, graph if isinstance(graph, Node | Graph) else URIRef(graph))
        terms: Terms = version.terms
        return terms.id_of(version.adapter_state.target()) if is_plain(version) else terms.default

    # Prefixes

    def bind(self, prefix: str, namespace: URIRef, override: bool = True) -> None:
        self.reasoner.versions.change_beside(Version.bound, prefix, namespace, override)

    def namespace(self, prefix: str) -> URIRef | None:
        namespaces = self.reasoner.versions.current().namespaces  # which are URIRefs here
        return namespaces.namespace(prefix)  # type: ignore[return-value]

    def namespaces(self) -> Iterator[tuple[str, URIRef]]:
        return iter(self.reasoner.versions.current().namespaces)  # type: ignore[arg-type]

    def prefix(self, namespace: URIRef) -> str | None:
        return self.reasoner.versions.current().namespaces.prefix(namespace)

    # Options, names and handles

    @property
    def options(self) -> StoreOptions:
        """The options that this thread sees; available also for a closed store."""
        return cast(StoreOptions, self.reasoner.versions.current().options)

    @property
    def external(self) -> str:
        """What queries and updates may access: ``none``, ``files``, ``network`` or ``all``."""
        return self.options.access

    def _graph_id(self, version: Version, context: _ContextType | Node, *, is_used: bool = True) -> int:
        """The id of a graph that is to be changed; ``is_used`` records it as a used graph for the alias.

        Raises CorollaryError for the read-only graphs.
        """
        alias: DefaultGraphAlias = version.adapter_state
        terms: Terms = version.terms
        last = terms.last_graph
        if last is not None and last[0] is context and last[1] is alias:
            return last[2]
        identifier = (alias.meet if is_used else alias.meant)(identifier_of(context))
        name = terms.id_of(identifier)
        refuse_side(terms, name)
        if name not in terms.handles and isinstance(context, Graph):
            own = context.store is self and context.identifier == identifier
            terms.handles[name] = context if own else Graph(self, cast(IdentifiedNode, identifier))
        if is_used:
            terms.last_graph = context, alias, name
        return name

    def refuse_side(self, name: Node) -> None:
        """Raise CorollaryError for the two read-only graphs, which show E and I - E."""
        terms: Terms = self.reasoner.versions.current().terms
        graph = terms.find(name)
        if graph is not None:
            refuse_side(terms, graph)

    def _formula(self, name: Node) -> QuotedGraph:
        return QuotedGraph(self, cast(IdentifiedNode, name))

    def _context(self, version: Version, graph: int) -> Graph:
        terms: Terms = version.terms
        if graph not in terms.handles:
            terms.handles[graph] = Graph(self, cast(IdentifiedNode, terms[graph]))
        return terms.handles[graph]
