"""Errors as data: a diagnostic has a message, a place in the input, and a remedy.

``CorollaryError`` is the base class of all errors that a user of this project can cause. Violated internal
invariants are assertions, never a ``CorollaryError``.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum

from corollary.language.tuning import MAX_CHARACTERS_QUOTED


class Hint(Enum):
    """A remedy with one wording for Python (the value) and another for the command line."""

    SKIP_BAD_LINES = 'on_error="skip" leaves bad lines out'
    NAME_FORMAT = "name the format, as in format='ttl'"
    NAME_OUTPUT_FORMAT = "name the format, as in format='nt'"
    CORRECT_FORMAT = "mend the file, or name its format if it is another one"
    ALLOW_FILES = "the program that owns the store may allow it: external=files, or external=all"
    ALLOW_NETWORK = "the program that owns the store may allow it: external=network, or external=all"
    MORE_SECONDS = "seconds= in limits= allows more"
    MORE_FACTS = "facts= in limits= allows more"
    MORE_BYTES = "bytes= in limits= allows more"
    MORE_TERMS = "terms= in limits= allows more"
    NAME_CLASS = "name the class, or give the store swrl_rules(graph)"


class CorollaryError(Exception):
    """Base class of all errors that a user can cause and correct."""

    def __init__(self, complaint: str | Diagnostic) -> None:
        self.complaint = complaint
        super().__init__(str(complaint))

    def text(self, words: Mapping[Hint, str]) -> str:
        """The message with the wording of its hint taken from ``words``; without an entry there, Python's."""
        return self.complaint.text(words) if isinstance(self.complaint, Diagnostic) else str(self)

    def unquoted(self) -> str:
        """Place and message, without the parts that may quote the input.

        For errors that carry plain text instead of a ``Diagnostic``: the name of the class.
        """
        return self.complaint.unquoted() if isinstance(self.complaint, Diagnostic) else type(self).__name__


@dataclass(frozen=True, slots=True)
class Span:
    """A place in a text: file (or ``<text>``), line and column (both from 1), and the text of the line."""

    source: str
    line: int
    column: int
    text: str = ""

    def __str__(self) -> str:
        return f"{self.source}:{self.line}:{self.column}"


@dataclass(frozen=True, slots=True)
class Diagnostic:
    """One error: what is wrong, where, and what to do about it.

    ``detail`` is printed after ``message``, and is the part that may quote a data file. ``hint`` is a second
    remedy, printed after ``remedy``.
    """

    message: str
    span: Span | None = None
    remedy: str = ""
    detail: str = ""
    hint: Hint | None = None

    def __str__(self) -> str:
        """``file:line:column: message``, the line with a caret under the column, the remedy."""
        return self.text({})

    def unquoted(self) -> str:
        """``file:line:column: message``, without ``detail`` and the line, which may quote the input."""
        return f"{self.span}: {self.message}" if self.span else self.message

    def text(self, words: Mapping[Hint, str]) -> str:
        """As ``str``, with the wording of the hint taken from ``words`` if it has an entry there."""
        is_short = len(self.detail) <= MAX_CHARACTERS_QUOTED
        detail = self.detail if is_short else f"{self.detail[:MAX_CHARACTERS_QUOTED]}..."
        lines = [f"{self.unquoted()}: {detail}" if detail else self.unquoted()]
        if self.span and 0 < len(self.span.text) <= MAX_CHARACTERS_QUOTED:
            gutter = " " * (self.span.column - 1)
            lines += [f"    {self.span.text}", f"    {gutter}^"]
        remedies = [self.remedy, words.get(self.hint, self.hint.value) if self.hint else ""]
        if remedy := "; ".join(filter(None, remedies)):
            lines.append(f"  help: {remedy}")
        return "\n".join(lines)


class RuleError(CorollaryError):
    """A program that cannot be used. ``diagnostics`` has all the errors found, at least one."""

    def __init__(self, diagnostics: tuple[Diagnostic, ...]) -> None:
        assert diagnostics, "a rule error without a reason"
        self.diagnostics = diagnostics
        super().__init__("\n".join(map(str, diagnostics)))


class RuleSyntaxError(RuleError):
    """The text is not in the rule language."""


class UnsafeRuleError(RuleError):
    """A rule is unsafe: a variable is not bound, is computed twice, or is used outside its scope."""


class UnstratifiableError(RuleError):
    """A negation or an aggregate depends on itself: there are no strata. The message names the cycle."""


class UnknownProfileError(CorollaryError):
    """No profile or rule file has that name. The message lists the profiles."""


class InputError(CorollaryError):
    """An input or output cannot be read or written. The message says which, where and why."""
