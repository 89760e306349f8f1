"""Relational algebra over column batches: joins, filters, bindings, groups; what plans are run with.

Between plans, which say what to do, and modules, which decide when: it knows atoms and facts, and
neither rounds nor rules as a whole.
"""
