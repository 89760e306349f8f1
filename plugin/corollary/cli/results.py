"""Printing query results to standard output, for people and for programs.

Invariant: a table shows every term in full. A terminal gets long terms folded. A pipe or file gets one line
per row, in plain characters and of any width, for pagers (``less -S``) and ``grep``.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterable, Iterator, Sized
from typing import TYPE_CHECKING, Any

import click

from corollary.cli.materialisation_summary import PREFIXES

if TYPE_CHECKING:
    from rdflib import Dataset, Graph
    from rdflib.query import Result
    from rdflib.term import Literal, Node

    from corollary.sparql.explain_query import QueryPlan

DEFAULTS = {"SELECT": "table", "ASK": "table", "CONSTRUCT": "ttl", "DESCRIBE": "ttl"}
"""The default output format for each form of query."""

CHOICES = {
    "SELECT": ("table", "csv", "tsv", "json", "xml", "arrow", "parquet"),
    "ASK": ("table", "json", "xml"),
    "CONSTRUCT": ("ttl", "nt", "arrow", "parquet"),
    "DESCRIBE": ("ttl", "nt", "arrow", "parquet"),
}

BINARY = ("arrow", "parquet")

Printer = Callable[["Node | None"], str]


def output_format(form: str, wanted: str | None, typed: bool) -> str:
    """The output format for a form of query. Raises InputError for options that are not for that form."""
    from corollary.loaders.formats import input_error

    if typed and wanted not in BINARY:
        raise input_error("--typed is for tables of Arrow", f"add --results {' or '.join(BINARY)}")
    if wanted is None:
        return DEFAULTS[form]
    if wanted not in CHOICES[form]:
        remedy = f"choose one of {', '.join(CHOICES[form])}"
        raise input_error(f"--results {wanted} is not for {form} queries", remedy)
    if wanted in BINARY and sys.stdout.isatty():
        raise input_error(f"--results {wanted} is not for a terminal", "redirect it to a file, with >")
    return wanted


def print_result(result: Result, dataset: Dataset, format: str, *, typed: bool = False) -> str:
    """Print a result. Returns a summary of it, such as ``3 rows``. ``typed`` is for ``BINARY`` formats."""
    from corollary.sparql.result import SelectResult
    from corollary.sparql.result_texts import ROW_FORMATS

    if format in BINARY:
        return _print_binary(result, format, typed)
    if result.type == "ASK":
        if format == "table":
            click.echo("yes" if result.askAnswer else "no")
        else:
            _write(result.serialize(format=format))
        return "answered"
    if result.type in ("CONSTRUCT", "DESCRIBE"):
        return _print_triples(result, dataset, format)
    if isinstance(result, SelectResult) and format in ROW_FORMATS:
        for chunk in ROW_FORMATS[format](result):
            click.echo(chunk, nl=False)
        return _counted(result, "row")
    if format == "table":
        _print_table(result, printer(dataset))
    elif format == "tsv":
        names = [f"?{variable}" for variable in result.vars or ()]
        for cells in (names, *_rows(result, ntriples)):
            click.echo("\t".join(cells))
    else:
        _write(result.serialize(format=format))
    return _counted(result, "row")


def print_plan(explain: Callable[[], QueryPlan], wanted: str | None) -> None:
    """Print the plan of a query as a table, or as JSON. Raises InputError for another format."""
    from corollary.loaders.formats import input_error

    if wanted not in (None, "table", "json"):
        raise input_error(f"--results {wanted} is not for plans", "choose table or json")
    plan = explain()
    if wanted == "json":
        click.echo(json.dumps(plan.as_dict(), indent=2, ensure_ascii=False))
    else:
        click.echo(str(plan), nl=False)


def _print_binary(result: Result, format: str, typed: bool) -> str:
    import pyarrow.ipc
    from pyarrow import parquet

    from corollary.sparql.arrow_results import arrow_table

    table = arrow_table(result, typed=typed)
    sink: Any = pyarrow.BufferOutputStream()
    if format == "parquet":
        parquet.write_table(table, sink)
    else:
        with pyarrow.ipc.new_stream(sink, table.schema) as stream:
            stream.write_table(table)
    click.echo(sink.getvalue().to_pybytes(), nl=False)
    return _counted(table, "row" if result.type == "SELECT" else "triple")


def _write(text: bytes | None) -> None:
    assert text is not None, "a serializer without a stream answers with text"
    click.echo(text.rstrip(b"\r\n"))


def _counted(things: Sized, what: str) -> str:
    number = len(things)
    return f"{number:,} {what}{'' if number == 1 else 's'}"


def _rows(result: Result, text: Printer) -> Iterator[list[str]]:
    variables = result.vars or []
    for row in result.bindings:
        yield [text(row.get(variable)) for variable in variables]


def _print_triples(result: Result, dataset: Dataset, format: str) -> str:
    from corollary.sparql.result import GraphResult
    from corollary.sparql.result_texts import triple_lines

    if format == "nt" and isinstance(result, GraphResult):
        lines = sorted(b"".join(triple_lines(result)).splitlines(keepends=True))
        click.echo(b"".join(lines), nl=False)
        return _counted(lines, "triple")
    assert result.graph is not None
    if format == "nt":
        for line in sorted(result.graph.serialize(format="nt").splitlines()):
            click.echo(line)
    else:
        _print_turtle(result.graph, dataset)
    return _counted(result.graph, "triple")


def _print_turtle(graph: Graph, dataset: Dataset) -> None:
    from rdflib.namespace import NamespaceManager

    graph.namespace_manager = NamespaceManager(graph, "none")
    for prefix, namespace in dataset.namespaces():
        graph.bind(prefix, namespace)
    click.echo(graph.serialize(format="turtle").strip("\n"))


def _print_table(result: Result, text: Printer) -> None:
    names = [f"?{variable}" for variable in result.vars or ()]
    rows = list(_rows(result, text))
    if sys.stdout.isatty():
        _print_folded(names, rows)
        return
    from rich.cells import cell_len

    widths = [max(map(cell_len, column)) for column in zip(names, *rows, strict=True)]
    for cells in (names, ["-" * width for width in widths], *rows):
        padded = (cell + " " * (w - cell_len(cell)) for cell, w in zip(cells, widths, strict=True))
        click.echo("  ".join(padded).rstrip())


def _print_folded(names: list[str], rows: Iterable[list[str]]) -> None:
    from rich import box
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    table = Table(box=box.SIMPLE_HEAD)
    for name in names:
        table.add_column(name, overflow="fold")
    for cells in rows:
        table.add_row(*map(Text, cells))
    Console().print(table)


def printer(dataset: Dataset) -> Printer:
    """A function that prints terms as in Turtle, on one line, with the prefixes of the data."""
    from rdflib import XSD, Literal, URIRef

    from corollary.language.printer import ABBREVIATED
    from corollary.sparql.rdf_terms import printer as iri_printer

    known = {namespace: prefix for prefix, namespace in PREFIXES.items()}
    known |= {str(namespace): prefix for prefix, namespace in dataset.namespaces()}
    iri = iri_printer((prefix, URIRef(namespace)) for namespace, prefix in known.items())

    def text(term: Node | None) -> str:
        if term is None:
            return ""
        if not isinstance(term, Literal):
            return iri(term)
        if (form := ABBREVIATED.get(str(term.datatype))) and form.fullmatch(term):
            return str(term)
        if term.datatype is None or term.datatype == XSD.string:
            return _literal(term, "")
        return _literal(term, f"^^{iri(term.datatype)}")

    return text


def ntriples(term: Node | None) -> str:
    """A term in full, without prefixes; empty if unbound."""
    from rdflib import Literal

    if term is None:
        return ""
    if not isinstance(term, Literal):
        return term.n3()
    return _literal(term, "" if term.datatype is None else f"^^<{term.datatype}>")


def _literal(term: Literal, datatype: str) -> str:
    from corollary.language.constants import escape

    return f'"{escape(str(term))}"' + (f"@{term.language}" if term.language else datatype)
