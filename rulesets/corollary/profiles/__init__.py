"""Profiles: named rule sets that come with Corollary, each a rule file beside this module.

The idea: a profile is data. Its rules carry the names of the W3C's rule tables, and a profile that
adds to another is a file with the additions only; ``PROFILES`` says which files make which profile,
so that no rule is written twice. Invariant: a rule file that a user gives by its path means the
same as a profile given by its name.
"""

from __future__ import annotations

from dataclasses import replace
from difflib import get_close_matches
from functools import cache
from importlib.resources import files
from pathlib import Path

from corollary.language import parse_file, parse_program
from corollary.language.errors import Diagnostic, InputError, UnknownProfileError
from corollary.language.model import Program

__all__ = ["PROFILES", "UnknownProfileError", "load_profile", "load_rules", "profile_names", "refuse_unknown"]

PROFILES: dict[str, tuple[str, ...]] = {
    "rhodf": ("rhodf",),
    "rdfs": ("rhodf", "rdfs"),
    "rdfs-plus": ("rhodf", "rdfs-plus"),
    "owl2rl": ("owl2rl",),
    "owl2rl-full": ("owl2rl", "owl2rl-full"),
}
"""Each profile's rule files, the ones it builds on first. From the least to the most it concludes."""

SUFFIX = ".dlog"
ONTOLOGY_SUFFIXES = (".owl", ".rdf", ".xml", ".ttl")
PATH_SUFFIXES = (SUFFIX, ".n3", *ONTOLOGY_SUFFIXES)
"""What ends so is never the name of a profile."""


def profile_names() -> tuple[str, ...]:
    """The names that ``load_profile`` knows."""
    return tuple(PROFILES)


def load_profile(name: str) -> Program:
    """The rules of a profile. UnknownProfileError if there is none of that name."""
    if name not in PROFILES:
        raise _unknown(name)
    return _program(name)


@cache
def _program(name: str) -> Program:
    whole = Program(())
    for part in PROFILES[name]:
        file = part + SUFFIX
        whole += parse_program(files(__name__).joinpath(file).read_text("utf-8"), file)
    return replace(whole, name=name)


def refuse_unknown(name_or_path: str) -> None:
    """Raise what ``load_rules`` raises for a name that is no profile, or a file that is not there."""
    path = Path(name_or_path)
    if name_or_path in PROFILES or path.exists():
        return
    _refuse_address(name_or_path)
    if path.suffix not in PATH_SUFFIXES and path.name == name_or_path:
        raise _unknown(name_or_path)
    raise InputError(f"cannot read the rule file {path}: there is none")


def load_rules(name_or_path: str) -> Program:
    """The rules of a profile, or of a file: what has a suffix of rules or ontologies, or a folder, is a path.

    ``.n3`` files hold N3 rules, ontologies (``.owl .rdf .xml .ttl``) SWRL rules, others the rule language.
    Raises UnknownProfileError for a name that is none, InputError for a file that cannot be read, RuleError
    for one that holds no rules of the language.
    """
    path = Path(name_or_path)
    if name_or_path in PROFILES:
        return load_profile(name_or_path)
    _refuse_address(name_or_path)
    if path.suffix not in PATH_SUFFIXES and path.name == name_or_path and not path.is_file():
        raise _unknown(name_or_path)
    if path.suffix == ".n3":
        from corollary.importers.n3 import n3_rules

        return n3_rules(path)
    if path.suffix in ONTOLOGY_SUFFIXES:
        from corollary.importers.swrl import swrl_file

        return swrl_file(path)
    return parse_file(path)


def _refuse_address(name: str) -> None:
    if "://" in name:
        raise InputError(f"cannot read the rule file {name}: rules are read from files; fetch it")


def _unknown(name: str) -> UnknownProfileError:
    close = get_close_matches(name.lower(), PROFILES, n=1)
    guess = f"did you mean {close[0]}? " if close else ""
    remedy = f"{guess}profiles: {', '.join(PROFILES)}; a rule file is given by its path: ./rules{SUFFIX}"
    return UnknownProfileError(Diagnostic(f"no profile is named {name!r}", remedy=remedy))
