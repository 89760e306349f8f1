"""Labels of blank nodes: the scope of a label is one document.

A document's label is kept if the dictionary does not have it yet. Labels of earlier documents, and the random
names that parsers give to anonymous nodes, are replaced by short new labels. So the same files always give
the same texts.
"""

from __future__ import annotations

import re
from itertools import count

from corollary.terms.dictionary import Kind, TermDictionary

_ANONYMOUS = re.compile(r"_:[a-f][0-9a-f]{27,31}")

ANONYMOUS_LENGTHS = range(30, 35)
"""The possible lengths of such random names, in characters."""


def is_anonymous(text: str) -> bool:
    """Whether a label looks like a parser's random name for an anonymous node."""
    return _ANONYMOUS.fullmatch(text) is not None


def free_label(text: str, dictionary: TermDictionary) -> str:
    """The label ``text``; if the label is random or in the dictionary, a derived label that is free."""
    if not is_anonymous(text) and dictionary.find(text) is None:
        return text
    first = dictionary.count(Kind.BLANK_NODE) + 1
    return next(label for n in count(first) if dictionary.find(label := label_like(text, n)) is None)


def label_like(text: str, number: int) -> str:
    """A candidate to replace a label: ``_:b7`` for a random name, ``_:x-7`` for ``_:x``."""
    return f"_:b{number}" if is_anonymous(text) else f"{text}-{number}"
