"""Updates of SPARQL (rules 29 to 52 of the grammar), as operations of the algebra."""

from __future__ import annotations

from collections.abc import Collection

from rdflib.term import BNode, URIRef, Variable

from corollary.sparql.algebra import (
    Clear,
    Create,
    DeleteData,
    Drop,
    GraphClause,
    InsertData,
    Load,
    Modify,
    Quad,
    Transfer,
    UpdateOperation,
    pattern_of,
)
from corollary.sparql.parser.cursor import Names
from corollary.sparql.parser.query_syntax import QueryParser

Quads = tuple[Quad, ...]


class UpdateParser(QueryParser):
    """Reads update requests."""

    def __init__(self, text: str, names: Names, given: Collection[Variable] = ()) -> None:
        """``given`` variables are bound from outside: they may stand where constants are asked for."""
        super().__init__(text, names, "<update>")
        self._given = given

    def update(self) -> tuple[UpdateOperation, ...]:
        """The whole text as one request."""
        operations: list[UpdateOperation] = []
        labels_of_data: set[str] = set()
        self.prologue()
        while self.kind != "end":
            self.blank_nodes, self.pattern = {}, 0
            place = self.starts[self.at]
            operation = self._operation()
            operations.append(operation)
            if isinstance(operation, InsertData):
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
        return tuple(operations)

    def _operation(self) -> UpdateOperation:
        match self.word:
            case "LOAD":
                return self._load()
            case "CLEAR" | "DROP":
                kind = Clear if self.word == "CLEAR" else Drop
                is_silent = self._begin()
                return kind(self._graphs(), is_silent)
            case "CREATE":
                is_silent = self._begin()
                self.expect("GRAPH")
                return Create(self.iri(), is_silent)
            case "ADD" | "MOVE" | "COPY":
                keyword, is_silent = self.word, self._begin()
                source = self._graph_or_default()
                self.expect("TO")
                return Transfer(keyword, source, self._graph_or_default(), is_silent)
            case "INSERT" if self.follows("DATA"):
                return InsertData(self._data("INSERT DATA"))
            case "DELETE" if self.follows("DATA"):
                return DeleteData(self._data("DELETE DATA", blank_nodes=False))
            case "DELETE" if self.follows("WHERE"):
                return self._delete_where()
            case "INSERT" | "DELETE" | "WITH":
                return self._modify()
        return self.fail_expecting("an update, such as INSERT, DELETE, LOAD or CLEAR")

    def _begin(self) -> bool:
        """Read the keyword of an operation, and SILENT. Returns whether SILENT was there."""
        self.advance()
        return self.accept("SILENT")

    # Whole graphs

    def _load(self) -> Load:
        is_silent = self._begin()
        source, target = self.iri(), None
        if self.accept("INTO"):
            self.expect("GRAPH")
            target = self.iri()
        return Load(source, target, is_silent)

    def _graphs(self) -> str:
        if self.word in ("DEFAULT", "NAMED", "ALL"):
            return self.advance()
        if not self.accept("GRAPH"):
            self.fail_expecting("GRAPH, DEFAULT, NAMED or ALL")
        return self.iri()

    def _graph_or_default(self) -> URIRef | None:
        if self.accept("DEFAULT"):
            return None
        self.accept("GRAPH")
        return self.iri()

    # Triples

    def _data(self, keywords: str, *, blank_nodes: bool = True) -> Quads:
        self.advance()
        self.advance()
        quads = self._quads(f"{keywords} has no variables", variables=False)
        if not blank_nodes:
            self._refuse_blank_nodes(quads, keywords)
        return quads

    def _delete_where(self) -> Modify:
        self.advance()
        self.advance()
        quads = self._quads()
        self._refuse_blank_nodes(quads, "DELETE WHERE")
        return Modify(pattern_of(quads), quads, base=self.names.base)

    def _modify(self) -> Modify:
        graph = self.iri() if self.accept("WITH") else None
        deleted: Quads = ()
        inserted: Quads = ()
        has_deletion = self.accept("DELETE")
        if has_deletion:
            deleted = self._quads()
            self._refuse_blank_nodes(deleted, "DELETE")
        if self.accept("INSERT"):
            inserted = self._quads()
        elif not has_deletion:
            self.fail_expecting("INSERT or DELETE")
        using = []
        while self.accept("USING"):
            is_named = self.accept("NAMED")
            using.append(GraphClause(self.iri(), is_named))
        self.expect("WHERE")
        self.blank_nodes = {}
        where = self.read_group().algebra()
        return Modify(where, deleted, inserted, graph, tuple(using), self.names.base)

    def _quads(self, complaint: str = "", *, variables: bool = True) -> Quads:
        """Triples in braces. Without ``variables``, only given ones may occur."""
        start = self.at
        self.expect("{")
        quads: list[Quad] = []
        is_after_triples = False
        while not self.accept("}"):
            if self.accept("GRAPH"):
                graph = self.variable_or_iri()
                self.expect("{")
                quads += [(*triple, graph) for triple in self.triples(self.simple_verb)]
                self.expect("}")
                self.accept(".")
                is_after_triples = False
            else:
                if is_after_triples or not (self.at_term() or self.word in ("(", "[")):
                    self.fail_expecting("'.', GRAPH or '}'" if is_after_triples else "a triple, GRAPH or '}'")
                quads += [(*triple, None) for triple in self.triples(self.simple_verb)]
                is_after_triples = self.words[self.at - 1] != "."
        if not variables:
            for at in range(start, self.at):
                if self.kinds[at] == "variable" and Variable(self.words[at][1:]) not in self._given:
                    remedy = "bind it in initBindings, or use WHERE"
                    self.fail(f"{complaint}: {self.words[at]}", remedy, self.starts[at])
        return tuple(quads)

    def _refuse_blank_nodes(self, quads: Quads, where: str) -> None:
        for quad in quads:
            if any(isinstance(term, BNode) for term in quad):
                place = self.starts[self.at - 1]
                remedy = "use a variable"
                self.fail(f"{where}: a blank node stands for no node of the data", remedy, place)
