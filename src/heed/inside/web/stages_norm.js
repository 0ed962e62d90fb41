// Stages of the walk: add & norm, and the norm before a sub-layer.

import { EPSILON } from "heed/numbers.js";
import { matrix } from "heed/stage.js";
import { addition, normSum } from "heed/sums.js";

export function norm(walk, stack, sublayer, group, add) {
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

export function residual(walk, stack, sublayer, group, rows, add) {
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
