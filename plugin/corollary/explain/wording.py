"""The texts of facts, rules and conditions in explanations."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from functools import lru_cache

from corollary.explain.explained import Explained
from corollary.explain.nearest import Near
from corollary.explain.proof import FALSE, Application, Fact, Given, Meaning, Proof, Reading, Step
from corollary.explain.sentences import sentence
from corollary.language import (
    RDF_TYPE,
    Bind,
    Constant,
    Filter,
    Not,
    Rule,
    Term,
    Variable,
    constant_text,
    format_constant,
    format_element,
    format_rule,
    parse_constant,
)
from corollary.language.list_patterns import has_list_pattern, unroll, with_cells
from corollary.language.variables import substitute_element
from corollary.program.compile import is_virtual
from corollary.program.manchester import Manchester

_LABEL = re.compile(r"_:\w+")
"""The label of a blank node in the text of a condition."""

_TYPE = constant_text(RDF_TYPE)

ABOUT_LITERALS = {
    "VALUE": "{} denotes a value of {}",
    "ILL_TYPED": "{} is not written like a value of {}",
    "SAME_VALUE": "{} and {} denote the same value",
    "DIFFERENT_VALUE": "{} and {} denote different values",
}


class Wording:
    """The texts of one explanation: terms shortened by its prefixes, rules as they were written."""

    def __init__(self, explanation: Explained) -> None:
        self._decode = explanation.dictionary.decode
        self._prefixes = explanation.prefixes
        self._program = explanation.program
        self._anonymous = Manchester(explanation.facts, explanation.dictionary, self._format)
        self.rule_text: Callable[[Rule], str] = lru_cache(maxsize=None)(self._rule_text)
        self.term: Callable[[str], str] = lru_cache(maxsize=None)(self._term)

    def title(self, explanation: Explained) -> str:
        """The fact, or the constraint of the inconsistency, that is explained."""
        if explanation.fact is not None:
            return self._triple(explanation.fact)
        place = f" {explanation.place}" if explanation.place else ""
        return f"inconsistency{place} ({explanation.rule})"

    def verdict(self, explanation: Explained) -> str:
        """The sentence before the proofs: whether the fact holds, and is explicit."""
        said = self.title(explanation)
        proved = bool(explanation.proofs)
        unsure = "" if explanation.is_complete else ", as far as the search went"
        match explanation.status.value:
            case "absent" if explanation.unknown:
                unknown = " or ".join(map(self.term, explanation.unknown))
                return f"{said} does not hold: no fact mentions {unknown}."
            case "absent":
                return f"{said} is not explicit, and does not follow."
            case "explicit" if proved:
                return f"{said} is explicit, and it also follows from other facts."
            case "explicit":
                return f"{said} is explicit. It does not follow from other facts{unsure}."
            case "inferred" if not proved:
                return (
                    f"{said} follows, but the search for a proof was given up: there is too much to look at."
                )
            case "inferred":
                return f"{said} follows."
        reasons = (proof.conclusion.reason for proof in explanation.proofs)
        found = [self.sentence(reason) for reason in reasons if isinstance(reason, Application)]
        return f"{said}: {next(filter(None, found), 'these facts contradict each other')}."

    def sentence(self, reason: Application) -> str:
        """What the rule instance says; empty if the rule has no sentence."""
        return self.said(reason.rule.label, reason.bindings)

    def said(self, label: str, bindings: Mapping[str, int]) -> str:
        """What an instance of the rules with a label says; empty if they have no sentence."""
        return sentence(label, bindings, self._id)

    def near(self, near: Near, fact: str = "It") -> str:
        """The sentence before the premises of an instance that misses facts, and concludes ``fact``."""
        many = "this held" if len(near.missing) == 1 else "these held"
        return f"{fact} would follow by {near.rule.label} if {many}:"

    def below(self, near: Near) -> str:
        """As ``near``, for an instance that concludes a fact which another instance misses."""
        return self.near(near, self.fact(near.fact))

    def missing(self, near: Near) -> list[str]:
        """The missing facts, with variables for terms that any term may replace."""

        def name(term: int) -> str:
            return f"?{near.variable(term)}" if term < 0 else self._id(term)

        return [
            f"{name(s)} {'a' if self._decode(p) == _TYPE else self._id(p)} {name(o)}"
            for s, p, o in near.missing
        ]

    def fact(self, fact: Fact) -> str:
        """The text of a fact apart from a proof; a virtual fact about a list becomes a phrase."""
        subject, predicate, value = fact
        if not is_virtual(predicate):
            return self._triple((self._decode(subject), self._decode(predicate), self._decode(value)))
        name = self._decode(predicate)
        if name in ABOUT_LITERALS:
            return ABOUT_LITERALS[name].format(self._id(subject), self._id(value))
        kind, _, number = name.partition("_")
        if kind in ("LIST", "READING"):
            return f"{self._id(subject)} is a list"
        if kind == "ITEM":
            return f"{self._id(value)} is item {number} of the list {self._id(subject)}"
        times = " twice" if name == "REPEATED" else ""
        return f"{self._id(value)} is an item of the list {self._id(subject)}{times}"

    def pair(self, items: tuple[int, int, int]) -> str:
        """The text of a list and two of its items."""
        return f"PAIR({', '.join(map(self._id, items))})"

    def step(self, step: Step) -> str:
        """The text of a step's fact; a virtual fact becomes a phrase."""
        subject, predicate, value = step.fact
        if step.fact == FALSE:
            return "false"
        if not is_virtual(predicate):
            return self._triple((self._decode(subject), self._decode(predicate), self._decode(value)))
        name, _, number = self._decode(predicate).partition("_")
        if isinstance(step.reason, Meaning):
            return ABOUT_LITERALS[self._decode(predicate)].format(self._id(subject), self._id(value))
        assert isinstance(step.reason, Reading)
        items = f"({' '.join(map(self._id, step.reason.items))})"
        if name in ("LIST", "READING"):
            said = self._id(subject)
            return f"{items} is a list" if said == items else f"{said} is the list {items}"
        if name == "CELL":
            return f"{self._id(step.reason.items[0])} is at one of its positions"
        if name == "ITEM":
            return f"its item {number} is {self._id(value)}"
        times = " twice" if name == "REPEATED" else ""
        return f"{self._id(value)} is an item of the list {items}{times}"

    def conditions(self, reason: Application) -> list[str]:
        """One text for each filter, BIND, NOT and aggregate of the rule, with values instead of variables."""
        if not reason.groups and not any(isinstance(e, Filter | Bind | Not) for e in reason.rule.source.body):
            return []
        known: dict[Variable, Term] = {
            Variable(name): self._constant(term)
            for name, term in reason.bindings.items()
            if not is_virtual(term)
        }
        lines = []
        for element in reason.rule.source.body:
            if isinstance(element, Filter):
                lines.append(format_element(substitute_element(element, known), self._prefixes))
            elif isinstance(element, Bind):
                others = {v: term for v, term in known.items() if v != element.variable}
                text = format_element(substitute_element(element, others), self._prefixes)
                value = self._id(reason.bindings[element.variable.name])
                lines.append(f"{text} gives {value}")
            elif isinstance(element, Not):
                atoms = substitute_element(element, known).atoms
                worded = " and ".join(format_element(atom, self._prefixes) for atom in atoms)
                lines.append(f"no fact matches {worded}" if len(atoms) == 1 else f"no facts match {worded}")
        for group in reason.groups:
            some = f", {len(group.shown):,} of them shown below" if len(group.shown) < group.count else ""
            local = {v: term for v, term in known.items() if v in group.element.group}
            text = format_element(substitute_element(group.element, local), self._prefixes)
            results = ", ".join(self._id(reason.bindings[b.variable.name]) for b in group.element.bindings)
            plural = "match" if group.count == 1 else "matches"
            lines.append(f"{text} gives {results}: {group.count:,} {plural}{some}")
        return [_LABEL.sub(lambda found: self.term(found[0]), line) for line in lines]

    def _rule_text(self, rule: Rule) -> str:
        """A rule on one line, with its list patterns as they were written."""
        text = format_rule(self._written(rule), self._prefixes)
        return " ".join(line.strip() for line in text.splitlines())

    def _written(self, rule: Rule) -> Rule:
        return next(
            (
                template
                for template in self._program
                if template.name == rule.name and is_written_out(rule, template)
            ),
            rule,
        )

    def _triple(self, terms: tuple[str, str, str]) -> str:
        subject, predicate, value = terms
        verb = "a" if predicate == _TYPE else self.term(predicate)
        return f"{self.term(subject)} {verb} {self.term(value)}"

    def _id(self, term: int) -> str:
        return self.term(self._decode(term))

    def _constant(self, term: int) -> Constant:
        return parse_constant(self._decode(term))

    def _term(self, text: str) -> str:
        anonymous = self._anonymous.text(text) if text.startswith("_:") else None
        return anonymous or self._format(text)

    def _format(self, text: str) -> str:
        return format_constant(parse_constant(text), self._prefixes)


