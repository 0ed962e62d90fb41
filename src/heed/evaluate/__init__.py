"""Scores of strings: how close translations come to their references.

    score(Bleu(), hypotheses, references)           sacreBLEU, comparable between papers
    score(ChrF(), hypotheses, references)           character n-grams
    score(PaperBleu("de"), hypotheses, references)  the BLEU "Attention Is All You Need" reports
    compare(Bleu(), hypotheses, baseline, references)  is one system better than another?

Everything heavy is imported when a score is asked for, so importing this package costs nothing.
"""

from heed.evaluate.bleu import Bleu
from heed.evaluate.chrf import ChrF
from heed.evaluate.paired import Comparison, compare
from heed.evaluate.paper_bleu import PaperBleu
from heed.evaluate.scoring import Metric, NgramCounts, Score, score
from heed.evaluate.signature import decoding_signature

__all__ = [
    "Bleu",
    "ChrF",
    "Comparison",
    "Metric",
    "NgramCounts",
    "PaperBleu",
    "Score",
    "compare",
    "decoding_signature",
    "score",
]
