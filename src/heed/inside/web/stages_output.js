// Stages of the walk: what leaves the encoder, and what leaves the decoder.

import { shown } from "heed/data.js";
import { word } from "heed/dom.js";
import { Matrix } from "heed/matrix.js";
import { EPSILON, Walk } from "heed/numbers.js";
import { percent } from "heed/parts.js";
import { four, matrix } from "heed/stage.js";
import { dot, normSum, sentence } from "heed/sums.js";

export function bridge(walk, add) {
  const { it } = walk;
  add(
    "encoder.out",
    "Encoder: output",
    "what goes from the encoder to the decoder",
    "§3.1, §3.2.3",
    "encoder output: one vector for each source piece",
    `${it.source.labels.length} vectors of ${it.model.d_model} numbers, one for each piece of the source, after the last layer${walk.isPre ? " and its final norm" : ""}: that is all that goes from the encoder to the decoder. They are computed once; every step of the decoder reads the same ones. Each decoder layer turns them into keys, which its attention searches, and values, which it takes from what it finds; the queries, what it searches for, come from what has been written so far.`,
    () => lastVectors(walk, "encoder", "encoder output"),
  );
}

// What leaves a stack: the norm that ends its last layer, or with pre-norm the stack itself.
function lastVectors(walk, stack, name) {
  const { it, isPre } = walk;
  const rows = walk.labels(stack);
  const out = it.array(`walk.${stack}.out`);
  let last = it.model[`${stack}_layers`] - 1;
  while (last >= 0 && it.isLayerOff(stack, last)) last--; // a layer that is off hands on what it is given
  const made = matrix(name, rows, out);
  if (last < 0) return handedOn(walk, stack, made);
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
    explain: (i, j) => ({ uses: [{ row: i }], sum: finalNorm(z, parameters, i, j, out.at(i, j)) }),
  };
}

// All layers of a stack are off: what entered it leaves it, with pre-norm by way of the final norm.
function handedOn({ it, isPre }, stack, made) {
  const first = it.walk.layers[stack][0]; // what enters any layer is the same
  const x = it.array(`walk.${stack}.${first}.x`);
  const parameters = isPre ? it.array(`weights.${stack}.norm`) : null;
  return {
    matrices: [matrix("x, all layers are off", made.rows, x), made],
    result: 1,
    explain: (i, j) =>
      isPre
        ? { uses: [{ row: i }], sum: finalNorm(x, parameters, i, j, made.get(i, j)) }
        : { uses: [{ cell: [i, j] }], sum: [sentence(`handed on as it is: ${four(x.at(i, j))}`)] },
  };
}

const finalNorm = (z, parameters, i, j, model) =>
  normSum(
    `y[${i + 1}, ${j + 1}]`,
    Array.from(z.sub(i).data),
    j,
    parameters.at(0, j),
    parameters.at(1, j),
    EPSILON,
    model,
  );

export function ending(walk, add) {
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
  const listed = (t, value) =>
    Array.from({ length: width }, (_, k) => [k ? ", “" : "“", word(label(t, k)), `” ${value(k)}`]).flat();

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
      note: (t) => ["Highest at position ", t + 1, ": ", ...listed(t, (k) => four(it.next_words[t].logits[k]))],
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
    `What is the decoder's output? For every position, a probability for every piece of the vocabulary: ${it.model.vocabulary} numbers that sum to 1. Shown are the ${width} most probable of each position. When translating, one piece is taken, put at the end of the decoder's input, and the decoder runs again, until it is the end token.`,
    () => ({
      matrices: [
        new Matrix("logits", rows, width, (t, k) => it.next_words[t].logits[k], { from: "output.logits" }),
        new Matrix("probabilities", rows, width, share, { isWeight: true }),
      ],
      result: 1,
      note: (t) => ["Most probable at position ", t + 1, ": ", ...listed(t, (k) => percent(share(t, k)))],
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
