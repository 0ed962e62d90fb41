// Two looks side by side: two models, two checkpoints or two sentences; what they share, what only one has.

import { signedRgb } from "heed/colour.js";
import { KINDS, KIND_NAMES, Tensor, byGroups } from "heed/data.js";
import { choice, clamp, el, replace, select, svg, word } from "heed/dom.js";
import { paired } from "heed/pairs.js";
import { about, heatTable, number, short } from "heed/parts.js";
import { change, state } from "heed/state.js";

const ROW = 24;
const LEAST = 0.05; // of a row's weight; less is not drawn
const WIDTH = 220;

// `controls`: who B is. `b` is null until it is there; `problem`: why it is not.
export function compareView(a, b, controls, problem) {
  const box = el(
    "div",
    {},
    about(
      "",
      "B is another model, another checkpoint or another sentence. ",
      el("span", { class: "tag-a" }, "only A"),
      " ",
      el("span", { class: "tag-b" }, "only B"),
      " ",
      el("span", { class: "tag-both" }, "shared"),
      " The switches above act on A alone, so A with a switch off can be compared with B as trained.",
    ),
    controls,
  );
  if (problem) box.append(el("p", { class: "problem", role: "alert" }, problem));
  if (!b) return box;
  const shared = KINDS.filter((kind) => a.kinds.includes(kind) && b.kinds.includes(kind));
  box.append(
    texts(a, b),
    shared.length ? attention(a, b, shared) : about("", "One of the two has no attention, so only the translations can be compared."),
  );
  return box;
}

function marked(pairs, isSide, other) {
  return pairs
    .filter((one) => one[isSide] >= 0)
    .flatMap((one, i) => [
      i ? " " : "",
      word(one.text, { class: one[other] >= 0 ? "" : isSide === "a" ? "tag-a" : "tag-b" }),
    ]);
}

function texts(a, b) {
  const target = paired(a.target.word_labels.slice(0, -1), b.target.word_labels.slice(0, -1));
  const source = paired(a.source.word_labels.slice(0, -1), b.source.word_labels.slice(0, -1));
  const isSameSource = source.every((one) => one.a >= 0 && one.b >= 0);
  const row = (name, it, side, other) =>
    el(
      "tr",
      {},
      el("th", { scope: "row" }, name),
      isSameSource ? null : el("td", { class: "text" }, marked(source, side, other)),
      el("td", { class: "text" }, marked(target, side, other)),
      el("td", {}, number(it.translation.log_probability)),
      el("td", { class: "text soft" }, `${it.model.name} ${it.lab.checkpoint}`),
    );
  const shared = target.filter((one) => one.a >= 0 && one.b >= 0).length;
  const count = (side, other) => target.filter((one) => one[side] >= 0 && one[other] < 0).length;
  return el(
    "section",
    {},
    el("h2", {}, "Translations"),
    el(
      "div",
      { class: "scroll" },
      el(
        "table",
        { class: "plain", id: "two" },
        el(
          "thead",
          {},
          el(
            "tr",
            {},
            ["", ...(isSameSource ? [] : ["source"]), "translation", "log P", "model"].map((text) =>
              el("th", { scope: "col" }, text),
            ),
          ),
        ),
        el("tbody", {}, row("A", a, "a", "b"), row("B", b, "b", "a")),
      ),
    ),
    el("p", { class: "status" }, `${shared} words shared, ${count("a", "b")} only in A, ${count("b", "a")} only in B`),
  );
}

const weightsOf = (it, kind, layer, head, rows, columns) => {
  if (head >= 0) return byGroups(it.head(kind, layer, head), rows.groups, columns.groups);
  const all = Array.from({ length: it.model.h }, (_, k) => byGroups(it.head(kind, layer, k), rows.groups, columns.groups));
  const mean = all[0].data.map((_, i) => all.reduce((sum, one) => sum + one.data[i], 0) / all.length);
  return new Tensor(mean, all[0].shape);
};

