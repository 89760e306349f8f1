"""The ways in which users name rules: a program, a profile, a file, rule text, names of rules."""

from __future__ import annotations

import os
from difflib import get_close_matches

from corollary.language import CorollaryError, Program, Rule, parse_program
from corollary.profiles import PROFILES, load_profile, load_rules

RuleSource = str | os.PathLike[str] | Program


def rules_from(source: RuleSource) -> Program:
    """The program that ``source`` names.

    A string with ``:-``, or with a full stop at its end, is rule text; without ``:-``, but with ``=>`` and
    ``{``, N3. Any other is a profile or file. Raises what ``load_rules``, ``parse_program``, ``n3_rules`` do.
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
    """The rules of ``present`` with the name ``source``; if there are none, the rules that ``source`` names.

    Raises CorollaryError for a name that is neither a rule's nor a profile's.
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
