"""The naive evaluator on cases whose answers are known by hand."""

from __future__ import annotations

from itertools import pairwise

import pytest
from tests.oracles.naive import FIRST, NIL, REST, Fact, Pairs, closure, visible

from corollary.language.model import (
    IRI,
    RDF_TYPE,
    XSD,
    Aggregate,
    AggregateBinding,
    Bind,
    BlankNode,
    BodyElement,
    Builtin,
    Call,
    Chain,
    Constant,
    Each,
    Filter,
    Literal,
    Not,
    Rule,
    Term,
    Triple,
    Variable,
)
from corollary.language.program import Program

X, Y, Z, U, V, N = map(Variable, "xyzuvn")


def iri(name: str) -> IRI:
    return IRI("http://example.org/" + name)


def integer(value: int) -> Literal:
    return Literal(str(value), XSD + "integer")


def pairs(predicate: str, text: str) -> set[Fact]:
    """Facts of one predicate: ``pairs("p", "ab bc")`` is a p b, b p c."""
    return {(iri(pair[0]), iri(predicate), iri(pair[1])) for pair in text.split()}


def atom(subject: Term, predicate: str, object_: Term) -> Triple:
    return Triple(subject, iri(predicate), object_)


def rule(head: Triple, *body: BodyElement) -> Rule:
    return Rule((head,), body)


def facts_of(facts: set[Fact], predicate: str) -> set[Fact]:
    return {fact for fact in facts if fact[1] == iri(predicate)}


def rdf_list(name: str, *items: Constant) -> set[Fact]:
    """A well-formed list whose nodes are blank nodes name0, name1 ..."""
    nodes: list[Constant] = [*(BlankNode(f"{name}{i}") for i in range(len(items))), NIL]
    cells: set[Fact] = set()
    for item, (node, following) in zip(items, pairwise(nodes), strict=True):
        cells |= {(node, FIRST, item), (node, REST, following)}
    return cells


def infer(facts: set[Fact], *rules: Rule) -> set[Fact]:
    return closure(facts, Program(rules))[0]


def test_transitivity() -> None:
    transitive = rule(atom(X, "p", Z), atom(X, "p", Y), atom(Y, "p", Z))
    assert infer(pairs("p", "ab bc cd"), transitive) == pairs("p", "ab bc cd ac bd ad")


def test_symmetry_and_transitivity_connect_everything() -> None:
    rules = (
        rule(atom(X, "p", Z), atom(X, "p", Y), atom(Y, "p", Z)),
        rule(atom(Y, "p", X), atom(X, "p", Y)),
    )
    everything = pairs("p", "aa ab ac ba bb bc ca cb cc")
    assert infer(pairs("p", "ab bc"), *rules) == everything


def test_same_generation() -> None:
    rules = (
        rule(atom(X, "sg", Y), atom(X, "flat", Y)),
        rule(atom(X, "sg", Y), atom(X, "up", U), atom(U, "sg", V), atom(V, "down", Y)),
    )
    given = pairs("up", "ae bf") | pairs("flat", "ef") | pairs("down", "fc fd")
    assert facts_of(infer(given, *rules), "sg") == pairs("sg", "ef ac ad")


def test_repeated_variable_and_variable_predicate() -> None:
    same = rule(Triple(X, RDF_TYPE, Y), Triple(X, Y, X))
    facts = pairs("p", "aa ab") | pairs("q", "bb")
    assert infer(facts, same) - facts == {(iri("a"), RDF_TYPE, iri("p")), (iri("b"), RDF_TYPE, iri("q"))}


def test_rule_without_body_states_a_fact() -> None:
    assert infer(set(), rule(atom(iri("a"), "p", iri("b")))) == pairs("p", "ab")


def test_literal_subjects_are_kept_but_not_visible() -> None:
    turn = rule(atom(Y, "q", X), atom(X, "p", Y))
    facts = infer({(iri("a"), iri("p"), integer(1))}, turn)
    assert (integer(1), iri("q"), iri("a")) in facts
    assert visible(facts) == {(iri("a"), iri("p"), integer(1))}