function attention(a, b, kinds) {
  const kind = kinds.includes(state.ckind) ? state.ckind : kinds.at(-1);
  const side = (it, layer, head) => {
    const last = it.layers(kind) - 1;
    return { layer: layer < 0 ? last : clamp(layer, 0, last), head: clamp(head, -1, it.model.h - 1) };
  };
  const at = { a: side(a, state.cal, state.cah), b: side(b, state.cbl, state.cbh) };
  const sides = [
    ["a", a],
    ["b", b],
  ].map(([name, it]) => {
    const rows = it.rows(kind, 1);
    const columns = it.columns(kind, 1);
    return { rows, columns, weights: weightsOf(it, kind, at[name].layer, at[name].head, rows, columns) };
  });
  const rows = paired(sides[0].rows.labels, sides[1].rows.labels);
  const columns = paired(sides[0].columns.labels, sides[1].columns.labels);
  const weight = (k, i, j) => {
    const [r, c] = k === 0 ? [rows[i].a, columns[j].a] : [rows[i].b, columns[j].b];
    return r < 0 || c < 0 ? 0 : sides[k].weights.at(r, c);
  };
  let total = 0;
  let shared = 0;
  rows.forEach((_, i) =>
    columns.forEach((_, j) => {
      total += weight(0, i, j) + weight(1, i, j);
      shared += 2 * Math.min(weight(0, i, j), weight(1, i, j));
    }),
  );
  const pick = (name, it, layerKey, headKey) =>
    el(
      "span",
      { class: "pick" },
      el("b", { class: `tag-${name}` }, name.toUpperCase()),
      select(
        "layer",
        Array.from({ length: it.layers(kind) }, (_, l) => [l, l + 1]),
        at[name].layer,
        (layer) => change({ [layerKey]: layer }),
      ),
      select(
        "head",
        [[-1, "mean of all"], ...Array.from({ length: it.model.h }, (_, h) => [h, h + 1])],
        at[name].head,
        (head) => change({ [headKey]: head }),
      ),
    );
  return el(
    "section",
    {},
    el("h2", {}, "Attention"),
    el(
      "div",
      { class: "controls" },
      choice(
        "of the",
        kinds.map((one) => [one, KIND_NAMES[one]]),
        kind,
        (ckind) => change({ ckind }),
      ),
      choice(
        "show as",
        [
          ["lines", "lines"],
          ["table", "A − B"],
        ],
        state.cmode,
        (cmode) => change({ cmode }),
      ),
      pick("a", a, "cal", "cah"),
      pick("b", b, "cbl", "cbh"),
    ),
    el(
      "p",
      { class: "status", id: "shared" },
      `${((100 * shared) / Math.max(total, 1e-9)).toFixed(0)} % of the attention is shared: both give it to the same words.`,
    ),
    state.cmode === "table" ? table(rows, columns, weight) : lines(rows, columns, weight),
  );
}

const look = (one) => (one.a < 0 ? "tag-b" : one.b < 0 ? "tag-a" : "");

function lines(rows, columns, weight) {
  const height = Math.max(rows.length, columns.length) * ROW;
  const drawing = svg("svg", {
    width: WIDTH,
    height,
    viewBox: `0 0 ${WIDTH} ${height}`,
    preserveAspectRatio: "none",
    "aria-hidden": "true",
  });
  const status = el("p", { class: "status", role: "status" });
  const y = (i) => (i + 0.5) * ROW;
  const draw = (chosen) => {
    drawing.replaceChildren();
    rows.forEach((_, i) => {
      if (chosen?.side === "row" && chosen.i !== i) return;
      columns.forEach((_, j) => {
        if (chosen?.side === "column" && chosen.i !== j) return;
        const [wa, wb] = [weight(0, i, j), weight(1, i, j)];
        const both = Math.min(wa, wb);
        for (const [kind, value, shift] of [
          ["both", both, 0],
          ["a", wa - both, -3],
          ["b", wb - both, 3],
        ]) {
          if (value < LEAST) continue;
          const [from, to] = [y(i) + shift, y(j) + shift];
          drawing.append(
            svg("path", {
              d: `M0 ${from}C${WIDTH * 0.4} ${from} ${WIDTH * 0.6} ${to} ${WIDTH} ${to}`,
              class: `line ${kind}`,
              style: { "stroke-width": 1 + 4 * value, opacity: 0.25 + 0.75 * value },
            }),
          );
        }
      });
    });
    replace(
      status,
      chosen
        ? told(chosen)
        : `Point at a word or move to it with Tab to follow it. Grey: shared; blue: only A; orange, dashed: only B. Less than ${LEAST} is not drawn.`,
    );
  };
  const told = ({ side, i }) => {
    const others = side === "row" ? columns : rows;
    const best = others
      .map((one, j) => [one.text, ...(side === "row" ? [weight(0, i, j), weight(1, i, j)] : [weight(0, j, i), weight(1, j, i)])])
      .sort((one, other) => other[1] + other[2] - one[1] - one[2])
      .slice(0, 3)
      .filter((one) => one[1] + one[2] > 0);
    return [
      word((side === "row" ? rows : columns)[i].text, { class: "key" }),
      ": ",
      best.flatMap(([text, wa, wb], k) => [k ? ", " : "", word(text), ` A ${short(wa)} B ${short(wb)}`]),
    ];
  };
  const list = (all, side) =>
    el(
      "div",
      { class: `words ${side === "row" ? "left" : "right"}` },
      all.map((one, i) =>
        el(
          "button",
          {
            type: "button",
            class: `item ${look(one)}`,
            "data-key": `${side}-${i}`,
            on: {
              pointerenter: () => draw({ side, i }),
              pointerleave: () => draw(null),
              focus: () => draw({ side, i }),
              blur: () => draw(null),
            },
          },
          word(one.text),
        ),
      ),
    );
  draw(null);
  return el("div", {}, el("div", { class: "bipartite two" }, list(rows, "row"), drawing, list(columns, "column")), status);
}

function table(rows, columns, weight) {
  return heatTable({
    rows: rows.map((one) => word(one.text, { class: look(one) })),
    columns: columns.map((one) => one.text),
    label: "weight of A minus weight of B; blue: more in A, orange: more in B",
    cell: (i, j) => {
      const [wa, wb] = [weight(0, i, j), weight(1, i, j)];
      const rgb = signedRgb(wa - wb);
      const text = Math.abs(wa - wb) < 0.005 ? "·" : number(wa - wb, 2).replace("0.", ".");
      return { rgb, text, title: `${rows[i].text} → ${columns[j].text}: A ${wa.toFixed(3)}, B ${wb.toFixed(3)}` };
    },
  });
}

