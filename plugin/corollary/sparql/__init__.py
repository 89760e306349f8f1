"""SPARQL queries over columns of term ids.

``parser`` translates the text of a query to the ``algebra``, ``query_passes`` optimises it, ``evaluate``
evaluates it, operator by operator, on batches of bindings. Expressions are evaluated on columns of texts,
numbers and times (``column_functions``), or on terms (``term_evaluation``), once for every distinct
combination of the values that they read. Queries that this package cannot answer are handed back to rdflib.

``answer.answer`` answers a query over a ``dataset.Source``. This file imports nothing: the store needs terms
and access checks before the first query, but not the evaluation.
"""
