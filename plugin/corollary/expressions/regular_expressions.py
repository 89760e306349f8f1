"""XPath's regular expressions (F&O 3.1, section 5.6; XSD 1.1 part 2, appendix G), on two engines.

A parser of our own accepts exactly XPath's syntax, and translates a pattern for each of two engines:

- RE2 (in pyarrow) takes time linear in the text. RE2 cannot be interrupted, has no back-references, limits
  the size of a pattern, and compiles the pattern at every call (25 µs to 3 ms).
- The library ``regex`` backtracks. Its compiled patterns are kept, and a match has a timeout.

Up to ``MAX_TEXTS_TRIED_FIRST`` texts are first matched by ``regex``, with a timeout of ``SECONDS_BEFORE_RE2``
for each. RE2 is used after a timeout, for more texts, and for patterns of more than ``MAX_ATOMS_TRIED_FIRST``
atoms. ``regex`` matches what RE2 cannot, until the time is over (``LimitExceeded``): the time given, else the
time left to the caller, else ``SECONDS_PER_MATCH``. Invariant: both engines give the same answer. RE2
therefore receives character sets as ranges of code points, computed with ``regex``.
"""

from __future__ import annotations

import re
import sys
from bisect import bisect_left
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import TYPE_CHECKING, Any, NoReturn

import numpy as np
from numpy.typing import NDArray

from corollary.expressions.operators import ExpressionError
from corollary.expressions.tuning import (
    MAX_ATOMS,
    MAX_ATOMS_TRIED_FIRST,
    MAX_DEPTH,
    MAX_PATTERNS_CACHED,
    MAX_RANGES,
    MAX_SETS_CACHED,
    MAX_STEPS,
    MAX_STEPS_TRIED_FIRST,
    MAX_TEXTS_TRIED_FIRST,
    MIN_CHARACTERS_TO_COUNT,
    SECONDS_BEFORE_RE2,
    SECONDS_PER_MATCH,
)
from corollary.kernels.arrow import compute
from corollary.kernels.limits import LimitExceeded, check, current, reserve_text
from corollary.language import CorollaryError

if TYPE_CHECKING:
    import regex

Ranges = Sequence[tuple[int, int]]
"""First and last code points: ascending, disjoint, not adjacent."""


class PatternTooLarge(CorollaryError):
    """A regular expression that XPath allows, but that is too large for the engines."""


# Sets of characters


@dataclass(frozen=True)
class Chars:
    """A set of characters: its code points, and its text for ``regex`` (within a set or alone)."""

    ranges: Ranges
    text: str

    @classmethod
    def of(cls, ranges: Ranges, text: str) -> Chars:
        """Make a set. The empty and the full set get other texts: ``regex`` takes ``[^\\s\\S]`` for all."""
        if not ranges:
            return cls(ranges, rf"[^\x00-{chr(sys.maxunicode)}]")
        if ranges[0] == (0, sys.maxunicode):
            text = rf"[\x00-{chr(sys.maxunicode)}]"
        return cls(ranges, text)

    def complement(self) -> Chars:
        starts = [0, *(last + 1 for _, last in self.ranges)]
        ends = [*(first - 1 for first, _ in self.ranges), sys.maxunicode]
        found = [(first, last) for first, last in zip(starts, ends, strict=True) if first <= last]
        return Chars.of(found, f"[^{self.text}]")

    def minus(self, other: Chars) -> Chars:
        either = union([self.complement(), other])
        return Chars.of(either.complement().ranges, f"[{self.text}--{other.text}]")

    @cached_property
    def linear(self) -> str:
        """The text of the set for RE2, without surrogates, which cannot occur in UTF-8."""
        parts = []
        for first, last in self.ranges:
            first = 0xE000 if 0xD800 <= first <= 0xDFFF else first
            last = 0xD7FF if 0xD800 <= last <= 0xDFFF else last
            if first <= last:
                parts.append(_range_text(first, last))
        return f"[{''.join(parts)}]" if parts else r"[^\x00-\x{10FFFF}]"


