"""XPath's regular expressions: the same answers from both engines, as the specification has them."""

from __future__ import annotations

import re
import sys
from collections.abc import Callable

import numpy as np
import pyoxigraph
import pytest
import regex
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from rdflib import Literal
from tests.strategies import examples
from tests.timing import at_most

from corollary.expressions import regular_expressions
from corollary.expressions.operators import ExpressionError
from corollary.expressions.regular_expressions import (
    Chars,
    PatternTooLarge,
    compiled,
    matches,
    replaced,
)
from corollary.expressions.tuning import MAX_TEXTS_TRIED_FIRST
from corollary.kernels.limits import LimitExceeded

Engine = Callable[[pytest.MonkeyPatch], None]


def both(patch: pytest.MonkeyPatch) -> None:
    """As it is."""


def re2(patch: pytest.MonkeyPatch) -> None:
    """RE2 wherever it can."""
    patch.setattr(regular_expressions, "MAX_TEXTS_TRIED_FIRST", -1)
    patch.setattr(regular_expressions, "SECONDS_BEFORE_RE2", 0.0)


def backtracking(patch: pytest.MonkeyPatch) -> None:
    """The library ``regex`` only."""
    re2(patch)
    patch.setattr(regular_expressions, "MAX_STEPS", -1)
    patch.setattr(regular_expressions, "MAX_STEPS_TRIED_FIRST", -1)


engines = pytest.mark.parametrize("engine", [both, re2, backtracking])

