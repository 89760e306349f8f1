"""Half of what follows about symmetric predicates is derived, and all of it is found."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray
from tests.engine import Fact, close
from tests.modules import kinds
from tests.oracles import naive
from tests.strategies import EXAMPLE, thorough

from corollary.columns import Pairs, Relation, TripleIndex
from corollary.columns.pairs import pack
from corollary.language import IRI, parse_program
from corollary.modules import halving
from corollary.modules.halving import Halvings
from corollary.modules.triggers import Trigger
from corollary.plan.steps import Age
from corollary.program.compiled_program import CompiledProgram
from corollary.terms.dictionary import TermDictionary

POINTERS = """
    [?x, :m, ?x] :- [?x, :p, ?y] .
    [?x, :m, ?w] :- [?y, :q, ?x], [?y, :s, ?z], [?z, :q, ?w] .
    [?y, :s, ?z] :- [?x, :p, ?y], [?x, :p, ?z] .
    [?y, :s, ?z] :- [?x, :p, ?y], [?x, :m, ?w], [?w, :p, ?z] .
    [?x, :p, ?z] :- [?x, :p, ?y], [?y, :m, ?z] .
"""
PROGRAMS = {
    "rules that are their own counterparts": POINTERS,
    "rules that are counterparts of each other": """
        [?x, :s, ?y] :- [?x, :p, ?z], [?y, :q, ?z] .
        [?y, :s, ?x] :- [?x, :p, ?z], [?y, :q, ?z] .
        [?x, :s, ?z] :- [?x, :s, ?y], [?y, :s, ?z], [?x, :p, ?w] .
        [?x, :s, ?z] :- [?x, :s, ?y], [?y, :s, ?z], [?z, :p, ?w] .
    """,
    "atoms that become themselves, but are not turned": """
        [?x, :s, ?y] :- [?z, :p, ?x], [?z, :p, ?y], [?u, :s, ?v], [?u, :q, ?v] .
        [?x, :s, ?y] :- [?x, :q, ?z], [?y, :q, ?z], [?z, :r, ?z] .
    """,
    "two symmetric atoms that become each other": """
        [?x, :s, ?z] :- [?x, :m, ?y], [?y, :m, ?z], [?y, :p, ?y] .
        [?x, :m, ?z] :- [?x, :p, ?y], [?y, :s, ?w], [?z, :p, ?w] .
        [?x, :m, ?x] :- [?x, :q, ?y] .
    """,
}

names = st.sampled_from([IRI(EXAMPLE + name) for name in "abcd"])
fact_sets: st.SearchStrategy[frozenset[Fact]] = st.frozensets(
    st.tuples(names, st.sampled_from([IRI(EXAMPLE + name) for name in "ppqqrs"]), names), max_size=10
)


@pytest.fixture(scope="module")
def few_are_many() -> Iterator[None]:
    """Halve the work on few facts, too."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(halving, "MIN_FACTS_TO_HALVE", 0)
        yield


@pytest.mark.parametrize("name", PROGRAMS)
@thorough(40)
@given(facts=fact_sets)
def test_all_is_found(few_are_many: None, name: str, facts: frozenset[Fact]) -> None:
    program = parse_program(kinds.PREFIX + PROGRAMS[name])
    assert close(facts, program)[0] == naive.closure(facts, program)[0]


def test_which_triggers_are_needed(few_are_many: None) -> None:
    """The third atom finds what the first one does; of the symmetric one in between, a half is needed."""
    dictionary = TermDictionary()
    rules = CompiledProgram(parse_program(kinds.PREFIX + POINTERS), dictionary).rules
    p, m, s = (dictionary.encode(f"<{EXAMPLE}{name}>") for name in "pms")
    both = Pairs(pack(*_columns((1, 2), (2, 1), (2, 2))))
    index = TripleIndex({m: Relation(both), s: Relation(both), p: Relation(Pairs(pack(*_columns((1, 2)))))})
    halved = Halvings(rules).over(index, index)
    assert halved.predicates == {m, s}
    triggers = [Trigger(rules[3], position) for position in range(3)]
    assert [halved.needs(trigger) for trigger in triggers] == [True, True, False]
    ages = {Age.ALL: index, Age.RECENT: index}
    assert halved.ages(triggers[0], ages)[Age.RECENT] is index
    needed = halved.ages(triggers[1], ages)[Age.RECENT].keys(m)
    assert needed.tolist() == pack(*_columns((1, 2), (2, 2))).tolist()


def test_facts_on_one_side_only(few_are_many: None) -> None:
    """:m has b, a and not a, b: so neither :m nor :s, which depends on it, is symmetric."""
    dictionary = TermDictionary()
    rules = CompiledProgram(parse_program(kinds.PREFIX + POINTERS), dictionary).rules
    m = dictionary.encode(f"<{EXAMPLE}m>")
    one = TripleIndex({m: Relation(Pairs(pack(*_columns((2, 1)))))})
    assert not Halvings(rules).over(one, TripleIndex()).predicates
    assert not Halvings(rules).over(one, one).predicates


def _columns(*pairs: tuple[int, int]) -> NDArray[np.uint32]:
    return np.array(pairs, np.uint32).T
