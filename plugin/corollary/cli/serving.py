"""``corollary serve``: a store over HTTP."""

from __future__ import annotations

import logging
import os
from collections.abc import Iterator
from contextlib import contextmanager
from math import inf
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from corollary.cli.commands import main
from corollary.cli.input_options import (
    DEFAULT_RULES,
    Reading,
    as_is_option,
    reading_options,
    rules_option,
    together,
)
from corollary.cli.limiting import limit_of
from corollary.cli.pipeline import load_program, reason
from corollary.cli.progress import stage

if TYPE_CHECKING:
    from corollary.serve.access_log import Log
    from corollary.serve.guard import Token
    from corollary.serve.service import Settings
    from corollary.store import CorollaryStore

TOKEN = "COROLLARY_TOKEN"
"""The environment variable with the token of writers."""


_serving_options = together(
    click.option(
        "--store", "folder", metavar="FOLDER", help="Keep the facts in this folder; made if absent."
    ),
    click.option("--host", default="127.0.0.1", show_default=True, help="The address to listen on."),
    click.option(
        "--port", type=click.IntRange(0, 65535), default=7200, show_default=True, help="0: a free one."
    ),
    click.option("--writable", is_flag=True, help="Allow changes, by requests with the token."),
    click.option("--token-file", metavar="F", help=f"A file with the token. Default: the variable {TOKEN}."),
    click.option("--cors", multiple=True, metavar="ORIGIN", help="Let pages of this origin read."),
    click.option("--host-name", multiple=True, metavar="NAME", help="A name of this server in Host headers."),
    click.option(
        "--timeout", default="30", show_default=True, metavar="SECONDS", help="The time of a request."
    ),
    click.option(
        "--max-body", default="100MB", show_default=True, metavar="SIZE", help="The size of a request."
    ),
    click.option(
        "--max-result", default="1GB", show_default=True, metavar="SIZE", help="The size of a result."
    ),
    click.option("--access-log", metavar="F", help="Append a line of JSON per request; -: print it."),
    click.option("--tls-cert", metavar="F", help="A certificate: serve https."),
    click.option("--tls-key", metavar="F", help="The key of the certificate."),
)


@main.command(short_help="Serve files or a folder over HTTP: SPARQL, and a page.")
@click.argument("files", nargs=-1, metavar="[FILE]...")
@rules_option
@reading_options
@as_is_option
@_serving_options
def serve(files: tuple[str, ...], rules: tuple[str, ...], reading: Reading, **options: Any) -> None:
    """Serve FILE... and everything that follows from them over HTTP.

    \b
    /sparql answers queries, /graphs has the graphs, / is a page to query, browse and explain in.
    Nothing can be changed without --writable, and then only with the token.

    With --store the facts are kept in a folder; FILE... are added to those that are there. With --as-is a
    snapshot or data set is served at once, without reasoning. Ctrl-C ends the server when the running
    requests are answered.

    \b
    Examples:
      corollary serve university/* --rules owl2rl
      corollary serve --store pets --writable --token-file token.txt
      corollary serve closed.snapshot --as-is
      curl http://127.0.0.1:7200/sparql --data-urlencode 'query=SELECT * { ?s ?p ?o } LIMIT 5'
    """
    if not files and not options["folder"]:
        raise click.UsageError("name FILE..., or a folder with --store")
    if reading.as_is and (options["folder"] or options["writable"]):
        raise click.UsageError("what is served --as-is cannot be changed: leave out --store and --writable")
    _need_extra()
    from corollary.kernels.limits import Cancellation, Limits, limited
    from corollary.serve.connections import listening, server_of
    from corollary.serve.connections import serve as run
    from corollary.serve.service import Service

    host, folder = options["host"], options["folder"]
    settings = _settings(options)
    files_of_tls = options["tls_cert"], options["tls_key"]
    _check_certificate(*files_of_tls)
    _warn_of_exposure(host, options["tls_cert"])
    with listening(host, options["port"]) as listener, _log_to(options["access_log"]) as log:
        store = limited(Limits(), Cancellation(), _loaded, files, rules, reading, folder)
        scheme = "https" if options["tls_cert"] else "http"
        name = f"[{host}]" if ":" in host else host
        address = f"{scheme}://{name}:{listener.getsockname()[1]}/"
        ready = f"corollary: serving {address} - Ctrl-C ends it"
        service = Service(store, settings, log)
        server = server_of(service, lambda: click.echo(ready, err=True), *files_of_tls)
        run(server, listener, service, stage("close", {}))


