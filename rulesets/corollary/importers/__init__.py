"""Rules from other languages: N3 and SWRL."""
