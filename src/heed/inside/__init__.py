"""What a model computes for one sentence, recorded, measured and shown: `Translator.inspect` and `heed inspect`."""
