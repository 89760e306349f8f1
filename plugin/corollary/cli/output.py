"""Output of commands: facts to a file, a summary to standard output or standard error.

Invariant: if facts are written to standard output, nothing else is.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from corollary.cli.progress import stage

if TYPE_CHECKING:
    from rich.console import RenderableType

    from corollary.evaluate import MaterialisedView


STORED = (".snapshot", ".encoded")
"""The suffixes of a snapshot and of an encoded data set."""


def is_stored(output: str, output_format: str | None) -> bool:
    """Whether a file to write is a snapshot or an encoded data set, by its suffix."""
    return output_format is None and output.endswith(STORED)


def check_target(
    output: str | None,
    output_format: str | None,
    inferred_only: bool,
    *,
    sources: Iterable[str] = (),
    may_be_stored: bool = False,
) -> None:
    """Check the output options in advance: raises what ``write_facts`` would raise after all the work.

    ``sources``: the files that the command reads; RDF is not written in the place of one of them.
    ``may_be_stored``: the command writes snapshots and encoded data sets, too.
    """
    from corollary.loaders import writing

    if output is not None and may_be_stored and is_stored(output, output_format):
        _check_stored(Path(output), inferred_only)
    elif output is not None:
        writing.check_target(output, output_format)
        _check_is_no_source(Path(output), sources)
    elif inferred_only or output_format:
        raise click.UsageError("--inferred-only and --output-format say what to write: name a file with -o")


def _check_is_no_source(target: Path, sources: Iterable[str]) -> None:
    """Raise InputError if the target is a file that is read: its explicit facts could not be told again."""
    from corollary.loaders.formats import input_error

    if target.is_file() and any(Path(name).is_file() and target.samefile(name) for name in sources):
        raise input_error(
            f"{target}: this is one of the files to read, which the output would replace", "name another file"
        )


def _check_stored(target: Path, inferred_only: bool) -> None:
    """Check the target of a snapshot or an encoded data set."""
    from corollary.loaders.writing import check_folder

    if inferred_only:
        raise click.UsageError(f"{target}: it takes all facts; leave out --inferred-only")
    check_folder(str(target))
    is_folder = target.suffix == ".encoded"
    if target.exists() and target.is_dir() != is_folder:
        raise click.UsageError(
            f"{target}: this is a {'file' if is_folder else 'folder'}; name another target"
        )


def write_facts(
    result: MaterialisedView,
    output: str | None,
    output_format: str | None,
    inferred_only: bool,
    seconds: dict[str, float],
) -> None:
    """Write all facts, or the inferred ones, if ``output`` is given. Adds the time to ``seconds``."""
    from corollary.loaders import write

    if output is not None:
        with stage("write", seconds) as progress:
            index = result.inferred() if inferred_only else result.index
            write(output, index, result.dictionary, output_format, progress.update)


def print_json(data: dict[str, Any], to_stderr: bool) -> None:
    """Print data as JSON."""
    click.echo(json.dumps(data, indent=2, ensure_ascii=False), err=to_stderr)


def print_tables(tables: list[RenderableType], to_stderr: bool) -> None:
    """Print tables; 110 characters wide if the stream is not a terminal."""
    from rich.console import Console

    stream = sys.stderr if to_stderr else sys.stdout
    Console(file=stream, width=None if stream.isatty() else 110).print(*tables)
