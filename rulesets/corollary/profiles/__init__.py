"""Profiles: named rule sets that come with Corollary, as rule files in this folder.

Rules have the names of the W3C rule tables. A profile that extends another has a file with the additions
only, so that no rule is written twice: ``PROFILES`` lists the files of each profile. Invariant: a rule file
given by its path has the same meaning as a profile given by its name.
"""

from __future__ import annotations

from dataclasses import replace
from difflib import get_close_matches
from functools import cache
from importlib.resources import files
from pathlib import Path

from corollary.language import parse_file, parse_program
from corollary.language.errors import Diagnostic, InputError, UnknownProfileError
from corollary.language.program import Program
from corollary.profiles.kept_programs import kept

__all__ = ["PROFILES", "UnknownProfileError", "load_profile", "load_rules", "profile_names", "refuse_unknown"]

PROFILES: dict[str, tuple[str, ...]] = {
    "rhodf": ("rhodf",),
    "rdfs": ("rhodf", "rdfs"),
    "rdfs-plus": ("rhodf", "rdfs-plus"),
    "owl2rl": ("owl2rl",),
    "owl2rl-full": ("owl2rl", "owl2rl-full"),
    "skos": ("skos",),
}
"""Profile -> its rule files, without suffix. The file that the others extend comes first."""

SUFFIX = ".dlog"
ONTOLOGY_SUFFIXES = (".owl", ".rdf", ".xml", ".ttl")
PATH_SUFFIXES = (SUFFIX, ".n3", *ONTOLOGY_SUFFIXES)
"""A name with one of these suffixes is a path, never a profile."""


def profile_names() -> tuple[str, ...]:
    """The names of all profiles."""
    return tuple(PROFILES)


def load_profile(name: str) -> Program:
    """The rules of a profile, parsed once and cached. Raises UnknownProfileError."""
    if name not in PROFILES:
        raise _unknown(name)
    return _program(name)


@cache
def _program(name: str) -> Program:
    sources = [files(__name__).joinpath(part + SUFFIX) for part in PROFILES[name]]

    def parsed() -> Program:
        parts = [parse_program(source.read_text("utf-8"), source.name) for source in sources]
        return replace(sum(parts, Program(())), name=name)

    paths = [source for source in sources if isinstance(source, Path)]
    return kept(name, paths, parsed) if len(paths) == len(sources) else parsed()


def refuse_unknown(name_or_path: str) -> None:
    """Raise as ``load_rules`` if there is no profile and no file with that name. Does not read the file."""
    path = Path(name_or_path)
    if name_or_path in PROFILES or path.exists():
        return
    _refuse_address(name_or_path)
    if path.suffix not in PATH_SUFFIXES and path.name == name_or_path:
        raise _unknown(name_or_path)
    raise InputError(f"cannot read the rule file {path}: there is none")


def load_rules(name_or_path: str) -> Program:
    """The rules of a profile or a file.

    A name that is not a profile is a path if it has one of ``PATH_SUFFIXES``, contains a folder, or is a
    file. ``.n3`` files have N3 rules, ontologies (``.owl .rdf .xml .ttl``) SWRL rules, all others the rule
    language. Raises UnknownProfileError for any other name, InputError if the file cannot be read, RuleError
    if its content is not valid.
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
