"""Put faults into clean text at known lines; exactly those lines must be found."""

import gzip
import random
import subprocess
import sys
import tracemalloc
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import pytest

import heed.demo.grammar
from heed.data.corpus import ParallelText
from heed.doctor import KINDS, Examination, examine, fix
from heed.doctor.damage import damages, repair
from heed.doctor.lengths import outliers
from heed.doctor.reading import raw_lines
from heed.errors import ConfigError, DataError

N = 3000


@dataclass
class Sides:
    """A corpus as two lists of bytes; lines are counted from 1."""

    source: list[bytes]
    target: list[bytes]
    expected: dict[str, list[int]] = field(default_factory=dict)

    def copy(self) -> "Sides":
        return Sides(self.source[:], self.target[:])

    def written(self, folder: Path, ends: bytes = b"\n") -> ParallelText:
        folder.mkdir(exist_ok=True)
        for name, lines in (("train.en", self.source), ("train.de", self.target)):
            (folder / name).write_bytes(b"".join(line + ends for line in lines))
        return ParallelText(str(folder / "train.en"), str(folder / "train.de"))


@pytest.fixture(scope="session")
def made() -> heed.demo.grammar.Corpus:
    return heed.demo.grammar.corpus(train=N, valid=0, test=200, seed=7)


@pytest.fixture
def clean(made: heed.demo.grammar.Corpus) -> Sides:
    return Sides([pair.source.encode() for pair in made.train], [pair.target.encode() for pair in made.train])


def found(examination: Examination, faults_only: bool = True) -> dict[str, list[int]]:
    chosen = examination.faults if faults_only else examination.findings
    return {finding.kind.name: finding.lines.tolist() for finding in chosen}


def torn(text: bytes, encoding: str) -> bytes:
    return text.decode(encoding).encode()


def with_umlauts(lines: list[bytes]) -> list[int]:
    return [number for number, line in enumerate(lines, 1) if "ü".encode() in line]


def test_clean_text_is_healthy(clean: Sides, tmp_path: Path) -> None:
    assert found(examine(clean.written(tmp_path))) == {}


def test_windows_line_ends_and_a_mark_at_the_start_are_no_faults(clean: Sides, tmp_path: Path) -> None:
    clean.source[0] = b"\xef\xbb\xbf" + clean.source[0]
    assert found(examine(clean.written(tmp_path, b"\r\n"))) == {}


@pytest.mark.parametrize("length", range((1 << 20) - 3, (1 << 20) + 2))
def test_a_line_end_may_fall_between_two_blocks(length: int, tmp_path: Path) -> None:
    path = tmp_path / "text"
    path.write_bytes(b"\xef\xbb\xbf" + b"a" * (length - 3) + b"\r\nb\nc")
    assert [*raw_lines(str(path))] == [b"a" * (length - 3), b"b", b"c"]


# Each function puts in a fault, and returns the findings to expect.
def not_utf8(sides: Sides) -> dict[str, list[int]]:
    lines = with_umlauts(sides.target)[3:600:50]
    for line in lines:
        sides.target[line - 1] = sides.target[line - 1].decode().encode("latin-1")
    return {"not-utf8": lines}


def mojibake(sides: Sides) -> dict[str, list[int]]:
    lines = with_umlauts(sides.target)[:300:40]
    for number, line in enumerate(lines):
        sides.target[line - 1] = torn(sides.target[line - 1], ("cp1252", "latin-1")[number % 2])
    sides.source[499] = torn(sides.source[499].replace(b".", "’s “new”.".encode()), "latin-1")
    return {"mojibake": sorted([*lines, 500])}


def characters(sides: Sides) -> dict[str, list[int]]:
    sides.source[9] += " \ufffd".encode()
    sides.target[10] += " \ue123".encode()
    sides.source[11] += b" &amp;quot;yes&amp;quot;"
    sides.target[12] = sides.target[12].replace(b" ", b" \x07", 1)
    sides.target[13] += " \ufeffja".encode()
    sides.source[14] += " \x93no\x94".encode()
    return {
        "replacement": [10],
        "private-use": [11],
        "double-entity": [12],
        "control": [13, 15],
        "byte-order-mark": [14],
    }


