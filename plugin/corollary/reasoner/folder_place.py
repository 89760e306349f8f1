"""The place of a folder: its files, its lock, and how it is made and destroyed."""

from __future__ import annotations

import os
import sqlite3
import stat
from contextlib import suppress
from pathlib import Path
from time import monotonic, sleep
from typing import IO

from corollary.language import CorollaryError
from corollary.reasoner.checkpoints import remove_others
from corollary.reasoner.commit_log import LOG
from corollary.reasoner.tuning import SECONDS_BETWEEN_ATTEMPTS, SECONDS_FOR_READERS

try:
    import fcntl
except ImportError:  # Windows, where closing a copy of the file does not release locks
    fcntl = None  # type: ignore[assignment]

DATABASE = "corollary.sqlite"


class DamagedFolder(CorollaryError):
    """The contents of a folder are not what was written there."""


class FolderInUse(CorollaryError):
    """The folder is locked, here or in another process."""


def refuse_place(place: Path, *, create: bool, read_only: bool) -> None:
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
        raise unusable(Path(place), error, how) from error


def remove_empty(place: Path) -> None:
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
        lock = locked(place, is_shared=False, create=False)
    except FileNotFoundError:
        return
    except OSError as error:
        raise unusable(place, error) from error
    database = connection(place)
    try:
        database.execute("BEGIN EXCLUSIVE")
        for name in (DATABASE, f"{DATABASE}-journal", LOG):
            (place / name).unlink(missing_ok=True)
        remove_others(place, None)
        with suppress(OSError):
            place.rmdir()
    except sqlite3.Error as error:
        if getattr(error, "sqlite_errorcode", 0) & 0xFF == sqlite3.SQLITE_BUSY:
            raise in_use(place) from error
        raise CorollaryError(f"{place}: {error}; nothing was changed there") from error
    except OSError as error:
        raise unusable(place, error) from error
    finally:
        database.close()
        unlock(lock, os.getpid())


def connection(place: Path) -> sqlite3.Connection:
    """A connection that raises at once, without waiting, where the database is locked."""
    return sqlite3.connect(place / DATABASE, timeout=0, isolation_level=None, check_same_thread=False)


def _is_other_than_folder(place: Path) -> bool:
    try:
        return not stat.S_ISDIR(place.stat().st_mode)
    except FileNotFoundError:
        return False
    except ValueError as error:  # a character that is not allowed in paths
        raise unusable(place, error) from error


def is_file_of(file: IO[bytes], place: Path) -> bool:
    """Whether an open file is the database at ``place``."""
    try:
        return os.path.samestat(os.fstat(file.fileno()), os.stat(place / DATABASE))
    except FileNotFoundError:
        return False


def locked(place: Path, *, is_shared: bool, create: bool) -> IO[bytes]:
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
            raise in_use(place) from error
        except OSError:
            pass  # the file system does not support flock: SQLite's own locks remain
        if is_file_of(file, place):
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


def unlock(file: IO[bytes], process: int) -> None:
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


def unusable(place: Path, error: OSError | ValueError, how: str = "written") -> CorollaryError:
    reason = getattr(error, "strerror", None) or str(error)
    return CorollaryError(f"{place}: {reason}: name a folder that can be {how}")


def in_use(place: Path) -> FolderInUse:
    return FolderInUse(f"{place} is open already, here or in another process: close it there first")


def damage(place: Path, what: str) -> DamagedFolder:
    return DamagedFolder(
        f"{place / DATABASE} is damaged ({what}): put back a copy of it, or destroy the store"
    )
