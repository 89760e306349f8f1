"""``corollary rules``: the rule instances for an ontology, and the components of the program."""

from __future__ import annotations

import click

from corollary.cli.commands import main
from corollary.cli.input_options import DEFAULT_RULES, Reading, reading_options, rules_option
from corollary.cli.limiting import limiting_options
from corollary.cli.pipeline import load_program, loaded, run


@main.command(short_help="Print the program made for an ontology, or its components.")
@click.argument("files", nargs=-1, metavar="[FILE]...")
@rules_option
@reading_options
@limiting_options
@click.option("--components", is_flag=True, help="Print what is derived, by which module, and what reads it.")
@click.option("--dot", is_flag=True, help="Print the components as a Graphviz picture.")
def rules(
    files: tuple[str, ...], rules: tuple[str, ...], reading: Reading, components: bool, dot: bool
) -> None:
    """Print the Datalog program that the rules become for the ontology in FILE...

    The schema atoms of all rules are replaced by their matches: the rules that are left are about your
    classes and properties. Without files the rules are checked and printed as they are written.

    --components shows the components of the program (predicates and classes that depend on each other) in the
    order of dependency: their numbers of facts, the modules and rules that derive them, the components that
    they read, and the components that read them.

    \b
    Examples:
      corollary rules ontology.ttl --rules owl2rl
      corollary rules --rules rdfs
      corollary rules ontology.ttl data.nt --components
      corollary rules ontology.ttl data.nt --dot | dot -Tsvg > program.svg
    """
    from corollary.language import check, format_program

    if components or dot:
        if not files:
            raise click.UsageError("name FILE...: components are the parts of a program at work on facts")
        parts = loaded(files, rules, reading).components()
        click.echo(parts.dot().rstrip("\n") if dot else parts)
        return
    if files:
        program = run(files, rules, reading).materialisation.instances()
    else:
        program = load_program(rules or (DEFAULT_RULES,))
        check(program)
    click.echo(format_program(program).rstrip("\n"))
