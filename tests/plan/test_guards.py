"""Which atoms of a rule are guards: those that bind what other atoms use as predicate or class.

``owl2rl_guards.txt`` has a line for every rule of owl2rl that has guards: the rule's name, its guards,
a bar, its data atoms. Rules over lists stand there for lists of two.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from corollary.language import Builtin, Program, Triple, format_element, parse_program
from corollary.profiles import load_profile
from corollary.program.compile import CompiledRule
from corollary.program.compiled_program import CompiledProgram
from corollary.terms.dictionary import TermDictionary

PREFIX = "PREFIX : <http://example.org/>\n"


def guards_and_data(rule: CompiledRule, program: Program) -> tuple[str, str]:
    elements = [element for element in rule.source.body if isinstance(element, Triple | Builtin)]
    texts = [format_element(element, program.prefixes) for element in elements]
    return ", ".join(texts[i] for i in sorted(rule.guards)), ", ".join(texts[i] for i in rule.data)


def test_owl2rl() -> None:
    program = load_profile("owl2rl")
    compiled = CompiledProgram(program, TermDictionary())
    compiled.unroll([2])
    found = sorted(
        f"{rule.label}: {' | '.join(guards_and_data(rule, program))}"
        for rule in compiled.rules
        if rule.guards
    )
    assert found == (Path(__file__).parent / "owl2rl_guards.txt").read_text().splitlines()


@pytest.mark.parametrize("profile", ["owl2rl", "owl2rl-full", "rdfs", "rhodf", "rdfs-plus"])
def test_rules_among_schema_have_no_guards(profile: str) -> None:
    program = load_profile(profile)
    for rule in CompiledProgram(program, TermDictionary()).rules:
        if rule.label.startswith("scm-"):
            assert not rule.guards, rule.label


@pytest.mark.parametrize(
    ("text", "guards", "data"),
    [
        pytest.param(":B[?x] :- :A[?x], [?x, :p, ?y] .", "", ":A[?x], [?x, :p, ?y]", id="nothing is open"),
        pytest.param(
            "[?x, ?q, ?y] :- [?p, :below, ?q], [?x, ?p, ?y] .",
            "[?p, :below, ?q]",
            "[?x, ?p, ?y]",
            id="a predicate",
        ),
        pytest.param(
            "[?x, a, ?d] :- [?c, :below, ?d], [?x, a, ?c] .", "[?c, :below, ?d]", "[?x, a, ?c]", id="a class"
        ),
        pytest.param(
            "[?x, :p, ?d] :- [?x, :in, ?d], [?d, a, ?c] .", "", "[?x, :in, ?d], [?d, a, ?c]", id="no class"
        ),
        pytest.param(
            "[?x, ?p, ?y] :- [?x, ?p, ?y] .",
            "",
            "[?x, ?p, ?y]",
            id="an open predicate with nothing to bind it",
        ),
        pytest.param(
            "[?x, a, ?c] :- [?l, :of, ?c], MEMBER(?l, ?p), [?x, ?p, ?y] .",
            "[?l, :of, ?c], MEMBER(?l, ?p)",
            "[?x, ?p, ?y]",
            id="a list",
        ),
        pytest.param(
            "[?x, ?p, ?z] :- [?p, :via, ?m], [?m, :on, ?k], [?k, :on, ?p], [?x, ?p, ?z] .",
            "[?p, :via, ?m], [?m, :on, ?k], [?k, :on, ?p]",
            "[?x, ?p, ?z]",
            id="what hangs on guards",
        ),
        pytest.param(
            ":B[?x] :- [?x, ?p, ?y], [?x, :uses, ?p] .",
            "",
            "[?x, ?p, ?y], [?x, :uses, ?p]",
            id="bound by data",
        ),
    ],
)
def test_small_rules(text: str, guards: str, data: str) -> None:
    program = parse_program(PREFIX + text)
    (rule,) = CompiledProgram(program, TermDictionary()).rules
    assert guards_and_data(rule, program) == (guards, data)
