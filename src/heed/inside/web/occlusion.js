// What the translation misses when a source word is left out, beside what the decoder attended to.

import { signedRgb, weightRgb } from "heed/colour.js";
import { Tensor, byGroups } from "heed/data.js";
import { el, select, word } from "heed/dom.js";
import { about, heatTable, number, short } from "heed/parts.js";
import { change, state } from "heed/state.js";

export function occlusionView(it) {
  const { source, target } = it;
  const changes = it.array("occlusion.change");
  const words = source.words.slice(0, -1); // the end token is never left out
  const rows = target.word_labels;
  const lost = (i, j) => target.words[i].reduce((sum, t) => sum + changes.at(j, t), 0);
  const hasAttention = it.kinds.includes("cross");
  const layers = hasAttention ? it.layers("cross") : 0;
  const all = state.olayer < 0 || state.olayer >= layers;
  const mean = hasAttention ? meanOfHeads(it, all ? -1 : state.olayer) : null;
  const attended = (i, j) => mean.at(i, j);

  const verdicts = rows.map((_, i) => {
    const best = (value) => words.reduce((top, _, j) => (value(i, j) > value(i, top) ? j : top), 0);
    const byAttention = hasAttention ? best(attended) : -1;
    const byOcclusion = best((a, b) => -lost(a, b));
    const matters = lost(i, byOcclusion) < -0.1; // else no source word is missed
    return { byAttention, byOcclusion, matters, disagrees: hasAttention && matters && byAttention !== byOcclusion };
  });
  const n = verdicts.filter((one) => one.disagrees).length;
  const mark = (i) => {
    const { disagrees } = verdicts[i];
    return el(
      "span",
      { class: "verdict" },
      disagrees ? el("b", { class: "differs", title: "attention and occlusion disagree" }, "≠ ") : null,
      word(rows[i]),
    );
  };
  const labels = source.word_labels.slice(0, -1);
  const attention = hasAttention && heatTable({
    rows: rows.map((_, i) => mark(i)),
    columns: labels,
    label: all
      ? "attention: mean of all heads of all layers"
      : `attention: mean of the heads of layer ${state.olayer + 1}`,
    cell: (i, j) => ({
      rgb: weightRgb(attended(i, j)),
      text: short(attended(i, j)),
      title: `${rows[i]} → ${labels[j]}: ${attended(i, j).toFixed(3)}`,
      mark: verdicts[i].byAttention === j ? "top" : "",
    }),
  });
  const occlusion = heatTable({
    rows: rows.map((_, i) => mark(i)),
    columns: labels,
    label: "occlusion: change of the word's log P without the source word",
    cell: (i, j) => ({
      rgb: signedRgb(lost(i, j) / 4),
      text: Math.abs(lost(i, j)) < 0.05 ? "·" : number(lost(i, j), 1),
      title: `${rows[i]} without ${labels[j]}: ${number(lost(i, j))}`,
      mark: verdicts[i].matters && verdicts[i].byOcclusion === j ? "top" : "",
    }),
  });
  if (!hasAttention)
    return el(
      "div",
      {},
      about(
        "",
        "Leave a source word out, ask for the same translation, and see which of its words become less probable. Outlined: each row's strongest. ",
        "This model has no attention to compare it with.",
      ),
      occlusion,
      whatChanges(it, labels),
    );
  return el(
    "div",
    {},
    about(
      "",
      "Attention says where a step looked, not what it needed: values are mixed again in every layer, and a head's output may be ignored. ",
      "So leave a source word out, ask for the same translation, and see which of its words become less probable. Outlined: each row's strongest. ",
      el("b", {}, "≠"),
      ` marks words for which the two disagree: here ${n} of ${rows.length}.`,
    ),
    el(
      "div",
      { class: "controls" },
      select(
        "attention of",
        [[-1, "all layers"], ...Array.from({ length: layers }, (_, l) => [l, `layer ${l + 1}`])],
        all ? -1 : state.olayer,
        (olayer) => change({ olayer }),
      ),
    ),
    el(
      "div",
      { class: "beside" },
      el("section", {}, el("h2", {}, "Attention"), attention),
      el("section", {}, el("h2", {}, "Occlusion"), occlusion),
    ),
    whatChanges(it, labels),
  );
}

// Attention between words, the mean of the heads of a layer (-1: of all), computed once.
function meanOfHeads(it, layer) {
  const name = `mean.cross.${layer}`;
  if (!it.cache.has(name)) {
    const weights = it.array("attention.cross");
    const [layers, h, n, m] = weights.shape;
    const [begin, end] = layer < 0 ? [0, layers * h] : [layer * h, (layer + 1) * h];
    const total = new Float64Array(n * m);
    for (let one = begin; one < end; one++)
      for (let at = 0; at < n * m; at++) total[at] += weights.data[one * n * m + at] / (end - begin);
    it.cache.set(name, byGroups(new Tensor(total, [n, m]), it.target.words, it.source.words));
  }
  return it.cache.get(name);
}

function whatChanges(it, labels) {
  const chosen = it.array("occlusion.first_choice");
  const changes = it.array("occlusion.change");
  const items = labels.map((label, j) => {
    const other = [];
    it.target.labels.forEach((text, t) => {
      if (chosen.at(j, t) !== it.next_words[t].ids[0])
        other.push(other.length ? ", " : "", word(text), " → ", word(it.piece(chosen.at(j, t)), { class: "key" }));
    });
    let total = 0;
    for (let t = 0; t < it.target.labels.length; t++) total += changes.at(j, t);
    return el(
      "tr",
      {},
      el("td", { class: "text" }, word(label)),
      el("td", {}, number(total, 2)),
      el("td", { class: "text" }, other.length ? other : "nothing"),
    );
  });
  return el(
    "section",
    {},
    el("h2", {}, "What would be written instead"),
    about("", "The most probable piece at each step, after the same beginning, without the source word."),
    el(
      "div",
      { class: "scroll" },
      el(
        "table",
        { class: "plain", id: "without" },
        el(
          "thead",
          {},
          el(
            "tr",
            {},
            ["without", "log P", "becomes"].map((text) => el("th", { scope: "col" }, text)),
          ),
        ),
        el("tbody", {}, items),
      ),
    ),
  );
}