def blanks(sides: Sides) -> dict[str, list[int]]:
    sides.source[99], sides.target[199] = b"", b" \t "
    sides.source[299] = sides.target[299] = b""
    return {"blank": [100, 200, 300]}


def too_long(sides: Sides) -> dict[str, list[int]]:
    for line, begin in ((51, 2000), (1051, 2100)):
        sides.source[line - 1] = b" ".join(sides.source[begin : begin + 50])
        sides.target[line - 1] = b" ".join(sides.target[begin : begin + 50])
    return {"too-long": [51, 1051]}


def swapped(sides: Sides) -> dict[str, list[int]]:
    """Use longer lines: two or three words may not show their language ("Did Paul sing?")."""
    lines = [line for line in (5, 6, 7, *range(1000, 1300, 3), N) if len(sides.source[line - 1].split()) > 3]
    for line in lines:
        sides.source[line - 1], sides.target[line - 1] = sides.target[line - 1], sides.source[line - 1]
    return {"swapped": lines}


def wrong_language(sides: Sides) -> dict[str, list[int]]:
    for line in (700, 2999):
        sides.target[line - 1] = sides.source[line - 500]
    sides.source[1199] = sides.target[1500]
    return {"wrong-language": [700, 1200, 2999]}


def third_language(sides: Sides) -> dict[str, list[int]]:
    sides.source[41] = b"The president of the republic received the foreign ambassadors yesterday."
    sides.target[41] = "Le président de la République a reçu hier les ambassadeurs étrangers.".encode()
    return {"wrong-language": [42]}


def copies(sides: Sides) -> dict[str, list[int]]:
    lines = [17, 1717, 2718]
    for line in lines:
        sides.source[line - 1] = b"This is what she wrote to her brother about the garden."
        sides.target[line - 1] = sides.source[line - 1].lower()
        sides.source[line - 1] += b" %d" % line  # no duplicates, and not quite the same
    return {"copy": lines}


def lengths(sides: Sides) -> dict[str, list[int]]:
    sides.target[776] += b" " + b" ".join(sides.target[780:784])
    sides.source[887] += b" " + b" ".join(sides.source[890:894])
    return {"length-ratio": [777, 888]}


def duplicates(sides: Sides) -> dict[str, list[int]]:
    for line, first in ((2001, 4), (2002, 4), (12, 11)):
        sides.source[line - 1], sides.target[line - 1] = sides.source[first - 1], sides.target[first - 1]
    return {"duplicate": [12, 2001, 2002]}


FAULTS = [
    not_utf8, mojibake, characters, blanks, too_long, swapped, wrong_language, third_language, copies, lengths,
    duplicates,
]  # fmt: skip


@pytest.mark.parametrize("spoil", FAULTS, ids=lambda spoil: spoil.__name__)
def test_a_fault_is_found_where_it_is_and_nowhere_else(
    spoil: Callable[[Sides], dict[str, list[int]]], clean: Sides, tmp_path: Path
) -> None:
    expected = spoil(clean)
    assert found(examine(clean.written(tmp_path))) == expected


