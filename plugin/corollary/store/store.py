"""The rdflib store: explicit facts E in graphs, and the materialisation I, which every read sees.

1. ``add`` and ``remove`` of one triple append to a log of pending changes; changes of many triples at once
   make a new version of E. Nothing is derived.
2. The next read (or ``materialise``) applies the pending changes in one batch: see ``corollary.reasoner``.
3. Readers hold an immutable ``State``. Any number of threads may read while one writes.
4. Every method is atomic, whatever exception is raised at any line: see ``corollary.reasoner.versions``.
"""

from __future__ import annotations

import os
import sys
import warnings
from array import array
from collections.abc import Generator, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, cast

from rdflib.graph import Graph, QuotedGraph
from rdflib.store import NO_STORE, VALID_STORE, Store
from rdflib.term import BNode, IdentifiedNode, Identifier, Node, URIRef

from corollary.columns.pairs import NO_KEYS
from corollary.columns.triples import TripleIndex
from corollary.kernels.limits import Limits, check
from corollary.reasoner import Reasoner
from corollary.reasoner.options import Rules
from corollary.reasoner.quads import Change, differences, matching
from corollary.reasoner.reasoner import skips_bad_lines
from corollary.reasoner.state import Fact, State, View
from corollary.reasoner.version import StaleTerms, Version
from corollary.reasoner.versions import Closed
from corollary.sparql.rdf_terms import EXPLICIT, INFERRED, Terms
from corollary.store.default_graph import DefaultGraphAlias
from corollary.store.delegation import of_reasoner
from corollary.store.graphs import (
    adopted,
    formula_of,
    identifier_of,
    is_plain,
    pattern_of,
    refuse_side,
    view_of,
    with_alias,
    with_graph,
)
from corollary.store.rdflib_compat import graph_that_calls
from corollary.store.store_options import StoreOptions
from corollary.terms.dictionary import TermDictionary

if TYPE_CHECKING:
    from rdflib.graph import _ContextType, _QuadType, _TriplePatternType, _TripleType
    from rdflib.plugins.sparql.sparql import Query, Update
    from rdflib.query import Result

    from corollary.columns.pairs import Pairs
    from corollary.loaders.into_reasoner import Source
    from corollary.loaders.reading import Progress
    from corollary.sparql.dataset import Source as QuerySource

Contexts = Iterator["_ContextType | None"]


class InferredTripleWarning(UserWarning):
    """The triple of a ``remove`` is not explicit but inferred, and so stays."""