FOUND = [  # flags, pattern, text, whether it is found
    # characters and branches
    ("", "b", "abc", True),
    ("", "d", "abc", False),
    ("", "", "", True),
    ("", "", "abc", True),
    ("", "a|", "b", True),
    ("", "^(ab|cd)$", "cd", True),
    ("", "^(?:ab|cd)$", "ac", False),
    ("", "^()$", "", True),
    ("", "a-b", "a-b", True),
    ("", "a\\-b\\^\\$", "a-b^$", True),
    ("", "\\(\\)\\[\\]\\{\\}\\|\\?\\*\\+\\.\\\\", "()[]{}|?*+.\\", True),
    ("", "^\\n\\r\\t$", "\n\r\t", True),
    ("", "a\x00b", "a\x00b", True),
    ("", "a\x00b", "a", False),
    ("", "^..$", "😀é", True),
    ("", "é", "e\u0301", False),
    ("", "#~&/\"'@:;,<>=!%_`", "#~&/\"'@:;,<>=!%_`", True),
    # quantifiers
    ("", "^a{2}$", "aa", True),
    ("", "^a{2}$", "aaa", False),
    ("", "^a{2,}$", "aaaa", True),
    ("", "^a{1,2}$", "aaa", False),
    ("", "^a{0}$", "", True),
    ("", "^a{0,0}b$", "b", True),
    ("", "^a{002}$", "aa", True),
    ("", "^a*?b+?c??$", "aabbc", True),
    ("", "^a{1,2}?$", "aa", True),
    ("", "^(ab)+$", "ababab", True),
    ("", "^a{1001}$", "a" * 1001, True),
    ("", "^a{1001}$", "a" * 1000, False),
    ("", "^(a{100}){100}$", "a" * 10_000, True),
    ("", "(^a)*b", "aab", True),
    ("", "^*a$+", "ba", True),
    # anchors
    ("", "^b", "abc", False),
    ("", "a$", "a\n", False),
    ("", "a$", "a\nb", False),
    ("", "^b", "a\nb", False),
    ("m", "^b", "a\nb", True),
    ("m", "a$", "a\nb", True),
    ("m", "^$", "a\n\nb", True),
    ("m", "^$", "a\n", False),
    ("m", "^$", "", True),
    ("m", "^$", "\n", True),
    ("m", "a\n^", "a\n", False),
    ("m", "a\n$", "a\n", False),
    ("m", "a\n$", "a\n\n", True),
    ("m", "a$", "a\r\n", False),
    ("m", "^b", "a\rb", False),
    # the dot
    ("", "a.b", "a\nb", False),
    ("", "a.b", "a\rb", False),
    ("", "a.b", "a\u2028b", True),
    ("", "a.b", "a\x85b", True),
    ("s", "a.b", "a\nb", True),
    ("s", "a.b", "a\rb", True),
    ("s", "^.$", "\x00", True),
    # sets
    ("", "[abc]", "xcx", True),
    ("", "[^abc]", "abc", False),
    ("", "[^a]", "\n", True),
    ("", "[a-c]", "b", True),
    ("", "^[a-]+$", "a-a", True),
    ("", "^[-a]+$", "a-a", True),
    ("", "^[a-c-]+$", "b-", True),
    ("", "[a-c-e]", "d", False),
    ("", "^[a-c-e]+$", "b-e", True),
    ("", "^[--]$", "-", True),
    ("", "^[+\\--/]+$", "+-./", True),
    ("", "[a^]", "^", True),
    ("", "[^^]", "^", False),
    ("", "[$.*?+(){}|]", "$", True),
    ("", "[\\]\\[\\\\]", "]", True),
    ("", "[&&~~||]", "&", True),
    ("", "^[a-z-[aeiou]]+$", "xyz", True),
    ("", "[a-z-[aeiou]]", "a", False),
    ("", "^[a-z-[a-m-[c]]]+$", "cn", True),
    ("", "[a-z-[a-m-[c]]]", "b", False),
    ("", "[^a-z-[0-9]]", "5", False),
    ("", "[^a-z-[0-9]]", "-", True),
    ("", "[a--[b]]", "-", True),
    ("", "[a-[a]]", "a", False),
    ("", "[\\s\\S]", "x", True),
    ("", "[^\\s\\S]", "x", False),
    ("", "[\\w-z]", "-", True),
    ("", "[é-ü]", "ö", True),
    ("", "[é-ü]", "e", False),
    # escapes for sets: Unicode, not ASCII
    ("", "^\\d$", "7", True),
    ("", "^\\d$", "٣", True),
    ("", "^\\d$", "²", False),
    ("", "^\\D$", "٣", False),
    ("", "^\\w$", "é", True),
    ("", "^\\w$", "漢", True),
    ("", "^\\w$", "_", False),
    ("", "^\\w$", "$", True),
    ("", "^\\w$", "+", True),
    ("", "^\\w$", "-", False),
    ("", "^\\w$", "\u0301", True),
    ("", "^\\w$", "\u200d", False),
    ("", "^\\W$", "_", True),
    ("", "^\\s$", "\n", True),
    ("", "^\\s$", "\u00a0", False),
    ("", "^\\s$", "\x0b", False),
    ("", "^\\S$", "\u00a0", True),
    ("", "^\\i\\c*$", "_a-1.b:é", True),
    ("", "^\\i", "-a", False),
    ("", "^\\i", "1", False),
    ("", "^\\I$", "1", True),
    ("", "^\\C$", "+", True),
    ("", "^[\\d\\s]+$", "1 ٣", True),
    ("", "[^\\d]", "٣", False),
    ("", "[\\D-[a]]", "a", False),
    ("", "^\\p{Lu}\\p{Ll}$", "Éé", True),
    ("", "^\\p{L}$", "1", False),
    ("", "^\\P{L}$", "1", True),
    ("", "^\\p{Sc}$", "€", True),
    ("", "^\\p{Cn}$", "\u0378", True),
    ("", "^[\\p{Nd}\\p{P}]+$", "1.", True),
    ("", "^\\p{IsBasicLatin}+$", "az~", True),
    ("", "\\p{IsBasicLatin}", "é", False),
    ("", "\\P{IsBasicLatin}", "é", True),
    ("", "^\\p{IsLatin-1Supplement}$", "é", True),
    ("", "^\\p{IsGreek}$", "\u03b1", True),
    ("", "^\\p{IsGreekandCoptic}$", "\u03b1", True),
    ("", "^\\p{IsCyrillic}$", "ж", True),
    # case
    ("i", "ABC", "abc", True),
    ("i", "É", "é", True),
    ("i", "[a-z]", "K", True),
    ("i", "[A-Z]", "\u212a", True),
    ("i", "s", "\u017f", True),
    ("i", "\u03c3", "\u03c2", True),
    ("i", "^ß$", "ẞ", True),
    ("i", "^ß$", "ss", False),
    ("i", "[^Q]", "q", False),
    ("i", "^[A-Z-[OI]]$", "o", False),
    ("i", "^[A-Z-[OI]]$", "b", True),
    ("i", "\\p{Lu}", "a", False),
    ("i", "[\\p{Lu}]", "a", False),
    ("i", "\\i", "A", True),
    # flags x and q
    ("x", "a b\tc\n", "abc", True),
    ("x", "a b", "a b", False),
    ("x", "a[ ]b", "a b", True),
    ("x", "a[b -[ c]]", "a ", False),
    ("x", "a[b -[ c]]", "ab", True),
    ("x", "\\ d", "5", True),
    ("x", "\\[ a", "[a", True),
    ("x", "\\p{ Lu }", "A", True),
    ("x", "a\u00a0b", "ab", False),
    ("x", "a#b", "a#b", True),
    ("q", "a.b*(", "xa.b*(", True),
    ("q", "a.b", "axb", False),
    ("q", "^\\d$", "5", False),
    ("qi", "A.B", "a.b", True),
    ("qx", "a b", "a b", True),
    ("qm", "$", "a$\n", True),
    ("smi", "A.^B", "a\nb", True),
    ("ii", "A", "a", True),
    # back-references
    ("", "(a.)\\1", "abab", True),
    ("", "(a.)\\1", "abac", False),
    ("", "^(?:(a)|b)\\1$", "b", True),
    ("", "([md])[aeiou]\\1", "Mum", False),
    ("i", "([md])[aeiou]\\1", "Mum", True),
    ("i", "^(.)\\1$", "ßS", False),
    ("", "^(a)\\11$", "aa1", True),
    ("", "^(a)(b)(c)(d)(e)(f)(g)(h)(i)(j)(k)\\11$", "abcdefghijkk", True),
    ("", "^(a)(b)(c)(d)(e)(f)(g)(h)(i)(j)(k)\\12$", "abcdefghijka2", True),
    ("", "^(?:x)(a)\\1$", "xaa", True),
    # lone surrogates are no characters, and are found all the same
    ("", "\ud800", "a\ud800", True),
    ("", "^.$", "\udfff", True),
    ("", "\ud800", "a", False),
    ("", "[\ud800-\udfff]", "é", False),
]


