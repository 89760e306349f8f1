"""Which rules may compute terms without end."""

from __future__ import annotations

import pytest

from corollary.language import parse_program
from corollary.profiles import load_profile, profile_names
from corollary.program.invention import unending

PREFIXES = "PREFIX : <http://example.org/>\nPREFIX rdf: <http://www.w3.org/1999/02/22-rdf-syntax-ns#>\n"
COUNT = "[?x, :n, ?m] :- [?x, :n, ?k], BIND(?k + 1 AS ?m) ."


@pytest.mark.parametrize(
    "rules",
    [
        COUNT,
        "[?x, :m, ?m] :- [?x, :n, ?k], BIND(?k + 1 AS ?m) . [?x, :n, ?m] :- [?x, :m, ?m] .",
        "[?y, :d, ?m] :- [?x, :edge, ?y], [?x, :d, ?k], BIND(?k + 1 AS ?m) .",
        "[?x, ?p, ?m] :- [?x, ?p, ?k], BIND(?k + 1 AS ?m) .",
        '[?x, :n, ?m] :- [?x, ?p, ?k], BIND(CONCAT(STR(?k), "a") AS ?m) .',
        '[?x, ?p, ?m] :- [?x, :n, ?k], [?x, :a, ?p], BIND(CONCAT(?k, "a") AS ?m) .',
        ':C[?c] :- :C[?f], BIND(IRI(CONCAT(STR(?f), "x")) AS ?c) .',
        '[?c, rdf:type, ?t] :- [?f, rdf:type, ?t], BIND(IRI(CONCAT(STR(?f), "x")) AS ?c) .',
        ':C[?c] :- [?f, rdf:type, ?t], BIND(IRI(CONCAT(STR(?f), "x")) AS ?c) .',
        "[?j, :n, ?x] :- [?k, :n, ?x], BIND(?m AS ?j), BIND(?k + 1 AS ?m) .",
        "[?m, :n, ?x] :- [?x, :n, ?k], BIND(?k * 2 AS ?m) .  [?x, :n, ?y] :- [?y, :n, ?x] .",
        "[?x, :n, ?m] :- [?x, :n, ?k], BIND(IF(?k < 5, ?k, ?k + 1) AS ?m) .",
    ],
)
def test_unending(rules: str) -> None:
    program = parse_program(PREFIXES + rules)
    assert list(unending(program)) == [rule for rule in program if "BIND" in repr(rule).upper()]


@pytest.mark.parametrize(
    "rules",
    [
        "[?x, :m, ?m] :- [?x, :n, ?k], BIND(?k + 1 AS ?m) .",
        "[?x, :m, ?m] :- [?x, :n, ?k], BIND(?k + 1 AS ?m) . [?x, :o, ?m] :- [?x, :m, ?m] .",
        "[?m, :n, :a] :- [?x, :n, ?k], BIND(?k + 1 AS ?m) .",
        ':D[?c] :- :C[?f], BIND(IRI(CONCAT(STR(?f), "x")) AS ?c) .',
        "[?x, :n, ?m] :- [?x, :n, ?k], BIND(UCASE(?k) AS ?m) .",
        "[?x, :n, ?m] :- [?x, :n, ?k], BIND(-?k AS ?m) .",
        "[?x, :n, ?m] :- [?x, :n, ?k], BIND(?k AS ?m) .",
        "[?x, :full, ?c] :- [?x, :a, ?f], [?x, :b, ?l], BIND(CONCAT(?f, ?l) AS ?c) ."
        "[?x, ?q, ?y] :- [?p, :sub, ?q], [?x, ?p, ?y] .",
    ],
)
def test_ending(rules: str) -> None:
    assert unending(parse_program(PREFIXES + rules)) == []


@pytest.mark.parametrize("name", profile_names())
def test_profiles_end(name: str) -> None:
    assert unending(load_profile(name)) == []
    assert len(unending(load_profile(name) + parse_program(PREFIXES + COUNT))) == 1
