"""The rdflib store: explicit facts E in graphs, and the materialisation I, which every read sees.

1. Additions and removals of given triples are appended to a log of pending changes. Removals by a pattern and
   loads make a new version of E. Nothing is derived.
2. The next read (or ``materialise``) applies the pending changes in one batch: see ``corollary.reasoner``.
3. Readers hold an immutable ``State``. Any number of threads may read while one writes.
4. Every method is atomic, whatever exception is raised at any line: see ``corollary.reasoner.versions``.
"""

from __future__ import annotations

import os
import sys
import warnings
from collections import ChainMap
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from functools import cache, partial, wraps
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING, Any, Concatenate, Literal, ParamSpec, TypeVar, cast

from rdflib.graph import Graph
from rdflib.store import NO_STORE, VALID_STORE
from rdflib.term import BNode, IdentifiedNode, Identifier, Node, URIRef

from corollary.columns import TripleIndex
from corollary.kernels.limits import Limits
from corollary.language import CorollaryError
from corollary.reasoner import Reasoner
from corollary.reasoner.options import Rules
from corollary.reasoner.reasoner import Inferred, skips_bad_lines
from corollary.reasoner.version import Version
from corollary.reasoner.versions import Closed
from corollary.sparql.rdf_terms import EXPLICIT, INFERRED, Terms
from corollary.store.default_graph import DefaultGraphAlias
from corollary.store.graph_store import GraphStore, InferredTripleWarning
from corollary.store.graphs import (
    adopted,
    formula_of,
    refreshed,
    view_of,
)
from corollary.store.rdflib_compat import are_for_query, graph_that_calls
from corollary.store.store_options import StoreOptions
from corollary.terms.dictionary import TermDictionary

if TYPE_CHECKING:
    from rdflib.plugins.sparql.sparql import Query, Update
    from rdflib.query import Result

    from corollary.kernels.limits import Progress
    from corollary.loaders.into_reasoner import Source
    from corollary.sparql.dataset import Source as QuerySource
    from corollary.sparql.explain_query import QueryPlan
    from corollary.sparql.user_functions import UserFunction


Parameters = ParamSpec("Parameters")
Returned = TypeVar("Returned")


def of_reasoner(
    method: Callable[Concatenate[Reasoner, Parameters], Returned],
) -> Callable[Concatenate[Any, Parameters], Returned]:
    """A method that delegates to ``self.reasoner``, with the name and docstring of the original."""

    @wraps(method)
    def handed_on(store: Any, /, *args: Parameters.args, **kwargs: Parameters.kwargs) -> Returned:
        return method(store.reasoner, *args, **kwargs)

    return handed_on


@cache
def _answering() -> tuple[Callable[..., Result], Callable[..., Result]]:
    """``answer`` and ``answered``. They are imported for the first query; an import takes 2 µs each time."""
    from corollary.sparql.answer import answer
    from corollary.sparql.handing_on import answered

    return answer, answered


@cache
def _kind_of_source() -> type[QuerySource]:
    """The facts that a query reads, imported as in ``_answering``."""
    from corollary.sparql.dataset import Source as QuerySource

    return QuerySource


