"""``corollary verify``: check the integrity of a store's folder."""

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
    """Check everything in the FOLDER of a store, and report all defects.

    Checks the checksum of every row, the number and order of rows, the structure of the database, that no
    text occurs twice, that facts use known terms, that all indexes of the facts agree, and the snapshot, if
    there is one. Changes nothing. Other stores may read the folder meanwhile. Refused while a store has the
    folder open for writing.

    The exit code is 1 if there are defects. Then restore the folder from a backup.

    \b
    Examples:
      corollary verify pets
      corollary verify pets --json && cp -r pets backup
    """
    from corollary.reasoner.folder_place import DamagedFolder
    from corollary.reasoner.verification import Verification
    from corollary.store import CorollaryStore

    store_file(folder)
    with stage("verifying", {}) as current:
        store = CorollaryStore(rules="none")
        try:
            store.open(str(folder), read_only=True, progress=current.update)
            found = store.verify(progress=current.update)
        except DamagedFolder as error:
            found = Verification(0, 0, 0, str(folder), (str(error),))
    if as_json:
        print_json(found.as_dict(), False)
    else:
        click.echo(found)
    if not found.is_sound:
        raise click.exceptions.Exit(EXIT_UNSOUND)


def store_file(folder: Path) -> Path:
    """The database file of a store's folder. Raises CorollaryError if there is none."""
    from corollary.language import CorollaryError
    from corollary.reasoner.folder_place import DATABASE

    file = folder / DATABASE
    if not file.is_file():
        raise CorollaryError(f"{folder}: there is no store: name the folder that a store was opened with")
    return file
