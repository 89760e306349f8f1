"""RDF terms: the dictionary of ids, tables of texts, and the values of literals."""
