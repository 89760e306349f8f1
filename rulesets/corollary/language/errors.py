"""What goes wrong with rules, as data: every error knows its place and its remedy.

``CorollaryError`` is the one base class: whoever catches it catches every mistake a user of this
project can make. Broken invariants of our own are assertions, never one of these.
"""

from __future__ import annotations

from dataclasses import dataclass


class CorollaryError(Exception):
    """Base of all errors that a user can cause and mend."""


@dataclass(frozen=True, slots=True)
class Span:
    """A place in a rule text: file (or ``<text>``), line and column from 1, and the line itself."""

    source: str
    line: int
    column: int
    text: str = ""

    def __str__(self) -> str:
        return f"{self.source}:{self.line}:{self.column}"


@dataclass(frozen=True, slots=True)
class Diagnostic:
    """One complaint: what is wrong, where, and what to do about it."""

    message: str
    span: Span | None = None
    remedy: str = ""

    def __str__(self) -> str:
        """``file:line:column: message``, the line with a caret under the column, the remedy."""
        lines = [f"{self.span}: {self.message}" if self.span else self.message]
        if self.span and self.span.text:
            gutter = " " * (self.span.column - 1)
            lines += [f"    {self.span.text}", f"    {gutter}^"]
        if self.remedy:
            lines.append(f"  help: {self.remedy}")
        return "\n".join(lines)


class RuleError(CorollaryError):
    """A rule text that cannot be used. All its diagnostics are collected before it is raised."""

    def __init__(self, diagnostics: tuple[Diagnostic, ...]) -> None:
        assert diagnostics, "a rule error without a reason"
        self.diagnostics = diagnostics
        super().__init__("\n".join(map(str, diagnostics)))


class RuleSyntaxError(RuleError):
    """The text is not in the rule language."""


class UnsafeRuleError(RuleError):
    """A variable is used where nothing binds it."""


class UnstratifiableError(RuleError):
    """A negation or an aggregate depends on itself; the message names the cycle."""


class UnknownProfileError(CorollaryError):
    """No profile or rule file has that name; the message lists what there is."""


class InputError(CorollaryError):
    """A data file that cannot be read or written; the message says which, where and why."""
