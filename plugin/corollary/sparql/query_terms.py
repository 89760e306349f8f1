"""Ids for the terms of a query, without additions to the store's dictionary.

A query mentions and computes terms that occur in no fact. Such a term gets a local id of kind reserved, from
``FIRST_LOCAL`` on, and so above the ids of the engine's own names. Local ids live as long as the result.
Invariant: within a query a term has one id, so that equality of ids is equality of terms.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from rdflib.term import BNode, Literal, Node, URIRef

from corollary.columns.numbering import number_keys
from corollary.columns.pairs import distinct
from corollary.kernels.arrow import compute, within_limits
from corollary.kernels.limits import check, reserve
from corollary.kernels.sorted import Column, Mask
from corollary.language.constants import escape
from corollary.sparql.column_texts import escaped
from corollary.sparql.rdf_terms import Terms, text_of
from corollary.sparql.term_texts import TermTexts, concatenated, content_of, parts_of
from corollary.sparql.tuning import MIN_TERMS_READ_TOGETHER, ROWS_ON_COLUMNS_AT_ONCE, TERMS_BETWEEN_CHECKS
from corollary.sparql.value_columns import Decoded, ValueColumns, decoded_literals
from corollary.sparql.written_literals import (
    FIRST_LOCAL,
    FIRST_WRITTEN,
    UNBOUND,
    WrittenLiterals,
    are_written,
)
from corollary.terms.dictionary import Kind, TermDictionary, kinds
from corollary.terms.texts import ABSENT, Texts


class QueryTerms:
    """The store's terms, and the local terms of one query."""

    def __init__(self, terms: Terms) -> None:
        self._terms = terms
        self._ids: dict[str, int] = {}
        self._own: list[Node | None] = []  # None: a new blank node
        self._written: WrittenLiterals | None = None
        self._read: dict[int, Node] = {}
        self._entered = 0

    @property
    def dictionary(self) -> TermDictionary:
        """The store's dictionary."""
        return self._terms.dictionary

    def id_of(self, term: Node) -> int:
        """The id of a term, local if the store has none; of what is no RDF term, an id that no term has."""
        is_iri = type(term) is URIRef
        if is_iri and not self._own:  # no local term may be the same
            known = self._terms.find(term)
            if known is not None:
                return known
        try:
            text = text_of(term)
        except TypeError:  # a value given with the query
            text = repr(term)
        term_id = self._ids.get(text)
        if term_id is None:
            term_id = self._terms.find(term) if is_iri else self._terms.dictionary.find(text)
            if term_id is None and self._written is not None and text[0] == '"':
                term_id = self._written.find(text)
            if term_id is None:
                term_id = FIRST_LOCAL + len(self._own)
                self._own.append(term)
            self._ids[text] = term_id
        return term_id

    def ids_of_literals(self, texts: Any) -> Column:
        """The ids of the literals with these N-Triples texts, Arrow's large strings.

        A text that the store does not have becomes a term when it is read. Cost: one look-up for each text.
        """
        ids: Column = np.empty(len(texts), np.uint32)
        for start in range(0, len(texts), ROWS_ON_COLUMNS_AT_ONCE):
            check()
            some = ids[start : start + ROWS_ON_COLUMNS_AT_ONCE]
            within_limits(self._find_literals, texts.slice(start, some.size), some)
        return ids

    def _find_literals(self, texts: Any, ids: Column) -> None:
        """Write ``ids_of_literals`` of some texts to ``ids``."""
        wanted = _arguments(texts)
        self.dictionary.find_texts(wanted, ids, Kind.LITERAL)
        is_absent = ids == ABSENT
        if is_absent.any():
            absent = replace(
                wanted,
                lengths=np.where(is_absent, wanted.lengths, 0),
                firsts=np.where(is_absent, wanted.firsts, np.uint8(0)),  # not written as empty texts
            )
            self._written_literals().ids_of(absent, ids)

    def _written_literals(self) -> WrittenLiterals:
        """The literals computed on columns, together with those that the query had before."""
        if self._written is None:
            self._written = WrittenLiterals()
        own = {FIRST_LOCAL + i: self._own[i] for i in range(self._entered, len(self._own))}
        literals = {i: text_of(term) for i, term in own.items() if isinstance(term, Literal)}
        self._written.enter(list(literals.values()), list(literals))
        self._entered = len(self._own)
        return self._written

    def have_lower_tags(self, ids: Column) -> Mask:
        """For each literal, whether it is decoded with a language tag in lower case, or none."""
        found: Mask = np.ones(ids.size, np.bool_)
        capitals = self._terms.capitals
        if capitals:
            found &= ~np.isin(ids, np.fromiter(capitals.copy(), np.uint32))
        rows = np.flatnonzero((ids >= FIRST_LOCAL) & ~are_written(ids))
        tags = (getattr(self[i], "language", None) for i in ids[rows].tolist())
        found[rows] = [tag is None or tag.islower() for tag in tags]
        return found

    def blank_nodes(self, count: int) -> Column:
        """The ids of new blank nodes, which become terms when they are read."""
        first = FIRST_LOCAL + len(self._own)
        reserve(8 * count)
        self._own += [None] * count
        return np.arange(first, first + count, dtype=np.uint32)

    def kinds_of(self, ids: Column) -> Column:
        """The kinds of terms, also of the query's own: these are looked at one by one."""
        found = kinds(ids)
        found[are_written(ids)] = Kind.LITERAL
        rows = np.flatnonzero((ids >= FIRST_LOCAL) & (ids < FIRST_WRITTEN))
        first, numbers = number_keys(ids[rows])
        own = [self._own[term_id - FIRST_LOCAL] for term_id in ids[rows[first]].tolist()]
        found[rows] = np.array([_kind_of(term) for term in own], np.uint32)[numbers]
        return found

    def __getitem__(self, term_id: int) -> Node:
        if term_id < FIRST_LOCAL:
            return self._terms[term_id]
        if term_id < FIRST_WRITTEN:
            place = term_id - FIRST_LOCAL
            own = self._own[place]
            if own is None:
                own = self._own[place] = BNode()
            return own
        if term_id not in self._read:
            self._read_written(np.array([term_id], np.uint32))
        return self._read[term_id]

    def _read_written(self, ids: Column) -> None:
        """Make terms of literals that were computed on columns."""
        assert self._written is not None
        terms = map(self._terms.of_text, self._written.texts(ids))
        self._read.update(zip(ids.tolist(), terms, strict=True))

    def text_of(self, term_id: int) -> str:
        """The N-Triples text of an id."""
        return text_of(self[term_id])

    def local_literal(self, term_id: int) -> tuple[str, str] | None:
        """The characters and the suffix of a string that only the query has; None for other terms."""
        term = self[term_id]
        if not isinstance(term, Literal) or term.datatype is not None:
            return None
        return str(term), f"@{term.language.lower()}" if term.language else ""

    @property
    def value_columns(self) -> ValueColumns:
        """The numbers and times of the store's literals."""
        return self._terms.value_columns

    def texts_of(self, ids: Column) -> TermTexts | None:
        """The texts of IRIs and literals, of the store or computed on columns; None if one is no Unicode."""
        if self._written is None:
            return self._terms.text_columns.of(ids)
        written = self._written.part_of(ids)
        if not written.rows.size:
            return self._terms.text_columns.of(ids)
        return TermTexts.of_parts([*parts_of(ids, self.dictionary), written])

    def escaped_texts_of(self, ids: Column) -> Any | None:
        """What STR gives of each term, with the escapes of canonical literals, as Arrow's large strings.

        None if one is UNBOUND, or no Unicode. The texts of literals are copied as they are.
        """
        import pyarrow

        parts = parts_of(ids, self.dictionary)
        if self._written is not None:
            parts.append(self._written.part_of(ids))
        others = np.flatnonzero(
            (kinds(ids) == Kind.BLANK_NODE) | ((ids >= FIRST_LOCAL) & (ids < FIRST_WRITTEN))
        )
        rows = np.concatenate([*(part.rows for part in parts), others])
        if rows.size < ids.size:
            return None
        try:
            texts = [escaped(part.texts()[0]) if part.kind == Kind.IRI else part.texts()[0] for part in parts]
            texts.append(pyarrow.array(self._escaped(ids[others]), pyarrow.large_string()))
        except UnicodeEncodeError:
            return None
        found = concatenated(texts)
        if (rows[1:] > rows[:-1]).all():
            return found
        places = np.empty(rows.size, np.int64)
        places[rows] = np.arange(rows.size)
        return compute.take(found, places)

    def _escaped(self, ids: Column) -> list[str]:
        """As ``escaped_texts_of``, term by term."""
        found: list[str] = []
        for start in range(0, ids.size, TERMS_BETWEEN_CHECKS):
            found += [escape(str(term)) for term in self.decode(ids[start : start + TERMS_BETWEEN_CHECKS])]
        return found

    def written_values(self, ids: Column) -> Decoded:
        """The numbers and times of literals computed on columns."""
        assert self._written is not None
        return decoded_literals(self._written.part_of(ids).numbers, self._written.table)

    def decode(self, column: Column) -> list[Node | None]:
        """The terms of a column, None for UNBOUND."""
        terms, read = self._terms.__getitem__, self._read
        if column.size < MIN_TERMS_READ_TOGETHER:
            return self.decode_few(column.tolist())
        found: list[Node | None] = []
        for start in range(0, column.size, TERMS_BETWEEN_CHECKS):
            check()
            some = column[start : start + TERMS_BETWEEN_CHECKS]
            self._read_together(some)
            ids = some.tolist()
            if max(ids) < FIRST_LOCAL:
                found += map(terms, ids)
            elif min(ids) >= FIRST_WRITTEN and max(ids) < UNBOUND:
                self._read_all(ids)
                found += map(read.__getitem__, ids)
            else:
                found += [None if i == UNBOUND else self[i] for i in ids]
        return found

    def decode_few(self, ids: list[int]) -> list[Node | None]:
        """As ``decode``, in less time for few terms."""
        terms = self._terms.__getitem__
        if not ids or max(ids) < FIRST_LOCAL:
            return list(map(terms, ids))
        written = [] if self._written is None else [i for i in ids if FIRST_WRITTEN <= i < UNBOUND]
        if written:
            self._read_all(written)
        return [terms(i) if i < FIRST_LOCAL else None if i == UNBOUND else self[i] for i in ids]

    def _read_together(self, ids: Column) -> None:
        """Make terms of many ids in less time than one by one, unless a sample has been read before."""
        if ids.size < MIN_TERMS_READ_TOGETHER:
            return
        sample = ids[::MIN_TERMS_READ_TOGETHER].tolist()
        if not all(i in self._terms for i in sample if i < FIRST_LOCAL):
            new = distinct(ids[ids < FIRST_LOCAL])
            self._terms.read(new[[i not in self._terms for i in new.tolist()]])
        if max(sample) >= FIRST_WRITTEN:
            self._read_all(ids[are_written(ids)].tolist())

    def _read_all(self, ids: list[int]) -> None:
        """Make terms of literals that were computed on columns and have not been read before."""
        new = set(ids).difference(self._read)
        if new:
            self._read_written(np.array(sorted(new), np.uint32))


def _kind_of(term: Node | None) -> Kind:
    if isinstance(term, Literal):
        return Kind.LITERAL
    return Kind.IRI if isinstance(term, URIRef) else Kind.BLANK_NODE


def _arguments(strings: Any) -> Texts:
    """Arrow's large strings as the argument of a look-up. Precondition: none is null."""
    offsets, content = content_of(strings)
    return Texts.of(content, offsets[:-1], np.diff(offsets))
