// The page: the sentence, its translation, and one view at a time.

import { absent } from "heed/absent.js";
import { attentionView } from "heed/attention.js";
import { beamView } from "heed/beam.js";
import { Inspection, embedded } from "heed/data.js";
import { el, replace, word } from "heed/dom.js";
import { headsView } from "heed/heads.js";
import { layersView } from "heed/layers.js";
import { occlusionView } from "heed/occlusion.js";
import { number } from "heed/parts.js";
import { change, follow, remember, state } from "heed/state.js";
import { walkView } from "heed/walk.js";

export const VIEWS = {
  attention: ["Attention", attentionView],
  beam: ["Beam", beamView],
  walk: ["Walk", walkView],
  heads: ["Heads", headsView],
  occlusion: ["Occlusion", occlusionView],
  layers: ["Layers", layersView],
};

// Shows an inspection in `root`. `source`: its summary and bytes; left out, those in the page itself.
export async function open(root, source) {
  const inspection = new Inspection(source ?? (await embedded()));
  const main = el("main", { id: "view", tabindex: -1 });
  const tabs = tabList(VIEWS);
  replace(root, header(inspection), tabs, main, footer(inspection));

  const draw = () => {
    if (!(state.view in VIEWS)) state.view = "attention";
    chooseTab(tabs, main);
    const focused = document.activeElement?.dataset?.key;
    replace(main, absent(inspection, state.view) ?? VIEWS[state.view][1](inspection));
    if (focused) main.querySelector(`[data-key="${CSS.escape(focused)}"]`)?.focus({ preventScroll: true });
  };
  if (!inspection.kinds.length) remember({ view: "beam" }); // what a model without attention has to show first
  follow(draw);
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", draw);
  draw();
  document.documentElement.dataset.ready = "yes";
}

// One tab for each view, by name: [title, ...].
export function tabList(views) {
  const tabs = el("div", { class: "tabs", role: "tablist", "aria-label": "Views" });
  for (const [name, [title]] of Object.entries(views)) {
    const tab = el("button", { role: "tab", id: `tab-${name}`, "aria-controls": "view", type: "button" }, title);
    tab.addEventListener("click", () => change({ view: name }));
    tabs.append(tab);
  }
  tabs.addEventListener("keydown", (event) => {
    const names = Object.keys(views);
    const step = { ArrowLeft: -1, ArrowRight: 1 }[event.key];
    if (!step) return;
    event.preventDefault();
    change({ view: names[(names.indexOf(state.view) + step + names.length) % names.length] });
    tabs.querySelector("[aria-selected=true]").focus();
  });
  return tabs;
}

export function chooseTab(tabs, main) {
  for (const tab of tabs.children) {
    const isChosen = tab.id === `tab-${state.view}`;
    tab.setAttribute("aria-selected", isChosen);
    tab.tabIndex = isChosen ? 0 : -1;
  }
  main.setAttribute("aria-labelledby", `tab-${state.view}`);
}

function header(it) {
  const { model, translation } = it;
  return el(
    "header",
    {},
    el("h1", {}, "heed", el("span", {}, " – inside one translation")),
    el("p", { class: "pair" }, el("span", { class: "tag" }, "source"), word(it.source.text, { class: "sentence" })),
    el(
      "p",
      { class: "pair" },
      el("span", { class: "tag" }, "translation"),
      word(translation.text, { class: "sentence" }),
    ),
    el(
      "p",
      { class: "facts" },
      `${model.name}: ${shapeOf(it)}, vocabulary ${model.vocabulary}. log P = ${number(translation.log_probability)}`,
      translation.finished ? "" : " (stopped by the length limit: its </s> was never written)",
    ),
  );
}

// The size of a model in words.
export function shapeOf({ model, isTransformer }) {
  const layers = `${model.encoder_layers} + ${model.decoder_layers} layers`;
  const heads = isTransformer ? `, ${model.h} heads` : "";
  const size = `, d_model ${model.d_model}`;
  return isTransformer
    ? `${layers}${heads}${size}, d_ff ${model.d_ff}, d_k ${model.d_k}, ${model.norm}-norm`
    : `model.kind = "${model.kind}", ${layers}${heads}${size}`;
}

export function footer(it) {
  return el(
    "footer",
    {},
    it.isTransformer
      ? `Attention weights are those of the formula, as ${it.walk.attention}; the fused kernels that translate differ in the last bits. Numbers of the walk are stored as ${it.walk.precision}: three digits. `
      : "",
    `Sections are those of “Attention Is All You `,
    "Need” (Vaswani et al. 2017). Keys: Tab moves between controls, arrow keys within them; the link holds what you see.",
  );
}