def _range_text(first: int, last: int) -> str:
    return _char_text(first) if first == last else f"{_char_text(first)}-{_char_text(last)}"


def _char_text(code: int) -> str:
    """A text that denotes the character in both engines."""
    char = chr(code)
    return char if code >= 0x80 or char.isalnum() else f"\\x{code:02X}"


def chars_of(ranges: Iterable[tuple[int, int]]) -> Chars:
    """The union of ranges, given in any order."""
    found = _merged(ranges)
    return Chars.of(found, f"[{''.join(_range_text(first, last) for first, last in found)}]")


def union(sets: Sequence[Chars]) -> Chars:
    """The union of one or more sets."""
    if len(sets) == 1:
        return sets[0]
    ranges = _merged(found for chars in sets for found in chars.ranges)
    return Chars.of(ranges, f"[{''.join(chars.text for chars in sets)}]")


def _merged(ranges: Iterable[tuple[int, int]]) -> Ranges:
    found: list[tuple[int, int]] = []
    for first, last in sorted(ranges):
        if found and first <= found[-1][1] + 1:
            found[-1] = (found[-1][0], max(found[-1][1], last))
        else:
            found.append((first, last))
    return found


@lru_cache(maxsize=1)
def _all_characters() -> str:
    return "".join(map(chr, range(sys.maxunicode + 1)))


@lru_cache(maxsize=MAX_SETS_CACHED)
def _named(text: str) -> Chars:
    """The set that a text denotes in ``regex``, computed by matching all code points."""
    import regex  # late, here and below: few processes match by it, and importing it takes 8 ms

    found = regex.finditer(f"{text}+", _all_characters(), regex.VERSION1)
    return Chars([(match.start(), match.end() - 1) for match in found], text)


# Characters that may begin an XML name, and those that may follow (XML 1.0, 2.3).
_NAME_START = (
    *((ord(":"), ord(":")), (ord("A"), ord("Z")), (ord("_"), ord("_")), (ord("a"), ord("z"))),
    *((0xC0, 0xD6), (0xD8, 0xF6), (0xF8, 0x2FF), (0x370, 0x37D), (0x37F, 0x1FFF), (0x200C, 0x200D)),
    *((0x2070, 0x218F), (0x2C00, 0x2FEF), (0x3001, 0xD7FF), (0xF900, 0xFDCF), (0xFDF0, 0xFFFD)),
    (0x10000, 0xEFFFF),
)
_NAME_FURTHER = (
    *((ord("-"), ord("-")), (ord("."), ord(".")), (ord("0"), ord("9"))),
    *((0xB7, 0xB7), (0x300, 0x36F), (0x203F, 0x2040)),
)
_ESCAPED: dict[str, Callable[[], Chars]] = {
    "d": lambda: _named(r"\p{Nd}"),
    "w": lambda: _named(r"[^\p{P}\p{Z}\p{C}]"),
    "s": lambda: chars_of((ord(char), ord(char)) for char in " \t\n\r"),
    "i": lambda: chars_of(_NAME_START),
    "c": lambda: chars_of((*_NAME_START, *_NAME_FURTHER)),
}
_CATEGORY = re.compile("L[ultmo]?|M[nce]?|N[dlo]?|P[cdseifo]?|Z[slp]?|S[mcko]?|C[cfon]?")
_BLOCK = re.compile("Is([a-zA-Z0-9-]+)")


@lru_cache(maxsize=MAX_SETS_CACHED)
def _property(name: str) -> Chars:
    """``\\p{name}``: a general category, or ``Is`` and the name of a Unicode block."""
    import regex

    if _CATEGORY.fullmatch(name):
        return _named(rf"\p{{{name}}}")
    block = _BLOCK.fullmatch(name)
    if block:
        try:
            return _named(rf"\p{{Block={block[1]}}}")
        except regex.error:
            pass
    raise ExpressionError(f"{_shown(name)} is no category and no block of Unicode")


