"""Errors as ``application/problem+json``: title, detail, status. No paths of the machine, no tracebacks."""

from __future__ import annotations

import json
import sys
import traceback
from collections.abc import Iterable, Mapping
from pathlib import Path

from starlette.exceptions import HTTPException
from starlette.responses import Response

from corollary.kernels.limits import Cancelled, LimitExceeded
from corollary.language import CorollaryError
from corollary.language.errors import Hint

MEDIA_TYPE = "application/problem+json"

REMEDIES = {
    Hint.SKIP_BAD_LINES: "mend the line",
    Hint.NAME_FORMAT: "name the format by the header Content-Type",
    Hint.CORRECT_FORMAT: "mend the document, or name its format by the header Content-Type",
    Hint.ALLOW_FILES: "put the graph into the store first",
    Hint.ALLOW_NETWORK: "put the graph into the store first",
    Hint.MORE_SECONDS: "--timeout of the server allows more",
    Hint.MORE_FACTS: "COROLLARY_LIMITS of the server allows more",
    Hint.MORE_BYTES: "COROLLARY_LIMITS of the server allows more",
    Hint.MORE_TERMS: "COROLLARY_LIMITS of the server allows more",
}
"""The remedies by hint, in terms of the server."""


class Problem(Exception):
    """A request that is refused: the status of its response, a title, and what to do."""

    def __init__(
        self, status: int, title: str, detail: str = "", headers: Mapping[str, str] | None = None
    ) -> None:
        super().__init__(title)
        self.status, self.title, self.detail = status, title, detail
        self.headers = dict(headers or {})


_ROUTING = {
    404: "the documentation of corollary serve lists the endpoints; the page is at /",
    405: "the header Allow names the methods of this endpoint",
}
"""The details of the errors that routing raises, by status."""


def problem_of(error: BaseException, secrets: Iterable[str]) -> Problem:
    """The problem that is reported to the client. ``secrets`` are paths, replaced by ``...`` in messages.

    An unexpected error is printed to standard error with its traceback, and becomes status 500.
    """
    if isinstance(error, Problem):
        return error
    if isinstance(error, HTTPException):
        detail = _ROUTING.get(error.status_code, "")
        return Problem(error.status_code, str(error.detail), detail, headers=error.headers)
    if isinstance(error, LimitExceeded):
        return Problem(503, "A limit was exceeded", _message(error, secrets), {"Retry-After": "1"})
    if isinstance(error, Cancelled):
        return Problem(503, "The request was cancelled", "nothing has changed")
    if isinstance(error, CorollaryError):
        return Problem(400, "The request cannot be carried out", _message(error, secrets))
    if isinstance(error, NotImplementedError):
        return Problem(501, "Not implemented", "the store cannot evaluate this by itself")
    traceback.print_exception(error, file=sys.stderr)
    return Problem(500, "Internal error", "the log of the server has the reason")


def _message(error: CorollaryError, secrets: Iterable[str]) -> str:
    text = error.text(REMEDIES)
    for secret in sorted(secrets, key=len, reverse=True):
        text = text.replace(secret, "...")
    return text


def private_paths(folder: Path | None) -> list[str]:
    """The paths that no message may show: those of the store, of the working folder, of the program."""
    places = [Path.home(), Path.cwd(), Path(__file__).parents[1], Path(sys.prefix)]
    if folder is not None:
        places += [folder, folder.resolve()]
    return [str(place) for place in places if len(str(place)) > 1]


def response_of(problem: Problem) -> Response:
    """The response that reports a problem, as ``MEDIA_TYPE``."""
    content = {"title": problem.title, "detail": problem.detail, "status": problem.status}
    return Response(json.dumps(content), problem.status, problem.headers, MEDIA_TYPE)
