"""The state of a parser: the tokens, the present one, prefixes and base; syntax errors with their place."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from contextlib import suppress
from functools import cache
from typing import Any, NoReturn

from rdflib.term import URIRef

from corollary.language import Diagnostic
from corollary.language.errors import Span
from corollary.sparql.parser.tokens import expanded, tokens, unescaped
from corollary.sparql.query_errors import SparqlSyntaxError

SOURCE = "<query>"
"""The name of a text in messages, unless the caller names it."""

UNDECLARED = "urn:x-undeclared:"
"""The namespace of undeclared prefixes, where all are taken for declared."""

_SCHEME = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*:")


@cache
def parse_error() -> Callable[..., SparqlSyntaxError]:
    """The class of syntax errors, which callers that catch rdflib's errors catch too."""
    from pyparsing import ParseException  # imported for the first error only

    class ParseError(SparqlSyntaxError, ParseException):
        """A syntax error, also for callers that catch rdflib's."""

        def __init__(self, complaint: Diagnostic, text: str, place: int) -> None:
            ParseException.__init__(self, text, place, complaint.message)
            self.complaint = complaint
            Exception.__init__(self, str(complaint))

        def __str__(self) -> str:
            return str(self.complaint)

    return ParseError


def namespace_of(prefix: str, prefixes: Mapping[Any, Any]) -> str | None:
    """The namespace of a prefix. rdflib also has None for the empty prefix."""
    found = prefixes.get(prefix)
    if found is None and not prefix:
        found = prefixes.get(None)
    return None if found is None else str(found)


class Names:
    """The prefixes and the base of a text. Without ``prefixes`` all prefixes are taken for declared."""

    def __init__(self, prefixes: Mapping[str, str] | None, base: str) -> None:
        self.base = base
        self.given = prefixes
        self.declared: dict[str, str] = {}
        self.used: dict[str, str] = {}
        """The namespaces of prefixes that the text uses and does not declare."""

    def namespace(self, prefix: str) -> str | None:
        """The namespace of a prefix; None if it is not declared."""
        found = self.declared.get(prefix)
        if found is None:
            found = UNDECLARED if self.given is None else namespace_of(prefix, self.given)
            if found is not None:
                self.used[prefix] = found
        return found

    def resolved(self, reference: str) -> URIRef:
        """An IRI, or a reference resolved against the base; as it is if one of them is malformed."""
        if self.base and not _SCHEME.match(reference):
            with suppress(ValueError):  # an authority with one bracket
                return URIRef(reference, self.base)
        return URIRef(reference)


class Cursor:
    """A position in the tokens of a text. ``kind`` and ``word`` are those of the present token."""

    def __init__(self, text: str, names: Names, source: str = SOURCE) -> None:
        self.names = names
        self.source = source
        try:
            self.text = expanded(text)
        except ValueError as error:
            self.text = text
            self.fail("this number is no Unicode character", place=error.args[0])
        self.kinds, self.words, self.starts = tokens(self.text)
        self.at = 0
        self.kind, self.word = self.kinds[0], self.words[0]

    def advance(self) -> str:
        """Go to the next token. Returns the text of the present one."""
        word = self.word
        if self.kind != "end":
            self.at += 1
            self.kind, self.word = self.kinds[self.at], self.words[self.at]
        return word

    def accept(self, word: str) -> bool:
        """Whether the present token is a symbol or keyword. If so, go to the next token."""
        if self.word != word:
            return False
        self.advance()
        return True

    def expect(self, word: str) -> None:
        """As ``accept``. Raises SparqlSyntaxError for another token."""
        if self.word != word:
            self.fail_expecting(f"'{word}'")
        self.advance()

    def follows(self, *words: str) -> bool:
        """Whether the tokens after the present one are these."""
        return tuple(self.words[self.at + 1 : self.at + 1 + len(words)]) == words

    def touches(self) -> bool:
        """Whether nothing stands between the present token and the next one."""
        return (
            self.starts[self.at] + len(self.word) == self.starts[self.at + 1] if self.kind != "end" else False
        )

    is_split = False
    """Whether ``split_iri`` was called: then the tokens are not those of the text alone."""

    def split_iri(self) -> None:
        """Split the present token, which looks like an IRI, into an operator and further tokens.

        Example: ``<5&&?y>`` in ``?x<5&&?y>6``. The text behind it is split into tokens again.
        """
        self.is_split = True
        start = self.starts[self.at]
        operator = "<=" if self.word.startswith("<=") else "<"
        place = start + len(operator)
        kinds, words, starts = tokens(self.text[place:])
        self.kinds[self.at :] = ["symbol", *kinds]
        self.words[self.at :] = [operator, *words]
        self.starts[self.at :] = [start, *(place + later for later in starts)]
        self.kind, self.word = "symbol", operator

    def iri(self) -> URIRef:
        """An IRI or a prefixed name."""
        if self.kind == "iri":
            return self.names.resolved(self.advance()[1:-1])
        if self.kind != "name":
            self.fail_expecting("an IRI or a prefixed name")
        prefix, _, local = self.word.partition(":")
        namespace = self.names.namespace(prefix)
        if namespace is None:
            self._fail_at_prefix(prefix)
        self.advance()
        return URIRef(namespace + unescaped(local))

    def prologue(self) -> None:
        """Read the declarations of prefixes and base that stand here."""
        while True:
            if self.accept("PREFIX"):
                if self.kind != "name" or self.word.find(":") != len(self.word) - 1:
                    self.fail_expecting("a prefix with a colon, as in PREFIX ex: <http://example.org/>")
                prefix = self.advance()[:-1]
                self.names.declared[prefix] = str(self._reference())
            elif self.accept("BASE"):
                self.names.base = str(self._reference())
            else:
                return

    def _reference(self) -> URIRef:
        if self.kind != "iri":
            self.fail_expecting("an IRI in angle brackets")
        return self.names.resolved(self.advance()[1:-1])

    def _fail_at_prefix(self, prefix: str) -> NoReturn:
        given = (name or "" for name in self.names.given or () if f"{name or ''}:" in self.text)
        known = ", ".join(f"{name}:" for name in dict.fromkeys((*given, *self.names.declared)))
        declare = f"declare it: PREFIX {prefix}: <...> before the query"
        self.fail(
            f"the prefix {prefix}: is not declared (Unknown namespace prefix : {prefix})",
            remedy=f"{declare}; known are {known}" if known else declare,
        )

    def fail_expecting(self, what: str) -> NoReturn:
        """Raise SparqlSyntaxError: something else was expected here."""
        if self.kind == "end":
            self.fail(f"expected {what}, but the text ends here")
        if self.kind == "other" and self.word in "\"'":
            self.fail("this string has no end on its line, or a wrong escape in it")
        found = self.text[self.starts[self.at] :][: len(self.word)]
        self.fail(
            f"expected {what}, found '{found}'" if "'" not in found else f"expected {what}, found {found}"
        )

    def fail(self, message: str, remedy: str = "", place: int | None = None) -> NoReturn:
        """Raise SparqlSyntaxError at a position of the text, by default that of the present token."""
        if place is None:
            place = self.starts[self.at]
        line = self.text.count("\n", 0, place) + 1
        start = self.text.rfind("\n", 0, place) + 1
        shown = self.text[start:].partition("\n")[0].rstrip("\r").replace("\t", " ")
        span = Span(self.source, line, place - start + 1, shown)
        raise parse_error()(Diagnostic(message, span, remedy), self.text, place)
