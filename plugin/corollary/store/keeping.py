"""The life of a store: in memory until a folder is opened, and kept there from then on.

1. ``open`` reads terms and facts back. What follows is not kept: the first read works it out again, by the
   rules that there are then.
2. ``commit`` and ``close`` write what has changed since the last commit.
3. A store that was kept and is closed refuses to be used, so that no triple goes where nobody keeps it.
"""

from __future__ import annotations

import sys
import warnings
from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, cast
from weakref import ref

from rdflib.graph import DATASET_DEFAULT_GRAPH_ID, ConjunctiveGraph, Graph, QuotedGraph
from rdflib.store import NO_STORE, VALID_STORE
from rdflib.term import IdentifiedNode, Node

from corollary.language import CorollaryError
from corollary.store.contents import with_others
from corollary.store.folder import Folder, destroy
from corollary.store.home import Home
from corollary.store.options import Options
from corollary.store.quads import Quads
from corollary.store.reasoning import Reasoning
from corollary.store.terms import Terms
from corollary.store.version import Version
from corollary.store.versions import Closed, Versions
from corollary.terms.dictionary import TermDictionary

if TYPE_CHECKING:
    from corollary.store.store import CorollaryStore
    from corollary.store.verification import Verification


class Keeping(Reasoning):
    """A store's transactions, and the folder that keeps it."""

    def open(
        self, configuration: str | tuple[str, str], create: bool = False, *, read_only: bool = False
    ) -> int | None:
        """Open a folder, take options, or both: ``pets``, ``rules=rdfs;inferred=apart``, ``pets;rules=rdfs``.

        From then on the store holds what the folder does, and no other store can open it; unless it is opened
        ``read_only`` (or by ``pets;read_only=yes``): any number of stores may read a folder that none writes.
        With ``create`` a store is made where there is none; without, the answer is NO_STORE, with a warning:
        the store is as it was, in memory. CorollaryError for an option that does not exist; if the folder is
        in use, damaged, or of another program; if the store holds triples already; and inside a transaction.
        """
        current = self._versions.current()
        options, place = current.options.configured(str(configuration))
        options = replace(options, read_only=options.read_only or read_only)
        caller = sys._getframe(1).f_locals.get("self")
        opener = caller if isinstance(caller, Graph) and caller.store is self else None
        options.program  # noqa: B018 - raises what is wrong with the rules
        if place is None:
            self._change_options(lambda _: options)
            return VALID_STORE
        self._refuse_inside("open")
        if not self._open_folder(Path(place), options, opener, create):
            warnings.warn(
                f"there is no store in {place}, and nothing is kept there: create=True makes one",
                stacklevel=3,
            )
            return NO_STORE
        return VALID_STORE

    def _open_folder(self, place: Path, options: Options, opener: Graph | None, create: bool) -> bool:
        """Put what the folder holds in place of what is here; False if there is no store."""
        current = self._versions.current()
        if isinstance(current, Closed):
            current.finish()
        else:
            _refuse_to_replace(current)
        try:
            folder = Folder(place, create=create, read_only=options.read_only, is_used=_use(self._versions))
        except FileNotFoundError:
            return False
        try:
            version = self._version_in(folder, options)
            self._versions.change(_replaced, version, opener)
        except BaseException:
            if self._versions.folder() is not folder:
                folder.close()
            raise
        return True

    def _version_in(self, folder: Folder, options: Options) -> Version:
        """What a folder holds."""

        def version(dictionary: TermDictionary, quads: Quads, others: dict[str, bytes]) -> Version:
            read = Version(Terms(dictionary), options, quads, folder=folder)
            return with_others(read, others, self._formula)

        return folder.read(version)

    def transaction(self) -> AbstractContextManager[None]:
        """All that this thread does in a ``with`` statement, committed at its end; all of it or nothing.

        An exception rolls it back. This thread sees its changes, all others see the store as it was at the
        beginning, and wait with changes of their own. Inside another transaction it is a savepoint.
        """
        return self._versions.transaction(self._derived)

    def commit(self) -> None:
        """Work off all changes now; if the store is kept in a folder, write them there.

        What was committed is what ``rollback`` brings back. CorollaryError inside a transaction.
        """
        self._refuse_inside("commit")
        for _ in self._versions.steps(self._derived):
            pass

    def compact(self) -> int:
        """Commit, and give back the terms that no fact, graph or rule uses any more. How many went.

        What follows is derived anew. In a folder all rows are written anew, and the file becomes smaller.
        Readers of earlier moments keep theirs. CorollaryError inside a transaction, and if the folder was
        opened to be read only.
        """
        from corollary.store.compacting import compact

        self._refuse_inside("compact")
        return compact(cast("CorollaryStore", self))

    def rollback(self) -> None:
        """Bring back everything as of the last commit: triples, what follows, graphs, prefixes, rules.

        Inside a transaction, as of its beginning; it goes on. What follows from what is brought back is known
        already; the next change is followed at a cost that depends on what was rolled back.
        """
        self._versions.roll_back()

    def close(self, commit_pending_transaction: bool = False, *, discard: bool = False) -> None:
        """Commit, and let go of the folder: the store cannot be used until it is opened again.

        With ``discard`` nothing is written, and what was not committed is gone. A store in memory stays as it
        is, or is rolled back. Nothing is reasoned. rdflib's own argument is not looked at, as ``Graph.close``
        never sets it. CorollaryError inside a transaction.
        """
        current = self._versions.current()
        if isinstance(current, Closed):
            current.finish()
            return
        self._refuse_inside("close")
        folder = current.folder
        if folder is not None:
            reason = f"the store in {folder.place} is closed: open it again to use it"
            self._shut(Closed(reason, current.options, folder.close), discard=discard)
        elif discard:
            self.rollback()

    def destroy(self, configuration: str) -> None:
        """Remove the store in a folder, and the folder if nothing else is in it.

        If it is this store's, it is closed first. CorollaryError if others have it open.
        """
        current = self._versions.current()
        _, place = current.options.configured(str(configuration))
        if place is None:
            return
        if isinstance(current, Closed):
            current.finish()
        elif current.folder is not None and current.folder.place.resolve() == Path(place).resolve():
            self._refuse_inside("destroy")
            current.to_be_written()
            reason = f"the store in {place} is destroyed: open one to use it"
            self._shut(Closed(reason, current.options, current.folder.close), discard=True)
        destroy(Path(place))

    def _shut(self, closed: Closed, *, discard: bool) -> None:
        """Close, after what is not committed was written or discarded."""
        if discard:
            self._versions.change(lambda version: cast(Version, closed))
        else:
            for _ in self._versions.steps(lambda: None, closed):
                pass
        self._latest = None
        closed.finish()

    def _refuse_inside(self, what: str) -> None:
        if self._versions.own() is not None:
            raise CorollaryError(
                f"{what}() inside a transaction: it is committed at its end, or rolled back; leave it first"
            )

    def verify(self) -> Verification:
        """Look at everything: indexes, terms, and the folder against what was committed. Print the result.

        Nothing is changed. It costs as much as opening the folder and sorting all facts.
        """
        from corollary.store.verification import verification

        return verification(self._settled())

    def _formula(self, name: Node) -> QuotedGraph:
        return QuotedGraph(self, cast(IdentifiedNode, name))


