"""``corollary convert``: one form of stored facts to another."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

import click

from corollary.cli.commands import main
from corollary.cli.input_options import DEFAULT_RULES
from corollary.cli.progress import stage

if TYPE_CHECKING:
    from corollary.loaders import Progress

FORMS = ("snapshot", "encoded", "store")

_SUFFIXES = {".snapshot": "snapshot", ".encoded": "encoded"}


@main.command(short_help="Convert a snapshot, an encoded data set or a store's folder to another form.")
@click.argument("source", type=click.Path(path_type=Path))
@click.argument("target", type=click.Path(path_type=Path))
@click.option(
    "--to",
    "form",
    type=click.Choice(FORMS),
    help="The form of TARGET. Default: by its suffix, .snapshot or .encoded; store without a suffix.",
)
@click.option(
    "--rules",
    "-r",
    multiple=True,
    metavar="RULES",
    help=f"From a store's folder: the rules by which it is closed. Default: {DEFAULT_RULES}.",
)
def convert(source: Path, target: Path, form: str | None, rules: tuple[str, ...]) -> None:
    """Write the facts of SOURCE to TARGET in another form.

    SOURCE is a snapshot, an encoded data set, or the folder of a store. A snapshot is one file that is opened
    at once; an encoded data set is a folder of Parquet files for other programs; the folder of a store can be
    changed. The inferred facts of snapshots and data sets are converted as they are, without reasoning. The
    folder of a store is closed under RULES first.

    \b
    Examples:
      corollary convert closed.encoded closed.snapshot
      corollary convert closed.snapshot closed.encoded
      corollary convert pets pets.snapshot --rules rdfs
      corollary convert closed.snapshot pets --to store
    """
    from corollary.loaders.encoded_format import is_encoded

    chosen = form or _form_of(target)
    with stage("converting", {}) as current:
        if is_encoded(source):
            _convert_data_set(source, target, chosen, current.update)
        else:
            _convert_folder(source, target, chosen, rules or (DEFAULT_RULES,), current.update)
    click.echo(f"{target} written", err=True)


def _form_of(target: Path) -> str:
    """The form by the suffix of a name; without one, a store. Raises UsageError for an unknown suffix."""
    from corollary.loaders.formats import FORMATS, FileKind

    if target.suffix and target.suffix not in _SUFFIXES:
        if FileKind.of(target.name).suffix in FORMATS:
            remedy = f"`corollary materialise SOURCE -o {target}` writes what a snapshot or a data set has"
            raise click.UsageError(f"{target}: this form is RDF; {remedy}")
        raise click.UsageError(f"{target}: give the form of the target with --to {', '.join(FORMS)}")
    return _SUFFIXES.get(target.suffix, "store")


def _convert_data_set(source: Path, target: Path, form: str, progress: Progress) -> None:
    from corollary.loaders.encoded import load_encoded, save_encoded
    from corollary.loaders.opened_data_sets import contents_of_data_set
    from corollary.reasoner.snapshot_file import write_snapshot

    if form == "snapshot":
        write_snapshot(target, contents_of_data_set(source), progress=progress)
    elif form == "encoded":
        save_encoded(target, load_encoded(source), progress)
    else:
        _keep_in_folder(source, target)


def _keep_in_folder(source: Path, target: Path) -> None:
    """Make a store's folder: with the inferred facts, if the rules that closed the source are known."""
    from corollary.loaders.encoded import closed_under
    from corollary.loaders.opened_data_sets import explicit_version
    from corollary.profiles import profile_names
    from corollary.reasoner import Reasoner
    from corollary.reasoner.options import Options

    closed = closed_under(source)
    name = closed.rules if closed.rules in profile_names() else None
    program = closed.program(Options(name or "none"))
    if program is None:
        click.echo(f"{source} does not tell its rules: the folder gets the explicit facts only", err=True)
        reasoner = Reasoner.of(explicit_version(source))
    else:
        reasoner = Reasoner(rules=program)
        reasoner.open(source)
    reasoner.save(target)
    reasoner.close()


def _convert_folder(
    source: Path, target: Path, form: str, rules: tuple[str, ...], progress: Progress
) -> None:
    from corollary.cli.verifying import store_file
    from corollary.language import CorollaryError
    from corollary.store import CorollaryStore

    if source.is_file():
        remedy = "of RDF files, `corollary materialise FILE... -o NAME.snapshot` makes one"
        raise CorollaryError(f"{source}: this is no snapshot; {remedy}")
    store_file(source)
    store = CorollaryStore(rules=list(rules))
    store.open(os.fspath(source), read_only=True, progress=progress)
    if form == "snapshot":
        store.save_snapshot(target, progress=progress)
    elif form == "encoded":
        store.save_encoded(target, progress=progress)
    else:
        store.save(target)
    store.close()
