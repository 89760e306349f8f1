"""Opening a folder: the stored version replaces the reasoner's version.

Invariants, whatever exception is raised at whichever line: the reasoner has its former version, or the whole
stored one. A folder that no reasoner holds is closed, at the latest when its thread opens the next folder
(``Folder``).
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from pathlib import Path
from weakref import ref

from corollary.columns import TripleIndex
from corollary.kernels.limits import Progress, no_progress
from corollary.language import CorollaryError, Program
from corollary.reasoner.checkpoints import latest, number_of
from corollary.reasoner.contents import with_others
from corollary.reasoner.folder import Folder, findings_in
from corollary.reasoner.folder_place import DATABASE, FolderInUse, destroy, has_store
from corollary.reasoner.options import Options
from corollary.reasoner.persistence import Seen, seen_in_file
from corollary.reasoner.quads import Quads
from corollary.reasoner.read_only_source import ReadOnlySource
from corollary.reasoner.snapshot_file import MappedSnapshot
from corollary.reasoner.term_format import TermView
from corollary.reasoner.version import Version
from corollary.reasoner.versions import Closed, Versions
from corollary.terms.dictionary import TermDictionary

Revive = Callable[[Version], Version]
"""Restores, in a version that was read, what stored texts do not contain."""

Adopt = Callable[[Version | Closed, Version], Version]
"""Maps the version before and the version read to the version that is published."""

BeginAt = Callable[[Version, Quads, TripleIndex, Program, bool], None]
"""Lets the derivation of a version begin at facts E and I, which are known, the program by which I is closed,
and ``schema_is_alone`` of I."""


def open_folder(
    versions: Versions,
    place: Path,
    options: Options,
    terms_over: Callable[[TermDictionary], TermView],
    create: bool,
    revive: Revive,
    adopt: Adopt,
    begin_at: BeginAt,
    progress: Progress,
) -> bool:
    """See ``Reasoner.open_folder``. ``begin_at`` receives the E and I of a snapshot to be followed."""
    refuse_to_open(versions)
    try:
        folder = Folder(place, create=create, read_only=options.read_only, is_used=_use(versions))
    except FileNotFoundError:
        return False
    except FolderInUse:
        if not options.read_only:
            raise
        beside = _version_in_last_checkpoint(place, options, terms_over, revive)
        _publish_at(versions, *beside, options, adopt, begin_at)
        return True
    try:
        version, snapshot = _version_in(folder, options, terms_over, revive, progress)
        _publish_at(versions, version, snapshot, options, adopt, begin_at)
    except BaseException:
        if versions.persistence() is not folder:
            folder.close()
        raise
    return True


def _publish_at(
    versions: Versions,
    version: Version,
    snapshot: MappedSnapshot | None,
    options: Options,
    adopt: Adopt,
    begin_at: BeginAt,
) -> None:
    """Publish a version that was read, which follows a snapshot if there is one under known rules."""
    if snapshot is not None and options.has_rules:
        program = snapshot.closed.program(options)
        if program is not None:
            begin_at(version, snapshot.quads, snapshot.facts, program, snapshot.closed.schema_is_alone)
    versions.change(_replaced, version, adopt)


def _version_in_last_checkpoint(
    place: Path, options: Options, terms_over: Callable[[TermDictionary], TermView], revive: Revive
) -> tuple[Version, MappedSnapshot]:
    """The version in the last snapshot of a folder that another store writes, and the snapshot.

    Raises FolderInUse if there is none; CorollaryError if it is damaged.
    """
    snapshot = latest(place)
    if snapshot is None:
        raise FolderInUse(
            f"{place} is open already for writing, and has no checkpoint to read: call checkpoint() there, "
            "or close it"
        )
    warnings.warn(
        f"{place} is open for writing: its last checkpoint is read, without later commits", stacklevel=2
    )
    refusal = f"{place} was opened to be read only, and another store writes it: make changes there"
    source = ReadOnlySource(place, refusal, partial(findings_in, place), (number_of(snapshot.place),))
    return revive(snapshot.version(terms_over, options, source)), snapshot


def version_in_snapshot(
    place: Path, options: Options, terms_over: Callable[[TermDictionary], TermView]
) -> tuple[Version, MappedSnapshot]:
    """The version in a snapshot file, which is never written, and the file.

    Raises InputError if I is closed under other rules than those of the options; CorollaryError if the file
    cannot be read, or is damaged.
    """
    source = ReadOnlySource.of_file(place, "a snapshot", lambda: MappedSnapshot(place).check_whole())
    snapshot = MappedSnapshot(place)
    if snapshot.closed.rules is not None or options.has_rules:
        snapshot.closed.refuse_others(options, place)
    return snapshot.version(terms_over, options, source), snapshot


def later_version(
    place: Path,
    seen: Seen,
    options: Options,
    terms_over: Callable[[TermDictionary], TermView],
    revive: Revive,
) -> tuple[Version, MappedSnapshot | None] | None:
    """What a folder, or a snapshot file, contains now: a version, and the snapshot it follows.

    None if a reader has ``seen`` it. Beside a writer, the last checkpoint is read, if it is later. Raises as
    ``Reasoner.open`` does.
    """
    if not (place / DATABASE).is_file():
        if seen_in_file(place) == seen:
            return None
        version, found = version_in_snapshot(place, options, terms_over)
        return revive(version), found
    try:
        folder = Folder(place, read_only=True, is_used=lambda _: False)
    except FolderInUse:
        snapshot = latest(place)
        if snapshot is None or (number_of(snapshot.place),) <= seen:
            return None
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # opening has warned
            return _version_in_last_checkpoint(place, options, terms_over, revive)
    try:
        return None if folder.stored() == seen else _version_in(folder, options, terms_over, revive)
    finally:
        folder.close()


def refreshed(before: Version, version: Version, adopt: Adopt) -> Version:
    """What was read again takes the place of ``before``. Stays: its prefixes, and that graphs are named."""
    graphs = {version.terms.default, *version.quads.graphs}
    named = {version.terms.id_of(before.terms[graph]) for graph in before.named} & graphs
    version = replace(version.with_prefixes_of(before), named=version.named | named)
    return adopt(before, version).as_committed()


def refuse_to_open(versions: Versions) -> None:
    """Raise CorollaryError if nothing must replace the present version."""
    before = versions.current()
    if isinstance(before, Closed):
        before.finish()
    else:
        _refuse_to_replace(before)


def publish(versions: Versions, version: Version, adopt: Adopt) -> None:
    """Replace the version by one that was read. Raises CorollaryError if nothing must replace it."""
    versions.change(_replaced, version, adopt)


def save_in_folder(versions: Versions, place: Path) -> None:
    """See ``Reasoner.save``."""
    kept = versions.persistence()
    if kept is not None and not kept.read_only:
        raise CorollaryError(f"the store is kept in {kept.place} already: close it, and copy that folder")
    if has_store(place):
        raise CorollaryError(f"{place} has a store already: name another folder, or destroy it first")
    folder = Folder(place, create=True, is_used=_use(versions))
    try:
        while versions.persistence() is not folder:  # another thread may have changed the version meanwhile
            before = versions.current()
            length = before.length
            saved = before.applied().changed(persistence=folder).as_committed()
            folder.write(saved)
            versions.change(_saved, before, length, saved)
    except BaseException:
        if versions.persistence() is not folder:
            folder.close()
            destroy(place)
        raise
    if kept is not None:
        kept.close()
    versions.after_commit()
    folder.settle()


def _saved(version: Version, before: Version, length: int, saved: Version) -> Version:
    """``saved``, which was made of ``before``; the version itself if it is another one by now."""
    return saved if version is before and version.length == length else version


def _version_in(
    folder: Folder,
    options: Options,
    terms_over: Callable[[TermDictionary], TermView],
    revive: Revive,
    progress: Progress = no_progress,
) -> tuple[Version, MappedSnapshot | None]:
    """Read the version that a folder contains, and the snapshot that it follows."""

    def version(dictionary: TermDictionary, quads: Quads, others: dict[str, bytes]) -> Version:
        read = Version(terms_over(dictionary), options, quads, persistence=folder)
        return revive(with_others(read, others))

    return folder.read(version, progress)


def _use(versions: Versions) -> Callable[[Folder], bool]:
    """A test whether the reasoner holds a folder; a weak reference, false when the reasoner is collected."""
    of_reasoner = ref(versions)

    def is_used(folder: Folder) -> bool:
        alive = of_reasoner()
        return alive is not None and alive.persistence() is folder

    return is_used


def _refuse_to_replace(version: Version) -> None:
    """Raise CorollaryError if a folder must not replace ``version``."""
    if version.persistence is not None:
        raise CorollaryError(f"the store is open already, in {version.persistence.place}: close it first")
    quads = version.applied().quads
    if quads.union.fact_count() or quads.formulas:
        raise CorollaryError("the store holds triples already: open a folder first, then add them")


def _replaced(before: Version, version: Version, adopt: Adopt) -> Version:
    """The stored version, with the prefixes and named graphs of ``before``, which has no facts."""
    named: set[int] = set()
    if not isinstance(before, Closed):
        _refuse_to_replace(before)
        version = version.with_prefixes_of(before)
        named = {version.terms.id_of(before.terms[graph]) for graph in before.named}
    version = replace(version, named=version.named | named)
    return adopt(before, version).as_committed()
