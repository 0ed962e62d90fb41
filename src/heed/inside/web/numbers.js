// The numbers of one forward pass at one layer and head of each stack.

import { Tensor } from "heed/data.js";

export const EPSILON = 1e-6; // of LayerNorm

// The numbers of one layer and head; what the file does not hold is worked out from what it does.
export class Walk {
  constructor(it, layer, head, isPre) {
    Object.assign(this, { it, layer, head, isPre });
    this.made = new Map();
  }

  once(name, make) {
    if (!this.made.has(name)) this.made.set(name, make());
    return this.made.get(name);
  }

  at(stack) {
    return `${stack}.${this.layer[stack]}`;
  }

  stored(stack, name) {
    return this.it.array(`walk.${this.at(stack)}.${name}`);
  }

  weights(stack, name) {
    return this.it.array(`weights.${this.at(stack)}.${name}`);
  }

  labels(stack) {
    if (stack === "encoder") return this.it.source.labels;
    return this.it.target.input_labels.map((text, t) => `${text} → ${this.it.target.labels[t]}`);
  }

  // What a sub-layer is added to.
  stream(stack, sublayer) {
    return this.once(`${stack}.${sublayer}.stream`, () => {
      if (sublayer === "self") return this.stored(stack, "x");
      const before = sublayer === "cross" || stack === "encoder" ? "self" : "cross";
      return this.after(stack, before);
    });
  }

  // What a sub-layer reads: the stream, or with pre-norm its norm.
  input(stack, sublayer) {
    return this.once(`${stack}.${sublayer}.input`, () => {
      const x = this.stream(stack, sublayer);
      return this.isPre ? normed(x, this.weights(stack, `${sublayer}.norm`)) : x;
    });
  }

  sum(stack, sublayer) {
    return this.once(`${stack}.${sublayer}.sum`, () =>
      plus(this.stream(stack, sublayer), this.stored(stack, `${sublayer}.out`)),
    );
  }

  // After add & norm; with pre-norm, after add.
  after(stack, sublayer) {
    return this.once(`${stack}.${sublayer}.after`, () => {
      const z = this.sum(stack, sublayer);
      return this.isPre ? z : normed(z, this.weights(stack, `${sublayer}.norm`));
    });
  }

  headOf(stack, sublayer, what) {
    return this.stored(stack, `${sublayer}.${what}`).sub(this.head[stack]);
  }

  attention(stack, sublayer) {
    const kind = sublayer === "cross" ? "cross" : stack;
    return this.it.array(`attention.${kind}`).sub(this.layer[stack], this.head[stack]);
  }

  // Whether position i may attend to position j.
  mayAttend(stack, sublayer) {
    const name = `walk.${stack}.${sublayer}.may_attend`;
    if (!this.it.has(name)) return () => true;
    const mask = this.it.array(name);
    return (i, j) => mask.at(i, j) === 1;
  }

  isHeadOff(stack, sublayer, head = this.head[stack]) {
    return this.it.isHeadOff(sublayer === "cross" ? "cross" : stack, this.layer[stack], head);
  }

  // The heads' results side by side, zeros for those that are switched off.
  concat(stack, sublayer) {
    return this.once(`${stack}.${sublayer}.concat`, () => {
      const all = this.contexts(stack, sublayer);
      const { h, d_v: size } = this.it.model;
      const off = Array.from({ length: h }, (_, k) => k).filter((k) => this.isHeadOff(stack, sublayer, k));
      if (!off.length) return all;
      const out = Float64Array.from(all.data);
      for (let i = 0; i < all.shape[0]; i++)
        for (const k of off) out.fill(0, (i * h + k) * size, (i * h + k + 1) * size);
      return new Tensor(out, all.shape);
    });
  }

  // Each head's weights · V, side by side.
  contexts(stack, sublayer) {
    return this.once(`${stack}.${sublayer}.contexts`, () => {
      const kind = sublayer === "cross" ? "cross" : stack;
      const weights = this.it.array(`attention.${kind}`).sub(this.layer[stack]);
      const values = this.stored(stack, `${sublayer}.v`);
      const [h, m, size] = values.shape;
      const n = weights.shape[1];
      const out = new Float64Array(n * h * size);
      for (let k = 0; k < h; k++)
        for (let i = 0; i < n; i++)
          for (let j = 0; j < m; j++) {
            const weight = weights.data[(k * n + i) * m + j];
            const [from, to] = [(k * m + j) * size, (i * h + k) * size];
            for (let c = 0; c < size; c++) out[to + c] += weight * values.data[from + c];
          }
      return new Tensor(out, [n, h * size]);
    });
  }
}

function plus(a, b) {
  const out = new Float64Array(a.data.length);
  for (let i = 0; i < out.length; i++) out[i] = a.data[i] + b.data[i];
  return new Tensor(out, a.shape);
}

function normed(x, parameters) {
  const [n, d] = x.shape;
  const out = new Float64Array(n * d);
  for (let i = 0; i < n; i++) {
    let mean = 0;
    let variance = 0;
    const row = x.sub(i).data;
    for (let j = 0; j < d; j++) mean += row[j] / d;
    for (let j = 0; j < d; j++) variance += (row[j] - mean) ** 2 / d;
    const deviation = Math.sqrt(variance + EPSILON);
    for (let j = 0; j < d; j++)
      out[i * d + j] = ((row[j] - mean) / deviation) * parameters.data[j] + parameters.data[d + j];
  }
  return new Tensor(out, [n, d]);
}
