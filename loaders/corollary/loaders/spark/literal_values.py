"""The values of literals on the cluster: the virtual relations of ``modules.datatypes``.

Literals with a datatype or a language are parsed once, on the executors. Equal values are found by a join on
``value_text``. Plain literals denote their text; they are read only if a relation needs them. Literals in
owl:sameAs facts are compared pairwise on the executors, because the pairs would not fit on the driver.

Rules compute no terms here, so every literal is in explicit facts, or in the head of a rule. One that is only
in heads *waits*: it is parsed with the others, but facts about it are derived only when a rule has concluded
a fact with it.

Invariant: the derived facts are those of the engine.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from decimal import Decimal
from functools import cached_property, partial
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from corollary.columns import TripleIndex
from corollary.language import OWL, RDFS, Literal, constant_text, parse_constant
from corollary.loaders.spark.closures import PAIRS
from corollary.loaders.spark.facts import Facts
from corollary.loaders.spark.id_translation import IdTranslation
from corollary.loaders.spark.tuning import MAX_ROWS_BROADCAST
from corollary.plan.steps import Age
from corollary.program.compile import is_virtual
from corollary.program.compiled_program import CompiledProgram
from corollary.program.types_of_literals import Interest, interest_in_types
from corollary.terms.dictionary import FIRST_LITERAL
from corollary.terms.values import (
    PLAIN_DATATYPES,
    SUPPORTED_DATATYPES,
    Value,
    contains,
    datatype_of,
    value_of,
)

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame

Batches = Iterator[pa.RecordBatch]

Derived = tuple[int, "DataFrame"]
"""A virtual relation (its local id), and derived facts of it."""

Find = Callable[[Sequence[int] | None, Sequence[int]], set[int]]
"""From predicates (None: all) and terms to those of the terms that are in facts of these predicates."""

SILENT = (f"<{RDFS}range>", f"<{OWL}allValuesFrom>")
"""Predicates whose facts do not request VALUE facts for a datatype: see ``modules.datatypes``."""

SAME_AS = f"<{OWL}sameAs>"

READ = "id long, text string, value string, plain string, ill_typed string"
"""The schema of parsed literals: the result of ``_read``."""


class Values:
    """The literals of explicit facts and of heads of rules, and the state of what has been derived from them.

    A round looks for the literals that wait in recent facts. Those that are there have *arrived*: they get
    the types that other literals have got, are compared with all that wait no more, and count among these
    from then on.
    """

    def __init__(
        self, compiled: CompiledProgram, translation: IdTranslation, explicit: DataFrame, folder: str
    ) -> None:
        self._translation = translation
        self._explicit = explicit
        self._folder = folder
        find = translation.dictionary.find
        silent = {find(text) for text in SILENT}
        naming = compiled.predicates() - silent
        self._telling = sorted(translation.id(p) for p in naming if not is_virtual(p))
        self._read_by_rules = {p for p in compiled.predicates() if not is_virtual(p)}
        self._rdf_type = compiled.rdf_type
        self._interest = interest_in_types(compiled)
        self._is_wide = False  # whether VALUE has the literals' own datatypes
        self._same_as = translation.known([SAME_AS]).get(SAME_AS, -1)
        self._equated: list[str] = []
        self._asks_for_different = find("DIFFERENT_VALUE") in compiled.predicates()
        self._datatypes = {
            term_id: text[1:-1]
            for text, term_id in translation.known(f"<{n}>" for n in SUPPORTED_DATATYPES).items()
        }
        in_rules = {translation.id(c) for c in compiled.classes()} & self._datatypes.keys()
        self._to_show = {self._datatypes[term_id] for term_id in in_rules}
        self._shown: set[str] = set()
        self._has_compared = False
        ends = (term for rule in compiled.source for head in rule.heads for term in head.terms)
        ids = translation.ids(constant_text(term) for term in ends if isinstance(term, Literal))
        in_facts = named_in(explicit, None, list(ids.values())) if ids else set()
        self._only_in_heads = set(ids.values()) - in_facts
        self._arrived: set[int] = set()

    @property
    def _waiting(self) -> set[int]:
        return self._only_in_heads - self._arrived

    def derived(self, facts: Facts, schema: TripleIndex) -> list[Derived]:
        """New facts of the virtual relations. ``schema`` is the index of the driver's engine."""
        recent = facts.ages()[Age.RECENT if self._has_compared else Age.ALL]
        summary = facts.recent_summary if self._has_compared else facts.summary
        found = [] if self._has_compared else self.compared()
        self._has_compared = True
        if summary.predicates[self._same_as]:
            found += self._derived_of_equated(recent)
        return [*found, *self.derived_of_named(partial(named_in, recent), schema)]

    def derived_of_named(self, find: Find, schema: TripleIndex) -> list[Derived]:
        """VALUE for the datatypes that recent facts, or rules, are the first to name; all about new literals.

        ``find`` looks for given terms in recent facts of given predicates.
        """
        found = self._derived_of_arrived(find) if self._waiting else []
        news = {i: text[1:-1] for i, text in self._translation.new}
        self._datatypes |= {i: name for i, name in news.items() if name in SUPPORTED_DATATYPES}
        waiting = [i for i, name in self._datatypes.items() if name not in self._shown | self._to_show]
        if waiting:
            items = schema.relation(self._translation.dictionary.encode("MEMBER")).pairs().distinct_seconds()
            named = find(self._telling, waiting) | set(self._translation.outward(items).tolist())
            self._to_show |= {self._datatypes[term_id] for term_id in named & set(waiting)}
        if not self._is_wide and self._looks_at_all(find, schema):
            self._is_wide = True
            self._to_show |= self._own_datatypes(self._literals) - self._shown
        if self._to_show:
            found += self._typed(self._to_show, self._literals)
            self._shown |= self._to_show
            self._to_show = set()
        return found

    def _looks_at_all(self, find: Find, schema: TripleIndex) -> bool:
        """Whether rules look for types of any literal: see ``program.types_of_literals``."""
        if self._interest is not Interest.IN_FACTS:
            return self._interest is Interest.IN_ALL
        relations = map(schema.relation, self._read_by_rules)
        if any(known.has_subject(self._rdf_type) or known.has_object(self._rdf_type) for known in relations):
            return True
        predicates = sorted(map(self._translation.id, self._read_by_rules))
        return bool(find(predicates, [self._translation.id(self._rdf_type)]))

    def _derived_of_arrived(self, find: Find) -> list[Derived]:
        """Facts about literals that recent facts are the first to have: see the class."""
        new = find(None, sorted(self._waiting))
        if not new:
            return []
        self._arrived |= new
        literals = self._translation.terms.where(_is_among(new))
        if self._is_wide:
            self._to_show |= self._own_datatypes(literals) - self._shown
        members = self._members.where(~_is_among(self._waiting))
        pairs = _equal(members.where(_is_among(new)), members)
        swapped = pairs.selectExpr("object as subject", "subject as object")
        return [
            *self._ill_typed(self._marked.where(_is_among(new))),
            *self._typed(self._shown, literals),
            self._as_facts("SAME_VALUE", pairs.unionAll(swapped)),
        ]

    def _own_datatypes(self, literals: DataFrame) -> set[str]:
        """The supported datatypes of some literals."""
        rows = literals.select("text").mapInArrow(_datatypes, "name string").distinct().collect()
        return {row.name for row in rows} & SUPPORTED_DATATYPES

    @property
    def _literals(self) -> DataFrame:
        """The literals in explicit facts, and those that have arrived: id, text."""
        return self._explicit_literals.unionAll(self._translation.terms.where(_is_among(self._arrived)))

    @cached_property
    def _explicit_literals(self) -> DataFrame:
        """The literals in explicit facts: id, text. Written to scratch at the first use."""
        used = self._explicit.where(f"object >= {FIRST_LITERAL}").selectExpr("object as id").distinct()
        literals = self._translation.terms.where(f"id >= {FIRST_LITERAL}").join(used, "id", "left_semi")
        return _written(literals, f"{self._folder}/literals")

    def compared(self) -> list[Derived]:
        """SAME_VALUE and ILL_TYPED of the literals in explicit facts."""
        if self._marked.isEmpty():
            return []
        marked, members = (t.where(~_is_among(self._waiting)) for t in (self._marked, self._members))
        return [*self._ill_typed(marked), self._as_facts("SAME_VALUE", _equal(members, members))]

    def ill_typed(self) -> DataFrame:
        """The ill-typed literals of explicit facts and of heads: id."""
        return self._marked.where("ill_typed is not null").select("id")

    def marked(self) -> DataFrame:
        """The literals with a datatype or a language, of explicit facts and of heads: id."""
        return self._marked.select("id")

    def may_be_equal(self) -> bool:
        """Whether two literals of explicit facts, or of heads of rules, denote one value."""
        return not (self._marked.isEmpty() or _equal(self._members, self._members).isEmpty())

    @cached_property
    def _marked(self) -> DataFrame:
        """The literals with a datatype or a language, of explicit facts and of heads, parsed."""
        literals = self._translation.terms.where(f"""id >= {FIRST_LITERAL} AND NOT endswith(text, '"')""")
        return self._read(self._used(literals), f"{self._folder}/values")

    @cached_property
    def _members(self) -> DataFrame:
        """The literals, plain ones included, with a value that those of ``_marked`` have: id, value."""
        values = self._marked.where("value is not null")
        plain = values.where("plain is not null").selectExpr("plain as text", "value").distinct()
        literals = self._translation.terms.where(f"id >= {FIRST_LITERAL}")
        equal = self._used(literals.join(_hinted(plain), "text").select("id", "value"))
        return _written(values.select("id", "value").unionAll(equal), f"{self._folder}/members")

    def _used(self, literals: DataFrame) -> DataFrame:
        """The literals that explicit facts or heads have.

        Reads all facts; shuffles them only if literals are many.
        """
        used = self._explicit.where(f"object >= {FIRST_LITERAL}").selectExpr("object as id")
        used = used.join(_hinted(literals.select("id")), "id", "left_semi").distinct()
        if self._only_in_heads:
            heads = pa.table({"id": pa.array(sorted(self._only_in_heads), pa.int64())})
            used = used.unionAll(used.sparkSession.createDataFrame(heads))
        return literals.join(used, "id", "left_semi")

    def _derived_of_equated(self, recent: DataFrame) -> list[Derived]:
        """Facts about literals that are new in owl:sameAs facts: all their datatypes, other values."""
        spark = recent.sparkSession
        ends = _ends(recent.where(f"predicate = {self._same_as}")).where(f"id >= {FIRST_LITERAL}").distinct()
        known = spark.read.schema(READ).parquet(*self._equated) if self._equated else None
        if known is not None:
            ends = ends.join(known, "id", "left_anti")
        path = f"{self._folder}/equated-{len(self._equated)}"
        new = self._read(self._translation.terms.where(f"id >= {FIRST_LITERAL}").join(ends, "id"), path)
        self._equated.append(path)
        if new.isEmpty():
            return []
        ids = self._translation.ids([f"<{name}>" for name in sorted(SUPPORTED_DATATYPES)])
        by_name = {text[1:-1]: term_id for text, term_id in ids.items()}
        typed = new.select("id", "text").mapInArrow(_typing(by_name), PAIRS)
        found = [self._as_facts("VALUE", typed)]
        if self._asks_for_different:
            found.append(self._different(new, new))
            if known is not None:
                found += [self._different(new, known), self._different(known, new)]
        return found

    def _different(self, ones: DataFrame, others: DataFrame) -> Derived:
        """DIFFERENT_VALUE for every pair of ``ones`` and ``others``."""
        from pyspark.sql import functions as F

        tasks = ones.sparkSession.sparkContext.defaultParallelism
        left = ones.selectExpr("id as subject", "value").where("value is not null").repartition(tasks)
        right = others.selectExpr("id as object", "value as its").where("value is not null")
        return self._as_facts("DIFFERENT_VALUE", left.crossJoin(F.broadcast(right)).where("value <> its"))

    def _read(self, literals: DataFrame, path: str) -> DataFrame:
        """Parse literals (id, text), and write the result to ``path``."""
        return _written(literals.select("id", "text").mapInArrow(_read, READ), path)

    def _ill_typed(self, values: DataFrame) -> list[Derived]:
        """ILL_TYPED of parsed literals."""
        from pyspark.sql import functions as F

        names = [row.ill_typed for row in values.select("ill_typed").dropna().distinct().collect()]
        if not names:
            return []
        ids = self._translation.ids(names)
        table = pa.table({"ill_typed": names, "object": pa.array([ids[n] for n in names], pa.int64())})
        datatypes = values.sparkSession.createDataFrame(table)
        ill_typed = values.join(F.broadcast(datatypes), "ill_typed").selectExpr("id as subject", "object")
        return [self._as_facts("ILL_TYPED", ill_typed)]

    def _typed(self, names: set[str], literals: DataFrame) -> list[Derived]:
        """VALUE facts of some literals, for the datatypes ``names``."""
        if not names:
            return []
        is_plain = """endswith(text, '"')"""
        ids = self._translation.ids([f"<{name}>" for name in sorted(names)])
        by_name = {text[1:-1]: term_id for text, term_id in ids.items()}
        strings = [by_name[name] for name in sorted(names & PLAIN_DATATYPES)]
        others = {name: by_name[name] for name in sorted(names - PLAIN_DATATYPES)}
        found = [literals.where(f"not {is_plain}").mapInArrow(_typing(by_name), PAIRS)]
        if strings:
            listed = ", ".join(f"{term_id}L" for term_id in strings)
            found.append(
                literals.where(is_plain).selectExpr("id as subject", f"explode(array({listed})) as object")
            )
        if others:
            found.append(literals.where(is_plain).mapInArrow(_typing(others), PAIRS))
        return [self._as_facts("VALUE", part) for part in found]

    def _as_facts(self, name: str, pairs: DataFrame) -> Derived:
        relation = self._translation.dictionary.encode(name)
        predicate = self._translation.id(relation)
        return relation, pairs.selectExpr(f"{predicate}L as predicate", "subject", "object")


