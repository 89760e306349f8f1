"""Joins that only decide whether a row stays: they are run once for the rows that agree on what they read."""

from __future__ import annotations

import numpy as np
import pytest

from corollary.columns import TripleIndex
from corollary.columns.pairs import Pairs, pack
from corollary.columns.relation import Relation
from corollary.execute import meeting, run_plan
from corollary.execute.batches import Batch
from corollary.execute.context import ExecutionContext
from corollary.execute.run_plan import run
from corollary.language import parse_program
from corollary.plan.steps import Age, Join, Plan
from corollary.program.compile import Atom, CompiledRule
from corollary.program.compiled_program import CompiledProgram
from corollary.terms.dictionary import TermDictionary

X, Y, Z, W, V = -1, -2, -3, -4, -5
STEP, END = 1, 2
NODES, ROWS = 12, 600


def facts() -> dict[Age, TripleIndex]:
    """``STEP``: from each number to its double, and to one more; ``END``: to three times the number."""
    numbers = np.arange(NODES, dtype=np.uint32)
    doubled = np.concatenate((2 * numbers % NODES, (2 * numbers + 1) % NODES)).astype(np.uint32)
    ends = pack(numbers, (numbers * 3 % NODES).astype(np.uint32))
    return {
        Age.ALL: TripleIndex(
            {
                STEP: Relation(Pairs.of(pack(np.tile(numbers, 2), doubled))),
                END: Relation(Pairs.of(ends)),
            }
        )
    }


def starting() -> Batch:
    """Rows whose ``Y`` is unique, and whose ``X`` and ``Z`` are those of many rows."""
    rows = np.arange(ROWS, dtype=np.uint32)
    return Batch(ROWS, {X: rows % NODES, Y: rows, Z: rows // 7 % NODES})


def path() -> Plan:
    """X to W to Z: what a row needs besides Y."""
    return Join(Atom(X, STEP, W), Age.ALL), Join(Atom(W, END, Z), Age.ALL)


def loose_path() -> Plan:
    """X to W to V: whether there is one depends on X alone."""
    return Join(Atom(X, END, W), Age.ALL), Join(Atom(W, END, V), Age.ALL), Join(Atom(V, STEP, V), Age.ALL)


def ran(steps: Plan, wanted: tuple[int, ...], batch: Batch | None = None) -> tuple[set[tuple[int, ...]], int]:
    """The distinct bindings of the wanted variables, and the number of rows that all joins returned."""
    dictionary = TermDictionary()
    rule: CompiledRule = CompiledProgram(
        parse_program("[?x, <urn:p>, ?y] :- [?x, <urn:q>, ?y] ."), dictionary
    ).rules[0]
    context = ExecutionContext(dictionary)
    found = run(steps, facts(), rule, context, starting() if batch is None else batch, wanted)
    columns = [found.columns[variable].tolist() for variable in wanted] if found.size else []
    return set(zip(*columns, strict=True)), context.rows


@pytest.mark.parametrize(
    ("steps", "wanted", "read"),
    [
        (path(), (Y, Z), [Z, X]),
        (path(), (Y,), [Z, X]),
        (loose_path(), (Y, Z), [X]),
        (path()[:1], (Y, Z), []),
        (path(), (Y, W), []),
        (path(), (), [Z, X]),
        ((*path(), Join(Atom(Y, END, Z), Age.ALL)), (Y, Z), []),
    ],
)
def test_which_variables_decide(
    steps: Plan, wanted: tuple[int, ...], read: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(run_plan, "MIN_ROWS_TO_SHARE_TESTS", 1)
    assert run_plan._tested(steps, starting(), wanted) == read
    monkeypatch.setattr(run_plan, "MIN_ROWS_TO_SHARE_TESTS", ROWS + 1)
    assert run_plan._tested(steps, starting(), wanted) == []


@pytest.mark.parametrize("steps", [path(), loose_path()])
@pytest.mark.parametrize("wanted", [(Y, Z), (Y,), (X, Y, Z)])
def test_the_same_rows_with_fewer_joined(
    steps: Plan, wanted: tuple[int, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(meeting, "MIN_ROWS_TO_MEET", 10**9)
    monkeypatch.setattr(run_plan, "MIN_ROWS_TO_SHARE_TESTS", 10**9)
    expected, joined = ran(steps, wanted)
    monkeypatch.setattr(run_plan, "MIN_ROWS_TO_SHARE_TESTS", 1)
    found, shared = ran(steps, wanted)
    assert found == expected
    assert 0 < len(found) < ROWS
    assert shared < joined


@pytest.mark.parametrize("first", [1, 2, 100])
@pytest.mark.parametrize("steps", [path(), loose_path()])
def test_of_many_rows_for_a_binding_some_are_tested_first(
    steps: Plan, first: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Bindings that the first rows do not decide are decided by the others; some have no match at all."""
    rows = np.arange(ROWS, dtype=np.uint32)
    batch = Batch(ROWS, {X: rows % 7 % NODES, Y: rows // 25, Z: rows // 11 % NODES})
    monkeypatch.setattr(meeting, "MIN_ROWS_TO_MEET", 10**9)
    monkeypatch.setattr(run_plan, "MIN_ROWS_TO_SHARE_TESTS", 10**9)
    expected, _ = ran(steps, (Y,), batch)
    monkeypatch.setattr(run_plan, "MIN_ROWS_TO_SHARE_TESTS", 1)
    monkeypatch.setattr(run_plan, "MIN_ROWS_PER_BINDING", 1)
    monkeypatch.setattr(run_plan, "ROWS_TESTED_FIRST", first)
    assert ran(steps, (Y,), batch)[0] == expected
    nothing = Batch(ROWS, batch.columns | {X: np.full(ROWS, 4 * NODES, np.uint32)})
    assert ran(steps, (Y,), nothing)[0] == set()


def test_no_row_stays() -> None:
    batch = Batch(2, {X: np.array([1, 1], np.uint32), Y: np.array([1, 2], np.uint32)})
    nowhere = (Join(Atom(X, STEP, W), Age.ALL), Join(Atom(W, 3, V), Age.ALL))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(run_plan, "MIN_ROWS_TO_SHARE_TESTS", 1)
        assert ran(nowhere, (Y,), batch)[0] == set()
