"""Translate with heed's public interface: by default, or with the torch engine ("torch"); with "int8" in 8 bits."""

import sys

from translating import take_turns
from turns import read_job

import heed
from heed.allocator import keep_freed_memory

job = read_job()
keep_freed_memory()  # as `heed translate` does
engine = "torch" if "torch" in sys.argv[2:] else None
translator = heed.load(job["run"], int8="int8" in sys.argv[2:], engine=engine)


# Untrained weights write broken characters, which heed would search away: no other program does.
copy = False if job["exact_tokens"] else None


def translate(texts, beam):
    found = translator.translate(texts, beam=beam, copy=copy)
    if job["exact_tokens"]:
        assert all(len(one.pieces) == job["exact_tokens"] for one in found)
    return [one.text for one in found], sum(len(one.pieces) + one.finished for one in found)


take_turns(translate)
