"""The paper's model as loops over NumPy arrays, using nothing of heed but the weights."""

import math

import numpy as np


def softmax(x):
    e = np.exp(x - x.max())
    return e / e.sum()


def layer_norm(x, weight, bias):
    return np.stack([(row - row.mean()) / math.sqrt(row.var() + 1e-6) * weight + bias for row in x])


def attend(queries, attended, weights, name, h, allowed):
    """Compute multi-head attention of each query over the attended positions for which `allowed(query, key)`."""
    w_q, w_k, w_v, w_o = (weights[f"{name}.w_{letter}.weight"] for letter in "qkvo")
    d_k, d_v = w_q.shape[0] // h, w_v.shape[0] // h
    out, all_weights = [], np.zeros((h, len(queries), len(attended)))
    for i, x in enumerate(queries):
        heads = []
        for head in range(h):
            q = w_q[head * d_k : (head + 1) * d_k] @ x
            keys = [j for j in range(len(attended)) if allowed(i, j)]
            scores = [q @ (w_k[head * d_k : (head + 1) * d_k] @ attended[j]) / math.sqrt(d_k) for j in keys]
            probabilities = softmax(np.array(scores))
            all_weights[head, i, keys] = probabilities
            values = [w_v[head * d_v : (head + 1) * d_v] @ attended[j] for j in keys]
            heads.append(sum(p * v for p, v in zip(probabilities, values, strict=True)))
        out.append(w_o @ np.concatenate(heads))
    return np.stack(out), all_weights


def feed_forward(x, weights, name):
    w_1, b_1 = weights[f"{name}.w_1.weight"], weights[f"{name}.w_1.bias"]
    w_2, b_2 = weights[f"{name}.w_2.weight"], weights[f"{name}.w_2.bias"]
    return np.stack([w_2 @ np.maximum(w_1 @ row + b_1, 0) + b_2 for row in x])


def position(pos, d_model):
    out = np.zeros(d_model)
    for i in range(d_model // 2):
        angle = pos / 10000 ** (2 * i / d_model)
        out[2 * i], out[2 * i + 1] = math.sin(angle), math.cos(angle)
    return out


def embed(ids, weights, learned=None):
    matrix = weights["embedding.weight"]
    d_model = matrix.shape[1]
    rows = [np.zeros(d_model) if i == 0 else matrix[i] * math.sqrt(d_model) for i in ids]
    add = [position(p, d_model) if learned is None else learned[p] for p in range(len(ids))]
    return np.stack([row + extra for row, extra in zip(rows, add, strict=True)])


def nearest(i, n, r):
    """Return the r positions of a sentence that are nearest to position i, the earlier of two equally near ones."""
    return sorted(range(n), key=lambda j: (abs(i - j), j > i))[: r or n]


def transformer(source, target_in, weights, config):
    """Return the logits of one sentence pair for each target position, and the weights of all attentions."""

    def sublayer(x, name, function):
        norm = [weights[f"{name}_residual.norm.{what}"] for what in ("weight", "bias")]
        if config.norm == "post":
            return layer_norm(x + function(x), *norm)
        return x + function(layer_norm(x, *norm))

    captured = {"encoder": [], "decoder": [], "cross": []}

    def capture(kind, result):
        captured[kind].append(result[1])
        return result[0]

    def near(query, key):
        return key in nearest(query, len(source), config.attention_window)

    def recent(query, key):
        return key <= query and (not config.attention_window or query - key < config.attention_window)

    def learned(side):
        return weights[f"{side}_positions.weight"] if config.positions == "learned" else None

    x = embed(source, weights, learned("source"))
    for i in range(config.encoder_layers):
        at = f"encoder.{i}"
        name = f"{at}.self_attention"
        x = sublayer(
            x,
            name,
            lambda y, name=name: capture("encoder", attend(y, y, weights, name, config.h, near)),
        )
        x = sublayer(x, f"{at}.feed_forward", lambda y, at=at: feed_forward(y, weights, f"{at}.feed_forward"))
    if config.norm == "pre":
        x = layer_norm(x, weights["encoder_norm.weight"], weights["encoder_norm.bias"])

    encoded, y = x, embed(target_in, weights, learned("target"))
    for i in range(config.decoder_layers):
        at = f"decoder.{i}"
        name = f"{at}.self_attention"
        y = sublayer(
            y,
            name,
            lambda z, name=name: capture("decoder", attend(z, z, weights, name, config.h, recent)),
        )
        name = f"{at}.cross_attention"
        y = sublayer(
            y,
            name,
            lambda z, name=name: capture("cross", attend(z, encoded, weights, name, config.h, lambda query, key: True)),
        )
        y = sublayer(y, f"{at}.feed_forward", lambda z, at=at: feed_forward(z, weights, f"{at}.feed_forward"))
    if config.norm == "pre":
        y = layer_norm(y, weights["decoder_norm.weight"], weights["decoder_norm.bias"])
    return y @ weights["embedding.weight"].T, captured
