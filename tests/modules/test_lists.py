"""The list module's virtual relations, for lists of every shape, added at once or bit by bit."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import permutations, product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.engine import Fact, load
from tests.modules.driver import closed_by_modules, feed
from tests.oracles import naive

from corollary.columns import TripleIndex
from corollary.columns.triples import FIRST_VIRTUAL
from corollary.evaluate import materialise
from corollary.language import (
    IRI,
    OWL,
    RDF,
    BlankNode,
    Constant,
    constant_text,
    parse_constant,
    parse_program,
)
from corollary.modules.lists import Lists
from corollary.profiles import load_profile
from corollary.terms.dictionary import TermDictionary

FIRST, REST, NIL = (IRI(RDF + name) for name in ("first", "rest", "nil"))
HAS = IRI("http://example.org/has")
OTHER = IRI("http://example.org/other")

Items = tuple[Constant, ...]
Pairs = set[tuple[Constant, Constant]]

ITEMS = tuple(IRI(f"http://example.org/{name}") for name in "abcde")
CELLS = tuple(BlankNode(f"l{i}") for i in range(4))


def item(name: str) -> IRI:
    return IRI(f"http://example.org/{name}")


def list_facts(items: Iterable[Constant], label: str = "l") -> list[Fact]:
    """An ordinary list, whose head is ``_:label0``."""
    cells: list[Constant] = []
    facts: list[Fact] = []
    for number, value in enumerate(items):
        cells.append(BlankNode(f"{label}{number}"))
        facts.append((cells[-1], FIRST, value))
    facts += zip(cells, [REST] * len(cells), [*cells[1:], NIL], strict=True)
    return facts


class Readings:
    """What the module tells of some facts, as terms."""

    def __init__(
        self, batches: Iterable[Iterable[Fact]], leading: Iterable[IRI] | None, first: Iterable[Constant] = ()
    ) -> None:
        self.dictionary = TermDictionary()
        for term in first:
            self.dictionary.encode(constant_text(term))
        ids = leading if leading is None else [self.dictionary.encode(constant_text(p)) for p in leading]
        self.module = Lists(self.dictionary, ids)
        self.index: TripleIndex = feed([self.module], batches, self.dictionary)

    def ids(self, name: str) -> list[tuple[int, int]]:
        keys = self.index.relation(self.dictionary.encode(name)).keys()
        return [(key >> 32, key & 0xFFFFFFFF) for key in keys.tolist()]

    def term(self, term_id: int) -> Constant:
        return parse_constant(self.dictionary.decode(term_id))

    def pairs(self, name: str) -> Pairs:
        return {(self.term(head), self.term(value)) for head, value in self.ids(name)}

    def item_pairs(self) -> set[tuple[Constant, tuple[Constant, Constant]]]:
        """(list, (x, y)) for every READING(l, k), CELL(k, c) and CELL(k, d) with c and d different."""
        firsts: dict[int, list[int]] = {}
        for cell, item in self.ids(constant_text(FIRST)):
            firsts.setdefault(cell, []).append(item)
        cells: dict[int, list[int]] = {}
        for reading, cell in self.ids("CELL"):
            cells.setdefault(reading, []).append(cell)
        return {
            (self.term(head), (self.term(x), self.term(y)))
            for head, reading in self.ids("READING")
            for one, other in permutations(cells[reading], 2)
            for x, y in product(firsts[one], firsts[other])
        }

    def sequences(self) -> set[tuple[Constant, Items]]:
        """(list, items) for every way to satisfy LIST_n(l, k), ITEM_1(k, x), ..., ITEM_n(k, y)."""
        return {
            (self.term(head), tuple(map(self.term, items)))
            for length in self.module.lengths
            for head, reading in self.ids(f"LIST_{length}")
            for items in product(
                *[[x for k, x in self.ids(f"ITEM_{i}") if k == reading] for i in range(1, length + 1)]
            )
        }


def expected_sequences(facts: Iterable[Fact], leading: Iterable[IRI] | None) -> set[tuple[Constant, Items]]:
    """The same from the naive evaluator's lists: every path that passes no cell twice."""
    known = naive.Facts(facts, {})
    cells = {cell for cell, predicate, _ in known.all if predicate == REST}
    heads = cells if leading is None else {o for _, p, o in known.all if p in set(leading)} & cells
    return {(head, items) for head in heads for items in known.lists(head) if items}


