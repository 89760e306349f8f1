"""A folder that persists a reasoner: a SQLite database of columns, and a snapshot of E and I beside it.

The database is the journal: a commit appends what it changes. A small commit is appended to a log instead
(``commit_log``) while the folder is open. The next transaction of the database has it too, at the latest that
of ``close``. So both together have all of E. A checkpoint writes the snapshot, which has I too and is mapped
(``checkpoints``); opening maps it, and reads the rows and the lines after it.

Tables:

1. ``terms``: the texts of the dictionary, kind by kind, in the order of their ids.
2. ``changes``: facts added to, or removed from, one relation of one graph. Of the rows on one fact, the last
   one decides.
3. ``others``: small values, rewritten when they differ: names of graphs, prefixes, formulas; and the
   ``manifest``: the number of rows, the checksums over their checksums, the number of the last commit,
   the last checkpoint.

A commit is one SQLite transaction, or one line of the log, forced to the disk. So a crash at any moment
leaves a whole number of commits. The database uses the rollback journal and not SQLite's write-ahead log,
because large commits append: the rollback journal writes appended pages once, the write-ahead log twice.
Small commits use neither, but a log of our own. SQLite's write-ahead log has whole pages, and a forked
process that closes its copy of the connection removes it. Measured, one fact: the rollback journal takes 0.36
ms and waits for the disk four times, SQLite's write-ahead log 0.19 ms and one wait, a line 0.08 ms and one
wait. SQLite detects damage to its own structure. Checksums and the manifest detect flipped bits, and rows or
lines that are missing, swapped or from another store.

Invariant: the database and the log contain what this process wrote last. A writer locks the database from
opening to closing. A reader locks it while it reads, and has all of the last commit then, in memory or
mapped. Beside a writer it maps the last snapshot instead, without a lock (``opening``). After an interrupted
commit, the manifest, or the end of the log, shows whether the commit took place.
"""

from __future__ import annotations

import json
import os
import sqlite3
import stat
import warnings
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, replace
from itertools import pairwise
from pathlib import Path
from threading import RLock, Thread, current_thread, get_ident
from time import monotonic, sleep
from typing import IO, Any
from weakref import WeakValueDictionary, finalize
from zlib import crc32

import numpy as np

from corollary.columns.pairs import Pairs
from corollary.kernels.byte_texts import Bytes, Places
from corollary.kernels.interrupts import held
from corollary.kernels.limits import Progress, current, no_progress
from corollary.kernels.sorted import Keys, Mask
from corollary.language import CorollaryError
from corollary.reasoner.checkpoints import NO_ROWS, Checkpoint, Rows, file_of, mapped, opened, remove_others
from corollary.reasoner.commit_log import LOG, CommitLog, LoggedChange, LoggedCommit, logged_commits
from corollary.reasoner.contents import NAMES, NONSENSE, others_of
from corollary.reasoner.persistence import Seen, seen_in_file
from corollary.reasoner.quads import Change, Quads
from corollary.reasoner.snapshot_file import (
    Contents,
    MappedSnapshot,
    contents_of,
    write_snapshot,
)
from corollary.reasoner.tuning import (
    MAX_BYTES_PER_ROW,
    MAX_JOURNAL_BYTES,
    MAX_LINE_BYTES,
    MAX_LOG_BYTES,
    MAX_LOGGED,
    MIN_FACTS_PER_FACT_AFTER_CHECKPOINT,
    MIN_FACTS_PER_FACT_LEFT_AT_CLOSE,
    MIN_FACTS_TO_CHECKPOINT,
    MIN_ROWS_TO_REWRITE,
    ROW_COST_IN_FACTS,
    SECONDS_BETWEEN_ATTEMPTS,
    SECONDS_FOR_READERS,
)
from corollary.reasoner.version import Version
from corollary.terms.dictionary import BULK_KINDS, INDEX_MASK, KIND_SHIFT, Kind, TermDictionary
from corollary.terms.texts import TextTable

try:
    import fcntl
except ImportError:  # Windows, where closing a copy of the file does not release locks
    fcntl = None  # type: ignore[assignment]

DATABASE = "corollary.sqlite"

APPLICATION = int.from_bytes(b"Coro")
FORMAT_VERSION = 3
LOGGED_FORMAT = 4
FORMATS = (2, 3, LOGGED_FORMAT)
"""The formats that are read. A folder of format 2 has no checkpoint; its first one makes it format 3. It has
format 4 as long as it has a log of commits."""

MANIFEST = "manifest"

_TABLES = (
    "CREATE TABLE terms (sequence INTEGER PRIMARY KEY, kind, lengths, texts, checksum)",
    "CREATE TABLE changes (sequence INTEGER PRIMARY KEY, graph, predicate, added, facts, checksum)",
    "CREATE TABLE others (name PRIMARY KEY, content, checksum)",
    f"PRAGMA application_id = {APPLICATION}",
    f"PRAGMA user_version = {FORMAT_VERSION}",
)
_DAMAGE = (sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB)

_opened_last: WeakValueDictionary[int, Folder] = WeakValueDictionary()
"""The folder that each thread opened last, by thread id."""

Reading = Callable[[TermDictionary, Quads, dict[str, bytes]], Version]
"""Makes a version of the stored terms (with their ids), facts by graph, and other contents by name."""

_Terms = tuple[int, Bytes, Places]
"""Kind, the texts end to end, their lengths in bytes."""

_NO_CHECKPOINT = Checkpoint(0, 0, None, (0,) * len(BULK_KINDS), NO_ROWS, NO_ROWS, 0)

_Logged = tuple["_Logged | None", list[LoggedChange]]
"""The changes of the commits in the log: those of the former ones, and those of the last one."""


