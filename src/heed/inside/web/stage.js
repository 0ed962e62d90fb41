// What the stages of the walk are made of: matrices, products with weights, and the words around them.

import { Matrix } from "heed/matrix.js";
import { number } from "heed/parts.js";
import { dot, sentence } from "heed/sums.js";

export const STACK = { encoder: "Encoder", decoder: "Decoder" };
export const four = (value) => number(value, 4);

export function matrix(name, rows, { data, shape }, more) {
  const m = shape[1];
  return new Matrix(name, rows, m, (i, j) => data[i * m + j], more);
}

// Columns of a weight matrix that the file holds, as a matrix whose column j makes number j.
export function columnsOf(name, stored) {
  const [m, n] = stored.shape;
  const rows = Array.from({ length: n }, (_, i) => (i % 16 === 0 || i === n - 1 ? `${i + 1}` : ""));
  return new Matrix(name, rows, m, (i, j) => stored.data[j * n + i]);
}

export function missing(name, i, j, value, n) {
  return sentence(
    `${name}[${i + 1}, ${j + 1}] = ${four(value)}, the model's own. `,
    n
      ? `Of this matrix the file holds columns 1 to ${n}, to stay small; point at one of those to see the sum, `
      : "This file is too small to hold the weights for the sum; ",
    "or write a larger file: heed inspect --limit-mb 500.",
  );
}

// x · W + b, with the columns of W that the file holds.
export function product(walk, stack, name, left, stored, weightName, resultName, bias) {
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
