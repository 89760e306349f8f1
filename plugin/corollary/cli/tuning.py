"""The tuning constants of the command: what is limited, and in which unit."""

SECONDS_BEFORE_BAR = 2.0
"""Seconds after which a running stage shows a bar."""

MAX_CHARACTERS_OF_COMPLAINT = 1500
"""Characters of an error message of Spark that are shown."""

MAX_PREDICATES_LISTED = 10
"""Predicates in the list of the largest."""

BYTES_RESERVED_FOR_ERROR = 1 << 20
"""Bytes that are freed before an error is reported: memory may have run out."""

SECONDS_FOR_JAVA = 10.0
"""Seconds that ``java -version`` may take. Measured: 0.05 to 0.3."""