def assert_is(found: Readings, facts: Iterable[Fact], leading: Iterable[IRI] | None) -> None:
    expected = expected_sequences(facts, leading)
    assert found.sequences() == expected
    assert found.pairs("MEMBER") == {(head, x) for head, items in expected for x in items}
    assert found.pairs("REPEATED") == {
        (head, x) for head, items in expected for x in items if items.count(x) > 1
    }
    assert found.item_pairs() == {(head, pair) for head, items in expected for pair in permutations(items, 2)}
    assert found.module.lengths >= {len(items) for _, items in expected}


def cell_facts(*, cyclic: bool) -> st.SearchStrategy[Fact]:
    """Cells of up to four lists that run into each other, and the facts that lead to them."""
    numbers = st.integers(0, len(CELLS) - 1)

    def rest(number: int, following: int) -> Fact:
        further = following if cyclic or following > number else None
        return (CELLS[number], REST, NIL if further is None else CELLS[further])

    firsts: st.SearchStrategy[Fact] = st.tuples(
        st.sampled_from(CELLS), st.just(FIRST), st.sampled_from(ITEMS)
    )
    leading: st.SearchStrategy[Fact] = st.tuples(
        st.sampled_from(ITEMS), st.sampled_from((HAS, HAS, OTHER)), st.sampled_from(CELLS)
    )
    return st.one_of(firsts, firsts, st.builds(rest, numbers, numbers), leading)


leadings = st.sampled_from((None, (HAS,), (HAS, OTHER)))
orders = st.permutations(ITEMS)
"""In which order the items get their ids."""


@settings(max_examples=250, deadline=None)
@given(st.lists(cell_facts(cyclic=False), max_size=18), leadings, orders)
def test_branching_lists(facts: list[Fact], leading: tuple[IRI, ...] | None, order: list[IRI]) -> None:
    assert_is(Readings([facts], leading, order), facts, leading)


@settings(max_examples=250, deadline=None)
@given(st.lists(st.lists(cell_facts(cyclic=False), max_size=10), min_size=2, max_size=4), leadings, orders)
def test_branching_lists_bit_by_bit(
    batches: list[list[Fact]], leading: tuple[IRI, ...] | None, order: list[IRI]
) -> None:
    """A reading, once derived, stays what it is when others come."""
    assert_is(Readings(batches, leading, order), [fact for batch in batches for fact in batch], leading)


@settings(max_examples=100, deadline=None)
@given(st.lists(cell_facts(cyclic=True), max_size=14), leadings)
def test_lists_that_run_in_circles(facts: list[Fact], leading: tuple[IRI, ...] | None) -> None:
    """A way through a list passes no cell twice."""
    assert_is(Readings([facts], leading), facts, leading)


def cell(node: BlankNode, value: Constant, *following: Constant) -> list[Fact]:
    return [(node, FIRST, value), *((node, REST, further) for further in following)]


TOP, LEFT, LEFT_END, RIGHT, RIGHT_END = map(BlankNode, ("top", "left", "left2", "right", "right2"))
X, A, B, C, D, E = map(item, "xabcde")
TWO_WAYS: list[Fact] = [
    (item("p"), HAS, TOP),
    *cell(TOP, X, LEFT, RIGHT),
    *cell(LEFT, A, LEFT_END),
    *cell(LEFT_END, B, NIL),
    *cell(RIGHT, C, RIGHT_END),
    *cell(RIGHT_END, D, NIL),
]
"""Two readings: (x a b) and (x c d)."""


