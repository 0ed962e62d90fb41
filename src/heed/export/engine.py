"""CTranslate2 in the place of torch: texts to translations, order and count kept.

Its search keeps the same hypotheses as ours (twice `beam` candidates; those that end among the best `beam` are
finished; `beam` finished ones are enough) and then ranks them by log P / length^α instead of the paper's
log P / ((5 + length) / 6)^α. So all `beam` finished ones are asked for and ranked anew. What remains different:

- When more than `beam` have finished by the last step, CTranslate2 keeps the best `beam` of them by its own formula;
  its exponent is chosen such that the two formulas rank translations about as long as the source alike.
- PAD and UNK are ruled out before the softmax and not after it, so the others share their probability.

The length limit counts from the length of the source, and a batch has one limit: so only sources of one length are
translated together.
"""

from collections import defaultdict
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from heed.config import Config, DecodeConfig
from heed.decode.penalty import length_penalty
from heed.symbols import EOS, PAD
from heed.text.tokenizer import Tokenizer
from heed.translation import Translation, beam_and_alpha, best_of, joined, parts_that_fit


class Engine:
    """A folder made by `write_ctranslate2`, ready to translate."""

    def __init__(self, folder: Path, config: Config, tokenizer: Tokenizer) -> None:
        import ctranslate2

        self.config, self.tokenizer = config, tokenizer
        self._translator = ctranslate2.Translator(str(folder), device="cpu", compute_type="float32")
        self._pieces = tokenizer.pieces(range(len(tokenizer)))
        self._ids = {piece: number for number, piece in enumerate(self._pieces)}

    @property
    def decode(self) -> DecodeConfig:
        return self.config.decode

    def translate(
        self, texts: Sequence[str], *, beam: int | None = None, alpha: float | None = None, n_best: int = 1
    ) -> list[Translation]:
        """Translate texts, one line each; as `heed.translator.Translator.translate`.

        Raises:
            DecodeError: a request that contradicts itself.
        """
        beam, alpha = beam_and_alpha(self.decode, beam, alpha, n_best)
        parts = parts_that_fit(texts, self.tokenizer, self.config.model.max_length)
        flat = [part.text for text_parts in parts for part in text_parts]
        return joined(parts, self._translate_parts(flat, beam, alpha, n_best))

    def _translate_parts(self, texts: list[str], beam: int, alpha: float, n_best: int) -> list[Translation]:
        sources = [self.tokenizer.pieces(ids) for ids in self.tokenizer.encode_ids(texts)]
        same_length: dict[int, list[int]] = defaultdict(list)
        for i, source in enumerate(sources):
            same_length[len(source)].append(i)
        found: dict[int, Translation] = {}
        for length, rows in same_length.items():
            batch, limit, exponent = [sources[i] for i in rows], self._output_limit(length), _exponent(length, alpha)
            for i, result in zip(rows, self._search(batch, limit, beam, exponent), strict=True):
                found[i] = self._translation(sources[i], result, exponent, alpha, n_best)
        return [found[i] for i in range(len(texts))]

    def _search(self, batch: list[list[str]], limit: int, beam: int, exponent: float) -> list[Any]:
        """CTranslate2's results for sources of one length."""
        results = self._ask(batch, limit, beam, exponent, patience=1)
        # At the limit, the unfinished hypotheses may have taken the places of finished ones. Less than `beam` were
        # finished before it, and `beam` come with it: with twice the places, all are seen.
        cut_off = [i for i, one in enumerate(results) if any(h[-1] != self._pieces[EOS] for h in one.hypotheses)]
        if cut_off and beam > 1:
            again = self._ask([batch[i] for i in cut_off], limit, beam, exponent, patience=2)
            for i, result in zip(cut_off, again, strict=True):
                results[i] = result
        return results

    def _ask(self, batch: list[list[str]], limit: int, beam: int, exponent: float, patience: int) -> list[Any]:
        results: list[Any] = self._translator.translate_batch(
            batch,
            max_batch_size=self.decode.batch_tokens,
            batch_type="tokens",
            beam_size=beam,
            patience=patience,
            num_hypotheses=beam * patience,
            length_penalty=exponent,
            min_decoding_length=0,
            max_decoding_length=limit,
            max_input_length=0,  # by default it cuts
            return_scores=True,
            return_end_token=True,
            disable_unk=True,
            suppress_sequences=[[self._pieces[PAD]]],
        )
        return results

    def _output_limit(self, n_source: int) -> int:
        """Section 6.1: at most input length + 50; and no further than there are learned positions."""
        model, limit = self.config.model, n_source + self.decode.extra_length
        return limit if model.positions == "sinusoidal" else min(limit, model.max_length + 1)

    def _translation(self, source: list[str], result: Any, exponent: float, alpha: float, n_best: int) -> Translation:
        """The `n_best` by the paper's formula; unfinished ones fill the places that no finished one took."""
        several = []
        for pieces, score in zip(result.hypotheses, result.scores, strict=True):
            log_probability = score * len(pieces) ** exponent
            score = log_probability / length_penalty(len(pieces), alpha)
            finished = pieces[-1] == self._pieces[EOS]
            pieces = pieces[:-1] if finished else pieces
            text = self.tokenizer.decode([self._ids[piece] for piece in pieces])
            several.append(Translation(text, score, log_probability, pieces, source, finished))
        several.sort(key=lambda one: (not one.finished, -one.score))
        several = sorted(several[:n_best], key=lambda one: -one.score)
        return best_of(several)


def _exponent(n_source: int, alpha: float) -> float:
    """The slope of the paper's penalty, on logarithmic scales, at a translation as long as the source.

    Never 0, which CTranslate2 takes for leave to stop at the first finished hypothesis.
    """
    length = n_source + 1
    return max(alpha * length / (5 + length), 1e-9)
