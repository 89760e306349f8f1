"""The layers of a transaction: the schema, the data, and one layer for each stratum.

Facts of a layer are derived from facts of the same and of earlier layers only. So each layer is complete
before the next one is followed.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from corollary.columns import Delta, Relation, TripleIndex
from corollary.columns.pairs import NO_KEYS, Pairs, among, pack, seconds
from corollary.evaluate.engine import Engine
from corollary.kernels.sorted import Column, Keys, Rows
from corollary.program.compile import Atom
from corollary.program.edges import CLASS, DERIVED_CLASS, DERIVED_PROPERTY, Node
from corollary.program.stratify import Strata

SCHEMA = -1
DATA = 0


class Layers:
    """The layer of facts: ``SCHEMA``, or else the height of their predicate or class (0 is ``DATA``)."""

    def __init__(self, engine: Engine, strata: Strata) -> None:
        self.strata = strata
        self._engine = engine
        self._schema_depends_on_data = engine.schema_depends_on_data
        self._rdf_type = engine.compiled.rdf_type
        heights = strata.heights
        self._properties = {node: height for node, height in heights.items() if node < CLASS}
        classes = sorted(node for node in heights if CLASS <= node < 2 * CLASS)
        self._classes: Column = np.array([node - CLASS for node in classes], np.uint32)
        self._class_heights = np.array([heights[node] for node in classes], np.int64)
        self._other_property = heights.get(DERIVED_PROPERTY, DATA)
        self._other_class = heights.get(DERIVED_CLASS, DATA)
        schema = () if self._schema_depends_on_data else (SCHEMA,)
        self.all: tuple[int, ...] = (*schema, DATA, *(level for level in strata.levels if level > DATA))
        """All layers in order. Schema and data are one layer if data leads to schema facts."""

    @staticmethod
    def by(engine: Engine, strata: Strata) -> Layers:
        """Those of the last transaction, if they hold for this one."""
        known, is_one = engine.layers, engine.schema_depends_on_data
        if isinstance(known, Layers) and known.strata is strata and known._schema_depends_on_data == is_one:
            return known
        engine.layers = layers = Layers(engine, strata)
        return layers

    def name(self, layer: int) -> str:
        """The name of a layer in reports."""
        if layer == SCHEMA:
            return "schema"
        if layer == DATA:
            return "all" if self._schema_depends_on_data else "data"
        return f"stratum {self.stratum(layer)}"

    def stratum(self, layer: int) -> int:
        """The number of a layer's stratum, counted from 1; 0 for schema and data."""
        return self.strata.levels.index(layer) + 1 if layer > DATA else 0

    def level(self, stratum: int) -> int:
        """The layer of a stratum, given by its number."""
        return self.strata.levels[stratum - 1]

    def split(self, facts: Delta) -> dict[int, Delta]:
        """Partition facts by layer."""
        found: dict[int, dict[int, Relation]] = {}
        for predicate in facts.all_predicates():
            relation = facts.relation(predicate)
            keys = relation.pairs().keys if predicate == self._rdf_type else NO_KEYS
            layers = self._of(predicate, keys)
            if isinstance(layers, int):
                found.setdefault(layers, {})[predicate] = relation
            else:
                for layer in (np.flatnonzero(np.bincount(layers - SCHEMA)) + SCHEMA).tolist():
                    found.setdefault(layer, {})[predicate] = Relation(Pairs(keys[layers == layer]))
        return {layer: Delta.of_relations(part) for layer, part in found.items()}

    def has_all(self, layer: int, facts: Delta) -> bool:
        """Whether all facts are of one layer."""
        for predicate, relation in facts.all_relations():
            found = self._of(predicate, relation.pairs().keys if predicate == self._rdf_type else NO_KEYS)
            if np.any(found != layer) if isinstance(found, np.ndarray) else found != layer:
                return False
        return True

    def _of(self, predicate: int, keys: Keys) -> int | Rows:
        """The layer of facts of one predicate: a number for all of them, or an array with one for each.

        Only of types it depends on their ``keys``.
        """
        if predicate != self._rdf_type:
            if not self._schema_depends_on_data and predicate in self._engine.schema.predicates:
                return SCHEMA
            return self._properties.get(predicate, self._other_property)
        schema, in_schema = None, 0
        if not self._schema_depends_on_data:
            schema = self._engine.schema.mask(predicate, Pairs(keys))
            in_schema = int(np.count_nonzero(schema))
            if in_schema == keys.size:
                return SCHEMA
        if not self._classes.size and not in_schema:
            return self._other_class
        layers: Rows = np.full(keys.size, self._other_class, np.int64)
        if self._classes.size:
            classes = seconds(keys)
            rows = np.minimum(np.searchsorted(self._classes, classes), self._classes.size - 1)
            known = self._classes[rows] == classes
            layers[known] = self._class_heights[rows[known]]
        if schema is not None:
            layers[schema] = SCHEMA
        return layers

    def of(self, atom: Atom) -> int | None:
        """The layer of the facts that an atom matches (schema counts as data); None if the node is open."""
        if atom.p < 0 or (atom.p == self._rdf_type and atom.o < 0):
            return None
        heights = self.strata.heights
        if atom.p == self._rdf_type:
            return heights.get(CLASS + atom.o, self._other_class)
        return heights.get(atom.p, self._other_property)

    @property
    def types_are_data(self) -> bool:
        """Whether no type is a fact of a stratum's layer."""
        return not self._classes.size and self._other_class == DATA

    def data_among(self, predicates: Sequence[int]) -> Sequence[int]:
        """The predicates of which no facts are of a stratum's layer."""
        if not self.strata.heights:
            return predicates
        types_are_data, of, other = self.types_are_data, self._properties, self._other_property
        return [
            p for p in predicates if (types_are_data if p == self._rdf_type else of.get(p, other) == DATA)
        ]

    def whole(self, layer: int) -> list[Atom]:
        """Atoms that match all facts of the last stratum's layer.

        Empty for other layers, or if the layer has open predicates or classes.
        """
        if layer != self.strata.levels[-1] or layer in (self._other_property, self._other_class):
            return []
        nodes = [node for node, height in self.strata.heights.items() if height == layer]
        types = [Atom(-1, self._rdf_type, node - CLASS) for node in nodes if CLASS <= node < 2 * CLASS]
        return [*types, *(Atom(-1, node, -2) for node in nodes if node < CLASS)]

    def mentions_later(self, literals: Column, facts: TripleIndex) -> bool:
        """Whether any of the literals is subject or object of a fact in a stratum's layer."""
        for predicate, relation in facts.relations():
            rows, subjects = relation.subjects_of(literals)
            objects_rows, objects = relation.objects_of(literals)
            found = np.concatenate((pack(subjects, literals[rows]), pack(literals[objects_rows], objects)))
            if found.size and (np.asarray(self._of(predicate, found)) > DATA).any():
                return True
        return False

    def may_have_changed(self, before: TripleIndex) -> bool:
        """Whether rule instances may differ from ``before``: by more schema, or a new predicate or class.

        If rules are suspended, also by less of these, because a cycle may be broken.
        """
        now, derived = self._engine.fixpoint.index, self.strata.derived
        if self.strata.suspended and self._has_more(before, now, frozenset()):
            return True
        return self._has_more(now, before, derived)

    def _has_more(self, now: TripleIndex, before: TripleIndex, derived: frozenset[Node]) -> bool:
        if not {*now.all_predicates()} <= {*before.all_predicates(), self._rdf_type, *derived}:
            return True
        schema, known = (self._engine.schema.of(facts) for facts in (now, before))
        if schema - known:
            return True
        types, earlier = now.relation(self._rdf_type), before.relation(self._rdf_type)
        if types is earlier:
            return False
        classes, known_classes = (each.pairs().distinct_seconds() for each in (types, earlier))
        new = classes[~among(classes, known_classes)]
        return any(CLASS + class_ not in derived for class_ in new.tolist())
