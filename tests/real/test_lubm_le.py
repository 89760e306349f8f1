"""LUBM_LE, a Datalog program of the literature, over LUBM-1: the published number of derived facts."""

from __future__ import annotations

from collections import defaultdict
from pathlib import Path

import pytest
from benchmarks.engine import Facts
from benchmarks.vlog import PREFIX, program_of

from corollary.evaluate import MaterialisedView

pytestmark = pytest.mark.corpus

PUBLISHED = 235_232
COLLEAGUES, CONNECTED_COURSES, SUB_ORGANIZATION = (f"<{PREFIX}RP{number}>" for number in (0, 30, 49))


@pytest.fixture(scope="module")
def closed(corpus: Path) -> MaterialisedView:
    program = program_of((corpus / "programs" / "LUBM_LE.dlog").read_text())
    return Facts.of_files([corpus / "lubm" / "lubm-1.nt.gz"]).close(program)


def test_the_published_number_of_facts_is_derived(closed: MaterialisedView) -> None:
    assert len(closed.index) - len(closed.explicit) == PUBLISHED


def test_one_closure_is_transitive_and_two_are_symmetric_too(closed: MaterialisedView) -> None:
    """As in table 1 of Hu, Motik, Horrocks (2019)."""
    rules: defaultdict[str, int] = defaultdict(int)
    for assignment in closed.engine.assignments:
        if assignment.module == "transitive closure":
            rules[closed.dictionary.decode(assignment.rule.heads[0].p)] += 1
    assert rules == {COLLEAGUES: 2, CONNECTED_COURSES: 2, SUB_ORGANIZATION: 1}


def test_rules_with_one_atom_are_inclusions(closed: MaterialisedView) -> None:
    modules = {assignment.module for assignment in closed.engine.assignments}
    assert modules == {"transitive closure", "inclusion", "functional", "rules"}
    for assignment in closed.engine.assignments:
        has_one_atom = len(assignment.rule.atoms) == 1
        assert has_one_atom == (assignment.module == "inclusion") or assignment.module == "transitive closure"
