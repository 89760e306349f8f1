"""What users read after a mistake, word for word."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.language.strategies import programs

from corollary.language import (
    Aggregate,
    AggregateBinding,
    Builtin,
    Call,
    CorollaryError,
    Filter,
    Program,
    Rule,
    RuleError,
    RuleSyntaxError,
    Triple,
    UnsafeRuleError,
    Variable,
    check,
    format_program,
    parse_program,
)

GOLDEN = {
    "missing comma": (
        "[?x rdf:value ?y] .",
        """\
rules.dlog:1:5: unexpected `rdf:value`, expected `,`
    [?x rdf:value ?y] .
        ^
  help: terms are separated by commas""",
    ),
    "rule without its dot": (
        "rdf:A[?x] :- rdf:B[?x]\nrdf:C[?x] :- rdf:D[?x] .",
        """\
rules.dlog:2:1: unexpected `rdf:C`, expected `,` or `.`
    rdf:C[?x] :- rdf:D[?x] .
    ^
  help: a rule ends with ` .`""",
    ),
    "text ends early": (
        "rdf:A[?x] :-\n  rdf:B[?x]\n",
        """\
rules.dlog:2:12: the text ends too early, expected `,` or `.`
      rdf:B[?x]
               ^
  help: a rule ends with ` .`""",
    ),
    "round brackets": (
        "rdf:p(?x, ?y) :- rdf:p[?y, ?x] .",
        """\
rules.dlog:1:6: unexpected `(`, expected `[`
    rdf:p(?x, ?y) :- rdf:p[?y, ?x] .
         ^
  help: the terms of an atom stand in square brackets: :knows[?x, ?y]""",
    ),
    "variable without its mark": (
        "[x, rdf:p, ?y] :- [?x, rdf:p, ?y] .",
        """\
rules.dlog:1:2: unexpected `x`, expected a term
    [x, rdf:p, ?y] :- [?x, rdf:p, ?y] .
     ^
  help: a variable is ?x, an IRI is prefix:x or <...>""",
    ),
    "open string": (
        '[?x, rdfs:label, "a] :- rdf:A[?x] .',
        """\
rules.dlog:1:18: this string has no end on its line
    [?x, rdfs:label, "a] :- rdf:A[?x] .
                     ^
  help: close it with ", and write a line break as \\n""",
    ),
    "space in an IRI": (
        "[?x, <urn:a b>, ?y] .",
        """\
rules.dlog:1:6: this is no IRI
    [?x, <urn:a b>, ?y] .
         ^
  help: an IRI is closed with > and has no spaces or quotes within""",
    ),
    "keyword misspelt": (
        "rdf:A[?x] :- rdf:B[?x], FLITER(?x > 3) .",
        """\
rules.dlog:1:35: unexpected `>`, expected `,` or `)`
    rdf:A[?x] :- rdf:B[?x], FLITER(?x > 3) .
                                      ^
  help: did you mean FILTER(...)?""",
    ),
    "name missing": (
        "@name\nrdf:A[rdf:x] .",
        """\
rules.dlog:1:1: this is no annotation
    @name
    ^
  help: write `@name`, a space and the name of the next rule, without spaces""",
    ),
    "operands without operator": (
        "rdf:A[?x] :- rdf:B[?x], FILTER(?x 3) .",
        """\
rules.dlog:1:35: unexpected `3`, expected an operator or `)`
    rdf:A[?x] :- rdf:B[?x], FILTER(?x 3) .
                                      ^""",
    ),
    "every unknown prefix at once": (
        "foaf:A[?x] :- foaf:B[?x],\n  [?x, rfds:label, ?y] .",
        """\
rules.dlog:1:1: unknown prefix foaf:
    foaf:A[?x] :- foaf:B[?x],
    ^
  help: declare it before its first use: PREFIX foaf: <...>
rules.dlog:2:8: unknown prefix rfds:
      [?x, rfds:label, ?y] .
           ^
  help: did you mean rdfs:? Otherwise declare it before its first use: PREFIX rfds: <...>""",
    ),
    "unknown builtin": (
        "rdf:A[?x] :- MEMBR(?l, ?x), abs(?x, 1), CHAIN(?l, ?x) .",
        """\
rules.dlog:1:14: MEMBR is not a builtin
    rdf:A[?x] :- MEMBR(?l, ?x), abs(?x, 1), CHAIN(?l, ?x) .
                 ^
  help: did you mean MEMBER?
rules.dlog:1:29: abs is not a builtin
    rdf:A[?x] :- MEMBR(?l, ?x), abs(?x, 1), CHAIN(?l, ?x) .
                                ^
  help: functions stand in FILTER(...) or BIND(... AS ?variable): FILTER(abs(...))
rules.dlog:1:41: CHAIN takes 3 terms, here are 2
    rdf:A[?x] :- MEMBR(?l, ?x), abs(?x, 1), CHAIN(?l, ?x) .
                                            ^""",
    ),
    "impossible constants": (
        r'[<a>, rdf:p, "\q"] .',
        r"""rules.dlog:1:2: <a> is not an absolute IRI
    [<a>, rdf:p, "\q"] .
     ^
  help: begin it with its scheme, such as http:
rules.dlog:1:14: \q is not an escape for a character
    [<a>, rdf:p, "\q"] .
                 ^
  help: the escapes are \t \b \n \r \f \" \' \\ \uXXXX \UXXXXXXXX""",
    ),
    "negated chain": (
        "rdf:A[?x] :- [?x, rdf:p, ?l], NOT CHAIN(?l, ?x, ?y) .",
        """\
rules.dlog:1:35: CHAIN cannot be negated
    rdf:A[?x] :- [?x, rdf:p, ?l], NOT CHAIN(?l, ?x, ?y) .
                                      ^
  help: derive the path with a rule of its own, and negate that""",
    ),
}


