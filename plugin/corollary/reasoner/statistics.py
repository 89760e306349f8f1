"""Counts of triples, terms and inconsistencies of a reasoner, as text and as JSON."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

import numpy as np

from corollary.columns.pairs import distinct
from corollary.language.html_table import table
from corollary.reasoner.state import State
from corollary.reasoner.term_format import TermView
from corollary.reasoner.tuning import MAX_LINES_PRINTED
from corollary.terms.dictionary import Kind, kinds

_COUNTS = ("explicit", "inferred", "total", "inconsistencies")
_KINDS = {Kind.IRI: "IRIs", Kind.BLANK_NODE: "blank nodes", Kind.LITERAL: "literals"}


@dataclass(frozen=True)
class PredicateCount:
    """The number of triples of one predicate, explicit and inferred."""

    explicit: int
    inferred: int

    @property
    def total(self) -> int:
        """The sum of both."""
        return self.explicit + self.inferred


@dataclass(frozen=True)
class Statistics:
    """Counts of triples, by graph and predicate; of the terms in them, by kind; of inconsistencies.

    ``graphs`` (explicit triples) and ``predicates`` have N-Triples texts as keys, the largest count first.
    ``seconds`` is the time of the last derivation: from scratch, or maintenance. ``suspended`` has one
    sentence for each suspended rule (see ``suspended_rules``).
    """

    rules: str
    explicit: int
    inferred: int
    total: int
    inconsistencies: int
    seconds: float
    terms: dict[str, int]
    graphs: dict[str, int]
    predicates: dict[str, PredicateCount]
    suspended: tuple[str, ...]
    _names: tuple[str, ...] = field(default=(), repr=False, compare=False)
    """The first predicates, with prefixes."""

    def as_dict(self) -> dict[str, Any]:
        """The statistics in plain JSON types."""
        return {name: value for name, value in asdict(self).items() if name != "_names"}

    def _repr_html_(self) -> str:
        """Two tables: of all counts, and of the first ``MAX_LINES_PRINTED`` predicates."""
        counts = [("rules", self.rules)]
        counts += [(name, f"{getattr(self, name):,}") for name in _COUNTS]
        counts += [("last reasoning", f"{self.seconds:.3f} s")]
        counts += [(kind, f"{n:,}") for kind, n in self.terms.items()]
        counts += [("graphs", f"{len(self.graphs):,}"), ("predicates", f"{len(self.predicates):,}")]
        counts += [("suspended", sentence) for sentence in self.suspended]
        named = zip(self._names, self.predicates.values(), strict=False)
        rows = [(name, f"{n.explicit:,}", f"{n.inferred:,}") for name, n in named]
        largest = table("largest predicates", ("predicate", "explicit", "inferred"), rows)
        return table("statistics", (), counts) + (largest if rows else "")

    def __str__(self) -> str:
        lines = [f"rules            {self.rules}"]
        lines += [f"{name:<16} {getattr(self, name):,}" for name in _COUNTS]
        lines.append(f"{'last reasoning':<16} {self.seconds:.3f} s")
        lines.append(f"{'terms':<16} {', '.join(f'{n:,} {kind}' for kind, n in self.terms.items())}")
        lines += _listed("graphs", self.graphs, [f"{n:,}" for n in self.graphs.values()])
        counts = [f"{n.explicit:,} explicit, {n.inferred:,} inferred" for n in self.predicates.values()]
        lines += _listed("predicates", self._names, counts)
        lines += (
            ["suspended rules", *(f"  {sentence}" for sentence in self.suspended)] if self.suspended else []
        )
        return "\n".join(lines)


def _listed(title: str, names: Iterable[str], counts: Sequence[str]) -> list[str]:
    """The number of counts, and the first of them. ``names`` are at least theirs."""
    lines = [f"{title:<16} {len(counts):,}"]
    lines += [f"  {name}  {count}" for name, count in zip(names, counts[:MAX_LINES_PRINTED], strict=False)]
    return [*lines, "  ..."] if len(counts) > MAX_LINES_PRINTED else lines


def statistics(
    state: State,
    terms: TermView,
    namespaces: Iterable[tuple[str, str]],
    rules: str,
    suspended: Sequence[str],
) -> Statistics:
    """The statistics of a state. ``suspended``: one sentence for each suspended rule."""
    explicit, index = state.facts.union, state.index
    text = terms.dictionary.decode
    graphs = {text(graph): facts.fact_count() for graph, facts in state.facts.graphs.items()}
    counts = {
        predicate: PredicateCount(
            len(explicit.relation(predicate)), index.legal_count(predicate) - explicit.legal_count(predicate)
        )
        for predicate in index.predicates()
    }
    largest = sorted((p for p in counts if counts[p].total), key=lambda p: -counts[p].total)
    printer = terms.printer(namespaces)
    columns = []
    for predicate, relation in (*explicit.relations(), *index.legal().relations()):
        columns += [np.array([predicate], np.uint32), relation.subject_terms(), relation.object_terms()]
    used = distinct(np.concatenate([np.empty(0, np.uint32), *columns]))
    per_kind = np.bincount(kinds(used), minlength=len(Kind)).tolist()
    known, result = explicit.fact_count(), state.materialisation
    return Statistics(
        rules,
        known,
        state.inferred_count,
        known + state.inferred_count,
        0 if result is None else result.inconsistency_count,
        state.seconds,
        {name: per_kind[kind] for kind, name in _KINDS.items()},
        dict(sorted(graphs.items(), key=lambda item: -item[1])),
        {text(p): counts[p] for p in largest},
        tuple(suspended),
        tuple(printer(terms[p]) for p in largest[:MAX_LINES_PRINTED]),
    )
