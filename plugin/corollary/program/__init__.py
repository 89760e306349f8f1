"""A program over term ids: its rules compiled, the shapes that modules recognise, dependencies and strata."""
