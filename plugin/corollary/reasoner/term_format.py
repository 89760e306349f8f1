"""The terms of the reasoner's owner: the protocol ``TermView``, and N-Triples texts as one implementation.

The reasoner computes with the ids of a ``TermDictionary``. A ``TermView`` translates between ids and the term
objects of one caller: ``NTriplesTerms`` uses texts, the rdflib store's ``Terms`` uses rdflib's terms.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from typing import Any, Protocol, Self

from corollary.language import CorollaryError, constant_text
from corollary.language.constants import parse_constant
from corollary.terms.dictionary import TermDictionary

DEFAULT_GRAPH = "<urn:x-rdflib:default>"
"""The name of the default graph as N-Triples text: rdflib's name. Folders and data sets contain it."""

_LOCAL_NAME = re.compile(r"[^\W\d][\w-]*")
_FORBIDDEN_IN_IRI = re.compile(r'[\x00-\x20<>"{}|^`\\]')
_LABEL = re.compile(r"_:[^\s<>\"]+")


class TermView(Protocol):
    """Translates ids to term objects and back, over one dictionary. ``default`` is the default graph's id.

    Thread-safe. Two views of one dictionary are not interchangeable: a version is bound to the view that it
    was made with.
    """

    dictionary: TermDictionary
    default: int

    def __init__(self, dictionary: TermDictionary) -> None: ...

    def __getitem__(self, term_id: int, /) -> Any:
        """The term of an id."""

    def id_of(self, term: Any) -> int:
        """The id of a term. A new term gets a new id."""

    def find(self, term: Any) -> int | None:
        """The id of a term; None if it has none."""

    def of_text(self, text: str) -> Any:
        """The term of an N-Triples text, which need not be in the dictionary."""

    def printer(self, namespaces: Iterable[tuple[str, str]]) -> Callable[[Any], str]:
        """A function that formats a term for display, with the prefix of the longest matching namespace."""

    def copied(self) -> Self:
        """A view over a copy of the dictionary: the same terms with the same ids."""

    def renumbered(self, dictionary: TermDictionary, ids: Mapping[int, int]) -> Self:
        """The view over another dictionary. ``ids`` maps old to new ids of the terms that it contains."""

    def used(self) -> Iterable[int]:
        """The ids that the view itself needs, independent of the facts."""


class NTriplesTerms:
    """Terms as N-Triples texts: ``<http://example.org/a>``, ``_:b``, ``"text"@en``, ``"5"^^<urn:type>``."""

    def __init__(self, dictionary: TermDictionary) -> None:
        self.dictionary = dictionary
        self.default = dictionary.encode(DEFAULT_GRAPH)

    def __getitem__(self, term_id: int) -> str:
        return self.dictionary.decode(term_id)

    def id_of(self, term: str) -> int:
        """The id of a text. A new one gets a new id. Raises CorollaryError if it is no N-Triples term."""
        return self.dictionary.encode(canonical(term))

    def find(self, term: str) -> int | None:
        """The id of a text; None if it has none. Raises CorollaryError if it is no N-Triples term."""
        return self.dictionary.find(canonical(term))

    def of_text(self, text: str) -> str:
        return text

    def printer(self, namespaces: Iterable[tuple[str, str]]) -> Callable[[str], str]:
        longest_first = sorted(namespaces, key=lambda bound: len(bound[1]), reverse=True)

        def text(term: str) -> str:
            for prefix, namespace in longest_first if term[0] == "<" else ():
                if term.startswith(namespace, 1) and _LOCAL_NAME.fullmatch(term, len(namespace) + 1, -1):
                    return f"{prefix}:{term[len(namespace) + 1 : -1]}"
            return term

        return text

    def copied(self) -> NTriplesTerms:
        return NTriplesTerms(self.dictionary.copied())

    def renumbered(self, dictionary: TermDictionary, ids: Mapping[int, int]) -> NTriplesTerms:
        return NTriplesTerms(dictionary)

    def used(self) -> Iterable[int]:
        return (self.default,)


def checked_triple(given: Any) -> tuple[Any, Any, Any]:
    """A triple as it is given. Raises CorollaryError for a text, and if there are not three terms."""
    if isinstance(given, str) or len(given) != 3:
        raise CorollaryError(
            f"{given!r} is no triple: give subject, predicate and object in one tuple of three terms"
        )
    subject, predicate, value = given
    return subject, predicate, value


def canonical(text: str) -> str:
    """The dictionary's key of an N-Triples term: ``"a"^^xsd:string`` is ``"a"``, languages are lower case.

    Raises CorollaryError if the text is no N-Triples term.
    """
    try:
        term = constant_text(parse_constant(text))
    except (ValueError, TypeError, AttributeError):
        term = ""
    is_iri = term.startswith("<")
    if not term or (is_iri and _FORBIDDEN_IN_IRI.search(term, 1, len(term) - 1)):
        raise _no_term(text)
    if term.startswith("_") and not _LABEL.fullmatch(term):
        raise _no_term(text)
    return term


def _no_term(text: object) -> CorollaryError:
    return CorollaryError(
        f'{text!r} is no N-Triples term: write <http://example.org/a>, _:b, "text", "text"@en or '
        '"5"^^<http://www.w3.org/2001/XMLSchema#integer>'
    )
