"""Build the model that a config describes: the only place that knows every kind."""

from heed.config import ModelConfig
from heed.model.convolutional import Convolutional
from heed.model.follower import Follower
from heed.model.interface import SequenceModel
from heed.model.recurrent import Recurrent
from heed.model.transformer import Transformer
from heed.vocabulary import Vocabulary

KINDS: dict[str, type[SequenceModel]] = {
    "transformer": Transformer,
    "follower": Follower,
    "recurrent": Recurrent,
    "convolutional": Convolutional,
}


def model_class(config: ModelConfig) -> type[SequenceModel]:
    """Return the class of the models that a config describes; its static methods compute their size."""
    return KINDS[config.kind]


def build_model(config: ModelConfig, vocabulary: Vocabulary) -> SequenceModel:
    """Return a model with random weights, drawn by PyTorch's generator."""
    return model_class(config)(config, vocabulary)