class CorollaryStore(Store):
    """An rdflib store that also shows the triples inferred from its triples: ``Graph(store="Corollary")``.

    ``rules`` is a profile name, a rule file, a ``Program``, a list of these, or ``"none"``. The default is
    ``default_rules``, which the environment variable ``COROLLARY_RULES`` sets. ``inferred`` is ``"show"``:
    the default graph, the union and a plain graph show inferred triples; or ``"apart"``: only the graph
    ``urn:x-corollary:inferred`` does. ``limits`` bound one call: ``Limits``, or a text such as
    ``seconds=10,bytes=2GB``; the default is the value of COROLLARY_LIMITS. ``external`` is what queries and
    updates may access: ``"none"``, ``"files"``, ``"network"`` or ``"all"``; the default is the value of
    COROLLARY_EXTERNAL. All options may also be given in the configuration string, as ``rules=rdfs``; so may
    the folder of a store, see ``open``.
    """

    context_aware = True
    graph_aware = True
    formula_aware = True
    transaction_aware = True

    default_rules = os.environ.get("COROLLARY_RULES", "owl2rl")

    def __init__(
        self,
        configuration: str | None = None,
        identifier: Node | None = None,
        *,
        rules: Rules | None = None,
        inferred: str = "show",
        external: str | None = None,
        limits: Limits | str | None = None,
    ) -> None:
        given = self.default_rules if rules is None else rules
        options = StoreOptions(given, inferred, external=external, limits=limits)
        options.refuse_unknown_rules()
        self.reasoner = Reasoner.of(
            Version(Terms(TermDictionary()), options, adapter_state=DefaultGraphAlias())
        )
        """The reasoner that this store adapts to rdflib."""
        super().__init__(configuration)

    def __getstate__(self) -> dict[str, Any]:
        """The shared version, as a copy in memory: changes of an open transaction are not in it."""
        kept = self.__dict__.copy()
        del kept["reasoner"]
        shared = self.reasoner.versions.shared().applied()
        names = {key: graph.identifier for key, graph in shared.terms.handles.copy().items()}
        return {**kept, "version": shared.copied(), "names": names}

    def __setstate__(self, kept: dict[str, Any]) -> None:
        version, names = kept.pop("version"), kept.pop("names")
        self.__dict__.update(kept)
        handles = version.terms.handles
        handles.update((key, Graph(self, cast(IdentifiedNode, name))) for key, name in names.items())
        self.reasoner = Reasoner.of(version)

    # Methods of the reasoner

    program = of_reasoner(Reasoner.program)
    rules = of_reasoner(Reasoner.rules)
    add_rules = of_reasoner(Reasoner.add_rules)
    remove_rules = of_reasoner(Reasoner.remove_rules)
    use_rules = of_reasoner(Reasoner.use_rules)
    materialise = of_reasoner(Reasoner.materialise)
    statistics = of_reasoner(Reasoner.statistics)
    last_maintenance = of_reasoner(Reasoner.last_maintenance)
    components = of_reasoner(Reasoner.components)
    explain_plan = of_reasoner(Reasoner.explain_plan)
    inconsistencies = of_reasoner(Reasoner.inconsistencies)
    suspended_rules = of_reasoner(Reasoner.suspended_rules)
    explain = of_reasoner(Reasoner.explain)
    verify = of_reasoner(Reasoner.verify)
    bad_lines = of_reasoner(Reasoner.bad_lines)
    cancel = of_reasoner(Reasoner.cancel)
    transaction = of_reasoner(Reasoner.transaction)
    commit = of_reasoner(Reasoner.commit)
    rollback = of_reasoner(Reasoner.rollback)
    compact = of_reasoner(Reasoner.compact)

    # Options and folders

    def open(
        self, configuration: str | tuple[str, str], create: bool = False, *, read_only: bool = False
    ) -> int | None:
        """Open a folder, set options, or both: ``pets``, ``rules=rdfs;inferred=apart``, ``pets;rules=rdfs``.

        From then on the store shows the triples of the folder, and no other store can open the folder. With
        ``read_only`` (or ``pets;read_only=yes``) any number of stores may read a folder that none writes.
        ``create`` makes a store where there is none. Without ``create``, a missing store gives a warning and
        the result NO_STORE; this store then stays in memory, unchanged. Else the result is VALID_STORE.

        Raises CorollaryError for an unknown option; if the folder is in use, damaged, or of another program;
        if this store has triples; and for a folder inside a transaction.
        """
        options, place = self.options.configured(str(configuration))
        options = replace(options, read_only=options.read_only or read_only)
        opener = graph_that_calls(self, sys._getframe(1))
        options.program  # noqa: B018 - raises what is wrong with the rules
        if place is None:
            self.reasoner.change_options(lambda _: options)
            return VALID_STORE
        self.reasoner.refuse_inside("open")
        adopt = partial(adopted, opener=opener)
        if not self.reasoner.open_folder(
            Path(place), options, create=create, revive=self._revived, adopt=adopt
        ):
            warnings.warn(
                f"there is no store in {place}, and nothing is kept there: create=True makes one",
                stacklevel=3,
            )
            return NO_STORE
        return VALID_STORE

    def _revived(self, read: Version) -> Version:
        """Restores rdflib's objects in a version that was read. Modifies and returns ``read``."""
        read.terms.revive(self._formula)
        read.namespaces = read.namespaces.of_type(URIRef)
        return read

    def close(self, commit_pending_transaction: bool = False, *, discard: bool = False) -> None:
        """Commit and release the folder. The store cannot be used until it is opened again.

        With ``discard`` nothing is written, and uncommitted changes are lost. Without a folder ``close`` does
        nothing, and with ``discard`` rolls back. Nothing is derived. ``commit_pending_transaction`` is
        ignored, because ``Graph.close`` never sets it. Raises CorollaryError inside a transaction.
        """
        self.reasoner.close(discard=discard)

    def destroy(self, configuration: str) -> None:
        """Remove the store in a folder, and the folder if nothing else is in it.

        If it is this store's folder, it is closed first. Raises CorollaryError if another store has it open.
        """
        _, place = self.options.configured(str(configuration))
        if place is not None:
            self.reasoner.destroy(place)

    def __repr__(self) -> str:
        summary = self.reasoner.summary("CorollaryStore")
        return f"<CorollaryStore: {summary.reason}>" if isinstance(summary, Closed) else str(summary)

    def _repr_html_(self) -> str:
        summary = self.reasoner.summary("CorollaryStore")
        return escape(repr(self)) if isinstance(summary, Closed) else summary.html()

    # Writing

    def add(self, triple: _TripleType, context: _ContextType, quoted: bool = False) -> None:
        """Add a triple to a graph. Nothing is derived until the next read or commit."""
        if self._has_listeners():
            self.reasoner.versions.current().to_be_written()
            super().add(triple, context, quoted)
        subject, predicate, value = triple
        while True:
            version = self.reasoner.versions.current()
            ids = version.terms.id_of
            graph = self._graph_id(version, context)
            row = graph, ids(subject), ids(predicate), ids(value), 1
            try:
                if quoted or isinstance(context, QuotedGraph):
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
            ids = version.terms.id_of
            rows = array("I")
            for subject, predicate, value, context in given:
                rows.extend((self._graph_id(version, context), ids(subject), ids(predicate), ids(value), 1))
            try:
                self.reasoner.versions.change(Version.recorded, version.terms, rows)
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

    # Reading

    def triples(
        self, triple: _TriplePatternType, context: _ContextType | None = None
    ) -> Iterator[tuple[_TripleType, Contexts]]:
        """Yields the matching triples, each once, with its graphs."""
        version = self.reasoner.settled()  # before terms are looked up: rules may have computed new terms
        state = version.state
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
        for s, p, o in view_of(version, state, context).match(*pattern):
            yield (terms[s], terms[p], terms[o]), self._contexts_of(version, state, s, p, o)

    def __len__(self, context: _ContextType | None = None) -> int:
        """The number of triples that a graph, or the union, shows. Cost after derivation: O(1)."""
        version = self.reasoner.settled()
        state = version.state
        formula = None if context is None else formula_of(version, context)
        return len(view_of(version, state, context)) if formula is None else formula.fact_count()

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
                graphs = self._contexts_of(version, state, s, p, o)
                yield from (graph for graph in graphs if graph is not None)

    def _contexts_of(self, version: Version, state: State, s: int, p: int, o: int) -> Contexts:
        found = False
        for graph, index in state.facts.graphs.items():
            if index.relation(p).has(s, o):
                found = True
                yield self._context(version, graph)
        if not found:
            yield self._context(version, version.terms.inferred)

    def query(
        self,
        query: Query | str,
        initNs: Mapping[str, Any],
        initBindings: Mapping[str, Identifier],
        queryGraph: str,
        **kwargs: Any,
    ) -> Result:
        """Evaluate a SPARQL query over the present facts. Bound prefixes need no declaration.

        ``limits`` (an addition to rdflib's arguments) bound the query and the derivation before it. Queries
        that rdflib's own evaluator answers are bounded by ``seconds`` and memory only.

        Raises NotImplementedError to hand a query on to rdflib's evaluator; ExternalAccessRefused if the
        evaluator would access files or the network without permission by ``external``; LimitExceeded;
        Cancelled.
        """
        from corollary.sparql.answer import answer
        from corollary.sparql.handing_on import answered

        limits = Limits.of(kwargs.pop("limits", None))
        home = cast(IdentifiedNode, queryGraph)

        def asked() -> Result:
            version = self.reasoner.settled()
            source = self._source(version, home)
            prefixes = {**dict(version.namespaces), **initNs}
            if formula_of(version, home) is not None:
                kwargs["formula"] = home  # queries over formulas are answered by rdflib
            return answer(source, query, prefixes, initBindings, home, kwargs, self.external)

        return self.reasoner.limited(limits, answered, asked, sys._getframe(1))

    def _source(self, version: Version, home: Node) -> QuerySource:
        """The facts that a query on the graph ``home`` reads."""
        from corollary.sparql.dataset import Source as QuerySource

        own = version.terms.find(version.adapter_state.meet(home)) if isinstance(home, BNode) else None
        state = version.state
        return QuerySource(
            version.terms,
            view=partial(view_of, version, state),
            graphs=frozenset((*state.facts.graphs, *version.named)) - {own},
            default=version.terms.default,
            known=state.__dict__.setdefault("_known_to_queries", {}),
            load=partial(_read_from, version.terms),
        )

    @property
    def external(self) -> str:
        """What queries and updates may access: ``none``, ``files``, ``network`` or ``all``."""
        return self.options.access

    @property
    def options(self) -> StoreOptions:
        """The options that this thread sees; available also for a closed store."""
        return cast(StoreOptions, self.reasoner.versions.current().options)

    def update(
        self,
        update: Update | str,
        initNs: Mapping[str, Any],
        initBindings: Mapping[str, Identifier],
        queryGraph: str,
        **kwargs: Any,
    ) -> None:
        """Carry out a SPARQL Update request, atomically: see ``corollary.store.update``.

        ``limits`` may be given as for ``query``.
        """
        from corollary.sparql.handing_on import changed

        limits = Limits.of(kwargs.pop("limits", None))
        if kwargs.keys() - {"base"}:
            raise NotImplementedError("arguments that only another processor can know")
        from corollary.store.update import run_update

        home = (
            self.reasoner.versions.current().adapter_state.meet(queryGraph)
            if isinstance(queryGraph, Node)
            else queryGraph
        )
        carry_out = partial(
            run_update, self, update, initNs, initBindings, cast(str, home), sys._getframe(1), **kwargs
        )
        self.reasoner.limited(limits, changed, carry_out, sys._getframe(1))

    def explicit_triples(self, graph: Node) -> Iterator[_TripleType]:
        """The explicit triples of a graph. Derives nothing."""
        self.reasoner.versions.change_beside(Version.applied)
        version = self.reasoner.versions.current()
        index = version.quads.graphs.get(version.terms.id_of(version.adapter_state.meet(graph)))
        terms = version.terms
        if index is not None:
            for s, p, o in View(index, index).match(None, None, None):
                yield terms[s], terms[p], terms[o]

    def load(
        self,
        *sources: Source,
        format: str | None = None,
        graph: Graph | Node | str | None = None,
        on_error: Literal["stop", "skip"] = "stop",
        progress: Progress | None = None,
    ) -> int:
        """Add documents: files, folders or addresses, maybe compressed. Returns the number of new triples.

        Clears nothing. ``format`` overrides suffixes and media types. Triples that a document puts into no
        graph go into ``graph``; by default into the default graph, or into the plain graph of the store.
        Prefixes are bound; existing bindings stay, and a prefix that is in use gets a number. ``progress`` is
        called with a message, the number of triples so far, and the fraction of all bytes (None: not known).
        Of the store's limits only ``bytes`` applies.

        Atomic: if one document is bad nothing has changed, and InputError names the document, the place and
        a remedy. With ``on_error="skip"`` bad lines of N-Triples and N-Quads are left out; ``bad_lines``
        lists them.
        """
        from corollary.loaders.into_reasoner import load
        from corollary.store.loading import PARSERS, StoreReceiver

        skips, reasoner = skips_bad_lines(on_error), self.reasoner
        read = partial(
            load, receiver=StoreReceiver(self, graph), skips=skips, progress=progress, others=PARSERS
        )
        return reasoner.limited(reasoner.limits_of_loading(), read, reasoner.versions, sources, format)

    def load_encoded(self, path: str | os.PathLike[str], *, graph: Graph | Node | str | None = None) -> int:
        """Add the explicit triples of an encoded data set. Returns the number of new triples.

        The next read derives by the store's rules; the inferred triples of the data set are not used. Graphs
        and prefixes are treated as in ``load``. Raises InputError if the data set is missing or incomplete;
        then nothing has changed.
        """
        from corollary.loaders.reasoner_datasets import load
        from corollary.store.loading import StoreReceiver

        return load(self.reasoner.versions, path, StoreReceiver(self, graph))

    def save_encoded(self, path: str | os.PathLike[str]) -> None:
        """Write the explicit and inferred triples as an encoded data set: a folder for Parquet readers.

        The folder appears completely or not at all, and replaces an older one. Raises InputError if it
        cannot be written.
        """
        from corollary.loaders.reasoner_datasets import save

        version = self.reasoner.settled()
        save(version, path, self.target(version, None))

    def target(self, version: Version, graph: Graph | Node | str | None) -> int:
        """The id of the graph to load into: ``graph``, else the default graph or the store's plain graph."""
        if graph is not None:
            return self._graph_id(version, graph if isinstance(graph, Node | Graph) else URIRef(graph))
        terms: Terms = version.terms
        return terms.id_of(version.adapter_state.target()) if is_plain(version) else terms.default

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

    # Names and handles

    def _graph_id(self, version: Version, context: _ContextType | Node, *, is_used: bool = True) -> int:
        """The id of a graph that is to be changed; ``is_used`` records it as a used graph for the alias.

        Raises CorollaryError for the read-only graphs.
        """
        alias: DefaultGraphAlias = version.adapter_state
        identifier = (alias.meet if is_used else alias.meant)(identifier_of(context))
        terms: Terms = version.terms
        name = terms.id_of(identifier)
        refuse_side(terms, name)
        if name not in terms.handles and isinstance(context, Graph):
            own = context.store is self and context.identifier == identifier
            terms.handles[name] = context if own else Graph(self, cast(IdentifiedNode, identifier))
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


def _read_from(terms: Terms, iri: URIRef) -> TripleIndex:
    """The facts of the default graph of the document that FROM names."""
    from corollary.store.loading import read_iri

    return read_iri("FROM", iri, terms)[0]


__all__ = ["EXPLICIT", "INFERRED", "CorollaryStore", "InferredTripleWarning"]