@pytest.mark.parametrize("spoil", FAULTS, ids=lambda spoil: spoil.__name__)
def test_what_is_fixed_is_healthy_and_the_rest_untouched(
    spoil: Callable[[Sides], dict[str, list[int]]], clean: Sides, tmp_path: Path
) -> None:
    expected = spoil(clean)
    fixed = fix(examine(clean.written(tmp_path / "spoilt")), tmp_path / "out")
    assert found(examine(fixed.text)) == {}

    gone = {line for kind, lines in expected.items() if KINDS[kind].fix == "dropped" for line in lines}
    mended = {line for kind, lines in expected.items() if KINDS[kind].fix == "repaired" for line in lines} - gone
    left = [line for line in range(1, N + 1) if line not in gone]
    assert fixed.kept == len(left)
    for path, spoilt in ((fixed.text.source, clean.source), (fixed.text.target, clean.target)):
        lines = Path(path).read_bytes().split(b"\n")[:-1]
        untouched = [(number, line) for number, line in zip(left, lines, strict=True) if number not in mended]
        assert untouched == [(number, spoilt[number - 1]) for number in left if number not in mended]
    assert [row.split("\t")[0] for row in rows(tmp_path / "out" / "dropped.tsv")] == [str(n) for n in sorted(gone)]
    assert [row.split("\t")[0] for row in rows(tmp_path / "out" / "repaired.tsv")] == [str(n) for n in sorted(mended)]


def rows(path: Path) -> list[str]:
    head, *rows = path.read_text().splitlines()
    assert head == "line\treasons"
    return rows


def test_repairs_restore_the_text(clean: Sides, tmp_path: Path) -> None:
    good = clean.copy()
    lines = mojibake(clean)["mojibake"]
    clean.target[20] = good.target[20].replace(b" ", b" \xef\xbb\xbf", 1)
    clean.source[21] = b"&amp;quot;" + good.source[21] + b"&amp;amp;quot;"
    clean.source[22] += b" It\xc2\x92s."
    fixed = fix(examine(clean.written(tmp_path / "spoilt")), tmp_path / "out")
    target = Path(fixed.text.target).read_bytes().split(b"\n")
    assert target[:-1] == good.target
    source = Path(fixed.text.source).read_text().split("\n")
    assert source[499].endswith("’s “new”.")
    assert source[21] == f'"{good.source[21].decode()}"'
    assert source[22] == f"{good.source[22].decode()} It’s."
    assert fixed.dropped == {} and sum(fixed.repaired.values()) == len(lines) + 3


def test_a_repaired_line_that_turns_out_a_duplicate_is_dropped_too(clean: Sides, tmp_path: Path) -> None:
    first = with_umlauts(clean.target)[0]
    clean.source[2500], clean.target[2500] = clean.source[first - 1], torn(clean.target[first - 1], "latin-1")
    fixed = fix(examine(clean.written(tmp_path / "spoilt")), tmp_path / "out")
    assert fixed.dropped == {"duplicate": 1} and fixed.repaired == {}
    assert rows(tmp_path / "out" / "dropped.tsv") == ["2501\tduplicate"]


TEXTS = [
    "Müller aß süße Äpfel.", "L’été à Nîmes, où il a plu.", "“Don’t,” she said – twice…", "Привет, как дела?",
    "Zażółć gęślą jaźń.", "Καλημέρα σας", "日本語のテキスト", "naïve 😀", "Preis: 5 €",
]  # fmt: skip


def mojibake_pairs() -> list[tuple[str, str]]:
    """Pair each text with its mojibake, decoded as Latin-1 and, if possible, as Windows-1252."""
    found = [(text, text.encode().decode("latin-1")) for text in TEXTS]
    for text in TEXTS:
        with suppress(UnicodeDecodeError):
            found.append((text, text.encode().decode("cp1252")))
    return found


@pytest.mark.parametrize(("text", "broken"), mojibake_pairs())
def test_mojibake_is_recognised_and_repaired(text: str, broken: str) -> None:
    assert damages(text) == []
    assert damages(broken) == ["mojibake"]
    assert repair(broken, ["mojibake"]) == text


@pytest.mark.parametrize(
    "text",
    ["CAFÉ”", "«AMANHÃ»", "ein Ü–Wagen", "À la carte", "TÂY", "Ã", "Größe: 5²", "Â la", "é…", "DÉJÀ “VU”", "½ Ä°"],
)
def test_good_text_is_not_taken_for_mojibake(text: str) -> None:
    assert damages(text) == []


def test_text_damaged_twice_is_repaired() -> None:
    text = "Größe"
    assert repair(torn(torn(text.encode(), "latin-1"), "latin-1").decode(), ["mojibake"]) == text


