"""The lab over HTTP: what it answers, what it refuses, and whom."""

import json
import threading
from pathlib import Path

import numpy as np
import pytest

from heed.engines.pytorch import PyTorchEngine
from heed.inside.inspection import look
from heed.inside.observe import Switches
from heed.options import SearchOptions
from heed.translator import Translator
from tests.lab.conftest import TEXT, Answer, RunningLab


def engine_of(translator: Translator) -> PyTorchEngine:
    assert isinstance(translator.engine, PyTorchEngine)
    return translator.engine


def array(answer: Answer, name: str) -> np.ndarray:
    length = int.from_bytes(answer.content[:4], "little")
    told = answer.summary["arrays"][name]
    n = int(np.prod(told["shape"]))
    return np.frombuffer(answer.content[4 + length :], told["dtype"], n, told["at"]).reshape(told["shape"])


# --- what it computes ---------------------------------------------------------------------------------------------


def test_a_sentence_is_translated_and_looked_into(lab: RunningLab, translator: Translator) -> None:
    answer = lab.inspect()
    (expected,) = translator.translate([TEXT], attention=True, copy=False)
    assert answer.summary["translation"]["text"] == expected.text
    assert answer.summary["translation"]["log_probability"] == pytest.approx(expected.log_probability, abs=1e-4)
    assert answer.summary["lab"]["checkpoint"] == "step-00000005"
    assert expected.attention is not None
    np.testing.assert_allclose(array(answer, "attention.cross"), expected.attention.cross, atol=1e-6)


@pytest.mark.parametrize(
    "given, switches",
    [
        ({"heads": ["cross.1.0", "encoder.0.1"]}, Switches(heads=frozenset({("cross", 1, 0), ("encoder", 0, 1)}))),
        ({"layers": ["decoder.0"]}, Switches(layers=frozenset({("decoder", 0)}))),
        ({"causal": False}, Switches(causal=False)),
        ({"positions": False, "causal": True}, Switches(positions=False)),
    ],
    ids=["heads", "layer", "mask", "positions"],
)
def test_switches_reach_the_model(
    lab: RunningLab, translator: Translator, given: dict[str, object], switches: Switches
) -> None:
    """`tests/inside/test_switches.py` holds the switched model to the loops."""
    answer, plain = lab.inspect(switches=given), translator.translate([TEXT], copy=False)[0]
    expected = look(engine_of(translator), TEXT, SearchOptions(beam=3), switches=switches)
    assert answer.summary["translation"]["text"] == expected.translation.text
    np.testing.assert_allclose(array(answer, "attention.decoder"), expected.attention["decoder"], atol=1e-5)
    assert answer.summary["lab"]["as_trained"] == {
        "text": plain.text,
        "log_probability": pytest.approx(plain.log_probability, abs=1e-4),
    }


def test_parts_are_computed_when_they_are_asked_for(lab: RunningLab) -> None:
    plain = lab.inspect().summary["arrays"]
    assert not any(name.startswith(("walk", "heads_off", "occlusion")) for name in plain)
    measured = lab.inspect(parts=["measures"]).summary["arrays"]
    assert {"heads_off.change.cross", "occlusion.change"} <= measured.keys()
    assert "walk.encoder.0.self.q" in lab.inspect(parts=["walk"]).summary["arrays"]


def test_a_beginning_as_text_and_as_pieces(lab: RunningLab, translator: Translator) -> None:
    (expected,) = translator.translate([TEXT], prefixes=["der faule"])
    by_text = lab.inspect(prefix="der faule").summary
    assert by_text["translation"]["text"] == expected.text and expected.text.startswith("der faule")
    (ids,) = translator.tokenizer.encode_ids(["der faule"])
    by_pieces = lab.inspect(prefix=ids).summary
    assert by_pieces["translation"] == by_text["translation"]
    assert by_pieces["forced"] == len(ids)


def test_search_options_reach_the_search(lab: RunningLab, translator: Translator) -> None:
    from heed.options import Sampling

    for beam, alpha in ((1, 0.0), (6, 2.0)):
        told = lab.inspect(beam=beam, alpha=alpha).summary
        assert told["translation"]["text"] == translator.translate([TEXT], beam=beam, alpha=alpha, copy=False)[0].text
        assert (told["beam"]["beam"], told["beam"]["alpha"]) == (beam, alpha)
    drawn = lab.inspect(temperature=1.3, seed=9).summary
    expected = translator.translate([TEXT], sampling=Sampling(temperature=1.3, seed=9))[0]
    assert drawn["translation"]["text"] == expected.text and drawn["lab"]["is_drawn"]