@dataclass(frozen=True)
class _Written:
    """The contents of a folder after a commit.

    ``counts`` are the stored terms by kind, ``weight`` the size of ``changes``, in facts: the facts of its
    rows plus ``ROW_COST_IN_FACTS`` for each row. ``checkpoint`` covers the first rows of both tables.
    ``rewritten`` counts how often this process has replaced rows that a checkpoint could cover.

    The database is in the state ``stored`` if commits in the log follow it: of them are ``logged``, and the
    ``line`` of the last one. None: there are none. ``takes_log``: a log may follow this state of the
    database, whose file was as ``file`` says.
    """

    commit: int = 0
    version: Version | None = None
    counts: tuple[int, ...] = (0,) * len(BULK_KINDS)
    terms: Rows = NO_ROWS
    changes: Rows = NO_ROWS
    weight: int = 0
    others: Mapping[str, bytes] | None = None
    checkpoint: Checkpoint | None = None
    rewritten: int = field(default=0, compare=False)
    stored: _Written | None = field(default=None, compare=False)
    logged: _Logged | None = field(default=None, compare=False)
    line: bytes = field(default=b"", compare=False)
    takes_log: bool = field(default=False, compare=False)
    file: Seen = field(default=(), compare=False)

    @property
    def in_database(self) -> _Written:
        """What the database contains."""
        return self.stored or self

    def with_logged(self, commit: LoggedCommit, version: Version | None, line: bytes = b"") -> _Written:
        """With a commit in the log, after which the folder has ``version``."""
        counts = list(self.counts)
        for kind, texts in commit.terms:
            counts[kind] += len(texts)
        after = object.__new__(_Written)  # as dataclasses.replace, but cheaper
        after.__dict__.update(
            self.__dict__,
            commit=commit.number,
            counts=tuple(counts),
            weight=self.weight + sum(ROW_COST_IN_FACTS + keys.size for *_, keys in commit.changes),
            others={**(self.others or {}), **commit.others} if commit.others else self.others,
            version=version,
            stored=self.stored or replace(self, version=None),
            logged=(self.logged, commit.changes),
            line=line,
        )
        return after

    def changes_since(self, changes: list[LoggedChange]) -> list[LoggedChange]:
        """The changes of the commits in the log, and after them ``changes``: what the database lacks."""
        logged = self.logged
        if logged is None:
            return changes
        parts = [changes]
        while logged is not None:
            logged, of_one = logged
            parts.append(of_one)
        together = [change for part in reversed(parts) for change in part]
        return [
            (graph, predicate, added, keys[is_added == added])
            for graph, predicate, keys, is_added in _last_words(together)
            for added in (False, True)
            if (is_added == added).any()
        ]

    @property
    def quads(self) -> Quads:
        return Quads() if self.version is None else self.version.quads

    def manifest(self) -> bytes:
        others = {name: _checksum(name, content) for name, content in sorted((self.others or {}).items())}
        manifest: dict[str, Any] = {
            "commit": self.commit,
            "counts": self.counts,
            "terms": [self.terms.count, self.terms.checksum],
            "changes": [self.changes.count, self.changes.checksum],
            "others": others,
        }
        if self.checkpoint is not None:
            manifest["checkpoint"] = self.checkpoint.as_list()
        return json.dumps(manifest).encode()


@dataclass(frozen=True, slots=True)
class _Draft:
    """A snapshot to be written: ``contents``, with ``counts`` terms, as of the commit ``written``."""

    contents: Contents
    written: _Written

    @property
    def number(self) -> int:
        return self.written.commit + 1


class DamagedFolder(CorollaryError):
    """The contents of a folder are not what was written there."""


class FolderInUse(CorollaryError):
    """The folder is locked, here or in another process."""


