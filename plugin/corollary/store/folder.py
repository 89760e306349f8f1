"""A store's folder: one SQLite database of columns, which a commit makes longer by what it changes.

1. ``terms`` are the dictionary's texts, kind by kind, in the order of their ids.
2. ``changes`` are facts that came to, or went from, one relation of one graph. Read in order, the last word
   on a fact counts.
3. ``others`` is what is small, and written whole when it differs: names of graphs, prefixes, formulas.

A commit is one transaction of SQLite, forced to the disk, so a crash at any moment leaves a whole number of
commits. The plain rollback journal is used and not the write-ahead log: what we write is appended, which the
former does once and the latter twice. SQLite finds damage to its own structure; checksums find the rest.

Invariant: the database is locked from opening to closing, so what was read or written last is what is there.
"""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from itertools import pairwise
from pathlib import Path
from typing import Any
from zlib import crc32

import numpy as np

from corollary.kernels.sorted import Keys, Mask
from corollary.kernels.texts import Bytes, Places
from corollary.language import CorollaryError
from corollary.store.quads import Journal, Quads
from corollary.terms.dictionary import BULK_KINDS, TermDictionary
from corollary.terms.texts import TextTable

DATABASE = "corollary.sqlite"

APPLICATION = int.from_bytes(b"Coro")
FORMAT_VERSION = 1

PIECE = 1 << 26
"""So many bytes go into one row; SQLite takes a billion at most."""

ROW = 16
"""A row costs about as much as so many facts, or terms, in it."""

FEW_ROWS = 1 << 10
"""So many rows are never too many."""

_TABLES = (
    "CREATE TABLE terms (sequence INTEGER PRIMARY KEY, kind, lengths, texts, checksum)",
    "CREATE TABLE changes (sequence INTEGER PRIMARY KEY, graph, predicate, added, facts, checksum)",
    "CREATE TABLE others (name PRIMARY KEY, content, checksum)",
    f"PRAGMA application_id = {APPLICATION}",
    f"PRAGMA user_version = {FORMAT_VERSION}",
)
_DAMAGE = (sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB)