def test_constraints_are_named_and_derive_nothing() -> None:
    constraints = Program((Rule((), (atom(X, "p", X),), "irreflexive"), Rule((), (atom(X, "q", Y),), "no q")))
    assert closure(pairs("p", "ab bb"), constraints) == (pairs("p", "ab bb"), {"irreflexive"})


def test_win_move_on_an_acyclic_board() -> None:
    """A position wins if some move leads to one that has no winning move; here in two layers."""
    rules = (
        rule(Triple(X, RDF_TYPE, iri("Movable")), atom(X, "move", Y)),
        rule(
            Triple(X, RDF_TYPE, iri("Wins")),
            atom(X, "move", Y),
            Not((Triple(Y, RDF_TYPE, iri("Movable")),)),
        ),
    )
    facts = infer(pairs("move", "ab bc ac"), *rules)
    assert {fact[0] for fact in facts if fact[2] == iri("Wins")} == {iri("a"), iri("b")}


def test_unreachable_pairs_need_the_closure_first() -> None:
    rules = (
        rule(atom(X, "apart", Y), Triple(X, RDF_TYPE, U), Triple(Y, RDF_TYPE, U), Not((atom(X, "r", Y),))),
        rule(atom(X, "r", Z), atom(X, "r", Y), atom(Y, "r", Z)),
    )
    nodes: set[Fact] = {(iri(name), RDF_TYPE, iri("Node")) for name in "abc"}
    facts = infer(pairs("r", "ab bc") | nodes, *rules)
    assert facts_of(facts, "apart") == pairs("apart", "aa bb cc ba cb ca")


def test_variables_of_a_negation_alone_are_existential() -> None:
    leaf = rule(atom(Y, "leaf", Y), atom(X, "p", Y), Not((atom(Y, "p", Z), atom(Z, "q", Z))))
    facts = infer(pairs("p", "ab bc") | pairs("q", "cc"), leaf)
    assert facts_of(facts, "leaf") == pairs("leaf", "cc")


def test_negation_that_depends_on_itself_is_refused() -> None:
    wins = rule(atom(X, "wins", X), atom(X, "move", Y), Not((atom(Y, "wins", Y),)))
    with pytest.raises(ValueError, match="depends on itself"):
        infer(pairs("move", "ab"), wins)


def test_filter_and_bind() -> None:
    older = rule(
        atom(X, "next", N),
        atom(X, "age", Y),
        Filter(Call("<", (Y, integer(18)))),
        Bind(Call("+", (Y, integer(1))), N),
    )
    ages: set[Fact] = {
        (iri("a"), iri("age"), integer(17)),
        (iri("b"), iri("age"), integer(18)),
        (iri("c"), iri("age"), iri("unknown")),
    }
    assert infer(ages, older) - ages == {(iri("a"), iri("next"), integer(18))}


def test_bind_of_a_bound_variable_compares() -> None:
    successor = rule(atom(X, "s", Y), atom(X, "n", Y), Bind(Call("+", (Y, integer(0))), Y))
    given: set[Fact] = {(iri("a"), iri("n"), integer(1)), (iri("a"), iri("n"), iri("b"))}
    assert infer(given, successor) - given == {(iri("a"), iri("s"), integer(1))}


@pytest.mark.parametrize(
    ("function", "lexical", "datatype"),
    [
        ("count", "3", "integer"),
        ("sum", "6", "integer"),
        ("min", "1", "integer"),
        ("max", "3", "integer"),
        ("avg", "2", "decimal"),
        ("median", "2", "decimal"),
    ],
)
def test_aggregates_by_group(function: str, lexical: str, datatype: str) -> None:
    given: set[Fact] = {(iri("a"), iri("score"), integer(n)) for n in (1, 2, 3)}
    body = Aggregate((atom(X, "score", Y),), (X,), (AggregateBinding(function, Y, N),))
    derived = infer(given, rule(atom(X, "result", N), body)) - given
    assert derived == {(iri("a"), iri("result"), Literal(lexical, XSD + datatype))}