def _settings(options: dict[str, Any]) -> Settings:
    """What the service allows, by the options of the command."""
    from corollary.serve.service import Settings

    seconds = limit_of("--timeout", "seconds", options["timeout"])  # None: "none"
    folder = options["folder"]
    return Settings(
        is_writable=options["writable"],
        token=_token(options["token_file"]) if options["writable"] else None,
        hosts=(options["host"], *options["host_name"]),
        origins=options["cors"],
        seconds=inf if seconds is None else seconds,
        bytes_of_body=_size("--max-body", options["max_body"]),
        bytes_of_result=_size("--max-result", options["max_result"]),
        folder=None if folder is None else Path(folder),
    )


def _size(flag: str, text: str) -> int:
    """The size that an option gives. Raises CorollaryError, which names the option."""
    size = limit_of(flag, "bytes", text)
    if size is None:
        raise click.UsageError(f"{flag} {text}: a size is needed, such as 500MB")
    return int(size)


def _need_extra() -> None:
    """Raise CorollaryError if the packages of the extra are not installed."""
    from importlib.util import find_spec

    from corollary.language import CorollaryError

    if None in (find_spec("starlette"), find_spec("uvicorn"), find_spec("httptools")):
        raise CorollaryError("serving needs Starlette, uvicorn and httptools: pip install 'corollary[serve]'")


def _token(file: str | None) -> Token:
    """The token of a file or of the environment; without both, a new one, which is printed."""
    from corollary.language import CorollaryError
    from corollary.serve.guard import Token

    if file is not None:
        try:
            return Token.of(Path(file).read_text("utf-8"))
        except (OSError, UnicodeDecodeError) as error:
            reason = getattr(error, "strerror", None) or "this is no UTF-8 text"
            raise CorollaryError(f"{file}: the token cannot be read: {reason}") from None
    if text := os.environ.get(TOKEN):
        return Token.of(text)
    made, token = Token.made()
    click.echo(f"corollary: the token for changes is {made}", err=True)
    return token


def _check_certificate(certificate: str | None, key: str | None) -> None:
    """Raise CorollaryError for files of TLS that cannot be used."""
    import ssl

    from corollary.language import CorollaryError

    if certificate is None and key is None:
        return
    try:
        ssl.create_default_context(ssl.Purpose.CLIENT_AUTH).load_cert_chain(certificate or "", key)
    except OSError as error:  # SSLError is one
        raise CorollaryError(f"--tls-cert, --tls-key: {error.strerror or error}") from None


def _warn_of_exposure(host: str, certificate: str | None) -> None:
    from corollary.serve.guard import is_loopback

    if not is_loopback(host) and certificate is None:
        click.echo(
            f"corollary: {host} is reached from other machines, and nothing is encrypted: anyone can query, "
            "and read the token of a change on the way; give --tls-cert and --tls-key, or use a proxy",
            err=True,
        )


@contextmanager
def _log_to(file: str | None) -> Iterator[Log | None]:
    """The function that writes a line of the access log; None without a file."""
    if file is None:
        yield None
    elif file == "-":
        yield lambda line: click.echo(line, nl=False)
    else:
        from corollary.language import CorollaryError

        try:
            stream = open(file, "a", encoding="utf-8", buffering=1)  # noqa: SIM115 (closed below)
        except OSError as error:
            raise CorollaryError(f"{file}: cannot be written: {error.strerror}") from None
        with stream:
            yield stream.write


def _loaded(
    files: tuple[str, ...], rules: tuple[str, ...], reading: Reading, folder: str | None
) -> CorollaryStore:
    """The store with the files, and with the folder open if there is one; derived, and committed."""
    with stage("prepare", {}):
        from rdflib import Dataset

        from corollary.store import CorollaryStore

        named = [rule for rule in rules or (DEFAULT_RULES,) if rule != "none"]
        logging.getLogger("rdflib.term").setLevel(logging.ERROR)  # not of ill-typed literals
        store = CorollaryStore(rules=load_program(named) if named else "none", external="none")
        Dataset(store, default_union=True)
    facts = 0
    if folder is not None:
        with stage("open", {}) as current:
            store.open(folder, create=True, progress=current.update)
    if files:
        with stage("read", {}) as current:
            facts = reading.load(files, store, current.update)
            reading.write_report()
    reason(store, facts, {})
    with stage("write", {}):
        store.commit()
    return store
