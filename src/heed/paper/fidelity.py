"""The decisions of the paper: the line that makes each, the test that holds it, and who decides otherwise.

Lines are found when the table is made, by a piece of their text, so they cannot be out of date. What is said of other
software was read in its source: tensor2tensor's `transformer_base` (version 3, its current meaning), fairseq,
OpenNMT-py 3, PyTorch 2's `nn.Transformer`, and the Annotated Transformer of 2022. They may have changed since.
"""

from dataclasses import dataclass
from pathlib import Path

import heed
from heed.paper.report import Part, Table


@dataclass(frozen=True)
class Decision:
    """One decision of the paper."""

    section: str
    what: str
    file: str  # below src/heed
    marker: str  # text of the line that makes the decision
    test: str  # below tests, as pytest names it
    otherwise: str = ""  # who decides differently, and how


DECISIONS = (
    Decision(
        "3.1",
        "LayerNorm(x + Dropout(Sublayer(x)))",
        "model/layers.py",
        "return dropout_add_norm(",
        "model/test_transformer.py::test_equals_the_loop_written_version",
        "tensor2tensor's transformer_base, OpenNMT-py and the Annotated Transformer normalise before the sub-layer "
        "(pre-norm), and once more after the stack.",
    ),
    Decision(
        "3.1",
        "no further norm after a stack",
        "model/transformer.py",
        "self.encoder_norm = nn.LayerNorm(",
        "model/test_transformer.py::test_parameter_names_are_the_contract_of_saved_models",
        "PyTorch's nn.Transformer adds a LayerNorm after each stack, post-norm or not.",
    ),
    Decision(
        "3.1",
        "LayerNorm with epsilon 1e-6",
        "model/layers.py",
        "nn.LayerNorm(d_model, eps=1e-6)",
        "model/test_transformer.py::test_published_initialisation",
        "nn.Transformer: 1e-5. The Annotated Transformer adds it to the standard deviation, not to the variance.",
    ),
    Decision(
        "3.2.1",
        "scores divided by sqrt(d_k)",
        "model/attention.py",
        "/ math.sqrt(q_BHLK.size(-1))",
        "laws/test_model_laws.py::test_fused_equals_explicit_attention",
    ),
    Decision(
        "3.2.3",
        "a mask sets scores to minus infinity",
        "model/attention.py",
        "masked_fill(~may_attend",
        "laws/test_model_laws.py::test_weights_are_distributions_over_the_visible_positions",
        "The Annotated Transformer: -1e9, which gives a row without any visible position equal weights.",
    ),
    Decision(
        "3.2.2",
        "projections without biases",
        "model/attention.py",
        "self.w_q = nn.Linear(",
        "model/test_transformer.py::test_parameter_names_are_the_contract_of_saved_models",
        "nn.Transformer and the Annotated Transformer have biases there.",
    ),
    Decision(
        "3.2.2",
        "d_k and d_v are two numbers: Table 3 (B)",
        "config.py",
        "d_v: int | None = None",
        "test_config.py::test_key_and_value_sizes_are_separate",
        'The Annotated Transformer: "We assume d_v always equals d_k". nn.Transformer has no setting for either.',
    ),
    Decision(
        "3.3",
        "max(0, x W1 + b1) W2 + b2, with biases",
        "model/feedforward.py",
        "self.w_2(linear_relu(",
        "model/test_transformer.py::test_equals_the_loop_written_version",
    ),
    Decision(
        "3.4",
        "one matrix for embeddings and softmax",
        "model/embedding.py",
        "return F.linear(x_BLD, self.weight)",
        "model/test_transformer.py::test_parameter_names_are_the_contract_of_saved_models",
        "The Annotated Transformer's make_model builds three. Its softmax layer has a bias; ours has none.",
    ),
    Decision(
        "3.4",
        "embeddings times sqrt(d_model)",
        "model/embedding.py",
        "* self.scale",
        "model/test_transformer.py::test_padding_embeds_to_the_zero_vector_and_others_are_scaled",
    ),
    Decision(
        "3.5",
        "sin and cos interleaved, 10000^(2i/d)",
        "model/positions.py",
        "angle_LD = position_L1 / 10000",
        "model/test_transformer.py::test_equals_the_loop_written_version",
        "tensor2tensor (the authors' own code) and fairseq put all sines before all cosines, and space the wavelengths "
        "by d/2 - 1 instead of d/2. Harmless.",
    ),
    Decision(
        "code",
        "decoding starts from the zero vector",
        "model/embedding.py",
        "masked_fill(ids_BL.eq(self.pad)",
        "model/test_transformer.py::test_padding_embeds_to_the_zero_vector_and_others_are_scaled",
        "Not in the paper, but in the authors' code. The Annotated Transformer has a start symbol with an embedding.",
    ),
    Decision(
        "code",
        "Glorot uniform; q, k, v as one matrix",
        "model/attention.py",
        "bound = math.sqrt(6 /",
        "model/test_transformer.py::test_published_initialisation",
        "Not in the paper, but in the authors' code. The Annotated Transformer initialises each matrix by itself, and "
        "embeddings the same way; ours are N(0, 1/d_model), as the authors' are.",
    ),
    Decision(
        "5.1",
        "batches by length, 25,000 tokens each",
        "data/batching.py",
        "def cut_by_budget(",
        "data/test_batching.py::test_sentences_of_a_batch_have_similar_lengths",
    ),
    Decision(
        "5.3",
        "Adam: 0.9, 0.98, 1e-9",
        "config.py",
        "adam_beta2: float = 0.98",
        "laws/test_training_laws.py::test_one_update_is_adams",
        "tensor2tensor's transformer_base: beta2 = 0.997.",
    ),
    Decision(
        "5.3",
        "equation (3), warm-up of 4,000 steps",
        "training/schedule.py",
        "min(step**-0.5, step * warmup_steps**-1.5))",
        "training/test_schedule.py::test_published_values",
        "tensor2tensor's transformer_base: 8,000 steps, and twice the rate.",
    ),
    Decision(
        "5.4",
        "dropout: sub-layers and embeddings only",
        "model/transformer.py",
        "x = self.dropout(x, seeds)",
        "model/test_transformer.py::test_dropout_is_in_the_published_places_only",
        "tensor2tensor's transformer_base, nn.Transformer and the Annotated Transformer also drop attention weights "
        "and the ReLU's output.",
    ),
    Decision(
        "5.4",
        "label smoothing: epsilon / (V - 1) each",
        "training/loss.py",
        "other = epsilon / (vocab_size - 1)",
        "training/test_loss.py::test_loss_is_the_papers",
        "PyTorch's CrossEntropyLoss, and fairseq until version 0.10: epsilon / V, the gold token included. The "
        "Annotated Transformer: epsilon / (V - 2), with none for padding.",
    ),
    Decision(
        "5.4",
        "perplexity without smoothing, per piece",
        "training/validate.py",
        "return math.exp(mean)",
        "laws/test_training_laws.py::test_validation_perplexity_is_forced_decoding",
    ),
    Decision(
        "6.1",
        "length penalty ((5 + n) / 6)^0.6",
        "decode/penalty.py",
        "((5 + length) / 6) ** alpha",
        "decode/test_search.py::test_length_penalty_is_the_papers",
        "fairseq divides by n^penalty, with a default of 1.",
    ),
    Decision(
        "6.1",
        "at most 50 tokens more than the input",
        "engines/searching.py",
        "limit = n_source + self.decode.extra_length",
        "test_translator.py::test_a_translation_is_at_most_so_many_tokens_longer_than_its_text",
    ),
    Decision(
        "6.1",
        "average of the last 5 or 20 checkpoints",
        "checkpoint.py",
        "def average(",
        "test_checkpoint.py::test_the_average_is_the_one_a_loop_finds",
    ),
    Decision(
        "6.1",
        "BLEU: tokenised, compounds split",
        "evaluate/paper_bleu.py",
        "_HYPHEN_IN_WORD.sub(",
        "evaluate/test_paper_bleu.py::test_counts_are_those_of_the_perl_scripts",
        "sacreBLEU tokenises by itself and splits no compounds. The same German text scores lower (docs/evaluate.md).",
    ),
)


