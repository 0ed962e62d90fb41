"""Average the best weights of two runs of the same shape: `python configs/en-de/mean.py RUN OTHER`.

The mean is saved in OTHER as the checkpoint `mean`. OTHER was fine-tuned from RUN on few sentences; the mean knows
nearly all of these, and translates other text as well as RUN does.
"""

import sys
from pathlib import Path

from heed.checkpoint import average, read_tensors
from heed.run import RunFolder


def main() -> None:
    runs = [RunFolder.open(Path(path)) for path in sys.argv[1:3]]
    mean = average(read_tensors(run.checkpoint_path("best"), "model") for run in runs)
    print(runs[1].save_weights("mean", mean, {"averaged": sys.argv[1:3]}))


if __name__ == "__main__":
    main()
