"""Compiled loops over sorted arrays and graphs, which know no rules and no RDF; limits of time and memory."""
