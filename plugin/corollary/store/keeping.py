"""The life of a store: in memory until a folder is opened, and kept there from then on.

1. ``open`` reads terms and facts back. What follows is not kept: the first read works it out again, by the
   rules that there are then.
2. ``commit`` and ``close`` write what has changed, by the journal of ``Quads``.
3. A store that was kept and is closed refuses to be used, so that no triple goes where nobody keeps it.
"""

from __future__ import annotations

import json
import sys
import warnings
from collections.abc import Iterator, Mapping, Sequence
from html import escape
from pathlib import Path
from typing import Any, cast

import numpy as np
from rdflib.graph import DATASET_DEFAULT_GRAPH_ID, ConjunctiveGraph, Graph, QuotedGraph
from rdflib.plugins.stores.memory import Memory
from rdflib.store import NO_STORE, VALID_STORE
from rdflib.term import IdentifiedNode, Node, URIRef

from corollary.index.triples import TripleIndex
from corollary.language import CorollaryError
from corollary.store.folder import Folder, destroy
from corollary.store.home import EXPLICIT, INFERRED, Home
from corollary.store.namespaces import Namespaces
from corollary.store.options import Options
from corollary.store.quads import Quads
from corollary.store.reasoning import Reasoning
from corollary.terms.dictionary import TermDictionary


class Closed:
    """Stands for what a closed store has: whoever asks for anything is told why there is nothing."""

    def __init__(self, reason: str) -> None:
        self.reason = reason

    def __getattr__(self, name: str) -> Any:
        raise CorollaryError(self.reason)

    def __iter__(self) -> Iterator[Any]:
        raise CorollaryError(self.reason)


