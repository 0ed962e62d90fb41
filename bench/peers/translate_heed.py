"""heed by its public interface; with "engine" as argument, through CTranslate2 in torch's place; "int8": of 8 bits."""

import sys
from pathlib import Path

from translating import take_turns
from turns import read_job

job = read_job()
if "engine" in sys.argv[2:]:
    from heed.export.kept import open_engine

    translator = open_engine(Path(job["run"]), int8="int8" in sys.argv[2:])
else:
    import heed
    from heed.allocator import keep_freed_memory

    keep_freed_memory()  # as `heed translate` does
    translator = heed.load(job["run"], int8="int8" in sys.argv[2:])


def translate(texts, beam):
    found = translator.translate(texts, beam=beam)
    if job["exact_tokens"]:
        assert all(len(one.pieces) == job["exact_tokens"] for one in found)
    return [one.text for one in found], sum(len(one.pieces) + one.finished for one in found)


take_turns(translate)
