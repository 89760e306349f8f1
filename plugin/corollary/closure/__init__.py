"""Graphs on sorted columns: strong components, reachability, and the maintained closure of a relation."""
