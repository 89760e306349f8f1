"""Conditions of FILTER on columns: decided for all distinct terms of a variable at once, without decoding.

A condition is true, false, undecided or an error for a term. Undecided terms (letters beyond ASCII
in other case, numbers too close to the bound) are left to the evaluation on terms. Invariant: what is
decided here is what is decided there.

Supported are ``&&``, ``||`` and ``!`` over these conditions on one variable ?x each:

* CONTAINS, STRSTARTS, STRENDS with a constant, REGEX with a constant pattern, = and != with a constant, of
  texts: ?x, STR, LCASE or UCASE of a text;
* STRLEN of a text, or a number ?x, compared with a constant number;
* LANG(?x) = and != a constant, LANGMATCHES(LANG(?x), "constant"), and the tests of kinds, such as isIRI.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import partial, reduce
from typing import Any

import numpy as np
from rdflib.namespace import XSD
from rdflib.term import Literal, Variable

from corollary.execute.filters import number_keys
from corollary.expressions.operators import ExpressionError
from corollary.expressions.regular_expressions import compiled
from corollary.kernels.sorted import Column, Mask, Rows
from corollary.sparql.algebra import Call
from corollary.sparql.query_terms import FIRST_LOCAL, QueryTerms
from corollary.sparql.term_texts import TermTexts, mask_of
from corollary.sparql.tuning import MAX_EXACT_DOUBLE, MIN_RELATIVE_DIFFERENCE, MIN_TERMS_ON_COLUMNS
from corollary.terms.dictionary import Kind, kinds

Decision = tuple[Mask, Mask, Mask]
"""The rows where a condition is true, false, and undecided. It is an error in all other rows."""

Text = tuple[Any, Mask, Mask]
"""A text for each term of ``TermTexts``: Arrow's strings, where they are known, where there is an error."""

KINDS = {
    "ISIRI": Kind.IRI,
    "ISBLANK": Kind.BLANK_NODE,
    "ISLITERAL": Kind.LITERAL,
}

COMPARISONS: dict[str, Callable[..., Any]] = {
    "=": np.equal,
    "!=": np.not_equal,
    "<": np.less,
    "<=": np.less_equal,
    ">": np.greater,
    ">=": np.greater_equal,
}

MIRRORED = {"<": ">", ">": "<", "<=": ">=", ">=": "<="}
"""Comparisons with exchanged sides; = and != are their own."""

NUMBERS = {
    "integer": r"^[+-]?[0-9]+$",
    "decimal": r"^[+-]?[0-9]+(\.[0-9]*)?$",
    "double": r"^[+-]?[0-9]+(\.[0-9]*)?([eE][+-]?[0-9]+)?$",
    "float": r"^[+-]?[0-9]+(\.[0-9]*)?([eE][+-]?[0-9]+)?$",
}
"""The datatypes of numbers that are compared as doubles, and the lexical forms that are."""

Decider = Callable[[Column, TermTexts | None], Decision]
"""Decides a condition for ids, with their texts if it needs them."""


class Unsupported(Exception):
    """A condition cannot be decided on columns."""


