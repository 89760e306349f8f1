"""Rules that the facts suspend: warned of once, and listed as long as they are suspended."""

from __future__ import annotations

import re
import sys
import warnings
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from corollary.evaluate import Materialisation
from corollary.evaluate.suspension import Suspended
from corollary.language import Diagnostic, Rule, UnstratifiableError
from corollary.reasoner.term_format import TermView

_IRI = re.compile("<([^>]*)>")


class SuspendedRuleWarning(UserWarning):
    """A rule is not applied, as the triples at hand let it negate, or count, what follows from it."""


@dataclass(frozen=True, slots=True, repr=False)
class SuspendedRule:
    """A rule that is not applied for as long as certain triples are there.

    ``cycle`` leads from what it negates or aggregates over, by way of its conclusion, back to that: N-Triples
    terms, classes with ``[?x]`` behind them. ``triples`` close the cycle, in the terms of the reasoner's
    owner. If there is no cycle in the rules themselves, as when a computed literal is equal to another,
    ``triples`` are what follows from the rule and is what it reads.
    """

    rule: Rule
    name: str
    cycle: tuple[str, ...]
    triples: tuple[tuple[Any, Any, Any], ...]
    _text: str = field(default="", compare=False)

    def __str__(self) -> str:
        return self._text

    def __repr__(self) -> str:
        return f"<SuspendedRule {self}>"


def suspended_rules(
    result: Materialisation, terms: TermView, text: Callable[[Any], str]
) -> Iterator[SuspendedRule]:
    """The suspended rules of a materialisation; ``text`` prints a term."""
    for found in result.suspended:
        triples = tuple((terms[s], terms[p], terms[o]) for s, p, o in found.facts)
        cycle = [_IRI.sub(lambda iri: text(terms.of_text(iri[0])), node) for node in found.cycle]
        facts = (" ".join(map(text, triple)) for triple in triples)
        yield SuspendedRule(found.rule, found.label, found.cycle, triples, found.sentence(cycle, facts))


def warn_of(result: Materialisation, terms: TermView, text: Callable[[Any], str], known: set[Rule]) -> None:
    """Warn of the suspended rules that are not ``known`` yet, and know them; forget those that are back."""
    known &= {found.rule for found in result.suspended}
    for rule in suspended_rules(result, terms, text):
        if rule.rule not in known:
            known.add(rule.rule)
            warnings.warn(
                f"{rule}. All other rules are applied; suspended_rules() lists them",
                SuspendedRuleWarning,
                stacklevel=callers_level(),
            )


def callers_level() -> int:
    """How many frames above the caller of this the user's own code begins: not in here, and not in rdflib."""
    frame, level = sys._getframe(1), 1
    while frame.f_back is not None and frame.f_globals.get("__name__", "").startswith(
        ("corollary.", "rdflib")
    ):
        frame, level = frame.f_back, level + 1
    return level


def refuse(result: Materialisation, known: Sequence[Suspended]) -> None:
    """Raise ``UnstratifiableError`` if rules are suspended that are not among those known."""
    rules = {found.rule for found in known}
    complaints = [
        Diagnostic(
            f"{found.called} {found.complaint(found.cycle)}",
            found.rule.span,
            "break the cycle: derive the conclusion under another name, or negate what is given",
        )
        for found in result.suspended
        if found.rule not in rules
    ]
    if complaints:
        raise UnstratifiableError(tuple(complaints))
