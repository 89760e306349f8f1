"""How the command ends: mistakes of the user, a closed pipe and Ctrl-C never show a traceback."""

from __future__ import annotations

import os
import sys
from importlib.metadata import version
from typing import IO, TYPE_CHECKING, Any

import click

if TYPE_CHECKING:
    from corollary.language.errors import Hint

EXIT_INCONSISTENT = 1
EXIT_NO = 1
EXIT_UNSOUND = 1
EXIT_MISTAKE = 2
EXIT_INTERRUPTED = 130
EXIT_BROKEN_PIPE = 141


class Mistake(click.ClickException):
    """Something that the user can mend, in one message."""

    exit_code = EXIT_MISTAKE

    def show(self, file: IO[Any] | None = None) -> None:
        click.echo(f"corollary: {self.message}", file=file, err=True)


class Commands(click.Group):
    """A group of commands that turns what can go wrong into messages and exit codes."""

    def invoke(self, ctx: click.Context) -> Any:
        try:
            return super().invoke(ctx)
        except KeyboardInterrupt:
            ctx.exit(EXIT_INTERRUPTED)
        except BrokenPipeError:
            # Whoever read our output has gone. Let nothing complain about it at exit either.
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
            ctx.exit(EXIT_BROKEN_PIPE)
        except Exception as error:
            from corollary.language.errors import CorollaryError

            if isinstance(error, CorollaryError):
                raise Mistake(error.text(in_flags())) from error
            raise


def in_flags() -> dict[Hint, str]:
    """The remedies that are the command line's own."""
    from corollary.language.errors import Hint

    return {
        Hint.SKIP_BAD_LINES: "--skip-bad REPORT leaves bad lines out",
        Hint.NAME_FORMAT: "name the format, as in --input-format ttl",
        Hint.NAME_OUTPUT_FORMAT: "name the format, as in --output-format nt",
        Hint.CORRECT_FORMAT: "mend the file, or name its format by its suffix or --input-format",
        Hint.ALLOW_FILES: "allow it with --external files or --external all",
        Hint.ALLOW_NETWORK: "allow it with --external network or --external all",
        Hint.NAME_CLASS: "name the class",
    }


def print_version(ctx: click.Context, _: click.Parameter, wanted: bool) -> None:
    """Print name and version, and stop."""
    if wanted and not ctx.resilient_parsing:
        click.echo(f"corollary {version('corollary')}")
        ctx.exit()