@pytest.mark.parametrize("mistake", GOLDEN)
def test_syntax_messages(mistake: str) -> None:
    text, message = GOLDEN[mistake]
    with pytest.raises(RuleSyntaxError) as caught:
        parse_program(text, "rules.dlog")
    assert str(caught.value) == message


def test_deep_expressions_are_refused() -> None:
    """They would overrun the stack when compared, printed or evaluated."""
    fine, deep = ("false :- FILTER(" + "!" * depth + "true) ." for depth in (100, 101))
    assert parse_program(format_program(parse_program(fine))) == parse_program(fine)
    with pytest.raises(RuleSyntaxError, match="<text>:1:117: more than 100 operators lie within each other"):
        parse_program(deep)


UNSAFE = {
    "head variable": (
        "@name r1\n[?x, rdf:p, ?y] :- rdf:A[?x] .",
        """\
rules.dlog:2:13: rule r1: ?y in the head is bound by nothing
    [?x, rdf:p, ?y] :- rdf:A[?x] .
                ^
  help: use ?y in a positive atom or BIND(... AS ?y)""",
    ),
    "only under NOT": (
        "rdf:A[?x] :- NOT rdf:B[?x] .",
        """\
rules.dlog:1:7: ?x in the head occurs only under NOT, which binds nothing
    rdf:A[?x] :- NOT rdf:B[?x] .
          ^
  help: use ?x in a positive atom""",
    ),
    "fact with a variable": (
        "rdf:A[?x] .",
        """\
rules.dlog:1:7: a fact has no variables, this one has ?x
    rdf:A[?x] .
          ^
  help: write a constant, or give the rule a body""",
    ),
    "computed twice": (
        "rdf:A[?x] :- rdf:A[?x], BIND(1 + 1 AS ?x) .",
        """\
rules.dlog:1:7: ?x is computed, but something else binds it too
    rdf:A[?x] :- rdf:A[?x], BIND(1 + 1 AS ?x) .
          ^
  help: compute another variable and compare: FILTER(?x = ?other)""",
    ),
    "item outside": (
        "[?x, a, ?d] :- [?x, rdf:p, ?l], EACH ?d IN ?l ([?x, a, ?d]) .",
        """\
rules.dlog:1:9: ?d in the head is bound by nothing
    [?x, a, ?d] :- [?x, rdf:p, ?l], EACH ?d IN ?l ([?x, a, ?d]) .
            ^
  help: use ?d in a positive atom or BIND(... AS ?d)
rules.dlog:1:9: ?d is the item of EACH, and means nothing outside of it
    [?x, a, ?d] :- [?x, rdf:p, ?l], EACH ?d IN ?l ([?x, a, ?d]) .
            ^
  help: give one of the two another name""",
    ),
    "aggregate without its group": (
        "[?x, rdf:p, ?n] :- rdf:A[?x], AGGREGATE([?x, rdf:p, ?y] BIND count(?y) AS ?n) .",
        """\
rules.dlog:1:2: ?x is local to AGGREGATE, and means nothing outside of it
    [?x, rdf:p, ?n] :- rdf:A[?x], AGGREGATE([?x, rdf:p, ?y] BIND count(?y) AS ?n) .
     ^
  help: group by it (ON ?x), or give one of the two another name""",
    ),
    "everything at once": (
        "rdf:A[?y] :- rdf:A[?x], FILTER(bond(?z)) .\nrdf:B[?z] .",
        """\
rules.dlog:1:7: ?y in the head is bound by nothing
    rdf:A[?y] :- rdf:A[?x], FILTER(bond(?z)) .
          ^
  help: use ?y in a positive atom or BIND(... AS ?y)
rules.dlog:1:37: ?z in FILTER is bound by nothing
    rdf:A[?y] :- rdf:A[?x], FILTER(bond(?z)) .
                                        ^
  help: use ?z in a positive atom or BIND(... AS ?z)
rules.dlog:1:32: bond is not a function
    rdf:A[?y] :- rdf:A[?x], FILTER(bond(?z)) .
                                   ^
  help: did you mean bound?
rules.dlog:2:7: a fact has no variables, this one has ?z
    rdf:B[?z] .
          ^
  help: write a constant, or give the rule a body""",
    ),
}


