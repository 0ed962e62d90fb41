"""Find terms in texts, and refuse bad glossaries by file and line."""

import random
from pathlib import Path

import pytest

from heed.errors import DataError
from heed.text.glossary import MAX_TERM_CHARACTERS, Entry, Glossary


def found(entries: dict[str, str], text: str) -> list[str]:
    return [entry.source for entry, _ in Glossary(entries).find(text)]


@pytest.mark.parametrize(
    ("terms", "text", "expected"),
    [
        (["bike"], "A bike, two bikes, one bike.", ["bike", "bike"]),
        (["bike"], "Bike! BIKE? motorbike", ["bike", "bike"]),
        (["May"], "may I, in May, MAY", ["May"]),
        (["US", "us"], "us in the US", ["us", "US"]),
        (["bike", "mountain bike"], "a mountain bike and a bike", ["mountain bike", "bike"]),
        (["new york", "york city"], "new york city", ["new york"]),
        (["C++", "C"], "C++ and C", ["C++", "C"]),
        ([".net"], "the .NET, x.net, a .nets", [".net", ".net"]),
        (["don't"], "I don't, don'ts", ["don't"]),
        (["état"], "L'État, états", ["état"]),
        (["自行车"], "自行车 我的自行车", ["自行车"]),  # words are what spaces and marks separate
        (["e-mail"], "An E-mail.", ["e-mail"]),
        ([], "nothing", []),
    ],
)
def test_terms_are_whole_words_in_the_right_case(terms: list[str], text: str, expected: list[str]) -> None:
    assert found({term: "x" for term in terms}, text) == expected


def test_places_are_where_the_terms_begin() -> None:
    assert Glossary({"b c": "x"}).find("a b c b c") == [(Entry("b c", "x"), 2), (Entry("b c", "x"), 6)]


def test_terms_are_normalised_like_texts() -> None:
    (entry,) = Glossary({" cafe\u0301 \u00a0 au  lait ": "x\ty"})
    assert entry == Entry("café au lait", "x y")


def test_it_finds_what_a_loop_over_all_terms_finds() -> None:
    """Compare with a search of every term at every place, written as a loop."""
    draw = random.Random(1)
    words = ["a", "b", "A", "ab", "b-a"]
    for _ in range(300):
        terms = {" ".join(draw.choices(words, k=draw.randint(1, 3))) for _ in range(4)}
        text = " ".join(draw.choices(words, k=10))
        at, expected = 0, []
        while at < len(text):
            begins = at == 0 or not (text[at - 1].isalnum() and text[at].isalnum())
            matching = [
                term
                for term in terms
                if begins
                and (text.startswith(term, at) or (term == term.lower() and text[at : at + len(term)].lower() == term))
                and not text[at + len(term) : at + len(term) + 1].isalnum()
            ]
            if matching:
                longest = max(
                    matching, key=lambda term: (len(term), text.startswith(term, at) and term != term.lower())
                )
                expected.append(longest)
                at += len(longest)
            else:
                at += 1
        assert found(dict.fromkeys(terms, "x"), text) == expected


# --- files ------------------------------------------------------------------------------------------------


def test_a_file_has_comments_blank_lines_and_any_line_end(tmp_path: Path) -> None:
    file = tmp_path / "terms.tsv"
    file.write_bytes("\ufeff# bikes\n\nbike\tFahrrad\r\n  dog \t Hund \nbike\tFahrrad\n".encode())
    assert list(Glossary.read(file)) == [Entry("bike", "Fahrrad"), Entry("dog", "Hund")]
    assert repr(Glossary.read(file)) == "<Glossary: 2 entries>"


LONG = "x" * (MAX_TERM_CHARACTERS + 1)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"bike\tFahrrad\n\tHund\n", "line 2: the source term is empty"),
        (b"dog\t  \n", "line 1: the target term is empty"),
        (b"# a\nbike\tFahrrad\nbike\tRad\n", 'line 3: "bike" is "Rad" here, but "Fahrrad" in .*terms.tsv, line 2'),
        (b"bike Fahrrad\n", 'line 1: has no tab: "bike Fahrrad"'),
        (b"bike\tFahrrad\tnoun\n", "line 1: has 2 tabs"),
        (LONG.encode() + b"\tx\n", "line 1: the source term has 101 characters, at most 100"),
        (b"x\t" + LONG.encode() + b"\n", "line 1: the target term has 101 characters, at most 100"),
        (b"a\tb\nbike\tFahrr\xe4d\n", "line 2: not UTF-8"),
        ("a\tb\n".encode("utf-16"), "is UTF-16, not UTF-8"),
        (b"PK\x03\x04...", "is a zip archive, not text"),
    ],
)
def test_bad_files_are_refused_with_file_and_line(tmp_path: Path, content: bytes, message: str) -> None:
    file = tmp_path / "terms.tsv"
    file.write_bytes(content)
    with pytest.raises(DataError, match=f"terms.tsv.*{message}"):
        Glossary.read(file)


def test_a_missing_file_is_refused(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="none.tsv: no such file"):
        Glossary.read(tmp_path / "none.tsv")


def test_bad_entries_from_python_are_refused() -> None:
    with pytest.raises(DataError, match="entry 2: the target term is empty"):
        Glossary({"a": "b", "c": ""})
    with pytest.raises(DataError, match='entry 2: "a" is "c" here, but "b" in entry 1'):
        Glossary([("a", "b"), ("a", "c")])
    with pytest.raises(TypeError, match="entry 1: the target term must be a text"):
        Glossary({"a": 3})  # type: ignore[dict-item]
