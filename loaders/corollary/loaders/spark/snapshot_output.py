"""A data set that Spark writes, in the form that was asked for: a folder, or a snapshot file.

A snapshot is one file, so one process writes it: the driver reads the complete data set from its folder, and
writes the file. Precondition: the data set fits into the driver's memory, in both orders.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from tempfile import TemporaryDirectory
from uuid import uuid4

from corollary.loaders.spark.storage import SNAPSHOT_SUFFIX, Storage, local_path, scratch

QUARANTINE = "quarantine"
"""The folder of bad lines within a data set."""


def quarantine_of(target: str) -> str:
    """Where the bad lines of a load are: within a data set, beside a snapshot."""
    return f"{target}.{QUARANTINE}" if target.endswith(SNAPSHOT_SUFFIX) else f"{target}/{QUARANTINE}"


@contextmanager
def data_set_output(storage: Storage, output: str) -> Iterator[str]:
    """As ``Storage.output``; the data set is converted if ``output`` is the name of a snapshot.

    Raises InputError if something else than a data set, or a snapshot, is at ``output``.
    """
    target = storage.full(output)
    if not target.endswith(SNAPSHOT_SUFFIX):
        with storage.output(target) as folder:
            yield folder
        return
    storage.check_file(target)
    partial = storage.beside(target)
    try:
        yield partial
        storage.delete(scratch(partial))
        _convert(storage, partial, target)
        storage.delete(quarantine_of(target))
        if storage.exists(f"{partial}/{QUARANTINE}"):
            storage.rename(f"{partial}/{QUARANTINE}", quarantine_of(target))
    finally:
        with suppress(Exception):  # Spark may have stopped; the first error is the one to report
            storage.delete(partial)


def _convert(storage: Storage, folder: str, target: str) -> None:
    """Write the snapshot of a data set, which appears as a whole. Only local files can be mapped."""
    from corollary.loaders.opened_data_sets import contents_of_data_set
    from corollary.reasoner.snapshot_file import write_snapshot

    local = local_path(folder)
    if local is not None:
        place = local.parent / target.rpartition("/")[2]
        write_snapshot(place, contents_of_data_set(local))
        return
    with TemporaryDirectory() as name:
        data_set, place = Path(name) / "data-set", Path(name) / f"{uuid4().hex}{SNAPSHOT_SUFFIX}"
        storage.copy(folder, data_set.as_uri())
        write_snapshot(place, contents_of_data_set(data_set))
        partial = storage.beside(target)
        try:
            storage.copy(place.as_uri(), partial)
            storage.replace(partial, target)
        except BaseException:
            with suppress(Exception):
                storage.delete(partial)
            raise
