"""``corollary generate``: synthetic data of any size."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import click

from corollary.cli.commands import main
from corollary.cli.progress import stage


@main.group()
def generate() -> None:
    """Generate synthetic data."""


def _options(command: Callable[..., Any]) -> Callable[..., Any]:
    for option in (
        click.option("--gzip", "gzipped", is_flag=True, help="Compress the data files."),
        click.option("--seed", default=0, show_default=True, help="The same seed gives the same files."),
        click.option(
            "--output", "-o", required=True, metavar="DIR", help="Folder for the files; made if need be."
        ),
        click.argument("number", type=click.IntRange(min=1), metavar="N"),
    ):
        command = option(command)
    return command


@generate.command(short_help="Make universities of some 100,000 triples.")
@_options
def university(number: int, output: str, seed: int, gzipped: bool) -> None:
    """Generate N universities of some 100,000 triples each, and their ontology.

    Writes university.ttl, university-1.nt, university-2.nt ... into a folder, and prints their names.

    \b
    Example:
      corollary generate university 1 -o university
      corollary materialise university/*
    """
    _write("university", number, output, seed, gzipped)


@generate.command(short_help="Make volumes of an encyclopaedia of some 100,000 triples.")
@_options
def encyclopaedia(number: int, output: str, seed: int, gzipped: bool) -> None:
    """Generate N volumes of an encyclopaedia of some 100,000 triples each, and its ontology.

    The data resemble DBpedia: thousands of predicates, categories with cycles, texts in many languages.
    Writes encyclopaedia.nt, volume-1.nt, volume-2.nt ... into a folder, and prints their names.

    \b
    Example:
      corollary generate encyclopaedia 1 -o encyclopaedia
      corollary materialise encyclopaedia --rules rdfs
    """
    _write("encyclopaedia", number, output, seed, gzipped)


def _write(kind: str, number: int, output: str, seed: int, gzipped: bool) -> None:
    from corollary.generators import generate as write_parts

    with stage("generate", {}) as current:
        paths = write_parts(
            number,
            Path(output),
            kind,
            seed=seed,
            compression="gz" if gzipped else "",
            progress=current.update,
        )
    for path in paths:
        click.echo(path)
