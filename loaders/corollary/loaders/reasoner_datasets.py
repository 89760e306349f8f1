"""Writing the facts of a reasoner to an encoded data set, and loading the facts of a data set.

A reasoner in memory without facts, from which nothing was derived, takes over the dictionary of the data set.
Any other reasoner translates the ids of the facts to its own. In both cases blank nodes get new labels: two
data sets never share a blank node. Only where I is adopted, blank nodes keep their labels: I may depend on
them.

Invariant: a data set that cannot be read changes nothing.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from functools import reduce
from pathlib import Path

from corollary.columns import Relation, TripleIndex
from corollary.columns.pairs import NO_PAIRS, Pairs, union
from corollary.evaluate import CannotAdopt, MaterialisedView
from corollary.kernels.limits import Progress, no_progress
from corollary.language import CorollaryError
from corollary.language.errors import InputError
from corollary.loaders.decoding import bad_data_set
from corollary.loaders.encoded import closed_under, load_encoded, save_encoded
from corollary.loaders.encoded_format import EncodedDataSet
from corollary.loaders.formats import input_error
from corollary.loaders.into_reasoner import Receiver
from corollary.loaders.translating import Translation, new_labels
from corollary.program.fingerprint import fingerprint
from corollary.reasoner.quads import Quads
from corollary.reasoner.version import Version
from corollary.reasoner.versions import Versions
from corollary.terms.dictionary import Kind, TermDictionary

_UNNAMED = -1
"""Stands for the graph of a data set without named graphs; no graph has this id."""

TakeUp = Callable[[Version, TripleIndex], None]
"""Makes an index I of a version: ``Deriver.adopt``. Raises ``CannotAdopt``."""


def save(version: Version, path: str | os.PathLike[str], home: int, progress: Progress = no_progress) -> None:
    """Write E and I as a data set. If the default graph is empty, ``home`` takes its place.

    Precondition: ``version.state`` is derived. Raises CorollaryError if the version has formulas.
    """
    state = version.state
    if version.quads.formulas:
        raise CorollaryError("N3 formulas cannot be put into a data set: remove their graphs first")
    result, default = state.materialisation, version.terms.default
    graphs = {graph: index for graph, index in state.facts.graphs.items() if index.fact_count()}
    if default not in graphs and home in graphs:
        graphs[default] = graphs.pop(home)
    data = EncodedDataSet(
        version.terms.dictionary,
        state.facts.union,
        TripleIndex() if result is None else result.inferred(),
        None if result is None else version.options.title(),
        None if graphs.keys() <= {default} else graphs,
        {prefix: str(name) for prefix, name in version.namespaces},
        TripleIndex() if result is None else result.generalised(),
        None if result is None else _fingerprint(result),
    )
    save_encoded(path, data, progress)


def _fingerprint(result: MaterialisedView) -> str | None:
    """The fingerprint of the rules; None if some are suspended, because I depends on when they were."""
    return None if result.strata.suspended else fingerprint(result.program)


def load(
    versions: Versions, path: str | os.PathLike[str], receiver: Receiver, take_up: TakeUp | None = None
) -> int:
    """Add the explicit facts of a data set. Returns the number of new facts.

    With ``take_up``, the inferred facts are adopted. Raises InputError then if the reasoner has facts, a
    folder or other rules, or if the data set has no fingerprint of the rules by which it is closed.
    """
    options = None if take_up is None else versions.current().options
    if options is not None:
        _refuse_facts(versions.current(), path)
        closed_under(path).refuse_others(options, path)
    data = load_encoded(path, inferred=take_up is not None)
    for name in data.graphs or ():
        receiver.refuse(data.dictionary.decode(name))
    for _ in versions.steps():
        version = versions.current().to_be_written()
        if take_up is not None:  # another thread may have changed it
            _refuse_facts(version, path)
            if version.options is not options:
                closed_under(path).refuse_others(version.options, path)
        if take_up is not None or _is_new(version):
            tables = data.dictionary.tables()
            if take_up is None:
                tables[Kind.BLANK_NODE] = new_labels(len(tables[Kind.BLANK_NODE]))
            versions.change(_with_terms, TermDictionary.of_tables(tables))
            version, translated = versions.current(), None
        else:
            translated = Translation(data.dictionary, version.terms.dictionary)
        target = receiver.target(version)
        facts: dict[tuple[int, int], Pairs] = {}
        for source, index in (data.graphs or {_UNNAMED: data.explicit}).items():
            name = source if translated is None or source == _UNNAMED else translated.id(source)
            to = target if name in (_UNNAMED, version.terms.default) else name
            for predicate, relation in index.relations():
                pairs = relation.pairs()
                if translated is not None:
                    predicate, pairs = translated.id(predicate), translated.pairs(pairs)
                known = facts.get((to, predicate), NO_PAIRS)  # two source graphs may have the same target
                facts[to, predicate] = known.plus(pairs)
        count = receiver.add(facts)
        receiver.bind([data.prefixes])
        if take_up is not None:
            _take_up(versions.current(), data, path, take_up)
    return count


def _refuse_facts(version: Version, path: str | os.PathLike[str]) -> None:
    """Raise InputError unless a version is without facts and folder, as adopting requires."""
    if version.length or not _has_no_graphs(version):
        raise input_error(
            f"{path}: what it infers can only be adopted by a store without triples and folder",
            "load it into a new store, or without inferred=adopt",
        )


def closed_facts(data: EncodedDataSet, explicit: TripleIndex, path: str | os.PathLike[str]) -> TripleIndex:
    """I of a data set, without virtual relations. ``explicit`` are the facts of its graphs.

    Raises InputError if the parts of the data set overlap, or do not fit ``explicit``.
    """
    parts = (data.explicit, data.inferred, data.generalised)
    closed = _union(parts) if data.whole is None else data.whole
    if closed.fact_count() != sum(part.fact_count() for part in parts):
        raise bad_data_set(Path(path), "a fact is in several parts")
    if explicit.fact_count() != data.explicit.fact_count() or explicit.difference(data.explicit).fact_count():
        raise bad_data_set(Path(path), "the explicit facts are not those of the graphs")
    return closed


def _take_up(version: Version, data: EncodedDataSet, path: str | os.PathLike[str], take_up: TakeUp) -> None:
    """Make the facts of a data set I of a version. Raises InputError if they are not closed."""
    try:
        take_up(version, closed_facts(data, version.applied().quads.union, path))
    except CannotAdopt as error:
        raise not_closed(path, error) from None


def not_closed(path: str | os.PathLike[str], why: CannotAdopt) -> InputError:
    """The error for a data set whose inferred facts cannot be I."""
    return input_error(
        f"{path}: what it infers cannot be adopted: {why}",
        "load it without adopting what it infers: the store reasons then",
    )


def _union(parts: tuple[TripleIndex, ...]) -> TripleIndex:
    """The facts of several indexes. Relations that only one of them has are shared."""
    relations: dict[int, list[Relation]] = {}
    for part in parts:
        for predicate, relation in part.relations():
            relations.setdefault(predicate, []).append(relation)
    return TripleIndex({predicate: reduce(_merged, found) for predicate, found in relations.items()})


def _merged(one: Relation, other: Relation) -> Relation:
    return Relation(Pairs(union(one.pairs().keys, other.pairs().keys)))


def _is_new(version: Version) -> bool:
    """Whether the dictionary can be replaced: in memory, nothing derived, no graphs but ``named`` ones."""
    return version.derived.state is None and _has_no_graphs(version)


def _has_no_graphs(version: Version) -> bool:
    """Whether the version is in memory and has no graphs but ``named`` ones."""
    return version.persistence is None and not (version.quads.graphs or version.quads.formulas)


def _with_terms(version: Version, dictionary: TermDictionary) -> Version:
    """The version over the dictionary of a data set. Precondition: ``_has_no_graphs(version)``."""
    terms = type(version.terms)(dictionary)
    named = frozenset(terms.id_of(version.terms[graph]) for graph in version.named)
    return version.changed(terms=terms, named=named, quads=Quads())
