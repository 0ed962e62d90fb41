// All heads as thumbnails, and the chosen one large: as the paper's lines between words, or as a table of weights.

import { css, headColour, inkOn, paint, weightRgb } from "heed/colour.js";
import { KIND_NAMES } from "heed/data.js";
import { choice, clamp, el, onArrows, replace, toggle, word } from "heed/dom.js";
import { about, bar, heatTable, percent, short } from "heed/parts.js";
import { change, state } from "heed/state.js";

const LEAST_DRAWN = 0.02; // of a row's weight
const MOST_LINES = 3000; // at once, the strongest
const MANY_LINES = 300; // are drawn one pixel wide, which browsers do ten times faster
const LINE_HEIGHT = 22;

const EXPLAINED = {
  encoder: [
    "§3.2.3",
    "Every word of the source attends to every word of the source. Each row is a word that attends; its weights sum to 1.",
  ],
  decoder: [
    "§3.2.3",
    "Every step of the decoder attends to what has been written before it, never to what comes later: the upper right " +
      "is masked, exactly 0. A row is the step that writes this word; a column is a word it reads, from the start <s> on.",
  ],
  cross: [
    "§3.2.3",
    "Every step of the decoder attends to the encoder's output: queries come from the decoder, keys and values from " +
      "the encoder. This is all that the decoder sees of the source.",
  ],
};

// The grid stays; a change of head draws only what is open.
export function attentionView(it) {
  const box = el("div", { class: "attention" });
  const opened = el("section", { class: "open", "aria-label": "open head" });
  const kinds = el("div", { class: "kinds" });
  const thumbs = new Map();
  let at;
  const show = () => {
    at = chosenHead(it);
    const { kind, layer, head, heads } = at;
    const focused = document.activeElement?.dataset?.key;
    replace(
      kinds,
      choice(
        "attention of the",
        it.kinds.map((one) => [one, KIND_NAMES[one]]),
        kind,
        (one) => open({ kind: one }),
      ),
    );
    for (const [name, thumb] of thumbs) {
      const isChosen = name === `${kind}.${layer}.${head}`;
      thumb.classList.toggle("chosen", isChosen);
      thumb.setAttribute("aria-pressed", isChosen);
      const [own, l, k] = name.split(".");
      thumb.tabIndex = isChosen || (own !== kind && l === "0" && k === "0") ? 0 : -1;
    }
    for (const one of box.querySelectorAll(".kind")) one.classList.toggle("chosen", one.dataset.kind === kind);
    replace(
      opened,
      el("h2", {}, title(it, kind, layer, heads)),
      el(
        "div",
        { class: "controls" },
        choice(
          "show as",
          [
            ["lines", "lines"],
            ["table", "table of weights"],
          ],
          state.mode,
          (mode) => set({ mode }),
        ),
        toggle("whole words", Boolean(state.merged), (merged) => set({ merged: Number(merged), word: -1 })),
        overlays(it, heads, head, set),
      ),
      state.mode === "lines" ? lines(it, kind, layer, heads) : table(it, kind, layer, heads),
      about(...EXPLAINED[kind]),
      kind === "cross" ? coverage(it, layer, heads) : null,
    );
    if (focused) opened.querySelector(`[data-key="${CSS.escape(focused)}"]`)?.focus({ preventScroll: true });
  };
  const set = (values) => {
    change(values, true);
    show();
  };
  const open = (values) => set({ overlay: "", word: -1, ...values });
  onArrows(box, (down, right) => {
    const { kind, layer, head } = at;
    open({ kind, layer: clamp(layer + down, 0, it.layers(kind) - 1), head: clamp(head + right, 0, it.model.h - 1) });
    if (document.activeElement.closest(".grid")) thumbs.get(`${at.kind}.${at.layer}.${at.head}`).focus();
  });
  box.append(
    el(
      "div",
      { class: "grids" },
      kinds,
      it.kinds.map((one) => grid(it, one, thumbs, open)),
    ),
    opened,
  );
  show();
  return box;
}

function chosenHead(it) {
  const kind = it.kinds.includes(state.kind) ? state.kind : it.kinds.at(-1);
  const last = it.layers(kind) - 1;
  const layer = state.layer < 0 ? last : clamp(state.layer, 0, last);
  const head = clamp(state.head, 0, it.model.h - 1);
  const overlay =
    state.overlay === ""
      ? []
      : state.overlay
          .split(".")
          .map(Number)
          .filter((one) => one >= 0 && one < it.model.h);
  return { kind, layer, head, heads: overlay.length ? overlay.sort((a, b) => a - b) : [head] };
}

