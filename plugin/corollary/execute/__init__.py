"""Execution of plans: joins, filters, bindings and aggregates over batches of columns.

A plan says what to compute, a module decides when. This folder knows rules and facts, but not the rounds of
a fixpoint.
"""
