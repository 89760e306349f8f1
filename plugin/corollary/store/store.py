"""The rdflib store: explicit facts in graphs, and what follows from them, seen by every read.

1. ``add`` and ``remove`` write a log. Nothing is reasoned.
2. The next read (or ``materialise``) works the log off in one batch and brings the materialisation up
   to date: what was only added is extended at the cost of what is new; a removal starts over.
3. Readers hold a ``State`` and are never disturbed; any number of them may read while one writes.
"""

from __future__ import annotations

import os
import warnings
from collections.abc import Generator, Iterable, Iterator, Mapping, Sequence
from copy import copy
from functools import partial, reduce
from operator import add
from threading import RLock
from typing import TYPE_CHECKING, Any, cast

from rdflib.graph import DATASET_DEFAULT_GRAPH_ID, Graph, QuotedGraph
from rdflib.plugins.stores.memory import Memory
from rdflib.store import NO_STORE, VALID_STORE, Store
from rdflib.term import IdentifiedNode, Identifier, Node, URIRef

from corollary.evaluate import Materialisation, extend, materialise
from corollary.language import CorollaryError, Program
from corollary.profiles import load_rules
from corollary.store.namespaces import Namespaces
from corollary.store.quads import Changes, Quads
from corollary.store.state import State, View
from corollary.store.terms import Terms
from corollary.terms.dictionary import TermDictionary

if TYPE_CHECKING:
    from rdflib.graph import _ContextType, _QuadType, _TriplePatternType, _TripleType
    from rdflib.plugins.sparql.sparql import Query, Update
    from rdflib.query import Result

EXPLICIT = URIRef("urn:x-corollary:explicit")
INFERRED = URIRef("urn:x-corollary:inferred")

_UNKNOWN = -1
"""No graph's id."""

Contexts = Iterator["_ContextType | None"]
Pattern = tuple[int | None, int | None, int | None]
"""A pattern over ids; None matches anything."""


class InferredTripleWarning(UserWarning):
    """A triple was to be removed that is not explicit: it follows from others, and stays."""


