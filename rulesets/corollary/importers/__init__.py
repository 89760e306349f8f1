"""Import of rules in N3 and SWRL."""
