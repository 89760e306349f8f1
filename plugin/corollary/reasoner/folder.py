"""A folder that persists a reasoner: a journal, a log of small commits, and a snapshot beside them.

The journal (``journal``, a SQLite database) gets what a commit changes. A small commit is written to a log
instead (``commit_log``) while the folder is open. The next transaction of the database has it too, at the
latest that of ``close``. So both together have all of E. A checkpoint writes the snapshot, which has I too
and is mapped (``checkpoints``); opening maps it, and reads the rows and the lines after it
(``folder_rows``).

A commit is one SQLite transaction, or one line of the log, forced to the disk. So a crash at any moment
leaves a whole number of commits. The database uses the rollback journal and not SQLite's write-ahead log,
because large commits append: the rollback journal writes appended pages once, the write-ahead log twice.
Small commits use neither, but a log of our own. SQLite's write-ahead log has whole pages, and a forked
process that closes its copy of the connection removes it. Measured, one fact: the rollback journal takes 0.36
ms and waits for the disk four times, SQLite's write-ahead log 0.19 ms and one wait, a line 0.08 ms and one
wait.

Invariant: the database and the log contain what this process wrote last. A writer locks the database from
opening to closing (``folder_place``). A reader locks it while it reads, and has all of the last commit then,
in memory or mapped. Beside a writer it maps the last snapshot instead, without a lock (``opening``). After an
interrupted commit, the manifest, or the end of the log, shows whether the commit took place.
"""

from __future__ import annotations

import json
import os
import sqlite3
import warnings
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager, nullcontext, suppress
from dataclasses import dataclass, replace
from pathlib import Path
from threading import RLock, Thread, current_thread, get_ident
from weakref import WeakValueDictionary, finalize
from zlib import crc32

from corollary.kernels.interrupts import held
from corollary.kernels.limits import Progress, current, no_progress
from corollary.language import CorollaryError
from corollary.reasoner.checkpoints import Checkpoint, file_of, mapped, opened, remove_others
from corollary.reasoner.commit_log import LOG, CommitLog, LoggedChange, LoggedCommit
from corollary.reasoner.contents import NONSENSE, others_of
from corollary.reasoner.folder_contents import NOTHING_WRITTEN, Written, changes_between, terms_between
from corollary.reasoner.folder_place import (
    DATABASE,
    FolderInUse,
    damage,
    is_file_of,
    locked,
    refuse_place,
    remove_empty,
    unlock,
)
from corollary.reasoner.folder_rows import logged_after, read_after, read_all, write_changes, write_terms
from corollary.reasoner.journal import Journal, complaints
from corollary.reasoner.persistence import Seen, seen_in_file
from corollary.reasoner.quads import Quads
from corollary.reasoner.snapshot_closures import closures_of
from corollary.reasoner.snapshot_file import Contents, MappedSnapshot, contents_of, write_snapshot
from corollary.reasoner.tuning import (
    MAX_FACTS_LISTED_PER_FACT,
    MAX_LINE_BYTES,
    MAX_LOG_BYTES,
    MAX_LOGGED,
    MIN_FACTS_PER_FACT_AFTER_CHECKPOINT,
    MIN_FACTS_PER_FACT_LEFT_AT_CLOSE,
    MIN_FACTS_TO_CHECKPOINT,
)
from corollary.reasoner.version import Version
from corollary.terms.dictionary import BULK_KINDS, TermDictionary
from corollary.terms.texts import TextTable

_opened_last: WeakValueDictionary[int, Folder] = WeakValueDictionary()
"""The folder that each thread opened last, by thread id."""

Reading = Callable[[TermDictionary, Quads, dict[str, bytes]], Version]
"""Makes a version of the stored terms (with their ids), facts by graph, and other contents by name."""