@lru_cache(maxsize=1)
def _case_variants() -> tuple[list[int], list[list[int]]]:
    """The cased characters, ascending, and for each the characters of the same upper or lower case."""
    import regex

    cased = regex.findall(r"\p{Changes_When_Casemapped}", _all_characters())
    by_upper, by_lower = defaultdict(list), defaultdict(list)
    for char in cased:
        by_upper[char.upper()].append(ord(char))
        by_lower[char.lower()].append(ord(char))
    return list(map(ord, cased)), [by_upper[char.upper()] + by_lower[char.lower()] for char in cased]


def _with_case_variants(ranges: Ranges) -> list[tuple[int, int]]:
    codes, variants = _case_variants()
    found = list(ranges)
    for first, last in ranges:
        for others in variants[bisect_left(codes, first) : bisect_left(codes, last + 1)]:
            found += [(code, code) for code in others]
    return found


def exactly(text: str) -> str:
    """The pattern of RE2 for a text."""
    return "".join(_char_text(ord(char)) for char in text)


# XPath's syntax

Part = str | Chars
"""A piece of a parsed pattern: a set of characters, ``^``, ``$``, or syntax common to both engines."""

_META = frozenset("\\?*+{}()|[]^$.")
_ESCAPES = {**{char: char for char in "\\|.?*+(){}[]-^$"}, "n": "\n", "r": "\r", "t": "\t"}
_QUANTIFIER = re.compile(r"(?:([?*+])|\{([0-9]+)(?:,([0-9]*))?\})(\??)")
_PROPERTY = re.compile(r"\{([^{}]*)\}")
_DIGITS = re.compile("[0-9]+")
_SPACE = " \t\n\r"


def _without_space(pattern: str) -> str:
    """The pattern without white space outside of sets: flag x."""
    kept = []
    depth, escaped = 0, False
    for char in pattern:
        if depth == 0 and char in _SPACE:
            continue
        kept.append(char)
        if escaped:
            escaped = False
        elif char == "\\":
            escaped = True
        elif char in "[]":
            depth = max(depth + (1 if char == "[" else -1), 0)
    return "".join(kept)


@dataclass
class _Group:
    """An open group, or the whole pattern."""

    number: int  # 0: not capturing
    atoms: int = 0
    empty: bool = False  # whether a completed branch can match the empty string
    branch_empty: bool = True  # whether the current branch can


