"""Golden explanations: a file has a program, a line ``== facts``, facts, a line ``== plan``, the explanation.

After a change that is meant, ``python -m tests.plan.golden`` in the project's folder writes all
explanations anew; read what changed before you keep it.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from tests.engine import Fact, run

from corollary.language import parse_program
from corollary.plan.explain import Explanation, explanation_text

FILES = sorted((Path(__file__).parent / "golden").glob("*.txt"))
FACTS, PLAN = "== facts\n", "== plan\n"


def parts(file: Path) -> tuple[str, str]:
    """What a file asks (program and facts), and the explanation it has."""
    question, _, plan = file.read_text().partition(PLAN)
    return question, plan


def explanation(file: Path) -> Explanation:
    """The explanation of a file's program over its facts, as data."""
    rules, _, data = parts(file)[0].partition(FACTS)
    prefixes = "".join(line for line in rules.splitlines(keepends=True) if line.startswith("PREFIX"))
    facts: list[Fact] = [
        head.terms  # type: ignore[misc]
        for rule in parse_program(prefixes + data)
        for head in rule.heads
    ]
    program = replace(parse_program(rules), name=file.stem)
    return run(facts, program).explain_plan()


def explain(file: Path) -> str:
    """The same as text."""
    return explanation_text(explanation(file))


if __name__ == "__main__":
    for path in FILES:
        path.write_text(parts(path)[0] + PLAN + explain(path))