@pytest.mark.parametrize(
    ("text", "kinds", "repaired"),
    [
        ("&amp;lt;b&amp;gt;", ["double-entity"], "<b>"),
        ("AT&amp;T &quot;x&quot;", ["entity"], "AT&amp;T &quot;x&quot;"),
        ("R&D; Q&A, a & b", [], "R&D; Q&A, a & b"),
        ("one&amp;#10;line&amp;#9;", ["double-entity"], "one line "),
        ("a\x00b\x1bc", ["control"], "a b c"),
        ("\x80 5", ["control"], "€ 5"),
        ("tab\tstays", [], "tab\tstays"),
    ],
)
def test_characters(text: str, kinds: list[str], repaired: str) -> None:
    assert damages(text) == kinds
    assert repair(text, kinds) == repaired


# --- shifted files: only lengths tell where a shift begins, so it may be a few lines off --------------------
@pytest.mark.parametrize(("at", "back"), [(1000, 1060), (200, 2200), (2000, 2800)])
def test_a_missing_line_and_an_extra_one_later(at: int, back: int, clean: Sides, tmp_path: Path) -> None:
    clean.target[at - 1 : back] = [*clean.target[at:back], "Der Gärtner schläft.".encode()]
    examination = examine(clean.written(tmp_path))
    (fault,) = [fault for fault in examination.faults if fault.kind.name == "shifted"]
    assert abs(fault.lines[0] - at) <= 3 and abs(fault.lines[-1] - back) <= 3
    assert len(fault.lines) == fault.lines[-1] - fault.lines[0] + 1
    assert "the target runs 1 line ahead" in fault.note
    assert len(examination.faulty_lines()) - len(fault.lines) <= 3


@pytest.mark.parametrize("shift", [-15, -2, 1, 4])
def test_the_shift_is_named_and_dropped(shift: int, clean: Sides, tmp_path: Path) -> None:
    """From line 2001 on, source line n is translated by target line n + shift."""
    more = [f"Zeile {number} ist hier zu viel, und länger als andere.".encode() for number in range(abs(shift))]
    if shift > 0:
        clean.target[2000:] = [*more, *clean.target[2000:-shift]]
    else:
        clean.target[2000:] = [*clean.target[2000 - shift :], *more]
    examination = examine(clean.written(tmp_path / "spoilt"))
    (fault,) = [fault for fault in examination.faults if fault.kind.name == "shifted"]
    assert abs(fault.lines[0] - 2001) <= 3 + abs(shift) and fault.lines[-1] >= N - abs(shift)
    s = "s" * (abs(shift) > 1)
    assert f"runs {abs(shift)} line{s} {'behind' if shift > 0 else 'ahead'}" in fault.note
    fixed = fix(examination, tmp_path / "out")
    assert 1970 <= fixed.kept <= 2003 + abs(shift)
    assert found(examine(fixed.text)) == {}


def test_files_shifted_from_the_start_are_not_fixed_by_dropping_them(clean: Sides, tmp_path: Path) -> None:
    clean.source.pop(0), clean.target.pop()
    examination = examine(clean.written(tmp_path / "spoilt"))
    (fault,) = examination.faults
    assert fault.count == N - 1 and "runs 1 line behind" in fault.note
    with pytest.raises(DataError, match="too many to drop"):
        fix(examination, tmp_path / "out")


def told(examination: Examination) -> str:
    (fault,) = examination.faults
    assert fault.kind.name == "line-count"
    return fault.note


def test_different_numbers_of_lines(clean: Sides, tmp_path: Path) -> None:
    del clean.target[1499]
    examination = examine(clean.written(tmp_path / "spoilt"))
    note = told(examination)
    assert note.startswith("the source has 3,000 lines, the target 2,999\nfrom about line 1,50")
    assert "the target runs 1 line ahead" in note
    with pytest.raises(DataError, match="which --fix cannot repair"):
        fix(examination, tmp_path / "out")
    assert list((tmp_path / "out").iterdir()) == []


