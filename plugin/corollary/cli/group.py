"""How the command ends: mistakes, a closed pipe, a full device, no memory and Ctrl-C print no traceback."""

from __future__ import annotations

import errno
import io
import os
import sys
from contextlib import suppress
from importlib.metadata import version
from typing import IO, TYPE_CHECKING, Any

import click

from corollary.cli.memory_limit import is_for_memory, spare_addresses
from corollary.cli.tuning import BYTES_RESERVED_FOR_ERROR
from corollary.kernels.memory import limit_of_addresses

if TYPE_CHECKING:
    from corollary.language.errors import Hint

EXIT_INCONSISTENT = 1
EXIT_NO = 1
EXIT_UNSOUND = 1
EXIT_MISTAKE = 2
EXIT_INTERRUPTED = 130
EXIT_BROKEN_PIPE = 141

_NO_ROOM = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO)
"""Error numbers of a failed write."""


class Mistake(click.ClickException):
    """An error that the user can correct, reported as one message."""

    exit_code = EXIT_MISTAKE

    def show(self, file: IO[Any] | None = None) -> None:
        click.echo(f"corollary: {self.message}", file=file, err=True)


class Commands(click.Group):
    """A group of commands that turns every expected error into one message and an exit code."""

    def main(self, *args: Any, **settings: Any) -> Any:
        """Run the command that the arguments name, and exit."""
        spare_addresses()
        _mend_streams()
        reserve = bytearray(BYTES_RESERVED_FOR_ERROR)
        try:
            code = super().main(*args, **(settings | {"standalone_mode": False})) or 0
            for stream in filter(None, (sys.stdout, sys.stderr)):
                stream.flush()
        except BaseException as error:
            reserve.clear()
            code = _reported(error)
        sys.exit(code)

    def invoke(self, ctx: click.Context) -> Any:
        try:
            return super().invoke(ctx)
        except KeyboardInterrupt:  # click would begin a new line
            ctx.exit(EXIT_INTERRUPTED)
        except BrokenPipeError:  # the reader of our output has exited; click would report a failure
            _silence()
            ctx.exit(EXIT_BROKEN_PIPE)


def _mend_streams() -> None:
    """Redirect closed standard streams to the null device, and buffer unbuffered ones, which lose errors.

    Unbuffered Python (PYTHONUNBUFFERED) drops the rest of the data when a device accepts only part of a
    write.
    """
    for name in ("stdout", "stderr"):
        stream = getattr(sys, name)
        raw = getattr(stream, "buffer", None)
        if stream is None:
            setattr(sys, name, open(os.devnull, "w"))  # noqa: SIM115 (for as long as the process lives)
        elif isinstance(raw, io.RawIOBase):
            buffered = io.BufferedWriter(raw)
            text = io.TextIOWrapper(buffered, stream.encoding, stream.errors, line_buffering=True)
            setattr(sys, name, text)


def _reported(error: BaseException) -> int:
    """Print the message for the error that ended a command. Returns the exit code, or raises the error."""
    if isinstance(error, click.Abort | KeyboardInterrupt):
        return EXIT_INTERRUPTED
    if isinstance(error, BrokenPipeError):
        _silence()
        return EXIT_BROKEN_PIPE
    if isinstance(error, SystemExit):
        raise error
    complaint = error if isinstance(error, click.ClickException) else Mistake(_message(error))
    try:
        complaint.show()
    except OSError:  # standard error is full, too
        _silence()
    if isinstance(error, OSError):
        _silence()
    return complaint.exit_code


def _message(error: BaseException) -> str:
    """The message for the user. Raises ``error`` again if it is a programming error."""
    if isinstance(error, MemoryError) and error.__cause__ is not None:  # a limit raised from it
        error = error.__cause__
    language = sys.modules.get("corollary.language.errors")  # an import might fail for lack of memory
    if language is not None and isinstance(error, language.CorollaryError):
        return str(error.text(in_flags()))
    if isinstance(error, OSError) and error.errno in _NO_ROOM:
        return f"{error.filename or 'standard output'}: {error.strerror}"
    if isinstance(error, RecursionError):
        return "something in the input is nested too deep"
    if is_for_memory(error):
        known = str(error) if type(error) is MemoryError else ""
        limit = limit_of_addresses()
        said = f": this process may have {limit >> 20:,} MB (ulimit -v)" if limit else ""
        return f"not enough memory{said}{f'; {known}' if known else ''}"
    raise error


def _silence() -> None:
    """Redirect the standard streams to the null device, so that flushing them at exit raises nothing."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    for stream in (sys.stdout, sys.stderr):
        with suppress(OSError, ValueError):  # a stream without a file descriptor
            os.dup2(nowhere, stream.fileno())


def in_flags() -> dict[Hint, str]:
    """The remedies by hint, in terms of command-line options."""
    from corollary.language.errors import Hint

    return {
        Hint.SKIP_BAD_LINES: "--skip-bad REPORT leaves bad lines out",
        Hint.NAME_FORMAT: "name the format, as in --input-format ttl",
        Hint.NAME_OUTPUT_FORMAT: "name the format, as in --output-format nt",
        Hint.CORRECT_FORMAT: "mend the file, or name its format by its suffix or --input-format",
        Hint.ALLOW_FILES: "allow it with --external files or --external all",
        Hint.ALLOW_NETWORK: "allow it with --external network or --external all",
        Hint.MORE_SECONDS: "--timeout allows more",
        Hint.MORE_FACTS: "--max-facts allows more",
        Hint.MORE_BYTES: "--max-memory allows more",
        Hint.MORE_TERMS: "terms in COROLLARY_LIMITS, in the environment, allows more",
        Hint.NAME_CLASS: "name the class",
    }


def print_version(ctx: click.Context, _: click.Parameter, wanted: bool) -> None:
    """Print name and version, and exit."""
    if wanted and not ctx.resilient_parsing:
        click.echo(f"corollary {version('corollary')}")
        ctx.exit()
