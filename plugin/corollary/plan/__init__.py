"""Logical plans of rules, the passes over them, join orders, delta plans, and EXPLAIN."""
