"""What docs/questions.md claims, kept true: claims, not digits."""

import itertools
import json
import math
import re
from pathlib import Path

import numpy as np
import pytest

from heed.cli.main import main
from heed.errors import ConfigError
from heed.paper.questions import MINUTES, QUESTIONS, TRAINED, residual, restricted, saturation
from heed.paper.questions.asked import Asked
from heed.paper.questions.positions import shift_matrix
from heed.paper.questions.tiny import Trained, language
from heed.paper.report import ORDER, Part, lines

PAGE = Path(__file__).parents[2] / "docs" / "questions.md"
QUICK = [name for name in QUESTIONS if name not in MINUTES | TRAINED]


@pytest.fixture(scope="module")
def asked() -> Asked:
    return Asked()


@pytest.fixture(scope="module")
def parts(asked: Asked) -> dict[str, Part]:
    return {name: QUESTIONS[name].answer(asked) for name in QUICK}


@pytest.mark.parametrize("name", QUICK)
def test_an_answer_fits_a_terminal_and_has_numbers_and_words(name: str, parts: dict[str, Part]) -> None:
    part = parts[name]
    assert part.name == f"question-{name}" and part.title == QUESTIONS[name].QUESTION
    assert all(len(line) <= 80 for line in lines(part)), max(lines(part), key=len)
    assert part.tables and part.notes and json.loads(json.dumps(part.values))


def test_a_gate_keeps_what_a_plain_network_forgets(parts: dict[str, Part]) -> None:
    found = parts["gates"].values
    at_50 = found["steps"].index(50)
    assert 0 < found["plain"][at_50] < 1e-6 < 0.1 < found["gated"][at_50]


def test_the_hidden_state_is_the_formulas_and_depends_on_order(parts: dict[str, Part]) -> None:
    found = parts["state"].values
    assert found["largest_difference_to_the_formula"] < 1e-6 and found["order_matters"] > 0.1
    assert np.shape(found["states"]) == (5, 2)


def test_one_layer_of_attention_reaches_any_distance(parts: dict[str, Part]) -> None:
    found = parts["dependency"].values
    assert found["self-attention"][-1] > 1e-3 and 0 < found["GRU"][-1] < 1e-9
    assert [norm > 0 for norm in found["convolution"]] == [distance <= 1 for distance in found["distance"]]


def test_an_average_loses_what_two_heads_keep(parts: dict[str, Part]) -> None:
    found = parts["resolution"].values
    assert found["one_head_differs"] == 0 < found["two_heads_differ"]
    assert all(head < together for head, together in found["positions"].values())


def test_the_second_hop_answers(parts: dict[str, Part]) -> None:
    found = parts["memory"].values
    assert found["answer"] == "kitchen" and np.argmax(found["hops"][0]) == 2
    assert all(math.isclose(sum(hop), 1) for hop in found["hops"])
    assert parts["memory"].tables[0].rows[-1][1:] == ("Mary", "kitchen")


def test_the_decoder_gets_a_row_for_each_source_token(parts: dict[str, Part], asked: Asked) -> None:
    found = parts["encoder"].values
    assert found["encoder_output"] == [found["source_tokens"], asked.model.config.d_model]
    assert found["queries"] == found["target_tokens"] != found["source_tokens"]
    assert found["largest_difference_by_hand"] < 1e-4


def test_the_decoders_output_is_a_distribution_over_the_vocabulary(parts: dict[str, Part], asked: Asked) -> None:
    found = parts["output"].values
    assert found["logits"][1] == asked.model.vocabulary.size and found["hidden"][1] == asked.model.config.d_model
    assert found["row_sums"] == pytest.approx([1.0] * found["logits"][0], abs=1e-4)
    # The probability of the translation is what search says it is.
    translation = asked.translator.translate(["The cat chased its tail."])[0]
    assert sum(map(math.log, found["probability_of_written"])) == pytest.approx(translation.log_probability, abs=0.01)