@engines
@pytest.mark.parametrize(("flags", "pattern", "text", "expected"), FOUND)
def test_matches(
    monkeypatch: pytest.MonkeyPatch,
    engine: Engine,
    flags: str,
    pattern: str,
    text: str,
    expected: bool,
) -> None:
    engine(monkeypatch)
    assert matches([text], pattern, flags).tolist() == [expected]


def test_many_texts_are_matched_at_once() -> None:
    for flags in ("", "m", "i", "s", "x"):
        rows = [(pattern, text) for own, pattern, text, _ in FOUND if own == flags]
        texts = [text for _, text in rows] * (MAX_TEXTS_TRIED_FIRST + 1)
        for pattern, _ in rows:
            alone = [bool(matches([text], pattern, flags)[0]) for _, text in rows]
            assert matches(texts, pattern, flags).tolist() == alone * (MAX_TEXTS_TRIED_FIRST + 1)


REFUSED = [
    *("(", ")", "a)", "[", "]", "[]", "[^]", "[a", "a]", "{", "}", "a{", "a{1", "a{1,", "a{,2}", "a{2,1}"),
    *("*", "+a", "?", "a**", "a*+", "a++", "a{2}{3}", "a*??", "|*", "(*a)", "(?:*)"),
    *("(?=a)", "(?!a)", "(?<=a)", "(?<!a)", "(?<n>a)", "(?P<n>a)", "(?P=n)", "(?i)a", "(?#a)", "(?>a)", "(?"),
    *(
        "\\",
        "\\b",
        "\\B",
        "\\A",
        "\\Z",
        "\\z",
        "\\G",
        "\\Q",
        "\\x41",
        "\\u0041",
        "\\0",
        "\\/",
        "\\ ",
        "\\_",
        "\\é",
    ),
    *(
        "\\p",
        "\\p{",
        "\\pL",
        "\\p{}",
        "\\p{Foo}",
        "\\p{Cs}",
        "\\p{IsFoo}",
        "\\p{Is}",
        "\\p{L&}",
        "\\p{^L}",
        "\\p{Greek}",
    ),
    *("\\1", "(a)\\2", "(a\\1)", "(\\2)(a)", "(?:a)\\1", "[(a)\\1]", "\\1(a)"),
    *(
        "[[]",
        "[a[b]]",
        "[b-a]",
        "[--a]",
        "[a--]",
        "[a-\\d]",
        "[-[a]]",
        "[^-[a]]",
        "[a-[b]c]",
        "[a-[b]",
        "[a-z&&[b]]]",
    ),
    *("[[:alpha:]]", "[\\b]", "a[]b"),
]
"""What XPath does not know, though other languages know some of it."""


