"""Proofs in HTML can be read in the light and in the dark: contrasts as the WCAG 2.1 asks, 4.5 and more."""

import re

import pytest

from corollary.explain.html import STYLE

FORMS = [dict(re.findall(r"--(\w+): #(\w+);", block)) for block in STYLE.split("@media")]
PAIRS = [
    *((text, "paper") for text in ("ink", "soft", "faint")),
    *(("ink", chip) for chip in ("stated", "inferred", "false", "button")),
]


def luminance(colour: str) -> float:
    digits = "".join(2 * digit for digit in colour) if len(colour) == 3 else colour
    parts = [int(digits[place : place + 2], 16) / 255 for place in (0, 2, 4)]
    red, green, blue = (
        part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts
    )
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


@pytest.mark.parametrize(("text", "ground"), PAIRS)
@pytest.mark.parametrize("form", FORMS, ids=["light", "dark"])
def test_contrast(form: dict[str, str], text: str, ground: str) -> None:
    less, more = sorted(luminance(form[name]) for name in (text, ground))
    assert (more + 0.05) / (less + 0.05) >= 4.5


def test_the_ground_is_its_own() -> None:
    assert "background: var(--paper); color: var(--ink)" in STYLE
    assert FORMS[0].keys() == FORMS[1].keys()
