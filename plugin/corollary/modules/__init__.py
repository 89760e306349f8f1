"""Algorithms that each close some rules of a program; together they compute its materialisation.

A module takes in facts that are new to it and answers with what follows from them by its rules, in
one step or closed. ``closed`` modules derive everything their rules make of their own conclusions
at once, so these never come back to them (Hu, Motik, Horrocks, Modular Materialisation of Datalog
Programs, 2019).
"""
