"""Warnings of rules that may compute new terms without end, before these rules are first applied."""

from __future__ import annotations

import warnings

from corollary.language import Program, Rule
from corollary.program.invention import complaint, unending
from corollary.reasoner.suspension_warnings import callers_level


class UnendingRuleWarning(UserWarning):
    """A rule computes values from facts that may follow from these values: perhaps without end."""


def warn_of(program: Program, known: set[Rule]) -> None:
    """Warn of the possibly unending rules that are not in ``known``, and add them to ``known``."""
    new = [rule for rule in unending(program) if rule not in known]
    known.update(new)
    for rule in new:
        warnings.warn(complaint(rule, program), UnendingRuleWarning, stacklevel=callers_level())
