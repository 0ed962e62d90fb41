// The walk: one real forward pass, step by step, every number with the numbers it came from.

import { clamp, el, replace, select, word } from "heed/dom.js";
import { matrixView } from "heed/matrix.js";
import { formula, number, percent } from "heed/parts.js";
import { stages } from "heed/stages.js";
import { change, state } from "heed/state.js";

const QUESTIONS = [
  ["encoder.out", "What goes from the encoder to the decoder?"],
  ["output.probabilities", "What is the decoder's output?"],
  ["decoder.self.masked", "Why the mask?"],
  ["encoder.self.softmax", "What is each head looking at?"],
];

export function walkView(it) {
  const choose = (stack) => {
    const there = it.walk.layers[stack];
    return there.includes(state.wlayer)
      ? state.wlayer
      : there.reduce(
          (best, one) => (Math.abs(one - state.wlayer) < Math.abs(best - state.wlayer) ? one : best),
          there[0],
        );
  };
  const head = clamp(state.whead, 0, it.model.h - 1);
  const layer = { encoder: choose("encoder"), decoder: choose("decoder") };
  const all = stages(it, layer, { encoder: head, decoder: head });
  const at = Math.max(
    0,
    all.findIndex((stage) => stage.id === state.stage),
  );
  const stage = all[at];
  const go = (index) => change({ stage: all[clamp(index, 0, all.length - 1)].id });

  const slider = el("input", {
    type: "range",
    min: 0,
    max: all.length - 1,
    step: 1,
    "aria-label": "stage",
    "data-key": "stage",
    "aria-valuetext": stage.title,
  });
  slider.value = String(at);
  slider.addEventListener("input", () => go(Number(slider.value)));
  const names = el("select", {
    "aria-label": "stage by name",
    "data-key": "names",
    on: { change: () => change({ stage: names.value }) },
  });
  let group = null;
  for (const one of all) {
    if (one.group !== group?.label) names.append((group = el("optgroup", { label: one.group })));
    group.append(el("option", { value: one.id }, one.title));
  }
  names.value = stage.id;
  const stack = stage.id.split(".")[0] === "encoder" ? "encoder" : "decoder";
  const kind = stage.id.startsWith("decoder.cross") ? "cross" : stack;
  const layers = it.walk.layers[stack];
  const box = el(
    "div",
    { class: "walk" },
    el(
      "div",
      { class: "strip questions" },
      QUESTIONS.map(([id, text]) =>
        el("button", { type: "button", "data-stage": id, on: { click: () => change({ stage: id }) } }, text),
      ),
    ),
    el(
      "div",
      { class: "stepper" },
      el(
        "button",
        { type: "button", "data-key": "back", disabled: at === 0, on: { click: () => go(at - 1) } },
        "‹ back",
      ),
      slider,
      el(
        "button",
        { type: "button", "data-key": "next", disabled: at === all.length - 1, on: { click: () => go(at + 1) } },
        "next ›",
      ),
    ),
    el(
      "div",
      { class: "controls" },
      el("label", { class: "select" }, el("span", {}, `stage ${at + 1} of ${all.length}`), names),
      select(
        "layer",
        layers.map((one) => [one, `${one + 1}`]),
        layer[stack],
        (wlayer) => change({ wlayer }),
      ),
      select(
        "head",
        Array.from({ length: it.model.h }, (_, k) => [k, `${k + 1} ${it.role(kind, layer[stack], k)}`]),
        head,
        (whead) => change({ whead }),
      ),
      layers.length < it.model[`${stack}_layers`]
        ? el(
            "small",
            {},
            `To stay small, this file holds the walk of ${layers.length} of ${it.model[`${stack}_layers`]} layers.`,
          )
        : null,
    ),
    el("p", { class: "group" }, stage.group),
    it.isLayerOff(stack, layer[stack]) && stage.group.includes(` layer ${layer[stack] + 1},`)
      ? el(
          "p",
          { class: "off-note", role: "note" },
          `Layer ${layer[stack] + 1} of the ${stack} is switched off: it hands on what it is given. This is what it computes; none of it is used.`,
        )
      : null,
    el("h2", { id: "stage-title" }, stage.title),
    el("p", { class: "equation" }, formula(stage.equation), el("span", { class: "section" }, `  ${stage.section}`)),
    el("p", { class: "about" }, stage.text),
  );
  const made = stage.make();
  box.append(made.list ? list(made.list) : pictures(made, all));
  return box;
}

