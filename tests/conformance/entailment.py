"""Whether a closure entails a graph: the engine's answer to a conformance case.

The idea: a conclusion is a query whose blank nodes are variables; it is entailed if some choice for
them makes all its triples facts. Literals as subjects count, as in the W3C's rules: ``_:x`` may be a
literal. So the facts that reads never show are asked too.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyoxigraph
from tests.conformance.cases import Case

from corollary.columns import TripleIndex
from corollary.evaluate import materialise
from corollary.language.model import RDF, RDFS
from corollary.profiles import load_profile
from corollary.terms.dictionary import TermDictionary
from corollary.terms.values import LANG_STRING, STRING, SUPPORTED_DATATYPES, Value, value_of

Fact = tuple[str, str, str]
"""Three terms as N-Triples text."""


@dataclass(frozen=True)
class Closure:
    """All facts, those with literal subjects included, and the rules that complained."""

    facts: frozenset[Fact]
    inconsistencies: tuple[str, ...]


def close(premise: Iterable[Fact], profile: str) -> Closure:
    """What the engine concludes from some facts by the rules of a profile."""
    dictionary = TermDictionary()
    rows = [[dictionary.encode(term) for term in fact] for fact in premise]
    subjects, predicates, objects = np.array(rows, np.uint32).reshape(-1, 3).T
    explicit = TripleIndex.from_columns(subjects, predicates, objects)
    result = materialise(explicit, load_profile(profile), dictionary)
    columns = (dictionary.decode_all(column.tolist()) for column in result.index.columns(legal=False))
    facts: frozenset[Fact] = frozenset(zip(*columns, strict=True))
    return Closure(facts, tuple(problem.rule for problem in result.inconsistencies))


def answer(case: Case, profile: str) -> bool:
    """Whether the engine finds what the case asks about."""
    premise = read(case.premise)
    premise += [(f"<{name}>", f"<{RDF}type>", f"<{RDFS}Datatype>") for name in case.recognised]
    closure = close(premise, profile)
    if case.conclusion is None:
        return bool(closure.inconsistencies)
    assert not closure.inconsistencies, f"false inconsistency by {closure.inconsistencies}"
    return entails(closure.facts, read(case.conclusion), (LANG_STRING, STRING, *case.recognised))


def read(path: Path) -> list[Fact]:
    """The triples of an N-Triples or Turtle file."""
    return [
        (str(triple.subject), str(triple.predicate), str(triple.object))
        for triple in pyoxigraph.parse(path=path, base_iri=path.as_uri())
    ]


def entails(facts: Iterable[Fact], conclusion: Iterable[Fact], recognised: Iterable[str] = ()) -> bool:
    """Whether some choice for the conclusion's blank nodes makes all of it facts.

    Literals of recognised datatypes stand for their values, so one may do for another.
    """
    known = SUPPORTED_DATATYPES.intersection(recognised)
    meanings = {tuple(_meaning(term, known) for term in fact) for fact in facts}
    patterns = [tuple(_meaning(_unbound(term), known) for term in fact) for fact in conclusion]
    # Those with fewer blank nodes come first: they leave less to choose.
    return _satisfiable(meanings, sorted(patterns, key=lambda p: sum(map(_is_variable, p))), {})


Meaning = str | Value
"""A literal's value if it is known, else a term's text; ``?label`` is a variable."""


def _meaning(term: str, recognised: frozenset[str]) -> Meaning:
    if not term.startswith('"'):
        return term
    (triple,) = pyoxigraph.parse(f"<s:s> <p:p> {term} .", format=pyoxigraph.RdfFormat.N_TRIPLES)
    literal = triple.object
    assert isinstance(literal, pyoxigraph.Literal)
    if literal.datatype.value not in recognised:
        return term
    return value_of(literal.value, literal.datatype.value, literal.language) or term


def _unbound(term: str) -> str:
    return "?" + term[2:] if term.startswith("_:") else term


def _is_variable(term: Meaning) -> bool:
    return isinstance(term, str) and term.startswith("?")


def _satisfiable(
    facts: set[tuple[Meaning, ...]], patterns: list[tuple[Meaning, ...]], choice: dict[Meaning, Meaning]
) -> bool:
    if not patterns:
        return True
    wanted = tuple(choice.get(term, term) for term in patterns[0])
    candidates = facts if any(map(_is_variable, wanted)) else facts & {wanted}
    for fact in candidates:
        extended = dict(choice)
        if all(
            extended.setdefault(term, found) == found if _is_variable(term) else term == found
            for term, found in zip(wanted, fact, strict=True)
        ) and _satisfiable(facts, patterns[1:], extended):
            return True
    return False
