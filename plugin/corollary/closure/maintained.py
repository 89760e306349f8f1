"""The maintained closure: R = S ∘ E*, followed while S and E change.

S (the *external* facts of R) are the facts of R that are explicit or that other rules derive. E are the
edges: facts of another relation for a linear rule, S itself for transitivity, in both directions if R is
symmetric too. What follows is never an edge: semi-naive evaluation would consider every split of every path,
the closure of a graph considers every edge once (Hu, Motik, Horrocks, Modular Materialisation of Datalog
Programs, 2019, sections 5 and 6). ``closure.reachability`` computes the paths; this class decides which.

R may be compressed whatever E is: where E is not S, because other rules close R, or copy its facts.

Words: a fact of R is *doubtful* if no path over the remaining external facts and edges explains it. It may
still hold by other rules. Then it is external from now on, and what it leads to may have been deleted. The
next ``extend`` derives again: if E = S, the deleted facts that paths explain; else what such facts, which are
*restored*, lead to.

    a→b→c external, a→c derived, by another rule too; remove a→b: a→c is doubtful, proved, then external

Invariant: R = S ∘ E*, except that R may lack such facts until then (``is_waiting``).
"""

from __future__ import annotations

import numpy as np

from corollary.closure.compressed_relation import CompressedRelation, closure_of
from corollary.closure.pieces import Pieces
from corollary.closure.reachability import Graph, Part, Paths, close_keys, listed, nodes_met
from corollary.closure.tuning import (
    MAX_EDGES_BY_PRODUCT,
    MAX_FACTS_BESIDE_PER_EDGE,
    MIN_EDGES_PER_JOINED,
    MIN_FACTS_PER_NEW_FACT,
    MIN_PAIRS_PER_FACT_IF_DENSE,
    TIMES_CLOSED_BEFORE_SORTING,
)
from corollary.columns import Relation
from corollary.columns.key_sort import sort_keys
from corollary.columns.pairs import (
    NO_KEYS,
    Pairs,
    contains,
    difference,
    distinct,
    distinct_of_sorted,
    firsts,
    intersection,
    pack,
    seconds,
    sorted_unique,
    swap,
    union,
)
from corollary.columns.relation import COPIES, EMPTY, PATHS
from corollary.kernels.sorted import Keys


