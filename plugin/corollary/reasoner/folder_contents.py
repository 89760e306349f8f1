"""What a folder contains after a commit, and how commits differ."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any
from zlib import crc32

import numpy as np

from corollary.kernels.sorted import Keys, Mask
from corollary.reasoner.checkpoints import NO_ROWS, Checkpoint, Rows
from corollary.reasoner.commit_log import LoggedChange, LoggedCommit
from corollary.reasoner.persistence import Seen
from corollary.reasoner.quads import Quads
from corollary.reasoner.tuning import ROW_COST_IN_FACTS
from corollary.reasoner.version import Version
from corollary.terms.dictionary import BULK_KINDS, KIND_SHIFT, TermDictionary

_Logged = tuple["_Logged | None", list[LoggedChange]]
"""The changes of the commits in the log: those of the former ones, and those of the last one."""


@dataclass(frozen=True)
class Written:
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
    stored: Written | None = field(default=None, compare=False)
    logged: _Logged | None = field(default=None, compare=False)
    line: bytes = field(default=b"", compare=False)
    takes_log: bool = field(default=False, compare=False)
    file: Seen = field(default=(), compare=False)

    @property
    def in_database(self) -> Written:
        """What the database contains."""
        return self.stored or self

    def with_logged(self, commit: LoggedCommit, version: Version | None, line: bytes = b"") -> Written:
        """With a commit in the log, after which the folder has ``version``."""
        counts = list(self.counts)
        for kind, texts in commit.terms:
            counts[kind] += len(texts)
        after = object.__new__(Written)  # as dataclasses.replace, but cheaper
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
            for graph, predicate, keys, is_added in last_words(together)
            for added in (False, True)
            if (is_added == added).any()
        ]

    @property
    def quads(self) -> Quads:
        return Quads() if self.version is None else self.version.quads

    def manifest(self) -> bytes:
        others = {name: checksum_of(name, content) for name, content in sorted((self.others or {}).items())}
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


NOTHING_WRITTEN = Written()


def checksum_of(*values: int | str | bytes) -> int:
    checksum = 0
    for value in values:
        checksum = crc32(value if isinstance(value, bytes) else f"{value} ".encode(), checksum)
    return checksum


def terms_between(
    dictionary: TermDictionary, before: tuple[int, ...], after: tuple[int, ...]
) -> list[tuple[int, list[str]]]:
    """The terms of a dictionary that are new, by kind."""
    return [
        (int(kind), dictionary.decode_all(range(kind << KIND_SHIFT | start, kind << KIND_SHIFT | end)))
        for kind, start, end in zip(BULK_KINDS, before, after, strict=True)
        if start < end
    ]


def changes_between(before: Quads, after: Quads) -> Iterator[LoggedChange]:
    """The facts removed from and added to the graphs, by graph and predicate; without formulas."""
    for graph, predicate, removed, added in after.since_by_graph(before):
        if removed.size:
            yield graph, predicate, False, removed
        if len(added):
            yield graph, predicate, True, added.keys


def last_words(changes: list[LoggedChange]) -> Iterator[tuple[int, int, Keys, Mask]]:
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
