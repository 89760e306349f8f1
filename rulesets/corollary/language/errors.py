"""What goes wrong with rules, as data: every error knows its place and its remedy.

``CorollaryError`` is the one base class: whoever catches it catches every mistake a user of this
project can make. Broken invariants of our own are assertions, never one of these.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum


class Hint(Enum):
    """A remedy that Python and the command line put in different words; the value is in Python's."""

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
    """Base of all errors that a user can cause and mend."""

    def __init__(self, complaint: str | Diagnostic) -> None:
        self.complaint = complaint
        super().__init__(str(complaint))

    def text(self, words: Mapping[Hint, str]) -> str:
        """The message with other words for its hint; ``words`` has some for every hint."""
        return self.complaint.text(words) if isinstance(self.complaint, Diagnostic) else str(self)

    def unquoted(self) -> str:
        """Place and message without anything that may stand in the input."""
        return self.complaint.unquoted() if isinstance(self.complaint, Diagnostic) else type(self).__name__


LONGEST_QUOTE = 500
"""Characters of the input that a message shows: a longer line is left out, a longer detail cut off."""


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
    """One complaint: what is wrong, where, and what to do about it.

    ``detail`` is the part of the message that may quote the input. ``hint`` is a remedy too.
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
        """``file:line:column: message`` without anything that may stand in the input."""
        return f"{self.span}: {self.message}" if self.span else self.message

    def text(self, words: Mapping[Hint, str]) -> str:
        """As ``str``, with these words for the hint instead of Python's."""
        detail = self.detail if len(self.detail) <= LONGEST_QUOTE else f"{self.detail[:LONGEST_QUOTE]}..."
        lines = [f"{self.unquoted()}: {detail}" if detail else self.unquoted()]
        if self.span and 0 < len(self.span.text) <= LONGEST_QUOTE:
            gutter = " " * (self.span.column - 1)
            lines += [f"    {self.span.text}", f"    {gutter}^"]
        remedies = [self.remedy, words.get(self.hint, self.hint.value) if self.hint else ""]
        if remedy := "; ".join(filter(None, remedies)):
            lines.append(f"  help: {remedy}")
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
