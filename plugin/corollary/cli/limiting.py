"""The options for limits of time, facts, memory and threads, shared by every command that reasons.

The options override the environment variable COROLLARY_LIMITS. The limits hold for the whole command,
including reading.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial, wraps
from typing import Any, TypeVar, cast

import click

Command = TypeVar("Command", bound=Callable[..., Any])

_TIMEOUT = click.option("--timeout", metavar="SECONDS", help="Give up after this time.")
_MAX_FACTS = click.option(
    "--max-facts", metavar="N", help="Derive no more facts than this; no more rows, in a query."
)
_THREADS = click.option(
    "--threads", metavar="N", help="Use at most N threads. Default: one for each processor."
)
_MAX_MEMORY = click.option(
    "--max-memory", metavar="SIZE", help="Take no more memory, as in 500MB. Default: 9/10 of what there is."
)
_SCRATCH = click.option(
    "--scratch",
    metavar="FOLDER",
    help="Move large arrays to files here: facts may be more than fit in memory.",
)


_FLAGS = "--timeout", "--max-facts", "--max-memory", "--threads", "--scratch"


def limit_of(flag: str, name: str, value: str) -> Any:
    """The limit ``name`` that an option gives; None if it is "none".

    Raises CorollaryError, which names the option.
    """
    from corollary.kernels.limits import Limits
    from corollary.language import CorollaryError

    try:
        if name == "scratch" and value != "none":  # the name of a folder may have commas
            return Limits(scratch=value).scratch
        return getattr(Limits.parse(f"{name}={value}"), name)
    except CorollaryError as error:
        raise CorollaryError(f"{flag} {value}: {str(error).partition(': ')[2]}") from None


def limiting_options(command: Command) -> Command:
    """Decorator: add the options, and run the command within these limits."""

    @wraps(command)
    def within(
        *args: Any,
        timeout: str | None,
        max_facts: str | None,
        max_memory: str | None,
        threads: str | None,
        scratch: str | None,
        **options: Any,
    ) -> Any:
        import os
        from dataclasses import replace

        from corollary.kernels.limits import Cancellation, Limits, limited

        limits = Limits.parse(os.environ.get("COROLLARY_LIMITS", ""))
        given = {"seconds": timeout, "facts": max_facts, "bytes": max_memory, "threads": threads}
        given["scratch"] = scratch
        found: dict[str, Any] = {
            name: limit_of(flag, name, value)
            for (name, value), flag in zip(given.items(), _FLAGS, strict=True)
            if value is not None
        }
        return limited(replace(limits, **found), Cancellation(), partial(command, *args, **options))

    return cast(Command, _TIMEOUT(_MAX_FACTS(_MAX_MEMORY(_THREADS(_SCRATCH(within))))))