def named_in(facts: DataFrame, predicates: Sequence[int] | None, terms: Sequence[int]) -> set[int]:
    """The given terms that are subjects or objects of facts of the given predicates (None: of all)."""
    from pyspark.sql import functions as F

    if predicates is not None:
        facts = facts.where(F.col("predicate").isin(predicates))
    has_any = F.col("subject").isin(terms) | F.col("object").isin(terms)
    rows = _ends(facts.where(has_any)).distinct().collect()
    return {row.id for row in rows}.intersection(terms)


def _is_among(ids: Iterable[int]) -> Column:
    """The condition that a column ``id`` has one of some ids."""
    from pyspark.sql import functions as F

    return F.col("id").isin(sorted(ids))


def _equal(ones: DataFrame, others: DataFrame) -> DataFrame:
    """The pairs (subject, object) of two literals of one value. Literals have id and value."""
    left, right = ones.selectExpr("id as subject", "value"), others.selectExpr("id as object", "value")
    return left.join(right, "value").where("subject <> object").select("subject", "object")


def _written(table: DataFrame, path: str) -> DataFrame:
    """A table that is written to ``path``."""
    table.write.parquet(path)
    return table.sparkSession.read.schema(table.schema).parquet(path)


def _hinted(table: DataFrame) -> DataFrame:
    """The table, to be broadcast if it has few rows."""
    from pyspark.sql import functions as F

    return F.broadcast(table) if table.count() <= MAX_ROWS_BROADCAST else table


