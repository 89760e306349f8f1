"""Modules: each closes some rules of a program; together they compute its materialisation.

A module receives the facts that are new to it, and returns conclusions of its rules from these facts. Some
modules apply their rules once. Others return the whole closure in one step, so that the fixpoint need not
hand them their own conclusions again (Hu, Motik, Horrocks, Modular Materialisation of Datalog Programs,
2019).
"""
