"""The commands and their help texts. Most are a few lines around ``pipeline.run``."""

from __future__ import annotations

import json
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, TextIO

import click

from corollary.cli.group import EXIT_NO, Commands, print_version
from corollary.cli.input_options import (
    DEFAULT_RULES,
    Reading,
    as_is_option,
    reading_options,
    rules_option,
    together,
)
from corollary.cli.limiting import limiting_options
from corollary.cli.output import check_target, is_stored, print_json, print_tables, write_facts
from corollary.cli.pipeline import loaded, prefixes_of, run, run_and_save
from corollary.cli.updating import Sources, StrategyName, Update, update_files

if TYPE_CHECKING:
    from corollary.cli.querying import Answer
    from corollary.cli.question import Question

_files = click.argument("files", nargs=-1, required=True, metavar="FILE...")
json_option = click.option("--json", "as_json", is_flag=True, help="Print JSON instead of text.")
takes_files = together(_files, rules_option, reading_options, limiting_options)
_output = click.option(
    "--output", "-o", metavar="FILE", help="Write the facts to this file; - is standard output."
)
_output_format = click.option(
    "--output-format", metavar="SUFFIX", help="Format to write, such as ttl. Default: by suffix."
)
_takes_changes = together(
    click.argument("files", nargs=-1, required=True, metavar="DATA..."),
    click.option(
        "--remove", multiple=True, metavar="FILE", help="A file with facts to remove; may be repeated."
    ),
    click.option("--add", multiple=True, metavar="FILE", help="A file with facts to add; may be repeated."),
    rules_option,
    reading_options,
    limiting_options,
)
_strategy = click.option(
    "--strategy",
    type=StrategyName(),
    default="automatic",
    show_default=True,
    help="How removals are followed.",
)
_report = click.option(
    "--report",
    type=click.Choice(["text", "json"]),
    help="Print what maintenance did, module by module; json has the summary too.",
)
_asks = together(
    takes_files,
    as_is_option,
    click.option("--query", "-q", "text", metavar="QUERY", help="The SPARQL query."),
    click.option("--query-file", "-f", type=click.File(encoding="utf-8"), help="A file with the query."),
    click.option(
        "--results",
        type=click.Choice(["table", "csv", "tsv", "json", "xml", "ttl", "nt", "arrow", "parquet"]),
        help="How to print the answer. Default: table, or ttl for CONSTRUCT and DESCRIBE.",
    ),
    click.option("--explain", is_flag=True, help="Print how the query is evaluated, instead of its answer."),
    click.option("--analyze", is_flag=True, help="As --explain, with the rows and times of an evaluation."),
    click.option("--typed", is_flag=True, help="With arrow or parquet: columns of values instead of terms."),
    click.option(
        "--external",
        type=click.Choice(["none", "files", "network", "all"]),
        envvar="COROLLARY_EXTERNAL",
        default="none",
        show_default=True,
        help="What SERVICE and FROM may reach beside FILE...",
    ),
)
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

    A FILE is RDF in any usual format, recognised by its suffix: .nt .nq .ttl .trig .rdf .owl .xml .n3
    .jsonld, optionally followed by .gz, .bz2 or .zst. A folder stands for the RDF files in it, or is an
    encoded data set. An http or https address is fetched. A single - is standard input.

    \b
    Try it:
      corollary generate university 1 -o university
      corollary materialise university/* -o closed.nt.gz
      corollary check university/*
      corollary query university/* -q 'SELECT ?type (COUNT(*) AS ?members) { ?x a ?type } GROUP BY ?type'

    Exit codes: 0 success; 1 `check` found inconsistencies, `query` answers ASK with no, the fact to
    `explain` does not hold, or `verify` found damage; 2 a mistake in the input or on the command line, a
    full device, or too little memory.
    """


@main.command(short_help="Close files under rules, print a summary.")
@takes_files
@_output
@_output_format
@click.option("--inferred-only", is_flag=True, help="Write only what was not in the input.")
@json_option
def materialise(
    files: tuple[str, ...],
    rules: tuple[str, ...],
    reading: Reading,
    output: str | None,
    output_format: str | None,
    inferred_only: bool,
    as_json: bool,
) -> None:
    """Infer everything that follows from the triples of FILE..., and print a summary.

    A snapshot is one file, which `corollary query closed.snapshot --as-is`, `serve` and `open` of a store
    open at once, without reasoning. An encoded data set, -o closed.encoded, is a folder of Parquet files.
    Both keep the graphs, prefixes and rules.

    \b
    Examples:
      corollary materialise ontology.ttl data.nt.gz -o closed.nt.gz
      corollary materialise ontology.ttl data.nt.gz -o closed.snapshot
      corollary materialise ontology.owl --rules rdfs --inferred-only -o new.ttl
      corollary materialise data.ttl --rules owl2rl --rules family.dlog --json
      zcat data.nt.gz | corollary materialise ontology.ttl - -o - | sort | less
    """
    from corollary.cli.materialisation_summary import summary, tables

    # before any work is done:
    check_target(output, output_format, inferred_only, sources=files, may_be_stored=True)
    if output is not None and is_stored(output, output_format):
        done = run_and_save(files, rules, reading, Path(output))
    else:
        done = run(files, rules, reading)
        write_facts(done.materialisation, output, output_format, inferred_only, done.seconds)
    data, to_stderr = summary(done), output == "-"
    if as_json:
        print_json(data, to_stderr)
    else:
        print_tables(tables(data, done.materialisation.program.prefixes), to_stderr)
    if done.materialisation.inconsistency_count:
        click.echo(
            f"corollary: {_inconsistencies(done.materialisation.inconsistency_count)} found;"
            " `corollary check` with the same files and rules lists them",
            err=True,
        )


@main.command(short_help="Follow a change of files, and show what it took.")
@_takes_changes
@_strategy
@_output
@_output_format
@click.option("--inferred-only", is_flag=True, help="Write only what is not explicit after the change.")
@_report
def update(
    files: tuple[str, ...],
    remove: tuple[str, ...],
    add: tuple[str, ...],
    rules: tuple[str, ...],
    reading: Reading,
    strategy: str,
    output: str | None,
    output_format: str | None,
    inferred_only: bool,
    report: str | None,
) -> None:
    """Close DATA... under rules, remove and add facts, and update the materialisation incrementally.

    The facts of all --remove files are removed and those of all --add files are added, in one transaction. A
    fact in both is present at the end. The result is exactly what `corollary materialise` makes of the
    changed files, but only the effects of the change are computed. The numbers of new and lost facts, and the
    time of each step, are printed to standard error.

    \b
    Strategies:
      automatic         choose by estimated costs
      backward-forward  look for another proof before a fact is deleted
      dred              overdelete, then rederive what still follows
      counting          count all derivations, delete what has none left
      starting-over     materialise the changed files

    \b
    Examples:
      corollary update ontology.ttl data.nt.gz --remove wrong.nt --add right.nt -o closed.nt.gz
      corollary update data.ttl --remove old.ttl --report text
      corollary update data.ttl --remove old.ttl --strategy dred --report json | jq .maintenance.seconds
      grep Alice data.nt | corollary update ontology.ttl data.nt --remove - -o without-alice.nt
    """
    if not (remove or add):
        raise click.UsageError("nothing to do: name files with --remove or --add")
    if (*files, *remove, *add).count("-") > 1:
        raise click.UsageError("standard input can be read once: name - only one time")
    check_target(output, output_format, inferred_only, sources=(*files, *remove, *add))
    done = update_files(Sources(files, remove, add, rules or (DEFAULT_RULES,)), reading, strategy)
    write_facts(done.after, output, output_format, inferred_only, done.seconds)
    _print_update(done, report, to_stderr=output == "-")


def _print_update(done: Update, report: str | None, to_stderr: bool) -> None:
    """Print the summary, the report and the warning of a change; all to standard error if ``to_stderr``."""
    from corollary.cli.update_summary import summary, tables, warning

    data = summary(done)
    if report == "json":
        print_json(data, to_stderr)
    else:
        print_tables(tables(data), to_stderr=True)
    if report == "text":
        click.echo(done.report, err=to_stderr)
    if said := warning(done):
        click.echo(f"corollary: {said}", err=True)


@main.command(short_help="Ask files and what follows from them a SPARQL query.")
@_asks
@click.pass_context
def query(
    ctx: click.Context,
    files: tuple[str, ...],
    rules: tuple[str, ...],
    reading: Reading,
    text: str | None,
    query_file: TextIO | None,
    results: str | None,
    explain: bool,
    analyze: bool,
    typed: bool,
    external: str,
) -> None:
    """Answer a SPARQL query over FILE... and everything that follows from them.

    Prefixes that a file declares, and rdf, rdfs, owl and xsd, need no declaration in the query. GRAPH matches
    the named graphs of N-Quads and TriG files; patterns outside GRAPH match the union of all graphs. The
    inferred facts are also the graph <urn:x-corollary:inferred>, the explicit facts
    <urn:x-corollary:explicit>. With --rules none nothing is inferred.

    SELECT prints table, csv, tsv, json or xml. ASK prints yes or no (or json, xml), and the exit code is 0
    for yes, 1 for no. CONSTRUCT and DESCRIBE print ttl or nt. All but ASK write arrow and parquet. The number
    of rows and the times are printed to standard error.

    \b
    Examples:
      corollary query ontology.ttl data.nt.gz -q 'SELECT ?x { ?x a :Person }'
      corollary query data.trig -q 'SELECT ?g ?x { GRAPH ?g { ?x a :Person } }' --results csv > people.csv
      corollary query data.ttl -f report.rq | less -S
      corollary query closed.encoded --as-is -f report.rq
      corollary query data.ttl -f report.rq --results parquet --typed > report.parquet
      corollary query data.ttl -q 'SELECT * { GRAPH <urn:x-corollary:inferred> { ?s ?p ?o } }'
      corollary query data.ttl -q 'CONSTRUCT WHERE { ?x :knows ?y }' --results nt > known.nt
      corollary query data.ttl -f report.rq --analyze
      if corollary query data.ttl -q 'ASK { :ann :ancestor :cid }'; then echo related; fi
    """
    from corollary.cli.querying import ask, explained
    from corollary.cli.results import output_format, print_plan

    question = _question(text, query_file)
    if explain or analyze:
        question.form()  # raises what is wrong with the text
        print_plan(partial(explained, files, rules, reading, question, external, analyze=analyze), results)
        return
    format = output_format(question.form(), results, typed)
    ctx.exit(_print_answer(ask(files, rules, reading, question, external), format, typed=typed))


def _print_answer(answer: Answer, format: str, *, typed: bool) -> int:
    """Print the answer, and to standard error its size and the times. Returns the exit code."""
    from corollary.cli.results import print_result

    outcome = print_result(answer.result, answer.dataset, format, typed=typed)
    times = ", ".join(f"{name} {seconds:.3f} s" for name, seconds in answer.seconds.items())
    click.echo(f"{outcome} ({times})", err=True)
    return EXIT_NO if answer.result.askAnswer is False else 0


def _question(text: str | None, query_file: TextIO | None) -> Question:
    """The query that one of -q and -f gives; raises UsageError if both do, or none."""
    from corollary.cli.question import Question

    if text is not None and query_file is None:
        return Question("query", text)
    if query_file is not None and text is None:
        return Question.read(query_file)
    raise click.UsageError("give the query: either its text with -q or its file with -f")


@main.command("explain-plan", short_help="Show how files are evaluated.")
@takes_files
@click.option("--all", "everything", is_flag=True, help="Show the plans of rules without data, too.")
@json_option
def explain_plan(
    files: tuple[str, ...], rules: tuple[str, ...], reading: Reading, everything: bool, as_json: bool
) -> None:
    """Show how FILE... are evaluated: components in order, their rules, and a plan for each kind of change.

    Only rules that have data have plans: each atom of the body matches some fact.

    \b
    Examples:
      corollary explain-plan ontology.ttl data.nt
      corollary explain-plan ontology.ttl --rules rdfs --json
    """
    from corollary.plan.explain import explanation_text

    store = loaded(files, rules, reading)
    result = store.materialise()
    if result is None:
        raise click.UsageError("--rules none: there is nothing to evaluate")
    explanation = result.explain_plan(prefixes_of(store), everything)
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


def _inconsistencies(count: int) -> str:
    return f"{count:,} {'inconsistency' if count == 1 else 'inconsistencies'}"
