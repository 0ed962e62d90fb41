"""`heed train --trees`, `heed parse` and what refuses to go together, as they are called."""

import io
import json
import random
import sys
from pathlib import Path

import pytest

from heed.cli.main import main
from heed.parsing.trees import parse_tree, read_trees
from heed.run import RunFolder

SMALL = [
    f"--set={one}" for one in ("model.encoder_layers=1", "model.decoder_layers=1", "model.d_model=32", "model.h=2")
]
SMALL += [f"--set={one}" for one in ("model.d_ff=64", "text.vocab_size=400", "train.lanes=1", "decode.beam=2")]


def treebank(n: int, seed: int) -> str:
    """Trees of a small grammar, as a treebank has them: function tags, traces, an outer bracket."""
    draw = random.Random(seed)

    def noun_phrase(depth: int) -> str:
        plain = f"(NP (DT {draw.choice(['the', 'a'])}) (NN {draw.choice(['cat', 'dog', 'house', 'T-cell'])}))"
        if depth and draw.random() < 0.4:
            return f"(NP {plain} (PP-LOC (IN {draw.choice(['of', 'in'])}) {noun_phrase(depth - 1)}))"
        return plain

    def sentence() -> str:
        verb = draw.choice(["(VP (VBZ sleeps))", f"(VP (VBZ sees) {noun_phrase(1)})"])
        trace = " (S (-NONE- *T*-1))" if draw.random() < 0.2 else ""
        return f"( (S {noun_phrase(2).replace('(NP', '(NP-SBJ-1', 1)} {verb}{trace} (. .)) )"

    return "".join(f"{sentence()}\n" for _ in range(n))


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a treebank and a parser that has learnt for three steps."""
    folder = tmp_path_factory.mktemp("parsing")
    (folder / "train.mrg").write_text(treebank(60, 1), encoding="utf-8")
    (folder / "dev.mrg").write_text(treebank(8, 2), encoding="utf-8")
    texts = ["--trees", str(folder / "train.mrg"), "--valid-trees", str(folder / "dev.mrg")]
    assert (
        main(["train", "--preset", "parsing", *texts, "--out", str(folder / "p"), "--set=train.max_steps=3", *SMALL])
        == 0
    )
    return folder


@pytest.fixture
def given(monkeypatch: pytest.MonkeyPatch) -> "Given":
    return Given(monkeypatch)


class Given:
    """Runs `heed parse` on a text from standard input."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self._monkeypatch = monkeypatch

    def __call__(self, folder: Path, text: str, *options: str) -> int:
        self._monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(text.encode())))
        return main(["parse", "--model", str(folder / "p"), *options])


TEXT = "The cat (a T-cell) doesn't sleep.\n\nIt [sic] rains\n"
WORDS = "The cat -LRB- a T-cell -RRB- does n't sleep .".split()


