"""Explanations: proofs of a fact or of an inconsistency, that can be printed."""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import islice
from typing import Any

from corollary.columns import TripleIndex
from corollary.evaluate import Inconsistency, MaterialisedView
from corollary.explain import dot, html, json_format, text
from corollary.explain.explained import Explained, Status
from corollary.explain.levels import LevelSearch
from corollary.explain.nearest import nearest
from corollary.explain.proof import FALSE, Application, Fact, Proof
from corollary.explain.search import Effort, Search
from corollary.explain.tuning import (
    MAX_COST_LAZILY,
    MAX_FACTS_FOR_LEVELS,
    MAX_INSTANCES,
    MAX_INSTANCES_IF_EXPLICIT,
    MAX_INSTANCES_LAZILY,
    MAX_INSTANCES_PER_FACT_EAGERLY,
    MAX_INSTANCES_PER_FACT_LAZILY,
)
from corollary.explain.ways import Way, Ways
from corollary.program.components import Prefixes
from corollary.program.graphviz import svg

LAZILY = Effort(MAX_INSTANCES_PER_FACT_LAZILY, MAX_INSTANCES_LAZILY, MAX_COST_LAZILY, eager=False)
EAGERLY = Effort(MAX_INSTANCES_PER_FACT_EAGERLY, MAX_INSTANCES, MAX_INSTANCES, eager=True)
ALL_INSTANCES = replace(EAGERLY, most=None)
BY_LEVELS = replace(EAGERLY, by_levels=True)


@dataclass(frozen=True)
class Explanation(Explained):
    """Proofs of a fact, which ``str``, ``as_dict``, ``dot`` and ``html`` print."""

    def __str__(self) -> str:
        return text.text(self)

    def as_dict(self) -> dict[str, Any]:
        """The explanation as a JSON document: ``docs/explanations.md`` describes the keys."""
        return json_format.document(self)

    def dot(self, *, folded: bool = True) -> str:
        """All proofs as a Graphviz digraph; if ``folded``, some ``MAX_FACTS_DRAWN`` facts of each."""
        return dot.dot(self, folded)

    def html(self) -> str:
        """An HTML fragment: proofs that can be folded and unfolded."""
        return html.html(self)

    def page(self) -> str:
        """A whole HTML document: the fragment with a legend, and buttons that expand and collapse all."""
        return html.page([self])

    def _repr_html_(self) -> str:
        return self.html()

    def _repr_svg_(self) -> str | None:
        return svg(self.dot())


def explain(
    result: MaterialisedView, s: int, p: int, o: int, *, limit: int = 1, prefixes: Prefixes | None = None
) -> Explanation:
    """Up to ``limit`` proofs of the fact (s, p, o), given as term ids, the shortest first.

    If the fact does not hold: no proofs, but the rule instances that come nearest (``nearest``); if no fact
    mentions p or o, only those whose guards hold. ``prefixes`` shorten printed terms; the default are the
    program's prefixes. Precondition: ``limit`` >= 1.
    """
    fact = (s, p, o)
    status = Status.ABSENT
    proofs: tuple[Proof, ...] = ()
    is_complete = True
    if result.index.relation(p).has(s, o):
        status = Status.EXPLICIT if result.explicit.relation(p).has(s, o) else Status.INFERRED
        most = MAX_INSTANCES_IF_EXPLICIT if status == Status.EXPLICIT else MAX_INSTANCES
        proofs, is_complete = _proofs(result, fact, limit, most=most)
    decode = result.dictionary.decode
    texts = decode(s), decode(p), decode(o)
    unknown = _unknown(result.index, fact) if status == Status.ABSENT else []
    names = tuple(map(decode, unknown))
    explanation = _explanation(result, status, texts, "", proofs, is_complete, names, prefixes)
    if status != Status.ABSENT:
        return explanation
    is_misspelt = bool({p, o}.intersection(unknown))
    near = (one for one in nearest(result, fact) if one.has_guards or not is_misspelt)
    return replace(explanation, near=tuple(near))