@engines
@pytest.mark.parametrize("pattern", REFUSED)
def test_other_patterns_are_errors(monkeypatch: pytest.MonkeyPatch, engine: Engine, pattern: str) -> None:
    engine(monkeypatch)
    with pytest.raises(ExpressionError, match=r"XPath|category"):
        matches(["a"], pattern)
    with pytest.raises(ExpressionError, match=r"XPath|category"):
        replaced("a", pattern, "b")


@pytest.mark.parametrize("flags", ["g", "I", "i,", " ", "sé"])
def test_other_flags_are_errors(flags: str) -> None:
    with pytest.raises(ExpressionError, match="flags"):
        matches(["a"], "a", flags)


def test_an_error_shows_the_place() -> None:
    with pytest.raises(ExpressionError, match=re.escape("after (? there is only : (character 3)")):
        compiled("ab(?=c)")


REPLACED = [  # flags, pattern, replacement, text, result
    ("", "b", "x", "abcb", "axcx"),
    ("", "d", "x", "abc", "abc"),
    ("", "a.*?b", "x", "aabab", "xx"),
    ("", "a|ab", "x", "ab", "xb"),
    ("", "(a)(b)", "$2$1", "abab", "baba"),
    ("", "(a)|(b)", "[$1|$2]", "ab", "[a|][|b]"),
    ("", "a(b)", "$12", "ab", "b2"),
    ("", "a(b)", "$01$00", "ab", "bab"),
    ("", "a(b)", "$9$2", "ab", ""),
    ("", "a(b)", "$09", "ab", ""),
    ("", "a", "$0$0", "bab", "baab"),
    ("", "(a)(b)(c)(d)(e)(f)(g)(h)(i)(j)(k)", "$11$10$1", "abcdefghijk", "kja"),
    ("", "(a)(b)(c)(d)(e)(f)(g)(h)(i)(j)", "$10$9$8$7$6$5$4$3$2$1$0", "abcdefghij", "jihgfedcbaabcdefghij"),
    ("", "(?:x)(a)", "$1", "xa", "a"),
    ("", "b", "\\$\\\\1", "abc", "a$\\1c"),
    ("", "b", "\x00é", "abc", "a\x00éc"),
    ("", "b", "", "abc", "ac"),
    ("", "\\d", "-", "1٣a", "--a"),
    ("m", "^a", "x", "a\na\nba", "x\nx\nba"),
    ("m", "a$", "x", "a\nba", "x\nbx"),
    ("i", "É", "x", "éÉe", "xxe"),
    ("q", ".", "$1\\", "a.b", "a$1\\b"),
    ("x", "a b", "x", "ab", "x"),
    ("", "(.)\\1", "<$1>", "aabcc", "<a>b<c>"),
    ("", "(a*)+b", "<$1>", "aab", "<>"),
    ("", "b", "\ud800", "abc", "a\ud800c"),
    ("", "b", "x", "\ud800b", "\ud800x"),
]


@engines
@pytest.mark.parametrize(("flags", "pattern", "replacement", "text", "expected"), REPLACED)
def test_replaced(
    monkeypatch: pytest.MonkeyPatch,
    engine: Engine,
    flags: str,
    pattern: str,
    replacement: str,
    text: str,
    expected: str,
) -> None:
    engine(monkeypatch)
    assert replaced(text, pattern, replacement, flags) == expected


@engines
@pytest.mark.parametrize("pattern", ["", "a*", "^", "$", "()", "(a|)", "a??", "(a?)\\1"])
def test_nothing_cannot_be_replaced(monkeypatch: pytest.MonkeyPatch, engine: Engine, pattern: str) -> None:
    engine(monkeypatch)
    with pytest.raises(ExpressionError, match="empty string"):
        replaced("abc", pattern, "x")


@pytest.mark.parametrize("replacement", ["$", "$a", "a$", "$$1", "\\", "\\1", "\\n", "a\\"])
def test_other_replacements_are_errors(replacement: str) -> None:
    with pytest.raises(ExpressionError, match="in a replacement"):
        replaced("b", "b", replacement)


@pytest.mark.parametrize("digits", ["1" * 100_000, "0" * 100_000, "9" * 5_000])
def test_a_long_number_in_a_replacement(digits: str) -> None:
    groups = {"1": digits[1:], "0": "b", "9": digits[1:]}
    assert replaced("ab", "b", f"${digits}") == f"a{groups[digits[0]]}"


# Both engines against others

