"""The rdflib store: explicit facts in graphs, and what follows from them, seen by every read.

1. ``add``, ``remove`` and ``load`` write a log. Nothing is reasoned.
2. The next read (or ``materialise``) works the log off in one batch: see ``corollary.store.reasoning``.
3. Readers hold a ``State`` and are never disturbed; any number of them may read while one writes.
"""

from __future__ import annotations

import os
import warnings
from collections.abc import Generator, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from threading import RLock
from typing import TYPE_CHECKING, Any, Literal, cast

from rdflib.graph import Graph, QuotedGraph
from rdflib.namespace import NamespaceManager
from rdflib.term import BNode, IdentifiedNode, Identifier, Node, URIRef

from corollary.language import CorollaryError
from corollary.store.home import EXPLICIT, INFERRED
from corollary.store.keeping import Keeping
from corollary.store.options import Options, Rules
from corollary.store.state import State, View

if TYPE_CHECKING:
    from rdflib.graph import _ContextType, _QuadType, _TriplePatternType, _TripleType
    from rdflib.plugins.sparql.sparql import Query, Update
    from rdflib.query import Result

    from corollary.index.pairs import Pairs
    from corollary.store.loading import BadLine, Progress, Source

_UNKNOWN = -1
"""No graph's id."""

Contexts = Iterator["_ContextType | None"]
Pattern = tuple[int | None, int | None, int | None]
"""A pattern over ids; None matches anything."""


class InferredTripleWarning(UserWarning):
    """A triple was to be removed that is not explicit: it follows from others, and stays."""


