"""Synthetic data of any size: an ontology and data, in parts of up to about 100,000 triples each.

``generate`` writes the ontology and the parts as files. ``GENERATORS`` maps names to kinds of data.
"""

from corollary.generators.parts import GENERATORS, Generator, generate

__all__ = ["GENERATORS", "Generator", "generate"]