class Conditions:
    """Decides conditions for one batch. ``column_of`` gives the ids of a variable."""

    def __init__(self, terms: QueryTerms, column_of: Callable[[Variable], Column]) -> None:
        self._terms = terms
        self._column_of = column_of
        self._distinct: dict[Variable, tuple[Column, Rows, Rows]] = {}
        self._texts: dict[Variable, TermTexts | None] = {}

    def decide(self, expression: Any) -> Decision | None:
        """The decision for each row; None if the condition is not supported, or for few terms."""
        try:
            return self._decide(expression)
        except (Unsupported, UnicodeEncodeError):  # a constant with half of a character
            return None

    def _decide(self, part: Any) -> Decision:
        if not isinstance(part, Call):
            raise Unsupported
        match part.name:
            case "&&":
                return reduce(_both, self._operands(part))
            case "||":
                return _negated(reduce(_both, map(_negated, self._operands(part))))
            case "!":
                return _negated(self._decide(part.arguments[0]))
            case name if name in COMPARISONS:
                return self._comparison(part)
            case "CONTAINS" | "STRSTARTS" | "STRENDS" | "REGEX":
                return self._search(part)
            case "LANGMATCHES":
                return self._language_range(part.arguments[0], _plain(part.arguments[1]))
            case name if name in KINDS and isinstance(part.arguments[0], Variable):
                return self._of_terms(part.arguments[0], partial(_of_kind, KINDS[name]), needs_texts=False)
        raise Unsupported

    def _operands(self, part: Call) -> Iterable[Decision]:
        return map(self._decide, part.arguments)

    def _of_terms(
        self,
        variable: Variable,
        decide: Callable[[Column, TermTexts | None], Decision],
        *,
        needs_texts: bool = True,
    ) -> Decision:
        """Decide for the distinct terms of a variable. Terms that only the query knows are undecided."""
        if variable not in self._distinct:
            column = self._column_of(variable)
            first, numbers = number_keys(column)
            self._distinct[variable] = column[first], np.flatnonzero(column[first] < FIRST_LOCAL), numbers
        ids, known, numbers = self._distinct[variable]
        texts = self._texts_of(variable) if needs_texts else None
        masks = [np.zeros(ids.size, np.bool_) for _ in range(3)]
        masks[2][:] = True  # undecided
        for mask, part in zip(masks, decide(ids[known], texts), strict=True):
            mask[known] = part
        true, false, undecided = (mask[numbers] for mask in masks)
        return true, false, undecided

    def _texts_of(self, variable: Variable) -> TermTexts:
        ids, known, _ = self._distinct[variable]
        if ids.size < MIN_TERMS_ON_COLUMNS:
            raise Unsupported
        if variable not in self._texts:
            self._texts[variable] = self._terms.texts_of(ids[known])
        texts = self._texts[variable]
        if texts is None:
            raise Unsupported
        return texts

    # Texts

    def _search(self, part: Call) -> Decision:
        """CONTAINS, STRSTARTS, STRENDS and REGEX."""
        subject, second, *others = part.arguments
        wanted = _plain(second)
        flags = _plain(others[0]) if others else ""

        def found(lexical: Any) -> Mask:
            from pyarrow import compute

            match part.name:
                case "CONTAINS":
                    return mask_of(compute.match_substring(lexical, wanted))
                case "STRSTARTS":
                    return mask_of(compute.starts_with(lexical, pattern=wanted))
                case "STRENDS":
                    return mask_of(compute.ends_with(lexical, pattern=wanted))
            return compiled(wanted, flags).matches(lexical.to_pylist())

        try:
            return self._of_text(subject, found)
        except ExpressionError:
            raise Unsupported from None

    def _of_text(self, part: Any, decide: Callable[[Any], Mask], *, is_plain: bool = False) -> Decision:
        """Decide on the lexical forms of a text; with ``is_plain``, only of texts without language tag."""
        variable, steps = _steps(part)

        def decided(ids: Column, texts: TermTexts | None) -> Decision:
            assert texts is not None
            text = texts.lexical, texts.is_string.copy(), ~texts.is_string
            for step in steps:
                text = _stepped(step, text, texts)
            lexical, known, failed = text
            if is_plain and not (steps and steps[0] == "STR"):
                known = known & texts.is_plain
            places = np.flatnonzero(known)
            found = decide(lexical.take(places))
            true, false, undecided = (np.zeros(ids.size, np.bool_) for _ in range(3))
            undecided[:] = True
            undecided[texts.rows[known | failed]] = False
            true[texts.rows[places[found]]] = True
            false[texts.rows[places[~found]]] = True
            return true, false, undecided

        return self._of_terms(variable, decided)

    def _comparison(self, part: Call) -> Decision:
        operator, (left, right) = part.name, part.arguments
        if isinstance(left, Literal):
            left, right, operator = right, left, MIRRORED.get(operator, operator)
        if not isinstance(right, Literal):
            raise Unsupported
        if _is_call(left, "STRLEN"):
            return self._length(left.arguments[0], operator, _number(right))
        if isinstance(left, Variable):
            return self._of_terms(left, partial(_compared, operator, _number(right)))
        if operator not in ("=", "!="):
            raise Unsupported
        wanted = _plain(right)
        if _is_call(left, "LANG"):
            if wanted != wanted.lower():
                raise Unsupported
            decision = self._language(left, partial(_has_language, wanted), is_exact=True)
        else:
            decision = self._of_text(left, partial(_equal, wanted), is_plain=True)
        return decision if operator == "=" else _negated(decision)

    def _length(self, part: Any, operator: str, number: float) -> Decision:
        def decide(lexical: Any) -> Mask:
            from pyarrow import compute

            found: Mask = COMPARISONS[operator](compute.utf8_length(lexical).to_numpy(), number)
            return found

        return self._of_text(part, decide)

    def _language_range(self, part: Any, wanted: str) -> Decision:
        """LANGMATCHES(LANG(?x), wanted): compares without case, as the dictionary keeps tags."""
        if wanted != "*" and not wanted.replace("-", "").isalnum():
            raise Unsupported
        if wanted == "*":
            return self._language(part, lambda suffixes: _starts_with(suffixes, "@"))
        tag = f"@{wanted.lower()}"
        return self._language(
            part, lambda suffixes: _equal(tag, suffixes) | _starts_with(suffixes, f"{tag}-")
        )

    def _language(self, part: Any, find: Callable[[Any], Mask], *, is_exact: bool = False) -> Decision:
        """A condition on LANG(?x), decided on the suffixes of literals. It is an error for IRIs.

        With ``is_exact``, terms that are decoded with a tag in upper case are undecided where it is true.
        """
        if not (_is_call(part, "LANG") and isinstance(part.arguments[0], Variable)):
            raise Unsupported

        def decide(ids: Column, texts: TermTexts | None) -> Decision:
            assert texts is not None
            found = find(texts.suffixes)
            true, false, undecided = (np.zeros(ids.size, np.bool_) for _ in range(3))
            undecided[:] = True
            undecided[texts.rows] = False
            places = texts.rows[texts.is_literal & found]
            true[places] = self._terms.have_lower_tags(ids[places]) if is_exact else True
            undecided[places] = ~true[places]
            false[texts.rows[texts.is_literal & ~found]] = True
            return true, false, undecided

        return self._of_terms(part.arguments[0], decide)


