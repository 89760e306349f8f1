"""Folders on the file systems of Spark: listed, written and renamed by Spark's driver.

Invariant: a folder made by ``output`` gets its name when it is complete, or never. On file systems with an
atomic rename of folders (a local disk, HDFS) this is one step. Object stores rename file by file: a reader in
between finds that files of the manifest are missing, and refuses the data set.
"""

from __future__ import annotations

import io
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO
from uuid import uuid4

from corollary.columns.column_file import MAGIC
from corollary.language.errors import CorollaryError
from corollary.loaders.encoded_format import MANIFEST
from corollary.loaders.formats import input_error

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

SNAPSHOT_SUFFIX = ".snapshot"

SIGNS_OF_PATTERNS = frozenset("*?[]{}\\")
"""The characters by which Spark tells the pattern of several paths from one path."""

CHECKSUM_ERROR = "org.apache.hadoop.fs.ChecksumException"
"""What Hadoop throws if a file is not what the checksums beside it say."""

Java = Any
"""An object of the driver's Java virtual machine."""


@dataclass(frozen=True, slots=True)
class FileStatus:
    """A file: its path, its address as in Spark's column ``_metadata.file_path``, and its size in bytes."""

    path: str
    uri: str
    size: int

    @property
    def local(self) -> Path | None:
        """The path on this machine; None on another file system."""
        return local_path(self.path)


