"""The registry of modules: one line each, in the order in which they claim rules."""

from __future__ import annotations

from corollary.modules.datatypes import Datatypes
from corollary.modules.equality import Equality
from corollary.modules.functional import Functional
from corollary.modules.inclusion import Inclusion
from corollary.modules.linear import Linear
from corollary.modules.list_rules import ListRules
from corollary.modules.lists import Lists
from corollary.modules.module import Module
from corollary.modules.semi_naive import OtherRules, SchemaRules
from corollary.modules.transitive import Transitive

MODULES: tuple[type[Module], ...] = (
    Lists,
    Datatypes,
    ListRules,
    Transitive,
    Equality,
    Functional,
    SchemaRules,
    Inclusion,
    Linear,
    OtherRules,
)
