"""Score translations against references.

    score(Bleu(), hypotheses, references)           sacreBLEU, comparable between papers
    score(ChrF(), hypotheses, references)           character n-grams
    score(PaperBleu("de"), hypotheses, references)  BLEU as in "Attention Is All You Need"
    score(ExactMatch(), hypotheses, references)     the share of lines that equal their reference
    score(ErrorRate("char"), hypotheses, references)  character error rate; "word" for words
    compare(Bleu(), hypotheses, baseline, references)  is one system better than another?

sacreBLEU and sacremoses are imported only when a score is computed, so importing this package is fast.
"""

from heed.evaluate.bleu import Bleu
from heed.evaluate.chrf import ChrF
from heed.evaluate.criterion import CRITERIA, Criterion, criterion
from heed.evaluate.error_rate import ErrorRate
from heed.evaluate.exact import ExactMatch
from heed.evaluate.paired import Comparison, compare
from heed.evaluate.paper_bleu import PaperBleu
from heed.evaluate.scoring import Metric, NgramCounts, Score, score
from heed.evaluate.signature import decoding_signature

__all__ = [
    "Bleu",
    "CRITERIA",
    "ChrF",
    "Comparison",
    "Criterion",
    "ErrorRate",
    "ExactMatch",
    "Metric",
    "NgramCounts",
    "PaperBleu",
    "Score",
    "compare",
    "criterion",
    "decoding_signature",
    "score",
]