def _is_call(part: Any, name: str) -> bool:
    return isinstance(part, Call) and part.name == name


def _both(one: Decision, other: Decision) -> Decision:
    """The conjunction: false if one is, whatever the other is."""
    true, false = one[0] & other[0], one[1] | other[1]
    return true, false, (one[2] | other[2]) & ~false


def _negated(decision: Decision) -> Decision:
    true, false, undecided = decision
    return false, true, undecided


def _of_kind(kind: Kind, ids: Column, _: TermTexts | None) -> Decision:
    true = kinds(ids) == kind
    return true, ~true, np.zeros(ids.size, np.bool_)


def _steps(part: Any) -> tuple[Variable, list[str]]:
    """The variable of a text, and the functions that are applied to it, the first one first."""
    steps: list[str] = []
    while isinstance(part, Call) and part.name in ("STR", "LCASE", "UCASE"):
        steps.insert(0, part.name)
        (part,) = part.arguments
    if not isinstance(part, Variable):
        raise Unsupported
    return part, steps


def _stepped(step: str, text: Text, texts: TermTexts) -> Text:
    """A text after STR, LCASE or UCASE."""
    from pyarrow import compute

    lexical, known, failed = text
    if step == "STR":
        if lexical is texts.lexical:
            return lexical, np.ones(known.size, np.bool_), np.zeros(known.size, np.bool_)
        return text
    change = compute.ascii_lower if step == "LCASE" else compute.ascii_upper
    return change(lexical), known & mask_of(compute.string_is_ascii(lexical)), failed


def _equal(wanted: str, lexical: Any) -> Mask:
    from pyarrow import compute

    return mask_of(compute.equal(lexical, wanted))


def _starts_with(texts: Any, start: str) -> Mask:
    from pyarrow import compute

    return mask_of(compute.starts_with(texts, pattern=start))


def _has_language(wanted: str, suffixes: Any) -> Mask:
    """Which literals have the language; the empty text stands for none."""
    return _equal(f"@{wanted}", suffixes) if wanted else ~_starts_with(suffixes, "@")


def _compared(operator: str, number: float, ids: Column, texts: TermTexts | None) -> Decision:
    """Numbers compared with a constant. Only well-written numbers of the common datatypes are decided."""
    import pyarrow
    from pyarrow import compute

    assert texts is not None
    true, false, undecided = (np.zeros(ids.size, np.bool_) for _ in range(3))
    undecided[:] = True
    for name, form in NUMBERS.items():
        places = np.flatnonzero(mask_of(compute.equal(texts.suffixes, f"^^<{XSD[name]}>")))
        lexical = texts.lexical.take(places)
        is_number = mask_of(compute.match_substring_regex(lexical, form))
        places, lexical = places[is_number], lexical.filter(pyarrow.array(is_number))
        values = compute.cast(compute.utf8_ltrim(lexical, "+"), pyarrow.float64()).to_numpy()
        if name == "integer":
            is_decided = np.abs(values) < MAX_EXACT_DOUBLE
        else:
            is_decided = np.abs(values - number) > MIN_RELATIVE_DIFFERENCE * np.maximum(
                np.abs(values), abs(number)
            )
        found = COMPARISONS[operator](values, number)
        rows = texts.rows[places]
        true[rows[is_decided & found]] = True
        false[rows[is_decided & ~found]] = True
        undecided[rows[is_decided]] = False
    return true, false, undecided


def _number(constant: Literal) -> float:
    """A constant number that is exact as a double."""
    value = constant.value
    if constant.datatype not in (XSD.integer, XSD.decimal, XSD.double) or isinstance(value, bool):
        raise Unsupported
    if not isinstance(value, int | float) and not hasattr(value, "as_tuple"):
        raise Unsupported
    try:
        number = float(value)
    except OverflowError:  # an integer
        raise Unsupported from None
    if number != value or abs(number) >= MAX_EXACT_DOUBLE:
        raise Unsupported
    return number


def _plain(constant: Any) -> str:
    """The characters of a constant string without language tag and datatype."""
    if not isinstance(constant, Literal) or constant.language or constant.datatype is not None:
        raise Unsupported
    return str(constant)
