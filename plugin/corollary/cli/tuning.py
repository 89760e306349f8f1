"""The tuning constants of the command: what is limited, and in which unit."""

SECONDS_BEFORE_BAR = 2.0
"""Seconds after which a running stage shows a bar."""

MAX_CHARACTERS_OF_COMPLAINT = 1500
"""Characters of an error message of Spark that are shown."""

MAX_PREDICATES_LISTED = 10
"""Predicates in the list of the largest."""
