"""The order of terms, as numbers: for ORDER BY, MIN and MAX without comparisons of rdflib's terms.

IRIs come before literals. IRIs are ordered by their texts, strings by their languages, then by their texts.
Invariant: ranks compare as rdflib compares the terms.
"""

from __future__ import annotations

import numpy as np

from corollary.kernels.sorted import Column, Rows
from corollary.sparql.query_terms import FIRST_LOCAL, QueryTerms
from corollary.sparql.term_texts import TermTexts
from corollary.sparql.tuning import MIN_USES_OF_RANKS
from corollary.terms.dictionary import Kind, kinds


def text_ranks(ids: Column, terms: QueryTerms, uses: int) -> Rows | None:
    """For each of the distinct ids, the number of ids whose terms are less.

    None for few ``uses`` of ranks, and if a text has escapes. None for other terms than IRIs and literals
    without datatypes: literals with datatypes are compared by value.
    """
    if uses < MIN_USES_OF_RANKS or not ids.size or int(ids.max()) >= FIRST_LOCAL:
        return None
    if (kinds(ids) == Kind.BLANK_NODE).any():
        return None
    import pyarrow
    from pyarrow import compute

    texts = TermTexts.of(ids, terms.dictionary)
    if texts is None or not texts.is_written.all():
        return None
    is_tagged = compute.starts_with(texts.suffixes, pattern="@").to_numpy(zero_copy_only=False)
    if not (texts.is_plain | is_tagged | ~texts.is_literal).all():
        return None
    keys = pyarrow.table({"kind": texts.is_literal, "language": texts.suffixes, "text": texts.lexical})
    used = [name for name in ("kind", "language") if len(compute.unique(keys[name])) > 1]
    order = compute.sort_indices(keys, sort_keys=[(name, "ascending") for name in (*used, "text")])
    ranks: Rows = np.empty(ids.size, np.int64)
    ranks[texts.rows[order.to_numpy()]] = np.arange(ids.size)
    return ranks