@pytest.mark.parametrize("mistake", UNSAFE)
def test_unsafe_messages(mistake: str) -> None:
    text, message = UNSAFE[mistake]
    with pytest.raises(UnsafeRuleError) as caught:
        check(parse_program(text, "rules.dlog"))
    assert str(caught.value) == message


@pytest.mark.parametrize(
    ("body", "variable"),
    [
        ("FILTER(?x = ?y)", "y"),
        ("BIND(?y + 1 AS ?z)", "y"),
        ("BIND(?y AS ?z), BIND(?z AS ?y)", "y"),
        ("EACH ?d IN ?y ([?x, a, ?d])", "y"),
        ("CHAIN(?y, ?x, ?z)", "y"),
        ("BIND(1 AS ?y), BIND(2 AS ?y)", "y"),
        ("AGGREGATE([?z, a, rdf:B] ON ?y BIND count(*) AS ?n)", "y"),
        ("AGGREGATE([?z, a, rdf:B] BIND sum(?y) AS ?n)", "y"),
        ("AGGREGATE([?z, a, rdf:B], FILTER(?y > 1) BIND count(*) AS ?n)", "y"),
        ("AGGREGATE([?z, a, ?y] BIND count(*) AS ?y)", "y"),
        ("AGGREGATE([?z, a, ?w] ON ?z BIND count(*) AS ?y), BIND(1 AS ?y)", "y"),
        ("AGGREGATE([?y, a, ?w] ON ?y BIND count(*) AS ?z), BIND(1 AS ?y)", "y"),
    ],
)
def test_unsafe_bodies(body: str, variable: str) -> None:
    with pytest.raises(UnsafeRuleError) as caught:
        check(parse_program(f"false :- rdf:A[?x], {body} ."))
    assert f"?{variable} " in caught.value.diagnostics[0].message


