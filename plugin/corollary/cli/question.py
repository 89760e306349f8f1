"""A SPARQL query of the user: parsing, translation to algebra, and errors with place and remedy.

rdflib's parser decides whether a query is valid. Its messages are unspecific, so pyoxigraph's parser is used,
too, to locate an error.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TextIO, cast

if TYPE_CHECKING:
    from rdflib import Dataset

    from corollary.language.errors import CorollaryError
    from corollary.store import CorollaryStore

FORMS = {
    "SelectQuery": "SELECT",
    "AskQuery": "ASK",
    "ConstructQuery": "CONSTRUCT",
    "DescribeQuery": "DESCRIBE",
}

DEEPEST = 500
"""Maximal number of nesting characters for pyoxigraph's parser, whose stack overflow ends the process."""

_NESTING = re.compile(r"[\[({!+-]")
_QUERY = re.compile(r"\b(SELECT|ASK|CONSTRUCT|DESCRIBE)\b", re.IGNORECASE)
_UPDATE = re.compile(r"\b(INSERT|DELETE|LOAD|CLEAR|CREATE|DROP|COPY|MOVE|ADD)\b", re.IGNORECASE)
_PLACE = re.compile(r"error at (\d+):(\d+)")
_UNKNOWN_PREFIX = re.compile(r"Unknown namespace prefix : (.*)")


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
        """SELECT, ASK, CONSTRUCT or DESCRIBE. Raises InputError, with the place, for a syntax error."""
        from pyparsing import ParseException

        from corollary.sparql.parsing import parse_query

        try:
            _, query = parse_query(self.text)
        except ParseException as error:
            raise self._syntax_error(error.lineno, error.column) from None
        except RecursionError:
            raise self._too_deep() from None
        return FORMS[query.name]

    def _too_deep(self) -> CorollaryError:
        remedy = "write it with fewer parentheses, groups or operators within each other"
        return self.error("the query is nested too deep", remedy)

    def _syntax_error(self, line: int, column: int) -> CorollaryError:
        """The error for invalid syntax, at the later of two places.

        rdflib reports the begin of the statement that it cannot parse, pyoxigraph the place where parsing
        fails.
        """
        import pyoxigraph

        if not _QUERY.search(self.text):
            if _UPDATE.search(self.text):
                remedy = "`corollary query` only asks; updates are for the rdflib store"
                return self.error("this is an update", remedy)
            return self.error("this is no SPARQL query", "begin with SELECT, ASK, CONSTRUCT or DESCRIBE")
        prefixes = dict.fromkeys(re.findall(r"([\w.-]*):", self.text), "urn:x-any:")
        try:
            if len(_NESTING.findall(self.text)) <= DEEPEST:
                pyoxigraph.Store().query(self.text, prefixes=prefixes)
        except SyntaxError as error:
            if place := _PLACE.search(str(error)):
                line, column = max((line, column), (int(place[1]), int(place[2])))
        if self.text.count("{") > self.text.count("}") and not self._line(line)[column - 1 :].strip():
            return self.error("the query ends too early", "close what is open, at the end", line, column)
        return self.error("this is no SPARQL", "mend the query here or just before", line, column)

    def error(self, message: str, remedy: str, line: int = 1, column: int = 1) -> CorollaryError:
        """An error at a place in the text."""
        from corollary.language.errors import Diagnostic, InputError, Span

        return InputError(Diagnostic(message, Span(self.source, line, column, self._line(line)), remedy))

    def _line(self, number: int) -> str:
        """A line of the text; empty after the last line."""
        lines = self.text.splitlines()
        return lines[number - 1].replace("\t", " ") if number <= len(lines) else ""

    def prepared(self, dataset: Dataset) -> Any:
        """Translate the query to algebra. Prefixes of the data need no declaration.

        Raises InputError for an undeclared prefix, a graph of FROM that no file has, and every other error.
        """
        from rdflib.plugins.sparql.algebra import translateQuery

        from corollary.sparql.parsing import parse_query

        prefixes = {prefix: str(namespace) for prefix, namespace in dataset.namespaces()}
        parsed = parse_query(self.text)
        try:
            query = translateQuery(parsed, None, prefixes)
        except RecursionError:
            raise self._too_deep() from None
        except Exception as error:  # rdflib has no common class for these errors
            unknown = _UNKNOWN_PREFIX.match(str(error))
            if unknown is None:
                raise self.error(str(error), "mend the query") from None
            raise self._unknown_prefix(unknown[1], prefixes) from None
        self._check_graphs(query.algebra, dataset)
        if query.algebra.name == "SelectQuery" and not parsed[1].projection:
            # SELECT *: rdflib's order of variables differs from run to run
            query.algebra["PV"] = sorted(query.algebra.PV, key=lambda v: self._place(rf"[?$]{v}\b"))
        return query

    def _check_graphs(self, algebra: Any, dataset: Dataset) -> None:
        """Raise InputError for a graph of FROM or FROM NAMED that does not exist: rdflib would fetch it."""
        from corollary.sparql.external import is_allowed

        store = cast("CorollaryStore", dataset.store)
        known = {graph.identifier for graph in store.contexts()}
        for clause in algebra.datasetClause or ():
            graph = clause.default or clause.named
            is_here = graph in known or graph.startswith("urn:x-corollary:")
            if not is_here and not is_allowed(graph, store.external):
                remedy = "name the file that has it beside the others; FROM chooses among the graphs in files"
                place = self._place(re.escape(f"<{graph}>"))
                raise self.error(f"FROM: no file has a graph <{graph}>", remedy, *place)

    def _unknown_prefix(self, prefix: str, known: Iterable[str]) -> CorollaryError:
        remedy = f"put PREFIX {prefix}: <...> before the query; known are {', '.join(f'{p}:' for p in known)}"
        message = f"the prefix {prefix}: is declared neither here nor in a file"
        return self.error(message, remedy, *self._place(rf"(?<![\w.-]){re.escape(prefix)}:"))

    def _place(self, pattern: str) -> tuple[int, int]:
        """Line and column of the first match of a regular expression; the beginning if there is none."""
        found = re.search(pattern, self.text)
        before = self.text[: found.start() if found else 0]
        return before.count("\n") + 1, len(before) - before.rfind("\n")
