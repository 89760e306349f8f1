"""Whether a transaction leaves the schema as it is, although data leads to schema facts.

Under ``rdfs`` the predicate of every triple is a property, and so data leads to schema facts. But a few data
suffice: one fact of each predicate, one instance of each class. If all schema facts follow from a few
explicit facts that stay, the schema is final before the data is followed, and every schema fact is proved.

    [a, p, b], [c, p, d]: p is a property. Remove [a, p, b]: p still is, by [c, p, d].
"""

from __future__ import annotations

import numpy as np

from corollary.columns import Delta, Relation, TripleIndex
from corollary.columns.key_sort import sort_keys
from corollary.columns.pairs import HALF, NO_KEYS, distinct, firsts, swap
from corollary.evaluate import materialise
from corollary.evaluate.schema_proof import SchemaProof
from corollary.kernels.sorted import Keys, Rows
from corollary.maintain.strategy import Request
from corollary.maintain.tuning import (
    MIN_FACTS_PER_REMOVED_FACT,
    MIN_FACTS_PER_SUPPORTING_FACT,
    MIN_REMOVED_FACTS_TO_LEARN,
    WITNESSES_TRIED,
)


def schema_is_final(request: Request) -> bool:
    """Whether all schema facts of I follow from explicit facts that stay.

    May be False although they do. Cost: the comparison of the schema with that of the last transaction, or
    else the materialisation of few facts: see ``_support``. A second call costs nothing.
    """
    if not request.schema_is_final:
        request.schema_is_final.append(_is_final(request))
    return request.schema_is_final[0]


def _is_final(request: Request) -> bool:
    engine = request.engine
    if not engine.schema_depends_on_data:
        return True
    schema = engine.schema
    if request.program != request.before.program or engine.compiled.has_strata or schema.has_any_class:
        return False
    if not request.removed:
        return True  # nothing goes
    if schema.are_among(request.removed) or _is_large(request):
        return False
    guards, known = engine.guards(request.before.index), engine.schema_proof
    proof = known.proof
    if proof is not None and not _holds(proof, request, guards):
        proof = None
    if proof is None and known.attempts.is_due():
        proof = _proof(request, guards)
        known.attempts.count(success=proof is not None)
    known.proof, known.version = proof, engine.version + 1
    return proof is not None


def _is_large(request: Request) -> bool:
    """Whether the removal is so large that starting over takes no longer than a proof and following."""
    removed = len(request.removed)
    if not request.is_automatic or removed < MIN_REMOVED_FACTS_TO_LEARN:
        return False
    return MIN_FACTS_PER_REMOVED_FACT * removed > len(request.explicit)


def _holds(proof: SchemaProof, request: Request, guards: Delta) -> bool:
    """Whether a proof proves the schema facts ``guards``, and its support stays.

    The support is explicit before the transaction if the proof was checked in the last one.
    """
    is_checked = request.engine.schema_proof.version == request.engine.version
    return (
        proof.assignments == tuple(request.engine.assignments)
        and len(proof.guards) == len(guards)
        and not guards - proof.guards
        and not (request.removed & proof.support if is_checked else proof.support - request.explicit)
    )


def _proof(request: Request, guards: Delta) -> SchemaProof | None:
    """A proof of the schema facts ``guards`` from explicit facts, if the facts of ``_support`` suffice."""
    engine, explicit = request.engine, request.explicit
    support = _support(explicit, engine.compiled.rdf_type) | engine.schema.of(explicit)
    if MIN_FACTS_PER_SUPPORTING_FACT * len(support) > len(explicit):
        return None
    found = materialise(support, request.program, request.before.dictionary)
    if guards - found.index:
        return None
    return SchemaProof(support, guards, tuple(engine.assignments))


def _support(explicit: TripleIndex, rdf_type: int) -> Delta:
    """A fact of each predicate, and an instance of each class; few of either may be missing."""
    found: dict[int, Keys] = {}
    for predicate, relation in explicit.relations():
        base = relation.parts[0]
        if predicate == rdf_type:
            first = np.searchsorted(base.by_object, base.distinct_seconds().astype(np.uint64) << HALF)
            found[predicate] = sort_keys(swap(_present(base.by_object, first, relation.inverse())))
        else:
            found[predicate] = _present(base.keys, np.zeros(1, np.int64), relation)
    return Delta(found)


def _present(keys: Keys, first: Rows, relation: Relation) -> Keys:
    """For each row the first key, of a few from there on with the same half, that is in the relation."""
    left, found = first[first < keys.size], [NO_KEYS]
    for step in range(WITNESSES_TRIED):
        rows = np.minimum(left + step, keys.size - 1)
        is_same = (firsts(keys[rows]) == firsts(keys[left])) | (first.size == 1)
        is_present = is_same & relation.contains(keys[rows])
        found.append(keys[rows[is_present]])
        left = left[~is_present]
    return distinct(np.concatenate(found))
