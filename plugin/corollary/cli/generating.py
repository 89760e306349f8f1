"""``corollary generate``: synthetic data of any size."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from pathlib import Path

import click

from corollary.cli.commands import main
from corollary.cli.progress import stage


@main.group()
def generate() -> None:
    """Generate synthetic data."""


@dataclass(frozen=True, slots=True)
class Kind:
    """What the help of a command says about a kind of data.

    ``summary`` stands in the list of commands. ``made`` is what the command makes, ``about`` are further
    sentences. ``closing`` are the arguments of ``corollary materialise`` in the example, after the folder.
    ``suffix`` is that of the ontology's file. ``part`` begins the names of the other files, if the name of
    the command does not.
    """

    summary: str
    made: str
    about: str = ""
    closing: str = ""
    suffix: str = "nt"
    part: str = ""

    def help(self, name: str) -> str:
        """The text of the command's help. Line breaks are click's, but for the example."""
        part = self.part or name
        parts = f"{part}-1.nt, {part}-2.nt ..."
        written = f"Writes {name}.{self.suffix}, {parts} into a folder, and prints their names."
        example = f"corollary generate {name} 1 -o {name}\n  corollary materialise {name}{self.closing}"
        about = f"{self.about} {written}" if self.about else written
        return f"{self.made}\n\n{about}\n\n\b\nExample:\n  {example}"


KINDS = {
    "university": Kind(
        "Make universities of some 100,000 triples.",
        "Generate N universities of some 100,000 triples each, and their ontology.",
        closing="/*",
        suffix="ttl",
    ),
    "encyclopaedia": Kind(
        "Make volumes of an encyclopaedia of some 100,000 triples.",
        "Generate N volumes of an encyclopaedia of some 100,000 triples each, and its ontology.",
        "The data resemble DBpedia: thousands of predicates, categories with cycles, texts in many"
        " languages.",
        closing=" --rules rdfs",
        part="volume",
    ),
    "categories": Kind(
        "Make SKOS categories, of some 100,000 triples.",
        "Generate N parts of some 100,000 triples about categories: long chains and cycles of skos:broader.",
        "The data resemble DBpedia's categories, and have some twenty times as many facts when they are"
        " closed.",
        closing=" --rules skos",
        suffix="ttl",
    ),
    "museum": Kind(
        "Make museums of some 100,000 triples.",
        "Generate N museums of some 100,000 triples each, and their ontology.",
        "The data resemble Claros: objects, their production and places in the CIDOC vocabulary. Places form"
        " large groups in which all are related to each other.",
        suffix="ttl",
    ),
    "market": Kind(
        "Make markets of some 100,000 triples.",
        "Generate N markets of some 100,000 triples each, and their ontology.",
        "The data have the vocabulary of the Berlin SPARQL Benchmark: products, offers and reviews, with long"
        " texts, numbers and dates.",
        closing=" --rules rdfs",
    ),
    "dag": Kind(
        "Make random acyclic graphs of 100,000 edges.",
        "Generate N random acyclic graphs of 10,000 nodes and 100,000 edges of a transitive property.",
        "The closure of one graph has 22 million facts.",
    ),
    "rand": Kind(
        "Make random graphs of 1,000 nodes.",
        "Generate N random graphs of 1,000 nodes and some 10,000 edges of a transitive property.",
        "Every pair of nodes is an edge with a probability of 1 %.",
    ),
    "rmat": Kind(
        "Make power-law graphs of 1,000 nodes.",
        "Generate N random graphs of 1,000 nodes and 10,000 edges, whose degrees follow a power law.",
        "The edges of a transitive property are drawn from a recursive matrix (R-MAT).",
    ),
    "cspa": Kind(
        "Make pointer assignments of programs, 100,000 triples.",
        "Generate N parts of 50,000 assignments and 50,000 dereferences, for a points-to analysis.",
        "Under the rules of the context-sensitive points-to analysis a part has 3.7 million facts.",
    ),
    "csda": Kind(
        "Make null pointers and control flow of programs, 100,000 triples.",
        "Generate N parts of 58,000 null edges and 42,000 arcs, for a data-flow analysis.",
        "Under the rules of the context-sensitive data-flow analysis a part has 69,000 facts more.",
    ),
}
"""Name of the command -> kind of data, for the keys of ``corollary.generators.GENERATORS``."""

PARAMETERS = (
    click.Argument(["number"], type=click.IntRange(min=1), metavar="N"),
    click.Option(
        ["--output", "-o"], required=True, metavar="DIR", help="Folder for the files; made if need be."
    ),
    click.Option(["--seed"], default=0, show_default=True, help="The same seed gives the same files."),
    click.Option(["--gzip", "gzipped"], is_flag=True, help="Compress the data files."),
)


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


for _name, _kind in KINDS.items():
    generate.add_command(
        click.Command(
            _name,
            params=list(PARAMETERS),
            callback=partial(_write, _name),
            help=_kind.help(_name),
            short_help=_kind.summary,
        )
    )
