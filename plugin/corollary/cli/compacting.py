"""``corollary compact``: rewrite a store's folder without unused terms."""

from __future__ import annotations

from pathlib import Path

import click

from corollary.cli.commands import main
from corollary.cli.output import print_json
from corollary.cli.progress import stage
from corollary.cli.verifying import store_file


@main.command(short_help="Give back the terms that nothing in a store's folder uses.")
@click.argument("folder", type=click.Path(path_type=Path))
@click.option("--json", "as_json", is_flag=True, help="Print JSON instead of text.")
def compact(folder: Path, as_json: bool) -> None:
    """Rewrite the FOLDER of a store without the terms that no triple and no graph uses any more.

    Triples, graphs and prefixes do not change. Refused while another store has the folder open.

    \b
    Examples:
      corollary compact pets
      corollary compact pets --json && corollary verify pets
    """
    from corollary.store import CorollaryStore

    file = store_file(folder)
    before = file.stat().st_size
    with stage("compacting", {}):
        store = CorollaryStore(rules="none")
        store.open(str(folder))
        removed = store.compact()
        store.close()
    after = file.stat().st_size
    if as_json:
        print_json({"terms": removed, "bytes_before": before, "bytes_after": after}, False)
    else:
        click.echo(f"{removed:,} terms given back: {before:,} bytes before, {after:,} after")
