"""The tuning constants of the rule language: what is limited, in which unit, and measurements."""

MAX_ITEMS_UNROLLED = 8
"""Items. Rules over longer lists are not unrolled, if they have a form for long lists (``has_long_form``).
Not tuned: most lists in ontologies are shorter."""

MAX_NESTED_OPERATORS = 100
"""Nesting depth of operators and calls. Deeper ones would overflow Python's stack when evaluated. Not
tuned: no text that a person writes comes near."""

MAX_CHARACTERS_QUOTED = 500
"""Characters of input in a message. A longer line is omitted, a longer detail truncated. Not tuned: some five
lines of a terminal."""

MAX_CHARACTERS_ON_A_LINE = 100
"""Characters of a rule that is printed on one line. Not tuned: what most editors show."""

MAX_RULES_SHOWN = 50
"""Rules of a program that a notebook shows. Not tuned: some two screens."""
