"""The structures that the C code of encoder and decoder reads (`sublayers.h`, `encoder.c`, `decoder.c`)."""

import ctypes

POINTER, _NUMBER = ctypes.c_void_p, ctypes.c_long


class Int8Pointers(ctypes.Structure):
    """The codes and scales of a matrix in 8 bits."""

    _fields_ = [("codes", POINTER), ("scales", POINTER)]


class WeightPointers(ctypes.Structure):
    """A matrix in float32, in bfloat16 or in 8 bits."""

    _fields_ = [("float32", POINTER), ("bf16", POINTER), ("int8", Int8Pointers)]


class NormPointers(ctypes.Structure):
    """The gain and bias of a norm."""

    _fields_ = [("gain", POINTER), ("bias", POINTER)]


class FeedForwardPointers(ctypes.Structure):
    """The weights of a feed-forward network."""

    _fields_ = [("w_1", WeightPointers), ("w_2", WeightPointers), ("b_1", POINTER), ("b_2", POINTER)]


class Stack(ctypes.Structure):
    """What the layers of a stack share."""

    _fields_ = [
        ("sgemm", POINTER),
        *((name, _NUMBER) for name in ("n_layers", "d_model", "d_ff", "h", "d_k", "d_v", "is_post_norm")),
        ("epsilon", ctypes.c_float),
        ("last_norm", NormPointers),
    ]


class EncoderLayer(ctypes.Structure):
    """The weights of a layer of the encoder."""

    _fields_ = [
        *((name, WeightPointers) for name in ("self_qkv", "self_out")),
        ("feed_forward", FeedForwardPointers),
        *((name, NormPointers) for name in ("self_norm", "feed_forward_norm")),
    ]


class Encoder(ctypes.Structure):
    """The encoder, and the keys and values of each decoder layer."""

    _fields_ = [("stack", Stack), ("layers", POINTER), ("cross_kv", POINTER), ("n_cross", _NUMBER)]


class DecoderLayer(ctypes.Structure):
    """The weights of a layer of the decoder."""

    _fields_ = [
        *((name, WeightPointers) for name in ("self_qkv", "self_out", "cross_q", "cross_out")),
        ("feed_forward", FeedForwardPointers),
        *((name, NormPointers) for name in ("self_norm", "cross_norm", "feed_forward_norm")),
    ]


class Decoder(ctypes.Structure):
    """The decoder and the projection before the softmax."""

    _fields_ = [("stack", Stack), ("layers", POINTER), ("logits", WeightPointers), ("vocab_size", _NUMBER)]


class Mask(ctypes.Structure):
    """Which slots each query sees; without values, all."""

    _fields_ = [("values", POINTER), ("sentence_stride", _NUMBER), ("query_stride", _NUMBER)]
