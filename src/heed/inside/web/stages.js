// The steps of one forward pass, in order: what each is given, what it makes, and where every number came from.

import { Tensor, shown } from "heed/data.js";
import { word } from "heed/dom.js";
import { Matrix } from "heed/matrix.js";
import { ROLE_WORDS, number } from "heed/parts.js";
import { addition, dot, normSum, sentence, softmaxSum } from "heed/sums.js";

const EPSILON = 1e-6; // of LayerNorm
const four = (value) => number(value, 4);

// All stages for one layer and head of each stack. A stage has id, group, title, equation, section, text, and make(),
// which returns {matrices, result, explain(i, j)}; explain returns {uses: [light of each matrix], sum: nodes}.
export function stages(it, layer, head) {
  const found = [];
  const isPre = it.model.norm === "pre";
  const walk = new Walk(it, layer, head, isPre);
  const add = (id, group, title, section, equation, text, make) =>
    found.push({ id, group, title, section, equation, text, make });
  for (const stack of ["encoder", "decoder"]) {
    beginning(walk, stack, add);
    attention(walk, stack, "self", add);
    if (stack === "decoder") attention(walk, stack, "cross", add);
    feedForward(walk, stack, add);
    if (stack === "encoder") bridge(walk, add);
  }
  ending(walk, add);
  return found;
}

// The numbers of one layer and head; what the file does not hold is worked out from what it does.
class Walk {
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

