"""Score a finished run as the paper does: its last update, beam search, tokenised and compound-split BLEU."""

import math

from heed.durable import read_json, write_json
from heed.errors import ConfigError
from heed.evaluate import PaperBleu, score
from heed.loading import load
from heed.paper.rows import RowResult
from heed.paper.texts import Texts
from heed.run import RunFolder
from heed.text.lines import read_lines

_FILE = "paper-bleu.json"  # in the run folder


def paper_bleu(result: RowResult, texts: Texts) -> float:
    """Translate the validation text with the last checkpoint of a row and return the paper's BLEU; a second call reads
    what the first one wrote. A row that diverged has 0."""
    if math.isinf(result.perplexity):  # it diverged: there may be no checkpoint
        return 0.0
    path = result.path
    checkpoint = RunFolder.open(path).checkpoint_path("last").name
    asked = {"checkpoint": checkpoint, "valid_source": texts.valid_source, "valid_target": texts.valid_target}
    if (path / _FILE).exists():
        found = read_json(path / _FILE, f"delete {path / _FILE}")
        if {key: found.get(key) for key in asked} == asked:
            return float(found["bleu"])
    sources, references = list(read_lines(texts.valid_source)), list(read_lines(texts.valid_target))
    translations = [one.text for one in load(path, checkpoint="last").translate(sources, copy=False)]
    bleu = score(_metric(texts.target_language), translations, references, resamples=0).value
    write_json(path / _FILE, {**asked, "bleu": bleu})
    return bleu


def _metric(language: str) -> PaperBleu:
    try:
        return PaperBleu(language)
    except ConfigError:  # Moses has no rules for it, and would use those for English
        return PaperBleu("en")
