"""The recurrent and the convolutional model as loops over NumPy arrays, using nothing of heed but the weights."""

import math

import numpy as np

from tests.model.reference import softmax


def sigmoid(x):
    return 1 / (1 + np.exp(-x))


def embed(ids, matrix, scale=1.0):
    """Return a vector per token; padding, and so the start, is the zero vector."""
    return [np.zeros(matrix.shape[1]) if i == 0 else matrix[i] * scale for i in ids]


# --- recurrent ----------------------------------------------------------------------------------------------


def lstm(xs, weights, name):
    """Hochreiter and Schmidhuber's cell with a forget gate; gates are stored as i, f, g, o."""
    w, u, b = weights[f"{name}.rnn.weight_ih_l0"], weights[f"{name}.rnn.weight_hh_l0"], 0
    b = weights[f"{name}.rnn.bias_ih_l0"] + weights[f"{name}.rnn.bias_hh_l0"]
    h = c = np.zeros(u.shape[1])
    out = []
    for x in xs:
        i, f, g, o = np.split(w @ x + u @ h + b, 4)
        c = sigmoid(f) * c + sigmoid(i) * np.tanh(g)
        h = sigmoid(o) * np.tanh(c)
        out.append(h)
    return out


def gru(xs, weights, name):
    """Cho et al.'s unit, with the reset gate after the product; gates are stored as r, z, n."""
    w, u = weights[f"{name}.rnn.weight_ih_l0"], weights[f"{name}.rnn.weight_hh_l0"]
    b, c = weights[f"{name}.rnn.bias_ih_l0"], weights[f"{name}.rnn.bias_hh_l0"]
    h = np.zeros(u.shape[1])
    out = []
    for x in xs:
        (r, z, n), (hr, hz, hn) = np.split(w @ x + b, 3), np.split(u @ h + c, 3)
        keep = sigmoid(z + hz)
        h = (1 - keep) * np.tanh(n + sigmoid(r + hr) * hn) + keep * h
        out.append(h)
    return out


def recurrent(source, target_in, weights, config):
    """Return the logits of one sentence pair for each target position, and the attention weights."""
    cell, matrix = lstm if config.cell == "lstm" else gru, weights["embedding.weight"]
    scale = math.sqrt(config.d_model)
    xs = embed(source, matrix, scale)
    ahead = cell(xs, weights, "first_encoder.forwards")
    back = cell(xs[::-1], weights, "first_encoder.backwards")[::-1]
    xs = [np.concatenate(both) for both in zip(ahead, back, strict=True)]
    for layer in range(config.encoder_layers - 1):
        xs = [x + y for x, y in zip(xs, cell(xs, weights, f"encoder.{layer}"), strict=True)]
    ys = cell(embed(target_in, matrix, scale), weights, "first_decoder")
    attended = [softmax(np.array([weights["w_q.weight"] @ y @ x for x in xs])) for y in ys]
    contexts = [sum(p * x for p, x in zip(row, xs, strict=True)) for row in attended]
    for layer in range(config.decoder_layers - 1):
        read = [np.concatenate(both) for both in zip(ys, contexts, strict=True)]
        ys = [y + z for y, z in zip(ys, cell(read, weights, f"decoder.{layer}"), strict=True)]
    hidden = [np.tanh(weights["w_o.weight"] @ np.concatenate(both)) for both in zip(ys, contexts, strict=True)]
    return np.stack([matrix @ one for one in hidden]), np.stack(attended)


# --- convolutional ------------------------------------------------------------------------------------------


def gated(window, weights, name):
    both = weights[f"{name}.convolution.w.weight"] @ np.concatenate(window) + weights[f"{name}.convolution.w.bias"]
    values, gates = np.split(both, 2)
    return values * sigmoid(gates)


def at(xs, i):
    return xs[i] if 0 <= i < len(xs) else np.zeros_like(xs[0])


def with_positions(xs, weights, side):
    return [x + weights[f"{side}_positions.weight"][i] for i, x in enumerate(xs)]


def convolutional(source, target_in, weights, config):
    """Return the logits of one sentence pair for each target position, and the attention weights of each layer."""
    matrix, half, width = weights["embedding.weight"], math.sqrt(0.5), config.kernel_width
    apart = [[1, 2, 4, 8, 16][n % 5] if config.dilated else 1 for n in range(20)]
    embedded = with_positions(embed(source, matrix), weights, "source")
    xs = embedded
    for layer in range(config.encoder_layers):
        offsets = [apart[layer] * i for i in range(-(width // 2), width // 2 + 1)]
        windows = [[at(xs, s + offset) for offset in offsets] for s in range(len(xs))]
        xs = [(x + gated(window, weights, f"encoder.{layer}")) * half for x, window in zip(xs, windows, strict=True)]
    values = [(x + e) * half for x, e in zip(xs, embedded, strict=True)]
    asked = with_positions(embed(target_in, matrix), weights, "target")
    ys, all_weights = asked, []
    for layer in range(config.decoder_layers):
        offsets, name = [apart[layer] * i for i in range(1 - width, 1)], f"decoder.{layer}"
        new, attended = [], []
        for t, y in enumerate(ys):
            h = gated([at(ys, t + offset) for offset in offsets], weights, name)
            query = (weights[f"{name}.w_q.weight"] @ h + weights[f"{name}.w_q.bias"] + asked[t]) * half
            attended.append(softmax(np.array([query @ x for x in xs])))
            context = sum(p * v for p, v in zip(attended[-1], values, strict=True)) * math.sqrt(len(xs))
            h = (h + weights[f"{name}.w_o.weight"] @ context + weights[f"{name}.w_o.bias"]) * half
            new.append((y + h) * half)
        ys = new
        all_weights.append(np.stack(attended))
    hidden = [weights["w_o.weight"] @ y + weights["w_o.bias"] for y in ys]
    return np.stack([matrix @ one for one in hidden]), np.stack(all_weights)
