"""SPARQL queries over columns of term ids.

``parser`` translates the text of a query to SPARQL algebra, in rdflib's classes. This package evaluates the
algebra, operator by operator, on batches of bindings. Frequent conditions are decided on columns of texts
(``column_conditions``). rdflib evaluates the other expressions, once for every distinct combination of the
values that an expression reads. Queries that this package cannot answer are handed back to rdflib.

``answer.answer`` answers a query over a ``dataset.Source``. This file imports nothing: the store needs terms
and access checks before the first query, but not the evaluation.
"""
