"""The options of a store: those of its reasoner, and what queries and updates may reach."""

from __future__ import annotations

import os
from dataclasses import dataclass, replace

from corollary.language import CorollaryError
from corollary.reasoner.options import Options, Rule

ACCESS = ("none", "files", "network", "all")

EXTERNAL = "COROLLARY_EXTERNAL"
"""The environment variable with the default of ``external``."""


def known_access(text: str, name: str) -> str:
    """The text, if it says what may be reached; else CorollaryError."""
    if text not in ACCESS:
        raise CorollaryError(f"{name}={text}: queries and updates may reach {', '.join(ACCESS[:-1])} or all")
    return text


@dataclass(frozen=True)
class StoreOptions(Options):
    """The options of a store.

    ``external`` is what queries and updates may reach: ``none``, ``files``, ``network`` or ``all``; if it is
    None the environment variable COROLLARY_EXTERNAL says it.
    """

    external: str | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.external is not None:
            known_access(self.external, "external")

    @property
    def access(self) -> str:
        """What queries and updates may reach. CorollaryError if the environment says something else."""
        if self.external is not None:
            return self.external
        return known_access(os.environ.get(EXTERNAL) or "none", EXTERNAL)

    def configured(self, text: str) -> tuple[StoreOptions, str | None]:
        """The options after a string such as ``rules=rdfs;rules=family.dlog;inferred=apart``.

        The other result is what is no option: the place of a store, or None. CorollaryError for an option
        that does not exist, and for a second place.
        """
        options, place = replace(self, read_only=False), None
        rules: list[Rule] = []
        for part in map(str.strip, text.split(";")):
            name, equals, value = part.partition("=")
            if name == "rules" and equals:
                rules.append(value)
                options = replace(options, rules=rules)
            elif name == "inferred" and equals:
                options = replace(options, inferred=value)
            elif name == "external" and equals:
                options = replace(options, external=value)
            elif name == "limits" and equals:
                options = replace(options, limits=value)
            elif name == "read_only" and equals:
                if value not in ("yes", "no"):
                    raise CorollaryError(f"{part!r}: read_only=yes opens a folder that others may read too")
                options = replace(options, read_only=value == "yes")
            elif equals and name.isidentifier():
                raise CorollaryError(
                    f"{part!r} is no option of the store; try rules=owl2rl or inferred=apart"
                )
            elif part and place is None:
                place = part
            elif part:
                raise CorollaryError(f"{place!r} and {part!r} are two places; a store is kept in one folder")
        return options, place
