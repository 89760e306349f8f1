"""The options of a reasoner: its rules, its limits, and which views show inferred facts."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property, reduce
from operator import add
from typing import Self

from corollary.kernels.limits import Limits
from corollary.language import CorollaryError, Program
from corollary.profiles import load_rules, refuse_unknown

Rule = str | os.PathLike[str] | Program
Rules = Rule | Sequence[Rule]
"""A profile name, a rule file, a program, a list of these, or ``none``."""

POLICIES = ("show", "apart")
"""The values of ``inferred``."""

LIMITS = "COROLLARY_LIMITS"
"""The environment variable with the default limits, such as ``seconds=10,bytes=2GB``."""


@dataclass(frozen=True)
class Options:
    """The options of a reasoner.

    ``inferred`` is ``show``: the default graph and the union show inferred facts; or ``apart``: only the view
    of inferred facts shows them. ``read_only``: folders are opened for reading only. ``limits`` bound one
    call: ``Limits``, or a text; the default is the value of COROLLARY_LIMITS. Raises CorollaryError for an
    unknown ``inferred`` or bad limits.
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
        """The limits of one call."""
        return self.limits  # type: ignore[return-value]  # no text: see __post_init__

    @cached_property
    def program(self) -> Program | None:
        """All rules as one program; None without rules. Raises what ``load_rules`` does."""
        programs = [
            rule if isinstance(rule, Program) else load_rules(os.fspath(rule)) for rule in self._all()
        ]
        return reduce(add, programs) if programs else None

    def refuse_unknown_rules(self) -> None:
        """Raise UnknownProfileError or InputError for a profile or rule file that does not exist."""
        for rule in self._all():
            if not isinstance(rule, Program):
                refuse_unknown(os.fspath(rule))

    @property
    def has_rules(self) -> bool:
        """Whether any rules are given."""
        return bool(self._all())

    def with_rules(self, more: Sequence[Program]) -> Self:
        """The options with ``more`` rules appended."""
        return replace(self, rules=[*self._all(), *more])

    def without_rules(self, program: Program) -> Self:
        """The options without the rules of ``program``; parts that lose all their rules are dropped."""
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
        """The names of the rules, to be displayed. Reads no rule file."""
        return "+".join(map(_title, self._all())) or "no rules"

    def _all(self) -> list[Rule]:
        given = [self.rules] if isinstance(self.rules, str | os.PathLike | Program) else self.rules
        return [rule for rule in given if rule != "none"]


def _title(rule: Rule) -> str:
    if isinstance(rule, Program):
        return rule.name or f"{len(rule)} {'rule' if len(rule) == 1 else 'rules'}"
    return os.fspath(rule)


def _less(name: str) -> str:
    """The name of a program that has lost some of its rules: ``rdfs in part``."""
    return name if not name or name.endswith(" in part") else f"{name} in part"