class _Reader:
    """A parser: reads a pattern from left to right into ``parts``. ExpressionError if XPath forbids it."""

    def __init__(self, pattern: str, flags: str) -> None:
        self.pattern = pattern
        self.at = 0
        self.any_case = "i" in flags
        self.dot = chars_of([(0, sys.maxunicode)])
        if "s" not in flags:
            self.dot = chars_of([(ord("\n"), ord("\n")), (ord("\r"), ord("\r"))]).complement()
        self.parts: list[Part] = []
        self.groups = 0
        self.anchored = False
        self.references = False
        self.repeats_empty = False
        self._ranges = 0
        self._open = [_Group(0)]

    @property
    def atoms(self) -> int:
        return self._open[0].atoms

    def read(self) -> None:
        while self.at < len(self.pattern):
            char = self._take()
            match char:
                case "|":
                    self.parts.append("|")
                    self._end_branch()
                case "(":
                    self._open_group()
                case ")":
                    self._close_group()
                case "^" | "$":
                    self.anchored = True
                    self._atom(char, empty=True)
                case ".":
                    self._atom(self.dot)
                case "[":
                    self._atom(self._set())
                case "\\" if (digits := _DIGITS.match(self.pattern, self.at)) and digits[0][0] != "0":
                    self._atom(self._reference(digits[0]), empty=True)
                case "\\":
                    escaped = self._escape()
                    self._atom(self._single(escaped) if isinstance(escaped, str) else escaped)
                case _ if char in _META:
                    self._fail(f"{char} stands for itself only as \\{char}")
                case _:
                    self._atom(self._single(char))
        if len(self._open) > 1:
            self._fail("a group has no end")

    def _fail(self, problem: str) -> NoReturn:
        shown = _shown(self.pattern)
        raise ExpressionError(f"{shown} is no regular expression of XPath: {problem} (character {self.at})")

    def _charge(self, ranges: int) -> None:
        self._ranges += ranges
        if self._ranges > MAX_RANGES:
            self._too_large(f"more than {MAX_RANGES} ranges of characters")

    def _too_large(self, problem: str) -> NoReturn:
        raise PatternTooLarge(f"the regular expression {_shown(self.pattern)} is too large: {problem}")

    def _take(self) -> str:
        if self.at == len(self.pattern):
            self._fail("more is expected at its end")
        self.at += 1
        return self.pattern[self.at - 1]

    def _ahead(self, text: str) -> bool:
        return self.pattern.startswith(text, self.at)

    def _open_group(self) -> None:
        captures = not self._ahead("?")
        if not captures:
            if not self._ahead("?:"):
                self._fail("after (? there is only :")
            self.at += 2
        if len(self._open) > MAX_DEPTH:
            self._too_large(f"more than {MAX_DEPTH} groups within each other")
        self.groups += captures
        self._open.append(_Group(self.groups if captures else 0))
        self.parts.append("(" if captures else "(?:")

    def _close_group(self) -> None:
        if len(self._open) == 1:
            self._fail("a group has no beginning")
        self._end_branch()
        group = self._open.pop()
        self._atom(")", group.atoms + 1, group.empty)

    def _end_branch(self) -> None:
        group = self._open[-1]
        group.empty |= group.branch_empty
        group.branch_empty = True

    def _atom(self, part: Part, atoms: int = 1, empty: bool = False) -> None:
        """Append an atom and its quantifier. ``empty``: whether the atom can match the empty string."""
        self.parts.append(part)
        quantifier = _QUANTIFIER.match(self.pattern, self.at)
        if quantifier:
            self.at = quantifier.end()
            sign, least, most, lazy = quantifier.groups()
            if least is not None:
                low = high = self._count(least)
                if most:
                    high = self._count(most)
                if high < low:
                    self._fail(f"{quantifier[0]} is no quantifier")
                # Written without leading zeros: with them, RE2 takes the braces for characters.
                sign = f"{{{low}}}" if most is None else f"{{{low},{high if most else ''}}}"
                atoms *= max(high, 1)
            self.parts.append(sign + lazy)
            self.repeats_empty |= empty and sign != "?"
            empty |= sign in ("?", "*") or sign.startswith("{0")
        group = self._open[-1]
        group.atoms += atoms
        group.branch_empty &= empty
        if group.atoms > MAX_ATOMS:
            self._too_large(f"more than {MAX_ATOMS} atoms, repeated ones as often as they may be")

    def _count(self, digits: str) -> int:
        if len(digits.lstrip("0")) > len(str(MAX_ATOMS)):
            self._too_large(f"a repetition of more than {MAX_ATOMS}")
        return int(digits.lstrip("0") or 0)

    def _reference(self, digits: str) -> str:
        """``\\N``: the longest prefix of the digits that is the number of a group, but at least one digit."""
        size = 1
        while size < len(digits) and int(digits[: size + 1]) <= self.groups:
            size += 1
        number = int(digits[:size])
        if number > self.groups or number in {group.number for group in self._open}:
            self._fail(f"there is no group {number} that ends before \\{number}")
        self.at += size
        self.references = True
        # A group that has not matched counts as the empty string.
        found = f"(?({number})\\{number}|)"
        return f"(?i-f:{found})" if self.any_case else f"(?:{found})"

    def _escape(self) -> Chars | str:
        """Read what follows a backslash: a set, or the character that the escape denotes."""
        char = self._take()
        if char in _ESCAPES:
            return _ESCAPES[char]
        lower = char.lower()
        if lower == "p":
            name = _PROPERTY.match(self.pattern, self.at)
            if name is None:
                self._fail(f"\\{char} stands before {{...}}")
            self.at = name.end()
            found = _property(name[1])
        elif lower in _ESCAPED:
            found = _ESCAPED[lower]()
        else:
            self._fail(f"\\{char} is unknown")
        self._charge(len(found.ranges))
        return found if char == lower else found.complement()

    def _single(self, char: str) -> Chars:
        return chars_of(self._range(char, char))

    def _range(self, first: str, last: str) -> Ranges:
        ranges: Ranges = [(ord(first), ord(last))]
        if self.any_case:
            ranges = _with_case_variants(ranges)
        self._charge(len(ranges))
        return ranges

    def _set(self) -> Chars:
        """Read what follows ``[``: a set, and nested subtractions. ``[a-z-[aeiou]]`` is the consonants."""
        sets = [self._set_group()]
        while self._ahead("-["):
            if len(sets) == MAX_DEPTH:
                self._too_large(f"more than {MAX_DEPTH} subtractions within each other")
            self.at += 2
            sets.append(self._set_group())
        for _ in sets:
            if self._take() != "]":
                self._fail("after a subtracted set there is only ]")
        found = sets.pop()
        while sets:
            found = sets.pop().minus(found)
        return found

    def _set_group(self) -> Chars:
        """Read the content of a set, up to ``]`` or ``-[``."""
        negated = self._ahead("^")
        self.at += negated
        sets: list[Chars] = []
        ranges: list[tuple[int, int]] = []
        while not (sets or ranges) or not (self._ahead("]") or self._ahead("-[")):
            plain = not self._ahead("\\")
            char = self._set_item()
            if isinstance(char, Chars):
                sets.append(char)
            elif not self._ahead("-") or self.pattern.startswith(("-]", "-[", "--["), self.at):
                ranges += self._range(char, char)
            else:
                self.at += 1
                last_plain = not self._ahead("\\")
                last = self._set_item()
                if isinstance(last, Chars) or (plain and char == "-") or (last_plain and last == "-"):
                    self._fail("a range is between two characters; a hyphen there is \\-")
                elif last < char:
                    self._fail("a range ends before it begins")
                else:
                    ranges += self._range(char, last)
        if ranges:
            sets.append(chars_of(ranges))
        found = union(sets)
        return found.complement() if negated else found

    def _set_item(self) -> Chars | str:
        char = self._take()
        if char == "\\":
            return self._escape()
        if char in "[]":
            self._fail(f"in a set {char} is \\{char}")
        return char


