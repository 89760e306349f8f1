"""``corollary verify``: whether a store's folder is sound."""

from __future__ import annotations

from pathlib import Path

import click

from corollary.cli.commands import main
from corollary.cli.group import EXIT_UNSOUND
from corollary.cli.output import print_json
from corollary.cli.progress import stage


@main.command(short_help="Look at everything in a store's folder.")
@click.argument("folder", type=click.Path(path_type=Path))
@click.option("--json", "as_json", is_flag=True, help="Print JSON instead of text.")
def verify(folder: Path, as_json: bool) -> None:
    """Look at everything in the FOLDER of a store, and say what is wrong: nothing if all is sound.

    Every row's checksum, the number and order of rows, the structure of the database, that each text is
    there once, that facts mention known terms, and that all indexes made of them agree. Nothing is changed,
    and other stores may read the folder meanwhile; while a store has it open for writing that is refused.

    Exit code 1 if anything is wrong: put back a copy of the folder then.

    \b
    Examples:
      corollary verify pets
      corollary verify pets --json && cp -r pets backup
    """
    from corollary.reasoner.folder import DamagedFolder
    from corollary.reasoner.verification import Verification
    from corollary.store import CorollaryStore

    store_file(folder)
    with stage("verifying", {}):
        store = CorollaryStore(rules="none")
        try:
            store.open(str(folder), read_only=True)
            found = store.verify()
        except DamagedFolder as error:
            found = Verification(0, 0, 0, str(folder), (str(error),))
    if as_json:
        print_json(found.as_dict(), False)
    else:
        click.echo(found)
    if not found.is_sound:
        raise click.exceptions.Exit(EXIT_UNSOUND)


def store_file(folder: Path) -> Path:
    """The file that keeps a folder's store. CorollaryError if there is none."""
    from corollary.language import CorollaryError
    from corollary.reasoner.folder import DATABASE

    file = folder / DATABASE
    if not file.is_file():
        raise CorollaryError(f"{folder}: there is no store: name the folder that a store was opened with")
    return file
