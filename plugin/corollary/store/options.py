"""What a store is told: its rules, and where it shows what follows."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import reduce
from operator import add

from corollary.language import CorollaryError, Program
from corollary.profiles import load_rules

Rule = str | os.PathLike[str] | Program
Rules = Rule | Sequence[Rule]
"""A profile name, a rule file, a program, a list of these, or ``none``."""

POLICIES = ("show", "apart")


@dataclass(frozen=True)
class Options:
    """The options of a store.

    ``inferred`` is ``show``: the default graph, the union and a plain graph show what follows; or
    ``apart``: only ``urn:x-corollary:inferred`` shows it. CorollaryError for anything else.
    """

    rules: Rules
    inferred: str = "show"

    def __post_init__(self) -> None:
        if self.inferred not in POLICIES:
            raise CorollaryError(
                f"inferred={self.inferred}: what follows is shown by inferred=show, or kept apart by "
                "inferred=apart"
            )

    def configured(self, text: str) -> tuple[Options, str | None]:
        """The options after a string such as ``rules=rdfs;rules=family.dlog;inferred=apart``.

        The other result is what is no option: the place of a store, or None. CorollaryError for an option
        that does not exist.
        """
        options, place = self, None
        rules: list[Rule] = []
        for part in map(str.strip, text.split(";")):
            name, equals, value = part.partition("=")
            if name == "rules" and equals:
                rules.append(value)
                options = replace(options, rules=rules)
            elif name == "inferred" and equals:
                options = replace(options, inferred=value)
            elif equals and name.isidentifier():
                raise CorollaryError(
                    f"{part!r} is no option of the store; try rules=owl2rl or inferred=apart"
                )
            elif part:
                place = part
        return options, place

    def program(self) -> Program | None:
        """All rules together; None if there are none. UnknownProfileError or RuleError as ``load_rules``."""
        programs = [
            rule if isinstance(rule, Program) else load_rules(os.fspath(rule)) for rule in self._all()
        ]
        return reduce(add, programs) if programs else None

    @property
    def has_rules(self) -> bool:
        """Whether anything may follow."""
        return bool(self._all())

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
