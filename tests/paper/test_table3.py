"""Table 3: the presets, the plan and its ratios, and the table itself on a text of a few sentences."""

import json
import re
from dataclasses import replace
from pathlib import Path

import pytest

from heed.cli.main import main
from heed.config import DataConfig
from heed.errors import ConfigError, DataError
from heed.model.size import count_parameters
from heed.paper import table3 as table
from heed.paper.speed import Speed
from heed.paper.table3 import ROWS, SCALES, Scale, chosen_rows, plans, scaled, verdict
from heed.paper.texts import encoded_once, texts_in
from heed.presets import TABLE_3, preset, table3
from heed.settings import build_config
from heed.vocabulary import Vocabulary
from tests.paper.conftest import Texts

# As printed in the paper, newstest2013: perplexity, BLEU, and parameters in millions where a number is printed.
PRINTED = """
base 4.92 25.8 65
A-h1 5.29 24.9 | A-h4 5.00 25.5 | A-h16 4.91 25.8 | A-h32 5.01 25.4
B-dk16 5.16 25.1 58 | B-dk32 5.01 25.4 60
C-N2 6.11 23.7 36 | C-N4 5.19 25.3 50 | C-N8 4.88 25.5 80
C-d256 5.75 24.5 28 | C-d1024 4.66 26.0 168 | C-ff1024 5.12 25.4 53 | C-ff4096 4.75 26.2 90
D-drop0.0 5.77 24.6 | D-drop0.2 4.95 25.5 | D-ls0.0 4.67 25.3 | D-ls0.2 5.47 25.7
E-learned 4.92 25.7
big 4.33 26.4 213
"""
# N, d_model, d_ff, h, d_k, d_v, dropout, label smoothing, of each row; the paper prints only what differs from base.
SHAPES = {
    "base": (6, 512, 2048, 8, 64, 64, 0.1, 0.1),
    "A-h1": (6, 512, 2048, 1, 512, 512, 0.1, 0.1),
    "A-h4": (6, 512, 2048, 4, 128, 128, 0.1, 0.1),
    "A-h16": (6, 512, 2048, 16, 32, 32, 0.1, 0.1),
    "A-h32": (6, 512, 2048, 32, 16, 16, 0.1, 0.1),
    "B-dk16": (6, 512, 2048, 8, 16, 64, 0.1, 0.1),
    "B-dk32": (6, 512, 2048, 8, 32, 64, 0.1, 0.1),
    "C-N2": (2, 512, 2048, 8, 64, 64, 0.1, 0.1),
    "C-N4": (4, 512, 2048, 8, 64, 64, 0.1, 0.1),
    "C-N8": (8, 512, 2048, 8, 64, 64, 0.1, 0.1),
    "C-d256": (6, 256, 2048, 8, 32, 32, 0.1, 0.1),
    "C-d1024": (6, 1024, 2048, 8, 128, 128, 0.1, 0.1),
    "C-ff1024": (6, 512, 1024, 8, 64, 64, 0.1, 0.1),
    "C-ff4096": (6, 512, 4096, 8, 64, 64, 0.1, 0.1),
    "D-drop0.0": (6, 512, 2048, 8, 64, 64, 0.0, 0.1),
    "D-drop0.2": (6, 512, 2048, 8, 64, 64, 0.2, 0.1),
    "D-ls0.0": (6, 512, 2048, 8, 64, 64, 0.1, 0.0),
    "D-ls0.2": (6, 512, 2048, 8, 64, 64, 0.1, 0.2),
    "E-learned": (6, 512, 2048, 8, 64, 64, 0.1, 0.1),
    "big": (6, 1024, 4096, 16, 64, 64, 0.3, 0.1),
}


def shape(config):
    model = config.model
    assert model.encoder_layers == model.decoder_layers
    sizes = (model.encoder_layers, model.d_model, model.d_ff, model.h, model.key_size, model.value_size)
    return *sizes, model.dropout, config.train.label_smoothing


def printed() -> dict[str, list[str]]:
    cells = (cell.split() for cell in re.split(r"[|\n]", PRINTED) if cell.strip())
    return {name: numbers for name, *numbers in cells}


def test_the_published_numbers() -> None:
    assert ROWS.keys() == printed().keys()
    for name, (ppl, bleu, *millions) in printed().items():
        row = ROWS[name]
        assert (row.perplexity, row.bleu, row.millions) == (
            float(ppl),
            float(bleu),
            int(*millions) if millions else None,
        )