def test_one_file_cut_short(clean: Sides, tmp_path: Path) -> None:
    del clean.target[-70:]
    assert "the source has 70 more at its end" in told(examine(clean.written(tmp_path)))


def test_a_block_missing_in_the_middle(clean: Sides, tmp_path: Path) -> None:
    del clean.source[1000:1500]
    note = told(examine(clean.written(tmp_path)))
    assert "the target runs 500 lines behind" in note and "from about line 1,00" in note


def test_files_that_have_nothing_to_do_with_each_other(clean: Sides, tmp_path: Path) -> None:
    random.Random(5).shuffle(clean.target)
    assert "unrelated" in found(examine(clean.written(tmp_path)))


# --- languages --------------------------------------------------------------------------------------------
def test_exchanged_files_are_found_by_the_test_text(
    clean: Sides, made: heed.demo.grammar.Corpus, tmp_path: Path
) -> None:
    test = Sides([pair.source.encode() for pair in made.test], [pair.target.encode() for pair in made.test])
    text = clean.written(tmp_path / "train")
    right = test.written(tmp_path / "right")
    assert found(examine(text, [right])) == {}
    wrong = ParallelText(right.target, right.source)
    assert found(examine(text, [wrong])).keys() == {"exchanged-files"}


def test_two_sides_of_one_language_are_not_judged(clean: Sides, tmp_path: Path) -> None:
    """In a spelling-correction corpus, most pairs are rightly the same."""
    spoilt = [line.replace(b"the", b"teh") if number % 3 == 0 else line for number, line in enumerate(clean.source)]
    examination = examine(Sides(spoilt, clean.source).written(tmp_path))
    assert found(examination) == {}
    assert "languages: both sides look like the same language" in examination.notes
    assert "short-copy" in found(examination, faults_only=False)


# --- duplicates and overlap -------------------------------------------------------------------------------
def test_several_targets_are_no_fault(clean: Sides, tmp_path: Path) -> None:
    clean.source[1000] = clean.source[1]
    clean.target[1000] = clean.target[1].replace(b" ", b" doch ", 1)
    clean.source[1001] = clean.source[2].upper()
    clean.target[1001] = clean.target[2].rstrip(b".?!") + "…".encode()
    examination = examine(clean.written(tmp_path))
    assert found(examination) == {}
    assert found(examination, faults_only=False) == {"several-targets": [2, 1001], "near-duplicate": [1002]}


def test_overlap_with_the_test_text(clean: Sides, made: heed.demo.grammar.Corpus, tmp_path: Path) -> None:
    test = Sides([pair.source.encode() for pair in made.test], [pair.target.encode() for pair in made.test])
    clean.source[4], clean.target[4] = test.source[0], test.target[0]
    clean.source[6] = test.source[1]
    clean.source[8] = test.source[2].lower().rstrip(b".?!") + b" !"
    clean.target[8] = test.target[2]
    tests = [test.written(tmp_path / "test")]
    examination = examine(clean.written(tmp_path / "train"), tests)
    faults = found(examination)
    assert {kind: faults[kind] for kind in ("pair-in-test", "source-in-test", "near-test")} == {
        "pair-in-test": [5],
        "source-in-test": [7],
        "near-test": [9],
    }
    assert next(fault.note for fault in examination.faults if fault.kind.name == "pair-in-test").startswith("3 of 200 ")
    fixed = fix(examination, tmp_path / "out", tests)
    assert not {*Path(fixed.text.source).read_bytes().lower().split(b"\n")[:-1]} & {s.lower() for s in test.source}


def test_kept_findings_are_no_faults_and_stay(clean: Sides, tmp_path: Path) -> None:
    duplicates(clean)
    mojibake(clean)
    examination = examine(clean.written(tmp_path / "spoilt"), keep=["duplicate", "mojibake"])
    assert found(examination) == {}
    assert {"duplicate", "mojibake"} <= found(examination, faults_only=False).keys()
    fixed = fix(examination, tmp_path / "out", keep=["duplicate", "mojibake"])
    assert Path(fixed.text.target).read_bytes().split(b"\n")[:-1] == clean.target