function title(it, kind, layer, heads) {
  const name = `${KIND_NAMES[kind]}, layer ${layer + 1} of ${it.layers(kind)}, `;
  if (heads.length > 1) return `${name}heads ${heads.map((one) => one + 1).join(", ")}`;
  const role = it.role(kind, layer, heads[0]);
  return `${name}head ${heads[0] + 1}${role ? ` – ${role}` : ""}`;
}

// --- thumbnails -----------------------------------------------------------------------------------------------

const drawn = new WeakMap(); // of each inspection, pictures by what they show: a change of selection paints none again

function grid(it, kind, thumbs, open) {
  const box = el("div", { class: "grid", role: "group", "aria-label": `${KIND_NAMES[kind]} attention` });
  box.style.setProperty("--heads", it.model.h);
  for (let layer = 0; layer < it.layers(kind); layer++) {
    box.append(el("span", { class: "layer", "aria-hidden": "true" }, layer + 1));
    for (let head = 0; head < it.model.h; head++) {
      const role = it.role(kind, layer, head);
      const name = `${KIND_NAMES[kind]}, layer ${layer + 1}, head ${head + 1}${role ? `: ${role}` : ""}`;
      const button = el(
        "button",
        { type: "button", class: "thumb", title: name, "aria-label": name, "data-head": `${kind}.${layer}.${head}` },
        picture(it, kind, layer, head),
      );
      button.addEventListener("click", () => open({ kind, layer, head }));
      thumbs.set(`${kind}.${layer}.${head}`, button);
      box.append(button);
    }
  }
  const heading = el("h2", {}, KIND_NAMES[kind], el("small", {}, "  layers down, heads across"));
  return el("div", { class: "kind", "data-kind": kind }, heading, box);
}

function picture(it, kind, layer, head) {
  const key = `${kind}.${layer}.${head}.${css(weightRgb(0))}`;
  if (!drawn.has(it)) drawn.set(it, new Map());
  const pictures = drawn.get(it);
  if (!pictures.has(key)) {
    const weights = it.head(kind, layer, head);
    const canvas = el("canvas");
    const [n, m] = weights.shape;
    paint(canvas, n, m, (i, j) => weightRgb(weights.data[i * m + j]));
    pictures.set(key, canvas);
  }
  return pictures.get(key);
}

function overlays(it, heads, head, change) {
  const chosen = new Set(heads);
  const set = (values) =>
    change({ overlay: values.length > 1 || values[0] !== head ? values.sort((a, b) => a - b).join(".") : "" });
  const box = el("fieldset", { class: "choice heads" }, el("legend", {}, "heads"));
  for (let one = 0; one < it.model.h; one++) {
    const input = el("input", { type: "checkbox", "data-key": `overlay-${one}` });
    input.checked = chosen.has(one);
    input.addEventListener("change", () => {
      const values = [...chosen].filter((other) => other !== one);
      if (input.checked) values.push(one);
      set(values.length ? values : [one]);
    });
    const swatch = el("i", { class: "swatch", style: { background: headColour(one) } });
    box.append(el("label", {}, input, el("span", {}, swatch, one + 1)));
  }
  const all = Array.from({ length: it.model.h }, (_, i) => i);
  box.append(el("button", { type: "button", class: "small", "data-key": "all", on: { click: () => set(all) } }, "all"));
  return box;
}

// --- lines between words ----------------------------------------------------------------------------------------

