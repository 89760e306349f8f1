"""SPARQL's operators, functions and regular expressions on single terms."""
