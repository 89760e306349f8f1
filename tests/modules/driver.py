"""Modules put to work on facts that come in batches."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np
from tests.engine import Fact, facts_of

from corollary.columns import TripleIndex
from corollary.columns.delta import Candidates
from corollary.evaluate.engine import Engine
from corollary.evaluate.fixpoint import Fixpoint
from corollary.execute.context import ExecutionContext
from corollary.language import Program, constant_text
from corollary.modules.module import Module
from corollary.modules.semi_naive import SemiNaive
from corollary.program.compiled_program import CompiledProgram
from corollary.terms.dictionary import TermDictionary

Batches = Iterable[Iterable[Fact]]


def candidates(facts: Iterable[Fact], dictionary: TermDictionary) -> Candidates:
    """Facts as modules answer with them."""
    found: dict[int, list[int]] = {}
    for fact in facts:
        subject, predicate, object_ = (dictionary.encode(constant_text(term)) for term in fact)
        found.setdefault(predicate, []).append(subject << 32 | object_)
    return {predicate: [np.array(keys, np.uint64)] for predicate, keys in found.items()}


def feed(modules: Sequence[Module], batches: Batches, dictionary: TermDictionary) -> TripleIndex:
    """All facts, once these modules alone have closed every batch before the next one came."""
    fixpoint = Fixpoint(TripleIndex(), modules)
    fixpoint.run()
    for batch in batches:
        fixpoint.include(candidates(batch, dictionary))
        fixpoint.run()
    return fixpoint.index


def closed_by_modules(program: Program, batches: Batches) -> set[Fact]:
    """All facts that hold, every rule evaluated by the module that the engine finds for it."""
    dictionary = TermDictionary()
    engine = Engine(TripleIndex(), CompiledProgram(program, dictionary))
    for batch in batches:
        engine.add(candidates(batch, dictionary))
    return facts_of(engine.fixpoint.index.columns(legal=False), dictionary)


def closed_by_joins(program: Program, batches: Batches) -> set[Fact]:
    """All facts that hold, every rule evaluated semi-naively."""
    dictionary = TermDictionary()
    rules = SemiNaive("rules", ExecutionContext(dictionary))
    for rule in CompiledProgram(program, dictionary).rules:
        rules.add_rule(rule)
    return facts_of(feed([rules], batches, dictionary).columns(legal=False), dictionary)