function lines(it, kind, layer, heads) {
  const rows = it.rows(kind, state.merged);
  const columns = it.columns(kind, state.merged);
  const weights = heads.map((head) => it.grouped(kind, layer, head, state.merged));
  const colour = (k) => (heads.length > 1 ? headColour(heads[k]) : "var(--line)");
  const canvas = el("canvas", { "aria-hidden": "true" });
  const left = el("div", { class: "words left", role: "group", "aria-label": "words that attend" });
  const right = el("div", { class: "words right", role: "group", "aria-label": "words attended to" });
  const box = el("div", { class: "bipartite" }, left, canvas, right);
  const status = el("p", { class: "status", role: "status" });
  const received = sumsOfColumns(weights, columns.labels.length);
  const most = Math.max(...received, 1e-9);
  const strongest = leastOfStrongest(weights);

  let fixed = state.word >= 0 ? { side: state.column, i: state.word } : null;
  const focus = (side, i) => {
    fixed = { side, i };
    change({ column: side, word: i }, true);
    redraw(fixed);
  };
  const make = (list, side, text, i, extra) => {
    const button = el(
      "button",
      {
        type: "button",
        class: "item",
        tabindex: i === 0 ? 0 : -1,
        "data-key": `${side}-${i}`,
        on: {
          pointerenter: () => redraw({ side, i }),
          pointerleave: () => redraw(fixed),
          focus: () => focus(side, i),
          click: () => focus(side, i),
        },
      },
      word(text),
      el("span", { class: "shares" }),
      extra,
    );
    list.append(button);
  };
  rows.labels.forEach((text, i) => make(left, "row", text, i));
  columns.labels.forEach((text, j) => make(right, "column", text, j, bar(received[j] / most)));
  onArrows(box, (down, across, event) => {
    const item = event.target.closest(".item");
    if (!item) return false;
    const list = across < 0 ? left : across > 0 ? right : item.parentNode;
    const at = [...item.parentNode.children].indexOf(item) + down;
    list.children[clamp(at, 0, list.children.length - 1)].focus();
  });
  box.addEventListener("keydown", (event) => {
    if (event.key !== "Escape" || !fixed) return;
    fixed = null;
    change({ word: -1 }, true);
    redraw(null);
  });

  function redraw(chosen) {
    if (chosen && chosen.i >= (chosen.side === "row" ? rows : columns).labels.length) chosen = null;
    const n = rows.labels.length;
    const m = columns.labels.length;
    const height = Math.max(n, m) * LINE_HEIGHT;
    const scale = devicePixelRatio || 1;
    canvas.width = width * scale;
    canvas.height = height * scale;
    canvas.style.height = `${height}px`;
    const context = canvas.getContext("2d");
    context.scale(scale, scale);
    const style = getComputedStyle(box);
    const y = (i) => (i + 0.5) * LINE_HEIGHT;
    const least = chosen ? LEAST_DRAWN : strongest;
    const nDrawn = weights.reduce((sum, { data }) => sum + data.reduce((count, w) => count + (w >= least), 0), 0);
    const areMany = nDrawn > MANY_LINES && !chosen;
    const thin = areMany ? 1 / scale : 1.6;
    // Thin lines would be pale.
    const opacity = (weight) => weight ** (areMany ? 0.8 : 1) / weights.length ** (areMany ? 0.25 : 0.5);
    weights.forEach(({ data }, k) => {
      context.strokeStyle = heads.length > 1 ? headColour(heads[k]) : style.getPropertyValue("--line");
      const shift = weights.length > 1 ? ((k + 0.5) / weights.length - 0.5) * 8 : 0;
      for (let i = 0; i < n; i++) {
        if (chosen?.side === "row" && chosen.i !== i) continue;
        for (let j = 0; j < m; j++) {
          const weight = data[i * m + j];
          if (weight < least || (chosen?.side === "column" && chosen.i !== j)) continue;
          context.globalAlpha = Math.min(1, chosen ? weight : opacity(weight));
          context.lineWidth = chosen ? 1 + 3 * weight : thin;
          context.beginPath();
          context.moveTo(0, y(i) + shift);
          context.bezierCurveTo(width * 0.3, y(i) + shift, width * 0.7, y(j) + shift, width, y(j) + shift);
          context.stroke();
        }
      }
    });
    [...left.children].forEach((node, i) => mark(node, chosen, "row", i));
    [...right.children].forEach((node, j) => mark(node, chosen, "column", j));
    replace(
      status,
      chosen
        ? sentence(chosen)
        : `Point at a word, or move to it with Tab and the arrow keys, to follow it. Weights below ${percent(strongest)} are not drawn.`,
    );
  }

  function mark(node, chosen, side, i) {
    const isChosen = chosen && chosen.side === side && chosen.i === i;
    node.classList.toggle("chosen", Boolean(isChosen));
    const shares = node.querySelector(".shares");
    shares.replaceChildren();
    if (!chosen || chosen.side === side) return;
    weights.forEach((one, k) => {
      const weight = side === "column" ? one.at(chosen.i, i) : one.at(i, chosen.i);
      const text = heads.length > 1 ? "" : short(weight);
      const title = `head ${heads[k] + 1}: ${weight.toFixed(3)}`;
      const rgb = weightRgb(weight);
      const look =
        heads.length > 1
          ? { background: colour(k), opacity: 0.06 + 0.94 * weight }
          : { background: css(rgb), color: inkOn(rgb) };
      shares.append(el("i", { title, style: look }, text));
    });
  }

  function sentence(chosen) {
    const own = chosen.side === "row" ? rows.labels[chosen.i] : columns.labels[chosen.i];
    const other = chosen.side === "row" ? columns.labels : rows.labels;
    const mean = other.map(
      (_, x) =>
        weights.reduce((sum, one) => sum + (chosen.side === "row" ? one.at(chosen.i, x) : one.at(x, chosen.i)), 0) /
        weights.length,
    );
    const best = mean
      .map((weight, x) => [weight, x])
      .sort((a, b) => b[0] - a[0])
      .slice(0, 3)
      .filter(([weight]) => weight > 0);
    const parts = best.flatMap(([weight, x], k) => [k ? ", " : "", word(other[x]), ` ${weight.toFixed(3)}`]);
    return [word(own), chosen.side === "row" ? " attends to " : " is attended to by ", ...parts];
  }

  let width = 0;
  // It also tells the first width, before anything is painted.
  new ResizeObserver(() => {
    if (canvas.clientWidth === width) return;
    width = canvas.clientWidth;
    redraw(fixed);
  }).observe(canvas);
  const captions = el(
    "div",
    { class: "captions" },
    el("span", {}, kind === "encoder" ? "source, attending" : "translation, attending"),
    el(
      "span",
      {},
      kind === "decoder" ? "decoder's input" : "source, attended to",
      el("small", {}, " (bar: total received)"),
    ),
  );
  return el("div", {}, captions, box, status);
}

