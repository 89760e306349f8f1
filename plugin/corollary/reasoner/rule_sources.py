"""Rules as users name them: a program, a profile, a file, the text of rules, or the names of some."""

from __future__ import annotations

import os
from difflib import get_close_matches

from corollary.language import CorollaryError, Program, Rule, parse_program
from corollary.profiles import PROFILES, load_profile, load_rules

RuleSource = str | os.PathLike[str] | Program


def rules_from(source: RuleSource) -> Program:
    """A program, the rules of a profile or of a file, or those of a text: that has ``:-`` or ends in a stop.

    A text with ``=>`` and braces is N3. Raises what ``load_rules``, ``parse_program`` and ``n3_rules`` do.
    """
    if isinstance(source, Program):
        return source
    text = os.fspath(source)
    if isinstance(source, str) and (":-" in text or text.rstrip().endswith(".")):
        if ":-" not in text and "=>" in text and "{" in text:
            from corollary.importers.n3 import n3_rules

            return n3_rules(text)
        return parse_program(text)
    return load_rules(text)


def named_rules(source: RuleSource, present: Program) -> list[Rule]:
    """The rules that are called so among those present, or that the source holds.

    CorollaryError for a name that no rule and no profile has.
    """
    if isinstance(source, str):
        called = [rule for rule in present if rule.name == source]
        if called or source in PROFILES:
            return called or list(load_profile(source))
        if source.isidentifier() or source.replace("-", "").isalnum():
            names = {rule.name for rule in present if rule.name}
            close = get_close_matches(source, names | set(PROFILES), n=1)
            guess = f"; did you mean {close[0]}?" if close else "; store.rules() prints those there are"
            raise CorollaryError(f"no rule is named {source!r}{guess}")
    return list(rules_from(source))
