"""What docs/rules.md shows is in the language, and it lists what there is."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from corollary.language import (
    AGGREGATES,
    BUILTIN_NAMES,
    FUNCTIONS,
    LIST_PATTERNS,
    UnsafeRuleError,
    check,
    parse_program,
)

PAGE = (Path(__file__).parents[2] / "docs" / "rules.md").read_text(encoding="utf-8")


@pytest.mark.parametrize("block", re.findall(r"```dlog\n(.*?)```", PAGE, re.DOTALL))
def test_dlog_blocks_parse_and_are_safe(block: str) -> None:
    check(parse_program(block, "docs/rules.md"))


def test_python_blocks_run() -> None:
    blocks = re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL)
    assert blocks
    for block in blocks:
        exec(compile(block, "docs/rules.md", "exec"), {})


def test_the_error_shown_is_the_error_given() -> None:
    (shown,) = re.findall(r"```text\n(.*?)\n```", PAGE, re.DOTALL)
    with pytest.raises(UnsafeRuleError) as caught:
        check(parse_program("PREFIX : <urn:>\n\n:Cat[?y] :- :Animal[?x] .", "zoo.dlog"))
    assert str(caught.value) == shown


def test_every_function_is_listed() -> None:
    words = set(re.findall(r"\w+", PAGE.lower()))
    names = (*BUILTIN_NAMES, *LIST_PATTERNS)
    assert {*FUNCTIONS, *AGGREGATES, *map(str.lower, names)} <= words
