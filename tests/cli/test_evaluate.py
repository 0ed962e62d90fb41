import hashlib
import json
import math
import re
from pathlib import Path

import pytest
import sacrebleu
import torch

from heed.cli.main import main
from heed.run import RunFolder
from tests.cli.conftest import Trained, heed, on_a_terminal, write_lines


def perplexity_by_hand(runs: list[Path], sources: list[str], references: list[str]) -> float:
    """Compute perplexity pair by pair and token by token; the probability is the mean over the models."""
    folder = RunFolder.open(runs[0])
    models, total, count = [RunFolder.open(run).load_model() for run in runs], 0.0, 0
    for source, reference in zip(sources, references, strict=True):
        src = torch.tensor([[*folder.tokenizer.encode(source).ids, 1]])
        target = [*folder.tokenizer.encode(reference).ids, 1]
        for i, gold in enumerate(target):
            with torch.inference_mode():
                inputs = torch.tensor([[0, *target[:i]]])
                probabilities = [model(src, inputs)[0, -1].double().softmax(0)[gold] for model in models]
            total -= math.log(sum(probabilities) / len(models))
            count += 1
    return math.exp(total / count)


def test_scores_with_signatures_and_perplexity(trained: Trained, corpus: Path, tmp_path: Path) -> None:
    files = ["--source", corpus / "valid.src", "--reference", corpus / "valid.tgt", "--output", tmp_path / "out"]
    done = heed("evaluate", "--model", trained.path, *files, "--json", "--beam", 3)
    assert done.code == 0, done.err
    assert done.err == ""
    found = json.loads(done.out)
    hypotheses = (tmp_path / "out").read_text().split("\n")[:-1]
    sources, references = ((corpus / f"valid.{side}").read_text().splitlines() for side in ("src", "tgt"))
    assert found["lines"] == len(hypotheses) == len(references) == 12

    scores = {one["name"]: one for one in found["scores"]}
    assert scores.keys() == {"BLEU", "chrF2", "exact", "CER", "WER"}
    bleu = next(one for name, one in scores.items() if name == "BLEU")
    chrf = next(one for name, one in scores.items() if name.startswith("chrF"))
    value = next(key for key in ("score", "value") if key in bleu)
    assert bleu[value] == pytest.approx(sacrebleu.corpus_bleu(hypotheses, [references]).score)
    assert chrf[value] == pytest.approx(sacrebleu.corpus_chrf(hypotheses, [references]).score)
    right = [one == two for one, two in zip(hypotheses, references, strict=True)]
    assert scores["exact"]["score"] == pytest.approx(100 * sum(right) / 12)

    checkpoint = json.loads((trained.path / "best.json").read_text())["checkpoint"]
    weights = (trained.path / "checkpoints" / checkpoint / "model.safetensors").read_bytes()
    made_by = f"beam:3|alpha:0.6|checkpoint:{checkpoint}|model:{hashlib.sha256(weights).hexdigest()[:12]}"
    assert all(made_by in one["signature"] for one in scores.values())
    assert found["perplexity"] == pytest.approx(perplexity_by_hand([trained.path], sources, references), rel=1e-4)


def test_plain_lines_and_a_reference_from_standard_input(trained: Trained, corpus: Path) -> None:
    options = ["--source", str(corpus / "valid.src"), "--reference", "-", "--baseline", str(corpus / "valid.src")]
    done = heed("evaluate", "--model", trained.path, *options, given=(corpus / "valid.tgt").read_bytes())
    assert done.code == 0, done.err
    for name in ("BLEU", "chrF2", "exact", "CER", "WER"):
        line = rf"^{name} = [\d.]+ \[.* {name}\|\S+\|beam:4\|alpha:0\.6\|"
        assert re.search(line, done.out, re.MULTILINE), name
    assert "paperBLEU" not in done.out  # needs --target-language
    assert re.search(r"^perplexity = \d+\.\d{4}$", done.out, re.MULTILINE)


def test_a_terminal_shows_a_table(trained: Trained, corpus: Path) -> None:
    options = ["--source", corpus / "valid.src", "--reference", corpus / "valid.tgt", "--resamples", 100]
    shown = on_a_terminal("evaluate", "--model", trained.path, *options)
    assert max(map(len, shown)) <= 80
    rows = [line.split() for line in shown[1 : shown.index("")]]
    assert [row[0] for row in rows] == ["BLEU", "chrF2", "exact", "CER", "WER", "perplexity"]
    sources, references = ((corpus / f"valid.{side}").read_text().splitlines() for side in ("src", "tgt"))
    assert float(rows[-1][1]) == pytest.approx(perplexity_by_hand([trained.path], sources, references), abs=0.006)


def test_perplexity_of_several_models_is_the_ensembles(
    trained: Trained, second: Trained, corpus: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    files = ["--source", corpus / "valid.src", "--reference", corpus / "valid.tgt", "--json", "--resamples", 0]
    assert evaluated(trained, "--model", second.path, *files) == 0
    found = json.loads(capsys.readouterr().out)["perplexity"]
    sources, references = ((corpus / f"valid.{side}").read_text().splitlines() for side in ("src", "tgt"))
    expected = perplexity_by_hand([trained.path, second.path], sources, references)
    assert found == pytest.approx(expected, rel=1e-4)
    assert found != pytest.approx(perplexity_by_hand([trained.path], sources, references), rel=1e-2)


def evaluated(trained: Trained, *arguments: object) -> int:
    return main(["evaluate", "--model", str(trained.path), *map(str, arguments)])


def test_pairs_over_the_limit_are_translated_but_not_in_the_perplexity(
    trained: Trained, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    source = write_lines(tmp_path / "s", ["a b c d", "a b " * 60, ""])
    reference = write_lines(tmp_path / "r", ["d c b a", "b a " * 60, ""])
    assert evaluated(trained, "--source", source, "--reference", reference, "--json", "--resamples", 0) == 0
    out, err = capsys.readouterr()
    assert err == "perplexity: left out 1 pair longer than the model's limit\n"
    expected = perplexity_by_hand([trained.path], ["a b c d", ""], ["d c b a", ""])
    assert json.loads(out)["perplexity"] == pytest.approx(expected, rel=1e-4)

    write_lines(source, ["a b " * 60])
    write_lines(reference, ["b a " * 60])
    assert evaluated(trained, "--source", source, "--reference", reference, "--json", "--resamples", 0) == 0

    def refuse(constant: str) -> float:
        raise AssertionError(f"{constant} is not JSON")

    assert "perplexity" not in json.loads(capsys.readouterr().out, parse_constant=refuse)


@pytest.mark.parametrize(
    ("sources", "references", "complaint"),
    [
        (["a", "b"], ["a"], "s has 2 lines, but {folder}/r has 1; line n of one"),
        ([], [], "s: is empty"),
    ],
)
def test_files_of_different_length_are_refused(
    trained: Trained,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    sources: list[str],
    references: list[str],
    complaint: str,
) -> None:
    files = "--source", write_lines(tmp_path / "s", sources), "--reference", write_lines(tmp_path / "r", references)
    assert evaluated(trained, *files) == 1
    out, err = capsys.readouterr()
    assert out == ""
    assert complaint.format(folder=tmp_path) in err


def test_standard_input_is_read_once(trained: Trained, capsys: pytest.CaptureFixture[str]) -> None:
    assert evaluated(trained, "--reference", "-") == 2
    assert "can be used for one of the files only" in capsys.readouterr().err