class Folder:
    """The folder of an open store. Its errors are ``CorollaryError``, with the place and a remedy."""

    def __init__(self, place: Path, *, create: bool) -> None:
        """Open it, for nobody else. FileNotFoundError if there is no store, unless told to ``create`` it."""
        self.place = place
        self._process = os.getpid()
        self._counts = [0 for _ in BULK_KINDS]
        self._term_rows = 0
        self._weight = 0
        self._others: dict[str, bytes] = {}
        if place.exists() and not place.is_dir():
            raise CorollaryError(f"{place} is a file, and a store is kept in a folder: name another place")
        if not create and not (place / DATABASE).is_file():
            raise FileNotFoundError(place)
        with self._complaints():
            place.mkdir(parents=True, exist_ok=True)
            self._database = _connection(place)
            try:
                self._begin(create)
            except BaseException:
                self._database.close()
                raise

    def _begin(self, create: bool) -> None:
        """Lock the database, and see that it is ours."""
        run = self._database.execute
        run("PRAGMA synchronous = FULL")
        run("BEGIN EXCLUSIVE")
        if not self._pragma("schema_version"):  # SQLite takes the remains of a database for a new one
            if (self.place / DATABASE).stat().st_size:
                raise _damage(self.place, "it is cut off")
            if not create:
                raise FileNotFoundError(self.place)
            for statement in _TABLES:
                run(statement)
        elif self._pragma("application_id") != APPLICATION:
            raise CorollaryError(f"{self.place / DATABASE} is no store of Corollary: name another folder")
        elif (version := self._pragma("user_version")) != FORMAT_VERSION:
            raise CorollaryError(
                f"{self.place} is of format {version}, and this Corollary reads format {FORMAT_VERSION}: "
                "open it with the version that wrote it"
            )
        elif (finding := self._pragma("quick_check")) != "ok":
            raise _damage(self.place, finding)
        run("COMMIT")

    def _pragma(self, name: str) -> Any:
        return self._database.execute(f"PRAGMA {name}").fetchone()[0]

    def close(self) -> None:
        """Let others open it."""
        self._database.close()

    # Reading

    def read(self) -> tuple[TermDictionary, Quads, dict[str, bytes]]:
        """The terms, with the ids they had; the facts; and the others."""
        contents: list[list[Bytes]] = [[] for _ in BULK_KINDS]
        lengths: list[list[Places]] = [[] for _ in BULK_KINDS]
        changes: Journal = []
        with self._complaints():
            for kind, sizes, texts in self._rows("kind, lengths, texts FROM terms ORDER BY sequence"):
                lengths[kind].append(np.frombuffer(sizes, "<u4").astype(np.int64))
                contents[kind].append(np.frombuffer(texts, np.uint8))
            for graph, predicate, added, facts in self._rows(
                "graph, predicate, added, facts FROM changes ORDER BY sequence"
            ):
                changes.append((graph, predicate, bool(added), np.frombuffer(facts, "<u8")))
            self._others = dict(self._rows("name, content FROM others"))
        tables = [TextTable.of_parts(*parts) for parts in zip(contents, lengths, strict=True)]
        self._counts = list(map(len, tables))
        self._term_rows = sum(map(len, contents))
        self._weight = sum(ROW + keys.size for *_, keys in changes)
        graphs: dict[int, dict[int, Keys]] = {}
        for graph, predicate, keys, added in _last_words(changes):
            if added.any():
                graphs.setdefault(graph, {})[predicate] = keys[added]
        self._dictionary = TermDictionary.of_tables(tables)
        return self._dictionary, Quads.of(graphs), dict(self._others)

    def _rows(self, columns: str) -> Iterator[tuple[Any, ...]]:
        for checksum, *values in self._database.execute(f"SELECT checksum, {columns}"):
            if _checksum(*values) != checksum:
                raise _damage(self.place, "a checksum differs")
            yield tuple(values)

    # Writing

    def write(self, dictionary: TermDictionary, quads: Quads, others: Mapping[str, bytes]) -> None:
        """Write what is new, and clear the journal of the quads. If that fails, nothing is written.

        The dictionary and the quads are those that were read, or a changed copy of these quads.
        """
        assert dictionary is self._dictionary and quads.journal is not None
        if os.getpid() != self._process:
            raise CorollaryError(f"{self.place} is open in a parent of this process: write there")
        news = {name: content for name, content in others.items() if self._others.get(name) != content}
        counts = list(map(dictionary.count, BULK_KINDS))
        if not quads.journal and not news and counts == self._counts:
            return
        with self._complaints():
            self._database.execute("BEGIN")
            try:
                term_rows = self._write_terms(dictionary)
                weight = self._write_changes(quads, quads.journal)
                for name, content in news.items():
                    self._insert("others", name, content)
                self._database.execute("COMMIT")
            except BaseException:
                with suppress(sqlite3.Error):  # some errors roll back by themselves
                    self._database.execute("ROLLBACK")
                raise
        self._counts, self._term_rows, self._weight = counts, term_rows, weight
        self._others.update(news)
        quads.journal.clear()

    def _write_terms(self, dictionary: TermDictionary) -> int:
        """Write the terms that are new, or all if there are many small rows. How many rows there are."""
        starts, rows = self._counts, self._term_rows
        if rows > FEW_ROWS + len(dictionary) // ROW:
            self._database.execute("DELETE FROM terms")
            starts, rows = [0 for _ in BULK_KINDS], 0
        for kind, start in zip(BULK_KINDS, starts, strict=True):
            texts, lengths = dictionary.texts_from(kind, start)
            ends = np.cumsum(lengths)
            cuts = np.searchsorted(ends, np.arange(PIECE, texts.size, PIECE)).tolist()
            places = np.concatenate(([0], ends))
            for first, last in pairwise([0, *cuts, lengths.size]):
                if first < last:
                    sizes = lengths[first:last].astype("<u4").tobytes()
                    self._insert(
                        "terms", None, int(kind), sizes, texts[places[first] : places[last]].tobytes()
                    )
                    rows += 1
        return rows

    def _write_changes(self, quads: Quads, journal: Journal) -> int:
        """Write the changes, or all facts if more than half of what is there is out of date. Its weight."""
        changes = [
            (graph, predicate, is_added, keys[added == is_added])
            for graph, predicate, keys, added in _last_words(journal)
            for is_added in (False, True)
            if (added == is_added).any()
        ]
        weight: int = self._weight + sum(ROW + keys.size for *_, keys in changes)
        live = sum(
            ROW + len(relation) for index in quads.graphs.values() for _, relation in index.relations()
        )
        if weight > 2 * live + ROW * FEW_ROWS:
            self._database.execute("DELETE FROM changes")
            weight = live
            changes = [
                (graph, predicate, True, relation.keys())
                for graph, index in quads.graphs.items()
                for predicate, relation in index.relations()
            ]
        for graph, predicate, added, keys in changes:
            for start in range(0, keys.size, PIECE // 8):
                piece = keys[start : start + PIECE // 8].astype("<u8", copy=False).tobytes()
                self._insert("changes", None, graph, predicate, int(added), piece)
        return weight

    def _insert(self, table: str, *values: int | str | bytes | None) -> None:
        marks = ", ".join("?" * (len(values) + 1))
        self._database.execute(f"REPLACE INTO {table} VALUES ({marks})", (*values, _checksum(*values)))

    @contextmanager
    def _complaints(self) -> Iterator[None]:
        """What SQLite and the file system say, in terms of the store."""
        try:
            yield
        except sqlite3.Error as error:
            code = getattr(error, "sqlite_errorcode", 0) & 0xFF
            if code == sqlite3.SQLITE_BUSY:
                raise _in_use(self.place) from error
            if code in _DAMAGE:
                raise _damage(self.place, str(error)) from error
            raise CorollaryError(f"{self.place}: {error}; nothing was changed there") from error
        except UnicodeDecodeError as error:  # of the schema, which SQLite quotes
            raise _damage(self.place, "its own text is not UTF-8") from error
        except FileNotFoundError:
            raise
        except OSError as error:
            raise CorollaryError(
                f"{self.place}: {error.strerror}: name a folder that can be written"
            ) from error


def destroy(place: Path) -> None:
    """Remove a store, and its folder if nothing else is in it. CorollaryError if it is open."""
    if not (place / DATABASE).is_file():
        return
    connection = _connection(place)
    try:
        connection.execute("BEGIN EXCLUSIVE")
    except sqlite3.Error as error:
        if getattr(error, "sqlite_errorcode", 0) & 0xFF == sqlite3.SQLITE_BUSY:
            raise _in_use(place) from error
    finally:
        connection.close()
    for name in (DATABASE, f"{DATABASE}-journal"):
        (place / name).unlink(missing_ok=True)
    with suppress(OSError):
        place.rmdir()


def _connection(place: Path) -> sqlite3.Connection:
    """A connection that locks the database with its first transaction, until it is closed."""
    connection = sqlite3.connect(place / DATABASE, timeout=0, isolation_level=None, check_same_thread=False)
    connection.execute("PRAGMA locking_mode = EXCLUSIVE")
    return connection


def _in_use(place: Path) -> CorollaryError:
    return CorollaryError(f"{place} is open already, here or in another process: close it there first")


def _damage(place: Path, what: str) -> CorollaryError:
    return CorollaryError(
        f"{place / DATABASE} is damaged ({what}): put back a copy of it, or destroy the store"
    )


def _checksum(*values: int | str | bytes | None) -> int:
    checksum = 0
    for value in values:
        if value is not None:
            checksum = crc32(value if isinstance(value, bytes) else f"{value} ".encode(), checksum)
    return checksum


def _last_words(changes: Journal) -> Iterator[tuple[int, int, Keys, Mask]]:
    """By graph and predicate: the facts that changes speak of, sorted; and which of them are there now."""
    places: dict[tuple[int, int], list[tuple[bool, Keys]]] = {}
    for graph, predicate, is_added, keys in changes:
        places.setdefault((graph, predicate), []).append((is_added, keys))
    for (graph, predicate), entries in places.items():
        together = np.concatenate([keys for _, keys in entries])
        added = np.repeat([is_added for is_added, _ in entries], [keys.size for _, keys in entries])
        order = np.argsort(together, kind="stable")  # fast, as there are few sorted runs
        together, added = together[order], added[order]
        is_last = np.append(together[1:] != together[:-1], True)
        yield graph, predicate, together[is_last], added[is_last]
