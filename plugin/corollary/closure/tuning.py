"""The tuning constants of closures: what is limited, in which unit, and how it was measured."""

MAX_EDGES_BY_PRODUCT = 4
"""Edges: so few new ones are joined one by one with what reaches them and what they reach."""

MIN_FACTS_PER_NEW_FACT = 32
"""External facts and edges per new one: with fewer, the whole closure is computed anew."""


MAX_WORDS_PER_EDGE = 16
"""A matrix of no more words than so many for each edge is made without more ado."""

PAIRS_PER_WORD = 2
"""So many pairs in a list are worth a word of a matrix."""

WORDS_PER_STEP = 8
"""In the time in which a walk reaches one more node, so many words of a matrix are worked out."""

MAX_WORDS_PER_BLOCK = 1 << 22
"""A matrix that is only looked at is made in blocks of no more words."""

MAX_IDS_PER_TERM = 8
"""A table of all ids between the least and the greatest beats searching, up to so many for each term."""
