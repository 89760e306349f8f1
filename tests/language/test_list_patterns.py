"""PAIR: two positions of a list, whatever names their items have; and names that rules have already."""

from __future__ import annotations

from tests.engine import Fact, close

from corollary.language import IRI, Constant, Literal, parse_program
from corollary.language.model import BlankNode

EX = "http://example.org/"
RDF = "http://www.w3.org/1999/02/22-rdf-syntax-ns#"
FIRST, REST, NIL = IRI(RDF + "first"), IRI(RDF + "rest"), IRI(RDF + "nil")


def ex(name: str) -> IRI:
    return IRI(EX + name)


def pairs(rules: str, *firsts: tuple[int, str]) -> set[tuple[str, str]]:
    """What the rules derive by :with, over a list of cells with these firsts."""
    length = 1 + max(cell for cell, _ in firsts)
    cells: list[Constant] = [BlankNode(f"c{n}") for n in range(length)]
    facts: set[Fact] = {(cells[n], REST, following) for n, following in enumerate([*cells[1:], NIL])}
    facts |= {(cells[n], FIRST, ex(name)) for n, name in firsts} | {(ex("s"), ex("has"), cells[0])}
    found, _ = close(facts, parse_program(f"PREFIX : <{EX}>\n{rules}"))
    return {(str(s), str(o)) for s, p, o in found if p == ex("with")}


def named(*names: str) -> set[tuple[str, str]]:
    return {(str(ex(name[0])), str(ex(name[1]))) for name in names}


RULE = "[?x, :with, ?y] :- [?s, :has, ?l], PAIR(?l, ?x, ?y) ."


def test_two_names_of_one_item_are_no_pair() -> None:
    assert pairs(RULE, (0, "a"), (0, "c"), (1, "b")) == named("ab", "ba", "cb", "bc")


def test_an_item_at_two_positions_is_a_pair() -> None:
    assert pairs(RULE, (0, "a"), (1, "b"), (2, "a")) == named("aa", "ab", "ba")


def test_a_list_of_one_item_has_no_pairs() -> None:
    assert not pairs(RULE, (0, "a"))


def test_two_readings_are_not_mixed() -> None:
    """A cell with two rests: a and b stand in one reading each, at the same position."""
    one, two, head = BlankNode("c1"), BlankNode("c2"), BlankNode("c0")
    facts: set[Fact] = {
        (ex("s"), ex("has"), head),
        (head, FIRST, ex("h")),
        (head, REST, one),
        (head, REST, two),
        (one, FIRST, ex("a")),
        (two, FIRST, ex("b")),
        (one, REST, NIL),
        (two, REST, NIL),
    }
    found, _ = close(facts, parse_program(f"PREFIX : <{EX}>\n{RULE}"))
    assert {(str(s), str(o)) for s, p, o in found if p == ex("with")} == named("ha", "ah", "hb", "bh")


def test_variables_may_have_the_names_of_those_that_are_put_in() -> None:
    """?pair0, ?cell0, ?list0 and ?item0_1 are also what list patterns are written out with."""
    rule = "[?pair1, :with, ?cell1] :- [?other1, :has, ?l], PAIR(?l, ?pair1, ?cell1) ."
    assert pairs(rule, (0, "a"), (1, "b")) == named("ab", "ba")
    each = "[?list1, :with, ?item1_1] :- [?list1, :has, ?l], EACH ?i IN ?l ([?i, :q, ?item1_1]) ."
    facts: set[Fact] = {
        (ex("s"), ex("has"), BlankNode("c")),
        (BlankNode("c"), FIRST, ex("a")),
        (BlankNode("c"), REST, NIL),
        (ex("a"), ex("q"), Literal("x")),
    }
    found, _ = close(facts, parse_program(f"PREFIX : <{EX}>\n{each}"))
    assert (ex("s"), ex("with"), Literal("x")) in found
