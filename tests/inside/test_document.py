"""The page's file: nothing in it is markup but ours, nothing is fetched, and it stays within its size."""

import json
import re
import zlib

import numpy as np
import pytest

from heed.inside.document import document
from heed.inside.inspection import Inspection
from heed.inside.page import modules, page
from heed.text.tokenizer import Tokenizer
from tests.inside.conftest import small_translator


def read(document_json: dict, data: bytes, name: str) -> np.ndarray:
    about = document_json["arrays"][name]
    count = int(np.prod(about["shape"]))
    return np.frombuffer(data, dtype=f"<{np.dtype(about['dtype']).str[1:]}", count=count, offset=about["at"]).reshape(
        about["shape"]
    )


def test_arrays_can_be_read_back(inspection: Inspection) -> None:
    made = document(inspection)
    summary, data = json.loads(made.json()), zlib.decompress(made.compressed())
    for kind in ("encoder", "decoder", "cross"):
        np.testing.assert_array_equal(read(summary, data, f"attention.{kind}"), inspection.attention[kind])
    np.testing.assert_allclose(
        read(summary, data, "walk.decoder.1.cross.q"), inspection.walk["decoder.1.cross.q"], rtol=1e-3, atol=1e-4
    )
    weight = inspection.model.decoder[1].cross_attention.w_v.weight.detach().numpy()
    by_head = read(summary, data, "weights.decoder.1.cross.w_v")
    np.testing.assert_allclose(by_head.reshape(weight.shape), weight, rtol=1e-3, atol=1e-4)
    assert summary["walk"] == {
        "layers": {"encoder": [0, 1], "decoder": [0, 1]},
        "columns": {"head": 7, "value": 9, "model": 24, "inner": 40},
        "precision": "float16",
        "attention": "float32",
    }


def test_a_large_model_gives_a_page_within_the_limit(tokenizer: Tokenizer) -> None:
    shape = {"encoder_layers": 6, "decoder_layers": 6, "d_model": 256, "d_ff": 1024, "h": 8, "d_k": 32, "d_v": 32}
    found = small_translator(tokenizer, **shape).inspect("the quick brown fox jumps over the lazy dog " * 3)
    for limit in (2_000_000, 5_000_000):
        made = document(found, limit)
        assert limit * 0.6 < len(page(made).encode()) <= limit
        assert 0 in made.summary["walk"]["layers"]["encoder"] and 5 in made.summary["walk"]["layers"]["decoder"]


ODD = '</script><script>alert(1)</script> <!-- \u2028 "quoted" & \\u003c'


def test_the_file_has_one_script_for_each_of_ours(tokenizer: Tokenizer) -> None:
    text = page(document(small_translator(tokenizer).inspect(ODD, name=ODD)))
    assert len(re.findall("<script", text)) == len(re.findall("</script", text)) == 4
    held = re.search(r'<script type="application/json" id="inspection">(.*?)</script>', text, re.S)
    assert held is not None and json.loads(held[1])["model"]["name"] == ODD


def test_nothing_is_fetched(inspection: Inspection) -> None:
    text = page(document(inspection))
    assert "default-src 'none'" in text
    for code in (text, *modules().values()):
        links = set(re.findall(r"https?://[^\s\"'`<)]+", code))
        assert links <= {"http://www.w3.org/2000/svg"}


@pytest.mark.parametrize("name, code", modules().items())
def test_modules_make_elements_without_markup(name: str, code: str) -> None:
    for word in ("innerHTML", "outerHTML", "insertAdjacentHTML", "document.write", "eval(", "new Function"):
        assert word not in code, (name, word)
    for imported in re.findall(r'^import .* from "([^"]+)";$', code, re.M):
        assert imported in modules()


def test_a_very_long_text_has_its_attention_as_bytes(one: Inspection) -> None:
    made = document(one, 2000)
    assert made.summary["walk"]["attention"] == "whole 255ths"
    for kind in ("encoder", "decoder", "cross"):
        index = made.summary["arrays"][f"attention.{kind}"]
        assert index["dtype"] == "uint8" and index["scale"] == 1 / 255
        found = read(made.summary, made.data, f"attention.{kind}") / 255
        np.testing.assert_allclose(found, one.attention[kind], atol=0.5 / 255 + 1e-6)
        assert (found[one.attention[kind] == 0] == 0).all()