class Storage:
    """Hadoop's file systems as configured in Spark's driver. Paths without a scheme are on the default one.

    Raises InputError for a session of Spark Connect, whose driver is another process.
    """

    def __init__(self, spark: SparkSession) -> None:
        self._jvm: Java = getattr(spark, "_jvm", None)
        if self._jvm is None:
            raise input_error(
                "this Spark session is a remote one (Spark Connect)", "use one whose driver is this process"
            )
        self._configuration: Java = spark._jsc.hadoopConfiguration()

    def _path(self, path: str) -> tuple[Java, Java]:
        """The fully qualified path as a Java object, and its file system."""
        from py4j.protocol import Py4JJavaError

        try:
            java_path = self._jvm.org.apache.hadoop.fs.Path(path)
            system = java_path.getFileSystem(self._configuration)
            return system.makeQualified(java_path), system
        except Py4JJavaError as error:
            raise input_error(f"{path}: {error.java_exception.getMessage()}") from None

    def full(self, path: str) -> str:
        """The fully qualified path of a folder, with scheme. Raises InputError if it looks like a pattern."""
        if not SIGNS_OF_PATTERNS.isdisjoint(path):
            signs = " ".join(sorted(SIGNS_OF_PATTERNS))
            raise input_error(
                f"{path}: Spark takes this for a pattern of several names",
                f"name a folder without the characters {signs}",
            )
        return str(self._path(path)[0].toString())

    def exists(self, path: str) -> bool:
        """Whether a file or folder exists."""
        java_path, system = self._path(path)
        return bool(system.exists(java_path))

    def files(self, path: str) -> list[FileStatus]:
        """The files that ``path`` stands for, sorted by path: a file, or the matches of a pattern.

        A folder stands for the files in and below it, except hidden ones.
        """
        java_path, system = self._path(path)
        found: list[FileStatus] = []
        for status in system.globStatus(java_path) or ():
            if not status.isDirectory():
                found.append(_status(status))
                continue
            inside = system.listFiles(status.getPath(), True)
            while inside.hasNext():
                file = inside.next()
                if not file.getPath().getName().startswith((".", "_")):
                    found.append(_status(file))
        return sorted(found, key=lambda file: file.path)

    def is_folder(self, path: str) -> bool:
        """Whether a folder exists."""
        java_path, system = self._path(path)
        return bool(system.exists(java_path) and system.getFileStatus(java_path).isDirectory())

    def read(self, path: str) -> str:
        """Read a small text file. Raises InputError if it does not exist, or Hadoop's checksum differs."""
        from py4j.protocol import Py4JJavaError

        java_path, system = self._path(path)
        if not system.exists(java_path):
            raise input_error(f"{path}: no such file")
        stream = system.open(java_path)
        try:
            return bytes(stream.readAllBytes()).decode()
        except Py4JJavaError as error:
            if error.java_exception.getClass().getName() != CHECKSUM_ERROR:
                raise
            parent, _, name = path.rpartition("/")
            raise input_error(
                f"{path}: this is not what was written: it has another checksum than .{name}.crc beside it, "
                "which Hadoop wrote",
                f"write the data set again; or, if the file is to be as it is, delete {parent}/.{name}.crc",
            ) from None
        finally:
            stream.close()

    def digest(self, path: str) -> str:
        """The SHA-256 checksum of a file, which the driver reads."""
        java_path, system = self._path(path)
        stream = system.open(java_path)
        try:
            return str(self._jvm.org.apache.commons.codec.digest.DigestUtils.sha256Hex(stream))
        finally:
            stream.close()

    def write(self, path: str, text: str) -> None:
        """Write a small text file."""
        java_path, system = self._path(path)
        stream = system.create(java_path, True)
        try:
            stream.write(bytearray(text.encode()))
        finally:
            stream.close()

    @contextmanager
    def writing(self, folder: str) -> Iterator[Callable[[str, bytes], None]]:
        """A function that appends to a file of a folder. The files are written one after the other."""
        streams: dict[str, Any] = {}

        def write(name: str, content: bytes) -> None:
            if name not in streams:
                end()
                streams[name] = self._created(f"{folder}/{name}")
            streams[name].write(content if isinstance(streams[name], io.IOBase) else bytearray(content))

        def end() -> None:
            while streams:
                streams.popitem()[1].close()

        try:
            yield write
        finally:
            end()

    def _created(self, path: str) -> Java | BinaryIO:
        """A new file, opened: by Python if it is on this machine, for Java takes bytes as text."""
        java_path, system = self._path(path)
        place = local_path(str(java_path.toString()))
        if place is None:
            return system.create(java_path, True)
        place.parent.mkdir(parents=True, exist_ok=True)
        return place.open("wb")

    def copy(self, source: str, target: str) -> None:
        """Copy one file, also between file systems."""
        (source_path, source_system), (target_path, target_system) = self._path(source), self._path(target)
        utilities = self._jvm.org.apache.hadoop.fs.FileUtil
        utilities.copy(source_system, source_path, target_system, target_path, False, self._configuration)

    def rename(self, source: str, target: str) -> None:
        """Rename a file or folder. Precondition: ``target`` does not exist."""
        source_path, system = self._path(source)
        target_path, _ = self._path(target)
        assert not system.exists(target_path), f"{target} is there already"
        if not system.rename(source_path, target_path):
            raise input_error(f"{target}: cannot be written: renaming {source} failed")

    def delete(self, path: str) -> None:
        """Delete a file, or a folder with its content, if it exists."""
        java_path, system = self._path(path)
        system.delete(java_path, True)

    @contextmanager
    def output(self, target: str) -> Iterator[str]:
        """A temporary folder to write into, which is renamed to ``target`` at the end of the block.

        An older data set at ``target`` is replaced. Raises InputError if something else is at ``target``. The
        subfolder ``scratch`` is for intermediate results, and is deleted at the end.
        """
        self._check_target(target)
        partial = self.beside(target)
        try:
            yield partial
            self.delete(scratch(partial))
            self.replace(partial, target)
        except BaseException:
            with suppress(Exception):  # Spark may have stopped; the first error is the one to report
                self.delete(partial)
            raise

    @staticmethod
    def beside(target: str) -> str:
        """A new hidden name in the folder of ``target``."""
        return _beside(target, f"{uuid4().hex}.part")

    def replace(self, partial: str, target: str) -> None:
        """Rename ``partial`` to ``target``. What was at ``target`` is deleted at the end."""
        if not self.exists(target):
            self.rename(partial, target)
            return
        older = f"{partial}.old"
        self.rename(target, older)
        self.rename(partial, target)
        self.delete(older)

    def check_file(self, target: str) -> None:
        """Raise InputError if something else than a file of columns is at ``target``."""
        if self.exists(target) and not self.is_file_of_columns(target):
            raise input_error(f"{target}: something else is there", "name a new file, or an older snapshot")

    def is_file_of_columns(self, path: str) -> bool:
        """Whether a snapshot, or another file of columns, is at a path."""
        if not self.exists(path) or self.is_folder(path):
            return False
        java_path, system = self._path(path)
        stream = system.open(java_path)
        try:
            return bytes(stream.readNBytes(len(MAGIC))) == MAGIC
        finally:
            stream.close()

    @contextmanager
    def resumable(self, target: str, key: str) -> Iterator[str]:
        """A hidden folder beside ``target`` for intermediate results. It is the same for the same key.

        It is deleted at the end of the block, but if Spark, the driver or a user ended it.
        """
        folder = _beside(target, f"{key}.rounds")
        try:
            yield folder
        except CorollaryError:
            self.delete(folder)
            raise
        self.delete(folder)

    def _check_target(self, target: str) -> None:
        java_path, system = self._path(target)
        if not system.exists(java_path):
            return
        is_folder = system.getFileStatus(java_path).isDirectory()
        if not is_folder or (len(system.listStatus(java_path)) and not self.exists(f"{target}/{MANIFEST}")):
            raise input_error(f"{target}: something else is there", "name a new folder, or an older data set")


def _beside(target: str, suffix: str) -> str:
    """The path of a hidden folder in the same place."""
    parent, _, name = target.rstrip("/").rpartition("/")
    beside = f"{parent}/" if parent or target.startswith("/") else ""
    return f"{beside}.{name}.{suffix}"


def local_path(path: str) -> Path | None:
    """A fully qualified path of Spark's on this machine; None on another file system."""
    scheme, colon, rest = path.partition(":")
    return Path(f"/{rest.lstrip('/')}") if colon and scheme == "file" else None


def scratch(folder: str) -> str:
    """The subfolder of an output folder for intermediate results."""
    return f"{folder}/_scratch"


def _status(status: Java) -> FileStatus:
    path = status.getPath()
    uri = str(path.toUri().toString()).replace(":///", ":/", 1)  # as Spark writes an address without a host
    return FileStatus(str(path.toString()), uri, int(status.getLen()))