def test_another_checkpoint(lab: RunningLab, run: Path) -> None:
    from heed.loading import load

    told = lab.inspect(checkpoint="last").summary
    assert told["lab"]["checkpoint"] == "step-00000010"
    assert told["translation"]["text"] == load(run, checkpoint="last").translate([TEXT], copy=False)[0].text


def test_why_is_the_difference_of_forced_scores(lab: RunningLab, translator: Translator) -> None:
    """Against `Translator.score`, of sentences with and without a word."""
    (before,) = translator.tokenizer.encode_ids(["der"])
    (this,) = translator.tokenizer.encode_ids(["Fuchs"])
    told = lab.post(
        "/api/why", {"client": "test", "text": "the quick fox", "before": before, "this": this, "that": "Hund"}
    ).json

    def of(text: str, word: str) -> float:
        """log P(word | der): a prefix of a translation cannot be scored, so by way of the whole search space."""
        import torch

        engine = engine_of(translator)
        (source,), (target,) = engine.tokenizer.encode_ids([text]), engine.tokenizer.encode_ids([f"der {word}"])
        vocabulary = engine.tokenizer.vocabulary
        with torch.inference_mode():
            logits = engine.models[0](
                torch.tensor([[*source, vocabulary.end]]), torch.tensor([[vocabulary.start, *target]])
            )
        logprobs = logits[0].double().log_softmax(-1)
        return sum(float(logprobs[t, target[t]]) for t in range(len(before), len(target)))

    words = "the quick fox".split()
    whole = of("the quick fox", "Fuchs") - of("the quick fox", "Hund")
    assert told["words"] == words
    assert told["difference"] == pytest.approx(whole, abs=1e-3)
    for j, part in enumerate(told["parts"]):
        without = " ".join(words[:j] + words[j + 1 :])
        assert part == pytest.approx(whole - (of(without, "Fuchs") - of(without, "Hund")), abs=2e-3)


def test_newer_questions_take_the_place_of_older_ones(lab: RunningLab) -> None:
    """Many at once of one tab: the last is answered, and each of the others either was or is told that it is stale."""
    answers: dict[int, Answer] = {}

    def ask(i: int) -> None:
        answers[i] = lab.inspect(f"the fox {i}", client="typing", parts=["measures"])

    threads = []
    for i in range(8):
        threads.append(threading.Thread(target=ask, args=(i,)))
        threads[-1].start()
    for thread in threads:
        thread.join(60)
    assert {one.status for one in answers.values()} <= {200, 409}
    assert all(one.json["stale"] for one in answers.values() if one.status == 409)
    assert any(one.status == 200 for one in answers.values())


# --- what it refuses ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "more, message",
    [
        ({"text": "  "}, "type a sentence"),
        ({"text": "fox " * 300}, "the text has 300 pieces, the limit is 60 (model.max_length)"),
        ({"text": "x" * 5000}, "text has 5,000 characters, the lab takes at most 4,000"),
        ({"text": 7}, "text must be a text, not int"),
        ({"model": 3}, "model 3: the lab has 1, from 0"),
        ({"model": "x"}, "model must be a whole number, not str"),
        ({"model": True}, "model must be a whole number, not bool"),
        ({"checkpoint": "../.."}, 'no checkpoint "../.."'),
        ({"checkpoint": "step-00000099"}, 'no checkpoint "step-00000099"; there are: best, last, step-00000005'),
        ({"beam": 0}, "beam must be from 1 to 16, not 0"),
        ({"beam": 1.5}, "beam must be a whole number"),
        ({"alpha": -1}, "alpha must be from 0 to 10, not -1"),
        ({"alpha": "x"}, "alpha must be a number, not str"),
        ({"temperature": 0}, "temperature must be from 0.001"),
        ({"temperature": 1, "beam": 4}, "give only one of them"),
        ({"switches": {"heads": ["cross.9.0"]}}, "there is no layer 10, head 1 in the cross of this model"),
        ({"switches": {"heads": ["cross.0.7"]}}, "there is no layer 1, head 8"),
        ({"switches": {"heads": ["nonsense"]}}, "switches.heads must be a list such as"),
        ({"switches": {"layers": ["cross.0"]}}, "switches.layers must be a list such as"),
        ({"switches": {"causal": "no"}}, "causal must be true or false, not str"),
        ({"switches": []}, "switches must be a JSON object, not list"),
        ({"parts": ["everything"]}, "parts must be a list of measures and walk"),
        ({"prefix": [10**9]}, "the translation cannot have the piece 1000000000"),
        ({"prefix": [1]}, "the translation cannot have the piece 1"),
        ({"prefix": "fox " * 70}, "the translation begins with 70 pieces, the limit is 60; shorten it"),
        ({"client": "<script>"}, "client must be up to 32 letters"),
    ],
)
def test_bad_requests_are_refused_with_a_word(lab: RunningLab, more: dict[str, object], message: str) -> None:
    answer = lab.post("/api/inspect", {"client": "test", "text": TEXT, **more})
    assert answer.status == 400 and message in answer.json["error"], answer.content


