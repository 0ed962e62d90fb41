// A matrix as a picture with a cursor: point at a cell, or move to it with the arrow keys.

import { maskedRgb, paint, signedRgb, weightRgb } from "heed/colour.js";
import { clamp, el, onArrows, word } from "heed/dom.js";

const ROW_HEIGHT = 17;
const MOST_CELL = 26; // pixels
const MOST_LABELS = 20; // below columns

// What a stage shows: name, rows (labels), m columns, get(i, j); `isWeight`: numbers from 0 to 1. `rgb(i, j)` colours it
// otherwise.
export class Matrix {
  constructor(name, rows, m, get, more = {}) {
    Object.assign(this, { name, rows, n: rows.length, m, get, columns: null, isWeight: false, from: null, ...more });
  }

  row(i) {
    return Array.from({ length: this.m }, (_, j) => this.get(i, j));
  }

  column(j) {
    return Array.from({ length: this.n }, (_, i) => this.get(i, j));
  }
}

// Draws a matrix; `onCell(i, j)` hears where the cursor is. Returns {node, light({row, column, cell})}.
export function matrixView(matrix, onCell, { isResult = false } = {}) {
  const { n, m } = matrix;
  const canvas = el("canvas", { "aria-hidden": "true" });
  let size = 0;
  for (let i = 0; i < n; i++) {
    for (let j = 0; j < m; j++) {
      const value = matrix.get(i, j);
      if (Number.isFinite(value)) size += value * value;
    }
  }
  const scale = 2.5 * Math.sqrt(size / Math.max(n * m, 1)) || 1;
  paint(canvas, n, m, (i, j) => {
    const value = matrix.get(i, j);
    if (matrix.rgb) return matrix.rgb(i, j);
    if (!Number.isFinite(value)) return maskedRgb();
    if (matrix.isWeight) return weightRgb(value);
    return signedRgb(clamp(value / scale, -1, 1));
  });
  canvas.style.height = `${n * ROW_HEIGHT}px`;
  const labels = el(
    "div",
    { class: "labels", "aria-hidden": "true" },
    matrix.rows.map((text) => word(text)),
  );
  // Words below their columns, as long as there is room for them.
  const below = el(
    "div",
    { class: "below", "aria-hidden": "true" },
    matrix.columns && m <= MOST_LABELS ? matrix.columns.map((text) => word(text)) : [],
  );
  below.style.setProperty("max-width", `${m * MOST_CELL}px`);
  const lights = {
    row: el("i", { class: "light" }),
    column: el("i", { class: "light" }),
    cell: el("i", { class: "spot" }),
  };
  const area = el(
    "div",
    {
      class: "cells",
      tabindex: 0,
      role: "application",
      "aria-label": `${matrix.name}, ${n} by ${m}: arrow keys move from cell to cell`,
      "data-key": isResult ? "result" : undefined,
    },
    canvas,
    lights.row,
    lights.column,
    lights.cell,
  );
  area.style.setProperty("max-width", `${m * MOST_CELL}px`);
  let at = [0, 0];
  const put = (light, i, j, rows, columns) => {
    light.style.display = "block";
    light.style.top = `${i * ROW_HEIGHT}px`;
    light.style.height = `${rows * ROW_HEIGHT}px`;
    light.style.left = `${(100 * j) / m}%`;
    light.style.width = `${(100 * columns) / m}%`;
  };
  const light = ({ row, column, cell } = {}) => {
    for (const one of Object.values(lights)) one.style.display = "none";
    if (row !== undefined) put(lights.row, row, 0, 1, m);
    if (column !== undefined) put(lights.column, 0, column, n, 1);
    if (cell) {
      put(lights.cell, cell[0], cell[1], 1, 1);
      at = cell;
    }
    [...labels.children].forEach((one, i) => one.classList.toggle("key", i === (cell ? cell[0] : row)));
    [...below.children].forEach((one, j) => one.classList.toggle("key", j === (cell ? cell[1] : column)));
  };
  const cellAt = (event) => {
    const box = area.getBoundingClientRect();
    const i = clamp(Math.floor((event.clientY - box.top) / ROW_HEIGHT), 0, n - 1);
    return [i, clamp(Math.floor(((event.clientX - box.left) / box.width) * m), 0, m - 1)];
  };
  area.addEventListener("pointermove", (event) => onCell(...cellAt(event), false));
  area.addEventListener("click", (event) => onCell(...cellAt(event), true));
  onArrows(area, (down, right) => {
    onCell(clamp(at[0] + down, 0, n - 1), clamp(at[1] + right, 0, m - 1), false);
  });
  area.addEventListener("keydown", (event) => {
    if (event.key === "Enter") onCell(...at, true);
  });
  const caption = el(
    "figcaption",
    {},
    el("b", {}, matrix.name),
    ` ${n} × ${m}`,
    matrix.note ? el("small", {}, ` ${matrix.note}`) : null,
  );
  const node = el(
    "figure",
    { class: isResult ? "matrix result" : "matrix" },
    caption,
    el("div", { class: "body" }, labels, area, below.firstChild ? [el("span"), below] : null),
  );
  return { node, light, focus: () => area.focus() };
}