@pytest.mark.parametrize("row", TABLE_3)
def test_every_row_is_a_preset_with_the_papers_shape(row: str) -> None:
    config = preset(f"table3-{row}")
    assert config.preset == f"table3-{row}" and build_config(config) == config
    assert shape(config) == SHAPES[row]
    assert config.model.positions == ("learned" if row == "E-learned" else "sinusoidal")
    train = config.train
    assert (train.max_steps, train.average_last, train.patience) == (300_000 if row == "big" else 100_000, 1, 0)


@pytest.mark.parametrize("row", [name for name, numbers in printed().items() if len(numbers) == 3])
def test_the_parameter_column_as_printed(row: str) -> None:
    """With the vocabulary that fits all rows but big, which fits about 36,000 (docs/paper.md)."""
    vocabulary = Vocabulary(36_000 if row == "big" else 41_100)
    assert round(count_parameters(table3(row).model, vocabulary) / 1e6) == int(printed()[row][2])


@pytest.mark.parametrize("name", ["tiny", "small"])
@pytest.mark.parametrize("row", TABLE_3)
def test_a_scale_keeps_each_rows_ratio_to_base(name: str, row: str) -> None:
    here, base = (shape(scaled(table3(one), SCALES[name])) for one in (row, "base"))
    for ours, ours_base, theirs, theirs_base in zip(
        here[:6], base[:6], SHAPES[row][:6], SHAPES["base"][:6], strict=True
    ):
        assert ours * theirs_base == theirs * ours_base
    assert here[6:] == SHAPES[row][6:]
    ratio = scaled(table3(row), SCALES[name]).train.max_steps / SCALES[name].max_steps
    assert ratio == (3 if row == "big" else 1)
    build_config(scaled(table3(row), SCALES[name]))


def test_base_at_each_scale_is_what_the_docs_say() -> None:
    assert shape(scaled(table3("base"), SCALES["tiny"])) == (3, 128, 512, 8, 16, 16, 0.1, 0.1)
    assert shape(scaled(table3("base"), SCALES["small"])) == (6, 256, 1024, 8, 32, 32, 0.1, 0.1)
    text = (Path(__file__).parents[2] / "docs" / "experiments.md").read_text(encoding="utf-8")
    for name, scale in SCALES.items():
        (line,) = (line for line in text.splitlines() if line.startswith(f"| `{name}` |"))
        wanted = f"{scale.max_steps:,} × {scale.batch_tokens:,} | {scale.warmup_steps:,} | {scale.vocab_size:,} |"
        assert line.endswith(wanted)


def test_the_scale_of_the_paper_is_to_the_letter() -> None:
    for row in TABLE_3:
        here, theirs = scaled(table3(row), SCALES["paper"]), table3(row)
        assert (here.model, here.text) == (theirs.model, theirs.text)
        bookkeeping = {key: getattr(theirs.train, key) for key in ("validate_every", "save_every", "keep_checkpoints")}
        assert replace(here.train, metric="auto", **bookkeeping) == theirs.train


def test_rows_are_chosen_by_group_or_name() -> None:
    assert chosen_rows("") == list(ROWS)
    assert chosen_rows("b, big") == ["base", "B-dk16", "B-dk32", "big"]
    assert chosen_rows("E-learned,A-h4") == ["base", "A-h4", "E-learned"]
    with pytest.raises(ConfigError, match='unknown row "D-drop0.1"; did you mean "D-drop0'):
        chosen_rows("A,D-drop0.1")


def test_only_base_has_several_seeds() -> None:
    found = plans(["base", "A-h1"], "tiny", 3, DataConfig())
    assert [(one.name, one.config.train.seed) for one in found] == [
        ("base", 1),
        ("base-seed2", 2),
        ("base-seed3", 3),
        ("A-h1", 1),
    ]


def test_verdicts() -> None:
    assert verdict(0.37, 0.5, 0.1, 0.005) == verdict(-0.9, -0.2, 0.1, 0.05) == "yes"
    assert verdict(0.37, -0.5, 0.1, 0.005) == "no"
    assert verdict(0.37, -0.1, 0.1, 0.005) == verdict(0.37, 0.04, 0.1, 0.005) == "noise"
    assert verdict(0.0, 0.5, 0.1, 0.05) == "theirs: none"