def test_training_validates_by_f1_and_resumes(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    run = RunFolder.open(folder / "p")
    best = run.best()
    assert best is not None and 0 <= best["f1"] <= 100 and best["perplexity"] > 1
    assert main(["train", "--resume", str(folder / "p"), "--set", "train.max_steps=4"]) == 0
    err = capsys.readouterr().err
    assert "validation at step 4" in err and "F1" in err and "heed parse --model" in err
    best = RunFolder.open(folder / "p").best()
    assert best is not None and main(["runs", str(folder)]) == 0
    assert f"  F1 {best['f1']:.2f}  " in capsys.readouterr().out


def test_one_line_in_one_line_out(folder: Path, given: Given, capsys: pytest.CaptureFixture[str]) -> None:
    assert given(folder, TEXT) == 0
    lines = capsys.readouterr().out.split("\n")
    assert len(lines) == 4 and lines[1] == "" and parse_tree(lines[0]).words() == WORDS
    assert parse_tree(lines[2]).words() == ["It", "-LSB-", "sic", "-RSB-", "rains"]
    assert given(folder, "It [sic] (rains) .\n", "--tokenised") == 0
    assert parse_tree(capsys.readouterr().out).words() == ["It", "[sic]", "-LRB-rains-RRB-", "."]


def test_json_has_places_tags_and_brackets(folder: Path, given: Given, capsys: pytest.CaptureFixture[str]) -> None:
    assert given(folder, TEXT, "--json", "--n-best", "2") == 0
    first, blank, _ = map(json.loads, capsys.readouterr().out.splitlines())
    assert first["words"] == WORDS and blank["tree"] is None and blank["words"] == []
    assert [TEXT[start:end] for start, end in first["spans"]][2:6] == ["(", "a", "T-cell", ")"]
    tree = parse_tree(first["tree"])
    assert first["tags"] == tree.tags()
    assert [(one["label"], one["start"], one["end"]) for one in first["brackets"]] == tree.brackets()
    assert len(first["alternatives"]) == 1 and first["alternatives"][0]["score"] <= first["score"]


def test_drawings_scores_and_n_best(
    folder: Path, given: Given, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    assert given(folder, TEXT, "--pretty", "--svg", str(tmp_path / "tree.svg")) == 0
    assert "sleep" in capsys.readouterr().out
    assert sorted(path.name for path in tmp_path.iterdir()) == ["tree-3.svg", "tree.svg"]
    assert "<svg" in (tmp_path / "tree.svg").read_text(encoding="utf-8")
    assert given(folder, "It rains\n", "--n-best", "2", "--beam", "3") == 0
    rows = [line.split("\t") for line in capsys.readouterr().out.splitlines()]
    assert [row[0] for row in rows] == ["1", "1"] and float(rows[0][1]) >= float(rows[1][1])
    assert given(folder, "It rains\n", "--scores", "--greedy") == 0
    score, tree = capsys.readouterr().out.rstrip("\n").split("\t")
    assert float(score) < 0 and parse_tree(tree).words() == ["It", "rains"]


def test_trees_in_trees_out_and_scored(folder: Path, capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    gold, parsed = folder / "dev.mrg", tmp_path / "parsed.mrg"
    assert main(["parse", "--model", str(folder / "p"), "--from-trees", str(gold), "--output", str(parsed)]) == 0
    assert len(list(read_trees(parsed))) == 8
    assert main(["score", "--trees", str(gold), str(parsed), "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["every_sentence"]["all"]["words_differ"] == 0


def test_without_the_constraint_the_share_of_malformed_outputs_is_told(
    folder: Path, given: Given, capsys: pytest.CaptureFixture[str]
) -> None:
    assert given(folder, TEXT, "--unconstrained") == 0
    done = capsys.readouterr()
    assert done.out == "\n\n\n" and "2 of 2 outputs (100.0 %) are no trees" in done.err


def test_an_ensemble_is_one_parser(folder: Path, given: Given, capsys: pytest.CaptureFixture[str]) -> None:
    assert given(folder, "It rains\n", "--model", str(folder / "p"), "--int8") == 0
    assert parse_tree(capsys.readouterr().out).words() == ["It", "rains"]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--greedy", "--beam", "3"], "--greedy and --beam 3 contradict"),
        (["--tokenised", "--hyphens", "split"], "--hyphens is for raw text"),
        (["--json", "--pretty"], "--json has scores and trees already"),
        (["--from-trees", "x", "--tokenised"], "--from-trees has sentences and words"),
        (["--svg", "nowhere/tree.svg"], "the folder nowhere does not exist"),
        (["--n-best", "5"], "--n-best 5 needs a beam of at least 5"),
    ],
)
def test_options_that_do_not_go_together(
    folder: Path, given: Given, capsys: pytest.CaptureFixture[str], options: list[str], message: str
) -> None:
    assert given(folder, TEXT, *options) == 2
    assert message in capsys.readouterr().err


def test_drawings_replace_no_other_file(
    folder: Path, given: Given, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    for name in ("s.svg", "s-2.svg", "s-two.svg"):
        (tmp_path / name).write_text("It rains\n" * 2, encoding="utf-8")
    (tmp_path / "dev.svg").write_bytes((folder / "dev.mrg").read_bytes())
    first = str(tmp_path / "s.svg")
    for used in ("s.svg", "s-2.svg"):
        for option in ("--input", "--output"):
            assert given(folder, TEXT, "--svg", first, option, str(tmp_path / used)) == 2
            assert f"would overwrite {tmp_path / used}" in capsys.readouterr().err
    assert given(folder, "", "--svg", str(tmp_path / "dev.svg"), "--from-trees", str(tmp_path / "dev.svg")) == 2
    assert (tmp_path / "dev.svg").read_bytes() == (folder / "dev.mrg").read_bytes()
    assert given(folder, TEXT, "--svg", str(tmp_path)) == 2
    assert "is a folder; name a file in it" in capsys.readouterr().err
    for name in ("s.svg", "s-2.svg"):
        (tmp_path / name).unlink()
    assert given(folder, "", "--svg", first, "--input", str(tmp_path / "s-two.svg")) == 0
    assert "<svg" in (tmp_path / "s-2.svg").read_text(encoding="utf-8")


def test_a_treebank_with_roots_without_a_label(
    folder: Path, given: Given, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    tree = "( (S (NP (DT the) (NN cat)) (VP (VBZ sleeps))) (. .) )\n"
    (tmp_path / "top.mrg").write_text(tree * 30, encoding="utf-8")
    trees = ["--trees", str(tmp_path / "top.mrg"), "--valid-trees", str(tmp_path / "top.mrg")]
    out = ["--out", str(tmp_path / "p"), "--set=train.max_steps=4", *SMALL]
    assert main(["train", "--preset", "parsing", *trees, *out]) == 0
    capsys.readouterr()
    assert given(tmp_path, "Go now\n", "--beam", "40", "--n-best", "40") == 0
    written = [line.split("\t")[2] for line in capsys.readouterr().out.splitlines()]
    assert len(written) > 5
    for each in written:
        found = parse_tree(each)
        assert found.words() == ["Go", "now"] and all(label for label, *_ in found.brackets())


def test_a_parser_does_not_translate_score_or_leave(
    folder: Path, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    (tmp_path / "text").write_text("It rains\n", encoding="utf-8")
    text, model = str(tmp_path / "text"), str(folder / "p")
    assert main(["translate", "--model", model, "--input", text]) == 1
    assert "heed translate: this model parses and cannot translate" in capsys.readouterr().err
    assert main(["evaluate", "--model", model, "--source", text, "--reference", text]) == 1
    assert "heed evaluate: this model parses and cannot translate" in capsys.readouterr().err
    (tmp_path / "same").write_text("It rains\n", encoding="utf-8")
    assert main(["align", "--model", model, "--source", text, "--target", str(tmp_path / "same"), "--heads=1.1"]) == 2
    assert "this model parses; words are aligned with one that translates" in capsys.readouterr().err
    assert main(["export", "--model", model, "--to", "huggingface", "--out", str(tmp_path / "x")]) == 2
    assert "this one parses" in capsys.readouterr().err


def test_a_page_of_a_parser(folder: Path, capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    page = tmp_path / "page.html"
    assert main(["inspect", "The cat sleeps.", "--model", str(folder / "p"), "--out", str(page), "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["source"]["word_labels"] == ["The", "cat", "sleeps", ".", "</s>"]
    symbols = [label for label in found["target"]["word_labels"] if label.endswith(")") and label.startswith("(")]
    assert len(symbols) == 4  # each word of the tree is a word of its own here, too
    assert "next_word" in page.read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("", "has no trees"),
        ("(S (NP (NN cat))\n", "line 1, column 1"),
        ("(S (NN cat))\n(S ())\n", "line 2, column 5"),
        ("(S (-NONE- *))\n", "traces (-NONE-) only"),
    ],
)
def test_a_treebank_that_is_none(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], content: str, message: str
) -> None:
    (tmp_path / "bad.mrg").write_text(content, encoding="utf-8")
    out = tmp_path / "p"
    assert main(["train", "--preset", "parsing", "--trees", str(tmp_path / "bad.mrg"), "--out", str(out)]) == 1
    assert message in capsys.readouterr().err and not out.exists()


def test_a_label_that_the_vocabulary_lacks_is_named_with_its_line(
    folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "more.mrg").write_text(treebank(2, 3) + "(SINV (NN cat) (. .))\n", encoding="utf-8")
    known = f"--set=text.tokenizer={folder / 'p' / 'tokenizer.model'}"
    out = ["--out", str(tmp_path / "p")]
    assert main(["train", "--preset", "parsing", "--trees", str(tmp_path / "more.mrg"), known, *out, *SMALL]) == 1
    assert 'more.mrg, line 3: the label "SINV" is not in the vocabulary' in capsys.readouterr().err


def test_validation_trees_with_a_label_never_seen_are_scored(
    folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "dev.mrg").write_text("(SINV (FW cat) (. .))\n" + treebank(3, 4), encoding="utf-8")
    texts = ["--trees", str(folder / "train.mrg"), "--valid-trees", str(tmp_path / "dev.mrg")]
    out = tmp_path / "p"
    assert main(["train", "--preset", "parsing", *texts, "--out", str(out), "--set=train.max_steps=1", *SMALL]) == 0
    said = '1 of 4 validation trees have labels or tags that no training tree has (tag "FW", label "SINV")'
    assert said in capsys.readouterr().err
    best = RunFolder.open(out).best()
    assert best is not None and best["f1"] >= 0 and 1 < best["perplexity"] < 1000  # without the tree that has none
    parsed = tmp_path / "parsed.mrg"
    gold = str(tmp_path / "dev.mrg")
    assert main(["parse", "--model", str(out), "--from-trees", gold, "--output", str(parsed)]) == 0
    assert [tree.words() for tree in read_trees(parsed)][0] == ["cat", "."]


def test_validation_trees_of_another_kind_of_treebank_are_refused_at_once(
    folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "dev.mrg").write_text("(SENT (NP (NC chat)) (VN (V dort)))\n(SENT (NC chat))\n", encoding="utf-8")
    texts = ["--trees", str(folder / "train.mrg"), "--valid-trees", str(tmp_path / "dev.mrg")]
    out = tmp_path / "p"
    assert main(["train", "--preset", "parsing", *texts, "--out", str(out), "--set=train.max_steps=1", *SMALL]) == 1
    message = 'every tree has labels or tags that no training tree has (tag "NC", label "SENT", '
    assert message in capsys.readouterr().err and not out.exists()


def test_300_words_are_one_tree(folder: Path, given: Given, capsys: pytest.CaptureFixture[str]) -> None:
    words = ["(", "cat", ")"] * 100
    assert given(folder, " ".join(words) + "\n", "--tokenised", "--greedy") == 0
    found = parse_tree(capsys.readouterr().out).words()
    assert found == ["-LRB-", "cat", "-RRB-"] * 100


def test_a_model_that_translates_does_not_parse(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["parse", "--model", "en-de"]) == 1
    assert "heed parse: en-de: this model translates and cannot parse" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--preset", "tiny", "--trees", "t.mrg"], "needs a parser"),
        (["--preset", "parsing", "--source", "a", "--target", "b"], "for parsing; give trees"),
        (["--preset", "parsing", "--trees", "t", "--set=train.metric=bleu"], "is for translation"),
        (["--preset", "parsing", "--trees", "t", "--set=train.noise=0.1"], "typing noise"),
        (["--preset", "parsing", "--trees", "t", "--set=train.consistency=3", "--set=train.cutoff=0.1"], "hides words"),
        (["--preset", "parsing", "--trees", "t", "--set=decode.extra_length=0"], "at least 3"),
        (["--preset", "tiny", "--set=model.kind=follower"], "is for trees"),
        (["--preset", "tiny", "--set=train.metric=f1"], "is for trees"),
    ],
)
def test_settings_that_do_not_go_together(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, options: list[str], message: str
) -> None:
    assert main(["train", *options, "--out", str(tmp_path / "x")]) == 2
    assert message in capsys.readouterr().err
