"""Execution of plans: joins, filters, bindings and aggregates over batches of columns.

A plan says what to compute, a module decides when. This folder knows atoms and facts, but neither programs
nor the rounds of a fixpoint.
"""