# Matching

_FLAGS = frozenset("smixq")
_SURROGATE = re.compile("[\ud800-\udfff]")
_REPLACEMENT_PART = re.compile(r"\\(.?)|\$([0-9]*)|[^\\$]+", re.DOTALL)

_ANCHORS = {"^": r"\A", "$": r"\Z"}
_LINE_ANCHORS = {"^": r"(?:\A|(?<=\n)(?!\Z))", "$": r"(?:(?=\n)|(?<!\n)\Z)"}
_LINEAR_ANCHORS = {"^": r"\A", "$": r"\z"}
_LINEAR_LINE_ANCHORS = {"^": "(?m:^)", "$": "(?m:$)"}


@dataclass(frozen=True)
class Pattern:
    """A valid regular expression of XPath, as ``compiled`` returns it."""

    source: str
    parts: Sequence[Part]
    groups: int
    atoms: int
    references: bool
    lines: bool
    """Whether the pattern has ``^`` or ``$`` that match at line borders (flag m). A line break at the end of
    the text begins no line in XPath. It does in RE2."""
    repeats_empty: bool
    """Whether a repeated part can match the empty string. The engines then disagree on which repetition a
    group captures."""
    literal: bool
    """Whether all characters are literal: flag q."""

    def matches(self, texts: Sequence[str], seconds: float | None = None) -> NDArray[np.bool_]:
        """A mask of the texts in which the pattern is found.

        Raises LimitExceeded if ``regex`` needs more than ``seconds`` for one text.
        """
        if len(texts) <= MAX_TEXTS_TRIED_FIRST and self.atoms <= MAX_ATOMS_TRIED_FIRST:
            try:
                return np.array([self._found(text, SECONDS_BEFORE_RE2) for text in texts], np.bool_)
            except TimeoutError:
                pass
        linear = np.array([self._is_linear(text, len(text)) for text in texts], np.bool_)
        found = np.zeros(len(texts), np.bool_)
        possible = [text for text, is_linear in zip(texts, linear, strict=True) if is_linear]
        check()
        answers = _linear_matches(possible, self._linear_text(())) if possible else None
        if answers is None:
            linear[:] = False
        else:
            found[linear] = answers
        for position in np.flatnonzero(~linear).tolist():
            try:
                found[position] = self._found(texts[position], seconds)
            except TimeoutError:
                raise self._timeout(texts[position], seconds) from None
        return found

    def matches_column(self, texts: Any) -> NDArray[np.bool_]:
        """As ``matches``, for Arrow's large strings without nulls."""
        if len(texts) <= MAX_TEXTS_TRIED_FIRST:
            return self.matches(texts.to_pylist())
        from pyarrow import ArrowInvalid, compute

        if not self._are_linear(texts, 1):
            return self.matches(texts.to_pylist())
        pattern = self._linear_text(())
        try:
            parts = [compute.match_substring_regex(some, pattern) for some in self._parts(texts)]
        except ArrowInvalid:  # RE2 refuses the pattern
            return self.matches(texts.to_pylist())
        return np.concatenate([part.to_numpy(zero_copy_only=False) for part in parts])

    def replaced_column(self, texts: Any, replacement: str) -> Any | None:
        """As ``replaced``, for Arrow's large strings without nulls; None if RE2 cannot do it."""
        from pyarrow import ArrowInvalid, concat_arrays

        found = self._linear_replacement(self._replacement(replacement))
        if found is None or not len(texts) or not self._are_linear(texts, 2):
            return None
        try:
            return concat_arrays(
                [compute.replace_substring_regex(some, *found) for some in self._parts(texts)]
            )
        except (ArrowInvalid, UnicodeEncodeError):
            return None

    def replaced_bytes(self, replacement: str) -> list[bytes] | None:
        """What is written for each byte of UTF-8; None unless the pattern is one set of ASCII characters."""
        chars = self.parts[0]
        if (
            len(self.parts) > 1
            or not isinstance(chars, Chars)
            or any(last > 0x7F for _, last in chars.ranges)
        ):
            return None
        parts = self._replacement(replacement)
        table = [bytes([code]) for code in range(256)]
        for first, last in chars.ranges:
            for code in range(first, last + 1):
                texts = [part if isinstance(part, str) else "" if part else chr(code) for part in parts]
                table[code] = "".join(texts).encode()
        return table

    def _are_linear(self, texts: Any, power: int) -> bool:
        """Whether ``_is_linear`` holds for every text of a column.

        ``power`` is 1 if RE2 reads a text once for each atom, 2 if it may read the rest at each character.
        """
        longest = compute.max(compute.binary_length(texts)).as_py() or 0
        is_open = self.lines and compute.any(compute.ends_with(texts, pattern="\n")).as_py()
        return not is_open and self._is_linear("", longest**power)

    def _parts(self, texts: Any) -> Iterator[Any]:
        """The texts in parts of which each takes RE2 some seconds at most."""
        rows = 1 + len(texts) * MAX_STEPS_TRIED_FIRST // (1 + self.atoms * texts.nbytes)
        for start in range(0, len(texts), rows):
            check()
            yield texts[start : start + rows]

    def replaced(self, text: str, replacement: str, seconds: float | None = None) -> str:
        """The text with every match replaced. ``$1`` is the first group, ``\\$`` a dollar sign.

        Raises ExpressionError if the pattern matches the empty string, or the replacement is malformed.
        Raises LimitExceeded if ``regex`` needs more than ``seconds``.
        """
        parts = self._replacement(replacement)
        if len(text) * len(replacement) > MIN_CHARACTERS_TO_COUNT:
            try:
                matched = sum(1 for _ in self._backtracking.finditer(text, timeout=_allowed(seconds)))
            except TimeoutError:
                raise self._timeout(text, seconds) from None
            reserve_text(len(text) + matched * len(replacement))

        def expanded(match: regex.Match[str]) -> str:
            return "".join(part if isinstance(part, str) else match[part] or "" for part in parts)

        try:
            return str(self._backtracking.sub(expanded, text, timeout=SECONDS_BEFORE_RE2))
        except TimeoutError:
            pass
        linear = self._linear_replacement(parts)
        if linear is not None and self._is_linear(text, len(text) ** 2):  # one search per match
            answer = _linear_replaced(text, *linear)
            if answer is not None:
                return answer
        try:
            return str(self._backtracking.sub(expanded, text, timeout=_allowed(seconds)))
        except TimeoutError:
            raise self._timeout(text, seconds) from None

    def _replacement(self, replacement: str) -> list[str | int]:
        """The parts of a replacement. Raises ExpressionError if REPLACE is not defined."""
        if self.matches([""])[0]:
            raise ExpressionError(f"{_shown(self.source)} matches the empty string")
        return [replacement] if self.literal else _replacement_parts(replacement, self.groups)

    def _linear_replacement(self, parts: Sequence[str | int]) -> tuple[str, str] | None:
        """The pattern and the replacement for RE2; None if it may replace otherwise."""
        kept = sorted({part for part in parts if isinstance(part, int) and part})
        if len(kept) > 9 or (kept and self.repeats_empty):
            return None
        numbers = {0: 0} | {group: number for number, group in enumerate(kept, 1)}
        written = "".join(
            part.replace("\\", r"\\") if isinstance(part, str) else f"\\{numbers[part]}" for part in parts
        )
        return self._linear_text(kept), written

    def _found(self, text: str, seconds: float | None) -> bool:
        return self._backtracking.search(text, timeout=_allowed(seconds)) is not None

    def _is_linear(self, text: str, steps: int) -> bool:
        """Whether RE2 may process a text. ``steps``: characters that RE2 reads per atom of the pattern."""
        return (
            not self.references
            and self.atoms * steps
            <= (MAX_STEPS_TRIED_FIRST if self.atoms <= MAX_ATOMS_TRIED_FIRST else MAX_STEPS)
            and not (self.lines and text.endswith("\n"))
            and (text.isascii() or not _SURROGATE.search(text))
        )

    def _timeout(self, text: str, seconds: float | None) -> LimitExceeded:
        allowed = _allowed(seconds)
        return LimitExceeded(
            "seconds",
            allowed,
            f"regular expression {_shown(self.source)}",
            f"a text of {len(text):,} characters was not matched in {allowed:.3g} s, as the expression has "
            "back-references, or one of both is long: write it without repetitions within repetitions",
        )

    @cached_property
    def _backtracking(self) -> regex.Pattern[str]:
        import regex

        anchors = _LINE_ANCHORS if self.lines else _ANCHORS
        text = "".join(
            part.text if isinstance(part, Chars) else anchors.get(part, part) for part in self.parts
        )
        if self.atoms > MAX_ATOMS_TRIED_FIRST:
            text = f"(?:{text})|(?!)"  # then no string is required
        try:
            return regex.compile(text, regex.VERSION1, cache_pattern=False)
        except (regex.error, RecursionError, OverflowError, MemoryError) as error:
            raise PatternTooLarge(
                f"the regular expression {_shown(self.source)} is too large: {error}"
            ) from None

    def _linear_text(self, kept: Sequence[int]) -> str:
        """The pattern for RE2. Only the groups in ``kept`` are captured, in their order."""
        anchors = _LINEAR_LINE_ANCHORS if self.lines else _LINEAR_ANCHORS
        written = []
        group = 0
        for part in self.parts:
            if isinstance(part, Chars):
                written.append(part.linear)
            elif part == "(":
                group += 1
                written.append("(" if group in kept else "(?:")
            else:
                written.append(anchors.get(part, part))
        return "".join(written)


