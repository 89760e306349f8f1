"""Loading, reasoning and answering for ``corollary query``.

Patterns outside GRAPH match all explicit and inferred facts; GRAPH matches one named graph.
"""

from __future__ import annotations

import logging
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from corollary.cli.input_options import DEFAULT_RULES
from corollary.cli.pipeline import load_program, reason
from corollary.cli.progress import stage
from corollary.cli.question import Question

if TYPE_CHECKING:
    from rdflib import Dataset
    from rdflib.query import Result

    from corollary.cli.input_options import Reading
    from corollary.sparql.explain_query import QueryPlan


@dataclass
class Answer:
    """The result of a query, its dataset, and the seconds of each stage."""

    result: Result
    dataset: Dataset
    seconds: dict[str, float] = field(default_factory=dict)


def ask(
    files: Sequence[str], rules: Sequence[str], reading: Reading, question: Question, external: str
) -> Answer:
    """Load files, close them under rules (``DEFAULT_RULES`` if none are named), and answer a query.

    ``external`` says which sources other than the files the query may access. Precondition: the caller has
    parsed the query (``Question.form``), so that a syntax error is reported before a file is read.
    """
    seconds: dict[str, float] = {}
    dataset = loaded(files, rules, reading, external, seconds)
    with stage("query", seconds) as current:
        current.follow(0)
        from rdflib.plugins.sparql.sparql import SPARQLError

        try:
            result = dataset.query(question.checked(dataset))
            len(result)  # what rdflib evaluates is evaluated now: errors must be raised here
        except (SPARQLError, OSError) as error:  # OSError: SERVICE uses the network
            remedy = "look at SERVICE, and at functions that are not SPARQL's own"
            raise question.error(f"this cannot be answered: {error}", remedy) from None
    return Answer(result, dataset, seconds)


def explained(
    files: Sequence[str],
    rules: Sequence[str],
    reading: Reading,
    question: Question,
    external: str,
    *,
    analyze: bool,
) -> QueryPlan:
    """As ``ask``, for the plan of a query."""
    seconds: dict[str, float] = {}
    dataset = loaded(files, rules, reading, external, seconds)
    with stage("query", seconds) as current:
        current.follow(0)
        store: Any = dataset.store
        plan: QueryPlan = store.explain_query(question.checked(dataset), analyze=analyze)
    return plan


def loaded(
    files: Sequence[str], rules: Sequence[str], reading: Reading, external: str, seconds: dict[str, float]
) -> Dataset:
    """Files in a data set, closed under rules. Adds the seconds of each stage."""
    with stage("prepare", seconds):
        # to import what answers a query takes longer than most queries, and is no part of their time:
        import rdflib.plugins.sparql  # noqa: F401
        from rdflib import Dataset
        from rdflib.namespace import NamespaceManager

        import corollary.sparql.answer  # noqa: F401
        from corollary.store import CorollaryStore

        logging.getLogger("rdflib.term").setLevel(logging.ERROR)  # not of ill-typed literals
        named = [rule for rule in rules or (DEFAULT_RULES,) if rule != "none"]
        store = CorollaryStore(rules=load_program(named) if named else "none", external=external)
        dataset = Dataset(store, default_union=True)
        dataset.namespace_manager = NamespaceManager(dataset, "core")
    with stage("read", seconds) as current:
        facts = reading.load(files, store, current.update)
        reading.write_report()
    reason(store, facts, seconds)
    return dataset
