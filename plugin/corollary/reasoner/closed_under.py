"""By which rules stored facts are closed, and whether a reasoner may take them for I."""

from __future__ import annotations

import os
from dataclasses import dataclass, field

from corollary.language import CorollaryError, Diagnostic, InputError, Program, parse_program
from corollary.program.fingerprint import fingerprint
from corollary.reasoner.options import Options


@dataclass(frozen=True, slots=True)
class ClosedUnder:
    """The fingerprint and the names of the rules, and the version of Corollary that closed the facts.

    The fingerprint is None if there are no rules, or if I cannot be adopted. ``schema_is_alone`` is that of
    the materialisation, if it is known. ``text`` is the program as rule text, where it is stored.
    """

    fingerprint: str | None
    rules: str | None
    version: str | None
    schema_is_alone: bool = field(default=False, kw_only=True)
    text: str | None = field(default=None, kw_only=True)

    def is_under(self, options: Options) -> bool:
        """Whether the facts are closed under the rules of the options, of which there are some."""
        program = options.program
        return program is not None and fingerprint(program) == self.fingerprint

    def program(self, options: Options) -> Program | None:
        """The rules by which the facts are closed: those of the options, or others; None if not known."""
        if self.is_under(options):
            return options.program
        if self.fingerprint is None or self.text is None:
            return None
        try:
            program = parse_program(self.text)
        except CorollaryError:
            return None
        return program if fingerprint(program) == self.fingerprint else None

    @property
    def title(self) -> str:
        """The name of the rules, as a message has it."""
        return self.rules or "rules without a name"

    def refuse_others(self, options: Options, path: str | os.PathLike[str]) -> None:
        """Raise InputError unless the facts in ``path`` are closed under the rules of the options."""
        if self.fingerprint is None:
            raise _error(
                f"{path}: it does not name the rules under which it is closed",
                "load it without adopting what it infers: the store reasons then",
            )
        if not self.is_under(options):
            raise _error(
                f"{path}: it was closed under {self.title}, by Corollary {self.version}, and these rules are "
                f"others ({options.title()}), or this is another version",
                "use the rules that closed it, or load it without adopting what it infers",
            )


def _error(message: str, remedy: str) -> InputError:
    return InputError(Diagnostic(message, None, remedy))
