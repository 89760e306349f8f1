"""Answers a query: from its text to its result.

1. ``plan_cache`` has the plan of the text, or of a text of the same shape. Else ``parser`` makes it, and
   ``query_passes`` optimises it.
2. The query is evaluated immediately, on a snapshot of the store: by look-ups, if it has one triple pattern
   with a known end (``look_up``), else by an evaluator.
3. Rows and triples are decoded when they are read.

NotImplementedError hands a query back to rdflib: SERVICE, custom evaluation functions, rdflib's setting that
the default graph is no union, functions registered with rdflib that need its evaluation context or return no
term, ``GRAPH ?g`` where one of several blank nodes names the default graph, and arguments that are not in
``KNOWN_ARGUMENTS``. An error in a SELECT, for example in a user function, is raised when the rows are read,
as in rdflib.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache
from typing import Any, TypeVar, cast

from rdflib.graph import Graph
from rdflib.query import Result
from rdflib.term import Identifier, Variable

from corollary.execute.batches import filled
from corollary.kernels.limits import Cancelled, LimitExceeded
from corollary.language import CorollaryError
from corollary.sparql.access import refuse
from corollary.sparql.algebra import Query, Service
from corollary.sparql.constructed import OBJECT, PREDICATE, SUBJECT, constructed, described
from corollary.sparql.dataset import QueryDataset, Source, is_union
from corollary.sparql.evaluate import Evaluator
from corollary.sparql.external import refuse_clauses, refuse_services
from corollary.sparql.from_rdflib import is_prepared
from corollary.sparql.look_up import looked_up, only_pattern
from corollary.sparql.plan_cache import plan_of, plan_of_prepared
from corollary.sparql.query_errors import refuses_deep_nesting
from corollary.sparql.query_terms import QueryTerms
from corollary.sparql.rdflib_settings import default_graph_is_union, has_custom_evaluation
from corollary.sparql.result import AskResult, FailedResult, GraphResult, SelectResult
from corollary.sparql.tuning import MAX_NAMES_CACHED

KNOWN_ARGUMENTS = {"base", "DEBUG"}
"""The arguments of a query that are known here. The store adds another one for queries over N3 formulas."""

AnyEvaluator = TypeVar("AnyEvaluator", bound=Evaluator)


@refuses_deep_nesting
def answer(
    source: Source,
    query: Any,
    prefixes: Mapping[str, Any],
    bindings: Mapping[str, Identifier],
    home: Identifier,
    arguments: Mapping[str, Any],
    access_of: Callable[[], str],
) -> Result:
    """The result of a query, given as text or prepared, over a snapshot of a store.

    ``home`` names the default graph, or is ``"__UNION__"``. ``bindings`` gives values to variables.
    ``arguments`` are further arguments of ``Graph.query``. ``access_of`` is called for queries that may read
    files or addresses: see ``access.is_allowed``.

    Raises NotImplementedError if rdflib has to answer, ``SparqlSyntaxError``, ``ExternalAccessRefused`` if
    the query needs files or addresses that ``access`` excludes, and ``NestedTooDeep``.
    """
    translated = translation(query, prefixes, arguments.get("base"))
    silenced: Sequence[Service] = ()
    if translated.clauses or translated.services:
        access = access_of()
        refuse_clauses(translated, source.has, access)
        silenced = refuse_services(translated.services, access)
    try:
        if not KNOWN_ARGUMENTS.issuperset(arguments):
            raise NotImplementedError("arguments that are not known here")
        known = _looked_up(source, translated, bindings, home, prefixes)
        if known is not None:
            return known
        evaluator = evaluator_of(source, translated, bindings, home, silenced, Evaluator)
        return evaluated(evaluator, translated, prefixes)
    except NotImplementedError as problem:
        if type(problem) is not NotImplementedError:  # Arrow's own: not for rdflib to answer
            raise RuntimeError(f"Arrow has no function for this: {problem}") from problem
        if silenced:  # rdflib would call these services
            refuse("SERVICE SILENT in a query that is rdflib's to answer", silenced[0].name, access)
        missing = source.missing(home, translated.clauses)
        if missing:  # rdflib would read any address, whatever ``access`` says
            raise CorollaryError(
                f"FROM {missing[0].n3()} in a query that is rdflib's to answer (SERVICE): load the "
                "graph into the store first"
            ) from None
        raise problem


def _looked_up(
    source: Source,
    translated: Query,
    bindings: Mapping[str, Identifier],
    home: Identifier,
    prefixes: Mapping[str, Any],
) -> Result | None:
    """The result of a query that is a look-up: see ``look_up``. None for others."""
    pattern = only_pattern(translated)
    if pattern is None or translated.clauses or translated.services or _is_unusual(home):
        return None
    given = _given(bindings)
    found = looked_up(source, translated, pattern, given, home)
    if found is None:
        return None
    if translated.form == "ASK":
        return AskResult(found.size > 0)
    variables = cast(list[Variable], [*translated.terms])
    return SelectResult(variables, found.size, None, QueryTerms(source.terms), given, prefixes, found.columns)


def evaluator_of(
    source: Source,
    translated: Query,
    bindings: Mapping[str, Identifier],
    home: Identifier,
    silenced: Sequence[Service],
    kind: Callable[..., AnyEvaluator],
) -> AnyEvaluator:
    """An evaluator of a query. Raises NotImplementedError if rdflib has to answer."""
    if _is_unusual(home):
        raise NotImplementedError("evaluation is not as usual")
    dataset = QueryDataset.of(source, home, translated.clauses)
    return kind(dataset, QueryTerms(source.terms), _given(bindings), translated, silenced)


def _is_unusual(home: Identifier) -> bool:
    """Whether settings of rdflib change how queries are evaluated."""
    return has_custom_evaluation() or (is_union(home) and not default_graph_is_union())


def _given(bindings: Mapping[str, Identifier]) -> dict[Variable, Any]:
    """The bindings of a query by variable."""
    return {_variable(name): term for name, term in bindings.items()} if bindings else {}


_variable = lru_cache(maxsize=MAX_NAMES_CACHED)(Variable)
"""The variable with a name."""


def evaluated(evaluator: Evaluator, main: Query, prefixes: Mapping[str, Any]) -> Result:
    """The result of a query of any form."""
    if main.form == "SELECT":
        return _selected(evaluator, main, prefixes)
    if main.form == "ASK":
        assert main.pattern is not None
        return AskResult(evaluator.solve(main.pattern, 1).size > 0)
    return _made(evaluator, main, prefixes)


def _made(evaluator: Evaluator, main: Query, prefixes: Mapping[str, Any]) -> GraphResult:
    """The result of CONSTRUCT or DESCRIBE."""
    is_described = main.form == "DESCRIBE"
    triples = described(evaluator, main) if is_described else constructed(evaluator, main)

    def new_graph() -> Graph:
        graph = Graph()
        for prefix, namespace in prefixes.items() if is_described else ():
            graph.bind(prefix, namespace)
        return graph

    ends = [triples.columns.get(end, filled(0, 0)) for end in (SUBJECT, PREDICATE, OBJECT)]
    return GraphResult(main.form, triples.size, ends, evaluator.terms, new_graph, prefixes)


def translation(text: Any, prefixes: Mapping[str, Any], base: str | None = None) -> Query:
    """The algebra of a query, given as text or prepared. Raises ``SparqlSyntaxError``."""
    if isinstance(text, bytes):
        text = text.decode("utf-8")
    if isinstance(text, str):
        return plan_of(text, prefixes, base or "")
    if isinstance(text, Query):
        return text
    if is_prepared(text, "Query"):
        return plan_of_prepared(text)
    raise NotImplementedError("a query that is no text")


def _selected(evaluator: Evaluator, main: Query, prefixes: Mapping[str, Any]) -> Result:
    assert main.pattern is not None
    variables = cast(list[Variable], [*main.terms])
    try:
        batch = evaluator.solve(main.pattern)
    except (NotImplementedError, RecursionError, MemoryError, LimitExceeded, Cancelled):
        raise
    except Exception as problem:
        return FailedResult(variables, problem)
    columns = [evaluator.expressions.column(variable, batch) for variable in variables]
    return SelectResult(variables, batch.size, columns, evaluator.terms, evaluator.given, prefixes)