def _linear_matches(texts: Sequence[str], pattern: str) -> NDArray[np.bool_] | None:
    """A mask of the texts in which RE2 finds the pattern; None if RE2 refuses the pattern."""
    import pyarrow

    try:
        found = compute.match_substring_regex(pyarrow.array(texts, pyarrow.large_string()), pattern)
    except pyarrow.ArrowInvalid:
        return None
    answers: NDArray[np.bool_] = found.to_numpy(zero_copy_only=False)
    return answers


def _linear_replaced(text: str, pattern: str, replacement: str) -> str | None:
    """The text with every match replaced by RE2; None if RE2 refuses the pattern or the replacement."""
    import pyarrow

    array = pyarrow.array([text], pyarrow.large_string())
    try:
        return str(compute.replace_substring_regex(array, pattern, replacement)[0])
    except (pyarrow.ArrowInvalid, UnicodeEncodeError):  # a surrogate in the replacement
        return None


@lru_cache(maxsize=MAX_PATTERNS_CACHED)
def compiled(pattern: str, flags: str = "") -> Pattern:
    """Parse an XPath pattern with its flags. Raises ExpressionError if either is invalid."""
    if not set(flags) <= _FLAGS:
        raise ExpressionError(f"{_shown(flags)} are no flags: they are s, m, i, x, q")
    literal = "q" in flags
    if literal:
        pattern = "".join(f"\\{char}" if char in _META else char for char in pattern)
    elif "x" in flags:
        pattern = _without_space(pattern)
    reader = _Reader(pattern, flags)
    reader.read()
    return Pattern(
        pattern,
        tuple(reader.parts),
        reader.groups,
        reader.atoms,
        reader.references,
        "m" in flags and reader.anchored,
        reader.repeats_empty,
        literal,
    )


