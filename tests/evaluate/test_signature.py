from heed.evaluate import decoding_signature
from heed.evaluate.signature import join_signature


def test_decoding_signature() -> None:
    found = decoding_signature(
        beam=4, alpha=0.6, checkpoint="last 5 of step-100000", model_hash="1f2e3d4c", heed_version="0.1.0"
    )
    assert found == "beam:4|alpha:0.6|checkpoint:last 5 of step-100000|model:1f2e3d4c|heed:0.1.0"


def test_what_is_unknown_is_left_out() -> None:
    found = decoding_signature(beam=1, alpha=0.0, checkpoint=None, model_hash=None, heed_version="0.1.0")
    assert found == "beam:1|alpha:0.0|heed:0.1.0"


def test_separators_in_values_cannot_break_the_line() -> None:
    found = join_signature({"file": "C:\\a|b 50%", "sampled": False, "cached": True})
    assert found == "file:C%3A\\a%7Cb 50%25|sampled:no|cached:yes"
    assert all(len(pair.split(":")) == 2 for pair in found.split("|"))
