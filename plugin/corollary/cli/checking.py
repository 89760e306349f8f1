"""``corollary check``: the mistakes in files, and classes that cannot have members."""

from __future__ import annotations

import json
from collections import Counter
from typing import TYPE_CHECKING, Any

import click

from corollary.cli.commands import json_option, main, takes_files
from corollary.cli.group import EXIT_INCONSISTENT
from corollary.cli.input_options import Reading, as_is_option
from corollary.cli.pipeline import loaded, prefixes_of
from corollary.cli.progress import stage

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from corollary.evaluate import MaterialisedView
    from corollary.explain.mistakes import Mistake
    from corollary.explain.wording import Wording


@main.command(short_help="List inconsistencies.")
@takes_files
@as_is_option
@click.option("--unsatisfiable", is_flag=True, help="List the classes that cannot have members, instead.")
@click.option(
    "--limit", type=click.IntRange(min=1), default=100, show_default=True, help="The most entries to list."
)
@json_option
@click.pass_context
def check(
    ctx: click.Context,
    files: tuple[str, ...],
    rules: tuple[str, ...],
    reading: Reading,
    unsatisfiable: bool,
    limit: int,
    as_json: bool,
) -> None:
    """List the mistakes in FILE...: what is inconsistent, in a sentence, by which rule and facts.

    Inconsistencies that differ only in equal terms, or in the direction of symmetric facts, are one entry. An
    entry lists its stated facts first, and last a fact in which a literal stands. Entries with the fewest
    inferred facts come first. The exit code is 1 if there are any, 0 if there are none. At most 1,000
    inconsistencies per rule are looked at.

    With --unsatisfiable: a class cannot have members if one member would make FILE... inconsistent, or more
    inconsistent. The member has the values that owl:someValuesFrom asks for, and these have theirs.

    \b
    Examples:
      corollary check ontology.ttl data.nt
      corollary check data.ttl --json | jq '.inconsistencies[].sentence'
      corollary check ontology.ttl --unsatisfiable
      corollary check closed.encoded --as-is
    """
    store = loaded(files, rules, reading)
    if unsatisfiable:
        from corollary.cli.unsatisfiable import unsatisfiable_classes

        with stage("check classes", {}) as current:
            classes = [one.as_dict() for one in unsatisfiable_classes(store, current.update)]
        _print_classes(classes, limit, as_json)
        ctx.exit(EXIT_INCONSISTENT if classes else 0)
    result = store.materialise()
    data = _document(result, prefixes_of(store), limit)
    if as_json:
        click.echo(json.dumps(data, indent=2, ensure_ascii=False))
    else:
        _print_mistakes(data)
    ctx.exit(EXIT_INCONSISTENT if data["count"] else 0)


def _document(
    result: MaterialisedView | None, prefixes: Sequence[tuple[str, str]], limit: int
) -> dict[str, Any]:
    """The mistakes as JSON-ready data: the first ``limit``, and counts of all that were looked at."""
    from corollary.explain.mistakes import mistakes, wording_of

    found = [] if result is None else mistakes(result)
    count = 0 if result is None else result.inconsistency_count
    entries: list[dict[str, Any]] = []
    if result is not None:
        wording = wording_of(result, prefixes)
        entries = [_entry(result, wording, mistake) for mistake in found[:limit]]
    looked_at = sum(len(mistake.copies) for mistake in found)
    return {
        "count": count,
        "mistakes": len(found),
        "complete": looked_at == count,
        "by_rule": dict(Counter(mistake.rule for mistake in found).most_common()),
        "inconsistencies": entries,
    }


def _entry(result: MaterialisedView, wording: Wording, mistake: Mistake) -> dict[str, Any]:
    from corollary.explain.mistakes import sentence_of, uses

    shown, decode = mistake.copies[0], result.dictionary.decode_all
    facts = (*mistake.stated, *mistake.inferred)
    return {
        "rule": mistake.rule,
        "sentence": sentence_of(shown, wording, facts),
        "facts": [decode(fact) for fact in facts],
        "texts": list(map(wording.fact, facts)),
        "stated": len(mistake.stated),
        "used_in": list(map(wording.fact, uses(result, mistake))),
        "copies": len(mistake.copies),
    }


def _print_mistakes(data: dict[str, Any]) -> None:
    for number, entry in enumerate(data["inconsistencies"]):
        copies = entry["copies"] - 1
        more = f", and {copies:,} {'copy' if copies == 1 else 'copies'}" if copies else ""
        click.echo(f"{chr(10) if number else ''}{entry['sentence']} ({entry['rule']}{more})")
        for place, line in enumerate(entry["texts"]):
            click.echo(f"  {'stated  ' if place < entry['stated'] else 'inferred'}  {line}")
        for line in entry["used_in"]:
            click.echo(f"  used in   {line}")
    click.echo("\n".join(_summary(data)), err=True)


def _summary(data: dict[str, Any]) -> Iterator[str]:
    """The lines after the list."""
    if not data["count"]:
        yield "consistent"
        return
    shown, found, count = len(data["inconsistencies"]), data["mistakes"], data["count"]
    some = "" if data["complete"] else "at least "
    listed = "" if shown == found else f", of which {shown:,} are listed (--limit)"
    mistakes = "mistake" if found == 1 else "mistakes"
    inconsistencies = "inconsistency" if count == 1 else "inconsistencies"
    yield f"{some}{found:,} {mistakes} ({count:,} {inconsistencies}){listed}"
    yield from (f"  {rule}: {number:,}" for rule, number in data["by_rule"].items())


def _print_classes(classes: list[dict[str, Any]], limit: int, as_json: bool) -> None:
    if as_json:
        data = {"count": len(classes), "unsatisfiable": classes[:limit]}
        click.echo(json.dumps(data, indent=2, ensure_ascii=False))
        return
    for one in classes[:limit]:
        click.echo(f"{one['name']} cannot have members: {one['sentence']} ({one['rule']})")
    word = "class" if len(classes) == 1 else "classes"
    shown = "" if len(classes) <= limit else f", of which {limit:,} are listed (--limit)"
    click.echo(f"{len(classes):,} {word} cannot have members{shown}", err=True)