def _ends(facts: DataFrame) -> DataFrame:
    """The subjects and objects of facts: id."""
    from pyspark.sql import functions as F

    return facts.select(F.explode(F.array("subject", "object")).alias("id"))


def _value(text: str) -> tuple[Literal, Value | None] | None:
    """A literal and its value (None if ill-typed); None for an unsupported datatype."""
    constant = parse_constant(text)
    assert isinstance(constant, Literal)
    if datatype_of(constant.datatype, constant.language) not in SUPPORTED_DATATYPES:
        return None
    return constant, value_of(constant.lexical, constant.datatype, constant.language)


def _read(batches: Batches) -> Batches:
    """Parse literals: the text of the value, the plain literal of equal value, or the violated datatype."""
    for batch in batches:
        rows: list[tuple[int, str, str | None, str | None, str | None]] = []
        for term_id, text in zip(*(column.to_pylist() for column in batch.columns), strict=True):
            known = _value(text)
            if known is None:
                continue
            constant, value = known
            if value is None:
                if constant.datatype in SUPPORTED_DATATYPES:
                    rows.append((term_id, text, None, None, f"<{constant.datatype}>"))
                continue
            is_text = isinstance(value.key, str) and value == value_of(value.key)
            plain = constant_text(Literal(str(value.key))) if is_text else None
            rows.append((term_id, text, value_text(value), plain, None))
        names = ("id", "text", "value", "plain", "ill_typed")
        columns = list(zip(*rows, strict=True)) or [()] * len(names)
        types = (pa.int64(), *[pa.string()] * (len(names) - 1))
        yield pa.RecordBatch.from_arrays(
            [pa.array(column, type_) for column, type_ in zip(columns, types, strict=True)], names=list(names)
        )


