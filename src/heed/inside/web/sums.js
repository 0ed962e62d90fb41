// Sums written out: every term, from the numbers the page holds, and what they add up to.

import { el, word } from "heed/dom.js";
import { number } from "heed/parts.js";

const MOST_TERMS = 64; // written at first; the rest on request
const SIGNED = (value) => number(value, 4);

function terms(list, make, total) {
  const box = el("ol", { class: "terms" });
  const write = (chosen) => box.replaceChildren(...chosen.map((one) => el("li", { value: one.number }, make(one))));
  const all = list.map((one, i) => ({ ...one, number: i + 1 }));
  if (all.length <= MOST_TERMS) {
    write(all);
    return [box];
  }
  const largest = [...all].sort((a, b) => Math.abs(b.term) - Math.abs(a.term)).slice(0, MOST_TERMS / 2);
  const rest = total - largest.reduce((sum, one) => sum + one.term, 0);
  write(largest.sort((a, b) => a.number - b.number));
  const note = el(
    "p",
    { class: "rest" },
    `The ${largest.length} largest of ${all.length} terms; the other ${all.length - largest.length} add up to ${SIGNED(rest)}. `,
  );
  const more = el("button", { type: "button", class: "small" }, `write out all ${all.length}`);
  more.addEventListener("click", () => {
    write(all);
    note.remove();
  });
  note.append(more);
  return [box, note];
}

// Σ a × b (+ bias). `model`: the same number as the model computed it.
export function dot(name, a, b, { bias = 0, biasName = "", model } = {}) {
  const list = Array.from(a, (one, i) => ({ a: one, b: b[i], term: one * b[i] }));
  const product = list.reduce((sum, one) => sum + one.term, 0);
  const total = product + bias;
  return [
    el(
      "p",
      { class: "sum" },
      el("b", {}, name),
      ` = the sum of ${list.length} products${biasName ? ` + ${biasName}` : ""}`,
    ),
    ...terms(list, (one) => `${SIGNED(one.a)} × ${SIGNED(one.b)} = ${SIGNED(one.term)}`, product),
    el(
      "p",
      { class: "sum total", "data-total": total },
      "= ",
      biasName ? `${SIGNED(product)} + (${SIGNED(bias)}) = ` : "",
      el("b", {}, SIGNED(total)),
      model === undefined
        ? ""
        : el("span", { class: "model", "data-model": model }, ` the model's own: ${SIGNED(model)}`),
    ),
  ];
}

export function addition(name, values) {
  const total = values.reduce((sum, one) => sum + one, 0);
  const parts = values.map((one, i) => (i ? ` + (${SIGNED(one)})` : SIGNED(one)));
  return [
    el(
      "p",
      { class: "sum total", "data-total": total },
      el("b", {}, name),
      ` = ${parts.join("")} = `,
      el("b", {}, SIGNED(total)),
    ),
  ];
}

export function softmaxSum(name, scores, j, labels, weight) {
  const most = Math.max(...scores);
  const list = Array.from(scores, (score, k) => ({ score, label: labels[k], term: Math.exp(score - most) }));
  const total = list.reduce((sum, one) => sum + one.term, 0);
  const value = list[j].term / total;
  return [
    el(
      "p",
      { class: "sum" },
      el("b", {}, name),
      ` = e^(score − ${SIGNED(most)}) / the sum of the same over the row; subtracting the row's largest changes nothing and keeps numbers small`,
    ),
    ...terms(
      list,
      (one) => [
        word(one.label),
        `  e^(${Number.isFinite(one.score) ? SIGNED(one.score - most) : "−∞"}) = ${SIGNED(one.term)}`,
      ],
      total,
    ),
    el(
      "p",
      { class: "sum total", "data-total": value },
      `= ${SIGNED(list[j].term)} / ${SIGNED(total)} = `,
      el("b", {}, SIGNED(value)),
      el("span", { class: "model", "data-model": weight }, ` the model's own: ${SIGNED(weight)}`),
    ),
  ];
}

// `model`: the same number as the model computed it.
export function normSum(name, values, j, gamma, beta, epsilon, model) {
  const mean = values.reduce((sum, one) => sum + one, 0) / values.length;
  const variance = values.reduce((sum, one) => sum + (one - mean) ** 2, 0) / values.length;
  const deviation = Math.sqrt(variance + epsilon);
  const value = ((values[j] - mean) / deviation) * gamma + beta;
  return [
    el(
      "p",
      { class: "sum" },
      el("b", {}, name),
      ` = (z − mean) / √(variance + ε) × γ + β, over the ${values.length} numbers of the row`,
    ),
    el(
      "p",
      { class: "sum" },
      `mean ${SIGNED(mean)}, variance ${SIGNED(variance)}, ε ${epsilon}, γ ${SIGNED(gamma)}, β ${SIGNED(beta)}`,
    ),
    el(
      "p",
      { class: "sum total", "data-total": value },
      `= (${SIGNED(values[j])} − (${SIGNED(mean)})) / ${SIGNED(deviation)} × ${SIGNED(gamma)} + (${SIGNED(beta)}) = `,
      el("b", {}, SIGNED(value)),
      model === undefined
        ? ""
        : el("span", { class: "model", "data-model": model }, ` the model's own: ${SIGNED(model)}`),
    ),
  ];
}

export const sentence = (...parts) => el("p", { class: "sum" }, ...parts);
