// Stages of the walk: the feed-forward network.

import { STACK, columnsOf, four, matrix, missing, product } from "heed/stage.js";
import { norm, residual } from "heed/stages_norm.js";
import { dot, sentence } from "heed/sums.js";

export function feedForward(walk, stack, add) {
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