def line_of(decision: Decision) -> int:
    """Return the number of the line that makes a decision.

    Raises:
        LookupError: no line has the marker.
    """
    path = Path(heed.__file__).parent / decision.file
    for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
        if decision.marker in line:
            return number
    raise LookupError(f'{path}: no line with "{decision.marker}"; correct the marker in paper/fidelity.py')


def part() -> Part:
    """Return the table of decisions."""
    found = [(decision, f"{decision.file}:{line_of(decision)}") for decision in DECISIONS]
    decided = Table(
        ("no.", "part", "decision", "in src/heed"),
        tuple((f"{n}.", one.section, one.what, place) for n, (one, place) in enumerate(found, 1)),
        "What the paper decides, and the line that does so",
    )
    held = Table(
        ("no.", "pytest -k NAME"),
        tuple((f"{n}.", one.test.partition("::")[2]) for n, (one, _) in enumerate(found, 1)),
        "The test that holds it",
    )
    others = tuple(
        f"{n}. {one.what}. Otherwise: {one.otherwise}" for n, one in enumerate(DECISIONS, 1) if one.otherwise
    )
    read = (
        "What others do was read in their source: tensor2tensor (transformer_base, version 3), fairseq, OpenNMT-py 3, "
        "PyTorch 2 and the Annotated Transformer (2022). Where heed itself departs: docs/paper.md."
    )
    values = {
        "decisions": [
            {**vars(one), "marker": None, "line": int(place.rpartition(":")[2]), "number": n}
            for n, (one, place) in enumerate(found, 1)
        ]
    }
    return Part("fidelity", "Fidelity: decision by decision", (decided, held), (*others, read), values=values)
