"""Graphs of program analyses: the shape promised, and closures in proportion to those of real programs."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path

import numpy as np
import pytest
from benchmarks.analysis import CSDA, CSPA, Table, facts_of, of_corpus, tables_of
from benchmarks.engine import Facts
from benchmarks.vlog import program_of
from tests.generators.shapes_of_graphs import pairs, reachable

from corollary.columns import TripleIndex
from corollary.generators import program_graphs
from corollary.generators.program_graphs import VOCABULARY, Piece, branches, group, joins, nulls, path, stores

PROGRAMS = {"cspa": CSPA, "csda": CSDA}
FIRST = {"cspa": "assign", "csda": "nullEdge"}
SMALL = (*(path(2, 1), path(2, 3), joins(2, 2, 1)), *(group(1, 3, 4), group(2, 1, 1), stores(2, 3)))


def counts(kind: str, facts: Facts) -> dict[str, int]:
    """The number of facts of each property in the materialisation."""
    result = facts.close(program_of(PROGRAMS[kind], VOCABULARY))
    names = {
        text.split("#")[1].rstrip(">"): text for text in facts.dictionary.decode_all(predicates(result.index))
    }
    numbers = {name: facts.dictionary.find(text) for name, text in names.items()}
    return {
        name: len(result.index.relation(number)) for name, number in numbers.items() if number is not None
    }


def predicates(index: TripleIndex) -> list[int]:
    return [int(predicate) for predicate in np.unique(index.columns()[1])]


@pytest.fixture
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    """Parts of some hundred triples."""
    monkeypatch.setattr(program_graphs, "POINTERS", SMALL)
    monkeypatch.setattr(program_graphs, "VARIABLES", 40)
    monkeypatch.setattr(program_graphs, "NULLS", (nulls(20, 1), nulls(5, 4)))
    monkeypatch.setattr(program_graphs, "FLOW", (branches(3, 2), branches(2, 5)))
    monkeypatch.setattr(program_graphs, "ENTERED", 9)


@pytest.mark.parametrize("kind", ["cspa", "csda"])
@pytest.mark.corpus
def test_parts_grow_as_real_programs_do(kind: str, corpus: Path) -> None:
    """The facts of each property for each explicit edge: within 10 % of the published graphs."""
    published = json.loads((corpus / "program-analysis" / "COUNTS.json").read_text())[f"{kind}100k"]
    real = {f"{name[0].lower()}{name[1:]}": number for name, number in published.items()}
    made = counts(kind, Facts.generated(kind, 1))
    first = FIRST[kind]
    for name in real.keys() - {"dereference", "arc"}:
        share = made[name] / made[first]
        assert abs(share - real[name] / real[first]) <= 0.1 * real[name] / real[first], name


@pytest.mark.parametrize("name", ["cspa1k", "csda10k"])
@pytest.mark.corpus
def test_published_graphs_close_to_the_published_counts(name: str, corpus: Path) -> None:
    published = json.loads((corpus / "program-analysis" / "COUNTS.json").read_text())[name]
    made = counts(name[:4], facts_of(of_corpus(corpus, name)))
    assert made == {f"{key[0].lower()}{key[1:]}": number for key, number in published.items()}


def test_sizes_of_a_part() -> None:
    assert Counter(properties(program_graphs.cspa(1))) == {"assign": 50_000, "dereference": 50_000}
    assert Counter(properties(program_graphs.csda(1))) == {"nullEdge": 58_000, "arc": 42_000}


def properties(content: bytes) -> list[str]:
    return [line.split()[1].split("#")[1].rstrip(">") for line in content.decode().splitlines()]


def test_a_variable_has_an_address_and_a_value() -> None:
    edges = pairs(program_graphs.cspa(2), "#dereference")
    after, before = dict(edges), {target: source for source, target in edges}
    assert len(after) == len(before) == len(edges)
    addresses = [node for node in after if node not in before]
    assert len(addresses) == program_graphs.VARIABLES
    assert all(after[after[node]] not in after for node in addresses)


def test_degrees_of_a_part() -> None:
    """At most 41 copies of a variable, 7 copies to one place, 27 places of a null: as in published graphs."""
    assigns = pairs(program_graphs.cspa(1), "#assign")
    assert max(Counter(source for source, _ in assigns).values()) <= 41
    assert max(Counter(target for _, target in assigns).values()) <= 7
    nulls = pairs(program_graphs.csda(1), "#nullEdge")
    assert max(Counter(source for source, _ in nulls).values()) == 27
    assert len({target for _, target in nulls}) == len(nulls)


@pytest.mark.usefixtures("small")
@pytest.mark.parametrize("seed", range(3))
def test_pointer_analysis_agrees_with_substitution(seed: int, tmp_path: Path) -> None:
    path = tmp_path / "cspa.nt"
    path.write_bytes(program_graphs.cspa(1, seed))
    facts = Facts.of_files([path])
    assert counts("cspa", facts) == {
        name: len(rows) for name, rows in by_substitution(tables_of(facts)).items()
    }


def by_substitution(tables: dict[str, Table]) -> dict[str, set[tuple[int, int]]]:
    """The points-to analysis over sets of pairs."""
    assign, dereference = ({(a, b) for a, b in tables[name].tolist()} for name in ("assign", "dereference"))
    loops = {(node, node) for edge in assign for node in edge}
    flow, memory, alias = assign | loops, set(loops), set[tuple[int, int]]()
    size = -1
    while size != len(flow) + len(memory) + len(alias):
        size = len(flow) + len(memory) + len(alias)
        flow |= joined(assign, memory) | joined(flow, flow)
        back = {(b, a) for a, b in flow}
        alias |= joined(back, flow) | joined(joined(back, memory), flow)
        memory |= joined(joined({(b, a) for a, b in dereference}, alias), dereference)
    return {
        "assign": assign,
        "dereference": dereference,
        "valueFlow": flow,
        "memoryAlias": memory,
        "valueAlias": alias,
    }


def joined(left: set[tuple[int, int]], right: set[tuple[int, int]]) -> set[tuple[int, int]]:
    after: dict[int, list[int]] = {}
    for a, b in right:
        after.setdefault(a, []).append(b)
    return {(a, c) for a, b in left for c in after.get(b, ())}


@pytest.mark.usefixtures("small")
def test_nulls_flow_as_a_search_has_it(tmp_path: Path) -> None:
    content = program_graphs.csda(1)
    file = tmp_path / "csda.nt"
    file.write_bytes(content)
    reached = reachable(pairs(content, "#arc"))
    wanted = {
        (source, end)
        for source, target in pairs(content, "#nullEdge")
        for end in {target, *reached.get(target, ())}
    }
    assert counts("csda", Facts.of_files([file]))["null"] == len(wanted) > 40


def test_pieces_share_no_node() -> None:
    (sources, targets), variables = program_graphs.placed(SMALL, np.random.default_rng(0))
    assert sources.size == sum(piece.times * len(piece.edges) for piece in SMALL)
    assert variables.size == sum(piece.times * piece.variables for piece in SMALL)
    assert max(sources.max(), targets.max()) < sum(piece.times * piece.nodes for piece in SMALL)
    lone = Piece(3, 1, 0, ())
    assert program_graphs.placed((lone,), np.random.default_rng(0))[1].tolist() == [0, 3, 6]
