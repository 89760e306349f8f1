"""The journal of a folder: a SQLite database of rows with checksums, and of a manifest.

Tables:

1. ``terms``: the texts of the dictionary, kind by kind, in the order of their ids.
2. ``changes``: facts added to, or removed from, one relation of one graph. Of the rows on one fact, the last
   one decides.
3. ``others``: small values, rewritten when they differ: names of graphs, prefixes, formulas; and the
   ``manifest``: the number of rows, the checksums over their checksums, the number of the last commit,
   the last checkpoint.

SQLite detects damage to its own structure. Checksums and the manifest detect flipped bits, and rows that are
missing, swapped or from another store.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from corollary.language import CorollaryError
from corollary.reasoner.checkpoints import Checkpoint, Rows
from corollary.reasoner.folder_contents import NOTHING_WRITTEN, Written, checksum_of
from corollary.reasoner.folder_place import DATABASE, connection, damage, in_use, unusable
from corollary.reasoner.tuning import MAX_JOURNAL_BYTES

APPLICATION = int.from_bytes(b"Coro")
FORMAT_VERSION = 3
APPENDED_FORMAT, LOGGED_FORMAT = 4, 5
FORMATS = (2, 3, APPENDED_FORMAT, LOGGED_FORMAT)
"""The formats that are read. A folder of format 2 has no checkpoint; its first one makes it format 3. It has
format 5 as long as it has a log of commits, or 4, if no zeros are behind its lines."""

MANIFEST = "manifest"

_TABLES = (
    "CREATE TABLE terms (sequence INTEGER PRIMARY KEY, kind, lengths, texts, checksum)",
    "CREATE TABLE changes (sequence INTEGER PRIMARY KEY, graph, predicate, added, facts, checksum)",
    "CREATE TABLE others (name PRIMARY KEY, content, checksum)",
    f"PRAGMA application_id = {APPLICATION}",
    f"PRAGMA user_version = {FORMAT_VERSION}",
)
_DAMAGE = (sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB)


class Journal:
    """The open database of a folder. Its methods also raise what SQLite raises: see ``complaints``."""

    def __init__(self, place: Path, *, read_only: bool) -> None:
        self.place, self.read_only = place, read_only
        self._connection = connection(place)
        self._format = FORMAT_VERSION  # without a checkpoint, and without a log

    def begin(self, *, create: bool) -> None:
        """Lock the database, check that it is a store of this format, create its tables if it is new."""
        run = self.run
        if self.read_only:
            run("PRAGMA query_only = ON")
            run("BEGIN")  # until all is read: a read transaction locks writers out
        else:
            run("PRAGMA locking_mode = EXCLUSIVE")
            run("PRAGMA synchronous = FULL")
            run(f"PRAGMA journal_size_limit = {MAX_JOURNAL_BYTES}")
            run("BEGIN EXCLUSIVE")
        if not self.pragma("schema_version"):  # new; or truncated, which SQLite reads as new
            if (self.place / DATABASE).stat().st_size:
                raise damage(self.place, "it is cut off")
            if not create:
                raise FileNotFoundError(self.place)
            for statement in _TABLES:
                run(statement)
            self.insert("others", MANIFEST, NOTHING_WRITTEN.manifest())
        elif self.pragma("application_id") != APPLICATION:
            raise CorollaryError(f"{self.place / DATABASE} is no store of Corollary: name another folder")
        elif (version := self.pragma("user_version")) not in FORMATS:
            raise CorollaryError(
                f"{self.place} is of format {version}, and this Corollary reads format {LOGGED_FORMAT}: "
                "open it with the version that wrote it"
            )
        self._format = min(self._format, self.pragma("user_version"))
        if not self.read_only:
            run("COMMIT")

    def run(self, statement: str, values: Sequence[int | str | bytes] = ()) -> sqlite3.Cursor:
        """Execute a statement of SQL."""
        return self._connection.execute(statement, values)

    def close(self) -> None:
        """Close the connection. Idempotent."""
        self._connection.close()

    def describe(self, written: Written) -> None:
        """Write the manifest and the format of ``written``, which the database contains after the COMMIT."""
        self.insert("others", MANIFEST, written.manifest())
        least = FORMAT_VERSION if written.checkpoint is not None else self._format
        self.run(f"PRAGMA user_version = {LOGGED_FORMAT if written.takes_log else least}")

    def has(self, written: Written) -> bool:
        """Whether the database contains ``written``."""
        return self.manifest() == written.manifest() and self.has_log == written.takes_log

    @property
    def in_transaction(self) -> bool:
        """Whether a transaction has begun, and has not ended."""
        return self._connection.in_transaction

    @property
    def has_log(self) -> bool:
        """Whether the last state of the database is followed by the lines of a log."""
        return self.pragma("user_version") in (APPENDED_FORMAT, LOGGED_FORMAT)

    def pragma(self, name: str) -> Any:
        """The value of a setting of SQLite."""
        return self.run(f"PRAGMA {name}").fetchone()[0]

    def manifest(self) -> bytes:
        """The stored manifest."""
        found = self.run("SELECT content FROM others WHERE name = ?", (MANIFEST,)).fetchone()
        return bytes(found[0]) if found and isinstance(found[0], bytes) else b""

    def rows(
        self, table: str, columns: str, after: int | None, key: str = "sequence"
    ) -> Iterator[tuple[Any, ...]]:
        """The rows of a table in the order of their key: key, checksum, columns. Verifies the checksums.

        ``after``: those with a larger key; None: all. Raises DamagedFolder.
        """
        condition = "" if after is None else f"WHERE {key} > {after}"
        for name, checksum, *values in self.run(
            f"SELECT {key}, checksum, {columns} FROM {table} {condition} ORDER BY {key}"
        ):
            if checksum_of(name, *values) != checksum:
                raise damage(self.place, "a checksum differs")
            yield name, checksum, *values

    def size_after(self, start: Checkpoint) -> int:
        """The bytes of texts and facts in the rows after a checkpoint; at least 1."""
        ((size,),) = self.run(
            "SELECT (SELECT TOTAL(LENGTH(texts)) FROM terms WHERE sequence > ?)"
            " + (SELECT TOTAL(LENGTH(facts)) FROM changes WHERE sequence > ?)",
            (start.terms.count, start.changes.count),
        )
        return max(1, int(size))

    def append(self, table: str, rows: Rows, *values: int | bytes) -> Rows:
        """Append a row."""
        return rows.with_row(self.insert(table, rows.count + 1, *values))

    def insert(self, table: str, *values: int | str | bytes) -> int:
        """Insert a row, or replace the row of the same key. Returns its checksum."""
        marks = ", ".join("?" * (len(values) + 1))
        checksum = checksum_of(*values)
        self.run(f"REPLACE INTO {table} VALUES ({marks})", (*values, checksum))
        return checksum


@contextmanager
def complaints(place: Path, *, read_only: bool) -> Iterator[None]:
    """Translate errors of SQLite and of the file system to ``CorollaryError``."""
    try:
        yield
    except sqlite3.Error as error:
        code = getattr(error, "sqlite_errorcode", 0) & 0xFF
        if code == sqlite3.SQLITE_BUSY:
            raise in_use(place) from error
        if code == sqlite3.SQLITE_READONLY and read_only:
            raise CorollaryError(
                f"{place}: its last commit was interrupted, and a process that may not write there "
                "cannot take it back: open it once as a user who may"
            ) from error
        if code in _DAMAGE:
            raise damage(place, str(error)) from error
        is_full = code == sqlite3.SQLITE_FULL
        remedy = ": free some space, and commit or close again" if is_full else ""
        raise CorollaryError(f"{place}: {error}; nothing was changed there{remedy}") from error
    except UnicodeDecodeError as error:  # in a message of SQLite that quotes a damaged schema
        raise damage(place, "its own text is not UTF-8") from error
    except FileNotFoundError:
        raise
    except OSError as error:
        raise unusable(place, error, "read" if read_only else "written") from error