def test_training_calls_the_decoder_once_and_writing_once_a_token(parts: dict[str, Part]) -> None:
    found, n = parts["passes"].values, parts["passes"].values["tokens"]
    assert list(found["calls"].values()) == [1, n, n]
    assert list(found["positions"].values()) == [n, n, n * (n + 1) // 2]
    assert found["largest_difference"] < 1e-4


def test_only_minus_infinity_hides_a_position_and_leaves_a_distribution(parts: dict[str, Part]) -> None:
    no_mask, zero, afterwards, infinity = parts["infinity"].values.values()
    e = [math.exp(score) for score in (2, 1)]
    assert infinity == pytest.approx([e[0] / sum(e), e[1] / sum(e), 0])
    assert zero[2] > 0.05 and no_mask[2] > 0.1 and sum(afterwards) < 0.9
    assert [one / sum(afterwards) for one in afterwards] == pytest.approx(infinity)


def test_only_softmax_has_all_three_properties(parts: dict[str, Part]) -> None:
    def has_all(one: dict[str, object]) -> bool:
        weights, total = one["weights"], one["sum"]
        positive = min(weights) > 0 and abs(total - 1) < 1e-6  # type: ignore[call-overload, operator]
        return positive and one["shifted"] < 1e-6 and one["gradient"] > 0.1  # type: ignore[operator]

    assert [name for name, one in parts["softmax"].values.items() if has_all(one)] == ["softmax"]


def test_without_scaling_softmax_saturates_as_d_k_grows(parts: dict[str, Part]) -> None:
    found = parts["scaling"].values
    largest, gradient = (np.array(found["not scaled"])[:, i] for i in (0, 1))
    assert (np.diff(largest) > 0).all() and largest[-1] > 0.9 and gradient[-1] < gradient[0] / 3
    assert np.ptp(np.array(found["scaled"])[:, 0]) < 0.1
    assert found["spread"] == pytest.approx([math.sqrt(d_k) for d_k in found["d_k"]], rel=0.25)


def test_the_scaled_embedding_is_as_large_as_the_position(parts: dict[str, Part]) -> None:
    for one in parts["embedding"].values.values():
        assert one["plain"] < one["position"] / 5 and one["scaled"] > one["position"]
    new = parts["embedding"].values["new, d_model 512"]
    assert new["position"] == pytest.approx(16, rel=1e-4) and new["plain"] == pytest.approx(1, rel=0.02)


def test_weights_and_values_are_both_needed(parts: dict[str, Part]) -> None:
    found = parts["values"].values["log_probability"]
    assert all(found["weights times V"] > other + 2 for name, other in found.items() if name != "weights times V")


def test_heads_differ_and_few_matter(parts: dict[str, Part]) -> None:
    found = parts["heads"].values
    assert max(found["overlap"]) < 0.8
    every = np.concatenate(found["change"])
    assert np.median(every) > every.min() / 5 and every.min() < 0
    assert every.argmin() // 8 == len(found["change"]) - 1  # in the last cross-attention
    # Heads of one layer are hardly more alike than heads of different layers.
    between, layers = found["between_layers"], {"encoder": 6, "decoder": 2, "cross": 2}
    of_one, first = found["overlap"], 0
    for kind, n in layers.items():
        assert abs(np.mean(of_one[first : first + n]) - between[kind]) < 0.15
        first += n


def test_feed_forward_works_position_by_position_and_is_needed(parts: dict[str, Part]) -> None:
    found = parts["feedforward"].values
    assert found["permuted"] < 1e-5 and found["weights"]["feed_forward"] > 2 * found["weights"]["self_attention"] * 0.99
    assert found["off"]["all there"] > found["off"]["none at all"] + 2
    kept = list(found["kept"].values())
    assert kept == sorted(kept, reverse=True) and found["active"] < 0.5


def test_dropout_zeroes_numbers_and_no_word(parts: dict[str, Part], asked: Asked) -> None:
    found, config = parts["dropout"].values, asked.model.config
    assert found["whole_tokens"] == 0 and found["share"] == pytest.approx(0.1, abs=0.02)
    assert found["scale"] == pytest.approx(1 / 0.9, rel=1e-3) and found["differs_in_translation"] == 0
    places = [2, 2 * config.encoder_layers, 3 * config.decoder_layers]
    assert list(found["places"].values()) == places


def test_a_shift_is_a_linear_function_of_the_position(parts: dict[str, Part]) -> None:
    found = parts["positions"].values
    assert max(found["errors"].values()) < 1e-6 and found["spread"] < 1e-4
    # The picture: the fastest hand changes at every step, the slowest not at all.
    drawn = parts["positions"].tables[1].rows
    assert all(one[1][0] != other[1][0] or one[2][0] != other[2][0] for one, other in itertools.pairwise(drawn))
    assert len({row[1][-1] + row[2][-1] for row in drawn}) == 1
    # The formula, by hand, at one position.
    matrix = shift_matrix(3, 8).numpy()
    pos, rates = 7, [10000 ** (-i / 8) for i in range(0, 8, 2)]
    at, later = ([f(p * rate) for rate in rates for f in (math.sin, math.cos)] for p in (pos, pos + 3))
    assert matrix @ np.array(at) == pytest.approx(np.array(later), abs=1e-12)


def test_the_cat_operations_are_those_of_the_formulas(parts: dict[str, Part]) -> None:
    found = parts["cat"].values
    assert found["operations"] == found["expected"]
    assert found["paths"] == {"self-attention": 1, "GRU": 6, "convolution": 5}
    its, shares = found["its"], found["shares"]
    assert min(shares["self-attention"]) > 0.02
    assert [row[3] for row in parts["cat"].tables[0].rows] == ["2,304", "24,576", "73,728"]  # n²d, nd², knd²
    assert max(shares["GRU"][its + 1 :]) == 0 and [i for i, one in enumerate(shares["convolution"]) if one] == [2, 3, 4]


def test_restricted_attention_costs_r_n_and_takes_n_by_r_layers(parts: dict[str, Part]) -> None:
    n = parts["restricted"].values["length"]
    for row in parts["restricted"].values["rows"][:-1]:
        r, half = row["r"], row["r"] // 2
        assert row["weights"] == r * n
        # A layer carries on by half a neighbourhood; the last position sees a whole one before it.
        assert row["layers"] == math.ceil((n - r) / half) + 1
    assert parts["restricted"].values["rows"][-1] == {"r": n, "weights": n * n, "layers": 1}
    rows = ["11100", "11100", "01110", "00111", "00111"]  # moved inwards at the ends, as docs/window.md says
    assert restricted.neighbourhood(5, 3).int().tolist() == [[int(one) for one in row] for row in rows]


def test_only_the_encoder_looks_ahead(parts: dict[str, Part]) -> None:
    assert parts["bert"].values["later"]["encoder"] > 0.2 and parts["bert"].values["later"]["decoder"] == 0


def test_translation_changes_the_number_of_tokens(parts: dict[str, Part]) -> None:
    assert any(n_in != n_out for n_in, n_out in parts["transduction"].values["tokens"])


# --- trainings ------------------------------------------------------------------------------------------------


def test_without_the_mask_the_loss_falls_and_translations_are_useless(asked: Asked) -> None:
    found = QUESTIONS["mask"].answer(asked).values
    (there, without), (right, useless) = found["training_loss"], found["right"]
    assert without < 0.1 < there
    assert useless == 0 < 0.05 < right


def test_without_residuals_a_sentence_becomes_one_vector_and_attention_cannot_learn() -> None:
    likeness, gradients = residual._measure(lambda model: None)
    same, stuck = residual._measure(residual.without_residuals)
    assert same[1] > 0.99 and likeness[1] < 0.8
    assert max(stuck[2:]) < min(gradients) / 10


@pytest.mark.slow
def test_learned_positions_match_the_sinusoids(asked: Asked) -> None:
    found = QUESTIONS["learned"].answer(asked).values
    assert found["difference"] < 1e-4
    loss = {name: np.mean(both) for name, both in found["held_out_loss"].items()}
    assert loss["learned"] < loss["sinusoidal"] * 1.25 and loss["none"] > max(loss["learned"], loss["sinusoidal"])


@pytest.mark.slow
def test_the_penalty_makes_heads_less_alike(asked: Asked) -> None:
    rows = QUESTIONS["diversity"].answer(asked).values["rows"]
    assert max(rows[-1]["similarity"]) < min(rows[0]["similarity"])


@pytest.mark.slow
def test_residuals_learn_more_in_the_same_steps(asked: Asked) -> None:
    loss = QUESTIONS["residual"].answer(asked).values["loss"]
    assert loss["with"] < loss["without"] - 0.2


@pytest.mark.slow
def test_more_text_helps_and_the_wider_model_more(tmp_path: Path) -> None:
    cells = saturation.answer(Asked(folder=tmp_path, scale="quick")).values["cells"]
    loss = {(cell["d_model"], cell["h"], cell["pairs"]): cell["held_out_loss"] for cell in cells}
    few, some, all_of_it = sorted({pairs for _, _, pairs in loss})
    for width in (16, 64):
        assert loss[width, 4, few] > loss[width, 4, some] > loss[width, 4, all_of_it]
    assert loss[64, 4, all_of_it] < loss[16, 4, all_of_it] - 0.5
    assert loss[64, 4, all_of_it] < loss[64, 1, all_of_it]


def test_the_tiny_language_is_held_out() -> None:
    text = language()
    assert len(text.train) > 2_000 and len(text.held_out) > 50
    assert not {tuple(source) for source, _ in text.train} & {tuple(source) for source, _ in text.held_out}
    assert max(max(ids) for pair in text.train for ids in pair) == text.vocabulary.size - 1


def test_saturation_resumes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    trained, stop_at = [], [3]

    def train(shape, steps, rate, text) -> Trained:  # type: ignore[no-untyped-def]
        if len(trained) in stop_at:
            raise RuntimeError("stopped")
        trained.append((shape.d_model, shape.h, len(text.train)))
        return Trained(None, [], 1.0 / len(text.train), [], 0.5)  # type: ignore[arg-type]

    monkeypatch.setattr(saturation, "train", train)
    asked = Asked(folder=tmp_path, scale="quick")
    with pytest.raises(RuntimeError, match="stopped"):
        saturation.answer(asked)
    first, done = trained.copy(), trained
    done.clear()
    stop_at.clear()
    part = saturation.answer(asked)
    assert len(first) == 3 and not set(first) & set(done)
    assert len(part.values["cells"]) == len({*first, *done}) == 8
    assert all(len(line) <= 80 for line in lines(part))
    with pytest.raises(ConfigError, match="smal.*did you mean"):
        saturation.answer(Asked(folder=tmp_path, scale="smal"))


# --- the command and the page ---------------------------------------------------------------------------------


def test_the_command(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["paper", "questions", "--list"]) == 0
    listed = capsys.readouterr().out.splitlines()
    assert [line.split()[0] for line in listed] == list(QUESTIONS) and all(len(line) <= 80 for line in listed)
    out = ["--out", str(tmp_path / "paper")]
    assert main(["paper", "questions", "infinity", *out]) == 0
    shown = capsys.readouterr()
    assert "minus infinity" in shown.out and "report.html" in shown.err
    assert main(["paper", "questions", "softmax", "--json", *out]) == 0
    assert json.loads(capsys.readouterr().out)["name"] == "question-softmax"
    report = (tmp_path / "paper" / "report.html").read_text(encoding="utf-8")
    assert 'id="question-infinity"' in report and 'id="question-softmax"' in report


def test_an_unknown_question_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["paper", "questions", "mask", "--scale", "quick"]) == 2
    assert "--scale belongs to" in capsys.readouterr().err
    assert main(["paper", "questions", "sofmax"]) == 2
    assert "did you mean softmax" in capsys.readouterr().err.replace('"', "").replace("'", "")


def test_the_page_has_every_question_and_names_no_other() -> None:
    text = PAGE.read_text(encoding="utf-8")
    sections = re.split(r"^## ", text, flags=re.MULTILINE)[1:]
    titles = [section.splitlines()[0] for section in sections]
    assert titles == [module.QUESTION for module in QUESTIONS.values()]
    assert [name for name in ORDER if name.startswith("question-")] == [f"question-{name}" for name in QUESTIONS]
    for name, section in zip(QUESTIONS, sections, strict=True):
        assert f"heed paper questions {name}" in section
    assert set(re.findall(r"heed paper questions ([a-z]+)", text)) == set(QUESTIONS)
