"""Regular expressions that are compiled when they are first used."""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import cached_property


class LazyPattern:
    """A regular expression whose compilation waits for its first use.

    The character classes of XML and the grammars of datatypes take 20 ms to compile, which every new process
    would wait for, and most processes use few of them.
    """

    def __init__(self, text: str) -> None:
        self._text = text

    @cached_property
    def fullmatch(self) -> Callable[[str], re.Match[str] | None]:
        """The match of the whole text, or None."""
        return re.compile(self._text).fullmatch
