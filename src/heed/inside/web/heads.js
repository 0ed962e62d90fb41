// The head-off map: what the translation loses when one head is switched off; and what heads do, measured on text.

import { css, inkOn, signedRgb, weightRgb } from "heed/colour.js";
import { KINDS, KIND_NAMES } from "heed/data.js";
import { clamp, el, onArrows, word } from "heed/dom.js";
import { ROLE_WORDS, about, heatTable, number, percent, short } from "heed/parts.js";
import { change, state } from "heed/state.js";

const twoDigits = (value) => number(Math.abs(value) < 0.005 ? 0 : value, 2);

export function headsView(it) {
  const totals = Object.fromEntries(
    KINDS.map((kind) => {
      const change = it.array(`heads_off.change.${kind}`);
      const [layers, h, n] = change.shape;
      const sums = Array.from({ length: layers }, (_, l) =>
        Array.from({ length: h }, (_, k) => {
          let total = 0;
          for (let t = 0; t < n; t++) total += change.at(l, k, t);
          return total;
        }),
      );
      return [kind, sums];
    }),
  );
  const most = Math.max(0.5, ...KINDS.flatMap((kind) => totals[kind].flat().map(Math.abs)));
  const worst = KINDS.flatMap((kind) =>
    totals[kind].flatMap((row, l) => row.map((value, k) => [value, kind, l, k])),
  ).sort((a, b) => a[0] - b[0])[0];
  let [kind, layer, head] = state.off.split(".");
  if (!KINDS.includes(kind)) [, kind, layer, head] = worst;
  layer = clamp(Number(layer) || 0, 0, totals[kind].length - 1);
  head = clamp(Number(head) || 0, 0, it.model.h - 1);
  const choose = (...off) => change({ off: off.join(".") });

  const map = (one) => {
    const box = el("div", { class: "grid off", role: "group", "aria-label": `${KIND_NAMES[one]} heads` });
    box.style.setProperty("--heads", it.model.h);
    totals[one].forEach((row, l) => {
      box.append(el("span", { class: "layer", "aria-hidden": "true" }, l + 1));
      row.forEach((value, k) => {
        const rgb = signedRgb(value / most);
        const isChosen = one === kind && l === layer && k === head;
        const role = it.role(one, l, k);
        box.append(
          el(
            "button",
            {
              type: "button",
              class: isChosen ? "cell chosen" : "cell",
              "aria-pressed": String(isChosen),
              "aria-label": `${KIND_NAMES[one]}, layer ${l + 1}, head ${k + 1} off: ${twoDigits(value)}`,
              title: role,
              tabindex: isChosen || (one !== kind && l === 0 && k === 0) ? 0 : -1,
              "data-key": isChosen ? "off" : undefined,
              "data-head": `${one}.${l}.${k}`,
              style: { background: css(rgb), color: inkOn(rgb) },
              on: { click: () => choose(one, l, k) },
            },
            twoDigits(value),
          ),
        );
      });
    });
    onArrows(box, (down, right) => {
      if (one !== kind) return choose(one, 0, 0);
      choose(one, clamp(layer + down, 0, totals[one].length - 1), clamp(head + right, 0, it.model.h - 1));
    });
    return el("div", {}, el("h2", {}, KIND_NAMES[one], el("small", {}, "  layers down, heads across")), box);
  };
  return el(
    "div",
    {},
    about(
      "§3.2.2",
      "Each head switched off once, its part of the concatenation set to zero, everything else as it was: the change of log P of this very translation. ",
      "Orange: the translation becomes less probable without the head. Blue: more probable. One sentence only – another may need other heads.",
    ),
    el("div", { class: "grids three" }, KINDS.map(map)),
    el("div", { class: "beside" }, tokens(it, kind, layer, head), roles(it, kind)),
  );
}

function tokens(it, kind, layer, head) {
  const change = it.array(`heads_off.change.${kind}`).sub(layer, head);
  const role = it.role(kind, layer, head);
  const chosen = it.array(`heads_off.first_choice.${kind}`).sub(layer, head);
  const own = it.array("lens.first_choice").sub(it.model.decoder_layers);
  const rows = it.target.labels.map((text, t) => {
    const value = change.at(t);
    const differs = chosen.at(t) !== own.at(t);
    const rgb = signedRgb(value / 2);
    return el(
      "tr",
      {},
      el("td", { class: "text" }, word(text)),
      el("td", { style: { background: css(rgb), color: inkOn(rgb) } }, number(value)),
      el("td", { class: "text" }, differs ? ["→ ", word(it.piece(chosen.at(t)), { class: "key" })] : ""),
    );
  });
  return el(
    "section",
    {},
    el("h2", {}, `${KIND_NAMES[kind]}, layer ${layer + 1}, head ${head + 1} off${role ? ` – ${role}` : ""}`),
    about(
      "",
      "Word by word, after the same beginning. An arrow names the word that would be the most probable one instead.",
    ),
    el(
      "div",
      { class: "scroll" },
      el(
        "table",
        { class: "plain", id: "off" },
        el(
          "thead",
          {},
          el(
            "tr",
            {},
            ["word", "change of log P", "would become"].map((text) => el("th", { scope: "col" }, text)),
          ),
        ),
        el("tbody", {}, rows),
      ),
    ),
  );
}

function roles(it, kind) {
  if (!it.roles)
    return el(
      "section",
      {},
      el("h2", {}, "What heads do"),
      about("", "Not measured: there was no sample of text. heed inspect --roles-from SOURCE TARGET names one."),
    );
  const names = it.roles.roles[kind];
  const share = it.array(`roles.share.${kind}`);
  const chance = it.array(`roles.chance.${kind}`);
  const [layers, h] = share.shape;
  const rows = [];
  for (let l = 0; l < layers; l++) for (let k = 0; k < h; k++) rows.push([l, k]);
  const label = (l, k) => `${l + 1}.${k + 1} ${it.role(kind, l, k)}`;
  return el(
    "section",
    {},
    el("h2", {}, `What ${KIND_NAMES[kind]} heads do`),
    about(
      "",
      `Measured on ${it.roles.pairs} pairs (`,
      word(it.roles.sample),
      "): how often a head's heaviest weight falls on what. A head is named by the role that is furthest above chance, if it has at least 40 % of the positions; else “mixed”.",
    ),
    el(
      "ul",
      { class: "legend" },
      names.map((name, r) =>
        el("li", {}, el("b", {}, name), `: ${ROLE_WORDS[name]}; by chance ${percent(chance.at(r))}`),
      ),
    ),
    heatTable({
      rows: rows.map(([l, k]) => el("span", {}, label(l, k))),
      columns: names,
      label: "share of positions, by layer.head",
      cell: (i, j) => {
        const value = share.at(rows[i][0], rows[i][1], j);
        return {
          rgb: weightRgb(value),
          text: short(value),
          title: `${label(...rows[i])}, ${names[j]}: ${value.toFixed(3)}`,
        };
      },
    }),
  );
}