class CorollaryStore(Keeping):
    """A store that keeps what follows from its triples: ``Graph(store="Corollary")``.

    ``rules`` is a profile name, a rule file, a ``Program``, a list of these, or ``"none"``. The default is
    ``default_rules``, which the environment variable ``COROLLARY_RULES`` sets. ``inferred`` is ``"show"``:
    the default graph, the union and a plain graph show what follows; or ``"apart"``: only the graph
    ``urn:x-corollary:inferred`` does. Both may also be given in the configuration string, as ``rules=rdfs``;
    so may the folder of a store, see ``open``.
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
        rules: Rules | None = None,
        inferred: str = "show",
    ) -> None:
        self._begin(Options(self.default_rules if rules is None else rules, inferred))
        self._bad_lines: tuple[BadLine, ...] = ()
        super().__init__(configuration)

    def __getstate__(self) -> dict[str, Any]:
        with self._lock:
            self._work_off()
            kept = self.__dict__.copy()
        for name in ("_lock", "_state", "_current", "_contexts"):
            del kept[name]
        kept["_folder"], kept["_quads"] = None, replace(self._quads, journal=None)  # a copy is in memory
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
        with self._lock:
            graphs = None if context is None else [self._graph_id(context)]
            pattern = self._find(triple)
            if pattern is None:
                return
            if graphs is None:
                self._quoted.remove(triple, None)
                self._work_off()
                graphs = list(self._quads.graphs)
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
                graphs = everywhere if context is None else {self._graph_id(context)}
                ids = self._find(triple)
                if ids is None:
                    continue
                found = [self._log_removal(graph, *ids) for graph in graphs]
                if not any(found):
                    missed.append((triple, ids))
            self._warn_of_inferred(missed)

    def _log_removal(self, graph: int, s: int | None, p: int | None, o: int | None) -> bool:
        self._current = None
        if s is not None and p is not None and o is not None:
            there = self._quads.holds(graph, s, p, o)
            if there:
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
            if any(True for _ in state.everything.match(s, p, o)):
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

        home = self._home.meet(queryGraph) if isinstance(queryGraph, BNode) else queryGraph
        run_update(self, update, initNs, initBindings, cast(str, home), **kwargs)

    def _explicit_triples(self, graph: Node) -> Iterator[_TripleType]:
        """What was put into a graph."""
        with self._lock:
            self._work_off()
            index = self._quads.graphs.get(self._terms.id_of(self._home.meet(graph)))
            index = None if index is None else index.snapshot()
        if index is not None:
            for s, p, o in View(index, index).match(None, None, None):
                yield self._terms[s], self._terms[p], self._terms[o]

    def load(
        self,
        *sources: Source,
        format: str | None = None,
        graph: Graph | Node | str | None = None,
        on_error: Literal["stop", "skip"] = "stop",
        progress: Progress | None = None,
    ) -> int:
        """Add documents: files, folders or addresses, maybe compressed. How many triples were new.

        Nothing is cleared. ``format`` goes before suffixes and media types. What a document puts into no
        graph goes into ``graph``; without one, into the default graph, or into the plain graph that the
        store is of. Prefixes are bound, as far as they and their namespaces are free. ``progress`` is told
        what is being read, the triples so far, and the share of all bytes (None: not known).

        If one document is bad nothing has changed: InputError says which, where, and what to do. With
        ``on_error="skip"`` bad lines of N-Triples and N-Quads are left out; ``bad_lines`` lists them.
        """
        from corollary.store.loading import Destination, read_documents

        if on_error not in ("stop", "skip"):
            raise CorollaryError(f"on_error is 'stop' or 'skip', not {on_error!r}")
        with self._lock:
            target = self._target(graph)
        bad: list[BadLine] = []
        to = Destination(self._terms, target, self._lock)
        loaded = read_documents(sources, format, to, progress, bad if on_error == "skip" else None)
        with self._lock:
            for name in loaded.graphs():
                self._refuse_side(name)
            count = self._log_facts(loaded.facts)
            self._bad_lines = tuple(bad)
            if graph is None:
                self._home.fill()
        loaded.bind(NamespaceManager(Graph(self), "none"))
        return count

    def bad_lines(self) -> Sequence[BadLine]:
        """The lines that the last ``load`` left out: file name, line, column, reason, text."""
        return self._bad_lines

    def load_encoded(self, path: str | os.PathLike[str], *, graph: Graph | Node | str | None = None) -> int:
        """Add the explicit triples of an encoded data set. How many were new.

        What follows from them is derived by the store's rules at the next read, whatever the data set has
        been closed under. Graphs and prefixes are as in ``load``. InputError if there is no whole data set:
        then nothing has changed.
        """
        from corollary.store.datasets import load

        return load(self, path, graph)

    def save_encoded(self, path: str | os.PathLike[str]) -> None:
        """Write the triples, explicit and inferred, as an encoded data set: a folder for Parquet readers.

        It appears whole or not at all, in place of an older one. InputError if it cannot be written.
        """
        from corollary.store.datasets import save

        save(self, path)

    def _target(self, graph: Graph | Node | str | None) -> int:
        """The graph to load into; without a name the default graph, or the plain graph of the store."""
        if graph is not None:
            return self._graph_id(graph if isinstance(graph, Node | Graph) else URIRef(graph))
        return self._default if self._named else self._terms.id_of(self._home.target())

    def _log_facts(self, facts: Mapping[tuple[int, int], Pairs]) -> int:
        """Add facts by graph and predicate. How many were new."""
        count = 0
        for (graph, predicate), pairs in facts.items():
            new = self._quads.log_many(graph, predicate, pairs)
            count += new.size
            if new.size:
                self._current = None
            if self.dispatcher.get_map():  # type: ignore[no-untyped-call]
                self._tell(graph, predicate, new.tolist())
        return count

    def _tell(self, graph: int, predicate: int, added: Sequence[int]) -> None:
        """Tell whoever listens to the store of facts that were added to a graph."""
        terms = self._terms
        for key in added:
            super().add((terms[key >> 32], terms[predicate], terms[key & 0xFFFFFFFF]), self._context(graph))

    # Graphs

    def add_graph(self, graph: Graph) -> None:
        """Remember a graph even if it is empty."""
        with self._lock:
            self._home.is_of_a_dataset()
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
            self._state = None if self._state is None else replace(self._state, facts=self._quads.snapshot())
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
        """The id of a graph that is to be changed. CorollaryError if it is one side of all graphs."""
        identifier = self._home.meet(_identifier(context))
        name = self._terms.id_of(identifier)
        self._refuse_side(name)
        if name not in self._contexts and isinstance(context, Graph):
            own = context.store is self and context.identifier == identifier
            self._contexts[name] = context if own else Graph(self, cast(IdentifiedNode, identifier))
        return name

    def refuse_side(self, name: Node) -> None:
        """Raise ``CorollaryError`` if a graph cannot be changed: it shows one side of all graphs."""
        graph = self._terms.find(name)
        if graph is not None:
            self._refuse_side(graph)

    def _refuse_side(self, graph: int) -> None:
        if graph == self._explicit or graph == self._inferred:
            side = "explicit" if graph == self._explicit else "inferred"
            raise CorollaryError(
                f"{self._terms[graph]} shows the {side} triples of all graphs and cannot be changed: add to, "
                "or remove from, the default graph or a named one"
            )

    def _context(self, graph: int) -> Graph:
        if graph not in self._contexts:
            self._contexts[graph] = Graph(self, cast(IdentifiedNode, self._terms[graph]))
        return self._contexts[graph]

    def _is_quoted(self, context: _ContextType | Node) -> bool:
        if not self._quoted_graphs:
            return isinstance(context, QuotedGraph)
        return isinstance(context, QuotedGraph) or _identifier(context) in self._quoted_graphs

    def _view(self, state: State, context: _ContextType | Node | None) -> View:
        """What a graph shows."""
        if context is None:
            return state.everything
        identifier = self._home.meet(_identifier(context))
        known = self._terms.find(identifier)  # readers give no new ids: they hold no lock
        name = _UNKNOWN if known is None else known
        if name == self._explicit:
            return state.explicit
        if name == self._inferred:
            return state.inferred
        return state.home(name) if self._is_home(state, name) else state.graph(name)

    def _is_home(self, state: State, graph: int) -> bool:
        """Whether inferred triples show in a graph: the default graph, or one that is alone."""
        if graph == self._default:
            return True
        return not self._named and state.facts.graphs.keys() <= {graph}


def _identifier(context: _ContextType | Node) -> Node:
    return context.identifier if isinstance(context, Graph) else context


__all__ = ["EXPLICIT", "INFERRED", "CorollaryStore", "InferredTripleWarning"]
