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


@generate.command(short_help="Make SKOS categories, of some 100,000 triples.")
@_options
def categories(number: int, output: str, seed: int, gzipped: bool) -> None:
    """Generate N parts of some 100,000 triples about categories: long chains and cycles of skos:broader.

    The data resemble DBpedia's categories, and have some twenty times as many facts when they are closed.
    Writes categories.ttl, categories-1.nt, categories-2.nt ... into a folder, and prints their names.

    \b
    Example:
      corollary generate categories 1 -o categories
      corollary materialise categories --rules skos
    """
    _write("categories", number, output, seed, gzipped)


@generate.command(short_help="Make museums of some 100,000 triples.")
@_options
def museum(number: int, output: str, seed: int, gzipped: bool) -> None:
    """Generate N museums of some 100,000 triples each, and their ontology.

    The data resemble Claros: objects, their production and places in the CIDOC vocabulary. Places form large
    groups in which all are related to each other. Writes museum.ttl, museum-1.nt, museum-2.nt ... into a
    folder, and prints their names.

    \b
    Example:
      corollary generate museum 1 -o museum
      corollary materialise museum
    """
    _write("museum", number, output, seed, gzipped)


@generate.command(short_help="Make random acyclic graphs of 100,000 edges.")
@_options
def dag(number: int, output: str, seed: int, gzipped: bool) -> None:
    """Generate N random acyclic graphs of 10,000 nodes and 100,000 edges of a transitive property.

    The closure of one graph has 22 million facts. Writes dag.nt, dag-1.nt, dag-2.nt ... into a folder, and
    prints their names.

    \b
    Example:
      corollary generate dag 1 -o dag
      corollary materialise dag
    """
    _write("dag", number, output, seed, gzipped)


@generate.command(short_help="Make random graphs of 1,000 nodes.")
@_options
def rand(number: int, output: str, seed: int, gzipped: bool) -> None:
    """Generate N random graphs of 1,000 nodes and some 10,000 edges of a transitive property.

    Every pair of nodes is an edge with a probability of 1 %. Writes rand.nt, rand-1.nt, rand-2.nt ... into a
    folder, and prints their names.

    \b
    Example:
      corollary generate rand 1 -o rand
      corollary materialise rand
    """
    _write("rand", number, output, seed, gzipped)


@generate.command(short_help="Make power-law graphs of 1,000 nodes.")
@_options
def rmat(number: int, output: str, seed: int, gzipped: bool) -> None:
    """Generate N random graphs of 1,000 nodes and 10,000 edges, whose degrees follow a power law.

    The edges of a transitive property are drawn from a recursive matrix (R-MAT). Writes rmat.nt, rmat-1.nt,
    rmat-2.nt ... into a folder, and prints their names.

    \b
    Example:
      corollary generate rmat 1 -o rmat
      corollary materialise rmat
    """
    _write("rmat", number, output, seed, gzipped)


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
