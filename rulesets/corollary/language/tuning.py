"""The tuning constants of the rule language: what is limited, in which unit, and measurements."""

MAX_ITEMS_UNROLLED = 8
"""Items. Rules over longer lists are not unrolled, if they have a form for long lists (``has_long_form``).
Not measured: most lists in ontologies are shorter."""

MAX_NESTED_OPERATORS = 100
"""Nesting depth of operators and calls. Deeper ones would overflow Python's stack when evaluated."""

MAX_CHARACTERS_QUOTED = 500
"""Characters of input in a message. A longer line is omitted, a longer detail truncated."""

MAX_CHARACTERS_ON_A_LINE = 100
"""Characters of a rule that is printed on one line."""

MAX_RULES_SHOWN = 50
"""Rules of a program that a notebook shows."""
