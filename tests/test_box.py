"""The models in the box: by name, with a folder before the box, with none installed; and what is really in it."""

import json
import shlex
from dataclasses import replace
from pathlib import Path

import pytest

import heed
from heed import box
from heed.cli import demo
from heed.cli.main import main
from heed.config import Config
from heed.errors import CheckpointError
from heed.export.shipped import write_shipped
from heed.run import RunFolder
from tests.cli.conftest import letters, write_lines

OLD_RUN = Path(__file__).parent / "old_run" / "run"
CARD = """---
source: Letters
target: Letters reversed
bleu: 12.5 (a test: with a colon)
licence: CC0
---

# A model of letters

licence: not a fact
"""
MAX_BYTES = 16_000_000


@pytest.fixture
def empty(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Use a box without models, from a folder without runs."""
    folder, elsewhere = tmp_path / "box", tmp_path / "elsewhere"
    (folder / "en-de").mkdir(parents=True)
    (folder / "en-de" / "CARD.md").write_text(CARD)  # a card alone is no model
    elsewhere.mkdir()
    monkeypatch.setattr(box, "FOLDER", folder)
    monkeypatch.chdir(elsewhere)
    return folder


@pytest.fixture
def filled(empty: Path) -> Path:
    """Use a box with a model that reverses letters."""
    run = RunFolder.open(OLD_RUN)
    write_shipped(empty / "en-de", run, run.checkpoint_path(), run.load_model(), run.config.decode)
    return empty


def translate_on_the_command_line(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path, *words: str
) -> tuple[int, str, str]:
    (tmp_path / "in.txt").write_text("a b c\n\nd d a\n")
    code = main(["translate", "--input", str(tmp_path / "in.txt"), *words])
    shown = capsys.readouterr()
    return code, shown.out, shown.err


# --- by name -----------------------------------------------------------------------------------------------


def test_a_model_is_found_by_name_and_without_one(filled: Path) -> None:
    texts = ["a b c", "", "d d a"]
    expected = [one.text for one in heed.load(filled / "en-de").translate(texts)]
    assert expected[1] == "" and expected[0]
    for translator in (heed.load(), heed.load("en-de"), heed.load(Path("en-de"))):
        assert [one.text for one in translator.translate(texts)] == expected


@pytest.mark.parametrize("words", [[], ["--model", "en-de"]], ids=["no model", "by name"])
def test_the_command_takes_it(
    filled: Path,
    words: list[str],
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    code, out, err = translate_on_the_command_line(capsys, monkeypatch, tmp_path, *words)
    assert (code, err) == (0, "")  # on a terminal, it says which model it uses
    assert out.splitlines() == [one.text for one in heed.load("en-de").translate(["a b c", "", "d d a"])]


def test_on_a_terminal_it_says_which_model_it_uses(
    filled: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sys.stderr.isatty", lambda: True)
    for words, said in ([], 1), (["--model", "en-de"], 0):
        _, _, err = translate_on_the_command_line(capsys, monkeypatch, tmp_path, *words)
        assert err.count("using en-de, the model in the box; --model names another\n") == said


def test_a_folder_comes_before_the_box(filled: Path) -> None:
    """A user's own run `en-de` must not be shadowed; without a name, the box is meant."""
    Path("en-de").mkdir()
    with pytest.raises(CheckpointError, match="en-de: not a run folder"):
        heed.load("en-de")
    assert heed.load().translate(["a b c"])
    assert box.find_model("en-de") == Path("en-de")


def test_a_path_is_never_a_name(filled: Path) -> None:
    for path in ("./en-de", "runs/en-de", str(filled.parent / "en-de")):
        with pytest.raises(CheckpointError, match=f"^{path}: no such run folder; check the name"):
            heed.load(path)
    Path("en-de").mkdir()
    assert box.find_model("./en-de") == Path("en-de")


@pytest.mark.parametrize("name", ["..", ".", "", "/"])
def test_no_name_leads_out_of_the_box(filled: Path, name: str) -> None:
    with pytest.raises(CheckpointError):
        heed.load(name)


def test_an_unknown_name_is_compared_with_those_there_are(filled: Path) -> None:
    with pytest.raises(CheckpointError) as caught:
        heed.load("en-ed")
    assert "(installed: en-de)" in str(caught.value)
    assert str(caught.value).endswith('; did you mean "en-de"?')


def test_other_commands_take_the_name(
    filled: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "a").write_text("a b c\nd d a\n")
    (tmp_path / "b").write_text("c b a\na d d\n")
    words = ["--source", str(tmp_path / "a"), "--reference", str(tmp_path / "b"), "--json"]
    assert main(["evaluate", "--model", "en-de", *words]) == 0
    assert "shipped" in capsys.readouterr().out
    assert main(["inspect", "a b c", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)
    assert main(["export", "--model", "en-de", "--to", "huggingface", "--out", str(tmp_path / "hf")]) == 0


def test_confidence_is_not_written_into_the_box(
    filled: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The message has two commands that work; a path into the box does too, as its recipe needs it."""
    lines = [line for line in letters(3, 60) for _ in range(5)]
    source, reference = write_lines(tmp_path / "a b", lines), write_lines(tmp_path / "b", lines)
    words = ["--source", str(source), "--reference", str(reference)]
    before = {file: file.read_bytes() for file in filled.rglob("*") if file.is_file()}
    assert main(["confidence", "--model", "en-de", *words]) == 2
    said = capsys.readouterr().err
    assert "--model en-de: is a model in the box" in said
    assert {file: file.read_bytes() for file in filled.rglob("*") if file.is_file()} == before
    export, again = (shlex.split(line)[1:] for line in said.splitlines()[-2:])
    assert again == ["confidence", "--model", "my-en-de", *words]
    assert main(export) == 0
    assert main(["confidence", "--model", "./en-de", *words]) == 1
    assert "./en-de: no such run folder" in capsys.readouterr().err


def test_the_demo_begins_with_it(filled: Path, capsys: pytest.CaptureFixture[str]) -> None:
    demo._try_the_box()
    lines = capsys.readouterr().out.splitlines()
    assert "The cat chased its tail." in lines[1] and lines[2].strip().startswith("→ ")


# --- nothing in the box ------------------------------------------------------------------------------------


def test_without_a_model_it_says_what_to_do(
    empty: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    code, out, err = translate_on_the_command_line(capsys, monkeypatch, tmp_path)
    assert (code, out) == (1, "")
    assert "no model was named, and the one that would be used, en-de, is not installed" in err
    with pytest.raises(CheckpointError, match="name a run folder"):
        heed.load()
    with pytest.raises(CheckpointError, match=r"installed: none\)"):
        heed.load("en-de")
    demo._try_the_box()
    assert capsys.readouterr().out == ""
    assert main(["models"]) == 0
    shown = capsys.readouterr()
    assert shown.out == "" and "no models are installed" in shown.err
    assert main(["models", "--json"]) == 0
    assert json.loads(capsys.readouterr().out) == []


# --- heed models, and cards --------------------------------------------------------------------------------


def test_models_are_listed_with_the_facts_of_their_cards(filled: Path, capsys: pytest.CaptureFixture[str]) -> None:
    n_bytes = sum(file.stat().st_size for file in (filled / "en-de").rglob("*") if file.is_file())
    n_parameters = sum(weight.numel() for weight in RunFolder.open(OLD_RUN).load_model().parameters())
    assert main(["models", "--json"]) == 0
    (model,) = json.loads(capsys.readouterr().out)
    assert (model["name"], model["default"], model["parameters"]) == ("en-de", True, n_parameters)
    assert (model["size"], model["path"]) == (n_bytes, str(filled / "en-de"))
    assert model["facts"]["bleu"] == "12.5 (a test: with a colon)"
    assert model["facts"]["licence"] == "CC0"  # not the line below the facts
    assert main(["models"]) == 0
    shown = capsys.readouterr().out
    assert shown.startswith("en-de (default)  Letters to Letters reversed  ")
    assert "licence  CC0\n" in shown


@pytest.mark.parametrize("card", ["", "# no facts\n", "---\nlicence: CC0\n", "\xff---\n"])
def test_a_card_without_facts_has_none(tmp_path: Path, card: str) -> None:
    (tmp_path / "CARD.md").write_bytes(card.encode("latin-1"))
    assert box.read_card(tmp_path) == {}


def test_a_card_does_not_command_the_terminal(filled: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (filled / "en-de" / "CARD.md").write_text("---\nlicence: \x1b[31mred\n---\n")
    assert main(["models"]) == 0
    assert "\x1b" not in capsys.readouterr().out


def test_an_export_keeps_the_card_of_its_folder_and_nothing_else(empty: Path, tmp_path: Path) -> None:
    words = ["export", "--model", str(OLD_RUN), "--to", "heed", "--out", str(empty / "en-de")]
    assert main(words) == 0
    assert (empty / "en-de" / "CARD.md").read_text() == CARD and box.names() == ["en-de"]
    before = {file: file.read_bytes() for file in empty.rglob("*") if file.is_file()}
    assert main(words) == 2  # now there is a model
    assert {file: file.read_bytes() for file in empty.rglob("*") if file.is_file()} == before


def test_an_export_may_set_how_its_model_translates(empty: Path, capsys: pytest.CaptureFixture[str]) -> None:
    words = ["export", "--model", str(OLD_RUN), "--to", "heed", "--out", "x", "--set"]
    for wrong, said in (("train.seed=2", "settings of decode alone"), ("decode.beem=2", "decode.beam")):
        assert main([*words, wrong]) == 2
        assert said in capsys.readouterr().err and not Path("x").exists()
    assert main([*words, "decode.sentences=true"]) == 0
    before, after = RunFolder.open(OLD_RUN).config.decode, heed.load("x").decode
    assert after == replace(before, sentences=True) != before


# --- what is really in the box -----------------------------------------------------------------------------

installed = pytest.mark.skipif(box.DEFAULT not in box.names(), reason="no model in the box yet")
CAT = "The cat chased its tail."


def test_all_models_in_the_box_together_are_small() -> None:
    assert sum(model.size for model in box.models()) <= MAX_BYTES


def test_every_card_has_what_heed_models_shows() -> None:
    cards = sorted(box.FOLDER.glob("*/CARD.md"))
    assert cards
    for card in cards:
        facts = box.read_card(card.parent)
        assert facts.keys() >= {"source", "target", "bleu", "licence", "attribution"} and all(facts.values())


@installed
def test_the_model_in_the_box_knows_what_a_cat_does() -> None:
    found = heed.load().translate([CAT])[0].text
    assert "Katze" in found and "Schwanz" in found


@installed
def test_the_model_in_the_box_was_trained_on_no_file_of_a_machine() -> None:
    for file in (box.FOLDER / box.DEFAULT).rglob("*.json"):
        assert "/home/" not in file.read_text() and ".gz" not in file.read_text(), file


def test_the_help_and_the_docs_state_the_defaults_of_the_model_in_the_box(capsys: pytest.CaptureFixture[str]) -> None:
    config = RunFolder.open(box.default_model()).config
    decode, usual = config.decode, Config()
    with pytest.raises(SystemExit):
        main(["translate", "--help"])
    stated = " ".join(capsys.readouterr().out.split())
    sentences = "yes" if decode.sentences else "no"
    assert f"the model in the box has beam {decode.beam}, alpha {decode.alpha}, {sentences}." in stated
    page = (Path(__file__).parents[1] / "docs" / "translate.md").read_text(encoding="utf-8")
    assert (
        f"| the model in the box | {decode.beam} | {decode.alpha} | {sentences} | {config.model.max_length} |" in page
    )
    assert (usual.decode.beam, usual.decode.alpha, usual.decode.sentences) == (4, 0.6, False)
    assert "beam 4, alpha 0.6, no, unless set" in stated
    assert f"| a run, unless set otherwise | 4 | 0.6 | no | {usual.model.max_length} |" in page
