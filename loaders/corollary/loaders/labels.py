"""Labels of blank nodes: a label means the same node in one document only.

They are kept while they are free; a label that another document has taken, and the random names that
parsers give to anonymous nodes, become short new ones, so the same files always give the same text.
"""

from __future__ import annotations

import re
from itertools import count

from corollary.terms.dictionary import Kind, TermDictionary

_ANONYMOUS = re.compile(r"_:[a-f][0-9a-f]{27,31}")

ANONYMOUS_LENGTHS = range(30, 35)
"""How long the random names are."""


def is_anonymous(text: str) -> bool:
    """Whether a label looks like a parser's random name for a node without one."""
    return _ANONYMOUS.fullmatch(text) is not None


def free_label(text: str, dictionary: TermDictionary) -> str:
    """The label itself, or if it is a random one or taken, a free one like it."""
    if not is_anonymous(text) and dictionary.find(text) is None:
        return text
    first = dictionary.count(Kind.BLANK_NODE) + 1
    return next(label for n in count(first) if dictionary.find(label := label_like(text, n)) is None)


def label_like(text: str, number: int) -> str:
    """A label to try in the place of another."""
    return f"_:b{number}" if is_anonymous(text) else f"{text}-{number}"
