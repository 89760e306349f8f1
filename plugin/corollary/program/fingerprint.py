"""The fingerprint of a program: facts that were derived under one may be adopted under the same one only."""

from __future__ import annotations

from functools import lru_cache
from hashlib import sha256
from importlib.metadata import version

from corollary.language import Program, format_rule

SEMANTICS = 1
"""Increased whenever the same rules have other conclusions from the same facts, within one version."""


@lru_cache(maxsize=16)  # to print hundreds of rules takes milliseconds, and every opening asks
def fingerprint(program: Program) -> str:
    """A digest of the rules, in any order, and of the engine's semantics.

    Names, prefixes and the order of rules do not count. The version of Corollary does: a later one may
    correct what an earlier one derived. Variables count by name, so the same rules may have several
    fingerprints; different rules never have the same one.
    """
    rules = sorted({format_rule(rule) for rule in program})
    head = f"corollary {version('corollary')}, semantics {SEMANTICS}"
    return sha256("\n".join((head, *rules)).encode()).hexdigest()