def _use(versions: Versions) -> Callable[[Folder], bool]:
    """Whether a store has a folder open; it may be gone by then."""
    of_store = ref(versions)

    def is_used(folder: Folder) -> bool:
        alive = of_store()
        return alive is not None and alive.folder() is folder

    return is_used


def _refuse_to_replace(version: Version) -> None:
    """Raise ``CorollaryError`` if a folder cannot be opened in the place of a version."""
    if version.folder is not None:
        raise CorollaryError(f"the store is open already, in {version.folder.place}: close it first")
    quads = version.applied().quads
    if quads.union.fact_count() or quads.formulas:
        raise CorollaryError("the store holds triples already: open a folder first, then add them")


def _replaced(before: Version, version: Version, opener: Graph | None) -> Version:
    """What a folder holds, with the names of a store without facts."""
    first: Node | None = None
    named: set[int] = set()
    if not isinstance(before, Closed):
        _refuse_to_replace(before)
        version = version.with_prefixes_of(before)
        named = {version.terms.id_of(before.terms[graph]) for graph in before.named}
        first = before.home.first
    version = replace(version, named=version.named | named)
    version.home = _reopened_home(version, opener, first)
    return version.as_committed()


def _reopened_home(version: Version, opener: Graph | None, first: Node | None) -> Home:
    """A nameless graph has another name each time: it shall stand for the one that was kept."""
    if opener is not None:
        graph = opener._default_context if isinstance(opener, ConjunctiveGraph) else opener
        first = graph.identifier
    kept = frozenset(version.terms[graph] for graph in (*version.quads.graphs, *version.named))
    is_alone = len(kept) == 1 and not version.named
    return Home(first, next(iter(kept)) if is_alone else DATASET_DEFAULT_GRAPH_ID, kept)
