"""Explanations for goals in the terms of the reasoner's owner."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from corollary.evaluate import materialise
from corollary.explain import Explanation, explain, explain_inconsistency
from corollary.language import CorollaryError, Program
from corollary.reasoner.readable_inconsistency import Inconsistency
from corollary.reasoner.state import State
from corollary.reasoner.term_format import TermView

Goal = tuple[Any, Any, Any] | Inconsistency


def explanation(
    state: State, terms: TermView, namespaces: Iterable[tuple[str, str]], goal: Goal, limit: int
) -> Explanation:
    """See ``Reasoner.explain``."""
    prefixes = tuple((prefix, str(namespace)) for prefix, namespace in namespaces)
    result = state.materialisation
    if result is None:
        result = materialise(state.facts.union, Program(()), terms.dictionary)
    if not isinstance(goal, Inconsistency):
        s, p, o = map(terms.id_of, goal)
        return explain(result, s, p, o, limit=limit, prefixes=prefixes)
    triples = {tuple(map(terms.id_of, triple)) for triple in goal.triples}
    for found in result.inconsistencies:
        if found.rule == goal.rule and triples <= set(found.facts):
            return explain_inconsistency(result, found, limit=limit, prefixes=prefixes)
    raise CorollaryError(f"{goal!r} is no inconsistency of the store any more: take one of inconsistencies()")
