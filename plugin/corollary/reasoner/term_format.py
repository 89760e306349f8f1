"""Terms as the owner of a reasoner writes them: a protocol, and N-Triples texts as the plain implementation.

The reasoner itself computes with the ids of a ``TermDictionary``. A ``TermView`` turns ids into the term
objects of one caller: ``NTriplesTerms`` into texts, the rdflib store's ``Terms`` into rdflib's terms.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from typing import Any, Protocol, Self

from corollary.language import CorollaryError, constant_text
from corollary.language.constants import parse_constant
from corollary.terms.dictionary import TermDictionary

DEFAULT_GRAPH = "<urn:x-rdflib:default>"
"""The text of the default graph's name: rdflib's name for it, which folders and data sets contain."""

_LOCAL_NAME = re.compile(r"[^\W\d][\w-]*")
_FORBIDDEN_IN_IRI = re.compile(r'[\x00-\x20<>"{}|^`\\]')
_LABEL = re.compile(r"_:[^\s<>\"]+")


class TermView(Protocol):
    """Ids to term objects and back, over one dictionary. ``default`` is the id of the default graph.

    Any number of threads may use it. Two views of one dictionary are not interchangeable: a version of the
    facts is bound to the view that it was made with.
    """

    dictionary: TermDictionary
    default: int

    def __init__(self, dictionary: TermDictionary) -> None: ...

    def __getitem__(self, term_id: int, /) -> Any:
        """The term of an id."""

    def id_of(self, term: Any) -> int:
        """The id of a term, a new one if it is new."""

    def find(self, term: Any) -> int | None:
        """The id of a term, None if it has none."""

    def of_text(self, text: str) -> Any:
        """The term of an N-Triples text that the dictionary may not contain."""

    def printer(self, namespaces: Iterable[tuple[str, str]]) -> Callable[[Any], str]:
        """A function that prints a term for people, with the prefix of the longest namespace that fits."""

    def copied(self) -> Self:
        """A view with a dictionary of its own, which has the terms of this moment, with their ids."""

    def renumbered(self, dictionary: TermDictionary, ids: Mapping[int, int]) -> Self:
        """The view of another dictionary that gave these ids (old to new) to the terms that it took over."""

    def used(self) -> Iterable[int]:
        """The ids that the view itself needs, whatever the facts are."""


class NTriplesTerms:
    """Terms as N-Triples texts: ``<http://example.org/a>``, ``_:b``, ``"text"@en``, ``"5"^^<urn:type>``."""

    def __init__(self, dictionary: TermDictionary) -> None:
        self.dictionary = dictionary
        self.default = dictionary.encode(DEFAULT_GRAPH)

    def __getitem__(self, term_id: int) -> str:
        return self.dictionary.decode(term_id)

    def id_of(self, term: str) -> int:
        """The id of a text, a new one if it is new. CorollaryError if it is no N-Triples term."""
        return self.dictionary.encode(canonical(term))

    def find(self, term: str) -> int | None:
        """The id of a text, None if it has none. CorollaryError if it is no N-Triples term."""
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


def canonical(text: str) -> str:
    """The dictionary's key of an N-Triples term: ``"a"^^xsd:string`` is ``"a"``, languages are lower case.

    CorollaryError if the text is no N-Triples term.
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
