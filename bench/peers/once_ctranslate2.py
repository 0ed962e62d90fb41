"""Translate a file with CTranslate2 and one thread, and end: for the time to the first word, and for memory.

Arguments: the job, the file, and float32 or int8.
"""

import sys
from pathlib import Path

import ctranslate2
import sentencepiece
from turns import read_job

job, text, kind = read_job(), Path(sys.argv[2]), sys.argv[3]
folder = job["int8" if kind == "int8" else "ctranslate2"]
pieces = sentencepiece.SentencePieceProcessor(model_file=f"{folder}/tokenizer.model")
translator = ctranslate2.Translator(folder, compute_type=kind, inter_threads=1, intra_threads=1)
results = translator.translate_batch(
    pieces.encode(text.read_text(encoding="utf-8").splitlines(), out_type=str),
    beam_size=job["beam"],
    length_penalty=job["alpha"],
    max_batch_size=32,
    min_decoding_length=job["exact_tokens"],
    max_decoding_length=job["exact_tokens"],
)
for result in results:
    print(pieces.decode(result.hypotheses[0]))