class MaintainedClosure:
    """R = S ∘ E*; without ``edges``, E = S. All keys are packed pairs, sorted and unique."""

    def __init__(
        self,
        external: Relation,
        edges: Relation | None = None,
        *,
        symmetric: bool = False,
        restored: Keys = NO_KEYS,
    ) -> None:
        # copies are listed: they do not follow by the own rules
        is_copied = external.closed_by == COPIES
        self.external = Relation(Pairs(external.pairs().keys)) if is_copied else external
        self.symmetric = symmetric
        self.doubtful = NO_KEYS
        self._restored = restored
        self._lacking = NO_KEYS  # deleted facts that paths explained when the deletions were final (E = S)
        self._edges = edges
        self._deleted = NO_KEYS
        self._deleted_edges = NO_KEYS
        self._noted = NO_KEYS  # facts that this transaction found to be external
        self._proved = EMPTY  # some external facts: those of the last ``note_proved``
        self._times_closed = 0  # since a dense R was sorted by objects

    @property
    def is_waiting(self) -> bool:
        """Whether R may lack facts that the next ``extend`` derives."""
        return bool(self._restored.size or self._lacking.size)

    @property
    def edges(self) -> Relation:
        """E."""
        return self.external if self._edges is None else self._edges

    @property
    def remaining(self) -> Relation:
        """S without the facts deleted in this transaction."""
        return self.external.minus(self._deleted)

    def note_external(self, external: Keys, internal: Keys) -> None:
        """Note facts of R that are external, and facts that are not. Precondition: R stays S ∘ E*; E = S.

        Paths over external facts that are new in S, in both directions if R is symmetric, may have been
        deleted already.
        """
        new = external[~self.external.contains(external)]
        both = sorted_unique(np.concatenate((new, swap(new)))) if self.symmetric else new
        self._noted = union(self._noted, both)
        self.external = self.external.minus(internal).plus(new)
        self._proved = self._proved.minus(internal)

    def note_proved(self, proved: Relation, closed: Relation) -> None:
        """Note that those facts of R (``closed``) are external that are proved. Preconditions as above.

        Cost: that of the facts that were not proved in the last call, if it is seen which these are.
        """
        if proved.is_compressed:
            fresh = proved.pairs().keys
        elif proved.shares_base(self._proved):
            fresh = proved.since(self._proved)[1]
        else:  # all, without folding what others have, too
            fresh = union(proved.parts[0].keys, proved.parts[1].keys)
        fresh = proved.common(fresh[~self.external.contains(fresh)])
        is_here = closed.contains(fresh)
        self.note_external(fresh[is_here], NO_KEYS)
        self._proved = proved.minus(fresh[~is_here])

    def prepare(self, closed: Relation, explicit: Relation) -> None:
        """Make ready for changes of R (``closed``; E = S), of which some facts are ``explicit``.

        Cost: that of sorting the external facts by objects. To find the others has cost more.
        """
        if closed.is_compressed:
            self._proved = explicit
        elif len(closed) == len(self.external):
            self.external = closed
            return
        _ = self.external.pairs().by_object

    def doubt(self, facts: Keys) -> None:
        """Note that no path explains these facts: all of R, because the rule that closes R does not apply."""
        self.doubtful = facts

    @property
    def paths(self) -> Paths:
        """S ∘ E*."""
        return Paths(self.edges, None if self._edges is None else self.external, self.symmetric)

    def close(self, *, inverse: bool = False) -> Keys:
        """R, sorted. Where E is not S, facts of S may be missing.

        ``inverse`` (for E other than S): pairs (z, x) instead of (x, z).

        Cost: that of ``close_keys``.
        """
        if self._edges is None:
            return listed(self._graph()) if len(self.external) else NO_KEYS
        paths, rest = NO_KEYS, self.external
        known = self._edges.pairs().keys
        if len(rest) >= known.size and rest.contains(known).all():
            edges = (self._edges.inverse() if inverse else self._edges).pairs().keys
            paths, rest = close_keys(edges), rest.minus(known)
        others = self._longer(rest.pairs().keys)
        return union(paths, sort_keys(swap(others), by_first=True) if inverse else others)

    def _longer(self, facts: Keys) -> Keys:
        """The paths from some facts of R over edges (E other than S), sorted; facts may be missing.

        Cost: a look-up for each fact, and the paths from those whose objects have edges.
        """
        assert self._edges is not None
        leading = facts[self._edges.subject_counts(seconds(facts)) > 0]
        if not leading.size:
            return NO_KEYS
        sources = distinct_of_sorted(firsts(leading))
        return Paths(self._edges, Relation(Pairs(leading))).starting(sources)

    def closed(self, known: Relation = EMPTY, before: Relation = EMPTY) -> Relation:
        """R (E = S): compressed, unless a list is as small.

        ``known`` are facts of R, all of S among them. If they are compressed, the cost is that of their
        generators. ``before`` is R of other facts, for instance before a change: see ``closure_of``.
        """
        if not len(self.external):
            return EMPTY
        is_short = known.closed_by == PATHS and not len(known.missing())
        graph = self._graph(known.generators() if is_short else None)
        return closure_of(graph, known if known.is_compressed else before)

    def _graph(self, edges: Keys | None = None) -> Graph:
        """The graph of edges; of the external facts, if there are none (E = S)."""
        edges = self.external.pairs().keys if edges is None else edges
        # sorted: else the graph needs another permutation of the edges
        return Graph.of(sort_keys(np.concatenate((edges, swap(edges)))) if self.symmetric else edges)

    def extend(self, new: Keys, new_edges: Keys, closed: Relation) -> Keys | None:
        """What follows from new external facts and new edges (left out where E = S), maybe without these.

        ``closed`` is R with the new facts. Returns None if ``close`` is faster: if R is compressed, E = S and
        many pairs are near, or more than one in MIN_FACTS_PER_NEW_FACT of all external facts and edges is
        new, or if R is dense and must be sorted by objects, or half of it looked at. A few new edges are
        joined with what reaches them and what they reach, if these pairs are fewer than the external facts.
        """
        lacking, self._lacking = self._lacking, NO_KEYS
        found = self._extended(new, new_edges, closed)
        return found if found is None or not lacking.size else union(found, self.paths.among(lacking))

    def _extended(self, new: Keys, new_edges: Keys, closed: Relation) -> Keys | None:
        """As ``extend``, but for facts that R lacks although paths explain them (E = S)."""
        self.external = self.external.plus(new)
        new, self._restored = union(new, self._restored), NO_KEYS
        if self._edges is None:
            new = new[firsts(new) != seconds(new)]  # a loop leads to nothing else
            if not new.size:
                return NO_KEYS
            if closed.is_compressed:
                return self._paths_near(new, closed)
            new_edges, known = new, len(self.external)
        else:
            self._edges = self._edges.plus(new_edges)
            known = len(self.external) + len(self._edges)
        is_dense = len(closed) > MIN_PAIRS_PER_FACT_IF_DENSE * known
        if is_dense and self._closes_first(closed):
            return None
        if self._edges is None and new.size <= MAX_EDGES_BY_PRODUCT and _joined(new, closed) <= known:
            return _by_product(new, closed, symmetric=self.symmetric)
        if MIN_FACTS_PER_NEW_FACT * max(new.size, new_edges.size) > known:
            return None
        joined = int(closed.object_counts(firsts(new_edges)).sum())
        if self._edges is None and (self.symmetric or MIN_EDGES_PER_JOINED * joined > known):
            part = self._near(new)  # most sources reach the new edges' ends already
            return part.lost(part.within(Paths(self.external.minus(new), None, self.symmetric)))
        rows, sources = closed.subjects_of(firsts(new_edges))
        longer = sorted_unique(pack(sources, seconds(new_edges)[rows]))
        longer = longer[~closed.contains(longer)]
        seeds = union(new, longer)
        sources = distinct_of_sorted(firsts(seeds))
        if is_dense and 2 * int(closed.subject_counts(sources).sum()) > len(closed):
            return None
        if self._edges is not None:
            return union(longer, self._longer(seeds))
        return Paths(self.edges, Relation(Pairs(seeds))).starting(sources)

    def is_listed_near(self, edges: Keys, closed: Relation) -> bool:
        """Whether a compressed R (``closed``; E = S) lists what edges change, beside its closure or missing.

        These facts, with all that the sources of paths over the edges reach, must be few for the edges of R.
        Cost: that of the sources found, limited likewise.
        """
        room = self._room_beside(closed)
        ends = distinct(np.concatenate((firsts(edges), seconds(edges))) if self.symmetric else firsts(edges))
        if int(closed.subject_counts(ends).sum()) > room:  # before an index of the inverse is made
            return False
        before = closed if self.symmetric else closed.inverse()
        if int(before.subject_counts(ends).sum()) > room:
            return False
        sources = distinct(np.concatenate((ends, before.objects_of(ends)[1])))
        return int(closed.subject_counts(sources).sum()) <= room

    def _room_beside(self, closed: Relation) -> int:
        """How many facts may still be listed beside R; as many as R has, if it is not compressed."""
        if not isinstance(closed, CompressedRelation):
            return len(closed)
        return int(MAX_FACTS_BESIDE_PER_EDGE * len(self.external)) - closed.overlay

    def _paths_near(self, new: Keys, closed: Relation) -> Keys | None:
        """What follows from new edges that a compressed R lists; else None (E = S)."""
        if self.symmetric:
            return self._put_together(new, closed)
        if not self.is_listed_near(new, closed):
            return None
        if _joined(new[~closed.contains(new)], closed) > self._room_beside(closed):
            return None  # known before the part of the graph near them is computed
        part, most = self._near(new), int(MAX_FACTS_BESIDE_PER_EDGE * len(self.external))
        found = part.components().lists(part.nodes.astype(np.uint64), most)
        return None if found is None else sort_keys(found[~closed.contains(found)])

    def _put_together(self, new: Keys, closed: Relation) -> Keys | None:
        """As ``_paths_near``, for a symmetric R, by a search near the new edges."""
        pieces = Pieces.of(self.external.minus(new), new)
        most = int(MAX_FACTS_BESIDE_PER_EDGE * len(self.external))
        found = None if pieces is None else pieces.put_together(closed, most, len(self.external))
        if found is None:
            return None
        found = found[~closed.contains(found)]
        returning = closed.missing().contains(found).sum()
        return found if found.size - 2 * returning <= self._room_beside(closed) else None

    def _closes_first(self, closed: Relation) -> bool:
        """Whether a dense R is closed anew, before it is sorted by objects after some such times."""
        is_kept = closed.is_compressed or closed.parts[0].has_by_object
        is_sorted = is_kept or self._times_closed >= TIMES_CLOSED_BEFORE_SORTING
        if is_sorted and not is_kept:
            _ = closed.parts[0].by_object  # it is made now, and kept
        self._times_closed = 0 if is_sorted else self._times_closed + 1
        return not is_sorted

    def leads_over(self, edges: Keys, closed: Relation) -> bool:
        """Whether a path of R (``closed``, before the transaction; E other than S) may lead over edges of E.

        Cost: a look-up for each of the edges.
        """
        return edges.size > 0 and bool(self._restored.size or closed.object_counts(firsts(edges)).any())

    def lose(
        self, deleted: Keys, deleted_edges: Keys, proved: Relation, proved_edges: Relation, *, is_based: bool
    ) -> tuple[Keys, Keys]:
        """The facts that lose a derivation when facts of R and edges (left out where E = S) are deleted.

        Returns paths, and external facts near them that are not proved. If a deleted fact is not external,
        but has a path, then an external fact on the path is external no more: only paths have proved it.

            R symmetric, a→b external, then b→a explicit too; remove a→b (b→a proves it), then b→a

        The proved facts of R and E stay. If ``is_based``, a rule derives a fact of R from every edge.
        Precondition: external facts and edges are those before the transaction, in every call. Cost: the part
        of the graph that leads to what is deleted, or is reached from there.
        """
        is_external = self.external.contains(deleted)
        internal, deleted = deleted[~is_external], deleted[is_external]
        beside = sorted_unique(self.premises(internal)[0]) if internal.size else NO_KEYS
        self._deleted = union(self._deleted, deleted)
        self._deleted_edges = union(self._deleted_edges, deleted_edges)
        rest = self.external.minus(self._deleted)
        if self._edges is None:
            before = self._near(deleted)
            staying = before.within(Paths(rest, None, self.symmetric))
            external = self.external.common(sorted_unique(staying.edges))
        else:
            cut = difference(deleted_edges, Paths(proved_edges).among(deleted_edges))
            through = self.paths.sources_of(distinct_of_sorted(firsts(cut)))
            before = Part.of(self.paths, distinct(np.concatenate((firsts(deleted), through))))
            staying = before.within(Paths(self._edges.minus(self._deleted_edges), rest))
            external = staying.seeds
        external = union(external, difference(beside, self._deleted))
        lost = before.lost(staying)
        self.doubtful = union(self.doubtful, lost)
        is_proved = proved.contains(external)
        if is_based:
            is_proved |= proved_edges.contains(external)
        if self._edges is not None and not proved_edges.contains(staying.edges).all():
            seeds = Relation(Pairs(external[is_proved]))
            paths = before.lost(before.within(Paths(proved_edges, seeds)))
            return paths, beside[~proved.contains(beside)]
        return lost, external[~is_proved]

    def cut_off(self, deleted: Keys, closed: Relation, proved: Relation) -> Keys | None:
        """As ``lose``, for a symmetric R, by a search near the deleted edges; E = S.

        ``closed`` is R before the transaction. None if facts that stay external are not proved, if a deleted
        fact was not external, if the search meets many nodes, or if a compressed R would list too much.
        """
        if not self.symmetric or len(proved) + deleted.size < len(self.external):
            return None
        gone = union(self._deleted, deleted)
        rest = self.external.minus(gone)
        if not self.external.contains(deleted).all() or proved.since(rest)[0].size:
            return None
        pieces = Pieces.of(rest, deleted)
        lost = None if pieces is None else pieces.cut_off(closed, self._room_beside(closed))
        if lost is not None:
            self._deleted, self.doubtful = gone, union(self.doubtful, lost)
        return lost

    def joined(self, wanted: Keys, closed: Relation) -> Keys | None:
        """As ``rederive``, for a symmetric R; None if a search meets many nodes (E = S)."""
        wanted = self._hopeful(wanted, closed)
        return Paths(closed, None, True).joined(wanted) if self.symmetric and wanted.size else None

    def _hopeful(self, wanted: Keys, closed: Relation) -> Keys:
        """The wanted pairs, if facts of R that no path explains may lead to others; else without these."""
        known = closed.common(self.doubtful)
        if self._edges is None:
            known = known[firsts(known) != seconds(known)]  # a loop leads to nothing else
        return wanted if known.size else difference(wanted, self.doubtful)

    def rederive(self, wanted: Keys, closed: Relation, edges: Relation) -> Keys:
        """The wanted pairs that follow from facts of R and E (R again where E = S)."""
        wanted = self._hopeful(wanted, closed)
        if not wanted.size:
            return wanted
        sources = distinct_of_sorted(firsts(wanted))
        if self._edges is None:
            if closed.is_compressed:
                present = Relation(Pairs(closed.common(self.external.pairs().keys)))
                return Paths(present, None, self.symmetric).among(wanted)
            if len(self.external) < len(closed):
                _, near = self.paths.steps_from(sources, distinct(seconds(wanted)))
                if closed.contains(near).all():
                    return self.paths.among(wanted)  # all other facts follow from these
            return Paths(closed, None, self.symmetric).among(wanted)
        seeds, near = self.paths.steps_from(sources)
        if closed.contains(seeds).all() and edges.contains(near).all():
            return self.paths.among(wanted)
        return Paths(edges, Relation(Pairs(closed.starting(sources)))).among(wanted)

    def premises(self, wanted: Keys) -> tuple[Keys, Keys]:
        """The external facts and the edges (none where E = S) on all paths that join the wanted pairs.

        Others from the pairs' sources may be among them.
        """
        if contains(wanted, self.doubtful).all():
            wanted = difference(wanted, self.doubtful)  # proofs of these start from another of them
        seeds, edges = self.paths.steps_from(distinct_of_sorted(firsts(wanted)), distinct(seconds(wanted)))
        return (edges, NO_KEYS) if self._edges is None else (seeds, edges)

    def commit(self, deleted: Keys, closed: Relation, edges: Relation) -> None:
        """The deletions are final: R and E (unused where E = S) are as given."""
        if self._edges is not None:
            self._edges = edges
        if not (deleted.size or self.doubtful.size or self._noted.size):
            self._deleted_edges = NO_KEYS
            return
        self.external, self._proved = self.external.minus(deleted), self._proved.minus(deleted)
        # new rules may have made paths of no facts
        doubtful = closed.common(difference(self.doubtful, deleted))
        unexplained = difference(doubtful, self.paths.among(doubtful))
        self.external = self.external.plus(unexplained)
        noted = union(self._noted, unexplained)
        if self._edges is None:
            noted = noted[firsts(noted) != seconds(noted)]  # a loop leads to nothing else
        self.doubtful = self._deleted = self._deleted_edges = self._noted = NO_KEYS
        # facts of a compressed R may be deleted before the facts on their paths are proved
        if noted.size or closed.is_compressed:
            missing = self.paths.among(deleted)  # all that R may lack
            if self._edges is None:
                self._lacking, noted = union(self._lacking, missing), NO_KEYS
            else:
                premises = sorted_unique(self.premises(missing)[0])
                noted = premises if closed.is_compressed else intersection(noted, premises)
        self._restored = closed.common(union(self._restored, noted))  # a later layer may delete them

    def _near(self, edges: Keys) -> Part:
        """The part of the graph with all paths over some edges, and all between their ends; E = S."""
        if self.symmetric:
            ends = distinct(np.concatenate((firsts(edges), seconds(edges))))
            return Part.of(self.paths, self.paths.sources_of(ends))
        targets = nodes_met(self.edges, distinct(seconds(edges)))
        return Part.of(self.paths, self.paths.sources_of(distinct(firsts(edges))), targets)


def _joined(edges: Keys, closed: Relation) -> int:
    """The number of pairs of what reaches edges and what they reach, edge by edge."""
    before, after = closed.object_counts(firsts(edges)) + 1, closed.subject_counts(seconds(edges)) + 1
    return int((before * after).sum())


def _by_product(edges: Keys, closed: Relation, *, symmetric: bool) -> Keys:
    """All paths over some edges: for each (u, v) from u and what reaches u to v and what v reaches.

    If ``symmetric``, also the inverse paths; an edge within a component adds none.
    """
    paths = NO_KEYS
    inverse = swap(edges)
    is_fresh = contains(edges, inverse) | ~closed.contains(inverse)
    for edge in edges[is_fresh] if symmetric else edges:
        closed = closed.plus(paths)
        ends = np.array([int(edge) >> 32, int(edge) & 0xFFFFFFFF], np.uint32)
        before = np.append(closed.subjects_of(ends[:1])[1], ends[0])
        after = np.append(closed.objects_of(ends[1:])[1], ends[1])
        product = pack(np.repeat(before, after.size), np.tile(after, before.size))
        if symmetric:
            product = np.concatenate((product, swap(product), pack(ends, ends)))
        paths = union(paths, Pairs.of(product).keys)
    return paths
