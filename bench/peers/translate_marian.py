"""Translate with Hugging Face `generate` from `heed export --to huggingface`, in batches of 64 of similar length."""

import torch
from transformers import MarianMTModel, MarianTokenizer
from translating import take_turns
from turns import read_job

BATCH = 64

job = read_job()
model = MarianMTModel.from_pretrained(job["huggingface"]).eval()
tokenizer = MarianTokenizer.from_pretrained(job["huggingface"])
model.generation_config.bad_words_ids = None  # takes time and changes nothing: trained models do not write these tokens
model.generation_config.max_length = None


def limits(n_source):
    exact = job["exact_tokens"]
    if exact:
        return {"min_new_tokens": exact, "max_new_tokens": exact}
    return {"max_new_tokens": n_source + job["extra_length"]}


@torch.inference_mode()
def translate(texts, beam):
    order = sorted(range(len(texts)), key=lambda i: len(texts[i]))
    found, tokens = [""] * len(texts), 0
    for begin in range(0, len(order), BATCH):
        rows = order[begin : begin + BATCH]
        given = tokenizer([texts[i] for i in rows], return_tensors="pt", padding=True)
        written = model.generate(**given, num_beams=beam, early_stopping=beam > 1, **limits(given.input_ids.size(1)))[
            :, 1:
        ]
        # Short translations are padded with end tokens; only the first one counts.
        ends = written.eq(model.config.eos_token_id)
        tokens += int((~ends).sum() + ends.any(1).sum())
        for i, text in zip(rows, tokenizer.batch_decode(written, skip_special_tokens=True), strict=True):
            found[i] = text
    return found, tokens


def one(threads):
    torch.set_num_threads(threads)
    return translate


take_turns(translate, one)
