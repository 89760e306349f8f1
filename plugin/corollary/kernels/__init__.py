"""Compiled loops over sorted arrays and graphs. They know nothing of rules or RDF."""
