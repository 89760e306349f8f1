"""The order of terms, as numbers: for ORDER BY, MIN and MAX without comparisons of rdflib's terms.

IRIs come before literals. IRIs are ordered by their texts, strings by their languages, then by their texts.
Invariant: ranks compare as rdflib compares the terms.
"""

from __future__ import annotations

import numpy as np

from corollary.columns.numbering import number_keys
from corollary.kernels.sorted import Column, Rows
from corollary.sparql.column_values import Numbers, Times, decoded, ranks_of_numbers
from corollary.sparql.query_terms import QueryTerms
from corollary.sparql.tuning import MIN_USES_OF_RANKS
from corollary.sparql.value_columns import Code
from corollary.sparql.written_literals import FIRST_LOCAL
from corollary.terms.dictionary import Kind, kinds


def term_ranks(ids: Column, terms: QueryTerms, uses: int) -> Rows | None:
    """For each of the distinct ids, a number that orders the terms; equal numbers or times have the same one.

    None for few ``uses`` of ranks, and unless all terms are numbers, times of one ``Code``, or IRIs and
    strings (``text_ranks``).
    """
    if uses < MIN_USES_OF_RANKS or not ids.size:
        return None
    found = decoded(ids, terms)
    first = found.codes[0]
    no = np.zeros(ids.size, np.bool_)
    if ((found.codes >= Code.INTEGER) & (found.codes <= Code.DOUBLE)).all():
        scale = np.where(found.codes == Code.DECIMAL, found.extra, np.int16(0))
        ranks = ranks_of_numbers(Numbers(no, no, found.codes, found.values, scale))
        return None if ranks is None else ranks - 1
    if first >= Code.DATE and (found.codes == first).all():
        instants = Times(no, no, found.codes, found.values, found.extra).instants()
        return number_keys(instants)[1]
    return text_ranks(ids, terms)


def text_ranks(ids: Column, terms: QueryTerms) -> Rows | None:
    """For each of the distinct ids, the number of ids whose terms are less. Precondition: there are ids.

    None for other terms than IRIs and literals without datatypes: literals with datatypes are compared by
    value. None if a language tag has capitals, which the texts do not show.
    """
    if int(ids.max()) >= FIRST_LOCAL:
        return None
    if (kinds(ids) == Kind.BLANK_NODE).any():
        return None
    texts = terms.texts_of(ids)
    if texts is None or not terms.have_lower_tags(ids[texts.rows[texts.is_tagged]]).all():
        return None
    return texts.ranks
