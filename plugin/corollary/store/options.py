"""What a store is told: its rules, and where it shows what follows."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property, reduce
from operator import add
from typing import cast

from corollary.kernels.limits import Limits
from corollary.language import CorollaryError, Program
from corollary.profiles import load_rules, refuse_unknown

Rule = str | os.PathLike[str] | Program
Rules = Rule | Sequence[Rule]
"""A profile name, a rule file, a program, a list of these, or ``none``."""

POLICIES = ("show", "apart")
ACCESS = ("none", "files", "network", "all")

EXTERNAL = "COROLLARY_EXTERNAL"
"""The variable of the environment for what stores allow that are not told."""

LIMITS = "COROLLARY_LIMITS"
"""The variable of the environment for limits, such as ``seconds=10,bytes=2GB``."""


def known_access(text: str, name: str) -> str:
    """The text, if it says what may be reached; else CorollaryError."""
    if text not in ACCESS:
        raise CorollaryError(f"{name}={text}: queries and updates may reach {', '.join(ACCESS[:-1])} or all")
    return text


@dataclass(frozen=True)
class Options:
    """The options of a store.

    ``inferred`` is ``show``: the default graph, the union and a plain graph show what follows; or
    ``apart``: only ``urn:x-corollary:inferred`` shows it. CorollaryError for anything else. ``read_only``
    says how a folder is to be opened. ``external`` is what queries and updates may reach: ``none``,
    ``files``, ``network`` or ``all``; if it is None the environment says it, by COROLLARY_EXTERNAL.
    ``limits`` are what one call may take, by default what COROLLARY_LIMITS says: ``Limits``, or a text.
    """

    rules: Rules
    inferred: str = "show"
    read_only: bool = False
    external: str | None = None
    limits: Limits | str | None = None

    def __post_init__(self) -> None:
        if self.inferred not in POLICIES:
            raise CorollaryError(
                f"inferred={self.inferred}: what follows is shown by inferred=show, or kept apart by "
                "inferred=apart"
            )
        if self.external is not None:
            known_access(self.external, "external")
        given = os.environ.get(LIMITS, "") if self.limits is None else self.limits
        object.__setattr__(self, "limits", Limits.of(given))

    @property
    def access(self) -> str:
        """What queries and updates may reach. CorollaryError if the environment says something else."""
        if self.external is not None:
            return self.external
        return known_access(os.environ.get(EXTERNAL) or "none", EXTERNAL)

    @property
    def limit(self) -> Limits:
        """What one call may take."""
        return cast(Limits, self.limits)

    def configured(self, text: str) -> tuple[Options, str | None]:
        """The options after a string such as ``rules=rdfs;rules=family.dlog;inferred=apart``.

        The other result is what is no option: the place of a store, or None. CorollaryError for an option
        that does not exist, and for a second place.
        """
        options, place = replace(self, read_only=False), None
        rules: list[Rule] = []
        for part in map(str.strip, text.split(";")):
            name, equals, value = part.partition("=")
            if name == "rules" and equals:
                rules.append(value)
                options = replace(options, rules=rules)
            elif name == "inferred" and equals:
                options = replace(options, inferred=value)
            elif name == "external" and equals:
                options = replace(options, external=value)
            elif name == "limits" and equals:
                options = replace(options, limits=value)
            elif name == "read_only" and equals:
                if value not in ("yes", "no"):
                    raise CorollaryError(f"{part!r}: read_only=yes opens a folder that others may read too")
                options = replace(options, read_only=value == "yes")
            elif equals and name.isidentifier():
                raise CorollaryError(
                    f"{part!r} is no option of the store; try rules=owl2rl or inferred=apart"
                )
            elif part and place is None:
                place = part
            elif part:
                raise CorollaryError(f"{place!r} and {part!r} are two places; a store is kept in one folder")
        return options, place

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

    def with_rules(self, more: Sequence[Program]) -> Options:
        """The options with more rules."""
        return replace(self, rules=[*self._all(), *more])

    def without_rules(self, program: Program) -> Options:
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