def premises_printed(proof: Proof, step: Step) -> list[int]:
    """The premises that get a line of their own: cells of a list only if they are inferred."""
    if isinstance(step.reason, Reading):
        return [i for i in step.premises if not _is_plain(proof, i)]
    printed = []
    has_list = any(_says_list(proof.steps[i].fact, proof.steps[i]) for i in step.premises)
    for i in step.premises:
        premise = proof.steps[i]
        is_item = isinstance(premise.reason, Reading) and len(premise.reason.cells) == 1
        if not (has_list and is_item and not _says_list(premise.fact, premise) and _is_plain(proof, i)):
            printed.append(i)
    return printed


def _says_list(fact: Fact, step: Step) -> bool:
    """Whether a step is about a whole list: its premises include rdf:rest facts."""
    return isinstance(step.reason, Reading) and len(step.premises) > 1 and is_virtual(fact[1])


def _is_plain(proof: Proof, number: int) -> bool:
    """Whether a step is explicit, or reads only explicit cells of a list."""
    step = proof.steps[number]
    if isinstance(step.reason, Reading):
        return all(_is_plain(proof, i) for i in step.premises)
    return isinstance(step.reason, Given)


def is_written_out(rule: Rule, template: Rule) -> bool:
    """Whether a rule is the template with its list patterns unrolled for some length."""
    if not has_list_pattern(template):
        return with_cells(template) == rule
    length = max(
        (
            int(name.removeprefix("LIST_"))
            for element in rule.body
            if (name := getattr(element, "name", "")).startswith("LIST_")
        ),
        default=0,
    )
    return length > 0 and unroll(template, length) == rule


def fact_texts(fact: Fact, decode: Callable[[int], str]) -> list[str] | None:
    """A fact's terms as N-Triples; None for FALSE."""
    return None if fact == FALSE else [decode(term) for term in fact]
