"""The next of several joins, by estimates: which it is, and that the order changes no bindings."""

from __future__ import annotations

import numpy as np
import pytest

from corollary.columns import TripleIndex
from corollary.columns.pairs import Pairs, pack
from corollary.columns.relation import Relation
from corollary.execute import next_join
from corollary.execute.batches import Batch
from corollary.execute.context import ExecutionContext
from corollary.execute.next_join import next_join as chosen
from corollary.execute.run_plan import run
from corollary.language import parse_program
from corollary.plan.steps import Age, Join, Plan
from corollary.program.compile import Atom
from corollary.program.compiled_program import CompiledProgram
from corollary.terms.dictionary import TermDictionary

X, Y, Z = -1, -2, -3
MANY, FEW = 1, 2
ROWS = 5000


def index_of(skewed: int, even: int) -> TripleIndex:
    """Few subjects with many facts each, and many subjects with one fact each."""
    subjects = np.arange(ROWS, dtype=np.uint32)
    many = pack(np.repeat(subjects[:10], 400), np.tile(subjects[:400], 10))
    return TripleIndex(
        {
            skewed: Relation(Pairs.of(many)),
            even: Relation(Pairs.of(pack(subjects, subjects[::-1].copy()))),
        }
    )


def starting() -> Batch:
    """Rows whose ``X`` has 400 matches in the skewed relation, whose ``Z`` has one in the other."""
    numbers = np.arange(ROWS, dtype=np.uint32)
    return Batch(ROWS, {X: numbers % 10, Z: numbers})


def joins() -> Plan:
    """The skewed relation has fewer facts, so a plan has it first."""
    return Join(Atom(X, MANY, Y), Age.ALL), Join(Atom(Z, FEW, Y), Age.ALL)


def test_the_join_with_fewest_rows_is_next() -> None:
    facts = {Age.ALL: index_of(MANY, FEW)}
    assert chosen(joins(), starting(), facts) == 1
    assert chosen(joins()[::-1], starting(), facts) == 0
    assert chosen(joins()[:1], starting(), facts) == 0
    small = Batch(10, {X: np.arange(10, dtype=np.uint32), Z: np.arange(10, dtype=np.uint32)})
    assert chosen(joins(), small, facts) == 0, "an estimate would take longer than the join"


def test_only_existing_indexes_are_read() -> None:
    by_object = (joins()[0], Join(Atom(Y, FEW, Z), Age.ALL))
    facts = index_of(MANY, FEW)
    assert chosen(by_object, starting(), {Age.ALL: facts}) == 0
    _ = facts.relation(FEW).parts[0].by_object
    assert chosen(by_object, starting(), {Age.ALL: facts}) == 1


def test_unbound_and_open_joins_stay() -> None:
    facts = {Age.ALL: index_of(MANY, FEW)}
    assert chosen((Join(Atom(-4, MANY, Y), Age.ALL), *joins()[1:]), starting(), facts) == 0
    assert chosen((joins()[0], Join(Atom(-4, FEW, -5), Age.ALL)), starting(), facts) == 0
    assert chosen((joins()[0], Join(Atom(Z, -6, Y), Age.ALL)), starting(), facts) == 0


@pytest.mark.parametrize("wanted", [(), (X, Y)])
def test_bindings_are_the_same(wanted: tuple[int, ...], monkeypatch: pytest.MonkeyPatch) -> None:
    dictionary = TermDictionary()
    program = CompiledProgram(parse_program("[?x, <urn:p>, ?y] :- [?x, <urn:q>, ?y] ."), dictionary)
    rule, facts, found = program.rules[0], {Age.ALL: index_of(MANY, FEW)}, []
    for rows in (2, 10**9):
        monkeypatch.setattr(next_join, "MIN_ROWS_TO_ESTIMATE", rows)
        batch = run(joins(), facts, rule, ExecutionContext(dictionary), starting(), wanted)
        found.append(np.unique(np.stack([batch.columns[variable] for variable in (X, Y)]), axis=1))
    assert found[0].size
    assert np.array_equal(found[0], found[1])