@pytest.fixture
def small_scale(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(table.SCALES, "tiny", Scale(16, 2, 4, 300, 4, 400))
    monkeypatch.setattr("heed.paper.speed._SECONDS", 0.01)


def test_a_table_from_text_to_report(
    texts: Texts, tmp_path: Path, small_scale: None, capsys: pytest.CaptureFixture[str]
) -> None:
    asked = ["paper", "table3", "--data", str(texts.folder), "--rows", "A-h1,E", "--out", str(tmp_path / "p")]
    assert main(asked) == 0
    out, err = capsys.readouterr()
    assert all(len(line) <= 80 for line in (*out.splitlines(), *err.splitlines()) if str(tmp_path) not in line)
    assert re.search(r"^A-h1 +h=1, d_k=d_v=512 +65 .* 5\.29 .* 24\.9 ", out, re.MULTILINE)
    assert "Not comparable" in out and "row 3/4 A-h1" in err and "left for all" in err
    assert sorted(path.name for path in (tmp_path / "p" / "table3-tiny").iterdir()) == [
        *("A-h1", "E-learned", "base", "base-seed2", "text"),
    ]
    assert "BLEU: change from base" in (tmp_path / "p" / "report.html").read_text()

    assert main([*asked, "--json"]) == 0  # finished rows are not trained again
    again, err = capsys.readouterr()
    values = json.loads(again)["values"]
    assert "row 1/" not in err and values["ours"].keys() == {"base", "base-seed2", "A-h1", "E-learned"}
    spread = abs(values["ours"]["base"]["perplexity"] - values["ours"]["base-seed2"]["perplexity"])
    assert values["noise"]["perplexity"] == pytest.approx(spread)
    assert values["published"]["A-h1"]["bleu"] == 24.9


def test_the_plan_is_printed_and_nothing_is_trained(
    tmp_path: Path, small_scale: None, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    assert main(["paper", "table3", "--dry-run"]) == 0
    out = capsys.readouterr().out
    assert all(len(line) <= 80 for line in out.splitlines())
    assert all(re.search(f"^{row} ", out, re.MULTILINE) for row in ROWS) and "about" in out
    assert list(tmp_path.iterdir()) == []


def test_the_papers_scale_needs_a_yes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("heed.paper.speed.measured_speed", lambda *_: Speed(1e-11))
    assert main(["paper", "table3", "--scale", "paper", "--data", "x"]) == 2
    out, err = capsys.readouterr()
    assert "add --yes" in err and re.search(r"about [\d,]+ hours", err) and "big" in out
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ([], "heed data get multi30k"),
        (["--data", "nowhere"], "nowhere: no such folder.*heed data get multi30k"),
        (["--source", "a", "--target", "b"], "--valid-source and --valid-target: missing"),
        (["--data", "x", "--source", "a"], "--data already names the text"),
        (["--rows", "F", "--data", "x"], 'unknown row "F"'),
        (["--rows", "A-h3"], 'unknown row "A-h3"; did you mean "A-h'),
        (["--scale", "papper"], 'did you mean "paper"'),
        (["--seeds", "0"], "--seeds 0"),
    ],
)
def test_wrong_input(options: list[str], message: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["paper", "table3", *options, "--out", str(tmp_path / "p")]) in (1, 2)
    assert re.search(message, capsys.readouterr().err, re.DOTALL)
    assert not (tmp_path / "p").exists()


def test_a_folder_without_what_is_needed(texts: Texts, tmp_path: Path) -> None:
    found = texts_in(texts.folder)
    assert (Path(found.source).name, Path(found.valid_target).name) == ("train.en", "val.de")
    assert found.target_language == "de"
    (texts.folder / "val.de").unlink()
    with pytest.raises(DataError, match=r"no held-out text.*val\.en and val\.de.*heed split"):
        texts_in(texts.folder)
    (texts.folder / "train.fr").write_text("x\n")
    with pytest.raises(DataError, match=r"two languages.*there are: de, en, fr.*--source"):
        texts_in(texts.folder)


def test_the_text_is_encoded_once_and_other_text_refused(texts: Texts, tmp_path: Path) -> None:
    said: list[str] = []
    found, how = texts_in(texts.folder), texts.config.text
    data = encoded_once(found, how, tmp_path / "encoded", said.append)
    assert encoded_once(found, how, tmp_path / "encoded", said.append) == data and len(said) == 1
    with pytest.raises(ConfigError, match="another table.*another --out"):
        encoded_once(found, replace(how, vocab_size=390), tmp_path / "encoded", said.append)


@pytest.mark.parametrize(("works", "precision"), [(True, "bfloat16"), (False, "float32")])
def test_rows_are_in_bfloat16_where_its_products_work(
    monkeypatch: pytest.MonkeyPatch, works: bool, precision: str
) -> None:
    """A virtual machine may claim instructions that it does not have; training in bfloat16 would be refused there."""
    monkeypatch.setattr(table, "has_own_products", lambda *_: works)
    monkeypatch.setattr("torch.cuda.is_available", lambda: False)
    assert [one.config.train.precision for one in plans(["base"], "tiny", 1, DataConfig())] == [precision]
    assert [one.config.train.precision for one in plans(["base"], "small", 1, DataConfig())] == ["float32"]
