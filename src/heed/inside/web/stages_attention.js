// Stages of the walk: one attention, from queries, keys and values to add & norm.

import { Tensor } from "heed/data.js";
import { el, word } from "heed/dom.js";
import { Matrix } from "heed/matrix.js";
import { ROLE_WORDS } from "heed/parts.js";
import { STACK, columnsOf, four, matrix, missing, product } from "heed/stage.js";
import { norm, residual } from "heed/stages_norm.js";
import { dot, sentence, softmaxSum } from "heed/sums.js";

export function attention(walk, stack, sublayer, add) {
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
  const mayAttend = walk.mayAttend(stack, sublayer);
  const masked = (i, j) => (mayAttend(i, j) ? scaled(i, j) : -Infinity);
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
    isMasked && !it.off.causal ? "score[i, j] = −∞ for every j > i" : "nothing is masked",
    isMasked && it.off.causal
      ? "The causal mask is switched off: every position also sees what comes later, the very piece it must predict among it. The model was trained with the mask, where the score of every later position is −∞."
      : isMasked
      ? "Why the mask? In training, all positions are computed at once, and the decoder's input contains the answer, one position to the right. Without the mask each position would read the very word it must predict. When translating, later words do not exist yet. So the score of every later position is −∞ (grey), and its weight exactly 0. " +
        `A row such as “${own[0]}” is the position that reads the first and must write the second.`
      : "Every position may attend to every other: this is one sentence without padding. In a batch, the padding behind short sentences is masked; in the decoder's self-attention, what comes later is.",
    () => ({
      matrices: [square("Q Kᵀ / √d_k", scaled, { from: `${id}.scaled` }), square("masked", masked)],
      result: 1,
      explain: (i, j) => ({
        uses: [{ cell: [i, j] }],
        sum: [
          sentence(
            mayAttend(i, j)
              ? `column ${j + 1} ${isMasked && !it.off.causal ? "is not later than row " + (i + 1) + ", so it" : ""} stays: ${four(scaled(i, j))}`
              : `column ${j + 1} is later than row ${i + 1}: −∞`,
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
      // What each other head looks at most.
      const glances = (i) =>
        Array.from({ length: it.model.h }, (_, k) => k)
          .filter((k) => k !== walk.head[stack])
          .flatMap((k, place) => {
            const row = it.head(isCross ? "cross" : stack, walk.layer[stack], k).sub(i).data;
            const most = row.reduce((best, weight, j) => (weight > row[best] ? j : best), 0);
            return [place ? ", " : "", `${k + 1} “`, word(keys[most]), `” ${row[most].toFixed(2)}`];
          });
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
          const others = it.model.h > 1 ? [el("br"), "The same word in the other heads: ", ...glances(i)] : [];
          return [`Head ${head}: “`, word(own[i]), "” looks at ", ...parts, ". ", ...others];
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
    "What a position receives: the sum of all positions' values, each times its weight." +
      (walk.isHeadOff(stack, sublayer)
        ? ` Head ${head} is switched off: zeros take the place of these numbers in the concatenation.`
        : ""),
    () => {
      const weights = walk.attention(stack, sublayer);
      const v = walk.headOf(stack, sublayer, "v");
      const all = walk.contexts(stack, sublayer);
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
          const where = `column ${j + 1} is number ${c + 1} of head ${k + 1}`;
          if (walk.isHeadOff(stack, sublayer, k)) return { uses: [], sum: [sentence(`${where}, which is switched off: 0`)] };
          const column = keys.map((_, other) => values.at(k, other, c));
          const sum = dot(`head ${k + 1}[${i + 1}, ${c + 1}] = its weights · V`, weights.sub(k, i).data, column);
          return { uses: [], sum: [sentence(where), ...sum] };
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

// What a head does in general, as far as it was measured.
function habit(it, kind, layer, head) {
  const role = it.role(kind, layer - 1, head - 1);
  const often =
    role === "mixed" ? "follows none of the simple rules that were measured" : `looks mostly at ${ROLE_WORDS[role]}`;
  const measured = role ? `Measured on ${it.roles.pairs} pairs of text, this head ${often}. ` : "";
  return `${measured}Choose another layer or head above; the attention view shows all of them at once.`;
}
