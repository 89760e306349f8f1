"""Warnings of rules: suspended ones, and ones that may compute new terms without end. Each once."""

from __future__ import annotations

import re
import warnings
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from corollary.evaluate import MaterialisedView
from corollary.evaluate.suspension import Suspended
from corollary.kernels.announcing import callers_level
from corollary.language import Diagnostic, Program, Rule, UnstratifiableError
from corollary.program.invention import complaint, unending
from corollary.reasoner.term_format import TermView

_IRI = re.compile("<([^>]*)>")


class UnendingRuleWarning(UserWarning):
    """A rule computes values from facts that may follow from these values: perhaps without end."""


class SuspendedRuleWarning(UserWarning):
    """A rule is not applied: by the present triples it would negate, or count, its own consequences."""


@dataclass(frozen=True, slots=True, repr=False)
class SuspendedRule:
    """A rule that is not applied as long as certain triples are present.

    ``cycle`` leads from a predicate or class that the rule negates or aggregates over, by way of the rule's
    conclusion, back to it: N-Triples terms, classes as ``<urn:C>[?x]``. ``triples`` close the cycle, in the
    terms of the reasoner's owner. If the rules have no cycle (for example, because a computed literal equals
    another one), ``triples`` follow from the rule and match what the rule negates or aggregates over.
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
    result: MaterialisedView, terms: TermView, text: Callable[[Any], str]
) -> Iterator[SuspendedRule]:
    """Yields the suspended rules of a materialisation. ``text`` formats a term for display."""
    for found in result.suspended:
        triples = tuple((terms[s], terms[p], terms[o]) for s, p, o in found.facts)
        cycle = [_IRI.sub(lambda iri: text(terms.of_text(iri[0])), node) for node in found.cycle]
        facts = (" ".join(map(text, triple)) for triple in triples)
        yield SuspendedRule(found.rule, found.label, found.cycle, triples, found.sentence(cycle, facts))


def warn_of_suspended(
    result: MaterialisedView, terms: TermView, text: Callable[[Any], str], known: set[Rule]
) -> None:
    """Warn of the suspended rules that are not in ``known``. Updates ``known`` to the suspended rules."""
    known &= {found.rule for found in result.suspended}
    for rule in suspended_rules(result, terms, text):
        if rule.rule not in known:
            known.add(rule.rule)
            warnings.warn(
                f"{rule}. All other rules are applied; suspended_rules() lists them",
                SuspendedRuleWarning,
                stacklevel=callers_level(),
            )


def warn_of_unending(program: Program, known: set[Rule]) -> None:
    """Warn of the possibly unending rules that are not in ``known``, and add them to ``known``."""
    new = [rule for rule in unending(program) if rule not in known]
    known.update(new)
    for rule in new:
        warnings.warn(complaint(rule, program), UnendingRuleWarning, stacklevel=callers_level())


def refuse(result: MaterialisedView, known: Sequence[Suspended]) -> None:
    """Raise UnstratifiableError if ``result`` suspends rules that are not in ``known``."""
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
