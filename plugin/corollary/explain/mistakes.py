"""Mistakes: inconsistencies that differ only in equal terms or the direction of symmetric facts are one."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import cache

from corollary.evaluate import Inconsistency, MaterialisedView
from corollary.explain.explained import Explained, Status
from corollary.explain.explanation import Explanation, explain_inconsistency
from corollary.explain.proof import Fact
from corollary.explain.tuning import MAX_COPIES_PROVED
from corollary.explain.wording import Wording
from corollary.program.compile import is_virtual
from corollary.program.components import Prefixes
from corollary.terms.dictionary import KIND_SHIFT, Kind

_OWL = "http://www.w3.org/2002/07/owl#"
_SAME = f"<{_OWL}sameAs>"
SYMMETRIC = ("sameAs", "differentFrom", "disjointWith", "complementOf", "propertyDisjointWith")


@dataclass(frozen=True)
class Mistake:
    """Inconsistencies that are copies of each other: first those of different terms, with few inferred facts,
    of which few are no equalities.

    ``stated`` and ``inferred`` are the facts of the first one; ``inferred`` includes virtual facts.
    """

    copies: tuple[Inconsistency, ...]
    stated: tuple[Fact, ...]
    inferred: tuple[Fact, ...]

    @property
    def rule(self) -> str:
        """The label of the constraint."""
        return self.copies[0].rule


def mistakes(result: MaterialisedView) -> list[Mistake]:
    """The mistakes among the inconsistencies that are listed, those with the fewest inferred facts first.

    Copies have the same constraint, and the same facts when terms that owl:sameAs connects are one term and
    symmetric facts have no direction. Cost: the facts of the listed inconsistencies.
    """
    key = _key_of(result)
    groups: dict[object, list[Inconsistency]] = {}
    for found in result.inconsistencies:
        groups.setdefault(key(found), []).append(found)
    return sorted((_mistake(result, copies) for copies in groups.values()), key=lambda one: len(one.inferred))


def _mistake(result: MaterialisedView, copies: list[Inconsistency]) -> Mistake:
    def inferred(one: Inconsistency) -> tuple[Fact, ...]:
        return tuple((s, p, o) for s, p, o in one.facts if not result.explicit.relation(p).has(s, o))

    def awkwardness(one: Inconsistency) -> tuple[int, int, int]:
        facts = inferred(one)
        return sum(s == o for s, _, o in facts), len(facts), sum(p != same for _, p, _ in facts)

    same = result.dictionary.find(_SAME)
    ordered = sorted(copies, key=awkwardness)
    left = inferred(ordered[0])
    stated = tuple(fact for fact in ordered[0].facts if fact not in left)
    return Mistake(tuple(ordered), stated, left)


def uses(result: MaterialisedView, mistake: Mistake) -> list[Fact]:
    """For each literal in an inferred fact about a literal, an explicit fact in which it stands, if any.

    Cost: a search in each explicit relation.
    """
    about = [(s, o) for s, _, o in mistake.inferred if s >> KIND_SHIFT == Kind.LITERAL]
    literals = dict.fromkeys(term for ends in about for term in ends if term >> KIND_SHIFT == Kind.LITERAL)
    found = (
        next(
            (
                (subject, predicate, literal)
                for predicate, relation in result.explicit.relations()
                for subject in relation.some_subjects(literal, 1).tolist()
            ),
            None,
        )
        for literal in literals
    )
    return [fact for fact in found if fact is not None]


def _key_of(result: MaterialisedView) -> Callable[[Inconsistency], object]:
    """A function that returns the same for copies."""
    find = result.dictionary.find
    same = find(_SAME)
    symmetric = {find(f"<{_OWL}{name}>") for name in SYMMETRIC}

    @cache
    def least(term: int) -> int:
        """The least of the terms that are equal to a term."""
        return term if same is None else min(result.index.relation(same).objects(term), default=term)

    def normal(fact: Fact) -> object:
        s, p, o = least(fact[0]), fact[1] if is_virtual(fact[1]) else least(fact[1]), least(fact[2])
        return (p, frozenset((s, o))) if fact[1] in symmetric else (s, p, o)

    def key(found: Inconsistency) -> object:
        facts = frozenset(
            normal(fact) for fact in found.facts if fact[1] != same or least(fact[0]) != least(fact[2])
        )
        pairs = frozenset((least(of), frozenset((least(a), least(b)))) for of, a, b in found.pairs)
        return found.rule, facts, pairs

    return key


def wording_of(result: MaterialisedView, prefixes: Prefixes) -> Wording:
    """The texts of the facts of a materialisation, apart from a proof."""
    return Wording(
        Explained(
            Status.INCONSISTENCY,
            None,
            "",
            (),
            True,
            (),
            result.program,
            result.dictionary,
            prefixes,
            result.explicit,
        )
    )


def sentence_of(found: Inconsistency, wording: Wording, facts: Iterable[Fact]) -> str:
    """What is wrong: the sentence of the constraint; if it has none, its ``facts``."""
    return wording.said(found.rule, dict(found.bindings)) or "; ".join(map(wording.fact, facts))


def explain_mistake(
    result: MaterialisedView, mistake: Mistake, prefixes: Prefixes, place: str = ""
) -> Explanation:
    """The shortest proof of the first ``MAX_COPIES_PROVED`` copies. ``place``: "1 of 14"."""
    explained = (
        explain_inconsistency(result, copy, prefixes=prefixes, place=place)
        for copy in mistake.copies[:MAX_COPIES_PROVED]
    )
    return min(explained, key=lambda one: one.proofs[0].size if one.proofs else len(result.index))
