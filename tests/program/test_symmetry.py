"""Predicates that are symmetric by their rules."""

from __future__ import annotations

import pytest
from tests.modules import kinds

from corollary.language import parse_program
from corollary.program.compiled_program import CompiledProgram
from corollary.program.symmetry import own_counterparts, symmetric_by_rules
from corollary.terms.dictionary import TermDictionary

POINTERS = """
    [?x, :f, ?y] :- [?x, :p, ?y] .
    [?x, :f, ?z] :- [?x, :p, ?y], [?y, :m, ?z] .
    [?x, :f, ?z] :- [?x, :f, ?y], [?y, :f, ?z] .
    [?x, :m, ?x] :- [?x, :p, ?y] .
    [?x, :m, ?w] :- [?y, :q, ?x], [?y, :a, ?z], [?z, :q, ?w] .
    [?y, :a, ?z] :- [?x, :f, ?y], [?x, :f, ?z] .
    [?y, :a, ?z] :- [?x, :f, ?y], [?x, :m, ?w], [?w, :f, ?z] .
"""


MANY = ", ".join(f"[?x, :p, ?a{n}], [?y, :p, ?b{n}]" for n in range(12))
"""A body of more atoms than are matched with those of a counterpart: ``MAX_ATOMS_MATCHED``."""


@pytest.mark.parametrize(
    ("text", "symmetric"),
    [
        (POINTERS, "am"),
        (POINTERS + "[?x, :m, ?y] :- [?x, :q, ?y] .", ""),  # m, and then a, has a rule without a counterpart
        (POINTERS + "[?x, :m, ?y] :- [?x, :q, ?y] . [?y, :m, ?x] :- [?x, :q, ?y] .", "am"),
        (POINTERS + "[?x, :m, ?y] :- [?x, :a, ?y], FILTER(?x != ?y) .", ""),
        (POINTERS + "[?x, ?p, ?y] :- [?x, :q, ?y], [?p, :q, ?p] .", ""),
        ("[?x, :s, ?y] :- [?x, :p, ?y], [?y, :p, ?x] .", "s"),
        ("[?x, :s, ?y] :- [?x, :p, ?y], [?y, :q, ?x] .", ""),
        ("[?x, :s, ?y] :- [?x, :p, ?y], [?y, :q, ?x] . [?x, :s, ?y] :- [?x, :q, ?y], [?y, :p, ?x] .", "s"),
        ("[?x, :s, ?y] :- [?x, :p, :a], [?y, :p, :b] .", ""),
        ("[?x, :s, ?y] :- [?x, :p, :a], [?y, :p, :a] .", "s"),
        ("[?x, :s, ?z] :- [?x, :s, ?y], [?y, :s, ?z] .", "s"),
        ("[?x, :s, ?y] :- [?x, :s, ?y], [?x, :p, ?z] .", ""),
        ("[?x, :s, ?y] :- [?x, :p, ?z], [?y, :p, ?w] .", "s"),  # two variables become two others
        ("[?x, :s, ?y] :- [?x, :p, ?z], [?y, :p, ?z] .", "s"),
        ("[?x, :s, ?y] :- [?x, :p, ?z], [?y, :p, ?z], [?x, :p, ?w], [?y, :q, ?w] .", ""),
        ("[?x, :s, ?y], [?y, :s, ?x] :- [?x, :p, ?y] .", ""),  # two heads
        (f"[?x, :s, ?y] :- {MANY}, [?x, :q, ?y] .", ""),
    ],
)
def test_symmetric_by_rules(text: str, symmetric: str) -> None:
    dictionary = TermDictionary()
    rules = CompiledProgram(parse_program(kinds.PREFIX + text), dictionary).rules
    names = {dictionary.encode(f"<http://example.org/{name}>"): name for name in "afmpqs"}
    assert {names[p] for p in symmetric_by_rules(rules, names)} == {*symmetric}


@pytest.mark.parametrize(
    ("body", "places"),
    [
        ("[?x, :p, ?y], [?x, :p, ?z]", [(1, False), (0, False)]),
        ("[?x, :p, ?y], [?x, :m, ?w], [?w, :p, ?z]", [(2, False), (1, True), (0, False)]),
        ("[?y, :m, ?w], [?w, :m, ?z]", [(1, True), (0, True)]),
        ("[?y, :m, ?z], [?u, :m, ?v]", [(0, True), (1, False)]),
        ("[?y, :m, ?w], [?w, :q, ?z]", []),
    ],
)
def test_own_counterparts(body: str, places: list[tuple[int, bool]]) -> None:
    dictionary = TermDictionary()
    (rule,) = CompiledProgram(parse_program(f"{kinds.PREFIX}[?y, :s, ?z] :- {body} ."), dictionary).rules
    symmetric = {dictionary.encode(f"<http://example.org/{name}>") for name in "ms"}
    assert list(own_counterparts(rule, symmetric)) == places
