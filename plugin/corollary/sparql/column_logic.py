"""Logic and choice on columns: true, false, error, undecided."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import reduce
from typing import Any

import numpy as np
from rdflib.term import Literal, URIRef

from corollary.kernels.arrow import compute
from corollary.kernels.sorted import Mask
from corollary.sparql.algebra import Call
from corollary.sparql.column_arguments import (
    ROWS,
    ColumnArguments,
    Part,
    Table,
    Unsupported,
    no_rows,
)
from corollary.sparql.column_values import (
    Booleans,
    Ids,
    Texts,
    Values,
    decoded,
    per_row,
)
from corollary.sparql.value_columns import Code
from corollary.sparql.written_literals import UNBOUND


def _negated(own: ColumnArguments, node: Any) -> Part:
    (values,), over = own.together([node])
    found = own.booleans(values)
    return Part(replace(found, true=~found.true), over)


def _both(one: Booleans, other: Booleans) -> Booleans:
    """``&&``: false if one is false, whatever the other is."""
    known = [~each.failed & ~each.undecided for each in (one, other)]
    false = (known[0] & ~one.true) | (known[1] & ~other.true)
    undecided = (one.undecided | other.undecided) & ~false
    failed = (one.failed | other.failed) & ~false & ~undecided
    return Booleans(failed, undecided, one.true & other.true & ~false)


def _inverted(found: Booleans) -> Booleans:
    return replace(found, true=~found.true)


def _conjunction(own: ColumnArguments, *nodes: Any) -> Part:
    parts, over = own.together(nodes)
    return Part(reduce(_both, map(own.booleans, parts)), over)


def _disjunction(own: ColumnArguments, *nodes: Any) -> Part:
    parts, over = own.together(nodes)
    return Part(_inverted(reduce(_both, (_inverted(own.booleans(part)) for part in parts))), over)


def _member(own: ColumnArguments, *nodes: Any) -> Part:
    """IN: the disjunction of equalities."""
    wanted, *members = nodes
    if not members:
        raise Unsupported
    if len(members) > 1 and all(isinstance(member, Literal | URIRef) for member in members):
        found = _in_constants(own, wanted, members)
        if found is not None:
            return found
    return _disjunction(own, *(Call("=", (wanted, member)) for member in members))


def _in_constants(own: ColumnArguments, wanted: Any, members: Sequence[Any]) -> Part | None:
    """IN with constants, by one search for each value; None unless all are names and strings, or integers.

    Names and strings are equal if their ids are, as in ``column_comparisons``.
    """
    part = own.evaluated(wanted)
    values = part.values
    if not isinstance(values, Ids):
        return None
    rows = np.flatnonzero(~values.failed & ~values.undecided)
    ids = values.ids[rows], np.array([own.terms.id_of(member) for member in members], np.uint32)
    one, other = (decoded(each, own.terms) for each in ids)
    for code, keys in ((Code.STRING, ids), (Code.INTEGER, (one.values, other.values))):
        if (one.codes == code).all() and (other.codes == code).all():
            sought = np.sort(keys[1])
            true = no_rows(values.size)
            true[rows] = sought[np.minimum(sought.searchsorted(keys[0]), sought.size - 1)] == keys[0]
            return Part(Booleans(values.failed, values.undecided, true), part.over)
    return None


def _bound(own: ColumnArguments, node: Any) -> Part:
    (values,), over = own.together([node])
    return Part(Booleans(no_rows(values.size), values.undecided, ~values.failed), over)


def _alike(own: ColumnArguments, parts: Sequence[Values]) -> list[Values]:
    """The columns as columns of one class, so that ``_chosen`` can mix them: as ids if classes differ."""
    if len({type(part) for part in parts}) == 1:
        return list(parts)
    found: list[Values] = []
    for part in parts:
        ids, undecided = own.ids(Part(part, ROWS))
        found.append(Ids((ids == UNBOUND) & ~undecided, undecided, ids))
    return found


def _chosen(first: Mask, one: Values, other: Values) -> Values:
    """The values of one column where ``first``, else of the other."""
    import pyarrow

    if isinstance(one, Texts) and isinstance(other, Texts):
        places = np.where(first, np.arange(first.size), first.size + np.arange(first.size))
        empty = per_row("", first.size)
        ends = [empty if each.suffixes is None else each.suffixes for each in (one, other)]
        columns: dict[str, Any] = {
            "texts": compute.take(pyarrow.concat_arrays([one.texts, other.texts]), places),
            "suffixes": compute.take(pyarrow.concat_arrays(ends), places),
        }
    else:
        columns = {
            name: np.where(first, getattr(one, name), getattr(other, name))
            for name in one.__dataclass_fields__
            if name not in ("failed", "undecided")
        }
    masks = {
        name: np.where(first, getattr(one, name), getattr(other, name)) for name in ("failed", "undecided")
    }
    return replace(one, **masks, **columns)


def _conditional(own: ColumnArguments, *nodes: Any) -> Part:
    (condition, *branches), over = own.together(nodes)
    decision = own.booleans(condition)
    one, other = _alike(own, branches)
    found = _chosen(decision.true & ~decision.failed, one, other)
    failed = (found.failed | decision.failed) & ~decision.undecided
    return Part(replace(found, failed=failed, undecided=found.undecided | decision.undecided), over)


def _coalesced(own: ColumnArguments, *nodes: Any) -> Part:
    parts, over = own.together(nodes)

    def first(one: Values, other: Values) -> Values:
        return _chosen(~one.failed | one.undecided, one, other)

    return Part(reduce(first, _alike(own, parts)), over)


LOGIC: Table = {
    "&&": _conjunction,
    "||": _disjunction,
    "!": _negated,
    "IN": _member,
    "NOT IN": lambda own, *nodes: _negated(own, Call("IN", nodes)),
    "BOUND": _bound,
    "IF": _conditional,
    "COALESCE": _coalesced,
}
