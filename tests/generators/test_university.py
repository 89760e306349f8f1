"""The generator: the same bytes for the same seed, the size and shape promised, and consistent data."""

from collections import Counter
from pathlib import Path

import pytest
from tests.timing import at_most

from corollary.generators import generate
from corollary.generators.university import DATA, ONTOLOGY, university
from corollary.language.errors import InputError
from corollary.loaders import read
from corollary.terms.dictionary import TermDictionary

RANKS = ("FullProfessor", "AssociateProfessor", "AssistantProfessor", "Lecturer")


def counts(lines: list[str], column: int) -> Counter[str]:
    """How often each of our own names stands in a column."""
    return Counter(line.split()[column].removeprefix(f"<{ONTOLOGY}").rstrip(">") for line in lines)


def test_same_seed_same_university() -> None:
    assert university(3, seed=7) == university(3, seed=7)
    assert university(3, seed=7) != university(3, seed=8)
    assert university(3, seed=7) != university(4, seed=7)


@pytest.mark.parametrize("number", range(1, 6))
def test_size_and_shape(number: int) -> None:
    lines = university(number)
    assert 75_000 < len(lines) < 150_000
    assert len(lines) == len(set(lines))
    kinds = counts([line for line in lines if "#type>" in line], 2)
    departments = kinds["Department"]
    faculty = sum(kinds[rank] for rank in RANKS)
    assert 15 <= departments <= 25
    assert 7 <= kinds["FullProfessor"] / departments <= 10
    assert 10 <= kinds["AssociateProfessor"] / departments <= 14
    assert 8 <= kinds["UndergraduateStudent"] / faculty <= 14
    assert 3 <= kinds["GraduateStudent"] / faculty <= 4
    assert counts(lines, 1)["headOf"] == departments + kinds["School"]
    assert kinds["Student"] == kinds["Chair"] == 0  # for the reasoner to find


def test_a_university_is_made_in_little_time() -> None:
    with at_most(200):
        university(1)


def test_files_read_back(tmp_path: Path) -> None:
    paths = generate(2, tmp_path / "out")
    assert [path.name for path in paths] == ["university.ttl", "university-1.nt", "university-2.nt"]
    dictionary = TermDictionary()
    subjects, _, _ = read(paths[1:], dictionary)
    assert len(subjects) == len(university(1)) + len(university(2))
    assert paths[1].read_text() == "".join(university(1))


def test_other_universities_do_not_change_one(tmp_path: Path) -> None:
    one, several = generate(1, tmp_path / "one"), generate(3, tmp_path / "several")
    assert one[1].read_bytes() == several[1].read_bytes()


def test_every_predicate_and_class_is_declared(tmp_path: Path) -> None:
    ontology, *_ = generate(1, tmp_path)
    dictionary = TermDictionary()
    declared = set(dictionary.decode_all(read([ontology], dictionary)[0].tolist()))
    used = {
        term
        for line in university(1)
        for term in line.split()[1:3]
        if term.startswith(f"<{ONTOLOGY}") and DATA not in term
    }
    assert used <= declared


def test_a_reasoner_finds_what_is_left_unsaid(tmp_path: Path) -> None:
    """One department's data: consistent, and every definition of the ontology finds its instances."""
    from corollary.columns import TripleIndex
    from corollary.evaluate import materialise
    from corollary.profiles import load_profile

    ontology, data = generate(1, tmp_path)
    lines = [line for line in university(1) if "/u1/d2/" in line or "/u1/d2>" in line or "/u1/s" in line]
    data.write_text("".join(lines))
    dictionary = TermDictionary()
    explicit = TripleIndex.from_columns(*read([ontology, data], dictionary))
    result = materialise(explicit, load_profile("owl2rl"), dictionary)
    assert not result.inconsistencies
    columns = (dictionary.decode_all(column.tolist()) for column in result.index.columns())
    closed = [f"{s} {p} {o} ." for s, p, o in zip(*columns, strict=True)]
    kinds = counts([line for line in closed if "#type>" in line], 2)
    given = counts([line for line in lines if "#type>" in line], 2)
    assert kinds["Chair"] == kinds["Dean"] == 1
    assert kinds["Student"] == given["UndergraduateStudent"] + given["GraduateStudent"]
    assert kinds["Assistant"] == kinds["TeachingAssistant"] + kinds["ResearchAssistant"] > 0
    assert kinds["Agent"] == kinds["Person"] + kinds["Organisation"]
    predicates = counts(closed, 1)
    assert predicates["learnsFrom"] > 0
    assert predicates["worksWith"] == 2 * counts(lines, 1)["worksWith"]
    assert "<http://www.w3.org/2002/07/owl#sameAs>" not in {line.split()[1] for line in closed}


def test_compression(tmp_path: Path) -> None:
    paths = generate(1, tmp_path, compression="zst")
    assert paths[1].name == "university-1.nt.zst"
    assert len(read([paths[1]], TermDictionary())[0]) == len(university(1))


def test_progress_reaches_all(tmp_path: Path) -> None:
    reported: list[tuple[str, int, float | None]] = []
    generate(2, tmp_path, progress=lambda *what: reported.append(what))
    assert [share for _, _, share in reported] == [0.5, 1.0]


def test_a_folder_that_cannot_be_made(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(InputError, match="cannot be made"):
        generate(1, tmp_path / "file" / "folder")