@pytest.mark.parametrize(
    "body",
    [
        "FILTER(?x = ?y), BIND(?x + 1 AS ?y)",
        "BIND(?y + 1 AS ?z), BIND(?x + 1 AS ?y)",
        "NOT [?x, rdf:p, ?unknown]",
        "NOT EXISTS ?x IN ([?x, rdf:p, ?unknown])",
        "MEMBER(?x, ?y), FILTER(?y = 1)",
        "CHAIN(?x, ?y, ?z), FILTER(?y = ?z)",
        "EACH ?d IN ?x ([?y, ?d, ?z]), FILTER(?y = 1)",
        "AGGREGATE([?x, rdf:p, ?y], BIND(?y + 1 AS ?z) ON ?x BIND max(?z) AS ?n), FILTER(?n > ?x)",
    ],
)
def test_safe_bodies(body: str) -> None:
    check(parse_program(f"false :- rdf:A[?x], {body} ."))


def test_each_binds_what_all_items_share() -> None:
    check(parse_program("[?y, a, ?c] :- [?c, owl:intersectionOf, ?l], EACH ?d IN ?l ([?y, a, ?d]) ."))


@pytest.mark.parametrize(
    ("rule", "message"),
    [
        ("[1, rdf:p, ?x] :- rdf:A[?x] .", "the subject of a head cannot be a literal"),
        ('[?x, "p", ?x] :- rdf:A[?x] .', "the predicate of a head cannot be a literal"),
        ("false :- rdf:A[?x], FILTER(abs(?x, 1) = 1) .", "abs takes 1 argument, here are 2"),
        ("false :- rdf:A[?x], FILTER(substr(?x)) .", "substr takes 2 to 3 arguments, here are 1"),
        ("false :- rdf:A[?x], FILTER(coalesce()) .", "coalesce takes 1 or more arguments, here are 0"),
        ("false :- rdf:A[?x], FILTER(sum(?x) > 1) .", "sum is not a function"),
        ("false :- AGGREGATE(rdf:A[?x] BIND mean(?x) AS ?n) .", "mean is not an aggregate function"),
        ("false :- AGGREGATE(rdf:A[?x] BIND sum(*) AS ?n) .", "sum(*) means nothing"),
        ("false :- AGGREGATE(rdf:A[?x], FILTER(foo(?x)) BIND sum(bar(?x)) AS ?n) .", "foo is not a function"),
    ],
)
def test_malformed_rules(rule: str, message: str) -> None:
    with pytest.raises(RuleError) as caught:
        check(parse_program(rule))
    assert not isinstance(caught.value, UnsafeRuleError)
    assert caught.value.diagnostics[0].message == message


def test_malformed_rules_that_no_text_can_state() -> None:
    x = Variable("x")
    rules = (
        Rule((), ()),
        Rule((), (Triple(x, x, x), Builtin("MEMBRE", (x, x)))),
        Rule((), (Triple(x, x, x), Filter(Call("=", (x,))))),
        Rule((), (Aggregate((Triple(x, x, x),), (), (AggregateBinding("count", x, Variable("n")),)),)),
    )
    with pytest.raises(RuleError) as caught:
        check(Program(rules))
    assert [str(diagnostic) for diagnostic in caught.value.diagnostics] == [
        "a constraint needs a body\n  help: say what must not hold: false :- ... .",
        "MEMBRE is not a builtin\n  help: did you mean MEMBER?",
        "= takes 2 arguments, here are 1",
    ]


def test_all_mistakes_are_corollary_errors() -> None:
    with pytest.raises(CorollaryError):
        parse_program("rdf:A")


@given(programs.map(format_program), st.data())
def test_a_broken_text_gives_a_message_or_another_program(text: str, data: st.DataObject) -> None:
    """Whatever is cut out and put in, nothing but our own error is raised, and it knows its place."""
    start = data.draw(st.integers(0, len(text)))
    end = data.draw(st.integers(start, min(start + 5, len(text))))
    inserted = data.draw(st.text("?[](){}.,:-<>@^\"'\\#!=*& \n_a1N", max_size=3))
    try:
        parse_program(text[:start] + inserted + text[end:])
    except RuleSyntaxError as error:
        for diagnostic in error.diagnostics:
            assert diagnostic.span is not None
            assert 1 <= diagnostic.span.column <= len(diagnostic.span.text) + 1