def test_a_reading_that_comes_later_does_not_change_the_others() -> None:
    """(x a d) is never one."""
    found = Readings([TWO_WAYS, [(RIGHT, FIRST, E)]], [HAS], first=[E])
    assert found.sequences() == {(TOP, (X, A, B)), (TOP, (X, C, D)), (TOP, (X, E, D))}


def test_no_chain_along_half_of_two_readings() -> None:
    """The same in rules: the first item comes of an inference, a round later than the list."""
    program = parse_program("""
        PREFIX : <http://example.org/>
        [?x, ?p, ?y] :- [?p, :has, ?l], CHAIN(?l, ?x, ?y) .
        [?l, rdf:first, ?y] :- [?l, :other, ?y] .
    """)
    path: list[Fact] = [(item("1"), X, item("2")), (item("2"), A, item("3")), (item("3"), D, item("4"))]
    facts = [(E, OTHER, E), *TWO_WAYS, (RIGHT, OTHER, E), *path]
    expected, _ = naive.closure(facts, program)
    assert closed_by_modules(program, [facts]) == expected


@pytest.mark.parametrize(
    "facts",
    [
        pytest.param([], id="nothing"),
        pytest.param([(item("a"), HAS, NIL)], id="the empty list"),
        pytest.param([(item("a"), HAS, CELLS[0])], id="no cell"),
        pytest.param([(item("a"), HAS, CELLS[0]), (CELLS[0], FIRST, item("b"))], id="no rest"),
        pytest.param([(item("a"), HAS, CELLS[0]), (CELLS[0], REST, NIL)], id="no first"),
        pytest.param(
            [(item("a"), HAS, CELLS[0]), (CELLS[0], FIRST, item("b")), (CELLS[0], REST, CELLS[1])],
            id="unterminated",
        ),
        pytest.param(
            [(item("a"), HAS, CELLS[0]), (CELLS[0], FIRST, item("b")), (CELLS[0], REST, CELLS[0])],
            id="a circle",
        ),
    ],
)
def test_what_is_no_list(facts: list[Fact]) -> None:
    found = Readings([facts], [HAS])
    assert not found.sequences()
    assert not found.pairs("MEMBER")


def test_an_ordinary_list_is_its_own_reading() -> None:
    """So that lists cost no terms."""
    facts = [(item("s"), HAS, BlankNode("l0")), *list_facts(map(item, "aba"))]
    found = Readings([facts], [HAS])
    assert found.ids("LIST_3") == [(found.dictionary.encode("_:l0"),) * 2]
    assert found.sequences() == {(BlankNode("l0"), (item("a"), item("b"), item("a")))}
    assert found.pairs("REPEATED") == {(BlankNode("l0"), item("a"))}
    assert found.module.lengths == {3}


def test_the_rest_of_a_list_is_read_only_where_something_leads_to_it() -> None:
    facts = [(item("s"), HAS, BlankNode("l0")), *list_facts(map(item, "abc"))]
    assert {head for head, _ in Readings([facts], [HAS]).sequences()} == {BlankNode("l0")}
    assert len(Readings([facts], None).sequences()) == 3


def test_a_list_that_ends_at_last() -> None:
    facts = list_facts(map(item, "abc"))
    head: Fact = (item("s"), HAS, BlankNode("l0"))
    for batches in ([[head, *facts[:-1]], facts[-1:]], [facts, [head]]):
        assert len(Readings(batches, [HAS]).sequences()) == 1


def counts(found: Readings) -> Iterator[int]:
    return (len(found.index.relation(p)) for p in found.index.all_predicates())


def test_a_list_of_five_thousand() -> None:
    """One reading, and no recursion."""
    items = [item(f"i{number}") for number in range(5_000)]
    found = Readings([[(item("s"), HAS, BlankNode("l0")), *list_facts(items)]], [HAS])
    assert found.module.lengths == {5_000}
    assert len(found.ids("MEMBER")) == 5_000
    assert not found.ids("REPEATED")
    assert [found.ids(f"ITEM_{i}")[0][1] for i in (1, 5_000)] == [
        found.dictionary.encode(constant_text(items[i])) for i in (0, -1)
    ]