def test_aggregate_waits_for_what_it_counts() -> None:
    count = Aggregate((atom(X, "r", Y),), (X,), (AggregateBinding("count", Y, N),))
    rules = (
        rule(atom(X, "reaches", N), count),
        rule(atom(X, "r", Z), atom(X, "r", Y), atom(Y, "r", Z)),
    )
    facts = infer(pairs("r", "ab bc"), *rules)
    assert facts_of(facts, "reaches") == {
        (iri("a"), iri("reaches"), integer(2)),
        (iri("b"), iri("reaches"), integer(1)),
    }


def test_member_and_repeated() -> None:
    a, b = iri("a"), iri("b")
    given = rdf_list("l", a, b, a)
    given |= {(BlankNode("open"), FIRST, iri("c")), (BlankNode("loop"), FIRST, iri("d"))}
    given |= {(BlankNode("loop"), REST, BlankNode("loop"))}
    facts = infer(
        given,
        rule(atom(X, "member", Y), Builtin("MEMBER", (X, Y))),
        rule(atom(X, "repeated", Y), Builtin("REPEATED", (X, Y))),
    )
    l0, l1, l2 = (BlankNode(f"l{i}") for i in range(3))
    member, repeated = iri("member"), iri("repeated")
    assert facts - given == {(l0, member, a), (l0, member, b), (l1, member, b), (l1, member, a)} | {
        (l2, member, a),
        (l0, repeated, a),
    }


def test_branching_list_is_read_in_every_way() -> None:
    given = rdf_list("l", iri("a"), iri("b")) | {(BlankNode("l1"), FIRST, iri("c"))}
    both = rule(
        Triple(X, RDF_TYPE, Y),
        atom(Y, "allOf", Z),
        Each(U, Z, (Triple(X, RDF_TYPE, U),)),
    )
    given |= {(iri("Both"), iri("allOf"), BlankNode("l0"))}
    given |= {(iri(x), RDF_TYPE, iri(c)) for x, c in ("xa", "xb", "ya", "yc", "zb", "zc")}
    assert infer(given, both) - given == {(iri(x), RDF_TYPE, iri("Both")) for x in "xy"}


def test_each_makes_fresh_variables_for_every_item() -> None:
    """A key of two properties: both values must be shared, and the two values are not the same one."""
    key = rule(
        atom(X, "same", Y),
        atom(U, "hasKey", Z),
        Triple(X, RDF_TYPE, U),
        Triple(Y, RDF_TYPE, U),
        Each(V, Z, (Triple(X, V, N), Triple(Y, V, N))),
    )
    given = rdf_list("k", iri("p"), iri("q")) | {(iri("C"), iri("hasKey"), BlankNode("k0"))}
    given |= {(iri(x), RDF_TYPE, iri("C")) for x in "abc"}
    given |= pairs("p", "a1 b1 c1") | pairs("q", "a2 b2 c3")
    assert infer(given, key) - given == pairs("same", "aa bb cc ab ba")


def test_chain_follows_a_list_of_properties() -> None:
    chain = rule(Triple(X, Z, Y), atom(Z, "chain", U), Chain(U, X, Y))
    given = rdf_list("c", iri("p"), iri("q"), iri("p")) | {(iri("r"), iri("chain"), BlankNode("c0"))}
    given |= {(iri("none"), iri("chain"), NIL)}
    given |= pairs("p", "ab cd") | pairs("q", "bc")
    assert facts_of(infer(given, chain), "r") == pairs("r", "ad")
    assert not facts_of(infer(given, chain), "none")


def test_relations_over_literals_are_supplied() -> None:
    ill = Rule((), (Builtin("ILL_TYPED", (X, Y)),), "dt-not-type")
    bad = Literal("a", XSD + "integer")
    given: set[Fact] = {(iri("a"), iri("p"), bad)}

    def all_of_them(literals: set[Literal]) -> Pairs:
        return {(literal, iri("d")) for literal in literals}

    relations = {"ILL_TYPED": all_of_them}
    assert closure(given, Program((ill,)), relations) == (given, {"dt-not-type"})
    with pytest.raises(KeyError):
        closure(given, Program((ill,)))
