"""Rules that read no conclusions of the others are applied first; if they find nothing, the others follow."""

from __future__ import annotations

import pytest
from tests.engine import close
from tests.modules import kinds
from tests.oracles import naive
from tests.strategies import EXAMPLE

from corollary.language import IRI, parse_program

PROGRAMS = {
    "the first rules find nothing": """
        [?x, :s, ?z] :- [?x, :r, ?y], [?y, :r, ?z] .
        [?x, :t, ?z] :- [?x, :q, ?y], [?z, :q, ?y] .
        [?y, :q, ?y] :- [?x, :t, ?y] .
    """,
    "three rules, one after the other, written from the last to the first": """
        [?x, :u, ?z] :- [?x, :t, ?y], [?y, :q, ?z] .
        [?x, :t, ?z] :- [?x, :s, ?y], [?y, :q, ?z] .
        [?x, :s, ?z] :- [?x, :q, ?y], [?y, :q, ?z] .
    """,
    "below and above a negation": """
        [?x, :u, ?z] :- [?x, :t, ?y], [?y, :s, ?z], NOT [?x, :r, ?z] .
        [?x, :t, ?z] :- [?x, :s, ?y], [?y, :q, ?z], NOT [?x, :r, ?z] .
        [?x, :s, ?z] :- [?x, :q, ?y], [?y, :q, ?z], NOT [?x, :r, ?z] .
        [?x, :v, ?y] :- [?x, :q, ?y], NOT [?x, :u, ?y] .
    """,
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_all_rules_are_applied(name: str) -> None:
    triples = ("a q b", "b q c", "c q a", "c q c", "b r a")
    terms = ([IRI(EXAMPLE + term) for term in triple.split()] for triple in triples)
    facts = frozenset((s, p, o) for s, p, o in terms)
    program = parse_program(kinds.PREFIX + PROGRAMS[name])
    found, _ = close(facts, program)
    assert found == naive.closure(facts, program)[0]
    assert len(found) > len(facts)