def test_a_list_of_one_item_five_thousand_times() -> None:
    found = Readings([[(item("s"), HAS, BlankNode("l0")), *list_facts([item("a")] * 5_000)]], [HAS])
    assert found.module.lengths == {5_000}
    assert len(found.ids("MEMBER")) == len(found.ids("REPEATED")) == 1


def test_items_of_two_names_each_cost_no_more_than_twice_as_much() -> None:
    """As owl:sameAs makes them: not one reading for every combination of names."""
    length = 14
    facts = list_facts([item(f"a{i}") for i in range(length)])
    facts += [(BlankNode(f"l{i}"), FIRST, item(f"b{i}")) for i in range(length)]
    found = Readings([[(item("s"), HAS, BlankNode("l0")), *facts]], [HAS])
    assert len(found.ids("MEMBER")) == 2 * length
    assert sum(counts(found)) < 20 * length


def test_a_circle_does_not_grow_with_other_lists() -> None:
    """A cell that leads to itself and to the end: however often one goes round, the items are one."""
    facts: list[Fact] = [
        (item("s"), HAS, CELLS[0]),
        (CELLS[0], FIRST, item("a")),
        (CELLS[0], REST, CELLS[0]),
        (CELLS[0], REST, NIL),
    ]
    found = Readings([[*facts, *list_facts([item("b")] * 50, "other")]], [HAS])
    assert found.module.lengths == {1}


@pytest.mark.parametrize(
    "more", [[], [(BlankNode("l4999"), REST, BlankNode("l0"))]], ids=["two ends", "a circle"]
)
def test_a_long_list_whose_last_cell_has_two_rests(more: list[Fact]) -> None:
    """The paths share their cells: they are not copied at each step."""
    items = [item(f"i{number}") for number in range(5_000)]
    end = (BlankNode("l4999"), REST, BlankNode("end"))
    facts = [
        (item("s"), HAS, BlankNode("l0")),
        *list_facts(items),
        end,
        *cell(BlankNode("end"), item("z"), NIL),
    ]
    found = Readings([facts + more], [HAS])
    assert found.module.lengths == {5_000, 5_001}
    assert len(found.ids("MEMBER")) == 5_001


def test_a_long_list_without_an_item_in_the_middle() -> None:
    facts = [(item("s"), HAS, BlankNode("l0")), *list_facts(item(f"i{number}") for number in range(5_000))]
    del facts[2_500]
    assert not Readings([facts], [HAS]).module.lengths


def test_what_the_module_remembers_stays() -> None:
    """Once, the engine emptied the candidates that it included: here the lists that the module had read."""
    facts = frozenset([*list_facts(ITEMS[:2]), (ITEMS[2], IRI(OWL + "unionOf"), CELLS[0])])
    dictionary = TermDictionary()
    fixpoint = materialise(load(facts, dictionary), load_profile("owl2rl"), dictionary).engine.fixpoint
    (module,) = (module for module in fixpoint.modules if isinstance(module, Lists))
    virtual = [p for p in fixpoint.index.all_predicates() if p >= FIRST_VIRTUAL]
    wanted = TripleIndex(fixpoint.index.relations_of(virtual))
    found = module.rederive(wanted, fixpoint.index)
    reading = dictionary.encode("READING")
    assert [keys.tolist() for keys in found[reading]] == [wanted.keys(reading).tolist()]


def test_candidates_stay_as_they_are() -> None:
    """The engine includes them, but they belong to the caller."""
    dictionary = TermDictionary()
    engine = materialise(TripleIndex(), parse_program(""), dictionary).engine
    given_keys = np.array([3, 1, 2], np.uint64)
    candidates = {dictionary.encode("<x:p>"): [given_keys]}
    engine.add(candidates)
    assert list(candidates.values()) == [[given_keys]]
    assert len(engine.fixpoint.index) == 3
