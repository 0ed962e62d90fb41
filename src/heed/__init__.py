"""Train and use the Transformer of "Attention Is All You Need".

    >>> import heed
    >>> translator = heed.load("runs/x")
    >>> translator.translate(["A man is riding a bike."])[0].text

Each name is imported when it is first used, so `import heed` itself is fast.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from heed.config import Config as Config
    from heed.errors import CheckpointError as CheckpointError
    from heed.errors import ConfigError as ConfigError
    from heed.errors import DamageError as DamageError
    from heed.errors import DataError as DataError
    from heed.errors import DecodeError as DecodeError
    from heed.errors import HeedError as HeedError
    from heed.errors import TokenizerError as TokenizerError
    from heed.errors import TrainingError as TrainingError
    from heed.loading import load as load
    from heed.model.transformer import Transformer as Transformer
    from heed.options import Sampling as Sampling
    from heed.parser import Parse as Parse
    from heed.parsing.trees import Tree as Tree
    from heed.presets import preset as preset
    from heed.text.glossary import Glossary as Glossary
    from heed.text.tokenizer import Tokenizer as Tokenizer
    from heed.training.loop import resume as resume
    from heed.training.loop import train as train
    from heed.translation import Attention as Attention
    from heed.translation import Translation as Translation
    from heed.translator import Translator as Translator
    from heed.vocabulary import Vocabulary as Vocabulary

__version__ = "0.1.0"

_MODULE_OF = {
    "Attention": "heed.translation",
    "CheckpointError": "heed.errors",
    "Config": "heed.config",
    "ConfigError": "heed.errors",
    "DamageError": "heed.errors",
    "DataError": "heed.errors",
    "DecodeError": "heed.errors",
    "Glossary": "heed.text.glossary",
    "HeedError": "heed.errors",
    "Parse": "heed.parser",
    "Sampling": "heed.options",
    "Tokenizer": "heed.text.tokenizer",
    "TokenizerError": "heed.errors",
    "TrainingError": "heed.errors",
    "Transformer": "heed.model.transformer",
    "Translation": "heed.translation",
    "Tree": "heed.parsing.trees",
    "Translator": "heed.translator",
    "Vocabulary": "heed.vocabulary",
    "load": "heed.loading",
    "preset": "heed.presets",
    "resume": "heed.training.loop",
    "train": "heed.training.loop",
}

__all__ = [*sorted(_MODULE_OF), "__version__"]  # noqa: PLE0604


def __getattr__(name: str) -> Any:
    if name not in _MODULE_OF:
        raise AttributeError(f"module 'heed' has no attribute {name!r}")
    return getattr(import_module(_MODULE_OF[name]), name)


def __dir__() -> list[str]:
    return __all__
