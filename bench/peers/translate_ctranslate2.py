"""Translate with CTranslate2 from `heed export --to ctranslate2`; with "int8" as second argument, with 8-bit weights.

Many sentences: two workers of one thread each, the fastest on two cores. One sentence: one thread or two.
"""

import sys
from functools import partial

import ctranslate2
import sentencepiece
from translating import take_turns
from turns import read_job

job = read_job()
folder, kind = (job["int8"], "int8") if "int8" in sys.argv[2:] else (job["ctranslate2"], "float32")
pieces = sentencepiece.SentencePieceProcessor(model_file=f"{folder}/tokenizer.model")
many = ctranslate2.Translator(folder, compute_type=kind, inter_threads=2, intra_threads=1)
exact = job["exact_tokens"]


def translate(translator, texts, beam):
    sources = pieces.encode(list(texts), out_type=str)  # without the end token, which the model adds itself
    results = translator.translate_batch(
        sources,
        beam_size=beam,
        length_penalty=job["alpha"],
        max_batch_size=32,
        min_decoding_length=exact or 1,
        max_decoding_length=exact or max(map(len, sources)) + job["extra_length"],
    )
    best = [result.hypotheses[0] for result in results]
    ends = 0 if exact else len(best)
    return [pieces.decode(one) for one in best], sum(map(len, best)) + ends


def one(threads):
    return partial(translate, ctranslate2.Translator(folder, compute_type=kind, inter_threads=1, intra_threads=threads))


take_turns(partial(translate, many), one)
