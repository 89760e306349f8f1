"""The problems that several engines solve: closures, analyses, and RDFS over universities."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from benchmarks.analysis import CSDA, CSPA, Table, facts_of, of_corpus, tables_of
from benchmarks.book.engines import Problem
from benchmarks.book.entry import Scope
from benchmarks.engine import Facts
from benchmarks.vlog import program_of
from benchmarks.workloads.lubm import files

from corollary.columns import Columns
from corollary.generators.program_graphs import VOCABULARY
from corollary.language.model import RDF, RDFS
from corollary.profiles import load_profile

CLOSURE = "above(X,Z) :- above(X,Y),above(Y,Z)"
LINEAR = """
path(X,Y) :- above(X,Y)
path(X,Z) :- path(X,Y),above(Y,Z)
"""
"""The transitive closure: of the relation itself, as OWL has it; and as peers evaluate it fastest."""

CLOSURE_SQL = """
WITH RECURSIVE path(x, y) AS (
  SELECT c0, c1 FROM above UNION SELECT path.x, above.c1 FROM path JOIN above ON path.y = above.c0
) SELECT count(*) FROM path
"""
CSDA_SQL = """
WITH RECURSIVE found(x, y) AS (
  SELECT c0, c1 FROM nullEdge UNION SELECT found.x, arc.c1 FROM found JOIN arc ON found.y = arc.c0
) SELECT count(*) FROM found
"""

RHODF = """
t(Y,{type},X) :- t(A,{domain},X),t(Y,A,Z)
t(Z,{type},X) :- t(A,{range},X),t(Y,A,Z)
t(X,{subPropertyOf},Z) :- t(X,{subPropertyOf},Y),t(Y,{subPropertyOf},Z)
t(X,{subClassOf},Z) :- t(X,{subClassOf},Y),t(Y,{subClassOf},Z)
t(Z,{type},Y) :- t(X,{subClassOf},Y),t(Z,{type},X)
t(X,B,Y) :- t(A,{subPropertyOf},B),t(X,A,Y)
"""
"""Example 6.3 of de Lima and Apinis; the terms in braces are numbers."""


def closure(kind: str, percent: int = 100) -> Problem:
    """The closure of a generated graph (dag, rand, rmat), or of a share of its edges."""
    facts = share(Facts.generated(kind, 1), percent)
    program = program_of(CLOSURE, "https://corollary.example/graph#")
    return Problem(
        kind, f"{kind}, {percent} %", program, facts, LINEAR, tables_of(facts), "path", CLOSURE_SQL
    )


def analysis(name: str, tables: dict[str, Table]) -> Problem:
    """CSPA or CSDA on tables. The name starts with that of the analysis."""
    text, answer, sql = (CSPA, "valueAlias", "") if name.startswith("cspa") else (CSDA, "null", CSDA_SQL)
    program = program_of(text, VOCABULARY)
    return Problem(name, name, program, facts_of(tables), text, tables, answer, sql, VOCABULARY + answer)


def analyses(scope: Scope) -> list[Problem]:
    """Both analyses, on the graphs of the corpus if there are any, else on generated ones."""
    names = ("cspa1k",) if scope.settings.small else ("cspa1k", "cspa10k", "cspa100k", "csda10k", "csda100k")
    corpus = scope.settings.corpus
    if corpus is not None:
        return [analysis(name, of_corpus(corpus, name)) for name in names]
    kinds = ("csda",) if scope.settings.small else ("csda", "cspa")
    return [analysis(kind, tables_of(Facts.generated(kind, 1))) for kind in kinds]


def generated_analyses(parts: int) -> list[Problem]:
    """Both analyses on generated graphs, of 100,000 rows a part."""
    return [
        analysis(f"{kind}, generated, {parts} x 100,000 rows", tables_of(Facts.generated(kind, parts)))
        for kind in ("cspa", "csda")
    ]


def universities(scope: Scope, profile: str, number: int = 1, percent: int = 100) -> Problem:
    """Universities under a profile. ``text`` and ``tables`` are those of the six rules of RhoDF."""
    with files(scope.settings.corpus, number) as (size, paths):
        ontology = Facts.of_files(paths[:1]).columns[0].size
        facts = share(Facts.of_files(paths), percent, ontology)
    names = ("type", "domain", "range", "subPropertyOf", "subClassOf")
    terms = [f"<{RDF if name == 'type' else RDFS}{name}>" for name in names]
    numbers = {name: facts.dictionary.encode(term) for name, term in zip(names, terms, strict=True)}
    rows = np.stack(facts.columns, axis=1).astype(np.int64)
    text = RHODF.format(**numbers)
    title = f"{size}, {profile}, {percent} %"
    return Problem(size, title, load_profile(profile), facts, text, {"t": np.unique(rows, axis=0)}, "t")


def share(facts: Facts, percent: int, kept: int = 0) -> Facts:
    """The first ``kept`` facts, and a share of the others, drawn at random."""
    if percent == 100:
        return facts
    chosen = np.random.default_rng(0).random(facts.columns[0].size) < percent / 100
    chosen[:kept] = True
    columns: Columns = tuple(column[chosen] for column in facts.columns)  # type: ignore[assignment]
    return replace(facts, columns=columns)


def named(scope: Scope, name: str) -> Problem:
    """The problems of figure 6 of DYRE's paper: rand and rmat, and a university under rhodf or owl2rl."""
    return closure(name) if name in ("rand", "rmat") else universities(scope, name)
