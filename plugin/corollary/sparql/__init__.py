"""SPARQL queries over columns of term ids.

rdflib parses a query and translates it to SPARQL's algebra; here the algebra is evaluated, operator
by operator, on batches of bindings. Expressions are rdflib's own, asked once for every distinct
combination of the values they read. What cannot be answered here is handed back to rdflib.

``answer`` answers a query over a ``dataset.Source``. Nothing is imported here: terms and checks of access
are needed before the first query, the evaluation is not.
"""