def explain_inconsistency(
    result: MaterialisedView,
    found: Inconsistency,
    *,
    limit: int = 1,
    prefixes: Prefixes | None = None,
    place: str = "",
) -> Explanation:
    """Up to ``limit`` proofs that the facts of an inconsistency hold and violate its constraint.

    ``place`` is its place among others, as text.

    Precondition: ``found`` is one of ``result.inconsistencies``.
    """
    ways = [
        way
        for rule in result.compiled.rules
        if not rule.heads and rule.label == found.rule
        for way in Ways(result, None, FALSE).to_false(rule, (*found.facts, *found.cells))
    ]
    assert ways, f"no constraint {found.rule} for these facts"
    proofs, is_complete = _proofs(result, FALSE, limit, ways)
    explanation = _explanation(
        result, Status.INCONSISTENCY, None, found.rule, proofs, is_complete, (), prefixes
    )
    return replace(explanation, place=place)


def efforts(result: MaterialisedView, fact: Fact) -> tuple[Effort, ...]:
    """The searches for proofs of a fact: tried in this order until one finds a proof.

    An explicit fact needs no proof, and so no levels.
    """
    if fact != FALSE and result.explicit.relation(fact[1]).has(fact[0], fact[2]):
        return LAZILY, EAGERLY, ALL_INSTANCES
    if _is_small(result):
        return LAZILY, BY_LEVELS, EAGERLY, ALL_INSTANCES
    return LAZILY, EAGERLY, BY_LEVELS, ALL_INSTANCES


def _is_small(result: MaterialisedView) -> bool:
    return result.index.fact_count() <= MAX_FACTS_FOR_LEVELS


def _proofs(
    result: MaterialisedView,
    fact: Fact,
    limit: int,
    ways_to_false: list[Way] | None = None,
    most: int = MAX_INSTANCES,
) -> tuple[tuple[Proof, ...], bool]:
    """Proofs of a fact that holds. Without proofs, the other result is whether there are none for certain.

    The cost of each effort is limited to ``most`` instances. If the first one has a proof, but not for
    certain a shortest, the second one may have a shorter one.

    If a fact is used twice, the search counts the rule applications for it twice, and ``Proof.size`` once: so
    the proofs are sorted again.
    """
    proofs: dict[object, Proof] = {}
    met: list[Fact] = []
    for tried in efforts(result, fact):
        effort = replace(tried, cost=min(tried.cost, most))
        if effort.by_levels:
            among = None if _is_small(result) else met
            search: Search = LevelSearch(fact, result, effort, ways_to_false, limit > 1, among)
        else:
            search = Search(fact, result, effort, ways_to_false, limit > 1)
        found = search.proofs()
        first = tuple(islice(found, 1))
        is_last = bool(proofs) or effort.eager or search.is_complete
        for proof in (*first, *islice(found, limit - 1)):
            proofs.setdefault(_key(proof), proof)
        if proofs:
            if is_last:
                break
            if limit == 1:
                most = min(most, MAX_INSTANCES_IF_EXPLICIT)
        met = search.met()
    return tuple(sorted(proofs.values(), key=lambda proof: proof.size)[:limit]), search.is_complete


def _key(proof: Proof) -> object:
    """The same for proofs whose facts have the same premises by the same rules."""
    facts = [step.fact for step in proof.steps]
    return frozenset(
        (
            step.fact,
            frozenset(facts[i] for i in step.premises),
            step.reason.rule.number if isinstance(step.reason, Application) else -1,
        )
        for step in proof.steps
    )


def _explanation(
    result: MaterialisedView,
    status: Status,
    fact: tuple[str, str, str] | None,
    rule: str,
    proofs: tuple[Proof, ...],
    is_complete: bool,
    unknown: tuple[str, ...],
    prefixes: Prefixes | None,
) -> Explanation:
    known = result.program.prefixes if prefixes is None else prefixes
    return Explanation(
        status,
        fact,
        rule,
        proofs,
        is_complete,
        unknown,
        result.program,
        result.dictionary,
        known,
        result.explicit,
    )


def _unknown(index: TripleIndex, fact: Fact) -> list[int]:
    """The terms of a fact that occur in no fact of the index."""
    return [
        term
        for term in dict.fromkeys(fact)
        if not len(index.relation(term))
        and not any(
            relation.has_subject(term) or relation.has_object(term) for _, relation in index.relations()
        )
    ]