# --- file formats -----------------------------------------------------------------------------------------
@pytest.mark.parametrize("gz", [False, True])
def test_tsv(gz: bool, clean: Sides, tmp_path: Path) -> None:
    lines = [a + b"\t" + b for a, b in zip(clean.source, clean.target, strict=True)]
    lines[9] += b"\tand more"
    lines[19] = clean.source[19]
    lines[29] = b""
    path = tmp_path / f"pairs.tsv{'.gz' * gz}"
    path.write_bytes((gzip.compress if gz else bytes)(b"".join(line + b"\n" for line in lines)))
    examination = examine(ParallelText(str(path)))
    assert found(examination) == {"columns": [10, 20], "blank": [30]}
    fixed = fix(examination, tmp_path / "out")
    content = (tmp_path / "out" / path.name).read_bytes()
    kept = (gzip.decompress if gz else bytes)(content).split(b"\n")[:-1]
    assert kept == [line for number, line in enumerate(lines, 1) if number not in (10, 20, 30)]
    assert found(examine(fixed.text)) == {}


def test_gz_is_written_as_gz(clean: Sides, tmp_path: Path) -> None:
    duplicates(clean)
    for name, lines in (("a.gz", clean.source), ("b.gz", clean.target)):
        (tmp_path / name).write_bytes(gzip.compress(b"\n".join(lines)))  # no line end at the end
    fixed = fix(examine(ParallelText(str(tmp_path / "a.gz"), str(tmp_path / "b.gz"))), tmp_path / "out")
    kept = gzip.decompress((tmp_path / "out" / "b.gz").read_bytes()).split(b"\n")
    assert kept == [*(line for number, line in enumerate(clean.target, 1) if number not in (12, 2001, 2002)), b""]
    assert fixed.kept == N - 3


def test_folders_the_copy_cannot_be_written_to(clean: Sides, tmp_path: Path) -> None:
    examination = examine(clean.written(tmp_path / "in"))
    with pytest.raises(ConfigError, match="is not empty"):
        fix(examination, tmp_path / "in")
    with pytest.raises(ConfigError, match="is a file"):
        fix(examination, tmp_path / "in" / "train.en")
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "train.en").write_bytes((tmp_path / "in" / "train.de").read_bytes())
    text = ParallelText(str(tmp_path / "in" / "train.en"), str(tmp_path / "other" / "train.en"))
    with pytest.raises(ConfigError, match="would get two files called train.en"):
        fix(examine(text), tmp_path / "out")


def test_files_that_cannot_be_examined(clean: Sides, tmp_path: Path) -> None:
    text = clean.written(tmp_path)
    Path(text.target).write_bytes("Zeile\n".encode("utf-16"))
    with pytest.raises(DataError, match="UTF-16"):
        examine(text)
    Path(text.target).write_bytes(b"")
    with pytest.raises(DataError, match="is empty"):
        examine(text)
    with pytest.raises(DataError, match="no such file"):
        examine(ParallelText(text.source, str(tmp_path / "absent")))


@pytest.mark.parametrize(
    "lines, expected",
    [
        ([b""], {"blank": [1]}),
        ([b"", b""], {"blank": [1, 2]}),
        ([b"one"], {"short-copy": [1]}),
        ([b"one", b"", b"\xff"], {"not-utf8": [3], "blank": [2], "short-copy": [1]}),
    ],
)
def test_hardly_any_text(lines: list[bytes], expected: dict[str, list[int]], tmp_path: Path) -> None:
    """Both sides are the same, but so little text does not show whether that is a fault."""
    examination = examine(Sides(lines, lines).written(tmp_path))
    assert found(examination, faults_only=False) == expected
    assert (examination.n_source, examination.n_target) == (len(lines), len(lines))
    assert any("too little text" in note for note in examination.notes)