class CorollaryStore(GraphStore):
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
        self._functions: dict[URIRef, UserFunction] = {}
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
    checkpoint = of_reasoner(Reasoner.checkpoint)
    rollback = of_reasoner(Reasoner.rollback)
    compact = of_reasoner(Reasoner.compact)
    save = of_reasoner(Reasoner.save)
    subscribe = of_reasoner(Reasoner.subscribe)

    # Options and folders

    def open(
        self,
        configuration: str | tuple[str, str],
        create: bool = False,
        *,
        read_only: bool = False,
        progress: Progress | None = None,
    ) -> int | None:
        """Open a folder, set options, or both: ``pets``, ``rules=rdfs;inferred=apart``, ``pets;rules=rdfs``.

        From then on the store shows the triples of the folder, and no other store can open it for writing.
        With ``read_only`` (or ``pets;read_only=yes``) any number of stores may read it: they see the last
        commit, or the last checkpoint of the store that writes it, with a warning.
        A snapshot (``save_snapshot``), or an encoded data set, that was closed under the store's rules is
        opened with its inferred triples: nothing is derived, and nothing can be changed until ``save`` has
        put the triples into a folder.
        ``create`` makes a store where there is none. Without ``create``, a missing store gives a warning and
        the result NO_STORE; this store then stays in memory, unchanged. Else the result is VALID_STORE.
        ``progress`` is called as by ``load``, while the commits after the last checkpoint are read.

        Raises CorollaryError for an unknown option; if the folder is in use, damaged, or of another program;
        if a snapshot or data set was closed under other rules; if this store has triples; and for a folder
        inside a transaction.
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
            Path(place), options, create=create, revive=self._revived, adopt=adopt, progress=progress
        ):
            warnings.warn(
                f"there is no store in {place}, and nothing is kept there: create=True makes one",
                stacklevel=3,
            )
            return NO_STORE
        return VALID_STORE

    def refresh(self) -> bool:
        """Show what the folder, or the snapshot, that this store reads contains now: ``Reasoner.refresh``."""
        return self.reasoner.refresh(self._revived, refreshed)

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

    # Queries and updates

    def namespaces(self) -> Iterator[tuple[str, URIRef]]:
        return iter(()) if are_for_query(self, sys._getframe(1)) else super().namespaces()

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
        answer, answered = _answering()
        limits = Limits.of(kwargs.pop("limits", None))
        home: Any = queryGraph  # a term, or ``UNION``

        def asked() -> Result:
            version = self.reasoner.settled()
            source = self._source(version, home)
            prefixes: ChainMap[str, Any] = ChainMap(initNs, version.namespaces.by_prefix)  # type: ignore[arg-type]
            if version.quads.formulas and formula_of(version, home) is not None:
                kwargs["formula"] = home  # queries over formulas are answered by rdflib
            return answer(source, query, prefixes, initBindings, home, kwargs, lambda: self.external)

        return self.reasoner.limited(limits, answered, asked, sys._getframe(1))

    def query_arrow(
        self,
        query: Query | str,
        *,
        graph: Graph | Node | None = None,
        typed: bool = False,
        bindings: Mapping[str, Identifier] | None = None,
        limits: Limits | str | None = None,
    ) -> Any:
        """The result of a SPARQL query as a ``pyarrow.Table``, dictionary-encoded.

        ``graph`` is the default graph of the query; by default the union of all graphs. Terms are N-Triples
        texts. With ``typed`` they are values: see ``sparql/arrow_results.py``. Errors are those of ``query``;
        CorollaryError for a query with SERVICE or a function that only rdflib's evaluator knows.
        """
        from corollary.sparql.arrow_results import arrow_table

        try:
            result = self.query(query, {}, bindings or {}, cast(str, _home(graph)), limits=limits)
        except NotImplementedError as problem:
            remedy = "ask it with Graph.query"
            raise CorollaryError(f"rdflib has to answer this query ({problem}): {remedy}") from None
        return arrow_table(result, typed=typed)

    def explain_query(
        self,
        query: Query | str,
        *,
        analyze: bool = False,
        graph: Graph | Node | None = None,
        bindings: Mapping[str, Identifier] | None = None,
    ) -> QueryPlan:
        """How a SPARQL query is evaluated over the present facts: operators, join orders, estimated rows.

        With ``analyze`` the query is evaluated, and the plan has the actual rows and times. ``str`` of the
        plan is a table, ``as_dict`` is for JSON. ``graph`` and ``bindings``: see ``query_arrow``. Raises
        CorollaryError for a query that rdflib's evaluator has to answer.
        """
        from corollary.sparql.explain_query import explain_query

        home = cast(IdentifiedNode, _home(graph))

        def explained() -> QueryPlan:
            version = self.reasoner.settled()
            source = self._source(version, home)
            prefixes = dict(version.namespaces)
            return explain_query(
                source, query, prefixes, bindings or {}, home, self.external, analyze=analyze
            )

        try:
            return self.reasoner.limited(None, explained)
        except NotImplementedError as problem:
            raise CorollaryError(f"rdflib has to answer this query ({problem}): it has no plan") from None

    def _source(self, version: Version, home: Node) -> QuerySource:
        """The facts that a query on the graph ``home`` reads."""
        state = version.state

        def find_graphs() -> frozenset[int]:
            own = version.terms.find(version.adapter_state.meet(home)) if isinstance(home, BNode) else None
            return frozenset((*state.facts.graphs, *version.named)) - {own}

        return _kind_of_source()(
            version.terms,
            view=partial(view_of, version),
            find_graphs=find_graphs,
            default=version.terms.default,
            known=state.known_to_queries,
            load=partial(_read_from, version.terms),
            functions=self._functions,
        )

    def register_function(
        self,
        iri: str,
        function: Callable[..., Any],
        *,
        vectorised: bool = False,
        takes: Literal["texts", "numbers"] = "texts",
    ) -> None:
        """Let queries and updates on this store call ``function`` by an IRI: ``FILTER(<iri>(?x) > 1)``.

        It replaces what was registered for the IRI before, here or with rdflib. Its value must depend on its
        arguments only. ``None`` is no value, an error in SPARQL. What it raises ends the query.

        Without ``vectorised`` it receives terms of rdflib, and returns a term, or a value of Python that has
        a datatype of XML Schema. ``vectorised``: it receives an array of Arrow for each argument, and returns
        as many values, as an array of Arrow or NumPy, or as a list: truth values, integers, floats (as
        xsd:double), strings, dates. ``takes`` says what the arrays have: ``texts``, the strings that STR
        gives (``large_string``), or ``numbers`` (``double``). It is called for the rows in which all
        arguments are such; term by term where these are few.

        Raises ValueError for another ``takes``.
        """
        from corollary.sparql.user_functions import NUMBERS, TEXTS, UserFunction

        if takes not in (TEXTS, NUMBERS):
            raise ValueError(f"takes={takes!r}: choose {TEXTS!r} or {NUMBERS!r}")
        name = URIRef(iri)
        self._functions[name] = UserFunction(name, function, takes if vectorised else None)

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

    # Loading

    def load(
        self,
        *sources: Source,
        format: str | None = None,
        graph: Graph | Node | str | None = None,
        on_error: Literal["stop", "skip"] = "stop",
        progress: Progress | None = None,
        labels: Literal["new", "keep"] = "new",
    ) -> int:
        """Add documents: files, folders or addresses, maybe compressed. Returns the number of new triples.

        Clears nothing. ``format`` overrides suffixes and media types. Triples that a document puts into no
        graph go into ``graph``; by default into the default graph, or into the plain graph of the store.
        Prefixes are bound; existing bindings stay, and a prefix that is in use gets a number. ``progress`` is
        called with a message, the number of triples so far, and the fraction of all bytes (None: not known).
        Of the store's limits only ``bytes`` and ``scratch`` apply. ``labels`` of blank nodes are new ones,
        which no other store has, so that graphs can be merged; ``"keep"`` keeps those of a document, unless
        the store has them already.

        Atomic: if one document is bad nothing has changed, and InputError names the document, the place and
        a remedy. With ``on_error="skip"`` bad lines of N-Triples and N-Quads are left out; ``bad_lines``
        lists them.
        """
        from corollary.loaders.into_reasoner import load
        from corollary.store.loading import PARSERS, StoreReceiver

        skips, reasoner = skips_bad_lines(on_error), self.reasoner
        if labels not in ("new", "keep"):
            raise CorollaryError(
                f"labels={labels!r}: they are 'new', or 'keep' to keep those of the document"
            )
        read = partial(
            load,
            receiver=StoreReceiver(self, graph),
            skips=skips,
            progress=progress,
            others=PARSERS,
            keeps_labels=labels == "keep",
        )
        return reasoner.limited(reasoner.limits_of_loading(), read, reasoner.versions, sources, format)

    def load_encoded(
        self,
        path: str | os.PathLike[str],
        *,
        graph: Graph | Node | str | None = None,
        inferred: Inferred = "derive",
    ) -> int:
        """Add the explicit triples of an encoded data set. Returns the number of new triples.

        The next read derives by the store's rules; the inferred triples of the data set are not used. With
        ``inferred="adopt"`` they are used, and nothing is derived: see ``Reasoner.load_encoded``. Graphs and
        prefixes are treated as in ``load``. Raises InputError if the data set is missing or incomplete, or
        cannot be adopted; then nothing has changed.
        """
        from corollary.loaders.reasoner_datasets import load
        from corollary.store.loading import StoreReceiver

        reasoner = self.reasoner
        return load(reasoner.versions, path, StoreReceiver(self, graph), reasoner.taking_up(inferred))

    def save_encoded(self, path: str | os.PathLike[str], *, progress: Progress | None = None) -> None:
        """Write the explicit and inferred triples as an encoded data set: a folder for Parquet readers.

        The folder appears completely or not at all, and replaces an older one. Raises InputError if it
        cannot be written, CorollaryError if the store has N3 formulas.
        """
        from corollary.kernels.limits import no_progress
        from corollary.loaders.reasoner_datasets import save

        version = self.reasoner.settled()
        save(version, path, self.target(version, None), progress or no_progress)

    def save_snapshot(self, path: str | os.PathLike[str], *, progress: Progress | None = None) -> None:
        """Write the explicit and inferred triples as a snapshot: see ``Reasoner.save_snapshot``."""
        from corollary.kernels.limits import no_progress
        from corollary.reasoner.snapshot_file import contents_of, write_snapshot

        version = self.reasoner.settled()
        contents = contents_of(version, self.target(version, None))
        write_snapshot(Path(path), contents, progress=progress or no_progress)


def _read_from(terms: Terms, iri: URIRef) -> TripleIndex:
    """The facts of the default graph of the document that FROM names."""
    from corollary.store.loading import read_iri

    return read_iri("FROM", iri, terms)[0]


__all__ = ["EXPLICIT", "INFERRED", "CorollaryStore", "InferredTripleWarning"]


def _home(graph: Graph | Node | None) -> Node | str:
    """The name of a query's default graph, as rdflib gives it to stores."""
    if graph is None:
        return "__UNION__"
    return graph.identifier if isinstance(graph, Graph) else graph