@dataclass(frozen=True, slots=True)
class _Draft:
    """A snapshot to be written: ``contents``, as of the commit ``written``."""

    contents: Contents
    written: Written

    @property
    def number(self) -> int:
        return self.written.commit + 1


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
        self._written = NOTHING_WRITTEN
        self._proposed: Written | None = None
        self._log: CommitLog | None = None
        self._busy = RLock()  # held by the thread that uses the connection
        self._drafting = RLock()  # held by the thread that writes a snapshot
        self._in_background: Thread | None = None
        self._failure: CorollaryError | None = None  # of the last snapshot in the background
        self._has_snapshot = False  # that of the last checkpoint, as far as this store knows
        with self._complaints():
            refuse_place(place, create=create, read_only=read_only)
            is_new = create and not (place / DATABASE).exists()
            self._file = os.fspath(place / DATABASE)
            self._lock = locked(place, is_shared=read_only, create=create and not read_only)
            finalize(self, unlock, self._lock, self._process)
            self._journal = Journal(place, read_only=read_only)
            # a connection is a reference cycle: only gc would close it
            finalize(self, _close, self._journal, self._busy, self._process)
            try:
                self._journal.begin(create=create)
            except BaseException:
                self._journal.close()
                if is_new:
                    remove_empty(place)
                self.close()
                raise

    @property
    def seen(self) -> Seen:
        """The number of the last commit that was read or written."""
        return (self._written.commit,)

    def stored(self) -> Seen:
        """The number of the last commit, before it is read."""
        with self._complaints():
            manifest = self._journal.manifest()
            commit = int(json.loads(manifest or b"{}").get("commit", -1))
            logged = logged_after(self._journal, manifest, commit)
            return (logged[-1].number if logged else commit,)

    @property
    def refusal(self) -> str:
        """Why a place that is read only is not written, and what to do."""
        return f"{self.place} was opened to be read only: open it without read_only to change it"

    def close(self) -> None:
        """Release the folder for others, when a snapshot in the background is written. Idempotent.

        The database gets what is in the log before. If that fails, the log stays.
        """
        self.settle()
        journal = getattr(self, "_journal", None)  # missing if opening was interrupted
        lock = getattr(self, "_lock", None)
        if journal is not None and lock is not None and not lock.closed and os.getpid() == self._process:
            with suppress(CorollaryError):
                held(self._busy, self._empty_log)
        if journal is not None:
            journal.close()
        if lock is not None:
            unlock(lock, self._process)

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
                found = json.loads(self._journal.manifest() or b"{}").get("checkpoint")
                checkpoint = None if found is None else Checkpoint.of_list(found)
                snapshot = None if checkpoint is None else mapped(self.place, checkpoint)
                if checkpoint is None or snapshot is None:
                    if (finding := self._journal.pragma("quick_check")) != "ok":
                        raise damage(self.place, finding)
                    written, tables, quads = read_all(self._journal, progress)
                    dictionary = TermDictionary.of_tables(tables)
                else:
                    dictionary = snapshot.dictionary
                    written, quads = read_after(self._journal, checkpoint, snapshot, progress)
                version = version_of(dictionary, quads, dict(written.others or {}))
        except NONSENSE as error:
            raise damage(self.place, f"a row makes no sense: {error}") from error
        self._written = replace(written, version=version)
        self._has_snapshot = snapshot is not None
        if self.read_only:
            self.close()
        else:
            remove_others(self.place, None if snapshot is None else written.checkpoint)
        return version, snapshot

    def findings(self) -> list[str]:
        """Read the folder again. Returns what is damaged, or differs from the last commit or from memory.

        For a reader, see ``findings_in``.
        """
        if self.read_only:
            return findings_in(self.place, self._written)
        return held(self._busy, self._findings, None)

    def _findings(self, known: Written | None) -> list[str]:
        """As ``findings``, compared with the commit ``known``; None: with what this store wrote last.

        A reader compares nothing without ``known``, or if there is a later commit.
        """
        try:
            with self._complaints():
                found = [text for (text,) in self._journal.run("PRAGMA integrity_check") if text != "ok"]
                self._refuse_other_file()
                self._catch_up()
                written, tables, quads = read_all(self._journal)
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
            if any(True for _ in changes_between(version.quads, quads)):
                found.append(f"{self.place}: the facts are not those in memory")
        return found

    # Writing

    def has_written(self, version: Version) -> bool:
        """Whether ``version`` is the last commit, even if its ``write`` was interrupted."""
        # a fork writes nothing, and a thread of its parent may hold the lock
        if os.getpid() == self._process:
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
            written = Written(written.commit, rewritten=written.rewritten + 1)
        others = others_of(version, written.version, written.others)
        known = written.others or {}
        new = {} if others is known else {n: text for n, text in others.items() if text != known.get(n)}
        counts = tuple(map(dictionary.count, BULK_KINDS))
        changes = list(changes_between(written.quads, version.quads))
        if not changes and not new:  # new terms without facts are written later
            self._written = replace(written, version=version)
            return
        size = sum(counts) - sum(written.counts) + sum(keys.size for *_, keys in changes)
        is_small = written.version is not None and size <= MAX_LOGGED
        if is_small and is_as_left:
            terms = terms_between(dictionary, written.counts, counts)
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
        written: Written,
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
            self._journal.run("DELETE FROM terms")
            self._journal.run("DELETE FROM changes")
        stored = written.in_database
        after = write_terms(self._journal, stored, version.terms.dictionary, counts)
        after = write_changes(self._journal, after, version.quads, written.changes_since(changes))
        for name, content in others.items():
            if (stored.others or {}).get(name) != content:
                self._journal.insert("others", name, content)
        if checkpoint is not None and after.rewritten == written.rewritten:
            after = replace(after, checkpoint=checkpoint)
        number = written.commit + 1 if is_new else written.commit
        after = replace(after, commit=number, version=version, others=others, takes_log=log is not None)
        self._journal.describe(after)
        self._proposed = after
        self._journal.run("COMMIT")
        self._written, self._proposed = replace(after, file=seen_in_file(self._file)), None
        self._log = log

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
        index = version.state.index
        if index.fact_count() < MIN_FACTS_TO_CHECKPOINT:
            return False
        size = (
            index.held() if closing else index.fact_count()
        )  # to look at all predicates takes a commit's time
        least = MIN_FACTS_PER_FACT_LEFT_AT_CLOSE if closing else MIN_FACTS_PER_FACT_AFTER_CHECKPOINT
        pays = (
            checkpoint is None
            or not self._has_snapshot
            or (closing and not checkpoint.file(self.place).exists())
            or least * (self._written.weight - checkpoint.weight) > size
            or (closing and contents_of(version).closed.fingerprint not in (None, checkpoint.fingerprint))
        )
        return pays and not _lists_closures(contents_of(version))

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
        if current_thread() is self._in_background and _lists_closures(contents):
            return None  # transactions have gone on: the modules no longer know what this version followed
        counts = tuple(map(contents.dictionary.count, BULK_KINDS))
        if counts != written.in_database.counts or written.stored is not None:
            self._write_again(written, version, counts, is_new=counts != written.counts)
        return _Draft(contents, self._written)

    def _write_again(
        self,
        written: Written,
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
        self._has_snapshot = True

    def _complaints(self) -> AbstractContextManager[None]:
        return complaints(self.place, read_only=self.read_only)

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
        self._journal.run("BEGIN")
        if self._journal.manifest() != self._written.in_database.manifest():
            raise CorollaryError(
                f"{self.place} was written by another process, which had found it without locks: nothing was "
                "changed there; save this store elsewhere, and open the folder again"
            )

    def shrink(self) -> None:
        """Return the space of deleted rows to the file system. The contents do not change."""
        try:
            held(self._busy, self._journal.run, "VACUUM")
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
            if self._journal.in_transaction:
                self._journal.run("ROLLBACK")
            proposed = self._proposed
            if proposed is not None:
                if proposed.stored is not None:
                    is_written = self._log is not None and self._log.settle(proposed.line)
                else:
                    is_written = self._journal.has(proposed)
                if is_written:
                    self._written = proposed
                self._proposed = None

    def _refuse_other_file(self) -> None:
        """Raise CorollaryError if the open file is no longer the database at ``place``."""
        if not is_file_of(self._lock, self.place):
            raise CorollaryError(
                f"{self.place}: what was opened there has been removed or replaced, and nothing is kept any "
                "more: save this store elsewhere, or put the folder back as it was"
            )


def findings_in(place: Path, known: Written | None = None) -> list[str]:
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


def _lists_closures(contents: Contents) -> bool:
    """Whether a snapshot would mostly list facts that are held compressed. Cost: the number of predicates."""
    relations = sorted(contents.facts.relations())
    stored = {closure.row for closure in closures_of(relations, contents.bases)}
    rows = (relation for row, (_, relation) in enumerate(relations) if row not in stored)
    unlisted = sum(len(relation) for relation in rows if relation.is_compressed)
    others = contents.facts.fact_count() - unlisted + contents.quads.union.fact_count()
    return unlisted > MAX_FACTS_LISTED_PER_FACT * others


def _close(journal: Journal, busy: AbstractContextManager[object], process: int) -> None:
    """Close a connection when no thread uses it: at the exit of a process, one may write a snapshot.

    Not so in a fork, where the thread that holds the lock is missing.
    """
    with busy if os.getpid() == process else nullcontext():
        journal.close()
