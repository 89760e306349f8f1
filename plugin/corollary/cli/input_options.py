"""The options for reading files, shared by every command that takes files.

Invariant: a requested report is always written, even if no line was bad.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import wraps
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, TypeVar, cast

import click

if TYPE_CHECKING:
    from corollary.columns import TripleIndex
    from corollary.loaders import BadLine, Progress
    from corollary.store import CorollaryStore
    from corollary.terms.dictionary import TermDictionary

Command = TypeVar("Command", bound=Callable[..., Any])

DEFAULT_RULES = "owl2rl"

_FORMAT = click.option(
    "--input-format",
    metavar="SUFFIX",
    help="Format of standard input and of files whose names do not tell, such as ttl. Default: nt.",
)
_SKIP_BAD = click.option(
    "--skip-bad",
    metavar="REPORT",
    help="Leave out bad lines of N-Triples and N-Quads, and list them in this CSV file.",
)
_AS_IS = click.option(
    "--as-is",
    is_flag=True,
    help="Take what the data set or snapshot FILE infers as it is, instead of reasoning. It must be closed "
    "under RULES.",
)
rules_option = click.option(
    "--rules",
    "-r",
    multiple=True,
    metavar="NAME|FILE",
    help=f"A profile (see `corollary profiles`) or a rule file; may be repeated. Default: {DEFAULT_RULES}.",
)
_HEADING = ("file", "line", "column", "reason", "text")


@dataclass
class Reading:
    """How files are read: the format of files without a known suffix, and where to report bad lines.

    Without a ``report`` the first bad line is an error. ``as_is``: the only file is a data set or snapshot
    whose inferred facts are adopted.
    """

    format: str | None = None
    report: str | None = None
    as_is: bool = False
    _bad_lines: list[BadLine] = field(default_factory=list)

    def __post_init__(self) -> None:
        if self.report is not None and not Path(self.report).parent.is_dir():
            raise click.UsageError(f"--skip-bad {self.report}: there is no such folder")

    def index(
        self, files: Sequence[str], dictionary: TermDictionary, progress: Progress | None = None
    ) -> TripleIndex:
        """Read the triples of the files into an index."""
        from corollary.loaders import read_index

        skipped = None if self.report is None else self._bad_lines
        return read_index(files, dictionary, progress, format=self.format, skipped=skipped)

    def load(self, files: Sequence[str], store: CorollaryStore, progress: Progress | None = None) -> int:
        """Load the files into a store. Returns the number of new triples.

        Labels of blank nodes are those of the files, so that they can be found there, and given to
        ``explain``.
        """
        from corollary.columns.column_file import is_column_file
        from corollary.loaders.encoded_format import is_encoded

        if self.as_is:
            if len(files) != 1:
                raise click.UsageError("--as-is takes one data set or snapshot, and nothing beside it")
            if not is_encoded(files[0]):
                raise click.UsageError(
                    f"--as-is takes a data set or snapshot, and {files[0]} is none: "
                    "`corollary materialise FILE... -o NAME.snapshot` makes one"
                )
            if is_column_file(files[0]):
                store.open(files[0])
                return len(store.reasoner.snapshot().explicit)
            return store.load_encoded(files[0], inferred="adopt")
        from corollary.loaders.fetching import document_at
        from corollary.loaders.files import files_in
        from corollary.loaders.formats import STANDARD_STREAM

        sources = [
            document_at(name, otherwise=self.format) if self.format or name == STANDARD_STREAM else name
            for name in files_in(name for name in files if not is_encoded(name))
        ]
        count = sum(map(store.load_encoded, filter(is_encoded, files)))
        on_error: Literal["skip", "stop"] = "skip" if self.report else "stop"
        count += store.load(*sources, on_error=on_error, progress=progress, labels="keep")
        self._bad_lines += store.bad_lines()
        return count

    def write_report(self) -> None:
        """Write the report of skipped lines, if one was requested, and print the number of these lines."""
        from corollary.loaders.writing import replacing

        if self.report is None:
            return
        text = io.StringIO()
        writer = csv.writer(text)
        writer.writerow(_HEADING)
        writer.writerows((bad.name, bad.line, bad.column, bad.reason, bad.text) for bad in self._bad_lines)
        with replacing(self.report) as stream:
            stream.write(text.getvalue().encode())
        if count := len(self._bad_lines):
            lines = "1 bad line was" if count == 1 else f"{count:,} bad lines were"
            click.echo(f"corollary: {lines} left out: see {self.report}", err=True)


def together(*options: Callable[[Any], Any]) -> Callable[[Command], Command]:
    """One decorator for several options, which the help page lists in this order."""

    def decorate(command: Command) -> Command:
        for option in reversed(options):
            command = option(command)
        return command

    return decorate


def as_is_option(command: Command) -> Command:
    """Decorator for a command with ``reading_options``: add --as-is."""

    @wraps(command)
    def with_as_is(*args: Any, reading: Reading, as_is: bool, **options: Any) -> Any:
        reading.as_is = as_is
        return command(*args, reading=reading, **options)

    return cast(Command, _AS_IS(with_as_is))


def reading_options(command: Command) -> Command:
    """Decorator: add the options; the command gets them as ``reading``."""

    @wraps(command)
    def with_reading(*args: Any, input_format: str | None, skip_bad: str | None, **options: Any) -> Any:
        return command(*args, reading=Reading(input_format, skip_bad), **options)

    return cast(Command, _FORMAT(_SKIP_BAD(with_reading)))