class CorollaryStore(Store):
    """A store that keeps what follows from its triples: ``Graph(store="Corollary")``.

    ``rules`` is a profile name, a rule file, a ``Program``, a list of these, or ``"none"``; it may also be
    given in the configuration string, as ``rules=rdfs``. The default is ``default_rules``, which the
    environment variable ``COROLLARY_RULES`` sets.
    """

    context_aware = True
    graph_aware = True
    formula_aware = True
    transaction_aware = False

    default_rules = os.environ.get("COROLLARY_RULES", "owl2rl")

    def __init__(
        self,
        configuration: str | None = None,
        identifier: Node | None = None,
        *,
        rules: str | Program | Sequence[str | Program] | None = None,
    ) -> None:
        self._lock = RLock()
        self._terms = Terms(TermDictionary())
        self._quads = Quads()
        self._namespaces = Namespaces()
        self._contexts: dict[int, Graph] = {}
        self._named: set[int] = set()
        self._quoted = Memory()
        self._quoted_graphs: set[Node] = set()
        self._state: State | None = None
        self._current: State | None = None  # the state, as long as nothing has changed since
        self._rules: str | Program | Sequence[str | Program] = self.default_rules if rules is None else rules
        self._default = self._terms.id_of(DATASET_DEFAULT_GRAPH_ID)
        self._inferred = self._terms.id_of(INFERRED)
        super().__init__(configuration)

    # Life

    def open(self, configuration: str | tuple[str, str], create: bool = False) -> int | None:
        """Take options from a string such as ``rules=rdfs;rules=family.dlog``.

        The store is in memory. What is no option is taken for a place to keep it: a warning says that nothing
        is read or written there. With ``create`` the store is valid all the same; without, there is none.
        ``CorollaryError`` for an option that does not exist.
        """
        given = []
        place = None
        for option in str(configuration).split(";"):
            name, equals, value = option.strip().partition("=")
            if name == "rules" and equals:
                given.append(value)
            elif equals and name.isidentifier():
                raise CorollaryError(f"{option.strip()!r} is no option of the store; try rules=owl2rl")
            elif name:
                place = option.strip()
        if given:
            self._rules = given
            self._state = self._current = None
        if place is None:
            return VALID_STORE
        warnings.warn(
            f"the store is in memory: nothing is read from {place!r} or written there (options look like "
            "rules=owl2rl)",
            stacklevel=3,
        )
        return VALID_STORE if create else NO_STORE

    def __getstate__(self) -> dict[str, Any]:
        with self._lock:
            self._work_off()
            kept = self.__dict__.copy()
        for name in ("_lock", "_state", "_current", "_contexts"):
            del kept[name]
        kept["_context_names"] = {key: graph.identifier for key, graph in self._contexts.items()}
        return kept

    def __setstate__(self, kept: dict[str, Any]) -> None:
        names = kept.pop("_context_names")
        self.__dict__.update(kept)
        self._lock = RLock()
        self._state = self._current = None
        self._contexts = {key: Graph(self, cast(IdentifiedNode, name)) for key, name in names.items()}

    # Writing

    def add(self, triple: _TripleType, context: _ContextType, quoted: bool = False) -> None:
        """Put a triple into a graph; it is reasoned about when somebody reads."""
        if self.dispatcher.get_map():  # type: ignore[no-untyped-call]
            super().add(triple, context, quoted)
        if quoted or isinstance(context, QuotedGraph):
            self._quoted_graphs.add(context.identifier)
            self._quoted.add(triple, context, quoted)
            return
        ids = self._terms.id_of
        subject, predicate, value = triple
        with self._lock:
            graph = self._graph_id(context)
            self._quads.log(graph, ids(subject), ids(predicate), ids(value), added=True)
            self._current = None

    def addN(self, quads: Iterable[_QuadType]) -> None:
        """Put triples into graphs."""
        for subject, predicate, value, context in quads:
            self.add((subject, predicate, value), context)

    def remove(self, triple: _TriplePatternType, context: _ContextType | None = None) -> None:
        """Take the matching triples out of a graph, or of all graphs.

        What follows from other triples stays, with an ``InferredTripleWarning`` if the pattern names
        just that triple.
        """
        if self.dispatcher.get_map():  # type: ignore[no-untyped-call]
            super().remove(triple, context)
        if context is not None and self._is_quoted(context):
            self._quoted.remove(triple, context)
            return
        pattern = self._find(triple)
        if pattern is None:
            return
        with self._lock:
            if context is None:
                self._quoted.remove(triple, None)
                self._work_off()
                graphs = list(self._quads.graphs)
            else:
                graphs = [self._graph_id(context)]
            if None in pattern:
                self._work_off()
            found = False
            for graph in graphs:
                found |= self._log_removal(graph, *pattern)
            if not found and None not in pattern:
                self._warn_of_inferred([(triple, pattern)])

    def removeN(self, quads: Iterable[tuple[Node, Node, Node, Graph | None]]) -> None:
        """Take triples out of graphs, out of all where the graph is None; one warning for all together."""
        missed = []
        with self._lock:
            everywhere = self._quads.graphs_with_log()
            for subject, predicate, value, context in quads:
                triple = subject, predicate, value
                if self.dispatcher.get_map():  # type: ignore[no-untyped-call]
                    super().remove(triple, context)
                if context is None or self._is_quoted(context):
                    self._quoted.remove(triple, context)
                ids = self._find(triple)
                if ids is None:
                    continue
                graphs = everywhere if context is None else (self._graph_id(context),)
                found = [self._log_removal(graph, *ids) for graph in graphs]
                if not any(found):
                    missed.append((triple, ids))
            self._warn_of_inferred(missed)

    def _log_removal(self, graph: int, s: int | None, p: int | None, o: int | None) -> bool:
        self._current = None
        if s is not None and p is not None and o is not None:
            there = self._quads.holds(graph, s, p, o)
            self._quads.log(graph, s, p, o, added=False)
            return there
        index = self._quads.graphs.get(graph)
        if index is None:
            return False
        for subject, predicate, value in list(View(index, index).match(s, p, o)):
            self._quads.log(graph, subject, predicate, value, added=False)
        return True

    def _warn_of_inferred(self, missed: Sequence[tuple[_TriplePatternType, Pattern]]) -> None:
        """Warn if some of the triples that were to go, and are not explicit, are inferred."""
        state = self._state
        if state is None:
            return
        inferred = []
        for triple, (s, p, o) in missed:
            assert s is not None and p is not None and o is not None
            if state.index.relation(p).has(s, o) and not state.facts.union.relation(p).has(s, o):
                inferred.append(triple)
        if inferred:
            text = " ".join(term.n3() for term in inferred[0] if term is not None)
            others = f", and {len(inferred) - 1:,} more that were to go" if len(inferred) > 1 else ""
            warnings.warn(
                f"{text} is not explicit{others}: it follows from others, and stays until one of them goes",
                InferredTripleWarning,
                stacklevel=4,
            )

    # Reading

    def triples(
        self, triple: _TriplePatternType, context: _ContextType | None = None
    ) -> Iterator[tuple[_TripleType, Contexts]]:
        """The matching triples, each once, with the graphs it is in."""
        if context is not None and self._is_quoted(context):
            yield from self._quoted.triples(triple, context)
            return
        state = self._now()  # before the terms are looked up: what follows may bring new ones
        pattern = self._find(triple)
        if pattern is None:
            return
        terms = self._terms
        for s, p, o in self._view(state, context).match(*pattern):
            yield (terms[s], terms[p], terms[o]), self._contexts_of(state, s, p, o)

    def __len__(self, context: _ContextType | None = None) -> int:
        """How many triples the graph shows, or the store; in constant time once the log is worked off."""
        if context is not None and self._is_quoted(context):
            return len(list(self._quoted.triples((None, None, None), context)))
        return len(self._view(self._now(), context))

    def contexts(self, triple: _TripleType | None = None) -> Generator[_ContextType, None, None]:
        """The graphs, or those that a triple is in."""
        state = self._now()
        pattern = None if triple is None else self._find(triple)
        if triple is None or pattern == (None, None, None):
            with self._lock:
                known = {*state.facts.graphs, *self._named}
                graphs = [self._context(graph) for graph in known]
                formulas = [QuotedGraph(self, cast(IdentifiedNode, name)) for name in self._quoted_graphs]
            yield from graphs
            yield from formulas
            return
        if pattern is not None and None not in pattern:
            s, p, o = pattern
            assert s is not None and p is not None and o is not None
            yield from (graph for graph in self._contexts_of(state, s, p, o) if graph is not None)

    def _contexts_of(self, state: State, s: int, p: int, o: int) -> Contexts:
        found = False
        for graph, index in state.facts.graphs.items():
            if index.relation(p).has(s, o):
                found = True
                yield self._context(graph)
        if not found:
            yield self._context(self._inferred)

    def query(
        self,
        query: Query | str,
        initNs: Mapping[str, Any],
        initBindings: Mapping[str, Identifier],
        queryGraph: str,
        **kwargs: Any,
    ) -> Result:
        """A SPARQL query's result, over what the store shows now; bound prefixes need no declaration.

        NotImplementedError, when called: rdflib's own evaluator shall answer.
        """
        from corollary.sparql import Source, answer

        home = cast(IdentifiedNode, queryGraph)
        if self._is_quoted(home):
            raise NotImplementedError("formulas are rdflib's")
        state = self._now()
        with self._lock:
            graphs = frozenset((*state.facts.graphs, *self._named))
        known = state.__dict__.setdefault("_known_to_queries", {})
        source = Source(self._terms, partial(self._view, state), graphs, self._default, known)
        prefixes = {**dict(self._namespaces), **initNs}
        return answer(source, query, prefixes, initBindings, home, kwargs)

    def update(
        self,
        update: Update | str,
        initNs: Mapping[str, Any],
        initBindings: Mapping[str, Identifier],
        queryGraph: str,
        **kwargs: Any,
    ) -> None:
        """Carry out a SPARQL Update request, all of it or nothing: see ``corollary.store.update``."""
        if kwargs.keys() - {"base"}:
            raise NotImplementedError("arguments that only another processor can know")
        from corollary.store.update import run_update

        run_update(self, update, initNs, initBindings, queryGraph, **kwargs)

    def _draft(self) -> CorollaryStore:
        """A store with the same terms, facts and inferences, to be changed apart."""
        self._work_off()
        draft = copy(self)
        draft._quads, draft._named, draft._state = self._quads.copy(), set(self._named), self._state
        return draft

    def _adopt(self, draft: CorollaryStore) -> None:
        """Take over what became of a draft."""
        self._quads, self._named, self._state = draft._quads, draft._named, draft._state
        self._current = None

    def _explicit_triples(self, graph: Node) -> Iterator[_TripleType]:
        """What was put into a graph."""
        with self._lock:
            self._work_off()
            index = self._quads.graphs.get(self._terms.id_of(graph))
            index = None if index is None else index.snapshot()
        if index is not None:
            for s, p, o in View(index, index).match(None, None, None):
                yield self._terms[s], self._terms[p], self._terms[o]

    # Graphs

    def add_graph(self, graph: Graph) -> None:
        """Remember a graph even if it is empty."""
        with self._lock:
            self._named.add(self._graph_id(graph))

    def remove_graph(self, graph: Graph) -> None:
        """Forget a graph and its triples; the default graph is emptied."""
        with self._lock:
            self.remove((None, None, None), graph)
            self._work_off()
            name = self._graph_id(graph)
            self._quads.graphs.pop(name, None)
            self._named.discard(name)
            self._quoted_graphs.discard(graph.identifier)
            self._state = None if self._state is None else self._refreshed(self._state, {}, {})
            self._current = None

    # Prefixes

    def bind(self, prefix: str, namespace: URIRef, override: bool = True) -> None:
        self._namespaces.bind(prefix, namespace, override)

    def namespace(self, prefix: str) -> URIRef | None:
        return self._namespaces.namespace(prefix)

    def prefix(self, namespace: URIRef) -> str | None:
        return self._namespaces.prefix(namespace)

    def namespaces(self) -> Iterator[tuple[str, URIRef]]:
        return iter(self._namespaces)

    # Reasoning

    def program(self) -> Program | None:
        """The rules in force; None if there are none."""
        rules = [self._rules] if isinstance(self._rules, str | Program) else list(self._rules)
        programs = [
            rule if isinstance(rule, Program) else load_rules(rule) for rule in rules if rule != "none"
        ]
        return reduce(add, programs) if programs else None

    def materialise(self) -> Materialisation | None:
        """Work off all changes now, and give the materialisation; None without rules."""
        return self._now().materialisation

    def explicit(self) -> Graph:
        """A graph of the explicit triples of all graphs."""
        return Graph(self, EXPLICIT)

    def inferred(self) -> Graph:
        """A graph of the triples that follow and are not explicit."""
        return Graph(self, INFERRED)

    def commit(self) -> None:
        """Work off all changes now."""
        self._now()

    def _now(self) -> State:
        """The state with every change up to now."""
        state = self._current  # without the lock: it is there only if it is the last word
        if state is not None:
            return state
        with self._lock:
            self._work_off()
            if self._state is None:
                facts, program = self._quads.snapshot(), self.program()
                result = (
                    None if program is None else materialise(facts.union, program, self._terms.dictionary)
                )
                self._state = State(facts, result)
            self._current = self._state
            return self._state

    def _work_off(self) -> None:
        """Apply the log to the explicit facts, and the state if there is one."""
        if self._quads.is_changed:
            gained, lost = self._quads.apply()
            if self._state is not None:
                self._state = self._refreshed(self._state, gained, lost)

    def _refreshed(self, state: State, gained: Changes, lost: Changes) -> State | None:
        """The state after a change; None if it has to be computed from scratch."""
        facts, before = self._quads.snapshot(), state.materialisation
        if before is None:
            return State(facts, None)
        if lost:
            return None
        if not gained:
            return State(facts, before)
        return State(facts, extend(before, facts.union, {p: [keys] for p, keys in gained.items()}))

    # Names and handles

    def _find(self, triple: _TriplePatternType) -> Pattern | None:
        """A pattern over ids; None if a term is not known, so that nothing matches."""
        ids: list[int | None] = []
        for term in triple:
            term_id = None if term is None else self._terms.find(term)
            if term is not None and term_id is None:
                return None
            ids.append(term_id)
        return ids[0], ids[1], ids[2]

    def _graph_id(self, context: _ContextType | Node) -> int:
        identifier = context.identifier if isinstance(context, Graph) else context
        name = self._terms.id_of(identifier)
        if name not in self._contexts and isinstance(context, Graph):
            own = context.store is self
            self._contexts[name] = context if own else Graph(self, cast(IdentifiedNode, identifier))
        return name

    def _context(self, graph: int) -> Graph:
        if graph not in self._contexts:
            self._contexts[graph] = Graph(self, cast(IdentifiedNode, self._terms[graph]))
        return self._contexts[graph]

    def _is_quoted(self, context: _ContextType | Node) -> bool:
        if not self._quoted_graphs:
            return isinstance(context, QuotedGraph)
        identifier = context.identifier if isinstance(context, Graph) else context
        return isinstance(context, QuotedGraph) or identifier in self._quoted_graphs

    def _view(self, state: State, context: _ContextType | Node | None) -> View:
        """What a graph shows."""
        if context is None:
            return state.everything
        identifier = context.identifier if isinstance(context, Graph) else context
        if identifier == EXPLICIT:
            return state.explicit
        if identifier == INFERRED:
            return state.inferred
        known = self._terms.find(identifier)  # readers give no new ids: they hold no lock
        name = _UNKNOWN if known is None else known
        return state.home(name) if self._is_home(state, name) else state.graph(name)

    def _is_home(self, state: State, graph: int) -> bool:
        """Whether inferred triples show in a graph: the default graph, or one that is alone."""
        if graph == self._default:
            return True
        return not self._named and not (state.facts.graphs.keys() - {graph})


__all__ = ["EXPLICIT", "INFERRED", "CorollaryStore", "InferredTripleWarning"]