class Folder:
    """The folder of an open store. Its errors are ``CorollaryError``, which name the place and a remedy."""

    def __init__(
        self,
        place: Path,
        *,
        create: bool = False,
        read_only: bool = False,
        is_used: Callable[[Folder], bool] = lambda folder: True,
    ) -> None:
        """Open a folder for one writer, or ``read_only`` for any number of readers, until each has ``read``.

        Raises FileNotFoundError if there is no store, and none is made: ``read_only``, or without ``create``.
        ``is_used`` reports whether a reasoner holds the folder. If an interruption leaves a folder open that
        no reasoner holds, the next opening by the same thread closes that folder.
        """
        left = _opened_last.get(get_ident())
        if left is not None and not left._is_used(left):
            left.close()
        self._is_used: Callable[[Folder], bool] = is_used
        _opened_last[get_ident()] = self
        self.place, self.read_only = place, read_only
        self._process = os.getpid()
        self._written = _Written()
        self._proposed: _Written | None = None
        self._log: CommitLog | None = None
        self._format = FORMAT_VERSION  # of a database without a checkpoint, and without a log
        self._busy = RLock()  # held by the thread that uses the connection
        self._drafting = RLock()  # held by the thread that writes a snapshot
        self._in_background: Thread | None = None
        self._failure: CorollaryError | None = None  # of the last snapshot in the background
        with self._complaints():
            _refuse_place(place, create=create, read_only=read_only)
            is_new = create and not (place / DATABASE).exists()
            self._file = os.fspath(place / DATABASE)
            self._lock = _locked(place, is_shared=read_only, create=create and not read_only)
            finalize(self, _unlock, self._lock, self._process)
            self._database = _connection(place)
            finalize(self, self._database.close)  # a connection is a reference cycle: only gc would close it
            try:
                self._begin(create)
            except BaseException:
                self._database.close()
                if is_new:
                    _remove_empty(place)
                self.close()
                raise

    def _begin(self, create: bool) -> None:
        """Lock the database, check that it is a store of this format, create its tables if it is new."""
        run = self._database.execute
        if self.read_only:
            run("PRAGMA query_only = ON")
            run("BEGIN")  # until all is read: a read transaction locks writers out
        else:
            run("PRAGMA locking_mode = EXCLUSIVE")
            run("PRAGMA synchronous = FULL")
            run(f"PRAGMA journal_size_limit = {MAX_JOURNAL_BYTES}")
            run("BEGIN EXCLUSIVE")
        if not self._pragma("schema_version"):  # new; or truncated, which SQLite reads as new
            if (self.place / DATABASE).stat().st_size:
                raise _damage(self.place, "it is cut off")
            if not create:
                raise FileNotFoundError(self.place)
            for statement in _TABLES:
                run(statement)
            self._insert("others", MANIFEST, _Written().manifest())
        elif self._pragma("application_id") != APPLICATION:
            raise CorollaryError(f"{self.place / DATABASE} is no store of Corollary: name another folder")
        elif (version := self._pragma("user_version")) not in FORMATS:
            raise CorollaryError(
                f"{self.place} is of format {version}, and this Corollary reads format {LOGGED_FORMAT}: "
                "open it with the version that wrote it"
            )
        self._format = min(self._format, self._pragma("user_version"))
        if not self.read_only:
            run("COMMIT")

    @property
    def seen(self) -> Seen:
        """The number of the last commit that was read or written."""
        return (self._written.commit,)

    def stored(self) -> Seen:
        """The number of the last commit, before it is read."""
        with self._complaints():
            manifest = self._manifest()
            commit = int(json.loads(manifest or b"{}").get("commit", -1))
            logged = self._logged_after(manifest, commit)
            return (logged[-1].number if logged else commit,)

    @property
    def refusal(self) -> str:
        """Why a place that is read only is not written, and what to do."""
        return f"{self.place} was opened to be read only: open it without read_only to change it"

    def _pragma(self, name: str) -> Any:
        return self._database.execute(f"PRAGMA {name}").fetchone()[0]

    def close(self) -> None:
        """Release the folder for others, when a snapshot in the background is written. Idempotent.

        The database gets what is in the log before. If that fails, the log stays.
        """
        self.settle()
        database = getattr(self, "_database", None)  # missing if opening was interrupted
        lock = getattr(self, "_lock", None)
        if database is not None and lock is not None and not lock.closed and os.getpid() == self._process:
            with suppress(CorollaryError):
                held(self._busy, self._empty_log)
        if database is not None:
            database.close()
        if lock is not None:
            _unlock(lock, self._process)

    # Reading

    def read(
        self, version_of: Reading, progress: Progress = no_progress
    ) -> tuple[Version, MappedSnapshot | None]:
        """Read the stored version: ``version_of`` makes it from terms (with their ids), facts and others.

        Also returns the snapshot of the last checkpoint, of whose E and I the version is a successor; None if
        there is none that can be used. A reader releases the folder then. Cost: that of the rows after the
        checkpoint, or of all rows. Raises CorollaryError if the contents differ from the manifest.
        """
        try:
            with self._complaints():
                found = json.loads(self._manifest() or b"{}").get("checkpoint")
                checkpoint = None if found is None else Checkpoint.of_list(found)
                snapshot = None if checkpoint is None else mapped(self.place, checkpoint)
                if checkpoint is None or snapshot is None:
                    if (finding := self._pragma("quick_check")) != "ok":
                        raise _damage(self.place, finding)
                    written, tables, quads = self._read_all(progress)
                    dictionary = TermDictionary.of_tables(tables)
                else:
                    dictionary = snapshot.dictionary
                    written, quads = self._read_after(checkpoint, snapshot, progress)
                version = version_of(dictionary, quads, dict(written.others or {}))
        except NONSENSE as error:
            raise _damage(self.place, f"a row makes no sense: {error}") from error
        self._written = replace(written, version=version)
        if self.read_only:
            self.close()
        else:
            remove_others(self.place, None if snapshot is None else written.checkpoint)
        return version, snapshot

    def _read_all(self, progress: Progress = no_progress) -> tuple[_Written, list[TextTable], Quads]:
        """Read all rows and compare them with the manifest. Raises DamagedFolder if they differ."""
        written, terms, changes = self._read(_NO_CHECKPOINT, progress)
        tables = [
            TextTable.of_parts((texts, lengths) for of, texts, lengths in terms if of == kind)
            for kind in BULK_KINDS
        ]
        graphs: dict[int, dict[int, Keys]] = {}
        for graph, predicate, keys, is_added in _last_words(changes):
            if is_added.any():
                graphs.setdefault(graph, {})[predicate] = keys[is_added]
        return written, tables, Quads.of(graphs)

    def _read_after(
        self, checkpoint: Checkpoint, snapshot: MappedSnapshot, progress: Progress
    ) -> tuple[_Written, Quads]:
        """As ``_read_all``, over a snapshot: the rows after it. Adds their terms to its dictionary."""
        written, terms, changes = self._read(checkpoint, progress)
        for kind, content, lengths in terms:
            ends = np.cumsum(lengths)
            texts = [bytes(content[end - n : end]) for n, end in zip(lengths, ends, strict=True)]
            snapshot.dictionary.extend(Kind(kind), [text.decode("utf-8", "surrogatepass") for text in texts])
        quads = snapshot.quads.changed(
            Change(graph, predicate, keys[~is_added], Pairs(keys[is_added]))
            for graph, predicate, keys, is_added in _last_words(changes)
        )
        graphs = {graph: index for graph, index in quads.graphs.items() if index.fact_count()}
        return written, replace(quads, graphs=graphs)

    def _read(
        self, start: Checkpoint, progress: Progress
    ) -> tuple[_Written, list[_Terms], list[LoggedChange]]:
        """Read the rows after a checkpoint, and compare them with the manifest.

        Raises DamagedFolder if they differ, or mention unknown terms.
        """
        terms, changed, counts = start.terms, start.changes, list(start.counts)
        new: list[_Terms] = []
        changes: list[LoggedChange] = []
        size, done, facts = self._size_after(start), 0, 0
        for number, checksum, kind, sizes, texts in self._rows("terms", "kind, lengths, texts", terms.count):
            terms = self._in_order(terms, number, checksum)
            lengths = np.frombuffer(sizes, "<u4").astype(np.int64)
            if int(lengths.sum()) != len(texts) or not lengths.all():
                raise _damage(self.place, "terms are cut off")
            new.append((kind, np.frombuffer(texts, np.uint8), lengths))
            counts[kind] += lengths.size
            done += len(texts)
            progress("reading the journal", 0, done / size)
        for number, checksum, graph, predicate, added, content in self._rows(
            "changes", "graph, predicate, added, facts", changed.count
        ):
            changed = self._in_order(changed, number, checksum)
            keys = np.frombuffer(content, "<u8")
            changes.append((graph, predicate, bool(added), keys))
            done, facts = done + len(content), facts + keys.size
            progress("reading the journal", facts, done / size)
        others = {name: content for name, _, content in self._rows("others", "content", None, "name")}
        manifest = others.pop(MANIFEST, b"{}")
        known = json.loads(manifest)
        written = _Written(
            int(known.get("commit", -1)),
            None,
            tuple(counts),
            terms,
            changed,
            start.weight + sum(ROW_COST_IN_FACTS + keys.size for *_, keys in changes),
            others,
            Checkpoint.of_list(known["checkpoint"]) if "checkpoint" in known else None,
            takes_log=self._pragma("user_version") == LOGGED_FORMAT,
        )
        if written.manifest() != manifest or (others and set(others) != set(NAMES)):
            raise _damage(self.place, "rows are missing, or are not its own")
        written, more_terms, more_changes = self._read_log(written, manifest)
        self._refuse_unknown_terms(written, changes)
        return written, new + more_terms, changes + more_changes

    def _read_log(
        self, written: _Written, manifest: bytes
    ) -> tuple[_Written, list[_Terms], list[LoggedChange]]:
        """Read the log, as ``_read``. ``written`` is what the database contains."""
        logged = self._logged_after(manifest, written.commit)
        for commit in logged:
            written = written.with_logged(commit, None)
        changes = [change for commit in logged for change in commit.changes]
        if changes:
            places = np.array([place[:2] for place in changes], np.uint64).ravel()
            self._refuse_unknown(places, np.concatenate([keys for *_, keys in changes]), written.counts)
        return written, list(_encoded(logged)), changes

    def _refuse_unknown_terms(self, written: _Written, changes: list[LoggedChange]) -> None:
        """Raise DamagedFolder if changes, or the other contents, mention unknown terms."""
        for graph, predicate, _, keys in changes:
            self._refuse_unknown(np.array([graph, predicate], np.uint64), keys, written.counts)
        for name, packed in (written.others or {}).items():
            if name != "prefixes":
                ids = np.frombuffer(packed, "<u4").astype(np.uint64)
                self._refuse_unknown(ids, ids, written.counts)

    def _logged_after(self, manifest: bytes, number: int) -> list[LoggedCommit]:
        """The commits in the log that follow the state of the database. Raises DamagedFolder."""
        if self._pragma("user_version") != LOGGED_FORMAT:
            return []
        try:
            content = (self.place / LOG).read_bytes()
        except FileNotFoundError as error:
            raise _damage(self.place, f"{LOG} is missing") from error
        try:
            return list(logged_commits(content, crc32(manifest), number))
        except NONSENSE as error:
            raise _damage(self.place, f"{LOG}: {error}") from error

    def _size_after(self, start: Checkpoint) -> int:
        """The bytes of texts and facts in the rows after a checkpoint; at least 1."""
        ((size,),) = self._database.execute(
            "SELECT (SELECT TOTAL(LENGTH(texts)) FROM terms WHERE sequence > ?)"
            " + (SELECT TOTAL(LENGTH(facts)) FROM changes WHERE sequence > ?)",
            (start.terms.count, start.changes.count),
        )
        return max(1, int(size))

    def _rows(
        self, table: str, columns: str, after: int | None, key: str = "sequence"
    ) -> Iterator[tuple[Any, ...]]:
        """The rows of a table in the order of their key: key, checksum, columns. Verifies the checksums.

        ``after``: those with a larger key; None: all.
        """
        condition = "" if after is None else f"WHERE {key} > {after}"
        for name, checksum, *values in self._database.execute(
            f"SELECT {key}, checksum, {columns} FROM {table} {condition} ORDER BY {key}"
        ):
            if _checksum(name, *values) != checksum:
                raise _damage(self.place, "a checksum differs")
            yield name, checksum, *values

    def _in_order(self, rows: Rows, number: int, checksum: int) -> Rows:
        if number != rows.count + 1:
            raise _damage(self.place, "rows are missing")
        return rows.with_row(checksum)

    def _refuse_unknown(self, ids: Keys, keys: Keys, counts: tuple[int, ...]) -> None:
        """Raise DamagedFolder if an id, or one half of a packed key, is not the id of a stored term."""
        for column in (ids, keys >> np.uint64(32), keys & np.uint64(0xFFFFFFFF)):
            kinds = column >> np.uint64(KIND_SHIFT)
            known = np.array([*counts, 0], np.uint64)[kinds]
            if ((column & np.uint64(INDEX_MASK)) >= known).any():
                raise _damage(self.place, "it mentions terms that it does not have")

    def findings(self) -> list[str]:
        """Read the folder again. Returns what is damaged, or differs from the last commit or from memory.

        For a reader, see ``findings_in``.
        """
        if self.read_only:
            return findings_in(self.place, self._written)
        return held(self._busy, self._findings, None)

    def _findings(self, known: _Written | None) -> list[str]:
        """As ``findings``, compared with the commit ``known``; None: with what this store wrote last.

        A reader compares nothing without ``known``, or if there is a later commit.
        """
        try:
            with self._complaints():
                found = [text for (text,) in self._database.execute("PRAGMA integrity_check") if text != "ok"]
                self._refuse_other_file()
                self._catch_up()
                written, tables, quads = self._read_all()
                if written.checkpoint is not None and written.checkpoint.file(self.place).exists():
                    opened(self.place, written.checkpoint).check_whole()
        except (CorollaryError, *NONSENSE) as error:
            return [str(error)]
        if self.read_only and (known is None or written.commit > known.commit):
            return found
        known = self._written if known is None else known
        version = known.version
        if replace(written, version=version) != replace(known, others=known.others or {}):
            found.append(f"{self.place}: it is not what was written last")
        if version is not None:
            dictionary = version.terms.dictionary
            for kind, table in zip(BULK_KINDS, tables, strict=True):
                known_texts = TextTable.of_parts(dictionary.texts_between(kind, 0, len(table)))
                if not known_texts.is_like(table):
                    found.append(f"{self.place}: the {kind.name} terms are not those in memory")
            if any(True for _ in _changes(version.quads, quads)):
                found.append(f"{self.place}: the facts are not those in memory")
        return found

    # Writing

    def has_written(self, version: Version) -> bool:
        """Whether ``version`` is the last commit, even if its ``write`` was interrupted."""
        if (
            os.getpid() == self._process
        ):  # a fork writes nothing, and a thread of its parent may hold the lock
            held(self._busy, self._catch_up)
        return self._written.version is version

    def write(self, version: Version) -> None:
        """Commit a version. After a CorollaryError nothing is written.

        Precondition: ``version`` is applied. If its dictionary is not that of the last commit, all rows are
        rewritten. After any other exception, such as an interruption, ``has_written`` reports the outcome.
        """
        self._refuse_in_fork()
        held(self._busy, self._write_once, version)

    def _refuse_to_write(self) -> None:
        """Raise CorollaryError if the file at ``place`` is another one."""
        if not self.read_only:
            with self._complaints():
                self._refuse_other_file()

    def _refuse_in_fork(self) -> None:
        """Raise CorollaryError in a forked process. Comes before locks, which nobody may release there."""
        if os.getpid() != self._process:
            raise CorollaryError(f"{self.place} is open in a parent of this process: write there")

    def _write_once(self, version: Version) -> None:
        is_as_left = self._written.file and seen_in_file(self._file) == self._written.file
        if not is_as_left:
            self._refuse_to_write()
        if self.read_only:
            return
        self._catch_up()
        written, dictionary = self._written, version.terms.dictionary
        if written.version is not None and written.version.terms.dictionary is not dictionary:
            # other ids: no stored row is valid any more
            written = _Written(written.commit, rewritten=written.rewritten + 1)
        others = others_of(version, written.version, written.others)
        known = written.others or {}
        new = {} if others is known else {n: text for n, text in others.items() if text != known.get(n)}
        counts = tuple(map(dictionary.count, BULK_KINDS))
        changes = list(_changes(written.quads, version.quads))
        if not changes and not new:  # new terms without facts are written later
            self._written = replace(written, version=version)
            return
        size = sum(counts) - sum(written.counts) + sum(keys.size for *_, keys in changes)
        is_small = written.version is not None and size <= MAX_LOGGED
        if is_small and is_as_left:
            terms = _terms_between(dictionary, written.counts, counts)
            if self._append_to_log(version, LoggedCommit(written.commit + 1, terms, changes, new)):
                return
        current().where = f"writing {self.place}"
        with self._complaints(), self._taken_back_if_interrupted():
            log = self._usable_log(makes=is_small)
            self._write(written, version, counts, changes, others, log=log)

    def _append_to_log(self, version: Version, commit: LoggedCommit) -> bool:
        """Commit through the log. False, and nothing is written, if it cannot be: then the database can."""
        log, written = self._log, self._written
        if log is None or not written.in_database.takes_log:
            return False
        try:
            if written.stored is None:
                log.begin(crc32(written.manifest()))
            line = commit.line(log.seed)
            if len(line) > MAX_LINE_BYTES or log.end + len(line) > MAX_LOG_BYTES or not log.is_as_left():
                return False
            after = written.with_logged(commit, version, line)
            self._proposed = after
            log.append(line)
        except OSError:
            self._log = self._proposed = None
            return False
        self._written, self._proposed = after, None
        return True

    def _usable_log(self, *, makes: bool) -> CommitLog | None:
        """The log, for the next commits. None if there is none; ``makes``: if none can be made."""
        log, place = self._log, self.place / LOG
        if log is not None and log.is_in_place():
            return log
        is_needed = self._written.in_database.takes_log
        with suppress(OSError):
            if makes and (place.exists() or not is_needed):  # an empty one does not replace one that is gone
                log = CommitLog(place)
                if not is_needed:
                    log.begin(-1)  # its lines may follow a database that was replaced by a copy of it
                return log
        return None

    def _empty_log(self) -> None:
        """Write what is in the log into the database, and remove it. Precondition: the folder is locked."""
        if self._proposed is not None:
            self._catch_up()
        written, version = self._written, self._written.version
        if self.read_only or version is None:
            return
        log = self._log
        if written.in_database.takes_log:
            self._refuse_to_write()
            with self._complaints(), self._taken_back_if_interrupted():
                self._write(written, version, written.counts, [], written.others or {}, is_new=False)
        if log is not None:
            log.close()
        with suppress(OSError):
            (self.place / LOG).unlink(missing_ok=True)

    def _write(
        self,
        written: _Written,
        version: Version,
        counts: tuple[int, ...],
        changes: list[LoggedChange],
        others: Mapping[str, bytes],
        *,
        checkpoint: Checkpoint | None = None,
        is_new: bool = True,
        log: CommitLog | None = None,
    ) -> None:
        """Write ``changes``, and those in the log, into the database. ``is_new``: as a commit of its own.

        The next small commits go to ``log``; None: to the database.
        """
        self._begin_writing()
        if written.version is None:
            self._database.execute("DELETE FROM terms")
            self._database.execute("DELETE FROM changes")
        stored = written.in_database
        after = self._write_terms(stored, version.terms.dictionary, counts)
        after = self._write_changes(after, version.quads, written.changes_since(changes))
        for name, content in others.items():
            if (stored.others or {}).get(name) != content:
                self._insert("others", name, content)
        if checkpoint is not None and after.rewritten == written.rewritten:
            after = replace(after, checkpoint=checkpoint)
        number = written.commit + 1 if is_new else written.commit
        after = replace(after, commit=number, version=version, others=others, takes_log=log is not None)
        self._finish(after)
        self._log = log

    def _finish(self, after: _Written) -> None:
        """Write the manifest and commit."""
        self._insert("others", MANIFEST, after.manifest())
        least = FORMAT_VERSION if after.checkpoint is not None else self._format
        self._database.execute(f"PRAGMA user_version = {LOGGED_FORMAT if after.takes_log else least}")
        self._proposed = after
        self._database.execute("COMMIT")
        self._written, self._proposed = replace(after, file=seen_in_file(self._file)), None

    def checkpoint_if_due(self, *, closing: bool) -> None:
        """Write a checkpoint if it pays, in the background unless ``closing``. See ``Persistence``.

        An error is a warning: now, or at the next call.
        """
        if closing:
            self.settle()
        thread = self._in_background
        if thread is not None and thread.is_alive():
            return
        self._warn_of_failure()
        if not self._is_due(closing):
            return
        if closing:
            self._checkpoint_or_fail()
            self._warn_of_failure()
            return
        self._in_background = Thread(target=self._checkpoint_or_fail, name="checkpoint", daemon=True)
        try:
            self._in_background.start()
        except RuntimeError as error:  # the system has no thread left
            self._failure = CorollaryError(str(error))
            self._warn_of_failure()

    def _checkpoint_or_fail(self) -> None:
        """As ``checkpoint``. An error is kept, for a later warning; so is a lack of memory."""
        try:
            self.checkpoint(no_progress)
        except CorollaryError as error:
            self._failure = error
        except MemoryError as error:
            self._failure = CorollaryError(f"not enough memory ({error})")

    def _warn_of_failure(self) -> None:
        failure, self._failure = self._failure, None
        if failure is not None:
            warnings.warn(
                f"no snapshot was written beside {self.place / DATABASE}, which has all commits; the next "
                f"opening takes longer: {failure}",
                stacklevel=3,
            )

    def settle(self) -> None:
        """Wait until the snapshot in the background is written."""
        thread = getattr(self, "_in_background", None)  # missing if opening was interrupted
        if thread is not None and thread is not current_thread():
            with suppress(RuntimeError):  # it never started
                thread.join()

    def _is_due(self, closing: bool) -> bool:
        """Whether a checkpoint saves later openings more than it costs now."""
        version, checkpoint = self._written.version, self._written.checkpoint
        if self.read_only or version is None or version.derived.state is None:
            return False
        size = version.state.index.fact_count()
        if size < MIN_FACTS_TO_CHECKPOINT:
            return False
        if checkpoint is None or not checkpoint.file(self.place).exists():
            return True
        least = MIN_FACTS_PER_FACT_LEFT_AT_CLOSE if closing else MIN_FACTS_PER_FACT_AFTER_CHECKPOINT
        if least * (self._written.weight - checkpoint.weight) > size:
            return True
        return closing and contents_of(version).closed.fingerprint not in (None, checkpoint.fingerprint)

    def checkpoint(self, progress: Progress) -> None:
        """Write a snapshot of the last commit, and record it. See ``Persistence``.

        Other threads may commit while the file is written.
        """
        self._refuse_in_fork()
        held(self._drafting, self._checkpoint, progress)

    def _checkpoint(self, progress: Progress) -> None:
        """Draft, write, record. Only the first and the last of these lock the database."""
        draft = held(self._busy, self._drafted)
        if draft is None:
            return
        file = file_of(self.place, draft.number)
        try:
            header = write_snapshot(file, draft.contents, draft.written.counts, progress)
            held(self._busy, self._record, draft, header)
        finally:
            recorded = self._written.checkpoint
            if recorded is None or recorded.number != draft.number:
                with suppress(OSError):
                    file.unlink()
        remove_others(self.place, recorded)

    def _drafted(self) -> _Draft | None:
        """What a snapshot of the last commit contains; None if its I is not known.

        Writes the terms that I has, and the journal lacks.
        """
        self._refuse_to_write()
        self._catch_up()
        written, version = self._written, self._written.version
        if self.read_only or version is None or version.derived.state is None:
            return None
        contents = contents_of(version)
        counts = tuple(map(contents.dictionary.count, BULK_KINDS))
        if counts != written.in_database.counts or written.stored is not None:
            self._write_again(written, version, counts, is_new=counts != written.counts)
        return _Draft(contents, self._written)

    def _write_again(
        self,
        written: _Written,
        version: Version,
        counts: tuple[int, ...],
        checkpoint: Checkpoint | None = None,
        *,
        is_new: bool = True,
    ) -> None:
        """Write what the log has and the database lacks, more terms, and maybe a checkpoint."""
        others, log = written.others or {}, self._usable_log(makes=False)
        with self._complaints(), self._taken_back_if_interrupted():
            self._write(written, version, counts, [], others, checkpoint=checkpoint, is_new=is_new, log=log)

    def _record(self, draft: _Draft, header: int) -> None:
        """Record a snapshot that is written, if the rows that it covers are still there."""
        self._refuse_to_write()
        self._catch_up()
        covered, written = draft.written, self._written
        if covered.rewritten != written.rewritten:
            return
        checkpoint = Checkpoint(
            draft.number,
            header,
            draft.contents.closed.fingerprint,
            covered.counts,
            covered.terms,
            covered.changes,
            covered.weight,
        )
        assert written.version is not None
        self._write_again(written, written.version, written.counts, checkpoint)

    @contextmanager
    def _taken_back_if_interrupted(self) -> Iterator[None]:
        """Roll the transaction back if the block fails, or find out that it has taken place."""
        try:
            yield
        except BaseException:
            self._catch_up()
            raise

    def _begin_writing(self) -> None:
        """Begin a transaction. Raises CorollaryError if the database is not what was written last."""
        self._database.execute("BEGIN")
        if self._manifest() != self._written.in_database.manifest():
            raise CorollaryError(
                f"{self.place} was written by another process, which had found it without locks: nothing was "
                "changed there; save this store elsewhere, and open the folder again"
            )

    def shrink(self) -> None:
        """Return the space of deleted rows to the file system. The contents do not change."""
        try:
            held(self._busy, self._database.execute, "VACUUM")
        except sqlite3.Error as error:
            raise CorollaryError(
                f"{self.place}: unused terms are gone, but its file could not be made smaller ({error}): "
                "make room on the disk, and compact it again"
            ) from error

    def _catch_up(self) -> None:
        """Settle an interrupted commit: roll it back if it is incomplete, else record that it took place."""
        if self.read_only:
            return
        with self._complaints():
            if self._database.in_transaction:
                self._database.execute("ROLLBACK")
            proposed = self._proposed
            if proposed is not None:
                if proposed.stored is not None:
                    is_written = self._log is not None and self._log.settle(proposed.line)
                else:
                    has_log = self._pragma("user_version") == LOGGED_FORMAT
                    is_written = self._manifest() == proposed.manifest() and has_log == proposed.takes_log
                if is_written:
                    self._written = proposed
                self._proposed = None

    def _manifest(self) -> bytes:
        """The stored manifest."""
        found = self._database.execute("SELECT content FROM others WHERE name = ?", (MANIFEST,)).fetchone()
        return bytes(found[0]) if found and isinstance(found[0], bytes) else b""

    def _refuse_other_file(self) -> None:
        """Raise CorollaryError if the open file is no longer the database at ``place``."""
        if not _is_file_of(self._lock, self.place):
            raise CorollaryError(
                f"{self.place}: what was opened there has been removed or replaced, and nothing is kept any "
                "more: save this store elsewhere, or put the folder back as it was"
            )

    def _write_terms(
        self, written: _Written, dictionary: TermDictionary, counts: tuple[int, ...]
    ) -> _Written:
        """Append the new terms. Rewrites all if there are many small rows: then no checkpoint covers them."""
        starts, rows = written.counts, written.terms
        if rows.count > MIN_ROWS_TO_REWRITE + sum(counts) // ROW_COST_IN_FACTS:
            self._database.execute("DELETE FROM terms")
            starts, rows = _Written().counts, NO_ROWS
            written = replace(written, checkpoint=None, rewritten=written.rewritten + 1)
        for kind, start, end in zip(BULK_KINDS, starts, counts, strict=True):
            for texts, lengths in dictionary.texts_between(kind, start, end):
                ends = np.cumsum(lengths)
                steps = np.arange(MAX_BYTES_PER_ROW, texts.size, MAX_BYTES_PER_ROW)
                places = np.concatenate(([0], ends))
                for first, last in pairwise([0, *np.searchsorted(ends, steps).tolist(), lengths.size]):
                    if first < last:
                        sizes = lengths[first:last].astype("<u4").tobytes()
                        piece = texts[places[first] : places[last]].tobytes()
                        rows = self._append("terms", rows, int(kind), sizes, piece)
        return replace(written, counts=counts, terms=rows)

    def _write_changes(self, written: _Written, quads: Quads, changes: list[LoggedChange]) -> _Written:
        """Append the changes.

        Rewrites all facts if more than half of the weight is obsolete: amortised, a commit costs its changes.
        Then no checkpoint covers them.
        """
        rows, weight = written.changes, written.weight
        live = sum(
            ROW_COST_IN_FACTS + len(relation)
            for index in quads.graphs.values()
            for _, relation in index.relations()
        )
        if (
            weight + sum(ROW_COST_IN_FACTS + keys.size for *_, keys in changes)
            > 2 * live + ROW_COST_IN_FACTS * MIN_ROWS_TO_REWRITE
        ):
            self._database.execute("DELETE FROM changes")
            rows, weight = NO_ROWS, 0
            written = replace(written, checkpoint=None, rewritten=written.rewritten + 1)
            changes = [
                (graph, predicate, True, relation.pairs().keys)
                for graph, index in quads.graphs.items()
                for predicate, relation in index.relations()
            ]
        for graph, predicate, added, keys in changes:
            for start in range(0, keys.size, MAX_BYTES_PER_ROW // 8):
                piece = keys[start : start + MAX_BYTES_PER_ROW // 8].astype("<u8", copy=False)
                rows = self._append("changes", rows, graph, predicate, int(added), piece.tobytes())
                weight += ROW_COST_IN_FACTS + piece.size
        return replace(written, changes=rows, weight=weight)

    def _append(self, table: str, rows: Rows, *values: int | bytes) -> Rows:
        """Append a row."""
        return rows.with_row(self._insert(table, rows.count + 1, *values))

    def _insert(self, table: str, *values: int | str | bytes) -> int:
        """Insert a row, or replace the row of the same key. Returns its checksum."""
        marks = ", ".join("?" * (len(values) + 1))
        checksum = _checksum(*values)
        self._database.execute(f"REPLACE INTO {table} VALUES ({marks})", (*values, checksum))
        return checksum

    @contextmanager
    def _complaints(self) -> Iterator[None]:
        """Translate errors of SQLite and of the file system to ``CorollaryError``."""
        try:
            yield
        except sqlite3.Error as error:
            code = getattr(error, "sqlite_errorcode", 0) & 0xFF
            if code == sqlite3.SQLITE_BUSY:
                raise _in_use(self.place) from error
            if code == sqlite3.SQLITE_READONLY and self.read_only:
                raise CorollaryError(
                    f"{self.place}: its last commit was interrupted, and a process that may not write there "
                    "cannot take it back: open it once as a user who may"
                ) from error
            if code in _DAMAGE:
                raise _damage(self.place, str(error)) from error
            is_full = code == sqlite3.SQLITE_FULL
            remedy = ": free some space, and commit or close again" if is_full else ""
            raise CorollaryError(f"{self.place}: {error}; nothing was changed there{remedy}") from error
        except UnicodeDecodeError as error:  # in a message of SQLite that quotes a damaged schema
            raise _damage(self.place, "its own text is not UTF-8") from error
        except FileNotFoundError:
            raise
        except OSError as error:
            raise _unusable(self.place, error, "read" if self.read_only else "written") from error


def findings_in(place: Path, known: _Written | None = None) -> list[str]:
    """What is damaged in a folder, and how it differs from ``known``, the last commit or an earlier one.

    Raises FolderInUse if another store has it open for writing.
    """
    try:
        reader = Folder(place, read_only=True)
    except FileNotFoundError:
        return [f"{place}: there is no store any more"]
    except FolderInUse:
        raise
    except CorollaryError as error:
        return [str(error)]
    try:
        return reader._findings(known)
    finally:
        reader.close()


def _refuse_place(place: Path, *, create: bool, read_only: bool) -> None:
    """Raise CorollaryError or OSError if ``place`` is no folder, has no store, or must not be written."""
    if _is_other_than_folder(place):
        raise CorollaryError(f"{place} is a file, and a store is kept in a folder: name another place")
    if (read_only or not create) and not (place / DATABASE).is_file():
        raise FileNotFoundError(place)
    for path in () if read_only else (place, place / DATABASE):
        if not os.access(path, os.W_OK) and path.exists():
            raise CorollaryError(
                f"{place} cannot be written by this process: open it with read_only=yes, or with rights"
            )


def has_store(place: str | os.PathLike[str], how: str = "written") -> bool:
    """Whether a store is in a folder. Raises CorollaryError if the system does not say."""
    try:
        return (Path(place) / DATABASE).stat().st_size > 0  # 0: one that was never made
    except (FileNotFoundError, NotADirectoryError):
        return False
    except (OSError, ValueError) as error:
        raise _unusable(Path(place), error, how) from error


def _remove_empty(place: Path) -> None:
    """Remove a database that nothing was written to, and its folder if nothing else is in it."""
    with suppress(OSError):
        if not (place / DATABASE).stat().st_size:
            (place / DATABASE).unlink()
            place.rmdir()


def destroy(place: Path) -> None:
    """Remove a store, and its folder if nothing else is in it. Raises CorollaryError if it is open."""
    try:
        if not (place / DATABASE).is_file():
            return
        lock = _locked(place, is_shared=False, create=False)
    except FileNotFoundError:
        return
    except OSError as error:
        raise _unusable(place, error) from error
    connection = _connection(place)
    try:
        connection.execute("BEGIN EXCLUSIVE")
        for name in (DATABASE, f"{DATABASE}-journal", LOG):
            (place / name).unlink(missing_ok=True)
        remove_others(place, None)
        with suppress(OSError):
            place.rmdir()
    except sqlite3.Error as error:
        if getattr(error, "sqlite_errorcode", 0) & 0xFF == sqlite3.SQLITE_BUSY:
            raise _in_use(place) from error
        raise CorollaryError(f"{place}: {error}; nothing was changed there") from error
    except OSError as error:
        raise _unusable(place, error) from error
    finally:
        connection.close()
        _unlock(lock, os.getpid())


def _connection(place: Path) -> sqlite3.Connection:
    """A connection that raises at once, without waiting, where the database is locked."""
    return sqlite3.connect(place / DATABASE, timeout=0, isolation_level=None, check_same_thread=False)


def _is_other_than_folder(place: Path) -> bool:
    try:
        return not stat.S_ISDIR(place.stat().st_mode)
    except FileNotFoundError:
        return False
    except ValueError as error:  # a character that is not allowed in paths
        raise _unusable(place, error) from error


def _is_file_of(file: IO[bytes], place: Path) -> bool:
    """Whether an open file is the database at ``place``."""
    try:
        return os.path.samestat(os.fstat(file.fileno()), os.stat(place / DATABASE))
    except FileNotFoundError:
        return False


def _locked(place: Path, *, is_shared: bool, create: bool) -> IO[bytes]:
    """Open the database file and lock it with ``flock``, beside SQLite's own locks, until it is closed.

    SQLite's locks are not enough: a process loses them when it closes any descriptor of the file, for example
    after copying the file. ``create`` makes the file and its folder if they are missing, and makes them again
    if another process destroys them before the lock is taken. Readers hold the lock while they read: a writer
    waits ``SECONDS_FOR_READERS`` for them. Raises CorollaryError if the lock is taken.
    """
    while True:
        if create and not (place / DATABASE).is_file():
            _make_folder(place)
        try:
            file = open(place / DATABASE, "ab" if create else "rb")  # noqa: SIM115
        except FileNotFoundError:
            if create:
                continue
            raise
        try:
            if fcntl is not None:
                _lock(file, is_shared=is_shared)
        except BlockingIOError as error:
            file.close()
            raise _in_use(place) from error
        except OSError:
            pass  # the file system does not support flock: SQLite's own locks remain
        if _is_file_of(file, place):
            return file
        file.close()


def _lock(file: IO[bytes], *, is_shared: bool) -> None:
    """Lock a file with ``flock``. Raises BlockingIOError if it is locked, for readers also after a while."""
    end = monotonic() + SECONDS_FOR_READERS
    while True:
        try:
            fcntl.flock(file, (fcntl.LOCK_SH if is_shared else fcntl.LOCK_EX) | fcntl.LOCK_NB)
            return
        except BlockingIOError:
            if is_shared or monotonic() > end:
                raise
        fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)  # raises if a writer has the lock
        fcntl.flock(file, fcntl.LOCK_UN)
        sleep(SECONDS_BETWEEN_ATTEMPTS)


def _unlock(file: IO[bytes], process: int) -> None:
    """Release the lock if this process has taken it; a forked process only closes its descriptor. Idempotent.

    The explicit unlock is needed because a fork's descriptor would keep the lock.
    """
    if not file.closed:
        if fcntl is not None and os.getpid() == process:
            with suppress(OSError):
                fcntl.flock(file, fcntl.LOCK_UN)
        file.close()


def _make_folder(place: Path) -> None:
    """Make a folder and its parents, and force their directory entries to the disk.

    All parents are synced, because an interrupted earlier attempt may have made some without syncing them.
    """
    place.mkdir(parents=True, exist_ok=True)
    for folder in (place, *place.absolute().parents):
        with suppress(OSError):  # some systems cannot sync a directory
            descriptor = os.open(folder.parent, os.O_RDONLY)
            try:
                os.fsync(descriptor)
            finally:
                os.close(descriptor)


def _unusable(place: Path, error: OSError | ValueError, how: str = "written") -> CorollaryError:
    reason = getattr(error, "strerror", None) or str(error)
    return CorollaryError(f"{place}: {reason}: name a folder that can be {how}")


def _in_use(place: Path) -> FolderInUse:
    return FolderInUse(f"{place} is open already, here or in another process: close it there first")


def _damage(place: Path, what: str) -> DamagedFolder:
    return DamagedFolder(
        f"{place / DATABASE} is damaged ({what}): put back a copy of it, or destroy the store"
    )


def _checksum(*values: int | str | bytes) -> int:
    checksum = 0
    for value in values:
        checksum = crc32(value if isinstance(value, bytes) else f"{value} ".encode(), checksum)
    return checksum


def _terms_between(
    dictionary: TermDictionary, before: tuple[int, ...], after: tuple[int, ...]
) -> list[tuple[int, list[str]]]:
    """The terms of a dictionary that are new, by kind."""
    return [
        (int(kind), dictionary.decode_all(range(kind << KIND_SHIFT | start, kind << KIND_SHIFT | end)))
        for kind, start, end in zip(BULK_KINDS, before, after, strict=True)
        if start < end
    ]


def _encoded(commits: list[LoggedCommit]) -> Iterator[_Terms]:
    """The terms of commits in the log, as they are read from the database."""
    for kind in BULK_KINDS:
        texts = [text for commit in commits for of, texts in commit.terms if of == kind for text in texts]
        encoded = [text.encode("utf-8", "surrogatepass") for text in texts]
        if encoded:
            lengths = np.fromiter(map(len, encoded), np.int64, len(encoded))
            yield int(kind), np.frombuffer(b"".join(encoded), np.uint8), lengths


def _changes(before: Quads, after: Quads) -> Iterator[LoggedChange]:
    """The facts removed from and added to the graphs, by graph and predicate; without formulas."""
    for graph, predicate, removed, added in after.since_by_graph(before):
        if removed.size:
            yield graph, predicate, False, removed
        if len(added):
            yield graph, predicate, True, added.keys


def _last_words(changes: list[LoggedChange]) -> Iterator[tuple[int, int, Keys, Mask]]:
    """Replay changes. Yields graph, predicate, all mentioned facts (sorted, unique), mask of those present.

    The last change of a fact decides: ``+a, -a, +a`` leaves ``a`` present.
    """
    places: dict[tuple[int, int], list[tuple[bool, Keys]]] = {}
    for graph, predicate, is_added, keys in changes:
        places.setdefault((graph, predicate), []).append((is_added, keys))
    for (graph, predicate), entries in places.items():
        together = np.concatenate([keys for _, keys in entries])
        added = np.repeat([is_added for is_added, _ in entries], [keys.size for _, keys in entries])
        order = np.argsort(together, kind="stable")  # a merge of few sorted runs
        together, added = together[order], added[order]
        is_last = np.append(together[1:] != together[:-1], True)
        yield graph, predicate, together[is_last], added[is_last]
