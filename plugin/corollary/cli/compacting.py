"""``corollary compact``: rewrite a store's folder without unused terms."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

import click

from corollary.cli.commands import main
from corollary.cli.limiting import limiting_options
from corollary.cli.output import print_json
from corollary.cli.progress import stage
from corollary.cli.verifying import store_file

if TYPE_CHECKING:
    from corollary.language.program import Program


@main.command(short_help="Give back the terms that nothing in a store's folder uses.")
@click.argument("folder", type=click.Path(path_type=Path))
@click.option("--json", "as_json", is_flag=True, help="Print JSON instead of text.")
@limiting_options
def compact(folder: Path, as_json: bool) -> None:
    """Rewrite the FOLDER of a store without the terms that no triple and no graph uses any more.

    Triples, graphs and prefixes do not change. What the snapshot of the folder has inferred is derived
    again, by the same rules. Refused while another store has the folder open.

    \b
    Examples:
      corollary compact pets
      corollary compact pets --json && corollary verify pets
    """
    from corollary.store import CorollaryStore

    file = store_file(folder)
    before = file.stat().st_size
    store = CorollaryStore(rules=_rules_of(folder))
    with stage("opening", {}) as current:
        store.open(str(folder), progress=current.update)
    with stage("compacting", {}) as current:
        current.follow(0)
        removed = store.compact()
    with stage("writing", {}) as current:
        store.checkpoint(progress=current.update)
        store.close()
    after = file.stat().st_size
    if as_json:
        print_json({"terms": removed, "bytes_before": before, "bytes_after": after}, False)
    else:
        click.echo(f"{removed:,} terms given back: {before:,} bytes before, {after:,} after")


def _rules_of(folder: Path) -> Program | str:
    """The rules that closed the last snapshot in a folder; none if no usable one tells them."""
    from corollary.language import CorollaryError
    from corollary.reasoner.checkpoints import latest
    from corollary.reasoner.options import Options

    with suppress(CorollaryError):  # a damaged one: opening the folder warns of it
        snapshot = latest(folder)
        if snapshot is not None:
            return snapshot.closed.program(Options("none")) or "none"
    return "none"
