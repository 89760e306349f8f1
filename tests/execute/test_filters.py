"""FILTER and BIND: every operator and function, errors, promotion, and columns against single terms."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product

import numpy as np
import pyoxigraph
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from corollary.columns import numbering
from corollary.execute import filters
from corollary.execute.batches import Batch
from corollary.execute.context import ExecutionContext
from corollary.execute.filters import core, evaluator, number_rows, select, true_rows, values
from corollary.execute.tuning import MIN_ROWS_BY_FORM
from corollary.expressions.operators import ExpressionError, truth
from corollary.language import (
    FUNCTIONS,
    OPERATORS,
    XSD,
    Bind,
    Call,
    Expression,
    Filter,
    Literal,
    Triple,
    Variable,
    parse_constant,
    parse_program,
)
from corollary.language.model import Rule
from corollary.program.compile import CompiledRule, compile_rule
from corollary.terms.dictionary import TermDictionary
from corollary.terms.values import value_of

X, Y, Z = Variable("x"), Variable("y"), Variable("z")

PREFIXES = f"PREFIX xsd: <{XSD}>\nPREFIX : <http://example.org/>\n"


def expression_of(text: str) -> Expression:
    """An expression as people write it; its variables may be ?x, ?y, ?z."""
    rule = f"{PREFIXES}[?x, :r, ?result] :- [?x, ?y, ?z], BIND({text} AS ?result) ."
    (found,) = (e for e in parse_program(rule).rules[0].body if isinstance(e, Bind))
    return found.expression


def compiled(dictionary: TermDictionary, *extra: Bind | Filter) -> CompiledRule:
    """A rule of which ?x, ?y, ?z are variables, with these conditions."""
    return compile_rule(Rule((), (Triple(X, Y, Z), *extra)), 0, dictionary)


def batch_of(rows: Sequence[Sequence[str]], variables: Sequence[Variable], rule: CompiledRule,
             dictionary: TermDictionary) -> Batch:  # fmt: skip
    columns = {
        rule.slot(variable): np.array([dictionary.encode(row[i]) for row in rows], np.uint32)
        for i, variable in enumerate(variables)
    }
    return Batch(len(rows), columns)


def result(text: str, **bound: str) -> str | None:
    """The value of an expression as N-Triples text, None for an error; evaluated over a batch."""
    dictionary = TermDictionary()
    rule = compiled(dictionary)
    batch = batch_of([tuple(bound.values())], [Variable(name) for name in bound], rule, dictionary)
    ids, valid = values(batch, expression_of(text), rule, dictionary)
    return dictionary.decode(int(ids[0])) if valid[0] else None


def full(text: str) -> str:
    """``true``, ``"1"^^xsd:integer`` and the like as N-Triples text."""
    if text in ("true", "false"):
        return f'"{text}"^^<{XSD}boolean>'
    if "^^xsd:" in text:
        lexical, name = text.split("^^xsd:")
        return f"{lexical}^^<{XSD}{name}>"
    return text


CASES = r"""
# arithmetic and promotion
1 + 2 -> "3"^^xsd:integer
2 - 5 -> "-3"^^xsd:integer
2 * 3 -> "6"^^xsd:integer
6 / 3 -> "2"^^xsd:decimal
7 / 2 -> "3.5"^^xsd:decimal
1 / 3 -> "0.333333333333333333"^^xsd:decimal
100000000000000000001 / 1 -> "100000000000000000001"^^xsd:decimal
1 + 0.5 -> "1.5"^^xsd:decimal
0.1 + 0.2 -> "0.3"^^xsd:decimal
1.50 * 2 -> "3"^^xsd:decimal
1.5 - 1.5 -> "0"^^xsd:decimal
99999999999999999999 * 99999999999999999999 -> "9999999999999999999800000000000000000001"^^xsd:integer
1234567890123456789.1 * 1234567890123456789.1 -> "1524157875323883675265965576774881878.81"^^xsd:decimal
1 + 1e0 -> "2"^^xsd:double
0.1e0 + 0.2e0 -> "0.30000000000000004"^^xsd:double
1e10 * 1 -> "1.0E10"^^xsd:double
-1.5e-7 * 1 -> "-1.5E-7"^^xsd:double
"0.1"^^xsd:float + 0 -> "0.1"^^xsd:float
"0.1"^^xsd:float + 0.2 -> "0.3"^^xsd:float
"0.1"^^xsd:float + 0e0 -> "0.10000000149011612"^^xsd:double
"16777216"^^xsd:float + 1 -> "1.6777216E7"^^xsd:float
"3e38"^^xsd:float * 2 -> "INF"^^xsd:float
1e308 * 10 -> "INF"^^xsd:double
1e0 / 0 -> "INF"^^xsd:double
-1 / 0e0 -> "-INF"^^xsd:double
1 / -0e0 -> "-INF"^^xsd:double
0e0 / 0 -> "NaN"^^xsd:double
1 / 0 -> error
1.0 / 0.0 -> error
"1"^^xsd:int + "1"^^xsd:byte -> "2"^^xsd:integer
"300"^^xsd:byte + 1 -> error
"x"^^xsd:integer + 1 -> error
"1" + 1 -> error
:a + 1 -> error
-(2) -> "-2"^^xsd:integer
-(0.0) -> "0"^^xsd:decimal
-(0e0) -> "-0"^^xsd:double
+"1"^^xsd:short -> "1"^^xsd:integer
+"a" -> error
# rounding
abs(-3) -> "3"^^xsd:integer
abs(-3.5) -> "3.5"^^xsd:decimal
abs(-0e0) -> "0"^^xsd:double
abs("-1"^^xsd:float) -> "1"^^xsd:float
ceil(2.1) -> "3"^^xsd:decimal
ceil(-0.5e0) -> "-0"^^xsd:double
floor(-2.1) -> "-3"^^xsd:decimal
floor(2.9e0) -> "2"^^xsd:double
floor(7) -> "7"^^xsd:integer
round(2.5) -> "3"^^xsd:decimal
round(-2.5) -> "-2"^^xsd:decimal
round(2.4999e0) -> "2"^^xsd:double
round(0.49999999999999994e0) -> "0"^^xsd:double
round("INF"^^xsd:double) -> "INF"^^xsd:double
abs("a") -> error
# equality
1 = 1.0 -> true
1 = 1e0 -> true
0.1 = 0.1e0 -> true
"0.1"^^xsd:float = 0.1 -> true
"0.1"^^xsd:float = 0.1e0 -> false
"01"^^xsd:integer = 1 -> true
"1"^^xsd:byte = 1 -> true
1 != 2 -> true
"NaN"^^xsd:double = "NaN"^^xsd:double -> false
"NaN"^^xsd:double != "NaN"^^xsd:double -> true
"a" = "a" -> true
"a" = "a"^^xsd:string -> true
"a" = "b" -> false
"a" = "a"@en -> false
"a"@en = "a"@EN -> true
"a"@en != "a"@fr -> true
"a" = 1 -> false
true = "1"^^xsd:boolean -> true
true = false -> false
:a = :a -> true
:a = :b -> false
:a = "http://example.org/a" -> false
"a"^^:unknown = "a"^^:unknown -> true
"a"^^:unknown = "b"^^:unknown -> error
"a"^^:unknown != 1 -> error
"x"^^xsd:integer = "x"^^xsd:integer -> true
"x"^^xsd:integer = 1 -> error
"2000-01-01T00:00:00Z"^^xsd:dateTime = "2000-01-01T01:00:00+01:00"^^xsd:dateTime -> true
"2000-01-01T00:00:00"^^xsd:dateTime = "2000-01-01T00:00:00Z"^^xsd:dateTime -> error
"2000-01-01T00:00:00"^^xsd:dateTime = "2000-01-02T00:00:00Z"^^xsd:dateTime -> false
"2000-01-01"^^xsd:date = "2000-01-01"^^xsd:date -> true
"0a"^^xsd:hexBinary = "0A"^^xsd:hexBinary -> true
# order
1 < 2.5 -> true
2 <= 2.0 -> true
3 > 1e0 -> true
3 >= 4 -> false
1 < "NaN"^^xsd:double -> false
"a" < "b" -> true
"B" < "a" -> true
"b" >= "b" -> true
false < true -> true
"a" < 1 -> error
"a"@en < "b"@en -> error
:a < :b -> error
"2000-01-01T00:00:00Z"^^xsd:dateTime < "2000-01-01T00:00:00-01:00"^^xsd:dateTime -> true
"2000-01-01T00:00:00"^^xsd:dateTime < "2000-01-01T10:00:00Z"^^xsd:dateTime -> error
"2000-01-01T00:00:00"^^xsd:dateTime < "2000-01-01T14:00:01Z"^^xsd:dateTime -> true
"2000-01-01T00:00:00Z"^^xsd:dateTime > "1999-12-31T23:59:59.999Z"^^xsd:dateTime -> true
"2000-01-01"^^xsd:date < "2000-01-02"^^xsd:date -> true
"2000-01-32"^^xsd:date < "2000-01-02"^^xsd:date -> error
"0a"^^xsd:hexBinary < "0b"^^xsd:hexBinary -> error
# logic
true && false -> false
true && true -> true
true || false -> true
false || false -> false
1 / 0 = 1 || true -> true
true || 1 / 0 = 1 -> true
false || 1 / 0 = 1 -> error
false && 1 / 0 = 1 -> false
1 / 0 = 1 && false -> false
1 / 0 = 1 && true -> error
!true -> false
!"" -> true
!"a" -> false
!0.0 -> true
!"NaN"^^xsd:double -> true
!"x"^^xsd:integer -> true
!"yes"^^xsd:boolean -> true
!"1"^^xsd:boolean -> false
!"a"@en -> error
!:a -> error
!"2000-01-01"^^xsd:date -> error
2 IN (1, 2, 3) -> true
2 IN () -> false
2 IN (1 / 0, 2) -> true
2 IN (1 / 0, 3) -> error
2 NOT IN (1, 3) -> true
2 NOT IN (1, 2.0) -> false
2 NOT IN (1 / 0, 3) -> error
if(1 < 2, "yes", 1 / 0) -> "yes"
if("", "yes", "no") -> "no"
if(:a, "yes", "no") -> error
coalesce(1 / 0, :a, 2) -> <http://example.org/a>
coalesce(1 / 0) -> error
# strings
str(:a) -> "http://example.org/a"
str(01) -> "01"
str("a"@en) -> "a"
strlen("a😀b") -> "3"^^xsd:integer
strlen("ab"@en) -> "2"^^xsd:integer
strlen(12) -> error
lcase("ABC"@en) -> "abc"@en
ucase("abc") -> "ABC"
ucase(1) -> error
concat() -> ""
concat("a", "b") -> "ab"
concat("a"@en, "b"@en) -> "ab"@en
concat("a"@en, "b") -> "ab"
concat("a", 1) -> error
contains("foobar", "oba") -> true
contains("foobar"@en, "bar"@en) -> true
contains("foobar"@en, "x") -> false
contains("foobar"@en, "bar"@fr) -> error
contains("foobar", "bar"@en) -> error
strstarts("foobar", "foo") -> true
strstarts("foobar", "bar") -> false
strends("foobar", "bar") -> true
strends(1, "1") -> error
strbefore("abc"@en, "b") -> "a"@en
strbefore("abc"@en, "z") -> ""
strbefore("abc"@en, "") -> ""@en
strafter("abc"@en, "b"@en) -> "c"@en
strafter("abc", "z") -> ""
strafter("abc"@en, "") -> "abc"@en
substr("foobar", 4) -> "bar"
substr("foobar"@en, 2, 3) -> "oob"@en
substr("foobar", 0, 2) -> "f"
substr("foobar", -5, 2) -> ""
substr("foobar", 9) -> ""
substr("a😀b", 2, 1) -> "😀"
substr("foobar", 1.5) -> error
replace("abcd", "b", "Z") -> "aZcd"
replace("abab"@en, "a(b)", "$1$1") -> "bbbb"@en
replace("ab", "a(b)", "$12") -> "b2"
replace("ab", "(a)|x", "[$0$1$2]") -> "[aa]b"
replace("a.b", "\\.", "\\$\\\\") -> "a$\\b"
replace("abcb", "B", "z", "i") -> "azcz"
replace("abc", "x*", "-") -> error
replace("abc", "b", "$") -> error
replace("abc", "b", "\\x") -> error
regex("abc", "^b") -> false
regex("abc", "B", "i") -> true
regex("a\nb", "a.b") -> false
regex("a\nb", "a.b", "s") -> true
regex("a\n", "a$") -> false
regex("a\nb", "a$", "m") -> true
regex("a$", "a[$]") -> true
regex("abc", "a b c", "x") -> true
regex("abc"@en, "b") -> true
regex("abc", "(") -> error
regex("a.c", ".", "q") -> true
regex("abc", "b", "g") -> error
regex("abc", "\\bb") -> error
regex("\u0663", "^\\d$") -> true
regex(1, "1") -> error
# terms
iri("http://example.org/a") -> <http://example.org/a>
iri(:a) -> <http://example.org/a>
iri("a b:c") -> error
iri("a") -> error
iri(1) -> error
lang("a"@en-GB) -> "en-gb"
lang(1) -> ""
lang(:a) -> error
langmatches("en-gb", "EN") -> true
langmatches("english", "en") -> false
langmatches("en", "*") -> true
langmatches("", "*") -> false
datatype(1) -> <http://www.w3.org/2001/XMLSchema#integer>
datatype("1"^^xsd:byte) -> <http://www.w3.org/2001/XMLSchema#byte>
datatype("a") -> <http://www.w3.org/2001/XMLSchema#string>
datatype("a"@en) -> <http://www.w3.org/1999/02/22-rdf-syntax-ns#langString>
datatype(:a) -> error
strdt("01", xsd:integer) -> "01"^^xsd:integer
strdt("a", xsd:string) -> "a"
strdt("a"@en, xsd:string) -> error
strdt("a", "b") -> error
strlang("a", "EN") -> "a"@en
strlang("a", "") -> error
strlang(1, "en") -> error
isiri(:a) -> true
isiri("a") -> false
isblank(_:b) -> true
isliteral(1) -> true
isnumeric("1"^^xsd:byte) -> true
isnumeric("300"^^xsd:byte) -> false
isnumeric("1") -> false
sameterm(1, 1) -> true
sameterm(1, 01) -> false
sameterm("a", "a"^^xsd:string) -> true
datatype_clash(1, xsd:string) -> true
datatype_clash(1, xsd:byte) -> false
datatype_clash(:a, xsd:byte) -> false
datatype_clash(1, "a") -> false
# dates
year("2011-01-10T14:45:13.815-05:00"^^xsd:dateTime) -> "2011"^^xsd:integer
month("2011-01-10T14:45:13.815-05:00"^^xsd:dateTime) -> "1"^^xsd:integer
day("2011-02-10T14:45:13.815-05:00"^^xsd:dateTime) -> "10"^^xsd:integer
hours("2011-01-10T14:45:13.815-05:00"^^xsd:dateTime) -> "14"^^xsd:integer
minutes("2011-01-10T14:45:13.815-05:00"^^xsd:dateTime) -> "45"^^xsd:integer
seconds("2011-01-10T14:45:13.815-05:00"^^xsd:dateTime) -> "13.815"^^xsd:decimal
year("1999-12-31T24:00:00"^^xsd:dateTime) -> "2000"^^xsd:integer
year("-0044-03-15T00:00:00Z"^^xsd:dateTime) -> "-44"^^xsd:integer
year("123456-03-15T00:00:00Z"^^xsd:dateTime) -> "123456"^^xsd:integer
day("2000-02-29Z"^^xsd:date) -> "29"^^xsd:integer
hours("2000-02-29"^^xsd:date) -> error
year("2000") -> error
seconds(1) -> error
"""
"""Expressions and what they give, as N-Triples text but for prefixes and booleans."""

PARSED = [tuple(line.rsplit(" -> ", 1)) for line in CASES.splitlines() if " -> " in line]


@pytest.mark.parametrize(("text", "expected"), PARSED)
def test_value(text: str, expected: str) -> None:
    assert result(text) == (None if expected == "error" else full(expected))


def functions_in(expression: Expression) -> set[str]:
    if not isinstance(expression, Call):
        return set()
    return {expression.function}.union(*map(functions_in, expression.arguments))


def test_every_function_has_a_case() -> None:
    used = set().union(*(functions_in(expression_of(text)) for text, _ in PARSED))
    assert used >= (set(FUNCTIONS) | set(OPERATORS)) - {"bound"}


def test_bound_tells_whether_a_variable_has_a_column() -> None:
    assert result("bound(?x)", x="<http://example.org/a>") == full("true")
    assert result("bound(?y)", x="<http://example.org/a>") == full("false")
    assert result("coalesce(?y, ?x)", x="<http://example.org/a>") == "<http://example.org/a>"
    assert result("?y", x="<http://example.org/a>") is None


def test_very_long_integers_are_printed() -> None:
    digits = "9" * 5000
    assert result(f"{digits} + 1") == full(f'"1{"0" * 5000}"^^xsd:integer')


# Another implementation

NUMBERS = [
    "0",
    "1",
    "-2",
    "7",
    "0.5",
    "-1.25",
    "2.5",
    "3e0",
    "-0.5e0",
    "1e3",
    '"2"^^xsd:float',
    '"3"^^xsd:byte',
]
STRINGS = ['""', '"a"', '"ab"', '"b"', '"a"@en', '"ab"@en', '"a"@fr']
OTHERS = ["true", "false", ":a", '"2000-01-01T00:00:00Z"^^xsd:dateTime']

numeric = st.deferred(
    lambda: st.recursive(
        st.sampled_from(NUMBERS),
        lambda inner: st.one_of(
            st.builds("({} {} {})".format, inner, st.sampled_from("+-*"), inner),
            st.builds("{}({})".format, st.sampled_from(["abs", "ceil", "floor", "round", "-"]), inner),
        ),
        max_leaves=4,
    )
)
string = st.sampled_from(STRINGS)
textual = st.deferred(
    lambda: st.one_of(
        string,
        st.builds("concat({}, {})".format, string, string),
        st.builds("{}({}, {})".format, st.sampled_from(["strbefore", "strafter"]), string, string),
        st.builds("substr({}, {}, {})".format, string, st.integers(-1, 3), st.integers(0, 3)),
        st.builds("{}({})".format, st.sampled_from(["ucase", "lang"]), string),
    )
)
anything = st.deferred(lambda: st.one_of(numeric, textual, st.sampled_from(OTHERS)))
comparison = st.deferred(
    lambda: st.one_of(
        st.builds("({} {} {})".format, anything, st.sampled_from(["=", "!="]), anything),
        st.builds("({} {} {})".format, numeric, st.sampled_from(["<", "<=", ">", ">="]), numeric),
        st.builds(
            "{}({}, {})".format,
            st.sampled_from(["contains", "strstarts", "strends"]),
            string,
            string,
        ),
        st.builds("{}({})".format, st.sampled_from(["isnumeric", "isliteral", "isiri"]), anything),
        st.builds("({} IN ({}, {}))".format, anything, anything, anything),
    )
)
logical = st.recursive(
    comparison,
    lambda inner: st.one_of(
        st.builds("({} {} {})".format, inner, st.sampled_from(["&&", "||"]), inner),
        st.builds("(!{})".format, inner),
        st.builds("if({}, {}, {})".format, inner, inner, inner),
        st.builds("coalesce({}, {})".format, inner, inner),
    ),
    max_leaves=4,
)


@settings(max_examples=200, deadline=None)
@given(st.deferred(lambda: st.one_of(numeric, textual, logical)))
def test_agrees_with_pyoxigraph(text: str) -> None:
    """Up to how numbers are written."""
    query = f"{PREFIXES}SELECT ({text} AS ?result) {{}}"
    solutions = pyoxigraph.Store().query(query)
    assert isinstance(solutions, pyoxigraph.QuerySolutions)
    (solution,) = solutions
    theirs = str(solution[0]) if solution[0] is not None else None
    ours = result(text)
    if theirs == ours:
        return
    assert theirs is not None and ours is not None
    one, other = parse_constant(ours), parse_constant(theirs)
    assert isinstance(one, Literal) and isinstance(other, Literal)
    assert value_of(one.lexical, one.datatype) == value_of(other.lexical, other.datatype)


# Columns

TERMS = [
    "<http://example.org/a>",
    "<http://example.org/b>",
    "_:b",
    *map(full, ['"1"^^xsd:integer', '"01"^^xsd:integer', '"1.0"^^xsd:decimal', '"2"^^xsd:integer']),
    *map(full, ['"NaN"^^xsd:double', '"NaN"^^xsd:float', '"x"^^xsd:integer', "true", "false"]),
    '"a"',
    '""',
    '"a"@en',
    '"a"^^<http://example.org/unknown>',
    '"b"^^<http://example.org/unknown>',
    f"<{XSD}integer>",
    f"<{XSD}string>",
]

terms: st.SearchStrategy[Expression] = st.one_of(
    st.sampled_from([X, Y, Z]), st.sampled_from(TERMS).map(parse_constant)
)
id_calls = st.one_of(
    st.builds(Call, st.sampled_from(["=", "!=", "sameterm", "datatype_clash", "<"]), st.tuples(terms, terms)),
    st.builds(Call, st.sampled_from(["isiri", "isblank", "isliteral", "isnumeric"]), st.tuples(terms)),
    st.builds(Call, st.sampled_from(["in", "not in"]), st.lists(terms, min_size=1, max_size=4).map(tuple)),
)
expressions: st.SearchStrategy[Expression] = st.recursive(
    st.one_of(id_calls, id_calls, terms),
    lambda inner: st.one_of(
        st.builds(Call, st.sampled_from(["&&", "||"]), st.tuples(inner, inner)),
        st.builds(Call, st.just("!"), st.tuples(inner)),
    ),
    max_leaves=5,
)
rows_of_terms = st.lists(st.tuples(*[st.sampled_from(TERMS)] * 3), max_size=12)


def holds(expression: Expression, row: Sequence[str]) -> bool:
    """What terms alone say, one row at a time."""
    try:
        return truth(evaluator(core(expression), [X, Y, Z])([parse_constant(text) for text in row]))
    except ExpressionError:
        return False


@settings(max_examples=200, deadline=None)
@given(rows_of_terms, expressions, st.sampled_from((0, MIN_ROWS_BY_FORM)))
def test_ids_decide_as_terms_do(
    rows: list[tuple[str, str, str]], expression: Expression, fewest: int
) -> None:
    dictionary = TermDictionary()
    rule = compiled(dictionary)
    batch = batch_of(rows, [X, Y, Z], rule, dictionary)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(filters, "MIN_ROWS_BY_FORM", fewest)
        kept = true_rows(batch, expression, rule, dictionary)
    assert kept.tolist() == [holds(expression, row) for row in rows]


@pytest.mark.parametrize("function", ["=", "!=", "sameterm"])
def test_different_terms_that_are_no_literals_are_not_decoded(function: str) -> None:
    class Undecodable(TermDictionary):
        def decode(self, term_id: int) -> str:
            raise AssertionError("decoded")

    dictionary = Undecodable()
    rule = compiled(dictionary)
    batch = batch_of(list(product(TERMS[:3], TERMS[:3])), [X, Y], rule, dictionary)
    kept = true_rows(batch, Call(function, (X, Y)), rule, dictionary)
    assert int(kept.sum()) == (6 if function == "!=" else 3)


def select_rows(rows: list[tuple[str, ...]], element: Filter | Bind) -> list[tuple[str, ...]]:
    """The rows of ?x ?y (and of ?z if there is one) after a filter or binding of ?z."""
    dictionary = TermDictionary()
    rule = compiled(dictionary, element)
    batch = batch_of(rows, [X, Y, Z][: len(rows[0])], rule, dictionary)
    selected = select(batch, rule.conditions[0], rule, ExecutionContext(dictionary))
    columns = [selected.columns[rule.slot(v)].tolist() for v in (X, Y, Z) if rule.slot(v) in selected.columns]
    assert all(len(column) == selected.size for column in columns)
    return list(zip(*map(dictionary.decode_all, columns), strict=True))


ONE, TWO, THREE = (full(f'"{n}"^^xsd:integer') for n in (1, 2, 3))


def test_a_filter_keeps_true_rows_in_order() -> None:
    rows: list[tuple[str, ...]] = [(TWO, ONE), (ONE, TWO), ('"a"', ONE), (THREE, ONE), (TWO, ONE)]
    kept = select_rows(rows, Filter(expression_of("?x > ?y")))
    assert kept == [(TWO, ONE), (THREE, ONE), (TWO, ONE)]


def test_a_binding_adds_a_column_and_drops_errors() -> None:
    rows: list[tuple[str, ...]] = [(ONE, TWO), ('"a"', ONE), (ONE, ONE), (ONE, TWO)]
    bound = select_rows(rows, Bind(expression_of("?x + ?y"), Z))
    assert bound == [(ONE, TWO, THREE), (ONE, ONE, TWO), (ONE, TWO, THREE)]


@pytest.mark.parametrize("element", [Filter(expression_of("?x > ?y")), Bind(expression_of("?x + ?y"), Z)])
def test_answers_are_remembered(element: Filter | Bind, monkeypatch: pytest.MonkeyPatch) -> None:
    """What a condition said of some terms, values and errors alike, it says again, and of others anew."""
    dictionary = TermDictionary()
    rule = compiled(dictionary, element)
    (condition,) = rule.conditions
    rows: list[tuple[str, ...]] = list(product((ONE, TWO, '"a"'), repeat=2))
    context = ExecutionContext(dictionary)

    def selected(rows: list[tuple[str, ...]]) -> dict[int, list[int]]:
        batch = select(batch_of(rows, [X, Y], rule, dictionary), condition, rule, context)
        return {variable: column.tolist() for variable, column in batch.columns.items()}

    first = selected(rows[:6])
    assert 0 < len(context.answers(condition)) <= 6
    both = selected(rows)
    assert selected(rows[:6]) == first
    monkeypatch.setattr("corollary.execute.context.MAX_ANSWERS_CACHED", 0)
    assert selected(rows) == both, "what is forgotten is looked for again"


def test_a_binding_of_a_bound_variable_compares_terms() -> None:
    rows: list[tuple[str, ...]] = [
        (ONE, TWO, THREE),
        (ONE, ONE, THREE),
        (ONE, TWO, full('"3.0"^^xsd:decimal')),
    ]
    assert select_rows(rows, Bind(expression_of("?x + ?y"), Z)) == [(ONE, TWO, THREE)]


@pytest.mark.parametrize(("text", "expected"), [("?y", TWO), ("3", THREE), ('"a"@EN', '"a"@en')])
def test_a_binding_of_a_term(text: str, expected: str) -> None:
    assert select_rows([(ONE, TWO)], Bind(expression_of(text), Z)) == [(ONE, TWO, expected)]


def test_without_variables_the_empty_binding_is_kept_or_not() -> None:
    dictionary = TermDictionary()
    rule = compiled(dictionary, Filter(expression_of("1 < 2")), Filter(expression_of("1 > 2")))
    context = ExecutionContext(dictionary)
    sizes = [select(Batch.start(), condition, rule, context).size for condition in rule.conditions]
    assert sizes == [1, 0]


@given(
    st.integers(0, 4).flatmap(lambda n: st.lists(st.tuples(*[st.integers(0, 2)] * n), max_size=30)),
    st.sampled_from([1, 1 << 10]),
    st.sampled_from([1, 1 << 20, 1 << 31]),
)
def test_number_rows(rows: list[tuple[int, ...]], fewest: int, distance: int) -> None:
    """By a table, if there are as many rows as that takes; by sorting, if the values are far apart."""
    rows = [tuple(value * distance % (1 << 32) for value in row) for row in rows]
    width = len(rows[0]) if rows else 1
    columns = {-1 - i: np.array([row[i] for row in rows], np.uint32) for i in range(width)}
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(numbering, "MIN_ROWS_FOR_TABLE", fewest)
        patch.setattr(numbering, "MIN_DROPS_FOR_TABLE", min(fewest, 64))
        firsts, numbers = number_rows(Batch(len(rows), columns), tuple(columns))
    assert [rows[i] for i in firsts] == sorted(set(rows))
    assert [rows.index(rows[i]) for i in firsts] == firsts.tolist()
    assert [rows[firsts[number]] for number in numbers] == rows