def around_zero(deviation: float) -> list[float]:
    """Return 101 log ratios with median 0 and this median absolute deviation, which one more value does not change."""
    return [deviation] * 40 + [-deviation] * 40 + [0.0] * 21


@pytest.mark.parametrize(
    "away, is_odd", [(0.445, False), (0.880, False), (0.895, True), (-0.880, False), (-0.895, True)]
)
def test_lengths_are_outliers_from_six_deviations(away: float, is_odd: bool) -> None:
    """A median absolute deviation of 0.1 is a standard deviation of 0.14826, and six of them are 0.88956."""
    assert outliers(np.array([*around_zero(0.1), away])).tolist() == [*[False] * 101, is_odd]


@pytest.mark.parametrize("away, is_odd", [(0.690, False), (0.696, True), (-0.690, False), (-0.696, True)])
def test_lengths_are_never_outliers_below_a_factor_of_two(away: float, is_odd: bool) -> None:
    """Where all ratios are nearly the same, six deviations are next to nothing. ln 2 is 0.693."""
    assert outliers(np.array([*around_zero(0.01), away])).tolist() == [*[False] * 101, is_odd]


def test_nothing_left(tmp_path: Path) -> None:
    examination = examine(Sides([b"", b"\xff"], [b"x", b"y"]).written(tmp_path / "in"))
    with pytest.raises(DataError, match="nothing would be left"):
        fix(examination, tmp_path / "out")


def test_a_pair_takes_less_than_a_hundred_bytes(tmp_path: Path) -> None:
    def peak(n: int) -> int:
        numbers = [b"%d" % number for number in range(n)]
        sides = Sides([b"There were " + n + b" of the houses." for n in numbers], [b"Da standen " + n for n in numbers])
        text = sides.written(tmp_path)
        del sides, numbers
        tracemalloc.start()
        examine(text)
        size = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        return size

    assert (peak(100_000) - peak(50_000)) / 50_000 < 100


def test_torch_is_not_needed() -> None:
    script = "import heed.doctor, sys; assert 'torch' not in sys.modules"
    subprocess.run([sys.executable, "-c", script], check=True)


# --- real text, whose faults were counted by other means --------------------------------------------------
def test_multi30k(data_dir: Path) -> None:
    folder = data_dir / "multi30k"
    test = ParallelText(str(folder / "test_2016_flickr.en"), str(folder / "test_2016_flickr.de"))
    examination = examine(ParallelText(str(folder / "train.en"), str(folder / "train.de")), [test])
    pairs = [*zip(*((folder / f"train.{side}").read_text().split("\n")[:-1] for side in ("en", "de")), strict=True)]
    faults = found(examination)
    assert len(faults["duplicate"]) == len(pairs) - len(set(pairs))
    assert faults["length-ratio"] == [number for number, (_, target) in enumerate(pairs, 1) if target == "@@"]
    assert faults.keys() <= {"duplicate", "length-ratio", "pair-in-test", "source-in-test", "near-test"}


def test_europarl(data_dir: Path, tmp_path: Path) -> None:
    """Its German side has lines in other languages; the headings of Portuguese speeches show some of them."""
    sides = []
    for name in ("train.en.gz", "train.de.gz"):
        with gzip.open(data_dir / "europarl" / name) as file:
            sides.append([next(file).rstrip(b"\n") for _ in range(60_000)])
    examination = examine(Sides(*sides).written(tmp_path))
    faults = found(examination)
    damaged = [n for n, pair in enumerate(zip(*sides, strict=True), 1) if "\ufffd".encode() in b" ".join(pair)]
    assert faults["replacement"] == damaged and len(damaged) > 0
    portuguese = {n for n, line in enumerate(sides[1], 1) if line.startswith("por escrito . − ".encode())}
    assert len(portuguese) > 5 and portuguese <= {*faults["wrong-language"]}
    assert len(examination.faulty_lines()) < 400
