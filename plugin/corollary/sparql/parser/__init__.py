"""A parser of SPARQL 1.1 queries and updates: from the text to algebra in one pass.

Recursive descent over a list of tokens. Each class extends the one before, as the rules of the grammar do: a
cursor over tokens, terms, expressions, patterns, queries, updates.

Beyond the grammar, the parser checks what the recommendation's notes ask for: the scope of variables in BIND,
SELECT and groups, labels of blank nodes, places of aggregates.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping

from rdflib.term import Variable

from corollary.sparql.algebra import Query, UpdateOperation
from corollary.sparql.parser.cursor import SOURCE, Names
from corollary.sparql.parser.query_syntax import QueryParser
from corollary.sparql.parser.update_syntax import UpdateParser
from corollary.sparql.query_errors import SparqlSyntaxError

__all__ = ["SparqlSyntaxError", "parse_query", "parse_update", "query_parser"]


def parse_query(text: str, prefixes: Mapping[str, str] | None, base: str = "", source: str = SOURCE) -> Query:
    """The algebra of a query. ``source`` names the text in messages. ``prefixes`` None: any may be used.

    Raises SparqlSyntaxError with the place, also for undeclared prefixes; RecursionError for deep nesting.
    """
    return QueryParser(text, Names(prefixes, base), source).query()


def query_parser(
    text: str, prefixes: Mapping[str, str], base: str, parameters: set[int] | None = None
) -> QueryParser:
    """A parser of a query, whose state ``plan_cache`` reads. Raises SparqlSyntaxError for a wrong escape.

    ``parameters`` receives the places of the constants that are parameters of the query's shape. None: no
    constant becomes a parameter.
    """
    return QueryParser(text, Names(prefixes, base), parameters=parameters)


def parse_update(
    text: str, prefixes: Mapping[str, str], base: str = "", given: Collection[Variable] = ()
) -> tuple[UpdateOperation, ...]:
    """The operations of an update. ``given`` variables may stand in data. Errors as for ``parse_query``."""
    return UpdateParser(text, Names(prefixes, base), given).update()
