"""A SPARQL query of the user: parsing, and errors with place and remedy."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, TextIO, cast

if TYPE_CHECKING:
    from rdflib import Dataset

    from corollary.language.errors import CorollaryError
    from corollary.sparql.algebra import Query
    from corollary.store import CorollaryStore


@dataclass
class Question:
    """A query as the user wrote it: the name of its source in messages, and its text."""

    source: str
    text: str

    @staticmethod
    def read(stream: TextIO) -> Question:
        """Read the query from a file. Raises InputError if the file is not UTF-8."""
        from corollary.loaders.formats import input_error

        try:
            return Question(stream.name, stream.read())
        except UnicodeDecodeError as error:
            raise input_error(f"{stream.name}: this is no UTF-8 text ({error.reason})") from None

    def form(self) -> str:
        """SELECT, ASK, CONSTRUCT or DESCRIBE. Raises SparqlSyntaxError, but not for undeclared prefixes."""
        return self._parsed(None).form

    def _parsed(self, prefixes: Mapping[str, str] | None) -> Query:
        from corollary.sparql.parser import parse_query

        try:
            return parse_query(self.text, prefixes, source=self.source)
        except RecursionError:
            remedy = "write it with fewer parentheses, groups or operators within each other"
            raise self.error("the query is nested too deep", remedy) from None

    def error(self, message: str, remedy: str, line: int = 1, column: int = 1) -> CorollaryError:
        """An error at a place in the text."""
        from corollary.language.errors import Diagnostic, InputError, Span

        return InputError(Diagnostic(message, Span(self.source, line, column, self._line(line)), remedy))

    def _line(self, number: int) -> str:
        """A line of the text; empty after the last line."""
        lines = self.text.splitlines()
        return lines[number - 1].replace("\t", " ") if number <= len(lines) else ""

    def checked(self, dataset: Dataset) -> str:
        """The text, after it is parsed. Prefixes of the data need no declaration.

        Raises SparqlSyntaxError, and InputError for a graph of FROM that no file has.
        """
        query = self._parsed({prefix: str(namespace) for prefix, namespace in dataset.namespaces()})
        self._check_graphs(query, dataset)
        return self.text

    def _check_graphs(self, query: Query, dataset: Dataset) -> None:
        """Raise InputError for a graph of FROM or FROM NAMED that neither exists nor may be fetched."""
        from corollary.sparql.access import is_allowed

        store = cast("CorollaryStore", dataset.store)
        known = {graph.identifier for graph in store.contexts()}
        for clause in query.clauses:
            graph = clause.graph
            is_here = graph in known or graph.startswith("urn:x-corollary:")
            if not is_here and not is_allowed(graph, store.external):
                remedy = "name the file that has it beside the others; FROM chooses among the graphs in files"
                place = self._place(re.escape(f"<{graph}>"))
                raise self.error(f"FROM: no file has a graph <{graph}>", remedy, *place)

    def _place(self, pattern: str) -> tuple[int, int]:
        """Line and column of the first match of a regular expression; the beginning if there is none."""
        found = re.search(pattern, self.text)
        before = self.text[: found.start() if found else 0]
        return before.count("\n") + 1, len(before) - before.rfind("\n")
