"""The options of a store: those of its reasoner, and the external access of queries and updates."""

from __future__ import annotations

import os
from dataclasses import dataclass, replace
from typing import Any

from corollary.language import CorollaryError
from corollary.reasoner.options import Options, Rule

ACCESS = ("none", "files", "network", "all")
"""The values of ``external``."""

EXTERNAL = "COROLLARY_EXTERNAL"
"""The environment variable with the default value of ``external``."""


def known_access(text: str, name: str) -> str:
    """Return ``text`` if it is in ``ACCESS``. Raises CorollaryError, which names the option, if not."""
    if text not in ACCESS:
        raise CorollaryError(f"{name}={text}: queries and updates may reach {', '.join(ACCESS[:-1])} or all")
    return text


@dataclass(frozen=True)
class StoreOptions(Options):
    """The options of a store.

    ``external`` is what queries and updates may access outside of the store: ``none``, ``files``, ``network``
    or ``all``. None stands for the value of the environment variable COROLLARY_EXTERNAL.
    """

    external: str | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.external is not None:
            known_access(self.external, "external")

    @property
    def access(self) -> str:
        """The access of queries and updates. Raises CorollaryError for a bad value in the environment."""
        if self.external is not None:
            return self.external
        return known_access(os.environ.get(EXTERNAL) or "none", EXTERNAL)

    def configured(self, text: str) -> tuple[StoreOptions, str | None]:
        """Parse a configuration string such as ``pets;rules=rdfs;rules=family.dlog;inferred=apart``.

        Returns the changed options, and the part that is no option: the place of a store (``pets``), or None.
        Raises CorollaryError for an unknown option, and for a second place.
        """
        options, place = replace(self, read_only=False), None
        rules: list[Rule] = []
        for part in map(str.strip, text.split(";")):
            name, equals, value = part.partition("=")
            if name == "rules" and equals:
                rules.append(value)
                options = replace(options, rules=rules)
            elif name in ("inferred", "external", "limits") and equals:
                given: dict[str, Any] = {name: value}
                options = replace(options, **given)
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
