"""One test for each construct of the rule language."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from corollary.language import (
    IRI,
    OWL,
    RDF,
    RDF_TYPE,
    RDFS,
    XSD,
    Aggregate,
    AggregateBinding,
    Bind,
    BlankNode,
    BodyElement,
    Builtin,
    Call,
    Chain,
    Each,
    Expression,
    Filter,
    InputError,
    Literal,
    Not,
    Pair,
    Rule,
    Span,
    Term,
    Triple,
    Variable,
    parse_file,
    parse_program,
)

NAMESPACE = "http://example.org/"
HEADER = f"PREFIX : <{NAMESPACE}> "
X, Y, Z, L = map(Variable, "xyzl")
P, Q, C, D = (IRI(NAMESPACE + name) for name in "pqCD")


def rule(text: str) -> Rule:
    (only,) = parse_program(HEADER + text)
    return only


def body(text: str) -> BodyElement:
    (element,) = rule(f"false :- {text} .").body
    return element


def expression(text: str) -> Expression:
    element = body(f"FILTER({text})")
    assert isinstance(element, Filter)
    return element.expression


def term(text: str) -> Term:
    return rule(f"[:p, :p, {text}] .").heads[0].object


def number(lexical: str, datatype: str = "integer") -> Literal:
    return Literal(lexical, XSD + datatype)


# statements


def test_rule() -> None:
    assert rule("[?x, :p, ?y] :- [?y, :q, ?x], [?x, :p, ?x] .") == Rule(
        (Triple(X, P, Y),), (Triple(Y, Q, X), Triple(X, P, X))
    )


def test_several_heads() -> None:
    assert rule(":C[?x], [?x, :p, ?y] :- [?x, :q, ?y] .").heads == (Triple(X, RDF_TYPE, C), Triple(X, P, Y))


def test_fact() -> None:
    assert rule("[rdf:type, a, rdf:Property] .") == Rule(
        (Triple(RDF_TYPE, RDF_TYPE, IRI(RDF + "Property")),), ()
    )


@pytest.mark.parametrize("head", ["false", "FALSE", "False"])
def test_constraint(head: str) -> None:
    constraint = rule(f"{head}:-[?x, :p, false].")
    assert constraint.is_constraint
    assert constraint.body == (Triple(X, P, number("false", "boolean")),)


def test_predeclared_prefixes() -> None:
    (fact,) = parse_program("[rdf:x, rdfs:x, owl:x], xsd:x[rdf:x] .")
    assert fact.heads[0] == Triple(IRI(RDF + "x"), IRI(RDFS + "x"), IRI(OWL + "x"))
    assert fact.heads[1].object == IRI(XSD + "x")


def test_prefix_declarations() -> None:
    program = parse_program("@prefix ex: <urn:a:> .\nprefix a.b-c: <urn:b:>\n[ex:, a.b-c:d.e, ex:%41\\,] .")
    assert program.prefixes == (("ex", "urn:a:"), ("a.b-c", "urn:b:"))
    assert program.rules[0].heads[0].terms == (IRI("urn:a:"), IRI("urn:b:d.e"), IRI("urn:a:%41,"))


def test_a_prefix_may_be_declared_again() -> None:
    first, second = parse_program("PREFIX e: <urn:a:> e:C[e:x] . PREFIX e: <urn:b:> e:C[e:x] .")
    assert (first.heads[0].object, second.heads[0].object) == (IRI("urn:a:C"), IRI("urn:b:C"))


def test_names_belong_to_the_next_rule_only() -> None:
    program = parse_program(HEADER + "@name cls-int1 # W3C\n:C[:p] .\n:D[:p] .\n@name #2\n:C[:q] .")
    assert [one.name for one in program] == ["cls-int1", "", "#2"]


def test_comments_and_line_endings() -> None:
    assert len(parse_program("# nothing\r\nrdf:C[rdf:x] # a fact\r\n.\r\n# end")) == 1
    assert len(parse_program("")) == 0


def test_span() -> None:
    (_, second) = parse_program("rdf:C[rdf:x] .\n@name b\n\trdf:C[rdf:y] .\r\n", "rules.dlog")
    assert second.span == Span("rules.dlog", 3, 2, " rdf:C[rdf:y] .")


# atoms


def test_class_and_property_atoms() -> None:
    assert body(":C[?x]") == Triple(X, RDF_TYPE, C)
    assert body("<http://example.org/C>[:D]") == Triple(D, RDF_TYPE, C)
    assert body("?y[?x]") == Triple(X, RDF_TYPE, Y)
    assert body(":p[?x, 1]") == Triple(X, P, number("1"))


def test_variables_anywhere() -> None:
    assert body("[?x, ?y, ?z]") == Triple(X, Y, Z)
    assert body("[?x, a, ?y]") == Triple(X, RDF_TYPE, Y)


def test_builtins() -> None:
    assert body("MEMBER(?l, ?x)") == Builtin("MEMBER", (L, X))
    assert body('value("1", ?x)') == Builtin("VALUE", (Literal("1"), X))


def test_each() -> None:
    assert body("EACH ?z IN ?l ([?x, a, ?z])") == Each(Z, L, (Triple(X, RDF_TYPE, Z),))
    assert body("each ?z in ?l (?z[?x], [?x, ?z, ?y])") == Each(
        Z, L, (Triple(X, RDF_TYPE, Z), Triple(X, Z, Y))
    )


def test_chain() -> None:
    assert body("CHAIN(?l, ?x, :p)") == Chain(L, X, P)
    assert body("PAIR(?l, ?x, :p)") == Pair(L, X, P)


# terms


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("?x", X),
        ("<urn:a>", IRI("urn:a")),
        (r"<urn:\u0061>", IRI("urn:a")),
        (":p.q", IRI(NAMESPACE + "p.q")),
        ("_:b.0", BlankNode("b.0")),
        ('"a"', Literal("a")),
        ("'a\"'", Literal('a"')),
        (r'"\t\b\n\r\f\"\'\\\u00e9\U0001F600"', Literal("\t\b\n\r\f\"'\\é😀")),
        ('"a"@en-GB', Literal("a", None, "en-GB")),
        ('"a" ^^ xsd:date', Literal("a", XSD + "date")),
        ('"a"^^<urn:t>', Literal("a", "urn:t")),
        ('"a"^^xsd:string', Literal("a")),
        ("12", number("12")),
        ("-12", number("-12")),
        ("+1.50", number("+1.50", "decimal")),
        (".5", number(".5", "decimal")),
        ("-1.e5", number("-1.e5", "double")),
        ("true", number("true", "boolean")),
        ("FALSE", number("false", "boolean")),
    ],
)
def test_terms(text: str, expected: Term) -> None:
    assert term(text) == expected


def test_a_number_before_the_final_dot() -> None:
    assert rule(":C[:p] :- FILTER 1 = 1.").body == (Filter(Call("=", (number("1"), number("1")))),)


def test_keywords_are_no_obstacle_to_names() -> None:
    """Prefixes and local names may be called like keywords."""
    text = "PREFIX not: <urn:n:> PREFIX a: <urn:a:> PREFIX false: <urn:f:> "
    (only,) = parse_program(text + "false:C[a:a] :- not:not[a:in], [a:a, a, not:a], NOT not:b[a:a] .")
    assert only.heads == (Triple(IRI("urn:a:a"), RDF_TYPE, IRI("urn:f:C")),)
    assert only.body[2] == Not((Triple(IRI("urn:a:a"), RDF_TYPE, IRI("urn:n:b")),))


# negation


def test_not() -> None:
    assert body("NOT :C[?x]") == Not((Triple(X, RDF_TYPE, C),))
    assert body("not ([?x, :p, ?y], MEMBER(?y, ?x))") == Not((Triple(X, P, Y), Builtin("MEMBER", (Y, X))))


def test_not_exists() -> None:
    expected = Not((Triple(X, P, Y), Triple(Y, Q, Z)))
    assert body("NOT EXISTS ?y, ?z IN ([?x, :p, ?y], [?y, :q, ?z])") == expected
    assert body("NOT EXISTS ?y IN [?x, :p, ?y]") == Not((Triple(X, P, Y),))


def test_exists_hides_an_outer_variable() -> None:
    """The ?y after EXISTS is another one than the ?y of the head."""
    one = rule("[?x, :p, ?y] :- [?x, :q, ?y], [?x, :q, ?y_1], NOT EXISTS ?y IN ([?x, :p, ?y]) .")
    assert one.body[2] == Not((Triple(X, P, Variable("y_2")),))


# computation


def test_filter() -> None:
    expected = Filter(Call("<", (X, number("3"))))
    assert body("FILTER(?x < 3)") == expected
    assert body("filter ?x<3") == expected


def test_bind() -> None:
    assert body("BIND(?x + 1 AS ?y)") == Bind(Call("+", (X, number("1"))), Y)


def test_aggregate() -> None:
    n, m = Variable("n"), Variable("m")
    assert body(
        "AGGREGATE([?x, :p, ?z] ON ?x BIND Count(?z) AS ?n BIND sum(DISTINCT ?z + 1) AS ?m)"
    ) == Aggregate(
        (Triple(X, P, Z),),
        (X,),
        (
            AggregateBinding("count", Z, n),
            AggregateBinding("sum", Call("+", (Z, number("1"))), m, distinct=True),
        ),
    )
    assert body("aggregate(:C[?x], filter(?x = 1), bind(1 as ?y) bind count(*) as ?n)") == Aggregate(
        (Triple(X, RDF_TYPE, C), Filter(Call("=", (X, number("1")))), Bind(number("1"), Y)),
        (),
        (AggregateBinding("count", None, n),),
    )
    assert body("AGGREGATE([?x, :p, ?z] ON ?x, ?z BIND count(DISTINCT *) AS ?n)") == Aggregate(
        (Triple(X, P, Z),), (X, Z), (AggregateBinding("count", None, n, distinct=True),)
    )


# expressions


def test_precedence() -> None:
    assert expression("?x || ?y && ?z = 1 + 2 * -?x") == Call(
        "||",
        (
            X,
            Call(
                "&&",
                (
                    Y,
                    Call("=", (Z, Call("+", (number("1"), Call("*", (number("2"), Call("-", (X,)))))))),
                ),
            ),
        ),
    )


def test_left_association() -> None:
    assert expression("?x - ?y - ?z") == Call("-", (Call("-", (X, Y)), Z))
    assert expression("?x - (?y - ?z)") == Call("-", (X, Call("-", (Y, Z))))


def test_signs() -> None:
    five = number("5")
    assert expression("?x -5") == Call("-", (X, five))
    assert expression("?x - -5") == Call("-", (X, number("-5")))
    assert expression("-(5)") == Call("-", (five,))
    assert expression("!!?x") == Call("!", (Call("!", (X,)),))


@pytest.mark.parametrize("operator", ["=", "!=", "<", "<=", ">", ">="])
def test_comparisons(operator: str) -> None:
    assert expression(f"?x{operator}?y") == Call(operator, (X, Y))


def test_in() -> None:
    assert expression("?x IN (1, :p)") == Call("in", (X, number("1"), P))
    assert expression("?x not  in ()") == Call("not in", (X,))


def test_functions() -> None:
    assert expression("isIRI(?x)") == Call("isiri", (X,))
    assert expression("if(bound(?x), CONCAT(), ?y)") == Call(
        "if", (Call("bound", (X,)), Call("concat", ()), Y)
    )


# files


def test_parse_file(tmp_path: Path) -> None:
    path = tmp_path / "small.dlog"
    path.write_text("\ufeffrdf:C[rdf:x] .\n", encoding="utf-8")
    program = parse_file(path)
    assert program.name == "small"
    assert program.rules[0].span == Span(str(path), 1, 1, "rdf:C[rdf:x] .")


def test_unreadable_files(tmp_path: Path) -> None:
    missing = tmp_path / "missing.dlog"
    with pytest.raises(InputError, match=r"cannot read the rule file .*missing.dlog: No such file"):
        parse_file(missing)
    missing.write_bytes(b"# \xff")
    with pytest.raises(InputError, match=r"is not UTF-8: byte 2 is wrong"):
        parse_file(missing)


def test_importing_the_language_loads_no_parser() -> None:
    code = "import sys, corollary.language; sys.exit('lark' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
