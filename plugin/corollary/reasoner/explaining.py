"""Inconsistencies and explanations in the terms of the reasoner's owner."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any

from corollary.evaluate import MaterialisedView, materialise
from corollary.explain import Explanation, explain, explain_inconsistency
from corollary.explain.mistakes import mistakes, sentence_of, wording_of
from corollary.language import CorollaryError, Program
from corollary.language.html_table import table
from corollary.program.compile import is_virtual
from corollary.reasoner.state import State
from corollary.reasoner.term_format import TermView, checked_triple
from corollary.reasoner.tuning import MAX_CLASHES_SHOWN


@dataclass(frozen=True, slots=True, repr=False)
class Inconsistency:
    """Triples that satisfy the body of a constraint, and so contradict each other.

    ``rule`` is the constraint's name. ``sentence`` says what is wrong, in the words of the terms; for a rule
    without a sentence these are the facts. ``conditions`` are the body atoms that are not triples, such as
    ``PAIR(list, item, item)``, in the syntax of the rule language with N-Triples terms. ``is_copy``: another
    one before it in the list differs only in equal terms, or in the direction of symmetric triples.
    """

    rule: str
    triples: tuple[tuple[Any, Any, Any], ...]
    conditions: tuple[str, ...] = ()
    sentence: str = field(default="", compare=False)
    _text: str = field(default="", compare=False)
    is_copy: bool = field(default=False, compare=False)

    def __str__(self) -> str:
        return f"{self.rule}: {self._text}"

    def __repr__(self) -> str:
        return f"<Inconsistency {self}>"

    def _repr_html_(self) -> str:
        return Inconsistencies([self])._repr_html_()


class Inconsistencies(list[Inconsistency]):
    """Inconsistencies, which a notebook shows as a table, without copies."""

    def _repr_html_(self) -> str:
        first = [one for one in self if not one.is_copy]
        rows = [(one.sentence, one.rule, one._text) for one in first[:MAX_CLASHES_SHOWN]]
        count = "1 inconsistency" if len(self) == 1 else f"{len(self):,} inconsistencies"
        copies = f", {len(self) - len(first):,} of them copies" if len(first) < len(self) else ""
        more = f", the first {len(rows):,} shown" if len(rows) < len(first) else ""
        return table(f"{count}{copies}{more}", ("what is wrong", "rule", "facts"), rows)


def inconsistencies(
    result: MaterialisedView, terms: TermView, namespaces: Iterable[tuple[str, str]]
) -> Iterator[Inconsistency]:
    """Yields the inconsistencies of a materialisation. Those with the fewest inferred facts come first."""
    wording = wording_of(result, tuple((prefix, str(namespace)) for prefix, namespace in namespaces))
    for found, is_copy in (
        (copy, number > 0) for mistake in mistakes(result) for number, copy in enumerate(mistake.copies)
    ):
        triples = tuple((terms[s], terms[p], terms[o]) for s, p, o in found.facts if not is_virtual(p))
        conditions = tuple(found.conditions(terms.dictionary))
        sentence = sentence_of(found, wording, found.facts)
        parts = (*map(wording.fact, found.facts), *map(wording.pair, found.pairs))
        yield Inconsistency(found.rule, triples, conditions, sentence, ", ".join(parts), is_copy)


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
        s, p, o = map(terms.id_of, checked_triple(goal))
        return explain(result, s, p, o, limit=limit, prefixes=prefixes)
    triples = {tuple(map(terms.id_of, triple)) for triple in goal.triples}
    for found in result.inconsistencies:
        if found.rule == goal.rule and triples <= set(found.facts):
            return explain_inconsistency(result, found, limit=limit, prefixes=prefixes)
    raise CorollaryError(f"{goal!r} is no inconsistency of the store any more: take one of inconsistencies()")
