"""The public names of the package, and what importing it loads."""

import subprocess
import sys

import heed.evaluate


def test_public_names() -> None:
    assert heed.evaluate.__all__ == sorted(heed.evaluate.__all__)
    assert all(hasattr(heed.evaluate, name) for name in heed.evaluate.__all__)


def test_importing_loads_nothing_heavy_and_scoring_no_torch() -> None:
    program = """
import sys
import heed.evaluate as e
print(sorted({"numpy", "regex", "sacrebleu", "sacremoses", "torch"} & set(sys.modules)))
for metric in e.Bleu(), e.ChrF(), e.PaperBleu("de"), e.ExactMatch(), e.ErrorRate():
    e.score(metric, ["a b"], ["a b"])
    e.compare(metric, ["a b"], ["a c"], ["a b"])
print("torch" in sys.modules, "sacrebleu" in sys.modules)
"""
    printed = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True).stdout
    assert printed.splitlines() == ["[]", "False True"]