def _datatypes(batches: Batches) -> Batches:
    """The distinct datatypes of literals."""
    for batch in batches:
        constants = map(parse_constant, batch.column("text").to_pylist())
        names = {datatype_of(c.datatype, c.language) for c in constants if isinstance(c, Literal)}
        yield pa.RecordBatch.from_pydict({"name": pa.array(sorted(names), pa.string())})


def _typing(datatypes: dict[str, int]) -> Callable[[Batches], Batches]:
    """The function for the executors: pairs (literal, datatype), for ``datatypes`` that have its value."""

    def typed(batches: Batches) -> Batches:
        for batch in batches:
            subjects: list[int] = []
            objects: list[int] = []
            for term_id, text in zip(*(column.to_pylist() for column in batch.columns), strict=True):
                known = _value(text)
                if known is None or known[1] is None:
                    continue
                own = [number for name, number in datatypes.items() if contains(name, known[1])]
                subjects += [term_id] * len(own)
                objects += own
            columns = [pa.array(np.array(ids, np.int64)) for ids in (subjects, objects)]
            yield pa.RecordBatch.from_arrays(columns, names=["subject", "object"])

    return typed


def value_text(value: Value) -> str:
    """A text of a value: two values have the same text if and only if they are equal."""
    return f"{value.space} {_key_text(value.key)}"


def _key_text(key: object) -> str:
    if isinstance(key, Decimal):
        digits = f"{key:f}"
        if "." in digits:
            digits = digits.rstrip("0").rstrip(".")
        return "0" if digits == "-0" else digits
    if isinstance(key, tuple):
        return f"({', '.join(map(_key_text, key))})"
    return repr(key)