pieces = st.sampled_from(["a", "b", "é", ".", "[ab]", "[^a]", "[a-cé]", "\\n", "\\.", "^", "$"])
subset = st.recursive(
    pieces,
    lambda inner: st.one_of(
        st.tuples(inner, inner).map("".join),
        st.tuples(inner, inner).map("|".join).map("({})".format),
        st.tuples(inner, st.sampled_from(["*", "+", "?", "{2}", "{0,2}", "{1,}", "*?", "+?", "??"])).map(
            lambda pair: f"(?:{pair[0]}){pair[1]}"
        ),
    ),
    max_leaves=6,
)
"""Patterns that XPath, Python and Rust read alike, but for ``$`` in Python."""
short_texts = st.text(alphabet="abcé.\n", max_size=8)


@engines
@settings(max_examples=150)
@given(subset, st.lists(short_texts, min_size=1, max_size=5), st.booleans())
def test_python_finds_the_same(engine: Engine, pattern: str, texts: list[str], dot_all: bool) -> None:
    other = re.compile(pattern.replace("$", r"\Z"), re.DOTALL if dot_all else re.NOFLAG)
    with pytest.MonkeyPatch.context() as patch:
        engine(patch)
        found = matches(texts, pattern, "s" if dot_all else "").tolist()
    assert found == [other.search(text) is not None for text in texts]


@engines
@settings(max_examples=100)
@given(subset, short_texts, st.sampled_from(["<>", "<$0>"]))
def test_python_replaces_the_same(engine: Engine, pattern: str, text: str, replacement: str) -> None:
    other = re.compile(pattern.replace("$", r"\Z"))
    assume(not other.search(""))
    with pytest.MonkeyPatch.context() as patch:
        engine(patch)
        found = replaced(text, pattern, replacement)
    assert found == other.sub(replacement.replace("$0", r"\g<0>"), text)


@settings(max_examples=100)
@given(subset, short_texts, st.sampled_from(["", "i", "s", "si"]))
def test_pyoxigraph_finds_the_same(pattern: str, text: str, flags: str) -> None:
    terms = ", ".join(Literal(value).n3() for value in (text, pattern, flags))
    answer = pyoxigraph.Store().query(f"SELECT (REGEX({terms}) AS ?found) {{}}")
    found = next(iter(answer))["found"]  # type: ignore[arg-type]
    assert found is not None and found.value == str(bool(matches([text], pattern, flags)[0])).lower()


SETS = [
    "a",
    "z",
    "k",
    "é",
    "a-f",
    "0-9",
    "\\-",
    "\\]",
    "&",
    "~",
    "|",
    "$",
    " ",
    "\\n",
    "\U00010400",
    "\u0100-\uffff",
]
SETS += [
    "\\d",
    "\\D",
    "\\w",
    "\\W",
    "\\s",
    "\\S",
    "\\i",
    "\\I",
    "\\c",
    "\\C",
    "\\p{L}",
    "\\P{L}",
    "\\p{Lu}",
    "\\P{Cn}",
]
SETS += ["\\p{IsBasicLatin}", "\\P{IsGreek}", "\\p{C}"]
group = st.tuples(
    st.sampled_from(["", "^"]), st.lists(st.sampled_from(SETS), min_size=1, max_size=4).map("".join)
)
sets = st.lists(group.map("".join), min_size=1, max_size=3).map(
    lambda groups: f"[{'-['.join(groups)}{']' * len(groups)}"
)


@settings(max_examples=examples(25), deadline=None)
@given(sets, st.sampled_from(["", "i"]))
def test_both_engines_have_the_same_sets(pattern: str, flags: str) -> None:
    """Every character of Unicode is in what RE2 is given just if it is in what ``regex`` is given."""
    (chars,) = compiled(pattern, flags).parts
    assert isinstance(chars, Chars)
    everything = "".join(map(chr, range(sys.maxunicode + 1)))
    found = regex.finditer(f"{chars.text}+", everything, regex.VERSION1)
    assert [(match.start(), match.end() - 1) for match in found] == list(chars.ranges)


# What takes long

EXPLODING = [
    "(a+)+$",
    "(a|aa)+$",
    "^(a|a)*$",
    "(.*)*b$",
    "^(a*)*(a*)*(a*)*$",
    "(x+x+)+y|(a|aa)+$",
    "(a?){30}a{30}b",
]


