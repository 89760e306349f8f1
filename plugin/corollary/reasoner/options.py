"""The options of a reasoner: its rules, its limits, and which views show what follows."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property, reduce
from operator import add
from typing import Self, cast

from corollary.kernels.limits import Limits
from corollary.language import CorollaryError, Program
from corollary.profiles import load_rules, refuse_unknown

Rule = str | os.PathLike[str] | Program
Rules = Rule | Sequence[Rule]
"""A profile name, a rule file, a program, a list of these, or ``none``."""

POLICIES = ("show", "apart")

LIMITS = "COROLLARY_LIMITS"
"""The variable of the environment for limits, such as ``seconds=10,bytes=2GB``."""


@dataclass(frozen=True)
class Options:
    """The options of a reasoner.

    ``inferred`` is ``show``: the default graph and the union show what follows; or ``apart``: only the view
    of inferred facts shows it. CorollaryError for anything else. ``read_only`` says how a folder is to be
    opened. ``limits`` are what one call may take, by default what COROLLARY_LIMITS says: ``Limits``, or a
    text.
    """

    rules: Rules
    inferred: str = "show"
    read_only: bool = False
    limits: Limits | str | None = None

    def __post_init__(self) -> None:
        if self.inferred not in POLICIES:
            raise CorollaryError(
                f"inferred={self.inferred}: what follows is shown by inferred=show, or kept apart by "
                "inferred=apart"
            )
        given = os.environ.get(LIMITS, "") if self.limits is None else self.limits
        object.__setattr__(self, "limits", Limits.of(given))

    @property
    def limit(self) -> Limits:
        """What one call may take."""
        return cast(Limits, self.limits)

    @cached_property
    def program(self) -> Program | None:
        """All rules together; None if there are none. UnknownProfileError or RuleError as ``load_rules``."""
        programs = [
            rule if isinstance(rule, Program) else load_rules(os.fspath(rule)) for rule in self._all()
        ]
        return reduce(add, programs) if programs else None

    def refuse_unknown_rules(self) -> None:
        """Raise UnknownProfileError or InputError for a profile or rule file that there is not."""
        for rule in self._all():
            if not isinstance(rule, Program):
                refuse_unknown(os.fspath(rule))

    @property
    def has_rules(self) -> bool:
        """Whether anything may follow."""
        return bool(self._all())

    def with_rules(self, more: Sequence[Program]) -> Self:
        """The options with more rules."""
        return replace(self, rules=[*self._all(), *more])

    def without_rules(self, program: Program) -> Self:
        """The options without some of their rules."""
        parts: list[Rule] = []
        for part in self._all():
            rules = part if isinstance(part, Program) else load_rules(os.fspath(part))
            if set(rules).isdisjoint(program):
                parts.append(part)
                continue
            left = replace(rules, rules=tuple(rule for rule in rules if rule not in set(program)))
            if len(left):
                parts.append(replace(left, name=_less(rules.name)))
        return replace(self, rules=parts or "none")

    def title(self) -> str:
        """The names of the rules, for people; nothing is read for it."""
        return "+".join(map(_title, self._all())) or "no rules"

    def _all(self) -> list[Rule]:
        given = [self.rules] if isinstance(self.rules, str | os.PathLike | Program) else self.rules
        return [rule for rule in given if rule != "none"]


def _title(rule: Rule) -> str:
    if isinstance(rule, Program):
        return rule.name or f"{len(rule)} {'rule' if len(rule) == 1 else 'rules'}"
    return os.fspath(rule)


def _less(name: str) -> str:
    """What a program is called that lacks some of its rules."""
    return name if not name or name.endswith(" in part") else f"{name} in part"
