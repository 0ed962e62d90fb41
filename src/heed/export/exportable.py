"""Which models other software can run."""

from heed.errors import ConfigError
from heed.model.interface import SequenceModel
from heed.model.transformer import Transformer, as_transformer


def as_exportable(model: SequenceModel, what: str) -> Transformer:
    """Return the model as a Transformer with one vocabulary, for other software (`what`).

    Raises:
        ConfigError: it is of another kind, or a parser, or its attention is restricted.
    """
    transformer = as_transformer(model, what)
    if not model.vocabulary.is_shared or type(transformer) is not Transformer:
        raise ConfigError(
            f"{what}: only for models that translate, with one vocabulary for both sides; this one parses"
        )
    if window := model.config.attention_window:
        raise ConfigError(
            f"{what} has no restricted self-attention, so model.attention_window = {window} cannot be exported; heed "
            "itself translates with this model: --engine torch"
        )
    return transformer