function list(items) {
  const has = (name) => items.some((one) => one[name] !== null && one[name] !== undefined);
  const heads = [
    "",
    has("from") && "text",
    "piece",
    "id",
    has("writes") && (has("share") ? "most probable" : "writes"),
    has("share") && "probability",
  ].filter((one) => one !== false);
  return el(
    "div",
    { class: "scroll" },
    el(
      "table",
      { class: "plain", id: "pieces" },
      el(
        "thead",
        {},
        el(
          "tr",
          {},
          heads.map((text) => el("th", { scope: "col" }, text)),
        ),
      ),
      el(
        "tbody",
        {},
        items.map((one, i) =>
          el(
            "tr",
            {},
            el("td", {}, i + 1),
            has("from") ? el("td", { class: "text" }, word(one.from)) : null,
            el("td", { class: "text" }, word(one.piece)),
            el("td", {}, one.id),
            has("writes")
              ? el("td", { class: "text" }, word(one.writes), one.isFirst === false ? " (the beam took another)" : "")
              : null,
            has("share") ? el("td", {}, percent(one.share)) : null,
          ),
        ),
      ),
    ),
  );
}

function pictures(made, all) {
  const shown = made.matrices.map((one, k) => [one, k]).filter(([one]) => one);
  const result = made.matrices[made.result];
  const panel = el("div", { class: "panel provenance", role: "status", "aria-live": "polite" });
  const views = [];
  const column = el("input", { type: "number", min: 1, max: result.m, "aria-label": "column" });
  const row = el(
    "select",
    { "aria-label": "position" },
    result.rows.map((text, i) => el("option", { value: i }, `${i + 1} ${text}`)),
  );
  const point = (i, j) => {
    const { uses, sum } = made.explain(i, j);
    change({ i, j }, true);
    views.forEach(([view, k]) => view.light(k === made.result ? { cell: [i, j] } : (uses[k] ?? {})));
    row.value = String(i);
    if (document.activeElement !== column) column.value = String(j + 1);
    replace(
      panel,
      el(
        "p",
        { class: "where" },
        el(
          "b",
          {},
          `${result.name}[${i + 1}, ${j + 1}] = `,
          el("output", { "data-value": result.get(i, j) }, number(result.get(i, j), 4)),
        ),
        "  row: ",
        word(result.rows[i]),
        result.columns ? [",  column: ", word(result.columns[j])] : "",
      ),
      made.note ? el("p", {}, made.note(i)) : null,
      sum,
    );
  };
  for (const [one, k] of shown) {
    const isResult = k === made.result;
    const onCell = isResult
      ? (i, j) => point(i, j)
      : (i, j, isPicked) => {
          views.find(([, other]) => other === k)[0].light({ cell: [i, j] });
          const from = one.from && all.find((stage) => stage.id === one.from);
          if (isPicked && from) return change({ stage: from.id, i, j });
          replace(
            panel,
            el(
              "p",
              { class: "where" },
              el(
                "b",
                {},
                `${one.name}[${i + 1}, ${j + 1}] = `,
                el("output", { "data-value": one.get(i, j) }, number(one.get(i, j), 4)),
              ),
            ),
            from ? el("p", {}, `Click or press Enter to see where it came from: ${from.title}.`) : null,
          );
        };
    const view = matrixView(one, onCell, { isResult });
    views.push([view, k]);
  }
  row.addEventListener("change", () => point(Number(row.value), state.j));
  column.addEventListener("input", () => {
    const j = Number(column.value) - 1;
    if (Number.isInteger(j) && j >= 0 && j < result.m) point(clamp(state.i, 0, result.n - 1), j);
  });
  const i = clamp(state.i, 0, result.n - 1);
  const j = clamp(state.j, 0, result.m - 1);
  point(i, j);
  return el(
    "div",
    {},
    el(
      "div",
      { class: "matrices" },
      views.map(([view]) => view.node),
    ),
    el(
      "div",
      { class: "controls" },
      el("label", { class: "select" }, el("span", {}, "position"), row),
      el("label", { class: "select" }, el("span", {}, "column"), column),
      el("small", {}, "or point at a cell of the framed matrix; arrow keys move on"),
    ),
    panel,
  );
}
