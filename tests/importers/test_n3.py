"""N3 rules: what they become, what follows from them, and what is refused."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.engine import close

from corollary.importers.n3 import n3_rules
from corollary.language import InputError, RuleSyntaxError, check, parse_program
from corollary.profiles import load_rules

PREFIXES = """
@prefix : <http://example.org/> .
@prefix math: <http://www.w3.org/2000/10/swap/math#> .
@prefix string: <http://www.w3.org/2000/10/swap/string#> .
@prefix list: <http://www.w3.org/2000/10/swap/list#> .
@prefix log: <http://www.w3.org/2000/10/swap/log#> .
@prefix time: <http://www.w3.org/2000/10/swap/time#> .
"""

TRANSLATIONS = [
    ("{ ?x :parent ?y } => { ?y :child ?x } .", "[?y, :child, ?x] :- [?x, :parent, ?y] ."),
    ("{ ?y :child ?x } <= { ?x :parent ?y } .", "[?y, :child, ?x] :- [?x, :parent, ?y] ."),
    ("{ ?x ?p ?y . ?p a :P } => { ?y a :C, :D } .", ":C[?y], :D[?y] :- [?x, ?p, ?y], :P[?p] ."),
    ("{ ?x a :Cat, :Dog } => false .", "false :- :Cat[?x], :Dog[?x] ."),
    ('{} => { :a :b "c"@en } .', '[:a, :b, "c"@en] .'),
    ("true => { :a :b 1.5 } .", "[:a, :b, 1.5] ."),
    (":a :b :c .", "[:a, :b, :c] ."),
    ("{ ?x :p [ :q ?y ] } => { ?x :r ?y } .", "[?x, :r, ?y] :- [?node, :q, ?y], [?x, :p, ?node] ."),
    (
        "{ ?x :age ?a . ?a math:notLessThan 18 } => { ?x a :A } .",
        ":A[?x] :- [?x, :age, ?a], FILTER(?a >= 18) .",
    ),
    (
        "{ ?x :w ?w ; :h ?h . (?w ?h 2) math:product ?a } => { ?x :area ?a } .",
        "[?x, :area, ?a] :- [?x, :h, ?h], [?x, :w, ?w], BIND(?w * ?h * 2 AS ?a) .",
    ),
    (
        "{ ?x :w ?w ; :h ?h . ?w math:absoluteValue ?h } => { ?x a :P } .",
        ":P[?x] :- [?x, :h, ?h], [?x, :w, ?w], FILTER(abs(?w) = ?h) .",
    ),
    (
        '{ ?x :first ?f . (?f "!") string:concatenation ?n } => { ?x :name ?n } .',
        '[?x, :name, ?n] :- [?x, :first, ?f], BIND(concat(str(?f), str("!")) AS ?n) .',
    ),
    (
        '{ ?x :n ?n . ?n string:notMatches "^a" . ?x log:notEqualTo :b } => { ?x a :P } .',
        ':P[?x] :- [?x, :n, ?n], FILTER(!(regex(?n, "^a"))), FILTER(!(sameTerm(?x, :b))) .',
    ),
    (
        "{ ?x :on ?d . ?d time:year ?y } => { ?x :year ?y } .",
        "[?x, :year, ?y] :- [?x, :on, ?d], BIND(year(?d) AS ?y) .",
    ),
    (
        "{ ?x :k ?k . ?k list:in (:a :b) } => { ?x a :P } .",
        ":P[?x] :- [?x, :k, ?k], FILTER(?k IN (:a, :b)) .",
    ),
    ("{ ?x :l ?l . ?l list:member ?m } => { ?x :m ?m } .", "[?x, :m, ?m] :- [?x, :l, ?l], MEMBER(?l, ?m) ."),
    (
        "{ ?x a :P . ?all log:notIncludes { ?x :child ?y . ?y a :P } } => { ?x a :Q } .",
        ":Q[?x] :- :P[?x], NOT EXISTS ?y IN ([?x, :child, ?y], :P[?y]) .",
    ),
]


@pytest.mark.parametrize(("n3", "ours"), TRANSLATIONS, ids=[n3 for n3, _ in TRANSLATIONS])
def test_translations(n3: str, ours: str) -> None:
    program = n3_rules(PREFIXES + n3)
    wanted = parse_program(f"PREFIX : <http://example.org/>\n{ours}")
    assert [set(rule.heads) for rule in program] == [set(rule.heads) for rule in wanted]
    assert [set(rule.body) for rule in program] == [set(rule.body) for rule in wanted]
    check(program)
    assert n3_rules(PREFIXES + n3) == program


def test_rules_are_named_by_their_order(tmp_path: Path) -> None:
    path = tmp_path / "family.n3"
    path.write_text(PREFIXES + "{ ?x :b ?y } => { ?x :z ?y } . { ?x :a ?y } => { ?x :y ?y } .")
    program = load_rules(str(path))
    assert program.name == "family"
    assert [rule.name for rule in program] == ["family-1", "family-2"]
    assert ("", "http://example.org/") in program.prefixes
    assert program.rules[0].heads[0].predicate.value.endswith("z")  # type: ignore[union-attr]


def test_what_follows() -> None:
    program = n3_rules(
        PREFIXES
        + """
        :ann :parent :bob . :bob :parent :cid . :ann :age 40 . :bob :age 17 . _:someone :parent :ann .
        { ?x :parent ?y } => { ?x :ancestor ?y } .
        { ?x :parent ?y . ?y :ancestor ?z } => { ?x :ancestor ?z } .
        { ?x :age ?a . ?a math:greaterThan 17 . (?a 1) math:sum ?next } => { ?x a :Adult ; :turns ?next } .
        { ?x :age ?a . ?x a :Adult . ?a math:lessThan 18 } => false .
        """
    )
    facts, violated = close([], program)
    shown = {
        tuple(getattr(term, "value", getattr(term, "lexical", "")).split("/")[-1] for term in f)
        for f in facts
    }
    assert {
        ("ann", "ancestor", "cid"),
        ("ann", "turns", "41"),
        ("ann", "22-rdf-syntax-ns#type", "Adult"),
    } <= shown
    assert ("bob", "turns", "18") not in shown
    assert sum(fact[1] == "ancestor" for fact in shown) == 3 + 3
    assert not violated


def test_blank_nodes_of_two_documents_are_two() -> None:
    one, other = (n3_rules(PREFIXES + f":a :p [ :q {value} ] .") for value in (1, 2))
    nodes = [{head.subject for rule in program for head in rule.heads} for program in (one, other)]
    assert len(nodes[0] & nodes[1]) == 1  # :a


REFUSED = [
    ("{ ?x :p ?y . ?y math:sin ?z } => { ?x :q ?z } .", "the builtin math#sin is outside", ":8:"),
    ("{ ?x :p ?y } => { ?x :q [ :r ?y ] } .", "makes new blank nodes", None),
    ("{ ?x :p ?y } => { ?x :q (?y) } .", "makes new blank nodes, or a list", None),
    ("{ ?x :says { ?a :b ?c } } => { ?x :r ?c } .", "formulas are no values", ":8:"),
    ("{ ?x :p ?y } => { ?x math:lessThan ?y } .", "stands where only triples can", ":8:"),
    ("{ (1) math:sum ?y } => { :x :q ?y } .", "takes two arguments or more", ":8:"),
    (":a => { :b :c :d } .", "no body of a rule", None),
    ("{ ?x :p ?y } => { ?x no:q ?y } .", 'Prefix "no:" not bound', ":8:"),
    ("{ ?x :p ?y ", "not N3", None),
]


@pytest.mark.parametrize(("n3", "message", "place"), REFUSED, ids=[n3 for n3, _, _ in REFUSED])
def test_what_is_refused(n3: str, message: str, place: str | None) -> None:
    with pytest.raises(RuleSyntaxError) as caught:
        n3_rules(PREFIXES + n3)
    assert message in str(caught.value)
    assert place is None or f"<text>{place}" in str(caught.value)
    assert "help:" in str(caught.value)


def test_all_complaints_come_at_once() -> None:
    with pytest.raises(RuleSyntaxError) as caught:
        n3_rules(PREFIXES + "{ ?x math:sin ?y } => { ?x :q ?y } . { ?x math:cos ?y } => { ?x :q ?y } .")
    assert len(caught.value.diagnostics) == 2


def test_a_file_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"none\.n3"):
        load_rules(str(tmp_path / "none.n3"))