@pytest.mark.parametrize("pattern", EXPLODING)
@pytest.mark.parametrize("flags", ["", "i", "s"])
def test_explosive_patterns_end_at_once(pattern: str, flags: str) -> None:
    text = "a" * 60 + "!"
    with at_most(400):
        assert matches([text], pattern, flags).tolist() == [False]
        assert matches([text] * 10_000, pattern, flags).sum() == 0


def test_an_explosive_pattern_is_replaced_at_once() -> None:
    text = "a" * 60 + "!"
    with at_most(400):
        assert replaced(text + "aab", "(a|aa)+(b)", "<$2\\\\>") == f"{text}<b\\>"


def test_a_long_text_takes_linear_time() -> None:
    with at_most(400):
        assert matches(["a" * 5_000_000 + "!"], "(a|aa)+$").tolist() == [False]


@pytest.mark.parametrize(
    ("pattern", "text", "flags"),
    [
        ("(a|aa)+\\1c", "a" * 60, ""),  # a back-reference
        ("(a|aa)+b{1001}", "a" * 60, ""),  # more repetitions than RE2 has
        ("^(a|aa)+$", "a" * 60 + "!\n", "m"),  # in RE2, a line would begin at the end
        ("(a|aa)+$", "a" * 60 + "\ud800", ""),  # RE2 reads UTF-8
        ("(a|aa)+" + "[ab]{150}" * 6 + "$", "a" * 12_000 + "!", ""),  # too much for RE2
    ],
)
def test_what_re2_cannot_do_ends_by_timeout(pattern: str, text: str, flags: str) -> None:
    with at_most(1000):
        with pytest.raises(LimitExceeded, match=r"characters was not matched in 0\.2 s"):
            matches([text], pattern, flags, seconds=0.2)
        with pytest.raises(LimitExceeded):
            matches(["b"] * 100 + [text], pattern, flags, seconds=0.2)
        with pytest.raises(LimitExceeded):
            replaced(text, pattern, "x", flags, seconds=0.2)


def test_a_replacement_of_many_matches_ends_by_timeout() -> None:
    with pytest.raises(LimitExceeded):
        replaced("a" * 200_000, "a.*b|a", "x", seconds=0.2)


@pytest.mark.parametrize("seconds", [0.0, -1.0])
def test_no_time_is_left(seconds: float) -> None:
    with pytest.raises(LimitExceeded):
        matches(["a" * 60], "(a|aa)+\\1c", seconds=seconds)


def test_time_without_end() -> None:
    assert matches(["abab"], "(ab)\\1", seconds=float("inf")).tolist() == [True]


@pytest.mark.parametrize(
    "pattern",
    [
        "a" * 100_000,
        "(" * 100_000,
        "\\w" * 50_000,
        "(a)" * 30_000 + "\\30000",
        "()*" * 33_000,
        "[a-" * 30_000,
        "[\\w\\W]" * 10_000,
        "((a{1000}){1000}){1000}",
        "a{0,99999999}",
        f"a{{{'9' * 50_000}}}",
        "([ab]{1000}){1000000}",
    ],
)
def test_large_patterns_are_refused_at_once(pattern: str) -> None:
    with at_most(400):
        with pytest.raises(PatternTooLarge, match="too large: ") as caught:
            matches(["abc"], pattern)
        assert len(str(caught.value)) < 300


@pytest.mark.parametrize(
    ("pattern", "expected"),
    [("a" * 19_000, False), ("|".join(f"w{i}" for i in range(3_000)), True), (f"[{'ab' * 50_000}]b", True)],
    ids=["string", "branches", "set"],
)
def test_long_patterns(pattern: str, expected: bool) -> None:
    with at_most(400):
        assert matches(["ab" * 100 + "w2999"], pattern).tolist() == [expected]


def test_a_long_string_is_no_work_for_regex() -> None:
    """``regex`` prepares a search for it that takes cubic time, whatever the timeout."""
    with at_most(1000):
        assert matches(["ab" * 10_000], "ab" * 4_000 + "(c)\\1").tolist() == [False]


@pytest.mark.parametrize(
    "pattern", ["[" * 100_000, "a" * 100_000 + ")", "]" * 100_000, "\\p{" + "L" * 100_000 + "}"]
)
def test_long_texts_that_are_no_pattern(pattern: str) -> None:
    with pytest.raises((ExpressionError, PatternTooLarge)) as caught:
        matches(["a"], pattern)
    assert len(str(caught.value)) < 300


def test_no_texts() -> None:
    assert matches([], "a").tolist() == []
    assert matches([], "(a)\\1").dtype == np.bool_
