"""A materialisation whose facts are known: modules and strata are restored when they are first needed.

Readers of facts need no engine. The first change, explanation or list of inconsistencies restores it
(``Engine.restored``), from the relations that it reads.
"""

from __future__ import annotations

from dataclasses import fields
from threading import RLock
from typing import Any

from corollary.columns import TripleIndex
from corollary.columns.relation import Basis
from corollary.evaluate.engine import CannotAdopt
from corollary.evaluate.materialise import MaterialisedView, adopt, materialise
from corollary.kernels.interrupts import held
from corollary.language import Program
from corollary.terms.dictionary import TermDictionary


class KnownClosure(MaterialisedView):
    """The materialisation of ``explicit`` whose I is ``closed``, without virtual relations.

    Preconditions: those of ``adopt``, which are not checked. If the facts turn out not to be closed, the
    materialisation is computed from scratch.
    """

    def __init__(
        self,
        explicit: TripleIndex,
        closed: TripleIndex,
        program: Program,
        dictionary: TermDictionary,
        *,
        schema_is_alone: bool = False,
    ) -> None:
        self.__dict__.update(
            explicit=explicit, program=program, dictionary=dictionary, _facts=closed,
            _schema_is_alone=schema_is_alone, _restoring=RLock(),
        )  # fmt: skip

    def __getattr__(self, name: str) -> Any:
        """The fields that only an engine has: they are restored together."""
        if name not in _FIELDS:
            raise AttributeError(name)
        held(self._restoring, self._restore)
        return self.__dict__[name]

    @property
    def facts(self) -> TripleIndex:
        """As ``MaterialisedView.facts``."""
        return self._facts  # type: ignore[no-any-return]

    @property
    def has_suspended_rules(self) -> bool:
        """As ``MaterialisedView.has_suspended_rules``: such facts are not adopted."""
        return "strata" in self.__dict__ and bool(self.strata.suspended)

    @property
    def schema_is_alone(self) -> bool:
        """As ``MaterialisedView.schema_is_alone``."""
        return super().schema_is_alone if "engine" in self.__dict__ else bool(self._schema_is_alone)

    def bases(self) -> dict[int, Basis] | None:
        """As ``MaterialisedView.bases``. What was stored, before the engine is restored."""
        if "engine" in self.__dict__:
            return super().bases()
        return {p: relation.basis for p, relation in self._facts.relations() if relation.basis is not None}

    def _restore(self) -> None:
        if "engine" in self.__dict__:  # another thread has restored it
            return
        given = self.explicit, self._facts, self.program, self.dictionary
        try:
            result = adopt(*given, schema_is_alone=self._schema_is_alone)
        except CannotAdopt:
            result = materialise(self.explicit, self.program, self.dictionary)
        restored = {name: getattr(result, name) for name in _FIELDS}
        self.__dict__.update(restored, _facts=result.index)


_FIELDS = {field.name for field in fields(MaterialisedView)} - {"explicit", "program", "dictionary"}