  concat(stack, sublayer) {
    return this.once(`${stack}.${sublayer}.concat`, () => {
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

// What a head does in general, as far as it was measured.
function habit(it, kind, layer, head) {
  const role = it.role(kind, layer - 1, head - 1);
  const often =
    role === "mixed" ? "follows none of the simple rules that were measured" : `looks mostly at ${ROLE_WORDS[role]}`;
  const measured = role ? `Measured on ${it.roles.pairs} pairs of text, this head ${often}. ` : "";
  return `${measured}Choose another layer or head above; the attention view shows all of them at once.`;
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

function matrix(name, rows, { data, shape }, more) {
  const m = shape[1];
  return new Matrix(name, rows, m, (i, j) => data[i * m + j], more);
}

// Columns of a weight matrix that the file holds, as a matrix whose column j makes number j.
function columnsOf(name, stored) {
  const [m, n] = stored.shape;
  const rows = Array.from({ length: n }, (_, i) => (i % 16 === 0 || i === n - 1 ? `${i + 1}` : ""));
  return new Matrix(name, rows, m, (i, j) => stored.data[j * n + i]);
}

const STACK = { encoder: "Encoder", decoder: "Decoder" };

// --- text to vectors ---------------------------------------------------------------------------------------------

function beginning(walk, stack, add) {
  const { it } = walk;
  const d = it.model.d_model;
  const labels = stack === "encoder" ? it.source.labels : it.target.input_labels;
  const ids = stack === "encoder" ? it.source.ids : [0, ...it.target.ids.slice(0, -1)];
  const group = `${STACK[stack]}: text to vectors`;
  const matrixName = stack === "encoder" && it.has("source_embedding.ids") ? "source_embedding" : "embedding";
  const rows = it.array(`${matrixName}.ids`);
  const table = it.array(`${matrixName}.rows`);
  const place = new Map(Array.from(rows.data, (id, i) => [id, i]));
  const sharing = it.has("source_embedding.ids")
    ? "Source and target have a matrix each; that of the target serves the softmax, too."
    : "The same matrix serves source, target and, at the very end, the softmax.";
  const nextWord = stack === "decoder" && it.has("walk.decoder.next_word") ? it.array("walk.decoder.next_word") : null;
  const embedding = (i, j) => (ids[i] === 0 ? 0 : table.at(place.get(ids[i]), j));
  const scale = Math.sqrt(d);
  const positions = it.array(`walk.${stack}.positions`);

  add(
    `${stack}.pieces`,
    group,
    stack === "encoder" ? "text → pieces → ids" : "the decoder's input: the translation, shifted right",
    stack === "encoder" ? "§5.1" : "§3.1",
    stack === "encoder" ? "text → pieces → ids" : "input at position t = the piece written at t − 1",
    stack === "encoder"
      ? "The text is cut into pieces of one vocabulary, shared by both languages; each has a number. An end token closes it."
      : "The decoder predicts the piece at each position from the pieces before it. So it reads the translation shifted right by one: at the start a vector of zeros (<s>), then every piece but the last.",
    () => ({
      list: labels.map((text, i) => ({
        piece: text,
        id: ids[i],
        from: stack === "encoder" ? it.source.text.slice(...it.source.offsets[i]) : null,
        writes: stack === "encoder" ? null : it.target.labels[i],
      })),
    }),
  );
  add(
    `${stack}.embedding`,
    group,
    "embedding × √d_model",
    "§3.4",
    "x = E[id] · √d_model",
    `Every piece has a row of ${d} learnt numbers in the embedding matrix E; it is multiplied by √${d} = ${four(scale)}. ${sharing}`,
    () => ({
      matrices: [
        new Matrix("E[id]", labels, d, embedding),
        new Matrix("x", labels, d, (i, j) => embedding(i, j) * scale),
      ],
      result: 1,
      explain: (i, j) => ({
        uses: [{ cell: [i, j] }],
        sum: [
          sentence(
            `x[${i + 1}, ${j + 1}] = E[${ids[i]}, ${j + 1}] × √${d} = ${four(embedding(i, j))} × ${four(scale)} = ${four(embedding(i, j) * scale)}`,
          ),
        ],
      }),
    }),
  );
  add(
    `${stack}.positions`,
    group,
    "+ positional encoding",
    "§3.5",
    it.model.positions === "sinusoidal"
      ? "PE(pos, 2i) = sin(pos / 10000^(2i/d)),  PE(pos, 2i+1) = cos(pos / 10000^(2i/d))"
      : "a learnt vector for each position",
    "Attention does not know the order of words: it sees a set. So a vector that depends on the position alone is added. Each pair of columns is a wave, short on the left, long on the right.",
    () => ({
      matrices: [
        new Matrix("E[id] · √d", labels, d, (i, j) => embedding(i, j) * scale, { from: `${stack}.embedding` }),
        matrix("PE", labels, positions),
        new Matrix("x + PE", labels, d, (i, j) => embedding(i, j) * scale + positions.at(i, j)),
      ],
      result: 2,
      explain: (i, j) => {
        const angle = i / 10000 ** ((j - (j % 2)) / d);
        const wave = j % 2 ? "cos" : "sin";
        const how =
          it.model.positions === "sinusoidal"
            ? `PE[${i + 1}, ${j + 1}] = ${wave}(${i} / 10000^(${j - (j % 2)}/${d})) = ${wave}(${four(angle)}) = ${four(positions.at(i, j))}; positions count from 0`
            : `PE[${i + 1}, ${j + 1}] = ${four(positions.at(i, j))}, learnt`;
        const sum = addition(`x[${i + 1}, ${j + 1}]`, [embedding(i, j) * scale, positions.at(i, j)]);
        return { uses: [{ cell: [i, j] }, { cell: [i, j] }], sum: [sentence(how), ...sum] };
      },
    }),
  );
  if (nextWord) {
    const before = (i, j) => embedding(i, j) * scale + positions.at(i, j);
    add(
      `${stack}.next_word`,
      group,
      "+ the next source word",
      "",
      "x = E[id] · √d_model + PE + W · encoder output of the next word",
      "How many words the output has so far says which source word is next. The encoder's vector of that word, times a learnt matrix, is added, so the decoder need not find it by attention.",
      () => ({
        matrices: [
          new Matrix("x + PE", labels, d, before, { from: `${stack}.positions` }),
          matrix("next word", labels, nextWord),
          new Matrix("x", labels, d, (i, j) => before(i, j) + nextWord.at(i, j)),
        ],
        result: 2,
        explain: (i, j) => ({
          uses: [{ cell: [i, j] }, { cell: [i, j] }],
          sum: addition(`x[${i + 1}, ${j + 1}]`, [before(i, j), nextWord.at(i, j)]),
        }),
      }),
    );
  }
}

// --- attention -----------------------------------------------------------------------------------------------------

function attention(walk, stack, sublayer, add) {
  const { it, isPre } = walk;
  const { d_k: dk, d_v: dv, h, d_model: d } = it.model;
  const isCross = sublayer === "cross";
  const isMasked = stack === "decoder" && !isCross;
  const own = walk.labels(stack);
  const others = isCross ? it.source.labels : own;
  const keys = isMasked ? it.target.input_labels : others;
  const layer = walk.layer[stack] + 1;
  const head = walk.head[stack] + 1;
  const name = isCross ? "attention to the encoder" : isMasked ? "masked self-attention" : "self-attention";
  const group = `${STACK[stack]} layer ${layer}, ${name}`;
  const id = `${stack}.${sublayer}`;
  const x = () => walk.input(stack, sublayer);
  const inputName = isPre ? "LayerNorm(x)" : "x";
  const inputFrom = isPre ? `${id}.norm` : null;

  if (isPre) norm(walk, stack, sublayer, group, add);
  const projection = (what, title, text) =>
    add(
      `${id}.${what}`,
      group,
      title,
      "§3.2.2",
      `${what.toUpperCase()} = ${isCross && what !== "q" ? "encoder output" : "x"} · W_${what.toUpperCase()}`,
      text,
      () => {
        const isOther = isCross && what !== "q";
        const from = isOther ? it.array("walk.encoder.out") : x();
        const rows = isOther ? it.source.labels : own;
        const made = walk.headOf(stack, sublayer, what);
        const stored = walk.weights(stack, `${sublayer}.w_${what}`).sub(walk.head[stack]);
        const n = stored.shape[0];
        const left = matrix(isOther ? "encoder output" : inputName, rows, from, {
          from: isOther ? "encoder.out" : inputFrom,
        });
        return {
          matrices: [
            left,
            n ? columnsOf(`W_${what.toUpperCase()}`, stored) : null,
            matrix(what.toUpperCase(), rows, made),
          ],
          result: 2,
          explain: (i, j) => {
            if (j >= n) return { uses: [{ row: i }], sum: [missing(what.toUpperCase(), i, j, made.at(i, j), n)] };
            const sum = dot(`${what.toUpperCase()}[${i + 1}, ${j + 1}]`, left.row(i), stored.sub(j).data, {
              model: made.at(i, j),
            });
            return { uses: [{ row: i }, { column: j }], sum };
          },
        };
      },
    );
  projection(
    "q",
    "queries",
    `What each position looks for: its vector times a matrix of its own for head ${head}, ${d} numbers in, ${dk} out.` +
      (isCross ? " The queries come from the decoder." : ""),
  );
  projection(
    "k",
    "keys",
    (isCross
      ? "The keys come from the encoder's output – this is where it enters the decoder, separately in every layer. "
      : "") + `What each position offers to be found by: ${dk} numbers for head ${head}.`,
  );
  projection(
    "v",
    "values",
    (isCross ? "The values, too, come from the encoder's output. " : "") +
      `What each position hands on if it is attended to: ${dv} numbers for head ${head}.`,
  );

  const q = () => walk.headOf(stack, sublayer, "q");
  const k = () => walk.headOf(stack, sublayer, "k");
  const root = Math.sqrt(dk);
  const scores = () =>
    walk.once(`${id}.scores`, () => {
      const [a, b] = [q().data, k().data];
      const out = new Float64Array(own.length * keys.length);
      for (let i = 0, at = 0; i < own.length; i++)
        for (let j = 0; j < keys.length; j++, at++)
          for (let c = 0; c < dk; c++) out[at] += a[i * dk + c] * b[j * dk + c];
      return new Tensor(out, [own.length, keys.length]);
    });
  const scaled = (i, j) => scores().at(i, j) / root;
  const masked = (i, j) => (isMasked && j > i ? -Infinity : scaled(i, j));
  const square = (title, get, more = {}) => new Matrix(title, own, keys.length, get, { columns: keys, ...more });

  add(
    `${id}.scores`,
    group,
    "scores: Q Kᵀ",
    "§3.2.1, equation (1)",
    "score[i, j] = q_i · k_j",
    "How well the query of one position matches the key of another: their dot product. It is high where both have large numbers of the same sign.",
    () => ({
      matrices: [
        matrix("Q", own, q(), { from: `${id}.q` }),
        matrix("K", keys, k(), { from: `${id}.k` }),
        square("Q Kᵀ", (i, j) => scores().at(i, j)),
      ],
      result: 2,
      explain: (i, j) => ({
        uses: [{ row: i }, { row: j }],
        sum: dot(`score[${i + 1}, ${j + 1}] = q[${i + 1}] · k[${j + 1}]`, q().sub(i).data, k().sub(j).data),
      }),
    }),
  );
  add(
    `${id}.scaled`,
    group,
    "÷ √d_k",
    "§3.2.1",
    "Q Kᵀ / √d_k",
    `Sums of ${dk} products grow large, and a softmax of large scores saturates: one weight near 1, gradients near 0. So they are divided by √${dk} = ${four(root)}.`,
    () => ({
      matrices: [square("Q Kᵀ", (i, j) => scores().at(i, j), { from: `${id}.scores` }), square("Q Kᵀ / √d_k", scaled)],
      result: 1,
      explain: (i, j) => ({
        uses: [{ cell: [i, j] }],
        sum: [
          sentence(
            `${four(scores().at(i, j))} / √${dk} = ${four(scores().at(i, j))} / ${four(root)} = ${four(scaled(i, j))}`,
          ),
        ],
      }),
    }),
  );
  add(
    `${id}.masked`,
    group,
    "mask",
    "§3.2.3",
    isMasked ? "score[i, j] = −∞ for every j > i" : "nothing is masked",
    isMasked
      ? "Why the mask? In training, all positions are computed at once, and the decoder's input contains the answer, one position to the right. Without the mask each position would read the very word it must predict. When translating, later words do not exist yet. So the score of every later position is −∞ (grey), and its weight exactly 0."
      : "Every position may attend to every other: this is one sentence without padding. In a batch, the padding behind short sentences is masked; in the decoder's self-attention, what comes later is.",
    () => ({
      matrices: [square("Q Kᵀ / √d_k", scaled, { from: `${id}.scaled` }), square("masked", masked)],
      result: 1,
      explain: (i, j) => ({
        uses: [{ cell: [i, j] }],
        sum: [
          sentence(
            isMasked && j > i
              ? `column ${j + 1} is later than row ${i + 1}: −∞`
              : `column ${j + 1} ${isMasked ? "is not later than row " + (i + 1) + ", so it" : ""} stays: ${four(scaled(i, j))}`,
          ),
        ],
      }),
    }),
  );
  add(
    `${id}.softmax`,
    group,
    "softmax",
    "§3.2.1",
    "weight[i, j] = exp(score[i, j]) / Σ_k exp(score[i, k])",
    `What is head ${head} looking at? Each row is a position, each column one that it may look at; the stronger its colour, the more is taken from there. The exponential makes every score positive, the division makes each row sum to 1. ${habit(it, isCross ? "cross" : stack, layer, head)}`,
    () => {
      const weights = walk.attention(stack, sublayer);
      return {
        matrices: [
          square("scores", masked, { from: `${id}.masked` }),
          square("weights", (i, j) => weights.at(i, j), { isWeight: true }),
        ],
        result: 1,
        note: (i) => {
          const most = keys.map((text, j) => [weights.at(i, j), text]).sort((a, b) => b[0] - a[0]);
          const seen = most.slice(0, 3).filter(([weight]) => weight >= 0.005);
          const parts = seen.flatMap(([weight, text], k) => [k ? ", “" : "“", word(text), `” ${weight.toFixed(2)}`]);
          return ["“", word(own[i]), "” looks at ", ...parts];
        },
        explain: (i, j) => ({
          uses: [{ row: i }],
          sum: softmaxSum(
            `weight[${i + 1}, ${j + 1}]`,
            keys.map((_, c) => masked(i, c)),
            j,
            keys,
            weights.at(i, j),
          ),
        }),
      };
    },
  );
  add(
    `${id}.context`,
    group,
    "× V",
    "§3.2.1",
    "head = weights · V",
    "What a position receives: the sum of all positions' values, each times its weight.",
    () => {
      const weights = walk.attention(stack, sublayer);
      const v = walk.headOf(stack, sublayer, "v");
      const all = walk.concat(stack, sublayer);
      const begin = walk.head[stack] * dv;
      return {
        matrices: [
          square("weights", (i, j) => weights.at(i, j), { isWeight: true, from: `${id}.softmax` }),
          matrix("V", keys, v, { from: `${id}.v` }),
          new Matrix(`head ${head}`, own, dv, (i, j) => all.at(i, begin + j)),
        ],
        result: 2,
        explain: (i, j) => ({
          uses: [{ row: i }, { column: j }],
          sum: dot(
            `head[${i + 1}, ${j + 1}]`,
            weights.sub(i).data,
            keys.map((_, c) => v.at(c, j)),
          ),
        }),
      };
    },
  );
  add(
    `${id}.concat`,
    group,
    "concatenation",
    "§3.2.2",
    "Concat(head_1, …, head_h)",
    `The ${h} heads' results side by side: ${h} × ${dv} = ${h * dv} numbers for each position.`,
    () => {
      const all = walk.concat(stack, sublayer);
      const values = walk.stored(stack, `${sublayer}.v`);
      const weights = it.array(`attention.${isCross ? "cross" : stack}`).sub(walk.layer[stack]);
      return {
        matrices: [matrix("Concat", own, all)],
        result: 0,
        explain: (i, j) => {
          const [k, c] = [Math.floor(j / dv), j % dv];
          const column = keys.map((_, other) => values.at(k, other, c));
          const sum = dot(`head ${k + 1}[${i + 1}, ${c + 1}] = its weights · V`, weights.sub(k, i).data, column);
          return { uses: [], sum: [sentence(`column ${j + 1} is number ${c + 1} of head ${k + 1}`), ...sum] };
        },
      };
    },
  );
  add(
    `${id}.out`,
    group,
    "× W_O",
    "§3.2.2",
    "MultiHead = Concat · W_O",
    `One more matrix mixes the heads and brings the ${h * dv} numbers back to ${d}.`,
    () =>
      product(
        walk,
        stack,
        `${sublayer}.out`,
        matrix("Concat", own, walk.concat(stack, sublayer), { from: `${id}.concat` }),
        walk.weights(stack, `${sublayer}.w_o`),
        "W_O",
        "out",
      ),
  );
  residual(walk, stack, sublayer, group, own, add);
}

function missing(name, i, j, value, n) {
  return sentence(
    `${name}[${i + 1}, ${j + 1}] = ${four(value)}, the model's own. `,
    n
      ? `Of this matrix the file holds columns 1 to ${n}, to stay small; point at one of those to see the sum, `
      : "This file is too small to hold the weights for the sum; ",
    "or write a larger file: heed inspect --limit-mb 500.",
  );
}

// x · W + b, with the columns of W that the file holds.
function product(walk, stack, name, left, stored, weightName, resultName, bias) {
  const made = walk.stored(stack, name);
  const n = stored.shape[0];
  return {
    matrices: [left, n ? columnsOf(weightName, stored) : null, matrix(resultName, left.rows, made)],
    result: 2,
    explain: (i, j) => {
      if (j >= n) return { uses: [{ row: i }], sum: [missing(resultName, i, j, made.at(i, j), n)] };
      const sum = dot(`${resultName}[${i + 1}, ${j + 1}]`, left.row(i), stored.sub(j).data, {
        bias: bias ? bias.at(j) : 0,
        biasName: bias ? "b" : "",
        model: made.at(i, j),
      });
      return { uses: [{ row: i }, { column: j }], sum };
    },
  };
}

// --- add & norm ----------------------------------------------------------------------------------------------------

function norm(walk, stack, sublayer, group, add) {
  add(
    `${stack}.${sublayer}.norm`,
    group,
    "layer norm (before the sub-layer)",
    "§5.4; this model is pre-norm",
    "LayerNorm(x)",
    "The paper puts the norm after each sub-layer. This model has it before: x bypasses the sub-layer unchanged, and the sub-layer reads x normalised to mean 0 and variance 1, scaled by a learnt γ and shifted by a learnt β.",
    () => {
      const x = walk.stream(stack, sublayer);
      const parameters = walk.weights(stack, `${sublayer}.norm`);
      const y = walk.input(stack, sublayer);
      return {
        matrices: [matrix("x", walk.labels(stack), x), matrix("LayerNorm(x)", walk.labels(stack), y)],
        result: 1,
        explain: (i, j) => ({
          uses: [{ row: i }],
          sum: normSum(
            `y[${i + 1}, ${j + 1}]`,
            Array.from(x.sub(i).data),
            j,
            parameters.at(0, j),
            parameters.at(1, j),
            EPSILON,
          ),
        }),
      };
    },
  );
}

function residual(walk, stack, sublayer, group, rows, add) {
  const { isPre } = walk;
  add(
    `${stack}.${sublayer}.residual`,
    group,
    isPre ? "add" : "add & norm",
    "§3.1",
    isPre ? "x + Sublayer(LayerNorm(x))" : "LayerNorm(x + Sublayer(x))",
    isPre
      ? "The sub-layer's output is added to x, which bypassed it (the residual connection)."
      : "The sub-layer's output is added to its input (the residual connection); then each position's numbers are normalised to mean 0 and variance 1, scaled by a learnt γ and shifted by a learnt β.",
    () => {
      const x = walk.stream(stack, sublayer);
      const out = walk.stored(stack, `${sublayer}.out`);
      const z = walk.sum(stack, sublayer);
      const y = walk.after(stack, sublayer);
      return {
        matrices: [
          matrix("x", rows, x),
          matrix("Sublayer(x)", rows, out, { from: `${stack}.${sublayer}.out` }),
          matrix(isPre ? "x + Sublayer" : "LayerNorm(x + Sublayer(x))", rows, y),
        ],
        result: 2,
        explain: (i, j) => {
          const sum = addition(`z[${i + 1}, ${j + 1}]`, [x.at(i, j), out.at(i, j)]);
          if (isPre) return { uses: [{ cell: [i, j] }, { cell: [i, j] }], sum };
          const parameters = walk.weights(stack, `${sublayer}.norm`);
          const more = normSum(
            `y[${i + 1}, ${j + 1}]`,
            Array.from(z.sub(i).data),
            j,
            parameters.at(0, j),
            parameters.at(1, j),
            EPSILON,
          );
          return { uses: [{ row: i }, { row: i }], sum: [...sum, ...more] };
        },
      };
    },
  );
}

// --- feed-forward ----------------------------------------------------------------------------------------------------

function feedForward(walk, stack, add) {
  const { it, isPre } = walk;
  const { d_ff: inner, d_model: d } = it.model;
  const rows = walk.labels(stack);
  const group = `${STACK[stack]} layer ${walk.layer[stack] + 1}, feed-forward`;
  if (isPre) norm(walk, stack, "ff", group, add);
  add(
    `${stack}.ff.inner`,
    group,
    "feed-forward, inner layer",
    "§3.3, equation (2)",
    "max(0, x W₁ + b₁)",
    `Each position by itself: ${d} numbers in, ${inner} out, and what is negative becomes 0 (ReLU).`,
    () => {
      const made = walk.stored(stack, "ff.inner");
      const off = rows.map((_, i) => made.sub(i).data.reduce((n, one) => n + (one === 0), 0));
      const stored = walk.weights(stack, "ff.w_1");
      const n = stored.shape[0];
      const bias = walk.weights(stack, "ff.b_1");
      const left = matrix(isPre ? "LayerNorm(x)" : "x", rows, walk.input(stack, "ff"), {
        from: isPre ? `${stack}.ff.norm` : `${stack}.${stack === "encoder" ? "self" : "cross"}.residual`,
      });
      return {
        matrices: [left, n ? columnsOf("W₁", stored) : null, matrix("inner", rows, made)],
        result: 2,
        note: (i) =>
          `Position ${i + 1}: ${off[i]} of ${inner} units are off (0) after the ReLU, ${inner - off[i]} are on.`,
        explain: (i, j) => {
          if (j >= n) return { uses: [{ row: i }], sum: [missing("inner", i, j, made.at(i, j), n)] };
          const sum = dot(`(x W₁ + b₁)[${i + 1}, ${j + 1}]`, left.row(i), stored.sub(j).data, {
            bias: bias.at(j),
            biasName: "b₁",
          });
          sum.push(
            sentence(
              `max(0, that) = ${four(made.at(i, j))}, the model's own${made.at(i, j) === 0 ? ": this unit is off" : ""}`,
            ),
          );
          return { uses: [{ row: i }, { column: j }], sum };
        },
      };
    },
  );
  add(
    `${stack}.ff.out`,
    group,
    "feed-forward, outer layer",
    "§3.3, equation (2)",
    "max(0, x W₁ + b₁) W₂ + b₂",
    `Back to ${d} numbers: each unit that is on adds its row of W₂.`,
    () =>
      product(
        walk,
        stack,
        "ff.out",
        matrix("inner", rows, walk.stored(stack, "ff.inner"), { from: `${stack}.ff.inner` }),
        walk.weights(stack, "ff.w_2"),
        "W₂",
        "out",
        walk.weights(stack, "ff.b_2"),
      ),
  );
  residual(walk, stack, "ff", group, rows, add);
}

// --- from stack to stack, and out -----------------------------------------------------------------------------------

function bridge(walk, add) {
  const { it } = walk;
  add(
    "encoder.out",
    "Encoder: output",
    "what goes from the encoder to the decoder",
    "§3.1, §3.2.3",
    "encoder output: one vector for each source piece",
    `${it.source.labels.length} vectors of ${it.model.d_model} numbers, one for each piece of the source, after the last layer${walk.isPre ? " and its final norm" : ""}: that is all that goes from the encoder to the decoder. Each decoder layer makes its own keys and values of them, and its own queries of what has been written so far.`,
    () => lastVectors(walk, "encoder", "encoder output"),
  );
}

// What leaves a stack: the norm that ends its last layer, or with pre-norm the stack itself.
function lastVectors(walk, stack, name) {
  const { it, isPre } = walk;
  const rows = walk.labels(stack);
  const out = it.array(`walk.${stack}.out`);
  const last = it.model[`${stack}_layers`] - 1;
  const made = matrix(name, rows, out);
  if (!it.walk.layers[stack].includes(last)) {
    const sum = (i, j) => [
      sentence(`after layer ${last + 1}, whose numbers this file does not hold: ${four(out.at(i, j))}`),
    ];
    return { matrices: [made], result: 0, explain: (i, j) => ({ uses: [], sum: sum(i, j) }) };
  }
  const end = new Walk(it, { ...walk.layer, [stack]: last }, walk.head, isPre);
  const z = end.sum(stack, "ff");
  const parameters = isPre ? it.array(`weights.${stack}.norm`) : end.weights(stack, "ff.norm");
  return {
    matrices: [matrix(`z, from layer ${last + 1}`, rows, z), made],
    result: 1,
    explain: (i, j) => ({
      uses: [{ row: i }],
      sum: normSum(
        `y[${i + 1}, ${j + 1}]`,
        Array.from(z.sub(i).data),
        j,
        parameters.at(0, j),
        parameters.at(1, j),
        EPSILON,
        out.at(i, j),
      ),
    }),
  };
}

function ending(walk, add) {
  const { it } = walk;
  const rows = walk.labels("decoder");
  const group = "Output";
  const hidden = () => it.array("walk.decoder.out");
  const ids = it.array("embedding.ids");
  const table = it.array("embedding.rows");
  const place = new Map(Array.from(ids.data, (id, i) => [id, i]));
  const top = it.next_words.map((step) => step.ids.filter((id) => place.has(id)).slice(0, 5));
  const width = Math.min(...top.map((one) => one.length));
  const label = (t, k) => shown(it.next_words[t].pieces[k]);

  add(
    "output.hidden",
    group,
    "the decoder's last vectors",
    "§3.1",
    "one vector for each position",
    `After layer ${it.model.decoder_layers}${walk.isPre ? " and the final norm" : ""}: one vector for each position of the translation, from which the piece at that position is predicted.`,
    () => lastVectors(walk, "decoder", "h"),
  );
  add(
    "output.logits",
    group,
    "logits",
    "§3.4",
    "logit[t, piece] = h_t · E[piece]",
    `A score for each of the ${it.model.vocabulary} pieces of the vocabulary: the dot product with its row of the embedding matrix, the same matrix as at the input, but without √d_model. Shown are the ${width} highest of each position.`,
    () => ({
      matrices: [
        matrix("h", rows, hidden(), { from: "output.hidden" }),
        new Matrix(`the ${width} highest logits`, rows, width, (t, k) => it.next_words[t].logits[k]),
      ],
      result: 1,
      explain: (t, k) => ({
        uses: [{ row: t }],
        sum: dot(
          `logit of “${label(t, k)}” at position ${t + 1}`,
          hidden().sub(t).data,
          table.sub(place.get(it.next_words[t].ids[k])).data,
          { model: it.next_words[t].logits[k] },
        ),
      }),
    }),
  );
  const share = (t, k) => Math.exp(it.next_words[t].logits[k] - it.next_words[t].log_partition);
  add(
    "output.probabilities",
    group,
    "probabilities: the decoder's output",
    "§3.4",
    "P(piece | source, pieces before) = e^logit / Σ e^logit",
    "What is the decoder's output? For every position, a probability for every piece of the vocabulary: they sum to 1. When translating, one piece is taken, put at the end of the decoder's input, and the decoder runs again, until it is the end token.",
    () => ({
      matrices: [
        new Matrix("logits", rows, width, (t, k) => it.next_words[t].logits[k], { from: "output.logits" }),
        new Matrix("probabilities", rows, width, share, { isWeight: true }),
      ],
      result: 1,
      explain: (t, k) => {
        const { logits, log_partition: partition } = it.next_words[t];
        return {
          uses: [{ cell: [t, k] }],
          sum: [
            sentence(`log Σ e^logit over all ${it.model.vocabulary} pieces = ${four(partition)}`),
            sentence(
              `P(“${label(t, k)}”) = e^(${four(logits[k])} − ${four(partition)}) = e^(${four(logits[k] - partition)}) = ${four(share(t, k))}`,
            ),
          ],
        };
      },
    }),
  );
  add(
    "output.word",
    group,
    "the words",
    "§6.1",
    "arg max, or the best of the beam",
    "The most probable piece of each position. Beam search may take another one where that makes the whole sentence more probable.",
    () => ({
      list: it.target.labels.map((text, t) => ({
        piece: text,
        id: it.target.ids[t],
        writes: label(t, 0),
        share: share(t, 0),
        isFirst: it.next_words[t].ids[0] === it.target.ids[t],
      })),
    }),
  );
}
