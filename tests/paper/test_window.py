"""Restricted attention on long input: the tasks, and that an interrupted experiment continues."""

import json
from dataclasses import replace

import numpy as np
import pytest
import torch

from heed.cli.main import main
from heed.data.corpus import ParallelText
from heed.errors import DataError
from heed.paper import window
from heed.paper.long_text import COPY_SYMBOLS, copy_batch, document_of, documents, learn_tokenizer
from heed.paper.resumable import Rows
from heed.vocabulary import Vocabulary

SMALLEST = window.Plan("tiny", (40, 80), (16,), 1, 4, (2,), 3, 40, (8,), 2)


@pytest.fixture
def text(tmp_path):
    lines = [f"the dog sees {i} cats and {i + 1} birds" for i in range(300)]
    (tmp_path / "a.en").write_text("".join(f"{line}\n" for line in lines))
    (tmp_path / "a.de").write_text("".join(f"{line[::-1]}\n" for line in lines))
    return ParallelText(str(tmp_path / "a.en"), str(tmp_path / "a.de"))


def test_the_second_half_of_a_target_is_the_first_again():
    batch = copy_batch(5, 3, seed=2)
    target = batch.tgt_out_BT.numpy()
    np.testing.assert_array_equal(target[:, :5], target[:, 5:10])
    assert target.shape == (3, 11) and (target[:, 10] == 1).all() and batch.src_BS.tolist() == [[1]] * 3
    assert set(target[:, :10].flatten()) <= set(range(3, 3 + COPY_SYMBOLS))
    # The symbol to copy is among the newest `distance` inputs, and not among fewer.
    inputs = batch.tgt_in_BT.numpy()
    for position in range(5, 10):
        np.testing.assert_array_equal(inputs[:, position - 4], target[:, position])


def test_documents_are_adjacent_lines_that_fit(text):
    tokenizer = learn_tokenizer(text, 400)
    found = list(documents(text, tokenizer, 60))
    sources = tokenizer.encode_ids([source for source, _ in text])
    assert [one for source, _ in found for one in source] == [one for ids in sources for one in ids]
    assert all(max(len(source), len(target)) <= 60 for source, target in found)
    batch = document_of(500, found, tokenizer.vocabulary)
    assert batch.src_BS.shape == batch.tgt_out_BT.shape == (1, 500)


def test_lines_that_are_too_long_are_left_out(text):
    tokenizer = learn_tokenizer(text, 400)
    assert list(documents(text, tokenizer, 1)) == []


def test_every_row_is_measured_once(text, tmp_path, monkeypatch):
    told = []
    path = tmp_path / "rows.jsonl"
    found = window.measure(SMALLEST, text, Rows(path), None, told.append)
    assert told == list(range(1, window.n_rows(SMALLEST, True) + 1))
    assert [one["r"] for one in found["copy"]] == [2, 0] and [one["r"] for one in found["documents"]] == [8, 0]
    assert all(one["encoder"]["bytes"] > 0 and one["update"]["seconds"] > 0 for one in found["cost"])

    path.write_bytes(b"".join(path.read_bytes().splitlines(keepends=True)[:-1]))  # as if interrupted before the last
    for name in ("_cost", "_copied"):
        monkeypatch.setattr(window, name, lambda *given: pytest.fail("measured again"))
    again = window.measure(SMALLEST, text, Rows(path), None, told.append)
    assert (again["cost"], again["copy"], again["documents"][0]) == (
        found["cost"],
        found["copy"],
        found["documents"][0],
    )
    assert again["documents"][1]["perplexity"] == found["documents"][1]["perplexity"]  # the same training once more


def test_full_attention_that_does_not_fit_is_a_row_that_says_so(tmp_path):
    plan = replace(SMALLEST, lengths=(40,))
    found = window.measure(plan, None, Rows(tmp_path / "rows.jsonl"), 9 * 40 * 40, lambda done: None)
    assert [(one["r"], one["fits"]) for one in found["cost"]] == [(0, False), (16, True)]
    shown = window.part(plan, found).tables[0].rows
    assert shown[0][:3] == ("40", "full", "does not fit")


def test_memory_of_the_encoder_grows_with_n():
    vocabulary = Vocabulary(50)
    ids = torch.randint(3, 50, (64,)).tolist()
    kept = [window._cost(n, 16, [(ids, ids)], vocabulary, 1, None)["encoder"]["bytes"] for n in (256, 512, 1024)]
    assert kept[2] - kept[1] == pytest.approx(2 * (kept[1] - kept[0]), rel=0.05)


def test_too_little_text_is_refused(tmp_path):
    (tmp_path / "a.tsv").write_text("a b c d\td c b a\n" * 40)
    with pytest.raises(DataError, match="heed data get europarl"):
        window._read(replace(SMALLEST, document_pieces=4000), ParallelText(str(tmp_path / "a.tsv")))


def test_the_command(tmp_path, capsys, monkeypatch):
    monkeypatch.setitem(window.PLANS, "tiny", SMALLEST)
    assert main(["paper", "window", "--out", str(tmp_path)]) == 0
    shown = capsys.readouterr().out
    assert "r = 16" in shown and all(len(line) <= 80 for line in shown.splitlines())
    assert main(["paper", "window", "--out", str(tmp_path), "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["values"]["documents"] == []
    assert main(["paper", "window", "--target", "x"]) == 2
    assert "--target needs --source" in capsys.readouterr().err
