"""The literals in facts, and which of them denote one value.

The values of regular literals (``terms.literal_forms``) are not computed to find that out: two of them denote
one value only if their markers differ. So a literal is compared with

- the *irregular* literals in use, which are kept by value;
- the regular literals in use of other markers: those are looked up by the canonical form of the value.

    "7"^^xsd:int            regular: looked for are "7"^^xsd:integer, "7"^^xsd:decimal ... as far as in use
    "007"^^xsd:integer      irregular: kept under the value 7
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from corollary.columns.triples import grouped
from corollary.kernels.limits import check
from corollary.kernels.sorted import Keys, Mask
from corollary.language import Literal, constant_text, parse_constant
from corollary.modules.tuning import LITERALS_BETWEEN_CHECKS
from corollary.terms.dictionary import FIRST_LITERAL, Kind, TermDictionary
from corollary.terms.literal_forms import (
    PLAIN,
    UNNUMBERED,
    canonical,
    datatype_of_marker,
    datatypes_of,
    values_within,
)
from corollary.terms.values import SUPPORTED_DATATYPES, Value, datatype_of, value_of
from corollary.terms.values import contains as has_value


class Compared(NamedTuple):
    """What a comparison found: keys of pairs with one value, in both directions; literals without a value."""

    same: list[int]
    ill_typed: list[tuple[int, str]]


class LiteralsInUse:
    """A set of literals of a dictionary. Cost per change: O(its literals), and amortised O(1) for new ids."""

    def __init__(self, dictionary: TermDictionary) -> None:
        self._dictionary = dictionary
        self._is_in_use: Mask = np.zeros(0, np.bool_)
        self._values: dict[int, Value | None] = {}
        self._by_value: dict[str, dict[Value, list[int]]] = {}  # the irregular ones, by value space
        self._counts: dict[str, int] = {}  # regular literals that were taken so far, by marker

    def all(self) -> Keys:
        """All of them, ascending."""
        return np.flatnonzero(self._is_in_use).astype(np.uint64) + np.uint64(FIRST_LITERAL)

    def among(self, literals: Keys) -> Mask:
        """Which of the literals are in use."""
        self._make_room()
        found: Mask = self._is_in_use[_numbers(literals)]
        return found

    def is_plain(self, literals: Keys) -> Mask:
        """Which of the literals have neither a datatype nor a language."""
        found: Mask = self._dictionary.literal_forms.codes(_numbers(literals)) < 2
        return found

    def of_datatype(self, literals: Keys, datatype: str) -> Keys:
        """Those of the literals, plain ones excepted, that denote a value of a supported datatype.

        Cost: values are computed where neither the marker nor the form decides.
        """
        forms = self._dictionary.literal_forms
        parts: list[Keys] = []
        for code, of_code in self._by_code(literals):
            if code < 2:
                continue
            is_within = values_within(forms.markers[code >> 1], bool(code & 1), datatype)
            if is_within is None:
                members = [literal for literal in of_code.tolist() if self._has(datatype, literal)]
                parts.append(np.array(members, np.uint64))
            elif is_within:
                parts.append(of_code)
        return np.sort(np.concatenate([*parts, np.empty(0, np.uint64)]))

    def own_datatypes(self, literals: Keys) -> set[str]:
        """The datatypes of the literals that are supported."""
        forms = self._dictionary.literal_forms
        markers = {forms.markers[code >> 1] for code, _ in self._by_code(literals)}
        found = {datatype_of_marker(marker) for marker in markers - {UNNUMBERED}}
        if UNNUMBERED in markers:
            constants = map(self.constant, literals.tolist())
            found |= {datatype_of(constant.datatype, constant.language) for constant in constants}
        return found & SUPPORTED_DATATYPES

    def _has(self, datatype: str, literal: int) -> bool:
        value = self.value(literal)
        return value is not None and has_value(datatype, value)

    def take(self, literals: Keys) -> Compared:
        """Use further literals, and compare them with each other and with those in use."""
        self._make_room()
        self._is_in_use[_numbers(literals)] = True
        regular, irregular = self._parted(literals)
        same: list[int] = []
        for marker, ids in regular.items():
            self._counts.setdefault(marker, 0)
            for literal in _checking(self._to_look_up(marker, ids)):
                same += self._pairs(literal)
            self._counts[marker] += ids.size
        ill_typed = []
        for literal in _checking(irregular):
            value = self.value(literal)
            if value is None:
                datatype = self.constant(literal).datatype
                if datatype in SUPPORTED_DATATYPES:
                    ill_typed.append((literal, datatype))
                continue
            same += self._pairs(literal)
            self._by_value.setdefault(value.space, {}).setdefault(value, []).append(literal)
        return Compared(same, ill_typed)

    def drop(self, literals: Keys) -> None:
        """Use some literals no more. Precondition: they are in use."""
        self._is_in_use[_numbers(literals)] = False
        _, irregular = self._parted(literals)
        for literal in irregular:
            value = self.value(literal)
            if value is not None:
                members = self._by_value[value.space][value]
                members.remove(literal)
                if not members:
                    del self._by_value[value.space][value]

    def value(self, literal: int) -> Value | None:
        """The value of a literal; None if the literal is ill-typed or its datatype unsupported."""
        if literal not in self._values:
            constant = self.constant(literal)
            known = datatype_of(constant.datatype, constant.language) in SUPPORTED_DATATYPES
            self._values[literal] = (
                value_of(constant.lexical, constant.datatype, constant.language) if known else None
            )
        return self._values[literal]

    def constant(self, literal: int) -> Literal:
        """A literal as a constant of the rule language."""
        constant = parse_constant(self._dictionary.decode(literal))
        assert isinstance(constant, Literal)
        return constant

    def _make_room(self) -> None:
        count = self._dictionary.count(Kind.LITERAL)
        if count > self._is_in_use.size:
            larger: Mask = np.zeros(max(count, 2 * self._is_in_use.size), np.bool_)
            larger[: self._is_in_use.size] = self._is_in_use
            self._is_in_use = larger

    def _parted(self, literals: Keys) -> tuple[dict[str, Keys], list[int]]:
        """The regular literals by marker, and the irregular ones that may have a value, or be ill-typed."""
        forms = self._dictionary.literal_forms
        parts: dict[str, list[Keys]] = {}
        irregular: list[int] = []
        for code, ids in self._by_code(literals):
            marker = forms.markers[code >> 1]
            if marker == PLAIN or marker.startswith("@") or code & 1:
                parts.setdefault(marker, []).append(ids)
            elif datatype_of_marker(marker) in SUPPORTED_DATATYPES or marker == UNNUMBERED:
                irregular += ids.tolist()
        return {marker: np.concatenate(found) for marker, found in parts.items()}, irregular

    def _by_code(self, literals: Keys) -> Iterator[tuple[int, Keys]]:
        """The literals by the codes of their forms."""
        codes = self._dictionary.literal_forms.codes(_numbers(literals))
        return grouped(codes.astype(np.uint32), literals)

    def _to_look_up(self, marker: str, new: Keys) -> Iterable[int]:
        """Literals whose ``_pairs`` are all that new regular literals of a marker are in.

        The new ones themselves, or all that may be equal to them, if these are fewer.
        """
        space = _space(marker)
        irregular = self._by_value.get(space, {})
        others = [other for other in datatypes_of(space) if other != marker and self._counts.get(other)]
        if not (irregular or others):
            return ()
        if new.size <= len(irregular) + sum(self._counts[other] for other in others):
            return map(int, new)
        forms = self._dictionary.literal_forms
        wanted = [forms.markers.index(other) << 1 | 1 for other in others]
        codes = forms.all_codes()[: self._is_in_use.size]
        rows = np.flatnonzero(np.isin(codes, wanted) & self._is_in_use[: codes.size])
        kept = (literal for members in irregular.values() for literal in members)
        return [*kept, *(rows + FIRST_LITERAL).tolist()]

    def _pairs(self, literal: int) -> list[int]:
        """The keys of a literal with each other one in use that denotes its value, in both directions."""
        value = self.value(literal)
        if value is None:
            return []
        irregular = self._by_value.get(value.space, {}).get(value, [])
        partners = {*irregular, *self._regular(value)} - {literal}
        return [key for other in partners for key in (literal << 32 | other, other << 32 | literal)]

    def _regular(self, value: Value) -> Iterator[int]:
        """The regular literals in use that denote a value."""
        for text in self._canonical_texts(value):
            literal = self._dictionary.find(text)
            if (
                literal is not None
                and literal - FIRST_LITERAL < self._is_in_use.size
                and self._is_in_use[literal - FIRST_LITERAL]
                and self.value(literal) == value
            ):
                yield literal

    def _canonical_texts(self, value: Value) -> list[str]:
        """The texts that regular literals with a value have."""
        match value:
            case Value("string", str(text)):
                return [constant_text(Literal(text))]
            case Value("langString", (str(text), str(language))):
                return [constant_text(Literal(text, None, language))]
        form = canonical(value)
        markers = (marker for marker in datatypes_of(value.space) if marker in self._counts)
        return [] if form is None else [f'"{form}"{marker}' for marker in markers]


def _checking(literals: Iterable[int]) -> Iterator[int]:
    """The literals; the limits are checked between some of them."""
    for row, literal in enumerate(literals):
        if not row % LITERALS_BETWEEN_CHECKS:
            check()
        yield literal


def _numbers(literals: Keys) -> NDArray[np.int64]:
    return literals.astype(np.int64) - FIRST_LITERAL


def _space(marker: str) -> str:
    """The value space of the regular literals of a marker."""
    if marker == PLAIN:
        return "string"
    if marker.startswith("@"):
        return "langString"
    return next(
        (space for space in ("double", "float", "dateTime") if marker in datatypes_of(space)), "decimal"
    )
