"""FILTER on the cluster: on ids where ids decide, else by the engine's expressions on the executors.

A filter that needs terms is joined with their texts, and is evaluated in Arrow batches with a dictionary of
the terms in the batches. Invariant: the results are those of ``execute.filters``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import reduce
from operator import and_, or_
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from corollary.execute.batches import Batch
from corollary.execute.filters import core, true_rows
from corollary.kernels.sorted import Column as Ids
from corollary.language import Call, Expression, Filter, Variable, constant_text
from corollary.loaders.spark.id_translation import IdTranslation
from corollary.program.compile import CompiledRule, Condition
from corollary.terms.dictionary import FIRST_LITERAL, KIND_SHIFT, Kind, TermDictionary

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame


def name_of(variable: int) -> str:
    """The name of the column for a variable (a negative number) of a rule."""
    return f"v{-variable}"


def filtered(
    bindings: DataFrame, condition: Condition, rule: CompiledRule, translation: IdTranslation
) -> DataFrame:
    """The bindings for which a filter is true."""
    assert isinstance(condition.element, Filter)
    by_ids = _by_ids(core(condition.element.expression), rule, translation)
    if by_ids is not None:
        return bindings.where(by_ids)
    if not condition.needs:  # the bindings may have no columns, and then no batches
        is_true = true_rows(Batch.start(), condition.element.expression, rule, TermDictionary())[0]
        return bindings if is_true else bindings.limit(0)
    columns = bindings.columns
    read = sorted(condition.needs)
    for variable in read:
        name = name_of(variable)
        texts = translation.terms.selectExpr(f"id as {name}", f"text as {_text(name)}")
        bindings = bindings.join(texts, name)
    kept = bindings.mapInArrow(_by_terms(condition.element, read, rule), bindings.schema)
    return kept.select(*columns)


def _text(name: str) -> str:
    return f"text_{name}"


def _by_terms(
    element: Filter, read: list[int], rule: CompiledRule
) -> Callable[[Iterator[pa.RecordBatch]], Iterator[pa.RecordBatch]]:
    """The filter as a function for the executors. Its batches have the texts of the variables in ``read``."""

    def keep(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        dictionary = TermDictionary()
        for batch in batches:
            columns = {v: _encoded(batch.column(_text(name_of(v))), dictionary) for v in read}
            rows = Batch(batch.num_rows, columns)
            yield batch.filter(pa.array(true_rows(rows, element.expression, rule, dictionary)))

    return keep


def _encoded(texts: pa.StringArray, dictionary: TermDictionary) -> Ids:
    """Ids of texts; every distinct text is looked up once."""
    distinct = texts.dictionary_encode()
    ids = np.array([dictionary.encode(text) for text in distinct.dictionary.to_pylist()], np.uint32)
    found: Ids = ids[distinct.indices.to_numpy()]
    return found


def _by_ids(expression: Expression, rule: CompiledRule, translation: IdTranslation) -> Column | None:
    """The filter as a condition on ids; None if ids do not decide it."""
    from pyspark.sql import functions as F

    if not isinstance(expression, Call):
        return None
    if expression.function in ("!", "&&", "||"):
        parts = [_by_ids(argument, rule, translation) for argument in expression.arguments]
        known = [part for part in parts if part is not None]
        if len(known) < len(parts):
            return None
        return ~known[0] if expression.function == "!" else reduce(_JOINING[expression.function], known)

    def term(argument: Expression) -> Column | None:
        if isinstance(argument, Variable):
            return F.col(name_of(rule.slot(argument)))
        if isinstance(argument, Call):
            return None
        return F.lit(translation.id(translation.dictionary.encode(constant_text(argument))))

    terms = [found for argument in expression.arguments if (found := term(argument)) is not None]
    if len(terms) < len(expression.arguments):
        return None
    match expression.function:
        case "sameterm":
            return terms[0] == terms[1]
        case "isiri":
            return F.shiftright(terms[0], KIND_SHIFT) == int(Kind.IRI)
        case "isblank":
            return F.shiftright(terms[0], KIND_SHIFT) == int(Kind.BLANK_NODE)
        case "isliteral":
            return terms[0] >= FIRST_LITERAL
    return None


_JOINING: dict[str, Callable[[Column, Column], Column]] = {"&&": and_, "||": or_}
