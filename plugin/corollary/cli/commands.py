"""The commands and their help. Each is a few lines around ``pipeline.run``."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import click

from corollary.cli.group import EXIT_INCONSISTENT, Commands, print_version
from corollary.cli.pipeline import DEFAULT_RULES, load_program, run
from corollary.cli.progress import stage

Command = TypeVar("Command", bound=Callable[..., Any])

_files = click.argument("files", nargs=-1, required=True, metavar="FILE...")
_rules = click.option(
    "--rules",
    "-r",
    multiple=True,
    metavar="NAME|FILE",
    help=f"A profile (see `corollary profiles`) or a rule file; may be repeated. Default: {DEFAULT_RULES}.",
)
_input_format = click.option(
    "--input-format",
    metavar="SUFFIX",
    help="Format of standard input and of files whose names do not tell, such as ttl. Default: nt.",
)
_json = click.option("--json", "as_json", is_flag=True, help="Print JSON instead of text.")


def _takes_files(command: Command) -> Command:
    return _files(_rules(_input_format(command)))


_version = click.option(
    "--version",
    is_flag=True,
    is_eager=True,
    expose_value=False,
    callback=print_version,
    help="Print the version and stop.",
)


@click.group(cls=Commands, context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100})
@_version
def main() -> None:
    """Find everything that follows from RDF data: RDFS, OWL 2 RL and your own rules.

    A FILE is RDF in any usual format, told by its suffix: .nt .nq .ttl .trig .rdf .owl .xml .n3 .jsonld, each
    also with .gz or .bz2 after it. A single - is standard input.

    \b
    Try it:
      corollary generate university 1 -o university
      corollary materialise university/* -o closed.nt.gz
      corollary check university/*

    Exit codes: 0 all well, 1 `check` found inconsistencies, 2 a mistake in the input or on the command line.
    """


@main.command(short_help="Close files under rules, print a summary.")
@_takes_files
@click.option("--output", "-o", metavar="FILE", help="Write the facts to this file; - is standard output.")
@click.option("--output-format", metavar="SUFFIX", help="Format to write, such as ttl. Default: by suffix.")
@click.option("--inferred-only", is_flag=True, help="Write only what was not in the input.")
@_json
def materialise(
    files: tuple[str, ...],
    rules: tuple[str, ...],
    input_format: str | None,
    output: str | None,
    output_format: str | None,
    inferred_only: bool,
    as_json: bool,
) -> None:
    """Add to the triples of FILE... everything that follows from them, and say what that came to.

    \b
    Examples:
      corollary materialise ontology.ttl data.nt.gz -o closed.nt.gz
      corollary materialise ontology.owl --rules rdfs --inferred-only -o new.ttl
      corollary materialise data.ttl --rules owl2rl --rules family.dlog --json
      zcat data.nt.gz | corollary materialise ontology.ttl - -o - | sort | less
    """
    from corollary.loaders.writing import check_target, write

    if output is None and (inferred_only or output_format):
        raise click.UsageError("--inferred-only and --output-format say what to write: name a file with -o")
    if output is not None:
        check_target(output, output_format)  # a mistake here should not cost the time to reason
    done = run(files, rules, input_format)
    result = done.materialisation
    if output is not None:
        with stage("write", done.seconds):
            index = result.inferred() if inferred_only else result.index
            write(output, index.columns(), result.dictionary, output_format)
    _print_summary(done, as_json, to_stderr=output == "-")
    if result.inconsistency_count:
        click.echo(
            f"corollary: {_inconsistencies(result.inconsistency_count)} found;"
            " `corollary check` with the same files and rules lists them",
            err=True,
        )


def _print_summary(done: Any, as_json: bool, to_stderr: bool) -> None:
    from corollary.cli.summary import summary, tables

    data = summary(done)
    if as_json:
        click.echo(json.dumps(data, indent=2, ensure_ascii=False), err=to_stderr)
        return
    from rich.console import Console

    stream = sys.stderr if to_stderr else sys.stdout
    Console(file=stream, width=None if stream.isatty() else 110).print(
        *tables(data, done.materialisation.program.prefixes)
    )


@main.command(short_help="Print the program made for an ontology.")
@click.argument("files", nargs=-1, metavar="[FILE]...")
@_rules
@_input_format
def rules(files: tuple[str, ...], rules: tuple[str, ...], input_format: str | None) -> None:
    """Print the Datalog program that the rules become for the ontology in FILE...

    Every schema statement that a rule needs has been looked up: what is left speaks of your classes and
    properties. Without files the rules are printed as they are written.

    \b
    Examples:
      corollary rules ontology.ttl --rules owl2rl
      corollary rules --rules rdfs
    """
    from corollary.language import format_program

    if files:
        program = run(files, rules, input_format).materialisation.instances()
    else:
        program = load_program(rules or (DEFAULT_RULES,))
    click.echo(format_program(program).rstrip("\n"))


@main.command(short_help="List inconsistencies.")
@_takes_files
@_json
@click.pass_context
def check(
    ctx: click.Context,
    files: tuple[str, ...],
    rules: tuple[str, ...],
    input_format: str | None,
    as_json: bool,
) -> None:
    """List the inconsistencies in FILE..., each with its rule and the facts that clash.

    Exit code 1 if there are any, 0 if there are none. Of the clashes with one rule a thousand are listed.

    \b
    Examples:
      corollary check ontology.ttl data.nt
      corollary check data.ttl --json | jq '.inconsistencies[].rule'
    """
    result = run(files, rules, input_format).materialisation
    found, count = result.inconsistencies, result.inconsistency_count
    if as_json:
        decode = result.dictionary.decode_all
        listed = [{"rule": one.rule, "facts": [decode(fact) for fact in one.facts]} for one in found]
        click.echo(json.dumps({"count": count, "inconsistencies": listed}, indent=2, ensure_ascii=False))
    else:
        for one in found:
            click.echo(one.text(result.dictionary).rstrip("\n"))
        shown = f", of which {len(found):,} are listed" if len(found) < count else ""
        click.echo(f"{_inconsistencies(count)}{shown}" if count else "consistent", err=True)
    ctx.exit(EXIT_INCONSISTENT if count else 0)


@main.command("explain-plan", short_help="Show how files are evaluated.")
@_takes_files
@_json
def explain_plan(
    files: tuple[str, ...], rules: tuple[str, ...], input_format: str | None, as_json: bool
) -> None:
    """Show how FILE... are evaluated: components in order, their rules, and a plan for each kind of change.

    \b
    Examples:
      corollary explain-plan ontology.ttl data.nt
      corollary explain-plan ontology.ttl --rules rdfs --json
    """
    from corollary.plan.explain import explanation_text

    explanation = run(files, rules, input_format).materialisation.explain_plan()
    if as_json:
        click.echo(json.dumps(explanation, indent=2, ensure_ascii=False))
    else:
        click.echo(explanation_text(explanation), nl=False)


@main.command(short_help="List the rule sets known by name.")
def profiles() -> None:
    """List the rule sets that --rules knows by name, with their numbers of rules."""
    from corollary.profiles import load_profile, profile_names

    names = profile_names()
    width = max(map(len, names))
    for name in names:
        click.echo(f"{name:<{width}}  {len(load_profile(name)):>3} rules")


@main.group()
def generate() -> None:
    """Make data to try things on."""


@generate.command(short_help="Make universities of some 100,000 triples.")
@click.argument("number", type=click.IntRange(min=1), metavar="N")
@click.option("--output", "-o", required=True, metavar="DIR", help="Folder for the files; made if need be.")
@click.option("--seed", default=0, show_default=True, help="The same seed gives the same files.")
@click.option("--gzip", "gzipped", is_flag=True, help="Compress the data files.")
def university(number: int, output: str, seed: int, gzipped: bool) -> None:
    """Make N universities of some 100,000 triples each, and their ontology.

    Writes university.ttl, university-1.nt, university-2.nt ... into a folder, and prints their names.

    \b
    Example:
      corollary generate university 1 -o university
      corollary materialise university/*
    """
    from corollary.loaders import generate as generate_universities

    with stage("generate", {}) as current:
        paths = generate_universities(
            number, Path(output), seed=seed, compression="gz" if gzipped else "", progress=current.update
        )
    for path in paths:
        click.echo(path)


def _inconsistencies(count: int) -> str:
    return f"{count:,} {'inconsistency' if count == 1 else 'inconsistencies'}"
