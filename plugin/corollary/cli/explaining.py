"""``corollary explain``: load, reason, and prove a fact or the inconsistencies.

A term on the command line is written as in Turtle, with the prefixes that the files declare. ``_:label`` is
the blank node with this label in the output of other commands.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

import click

from corollary.cli.commands import main
from corollary.cli.group import EXIT_NO
from corollary.cli.input_options import Reading, as_is_option, reading_options, rules_option
from corollary.cli.limiting import limiting_options
from corollary.cli.pipeline import loaded, prefixes_of

if TYPE_CHECKING:
    from rdflib.term import Node

    from corollary.explain import Explanation
    from corollary.store import CorollaryStore

FORMATS = ("text", "json", "dot", "html")
PLACES = ("subject", "predicate", "object")
TRIPLES = {"subject": "{} a 0 .", "predicate": "<urn:s> {} 0 .", "object": "<urn:s> a {} ."}
"""For each place of a term, a Turtle document with one triple that has the term at that place."""
IRI_BEGINNINGS = ("http://", "https://")
"""How IRIs begin that need no brackets on the command line. No prefixed name begins so."""


_limit = click.option(
    "--limit",
    type=click.IntRange(min=1),
    default=1,
    show_default=True,
    help="The greatest number of proofs, or of inconsistencies.",
)


@main.command(short_help="Prove a fact, or what is inconsistent.")
@click.argument("words", nargs=-1, metavar="FILE... [SUBJECT PREDICATE OBJECT]")
@rules_option
@reading_options
@as_is_option
@limiting_options
@click.option("--inconsistencies", is_flag=True, help="Prove inconsistencies; then there are only files.")
@click.option("--format", type=click.Choice(FORMATS), default="text", help="How to print. Default: text.")
@_limit
@click.option("--unfolded", is_flag=True, help="With dot: draw all facts of large proofs.")
@click.pass_context
def explain(
    ctx: click.Context,
    words: tuple[str, ...],
    rules: tuple[str, ...],
    reading: Reading,
    inconsistencies: bool,
    format: str,
    limit: int,
    unfolded: bool,
) -> None:
    """Explain why SUBJECT PREDICATE OBJECT follows from FILE...: by which rules, from which facts.

    Terms are written as in Turtle, with the prefixes of the files: :ann, a, 5, '"text"@en', '<urn:x>'; also
    http://... as it is. An explicit fact is proved from the other facts if it follows from them. The exit
    code is 1 if the fact does not hold.

    \b
    Examples:
      corollary explain ontology.ttl data.ttl :ann :ancestor :cid
      corollary explain data.ttl :bob a :Person --rules family.dlog --limit 3
      corollary explain data.ttl :bob a :Person --format dot | dot -Tsvg > why.svg
      corollary explain data.ttl --inconsistencies --limit 10
      corollary explain closed.encoded :ann :ancestor :cid --as-is
    """
    files, terms = (words, ()) if inconsistencies else (words[:-3], words[-3:])
    if not files:
        wanted = "" if inconsistencies else " and then SUBJECT PREDICATE OBJECT, such as :bob a :Person"
        raise click.UsageError(f"name FILE...{wanted}")
    store = loaded(files, rules, reading)
    if inconsistencies:
        explanations = clashes_explained(store, limit)
        if not explanations:
            click.echo("consistent", err=True)
    else:
        s, p, o = (parsed(term, place, store) for term, place in zip(terms, PLACES, strict=True))
        explanations = [store.explain((s, p, o), limit=limit)]
    for printed in _printed(explanations, format, as_list=inconsistencies, unfolded=unfolded):
        click.echo(printed)
    ctx.exit(EXIT_NO if any(found.is_absent for found in explanations) else 0)


def clashes_explained(store: CorollaryStore, limit: int) -> list[Explanation]:
    """The first ``limit`` mistakes, each with its shortest proof: see ``explain.mistakes``."""
    from corollary.explain.mistakes import explain_mistake, mistakes

    result = store.materialise()
    if result is None:
        return []
    found = mistakes(result)
    some = "at least " if len(result.inconsistencies) < result.inconsistency_count else ""
    places = (f"{number:,} of {some}{len(found):,}" for number in range(1, len(found) + 1))
    prefixes = prefixes_of(store)
    return [
        explain_mistake(result, mistake, prefixes, place)
        for mistake, place in zip(found[:limit], places, strict=False)
    ]


def _printed(
    explanations: Sequence[Explanation], format: str, as_list: bool, unfolded: bool
) -> Iterator[str]:
    if format == "json":
        data = [explanation.as_dict() for explanation in explanations]
        yield json.dumps(data if as_list else data[0], indent=2, ensure_ascii=False)
        return
    if format == "html":
        from corollary.explain.html import page

        yield page(explanations).rstrip("\n")
        return
    for number, explanation in enumerate(explanations):
        if format == "text":
            yield f"\n{explanation}" if number else str(explanation)
        else:
            yield explanation.dot(folded=not unfolded).rstrip("\n")


def parsed(text: str, place: str, store: CorollaryStore) -> Node:
    """Parse a term in Turtle. Raises InputError for a term that is malformed or not allowed at that place."""
    from rdflib import BNode, Graph, Literal
    from rdflib.term import URIRef

    from corollary.language.constants import PREDECLARED
    from corollary.language.errors import Diagnostic, InputError

    if text.startswith("_:") and place != "predicate":
        return BNode(text[2:])
    written = f"<{text}>" if text.startswith(IRI_BEGINNINGS) else text
    prefixes = PREDECLARED | {prefix: str(namespace) for prefix, namespace in store.namespaces()}
    header = "".join(f"@prefix {prefix}: <{namespace}> .\n" for prefix, namespace in prefixes.items())
    graph = Graph()
    try:
        graph.parse(data=header + TRIPLES[place].format(written), format="turtle")
    except Exception:  # rdflib has no common class for parse errors
        graph = Graph()
    for s, p, o in graph if len(graph) == 1 else ():
        if not isinstance(s, Literal) and isinstance(p, URIRef):  # rdflib's parser is more lenient
            return (s, p, o)[PLACES.index(place)]
    known = ", ".join(f"{prefix}:" for prefix in prefixes)
    number = "" if place != "object" else ", 5, '\"text\"'"
    remedy = f"write it as in Turtle: <http://...>, a name with one of the prefixes {known}{number}"
    raise InputError(Diagnostic(f"{text} cannot stand as the {place} of a triple", None, remedy))
