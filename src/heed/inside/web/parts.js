// What several views are made of.

import { css, inkOn } from "heed/colour.js";
import { el, word } from "heed/dom.js";
import { Matrix, matrixView } from "heed/matrix.js";

// What a head's heaviest weight falls on.
export const ROLE_WORDS = {
  previous: "the token before",
  same: "the token itself",
  next: "the token after",
  end: "the end token (decoder: the start)",
  stop: "punctuation",
  rare: "the rarest token of the sentence",
  aligned: "the source token that goes with the word (IBM model 1 on the sample)",
  mixed: "nothing in particular",
};

const MOST_CELLS = 6400; // of a table with its numbers; larger ones are pictures

export const number = (value, digits = 3) => {
  if (value === 0) return "0";
  if (!Number.isFinite(value)) return value > 0 ? "∞" : "−∞";
  const size = Math.abs(value);
  const text = size >= 1000 || size < 1e-4 ? value.toExponential(2) : value.toFixed(size >= 100 ? 1 : digits);
  return Number(text) === 0 ? text.replace("-", "") : text.replace("-", "−");
};

// A weight in little room: 0.93 is .93, 1 is 1, and a dot is less than half a hundredth.
export const short = (weight) => {
  if (weight === 0) return "0";
  if (weight < 0.005) return "·";
  const text = weight.toFixed(2);
  return text === "1.00" ? "1" : text.replace(/^0/, "");
};

export const percent = (share) =>
  share > 0 && share < 0.0005
    ? "< 0.1 %"
    : share >= 0.1
      ? `${(share * 100).toFixed(0)} %`
      : `${(share * 100).toFixed(1)} %`;

// A paragraph of explanation, with the paper's section.
export const about = (section, ...text) =>
  el("p", { class: "about" }, ...text, section ? el("span", { class: "section" }, ` ${section}`) : null);

// A formula with its indices and exponents set: W_Q, √d_model, 10000^(2i/d).
export function formula(text) {
  const parts = text.split(/([_^](?:\([^)]*\)|[A-Za-z0-9α]+))/);
  return parts.map((part) => {
    if (!/^[_^]/.test(part)) return part;
    return el(part[0] === "_" ? "sub" : "sup", {}, part.slice(1).replace(/^\((.*)\)$/, "$1"));
  });
}

// A table of coloured numbers with words at its sides; cell(i, j) -> {rgb, text, title, mark}.
export function heatTable({ rows, columns, cell, corner = "", label, onCell, wide = false, chosen }) {
  if (rows.length * columns.length > MOST_CELLS) return heatPicture(rows, columns, cell, label);
  const head = el("tr", {}, el("th", { class: "corner" }, corner));
  columns.forEach((text) => head.append(el("th", { scope: "col", class: "down" }, word(text))));
  const body = el("tbody");
  rows.forEach((text, i) => {
    const line = el("tr", {}, el("th", { scope: "row" }, text instanceof Node ? text : word(text)));
    columns.forEach((_, j) => {
      const { rgb, text: value, title, mark } = cell(i, j);
      const one = el("td", { title, class: mark, style: { background: css(rgb), color: inkOn(rgb) } }, value);
      if (chosen && chosen[0] === i && chosen[1] === j) one.classList.add("chosen");
      line.append(one);
    });
    body.append(line);
  });
  const table = el(
    "table",
    { class: wide ? "heat wide" : "heat" },
    el("caption", {}, label),
    el("thead", {}, head),
    body,
  );
  if (onCell) {
    table.addEventListener("click", (event) => {
      const td = event.target.closest("td");
      if (td) onCell(td.parentNode.sectionRowIndex, td.cellIndex - 1);
    });
  }
  return el("div", { class: "scroll", tabindex: 0, role: "region", "aria-label": label }, table);
}

// The same of many numbers: a picture, with the number that is pointed at below it.
function heatPicture(rows, columns, cell, label) {
  const says = el("p", { class: "status", role: "status" }, `${columns.length} columns: point at a cell to read it.`);
  const labels = rows.map((text) => (text instanceof Node ? text.textContent : text));
  const matrix = new Matrix(label, labels, columns.length, () => 0, { rgb: (i, j) => cell(i, j).rgb });
  const view = matrixView(matrix, (i, j) => {
    view.light({ cell: [i, j] });
    says.textContent = cell(i, j).title;
  });
  return el("div", {}, view.node, says);
}

export function bar(share, colour = "var(--accent)") {
  const width = `${(Math.min(Math.max(share, 0), 1) * 100).toFixed(1)}%`;
  return el("span", { class: "bar", "aria-hidden": "true" }, el("span", { style: { width, background: colour } }));
}
