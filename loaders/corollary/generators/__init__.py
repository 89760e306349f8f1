"""Synthetic data of any size: an ontology and its data, in parts of some 100,000 triples each.

``generate`` writes them as files, ``GENERATORS`` has every kind of data by its name.
"""

from corollary.generators.parts import GENERATORS, Generator, generate

__all__ = ["GENERATORS", "Generator", "generate"]
