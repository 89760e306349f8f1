"""Reading and writing a folder's contents: the rows of its journal, and the lines of its log.

What is read is compared with the manifest and its checksums; ids of terms that are not stored are refused.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace
from itertools import pairwise
from zlib import crc32

import numpy as np

from corollary.columns.pairs import Pairs
from corollary.kernels.byte_texts import Bytes, Places
from corollary.kernels.limits import Progress, no_progress
from corollary.kernels.sorted import Keys
from corollary.reasoner.checkpoints import NO_ROWS, Checkpoint, Rows
from corollary.reasoner.commit_log import LOG, LoggedChange, LoggedCommit, logged_commits
from corollary.reasoner.contents import NAMES, NONSENSE
from corollary.reasoner.folder_contents import NOTHING_WRITTEN, Written, last_words
from corollary.reasoner.folder_place import damage
from corollary.reasoner.journal import MANIFEST, Journal
from corollary.reasoner.quads import Change, Quads
from corollary.reasoner.snapshot_file import MappedSnapshot
from corollary.reasoner.tuning import MAX_BYTES_PER_ROW, MIN_ROWS_TO_REWRITE, ROW_COST_IN_FACTS
from corollary.terms.dictionary import BULK_KINDS, INDEX_MASK, KIND_SHIFT, Kind, TermDictionary
from corollary.terms.texts import TextTable

_Terms = tuple[int, Bytes, Places]
"""Kind, the texts end to end, their lengths in bytes."""

_NO_CHECKPOINT = Checkpoint(0, 0, None, (0,) * len(BULK_KINDS), NO_ROWS, NO_ROWS, 0)


def read_all(journal: Journal, progress: Progress = no_progress) -> tuple[Written, list[TextTable], Quads]:
    """Read all rows and compare them with the manifest. Raises DamagedFolder if they differ."""
    written, terms, changes = _read(journal, _NO_CHECKPOINT, progress)
    tables = [
        TextTable.of_parts((texts, lengths) for of, texts, lengths in terms if of == kind)
        for kind in BULK_KINDS
    ]
    graphs: dict[int, dict[int, Keys]] = {}
    for graph, predicate, keys, is_added in last_words(changes):
        if is_added.any():
            graphs.setdefault(graph, {})[predicate] = keys[is_added]
    return written, tables, Quads.of(graphs)


def read_after(
    journal: Journal, checkpoint: Checkpoint, snapshot: MappedSnapshot, progress: Progress
) -> tuple[Written, Quads]:
    """As ``read_all``, over a snapshot: the rows after it. Adds their terms to its dictionary."""
    written, terms, changes = _read(journal, checkpoint, progress)
    for kind, content, lengths in terms:
        ends = np.cumsum(lengths)
        texts = [bytes(content[end - n : end]) for n, end in zip(lengths, ends, strict=True)]
        snapshot.dictionary.extend(Kind(kind), [text.decode("utf-8", "surrogatepass") for text in texts])
    quads = snapshot.quads.changed(
        Change(graph, predicate, keys[~is_added], Pairs(keys[is_added]))
        for graph, predicate, keys, is_added in last_words(changes)
    )
    graphs = {graph: index for graph, index in quads.graphs.items() if index.fact_count()}
    return written, replace(quads, graphs=graphs)


def _read(
    journal: Journal, start: Checkpoint, progress: Progress
) -> tuple[Written, list[_Terms], list[LoggedChange]]:
    """Read the rows after a checkpoint, and compare them with the manifest.

    Raises DamagedFolder if they differ, or mention unknown terms.
    """
    terms, changed, counts = start.terms, start.changes, list(start.counts)
    new: list[_Terms] = []
    changes: list[LoggedChange] = []
    size, done, facts = journal.size_after(start), 0, 0
    for number, checksum, kind, sizes, texts in journal.rows("terms", "kind, lengths, texts", terms.count):
        terms = _in_order(journal, terms, number, checksum)
        lengths = np.frombuffer(sizes, "<u4").astype(np.int64)
        if int(lengths.sum()) != len(texts) or not lengths.all():
            raise damage(journal.place, "terms are cut off")
        new.append((kind, np.frombuffer(texts, np.uint8), lengths))
        counts[kind] += lengths.size
        done += len(texts)
        progress("reading the journal", 0, done / size)
    for number, checksum, graph, predicate, added, content in journal.rows(
        "changes", "graph, predicate, added, facts", changed.count
    ):
        changed = _in_order(journal, changed, number, checksum)
        keys = np.frombuffer(content, "<u8")
        changes.append((graph, predicate, bool(added), keys))
        done, facts = done + len(content), facts + keys.size
        progress("reading the journal", facts, done / size)
    others = {name: content for name, _, content in journal.rows("others", "content", None, "name")}
    manifest = others.pop(MANIFEST, b"{}")
    known = json.loads(manifest)
    written = Written(
        int(known.get("commit", -1)),
        None,
        tuple(counts),
        terms,
        changed,
        start.weight + sum(ROW_COST_IN_FACTS + keys.size for *_, keys in changes),
        others,
        Checkpoint.of_list(known["checkpoint"]) if "checkpoint" in known else None,
        takes_log=journal.has_log,
    )
    if written.manifest() != manifest or (others and set(others) != set(NAMES)):
        raise damage(journal.place, "rows are missing, or are not its own")
    written, more_terms, more_changes = _read_log(journal, written, manifest)
    _refuse_unknown_terms(journal, written, changes)
    return written, new + more_terms, changes + more_changes


def _read_log(
    journal: Journal, written: Written, manifest: bytes
) -> tuple[Written, list[_Terms], list[LoggedChange]]:
    """Read the log, as ``_read``. ``written`` is what the database contains."""
    logged = logged_after(journal, manifest, written.commit)
    for commit in logged:
        written = written.with_logged(commit, None)
    changes = [change for commit in logged for change in commit.changes]
    if changes:
        places = np.array([place[:2] for place in changes], np.uint64).ravel()
        _refuse_unknown(journal, places, np.concatenate([keys for *_, keys in changes]), written.counts)
    return written, list(_encoded(logged)), changes


def logged_after(journal: Journal, manifest: bytes, number: int) -> list[LoggedCommit]:
    """The commits in the log that follow the state of the database. Raises DamagedFolder."""
    if not journal.has_log:
        return []
    log = journal.place / LOG
    if log.exists() and not log.is_file():
        raise damage(journal.place, f"{LOG} is no file")  # to read a pipe or a device may take forever
    try:
        content = log.read_bytes()
    except FileNotFoundError as error:
        raise damage(journal.place, f"{LOG} is missing") from error
    try:
        return list(logged_commits(content, crc32(manifest), number))
    except NONSENSE as error:
        raise damage(journal.place, f"{LOG}: {error}") from error


def _refuse_unknown_terms(journal: Journal, written: Written, changes: list[LoggedChange]) -> None:
    """Raise DamagedFolder if changes, or the other contents, mention unknown terms."""
    for graph, predicate, _, keys in changes:
        _refuse_unknown(journal, np.array([graph, predicate], np.uint64), keys, written.counts)
    for name, packed in (written.others or {}).items():
        if name != "prefixes":
            ids = np.frombuffer(packed, "<u4").astype(np.uint64)
            _refuse_unknown(journal, ids, ids, written.counts)


def _refuse_unknown(journal: Journal, ids: Keys, keys: Keys, counts: tuple[int, ...]) -> None:
    """Raise DamagedFolder if an id, or one half of a packed key, is not the id of a stored term."""
    for column in (ids, keys >> np.uint64(32), keys & np.uint64(0xFFFFFFFF)):
        kinds = column >> np.uint64(KIND_SHIFT)
        known = np.array([*counts, 0], np.uint64)[kinds]
        if ((column & np.uint64(INDEX_MASK)) >= known).any():
            raise damage(journal.place, "it mentions terms that it does not have")


def _in_order(journal: Journal, rows: Rows, number: int, checksum: int) -> Rows:
    if number != rows.count + 1:
        raise damage(journal.place, "rows are missing")
    return rows.with_row(checksum)


def _encoded(commits: list[LoggedCommit]) -> Iterator[_Terms]:
    """The terms of commits in the log, as they are read from the database."""
    for kind in BULK_KINDS:
        texts = [text for commit in commits for of, texts in commit.terms if of == kind for text in texts]
        encoded = [text.encode("utf-8", "surrogatepass") for text in texts]
        if encoded:
            lengths = np.fromiter(map(len, encoded), np.int64, len(encoded))
            yield int(kind), np.frombuffer(b"".join(encoded), np.uint8), lengths


def write_terms(
    journal: Journal, written: Written, dictionary: TermDictionary, counts: tuple[int, ...]
) -> Written:
    """Append the new terms. Rewrites all if there are many small rows: then no checkpoint covers them."""
    starts, rows = written.counts, written.terms
    if rows.count > MIN_ROWS_TO_REWRITE + sum(counts) // ROW_COST_IN_FACTS:
        journal.run("DELETE FROM terms")
        starts, rows = NOTHING_WRITTEN.counts, NO_ROWS
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
                    rows = journal.append("terms", rows, int(kind), sizes, piece)
    return replace(written, counts=counts, terms=rows)


def write_changes(journal: Journal, written: Written, quads: Quads, changes: list[LoggedChange]) -> Written:
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
        journal.run("DELETE FROM changes")
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
            rows = journal.append("changes", rows, graph, predicate, int(added), piece.tobytes())
            weight += ROW_COST_IN_FACTS + piece.size
    return replace(written, changes=rows, weight=weight)
