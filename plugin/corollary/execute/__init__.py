"""Plans at work: joins, filters, bindings and groups over batches of columns.

A plan says what to compute; a module decides when. This folder knows atoms and facts, and neither rounds of
a fixpoint nor programs.
"""