// How much each column gets from all rows, in the mean of the heads.
function sumsOfColumns(weights, m) {
  const total = new Array(m).fill(0);
  for (const { data } of weights) for (let at = 0; at < data.length; at++) total[at % m] += data[at] / weights.length;
  return total;
}

// The weight from which lines are drawn, so that there are at most MOST_LINES of them.
function leastOfStrongest(weights) {
  const n = weights.reduce((sum, one) => sum + one.data.length, 0);
  if (n <= MOST_LINES) return LEAST_DRAWN;
  const all = new Float64Array(n);
  weights.forEach((one, k) => all.set(one.data, k * one.data.length));
  return Math.max(LEAST_DRAWN, all.sort()[n - 1 - MOST_LINES]);
}

// --- table ------------------------------------------------------------------------------------------------------

function table(it, kind, layer, heads) {
  const rows = it.rows(kind, state.merged);
  const columns = it.columns(kind, state.merged);
  const each = heads.map((head) => it.grouped(kind, layer, head, state.merged));
  const cell = (i, j) => {
    const weight = each.reduce((sum, one) => sum + one.at(i, j), 0) / each.length;
    const title = `${rows.labels[i]} → ${columns.labels[j]}: ${weight.toFixed(6)}`;
    return { rgb: weightRgb(weight), text: short(weight), title };
  };
  const zero = it.arrays[`attention.${kind}`].scale ? "0 is masked or below 1/510" : "0 is masked";
  const label = heads.length > 1 ? `mean of ${heads.length} heads` : `weights; · is below 0.005, ${zero}`;
  return heatTable({ rows: rows.labels, columns: columns.labels, cell, label });
}

// --- coverage ---------------------------------------------------------------------------------------------------

function coverage(it, layer, heads) {
  const columns = it.columns("cross", state.merged);
  const weights = heads.map((head) => it.grouped("cross", layer, head, state.merged));
  const total = sumsOfColumns(weights, columns.labels.length);
  const most = Math.max(...total);
  const list = el("ol", { class: "coverage" });
  total.forEach((sum, j) => {
    const isLow = sum < 0.2;
    list.append(
      el(
        "li",
        { class: isLow ? "low" : "" },
        word(columns.labels[j]),
        bar(sum / most),
        el("span", {}, sum.toFixed(2), isLow ? " low" : ""),
      ),
    );
  });
  return el(
    "section",
    {},
    el("h3", {}, "Coverage of the source"),
    about(
      "",
      "How much attention each source word got from all steps together, in the heads shown. A low value can mean that the word was not translated, or that another head covers it.",
    ),
    list,
  );
}
