"""Synthetic universities: data of any size, and an ontology with the common constructs of OWL 2 RL.

The cardinalities are those of the published profile of the Lehigh University Benchmark (Guo, Pan, Heflin,
"LUBM: A benchmark for OWL knowledge base systems", 2005). Names, ontology and generator are our own. Only
the most specific statements are generated: that a full professor is a person, or that the head of a
department is a chair, is left to the reasoner.

Invariants: the same number and seed give the same bytes, whatever else is generated. The data are consistent
with the ontology. A university has about 100,000 triples.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from importlib.resources import files
from random import Random

ONTOLOGY = "https://corollary.example/university#"
DATA = "https://corollary.example/data/"
_TYPE = "<http://www.w3.org/1999/02/22-rdf-syntax-ns#type>"

UNIVERSITIES_KNOWN = 1000
"""Degrees are from universities 1 to this number, also from those that are not generated."""

RANKS = (
    # class, (min, max) people per department, (min, max) publications per person
    ("FullProfessor", (7, 10), (15, 20)),
    ("AssociateProfessor", (10, 14), (10, 18)),
    ("AssistantProfessor", (8, 11), (5, 10)),
    ("Lecturer", (5, 7), (0, 5)),
)

PUBLICATION_KINDS = ("JournalArticle", "ConferencePaper", "ConferencePaper", "TechnicalReport", "Book")


def ontology() -> bytes:
    """The ontology as UTF-8 Turtle."""
    return files("corollary.generators").joinpath("university.ttl").read_bytes()


def university(number: int, seed: int = 0) -> list[str]:
    """One university as N-Triples lines, each ending in a newline, without duplicates."""
    return _University(number, Random(f"university {number}, seed {seed}")).lines


@dataclass
class _Department:
    """The entities of a department that its people are related to, as N-Triples terms."""

    base: str
    iri: str
    groups: list[str]
    full_professors: list[str] = field(default_factory=list)
    professors: list[str] = field(default_factory=list)
    faculty: list[str] = field(default_factory=list)
    courses: list[str] = field(default_factory=list)
    graduate_courses: list[str] = field(default_factory=list)
    publications: list[str] = field(default_factory=list)


class _University:
    """Generates ``lines``, the statements of one university, department by department.

    IRIs are hierarchical: a lecturer is ``<.../u1/d3/Lecturer2>``.
    """

    def __init__(self, number: int, random: Random) -> None:
        self.random = random
        self.lines: list[str] = []
        self.base = f"{DATA}u{number}"
        self.host = f"u{number}.example"
        self._add_all(number)

    def _add_all(self, number: int) -> None:
        university = f"<{self.base}>"
        self._describe(university, "University", f"University {number}")
        schools = [f"<{self.base}/s{n}>" for n in self._numbers(3, 5)]
        for school in schools:
            self._describe(school, "School", f"School {school[-2]}")
            self._state(school, "partOf", university)
        departments = [self._department(n, schools[n % len(schools)]) for n in self._numbers(15, 25)]
        for n, school in enumerate(schools, 1):
            # Not the first full professor, who heads the department: a person heads one organisation.
            self._state(departments[n].full_professors[1], "headOf", school)

    def _department(self, number: int, school: str) -> _Department:
        base = f"{self.base}/d{number}"
        department = _Department(base, f"<{base}>", [f"<{base}/g{n}>" for n in self._numbers(10, 20)])
        self._describe(department.iri, "Department", f"Department {number}")
        self._state(department.iri, "partOf", school)
        for n, group in enumerate(department.groups, 1):
            self._describe(group, "ResearchGroup", f"Group {n}")
            self._state(group, "partOf", department.iri)
        for kind, people, publications in RANKS:
            for n in self._numbers(*people):
                self._faculty_member(department, kind, n, self.random.randint(*publications))
        self._state(department.full_professors[0], "headOf", department.iri)
        colleagues = self.random.sample(department.faculty, len(department.faculty) // 2)
        for one, other in zip(colleagues[::2], colleagues[1::2], strict=False):
            self._state(one, "worksWith", other)
        members = len(department.faculty)
        self._undergraduates(department, self.random.randint(8 * members, 14 * members))
        self._graduates(department, self.random.randint(3 * members, 4 * members))
        return department

    def _faculty_member(self, department: _Department, kind: str, number: int, publications: int) -> None:
        person = self._person(department, kind, number)
        self._state(person, "worksFor", department.iri)
        self._state(person, "researchInterest", f'"Research {self.random.randint(1, 30)}"')
        for degree in ("undergraduateDegreeFrom", "mastersDegreeFrom", "doctoralDegreeFrom"):
            self._state(person, degree, self._some_university())
        for course_kind, courses in (
            ("Course", department.courses),
            (self.random.choice(("GraduateCourse", "Seminar")), department.graduate_courses),
        ):
            for _ in self._numbers(1, 2):
                name = f"{course_kind}{len(courses) + 1}"
                course = f"<{department.base}/{name}>"
                self._describe(course, course_kind, name)
                self._state(person, "teaches", course)
                courses.append(course)
        for n in range(1, publications + 1):
            publication = f"{person[:-1]}/publication{n}>"
            self._type(publication, self.random.choice(PUBLICATION_KINDS))
            self._state(publication, "author", person)
            department.publications.append(publication)
        department.faculty.append(person)
        if kind != "Lecturer":
            department.professors.append(person)
        if kind == "FullProfessor":
            department.full_professors.append(person)

    def _undergraduates(self, department: _Department, students: int) -> None:
        """Undergraduates take two to four courses. Every fifth has an advisor."""
        for n in range(1, students + 1):
            student = self._person(department, "UndergraduateStudent", n)
            self._state(student, "memberOf", department.iri)
            for course in self.random.sample(department.courses, self.random.randint(2, 4)):
                self._state(student, "takesCourse", course)
            if n % 5 == 0:
                self._state(student, "advisor", self.random.choice(department.professors))

    def _graduates(self, department: _Department, students: int) -> None:
        """Graduates have one to three courses, an advisor and up to five publications. Some assist."""
        for n in range(1, students + 1):
            student = self._person(department, "GraduateStudent", n)
            self._state(student, "memberOf", department.iri)
            self._state(student, "undergraduateDegreeFrom", self._some_university())
            self._state(student, "advisor", self.random.choice(department.professors))
            for course in self.random.sample(department.graduate_courses, self.random.randint(1, 3)):
                self._state(student, "takesCourse", course)
            for publication in self.random.sample(department.publications, self.random.randint(0, 5)):
                self._state(publication, "author", student)
            chance = self.random.random()
            if chance < 0.22:  # LUBM: a fifth to a quarter
                self._state(student, "assistsWith", self.random.choice(department.courses))
            elif chance < 0.51:  # LUBM: a quarter to a third
                self._state(student, "worksFor", self.random.choice(department.groups))

    def _person(self, department: _Department, kind: str, number: int) -> str:
        name = f"{kind}{number}"
        person = f"<{department.base}/{name}>"
        self._describe(person, kind, name)
        place = department.base.rpartition("/")[2]
        self._state(person, "emailAddress", f'"{name}@{place}.{self.host}"')
        return person

    def _describe(self, subject: str, kind: str, name: str) -> None:
        self._type(subject, kind)
        self.lines.append(f'{subject} <{ONTOLOGY}name> "{name}" .\n')

    def _type(self, subject: str, kind: str) -> None:
        self.lines.append(f"{subject} {_TYPE} <{ONTOLOGY}{kind}> .\n")

    def _state(self, subject: str, predicate: str, object: str) -> None:
        self.lines.append(f"{subject} <{ONTOLOGY}{predicate}> {object} .\n")

    def _some_university(self) -> str:
        return f"<{DATA}u{self.random.randint(1, UNIVERSITIES_KNOWN)}>"

    def _numbers(self, least: int, most: int) -> range:
        """1, 2, ... n for a random n from ``least`` to ``most``."""
        return range(1, self.random.randint(least, most) + 1)
