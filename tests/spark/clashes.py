"""Inconsistencies of each kind that OWL 2 RL has."""

PREFIXES = """
@prefix : <http://e/> . @prefix owl: <http://www.w3.org/2002/07/owl#> .
@prefix rdfs: <http://www.w3.org/2000/01/rdf-schema#> . @prefix xsd: <http://www.w3.org/2001/XMLSchema#> .
"""

CLASHES = (
    PREFIXES
    + """
:A owl:disjointWith :B . :A2 rdfs:subClassOf :A . :a a :A2, :B . :b a :A, :B .
:C owl:complementOf :D . :x a :C, :D . :n a :N . :N rdfs:subClassOf owl:Nothing .
[] a owl:AllDisjointClasses ; owl:members ( :E :F :G ) . :e a :E, :F, :G .
:irr a owl:IrreflexiveProperty . :a :irr :a . :asy a owl:AsymmetricProperty . :a :asy :b . :b :asy :a .
:p1 owl:propertyDisjointWith :p2 . :a :p1 :b ; :p2 :b .
[] a owl:AllDisjointProperties ; owl:members ( :q1 :q2 ) . :a :q1 :b ; :q2 :b .
[] owl:sourceIndividual :a ; owl:assertionProperty :r ; owl:targetIndividual :b . :a :r :b .
[] owl:sourceIndividual :a ; owl:assertionProperty :v ; owl:targetValue 5 . :a :v 5 .
:M owl:maxCardinality "0"^^xsd:nonNegativeInteger ; owl:onProperty :mp . :m a :M ; :mp :z .
:Q owl:maxQualifiedCardinality "0"^^xsd:nonNegativeInteger ; owl:onProperty :qp ; owl:onClass :QC .
:q a :Q ; :qp :qv . :qv a :QC . :aged rdfs:range xsd:integer . :a :aged "old" .
:s1 owl:sameAs :s2 . :s1 owl:differentFrom :s2 . :s3 owl:differentFrom :s3 .
[] a owl:AllDifferent ; owl:members ( :s1 :s2 :s4 ) . [] a owl:AllDifferent ; owl:distinctMembers ( :t :t ) .
:a :size "abc"^^xsd:integer , "500"^^xsd:byte .
"""
)
"""One or a few of each kind, under OWL 2 RL."""

KINDS = {
    *("cax-adc", "cax-dw", "cls-com", "cls-maxc1", "cls-maxqc1", "cls-nothing2", "dt-not-type", "eq-diff1"),
    *("eq-diff2", "eq-diff3", "prp-adp", "prp-asyp", "prp-irp", "prp-npa1", "prp-npa2", "prp-pdw"),
}
"""The constraints that these facts violate, under ``owl2rl``."""