class Keeping(Reasoning):
    """A store's graphs, prefixes and formulas, and the folder that keeps them and the facts."""

    def _begin(self, options: Options) -> None:
        super()._begin(options)
        self._folder: Folder | None = None
        self._home = Home()

    def _start(self, dictionary: TermDictionary, quads: Quads) -> None:
        super()._start(dictionary, quads)
        self._namespaces = Namespaces()
        self._contexts: dict[int, Graph] = {}
        self._quoted = Memory()
        self._quoted_graphs: set[Node] = set()
        self._default = self._terms.id_of(DATASET_DEFAULT_GRAPH_ID)
        self._explicit = self._terms.id_of(EXPLICIT)
        self._inferred = self._terms.id_of(INFERRED)

    def open(self, configuration: str | tuple[str, str], create: bool = False) -> int | None:
        """Open a folder, take options, or both: ``pets``, ``rules=rdfs;inferred=apart``, ``pets;rules=rdfs``.

        From then on the store holds what the folder does, and nobody else can open it. With ``create`` a
        store is made where there is none; without, the answer is NO_STORE, with a warning: the store is as it
        was, in memory. CorollaryError for an option that does not exist; if the folder is in use, damaged, or
        somebody else's; and if the store holds triples already.
        """
        options, place = self._options.configured(str(configuration))
        caller = sys._getframe(1).f_locals.get("self")
        opener = caller if isinstance(caller, Graph) and caller.store is self else None
        with self._lock:
            if place is not None and not self._open_folder(Path(place), opener, create):
                warnings.warn(
                    f"there is no store in {place}, and nothing is kept there: create=True makes one",
                    stacklevel=3,
                )
                return NO_STORE
            if options != self._options:
                if options.inferred != self._options.inferred:
                    self._state = None
                self._options, self._current = options, None
        return VALID_STORE

    def _open_folder(self, place: Path, opener: Graph | None, create: bool) -> bool:
        """Put what the folder holds in place of what is here; False if there is no store."""
        if self._folder is not None:
            raise CorollaryError(f"the store is open already, in {self._folder.place}: close it first")
        graphs, prefixes = self._names()
        try:
            folder = Folder(place, create=create)
        except FileNotFoundError:
            return False
        try:
            dictionary, quads, others = folder.read()
        except BaseException:
            folder.close()
            raise
        self._start(dictionary, quads)
        self._take(others)
        for prefix, namespace in prefixes:
            self._namespaces.bind(prefix, namespace, override=False)
        self._named.update(map(self._terms.id_of, graphs))
        self._home = self._reopened_home(opener)
        quads.journal = []
        self._folder = folder
        return True

    def _names(self) -> tuple[list[Node], list[tuple[str, URIRef]]]:
        """The named graphs and prefixes of a store without facts. CorollaryError if it has facts."""
        if isinstance(self._quads, Closed):
            return [], []
        self._work_off()
        if self._quads.union.fact_count() or self._quoted_graphs:
            raise CorollaryError("the store holds triples already: open a folder first, then add them")
        return [self._terms[graph] for graph in self._named], list(self._namespaces)

    def _reopened_home(self, opener: Graph | None) -> Home:
        """A nameless graph has another name each time: it shall stand for the one that was kept."""
        first = self._home.first
        if opener is not None:
            graph = opener._default_context if isinstance(opener, ConjunctiveGraph) else opener
            first = graph.identifier
        kept = frozenset(self._terms[graph] for graph in (*self._quads.graphs, *self._named))
        is_alone = len(kept) == 1 and not self._named
        return Home(first, next(iter(kept)) if is_alone else DATASET_DEFAULT_GRAPH_ID, kept)

    def commit(self) -> None:
        """Work off all changes now; if the store is kept in a folder, write them there first."""
        with self._lock:
            if self._folder is not None:
                self._write(self._folder)
            self._now()

    def close(self, commit_pending_transaction: bool = False) -> None:
        """Commit, and let go of the folder: the store cannot be used until it is opened again.

        A store in memory stays as it is. Nothing is reasoned.
        """
        with self._lock:
            if self._folder is not None:
                self._state = None
                self._write(self._folder)
                self._shut(f"the store in {self._folder.place} is closed: open it again to use it")

    def destroy(self, configuration: str) -> None:
        """Remove the store in a folder, and the folder if nothing else is in it.

        If it is this store's, it is closed first. CorollaryError if others have it open.
        """
        _, place = self._options.configured(str(configuration))
        if place is None:
            return
        with self._lock:
            if self._folder is not None and self._folder.place.resolve() == Path(place).resolve():
                self._shut(f"the store in {place} is destroyed: open one to use it")
            destroy(Path(place))

    def _shut(self, reason: str) -> None:
        if self._folder is not None:
            self._folder.close()
            self._folder = None
        closed: Any = Closed(reason)
        self._terms = self._quads = self._namespaces = self._quoted = closed
        self._state = self._current = None

    # What is kept

    def _write(self, folder: Folder) -> None:
        if self._state is None:
            self._quads.apply()
        else:
            self._work_off()
        others = self._others()  # may give ids to terms
        folder.write(self._terms.dictionary, self._quads, others)

    def _others(self) -> dict[str, bytes]:
        """What is kept beside terms and facts; graphs by their ids, as little-endian uint32."""
        formulas = sorted(map(self._terms.id_of, self._quoted_graphs))
        quoted = [
            [*map(self._terms.id_of, triple), formula]
            for formula in formulas
            for triple, _ in self._quoted.triples((None, None, None), self._formula(self._terms[formula]))
        ]
        empty = [graph for graph, index in self._quads.graphs.items() if not index.fact_count()]
        return {
            "named": _packed(sorted(self._named - {self._default})),
            "empty": _packed(sorted(set(empty) - {self._default})),
            "formulas": _packed(formulas),
            "quoted": _packed(quoted),
            "prefixes": json.dumps(dict(self._namespaces)).encode(),
        }

    def _take(self, others: Mapping[str, bytes]) -> None:
        """What ``_others`` gave; nothing of a new store."""
        if not others:
            return
        terms = self._terms
        terms.revive(self._formula)
        self._named.update(_unpacked(others["named"]))
        self._quads.graphs.update((graph, TripleIndex()) for graph in _unpacked(others["empty"]))
        self._quoted_graphs.update(terms[formula] for formula in _unpacked(others["formulas"]))
        for *triple, formula in np.reshape(_unpacked(others["quoted"]), (-1, 4)).tolist():
            s, p, o = (terms[term] for term in triple)
            self._quoted.add((s, p, o), self._formula(terms[formula]), True)
        for prefix, namespace in json.loads(others["prefixes"]).items():
            self._namespaces.bind(prefix, URIRef(namespace))

    def _formula(self, name: Node) -> QuotedGraph:
        return QuotedGraph(self, cast(IdentifiedNode, name))

    def __repr__(self) -> str:
        if isinstance(self._quads, Closed):
            return f"<CorollaryStore: {self._quads.reason}>"
        return super().__repr__()

    def _repr_html_(self) -> str:
        return escape(repr(self)) if isinstance(self._quads, Closed) else super()._repr_html_()


def _packed(ids: Sequence[int] | Sequence[Sequence[int]]) -> bytes:
    return np.array(ids, "<u4").tobytes()


def _unpacked(ids: bytes) -> list[int]:
    numbers: list[int] = np.frombuffer(ids, "<u4").tolist()
    return numbers
