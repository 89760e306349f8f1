"""What is printed reads back as the same program, and looks as people expect."""

from __future__ import annotations

from hypothesis import given
from tests.language.strategies import programs

from corollary.language import (
    IRI,
    XSD,
    Call,
    Filter,
    Literal,
    Not,
    Program,
    Rule,
    Triple,
    Variable,
    format_program,
    format_rule,
    parse_program,
)


@given(programs)
def test_round_trip(program: Program) -> None:
    text = format_program(program)
    again = parse_program(text)
    assert again == program
    assert [rule.name for rule in again] == [rule.name for rule in program]
    assert format_program(again) == text


def test_format_program() -> None:
    text = """\
PREFIX : <http://example.org/>

@name cax-sco
[?x, a, ?d] :- [?c, rdfs:subClassOf, ?d], [?x, a, ?c] .

@name family
:Person[:ann], [:ann, :knows, :bob] .
@name family
[:bob, :age, 42] .

false :-
    :Person[?x],
    [?x, :age, ?age],
    NOT :Ghost[?x],
    NOT EXISTS ?y IN ([?x, :knows, ?y], :Person[?y]),
    FILTER(!bound(?age) || -?age > -(3) && (?age + 1) * 2 NOT IN (1.5, "x"@en)) .
"""
    assert format_program(parse_program(text)) == text


def test_only_prefixes_in_use_are_declared() -> None:
    program = parse_program("PREFIX ex: <urn:ex:> PREFIX no: <urn:no:> [ex:a, rdf:type, <urn:no:>] .")
    assert format_program(program) == "PREFIX ex: <urn:ex:>\n\n<urn:no:>[ex:a] .\n"


def test_the_longest_namespace_wins() -> None:
    program = parse_program("PREFIX e: <urn:> PREFIX f: <urn:x:> [<urn:x:a>, e:p, <urn:y:a>] .")
    assert format_rule(program.rules[0], program.prefixes) == "[f:a, e:p, <urn:y:a>] ."


def test_a_predeclared_prefix_may_mean_something_else() -> None:
    program = parse_program("PREFIX rdf: <urn:r:> [rdf:a, a, ?c], rdf:type[rdf:a] :- [rdf:a, rdf:type, ?c] .")
    assert parse_program(format_program(program)) == program


def test_format_rule_without_prefixes() -> None:
    (rule,) = parse_program("PREFIX : <urn:> @name n\n:C[?x] :- [?x, rdfs:label, 'a'] .")
    assert format_rule(rule) == '<urn:C>[?x] :- [?x, rdfs:label, "a"] .'


def test_long_facts_have_a_line_for_each_head() -> None:
    text = ",\n".join(f"[<urn:a-long-name>, <urn:another-long-name>, {i}]" for i in range(3)) + " .\n"
    assert format_program(parse_program(text)) == text


def test_the_same_negation_twice() -> None:
    """A variable of two negations is printed without EXISTS, which would tell the two apart."""
    x, y = Variable("x"), Variable("y")
    negation = Not((Triple(x, y, x),))
    program = Program((Rule((), (Triple(x, x, x), negation, negation)),))
    assert parse_program(format_program(program)) == program


def test_minus_before_a_number() -> None:
    five = Literal("5", XSD + "integer")
    minus = Rule((), (Filter(Call("-", (five,))),))
    assert format_rule(minus) == "false :- FILTER(-(5)) ."
    assert parse_program(format_rule(minus)).rules == (minus,)


def test_what_a_terminal_would_obey_is_escaped() -> None:
    """Controls, and characters that turn the direction of a text, print as escapes and read back."""
    hostile = "a\x1b[2Jb\x7f\x9b2J\u202ec\u2028\u2066"
    rule = Rule((Triple(IRI(f"urn:{hostile}"), IRI("urn:p"), Literal(hostile)),), ())
    text = format_rule(rule)
    assert text.isascii()
    assert text.isprintable()
    assert parse_program(text).rules == (rule,)
