// Stages of the walk: from text to vectors.

import { Matrix } from "heed/matrix.js";
import { STACK, four, matrix } from "heed/stage.js";
import { addition, sentence } from "heed/sums.js";

export function beginning(walk, stack, add) {
  const { it } = walk;
  const d = it.model.d_model;
  const labels = stack === "encoder" ? it.source.labels : it.target.input_labels;
  const ids = stack === "encoder" ? it.source.ids : [0, ...it.target.ids.slice(0, -1)];
  const group = `${STACK[stack]}: text to vectors`;
  const characters = [...it.source.text]; // offsets count characters, not JavaScript's units of 16 bits
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
        from: stack === "encoder" ? characters.slice(...it.source.offsets[i]).join("") : null,
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
    it.off.positions
      ? "x + 0"
      : it.model.positions === "sinusoidal"
      ? "PE(pos, 2i) = sin(pos / 10000^(2i/d)),  PE(pos, 2i+1) = cos(pos / 10000^(2i/d))"
      : "a learnt vector for each position",
    (it.off.positions
      ? "Positions are switched off: zeros are added, and the order of the words is lost. As trained: "
      : "") +
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
          it.off.positions
            ? `PE[${i + 1}, ${j + 1}] = 0, switched off`
            : it.model.positions === "sinusoidal"
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