def matches(
    texts: Sequence[str], pattern: str, flags: str = "", seconds: float | None = None
) -> NDArray[np.bool_]:
    """A mask of the texts in which XPath's ``fn:matches`` finds the pattern.

    Raises ExpressionError if the pattern or the flags are invalid, and LimitExceeded if ``regex`` needs more
    than ``seconds`` for one text.
    """
    return compiled(pattern, flags).matches(texts, seconds)


def replaced(text: str, pattern: str, replacement: str, flags: str = "", seconds: float | None = None) -> str:
    """The result of XPath's ``fn:replace``. Raises what ``compiled`` and ``Pattern.replaced`` raise."""
    return compiled(pattern, flags).replaced(text, replacement, seconds)


def _replacement_parts(replacement: str, groups: int) -> list[str | int]:
    """Split a replacement into texts and group numbers. A number has as many digits as there are groups for.

    With 3 groups, ``$12`` is group 1 and the text ``2``, and ``$5`` is the empty text.
    """
    parts: list[str | int] = []
    for match in _REPLACEMENT_PART.finditer(replacement):
        escaped, digits = match.groups()
        if escaped is not None:
            if escaped not in ("\\", "$"):
                raise ExpressionError(r"in a replacement \ stands only before \ or $")
            parts.append(escaped)
        elif digits is not None:
            if not digits:
                raise ExpressionError("in a replacement $ stands only before a digit")
            zeros = len(digits) - len(digits.lstrip("0"))
            size = max(zeros, 1)
            while size < len(digits) and int(digits[zeros : size + 1]) <= max(groups, 9):
                size += 1
            group = int(digits[zeros:size] or 0)
            parts += [group if group <= groups else "", digits[size:]]
        else:
            parts.append(match[0])
    return parts


def _allowed(seconds: float | None) -> float:
    """The timeout for ``regex``, at least 0 and finite: ``regex`` takes a negative timeout for no limit."""
    left = current().remaining()
    if seconds is None:
        seconds = SECONDS_PER_MATCH if left is None else left
    return min(max(seconds, 0.0), 1e6 if left is None else left)


def _shown(text: str) -> str:
    return repr(text if len(text) <= 100 else f"{text[:100]}...")