@pytest.mark.parametrize("body", [b"", b"{", b"[]", b"7", b"[" * 5000], ids=["empty", "half", "list", "7", "deep"])
def test_what_is_not_an_object_is_refused(lab: RunningLab, body: bytes) -> None:
    assert lab.post("/api/inspect", body).status == 400


def test_a_request_that_is_too_long_is_refused(lab: RunningLab) -> None:
    answer = lab.post("/api/inspect", json.dumps({"client": "test", "text": "x" * 300_000}).encode())
    assert answer.status == 400 and "longer than 200,000 bytes" in answer.json["error"]


@pytest.mark.parametrize(
    "more, message",
    [
        ({"this": []}, "name the word of the translation"),
        ({"that": ""}, "name the word of the translation"),
        ({"this": [9], "that": [9]}, "the two words are the same"),
        ({"that": "fox " * 50}, "the other word has 50 pieces; give from 1 to 24"),
    ],
)
def test_bad_questions_why_are_refused(lab: RunningLab, more: dict[str, object], message: str) -> None:
    answer = lab.post("/api/why", {"client": "test", "text": TEXT, "before": [], "this": [9], "that": "fox", **more})
    assert answer.status == 400 and message in answer.json["error"]


def test_the_lab_survives_all_that(lab: RunningLab) -> None:
    assert lab.inspect().status == 200


# --- who may ask --------------------------------------------------------------------------------------------------


def test_another_name_for_this_machine_is_refused(lab: RunningLab) -> None:
    """A site whose name resolves to 127.0.0.1 sends its own name."""
    for host in ("evil.example", "evil.example:80", "127.0.0.1.evil.example", "evil.example:127.0.0.1"):
        answer = lab.get("/api/models", Host=host)
        assert answer.status == 403 and "127.0.0.1 and localhost only" in answer.json["error"], host
    port = lab.address.rpartition(":")[2]
    assert lab.get("/api/models", Host=f"localhost:{port}").status == 200


@pytest.mark.parametrize("origin", ["https://evil.example", "null", "http://127.0.0.1:1", "http://localhost"])
def test_other_sites_are_refused(lab: RunningLab, origin: str) -> None:
    answer = lab.post("/api/inspect", {"client": "test", "text": TEXT}, Origin=origin)
    assert answer.status == 403 and "its own page only" in answer.json["error"]
    assert lab.post("/api/inspect", {"client": "test", "text": TEXT}, Origin=lab.address).status == 200


def test_a_form_of_another_site_is_refused(lab: RunningLab) -> None:
    answer = lab.post("/api/inspect", b"text=x", content_type="application/x-www-form-urlencoded")
    assert answer.status == 400 and "send JSON" in answer.json["error"]
    assert lab.get("/api/models", **{"Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "no-cors"}).status == 403
    assert lab.get("/", **{"Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "navigate"}).status == 200  # a link


def test_every_answer_has_its_policy(lab: RunningLab) -> None:
    for path in ("/", "/web/lab.js", "/api/models", "/nothing"):
        headers = lab.get(path).headers
        policy = headers["Content-Security-Policy"]
        assert "default-src 'none'" in policy and "frame-ancestors 'none'" in policy and "unsafe" not in policy
        assert headers["X-Content-Type-Options"] == "nosniff"


@pytest.mark.parametrize("path", ["/web/../app.py", "/web/%2e%2e%2fapp.py", "/web/none.js", "/app.py"])
def test_only_the_files_of_the_page_are_served(lab: RunningLab, path: str) -> None:
    assert lab.get(path).status == 404
