#!/usr/bin/env bash
# Rebuild the English-German model in the box:  configs/en-de/build.sh DATA WORK
# DATA has the folders tatoeba and europarl, whose files prepare.py names; WORK gets the text, the runs and the model,
# WORK/en-de. An interrupted build continues where it was: run it again.
set -euo pipefail
recipe=$(cd "$(dirname "$0")" && pwd)
data=$(cd "$1" && pwd)
mkdir -p "$2" && cd "$2"

[ -d data ] || { python "$recipe/prepare.py" "$data" data.part && mv data.part data; }
for stage in 1 2 3 4; do
    if [ -d "stage$stage" ]; then heed train --resume "stage$stage"; else heed train "$recipe/$stage.toml" --out "stage$stage"; fi
done
rm -rf en-de
python "$recipe/mean.py" stage3 stage4
heed export --model stage4 --checkpoint mean --to heed --set decode.sentences=true --set decode.capitals=true --set decode.alpha=1.0 --out en-de
for side in 1 2; do cut -f $side data/valid.tsv > "valid.$side"; cut -f $side data/test.tsv > "test.$side"; done
heed confidence --model en-de --source valid.1 --reference valid.2
heed evaluate --model en-de --source test.1 --reference test.2
