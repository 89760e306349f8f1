"""Updates of SPARQL (rules 29 to 52 of the grammar), as rdflib's update operations."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

from rdflib.plugins.sparql.parserutils import CompValue
from rdflib.plugins.sparql.sparql import Update
from rdflib.term import BNode, Node, Variable

from corollary.sparql.parser.query_syntax import QueryParser
from corollary.sparql.parser.term_syntax import Triple

Quads = dict[Node, list[Triple]]
"""Triples by graph."""


class UpdateParser(QueryParser):
    """Reads update requests."""

    given: Collection[Variable] = ()
    """The variables that are bound from outside: they may stand where constants are asked for."""

    def update(self) -> Update:
        """The whole text as one request."""
        operations: list[CompValue] = []
        self.aggregates = None
        self.blank_nodes, self.pattern = {}, 0
        labels_of_data: set[str] = set()
        self.prologue()
        while self.kind != "end":
            self.blank_nodes, self.pattern = {}, 0
            place = self.starts[self.at]
            operation = self._operation()
            operation.prologue = self.names
            operations.append(operation)
            if operation.name == "InsertData":
                shared = labels_of_data & self.blank_nodes.keys()
                if shared:
                    label = min(shared)
                    self.fail(f"INSERT DATA: _:{label} stands in another operation already", place=place)
                labels_of_data |= self.blank_nodes.keys()
            if not self.accept(";"):
                break
            self.prologue()
        if self.kind != "end":
            self.fail_expecting("';' or the end of the update")
        return Update(self.names, operations)

    def _operation(self) -> CompValue:
        match self.word:
            case "LOAD":
                return self._load()
            case "CLEAR" | "DROP":
                return self._clear()
            case "CREATE":
                found = self._named_operation()
                self.expect("GRAPH")
                found["graphiri"] = self.iri()
                return found
            case "ADD" | "MOVE" | "COPY":
                found = self._named_operation()
                source = self._graph_or_default()
                self.expect("TO")
                found["graph"] = [source, self._graph_or_default()]
                return found
            case "INSERT" if self.follows("DATA"):
                return self._data("InsertData", "INSERT DATA")
            case "DELETE" if self.follows("DATA"):
                return self._data("DeleteData", "DELETE DATA")
            case "DELETE" if self.follows("WHERE"):
                return self._delete_where()
            case "INSERT" | "DELETE" | "WITH":
                return self._modify()
        return self.fail_expecting("an update, such as INSERT, DELETE, LOAD or CLEAR")

    def _named_operation(self) -> CompValue:
        """An operation of rdflib's name for the present keyword, with ``silent``."""
        found = CompValue(self.advance().capitalize())
        if self.accept("SILENT"):
            found["silent"] = "SILENT"
        return found

    # Whole graphs

    def _load(self) -> CompValue:
        found = self._named_operation()
        found["iri"] = self.iri()
        if self.accept("INTO"):
            self.expect("GRAPH")
            found["graphiri"] = self.iri()
        return found

    def _clear(self) -> CompValue:
        found = self._named_operation()
        if self.word in ("DEFAULT", "NAMED", "ALL"):
            found["graphiri"] = self.advance()
        else:
            if not self.accept("GRAPH"):
                self.fail_expecting("GRAPH, DEFAULT, NAMED or ALL")
            found["graphiri"] = self.iri()
        return found

    def _graph_or_default(self) -> Any:
        if self.accept("DEFAULT"):
            return "DEFAULT"
        self.accept("GRAPH")
        return self.iri()

    # Triples

    def _data(self, name: str, keywords: str) -> CompValue:
        self.advance()
        self.advance()
        triples, quads = self._quads(f"{keywords} has no variables", variables=False)
        if name == "DeleteData":
            self._refuse_blank_nodes(triples, quads, keywords)
        return CompValue(name, triples=triples, quads=quads)

    def _delete_where(self) -> CompValue:
        self.advance()
        self.advance()
        triples, quads = self._quads()
        self._refuse_blank_nodes(triples, quads, "DELETE WHERE")
        return CompValue("DeleteWhere", triples=triples, quads=quads)

    def _modify(self) -> CompValue:
        found = CompValue("Modify")
        if self.accept("WITH"):
            found["withClause"] = self.iri()
        if self.accept("DELETE"):
            triples, quads = self._quads()
            self._refuse_blank_nodes(triples, quads, "DELETE")
            found["delete"] = CompValue("DeleteClause", triples=triples, quads=quads)
        if self.accept("INSERT"):
            triples, quads = self._quads()
            found["insert"] = CompValue("InsertClause", triples=triples, quads=quads)
        elif not found.delete:
            self.fail_expecting("INSERT or DELETE")
        using = []
        while self.accept("USING"):
            kind = "named" if self.accept("NAMED") else "default"
            using.append(CompValue("UsingClause", **{kind: self.iri()}))
        if using:
            found["using"] = using
        self.expect("WHERE")
        self.blank_nodes = {}
        found["where"] = self.read_group().algebra()
        return found

    def _quads(self, complaint: str = "", *, variables: bool = True) -> tuple[list[Triple], Quads]:
        """Triples in braces, those of each GRAPH apart. Without ``variables``, only given ones may occur."""
        start = self.at
        self.expect("{")
        triples: list[Triple] = []
        quads: Quads = {}
        is_after_triples = False
        while not self.accept("}"):
            if self.accept("GRAPH"):
                graph = self.variable_or_iri()
                self.expect("{")
                quads.setdefault(graph, []).extend(self.triples(self.simple_verb))
                self.expect("}")
                self.accept(".")
                is_after_triples = False
            else:
                if is_after_triples or not (self.at_term() or self.word in ("(", "[")):
                    self.fail_expecting("'.', GRAPH or '}'" if is_after_triples else "a triple, GRAPH or '}'")
                triples += self.triples(self.simple_verb)
                is_after_triples = self.words[self.at - 1] != "."
        if not variables:
            for at in range(start, self.at):
                if self.kinds[at] == "variable" and Variable(self.words[at][1:]) not in self.given:
                    remedy = "bind it in initBindings, or use WHERE"
                    self.fail(f"{complaint}: {self.words[at]}", remedy, self.starts[at])
        return triples, quads

    def _refuse_blank_nodes(self, triples: list[Triple], quads: Quads, where: str) -> None:
        for triple in (*triples, *(triple for part in quads.values() for triple in part)):
            if any(isinstance(term, BNode) for term in triple):
                place = self.starts[self.at - 1]
                remedy = "use a variable"
                self.fail(f"{where}: a blank node stands for no node of the data", remedy, place)
