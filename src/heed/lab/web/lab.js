// The lab: a sentence to type, its translation, switches, and the views of the page, drawn anew as you type.

import { absent } from "heed/absent.js";
import { Refused, client, inspected, models as askModels } from "heed/api.js";
import { compareView } from "heed/compare.js";
import { picker, searchControls, switchboard, switchesOff } from "heed/controls.js";
import { el, replace } from "heed/dom.js";
import { VIEWS as INSIDE, chooseTab, footer, shapeOf, tabList } from "heed/main.js";
import { about, number } from "heed/parts.js";
import { change, follow, remember, state } from "heed/state.js";
import { trainingView } from "heed/training.js";
import { translationPart } from "heed/translation.js";
import { whyView } from "heed/why.js";

const PAUSE = 120; // milliseconds without a key before a sentence is translated
const LOOK_AGAIN = 3000; // at the list of models

remember({
  text: "The cat chased its tail.",
  model: 0,
  ckpt: "best",
  heads: "",
  layers: "",
  causal: 1,
  positions: 1,
  beam: 0, // the run's
  salpha: -1, // the run's
  temp: 0, // beam search
  seed: 1,
  begin: "",
  ids: "",
  bmodel: -1, // as A
  bckpt: "best",
  btext: "",
  ckind: "cross",
  cmode: "lines",
  cal: -1,
  cah: -1,
  cbl: -1,
  cbh: -1,
  wword: 0,
  wthat: "",
  wid: -1,
  trun: -1,
  tsent: 0,
  tlayer: -1,
  thead: -1,
  tframe: -1,
});

const VIEWS = { ...INSIDE, why: ["Why"], compare: ["Compare"], training: ["Training"] };
const NEEDS = { heads: "measures", occlusion: "measures", walk: "walk" };

let models = [];
let a = null;
let b = null;
let problem = "";
let problemB = "";
let asked = 0; // the number of the newest question
let timer = 0;

// --- the parts of the page ------------------------------------------------------------------------------------

const source = el("textarea", {
  id: "source",
  rows: 2,
  dir: "auto",
  spellcheck: "false",
  autocomplete: "off",
  maxlength: 4000,
  "data-key": "source",
});
const model = picker("model", "model", (value) => choose({ model: Number(value), ckpt: "best", heads: "", layers: "" }));
const checkpoint = picker("checkpoint", "ckpt", (ckpt) => choose({ ckpt }));
const alert = el("p", { class: "problem", role: "alert", hidden: true });
const facts = el("p", { class: "facts", role: "status", id: "facts" });
const switches = switchboard(() => refresh());
const search = searchControls(() => refresh(PAUSE));
const translation = translationPart(() => refresh(PAUSE));
const main = el("main", { id: "view", tabindex: -1 });
const tabs = tabList(VIEWS);
const foot = el("div");

source.addEventListener("input", () => {
  change({ text: source.value, begin: "", ids: "", word: -1, node: -1 }, true);
  refresh(PAUSE);
});

const bModel = picker("model B", "bmodel", (value) => choose({ bmodel: Number(value), bckpt: "best" }));
const bCheckpoint = picker("checkpoint B", "bckpt", (bckpt) => choose({ bckpt }));
const bSource = el("input", { type: "text", id: "bsource", dir: "auto", "data-key": "bsource", autocomplete: "off" });
bSource.addEventListener("input", () => {
  change({ btext: bSource.value }, true);
  refresh(PAUSE);
});
const bControls = el(
  "div",
  { class: "controls" },
  bModel.node,
  bCheckpoint.node,
  el("label", { class: "select wide" }, el("span", {}, "sentence B"), bSource),
);

function choose(values) {
  change(values, true);
  controls();
  refresh();
}

// --- asking ---------------------------------------------------------------------------------------------------

const sideA = () => ({
  client,
  model: state.model,
  checkpoint: state.ckpt,
  text: state.text,
  switches: switchesOff(),
  prefix: state.ids ? state.ids.split(".").map(Number) : state.begin,
  ...(state.temp > 0 ? { temperature: state.temp, seed: state.seed } : { beam: state.beam || null }),
  alpha: state.salpha < 0 ? null : state.salpha,
});

const sideB = () => ({
  ...sideA(),
  client: `${client}b`,
  model: bNumber(),
  checkpoint: state.bckpt,
  text: state.btext.trim() ? state.btext : state.text,
  switches: {},
  prefix: "",
});

const bNumber = () => (state.bmodel >= 0 && state.bmodel < models.length ? state.bmodel : state.model);
const parts = () => (NEEDS[state.view] ? [NEEDS[state.view]] : []);

// What a view needs, and whether it is there.
function isComplete(it) {
  const need = parts()[0];
  if (!need) return true;
  return need === "walk" ? !it.isTransformer || Boolean(it.walk.layers.encoder) : it.has("occlusion.change");
}

function refresh(pause = 0) {
  clearTimeout(timer);
  timer = setTimeout(ask, pause);
}

async function ask() {
  const own = ++asked;
  document.documentElement.dataset.busy = "yes";
  const [first, second] = await Promise.all([
    answer({ ...sideA(), parts: parts() }),
    state.view === "compare" ? answer(sideB()) : { it: null },
  ]);
  if (own !== asked || first.isStale) return;
  delete document.documentElement.dataset.busy;
  problem = first.problem ?? "";
  problemB = second.problem ?? "";
  if (first.it) a = first.it;
  if (!second.isStale) b = second.it ?? null;
  document.documentElement.dataset.answered = own;
  draw();
}

async function answer(body) {
  if (!state.text.trim()) return { problem: "Type a sentence." };
  try {
    return { it: await inspected(body) };
  } catch (error) {
    if (!(error instanceof Refused)) throw error;
    return { problem: error.message, isStale: error.isStale };
  }
}

// --- drawing --------------------------------------------------------------------------------------------------

// Whatever the state says, in the controls.
function controls() {
  const chosen = models[state.model] ?? models[0];
  const named = models.map((one, i) => [i, `${one.name}${one.problem ? " (!)" : ""}`]);
  const names = (one, chosen) => {
    const there = ["best", "last", ...(one?.checkpoints ?? [])];
    const gone = there.includes(chosen) ? [] : [[chosen, `${chosen} (gone)`]];
    return [...there.map((name) => [name, name]), ...gone];
  };
  model.show(named, state.model);
  checkpoint.show(names(chosen, state.ckpt), state.ckpt);
  bModel.show([[-1, "as A"], ...named], state.bmodel);
  bCheckpoint.show(names(models[bNumber()], state.bckpt), state.bckpt);
  switches.show(chosen?.shape);
  search.show(chosen?.search);
  if (document.activeElement !== source) source.value = state.text;
  if (document.activeElement !== bSource) bSource.value = state.btext;
  bSource.placeholder = "as A";
}

function draw() {
  if (!(state.view in VIEWS)) state.view = "attention";
  chooseTab(tabs, main);
  const tab = tabs.querySelector("[aria-selected=true]");
  if (tab.offsetLeft < tabs.scrollLeft || tab.offsetLeft + tab.offsetWidth > tabs.scrollLeft + tabs.clientWidth)
    tabs.scrollLeft = tab.offsetLeft - 20;
  alert.hidden = !problem;
  alert.textContent = problem;
  document.documentElement.classList.toggle("stale", Boolean(problem));
  if (a) {
    translation.show(a);
    const { model: m, lab } = a;
    replace(
      facts,
      `${m.name} ${lab.checkpoint}: ${shapeOf(a)}. `,
      `log P = ${number(a.translation.log_probability)}`,
      a.translation.finished ? "" : " (stopped by the length limit: its </s> was never written)",
      `. ${lab.milliseconds} ms.`,
    );
    replace(foot, footer(a));
    document.title = `${a.source.text} – heed lab`;
  }
  const focused = document.activeElement?.dataset?.key;
  replace(main, view());
  if (focused) main.querySelector(`[data-key="${CSS.escape(focused)}"]`)?.focus({ preventScroll: true });
  document.documentElement.dataset.ready = "yes";
}

function view() {
  if (state.view === "training") return trainingView(models);
  if (!a) return problem ? null : about("", "Computing …");
  if (state.view === "why") return whyView(a, sideA);
  if (state.view === "compare") return compareView(a, b, bControls, problemB);
  const why = absent(a, state.view);
  if (why) return why;
  if (state.view === "beam" && a.lab.is_drawn)
    return about("", "This translation was drawn at random, token by token: there is no beam to show. Choose beam search above.");
  if (!isComplete(a)) return about("", "Computing …");
  const shown = INSIDE[state.view][1](a);
  const isOpen = state.view === "attention" || state.view === "layers";
  if (!state.causal && isOpen)
    return [
      about(
        "§3.2.3",
        "Without the causal mask these pictures are of the finished translation: every step sees all of it, also the word it is to write. ",
        "The search above saw only what was written so far, but each of those words saw the later ones.",
      ),
      shown,
    ];
  return shown;
}

// A change of view may need more than is there.
function onState() {
  controls();
  if (a && !isComplete(a)) refresh();
  if (state.view === "compare" && !b) refresh();
  draw();
}

async function lookAtModels(isFirst = false) {
  if (document.hidden && !isFirst) return setTimeout(lookAtModels, LOOK_AGAIN);
  const before = JSON.stringify(models);
  try {
    models = await askModels();
    if (problem.startsWith("The lab does not answer")) refresh();
  } catch (error) {
    if (!(error instanceof Refused)) throw error;
    problem = error.message;
    draw();
  }
  setTimeout(lookAtModels, LOOK_AGAIN);
  if (before === JSON.stringify(models)) return;
  if (state.model >= models.length) state.model = 0;
  controls();
  const now = models[state.model];
  const then = isFirst ? null : JSON.parse(before)[state.model];
  if (then && JSON.stringify(then.checkpoints) !== JSON.stringify(now.checkpoints)) {
    if (state.ckpt === "last" || problem) refresh(); // there is a newer one, or the first
  } else if (then && then.state !== now.state && now.state === "deleted") refresh();
}

replace(
  document.getElementById("page"),
  el(
    "header",
    {},
    el("h1", {}, "heed lab", el("span", {}, " – inside a translation, live")),
    el("div", { class: "controls" }, model.node, checkpoint.node),
    el("div", { class: "translation" }, el("label", { class: "tag", for: "source" }, "source"), el("div", { class: "grow" }, source)),
    translation.node,
    alert,
    facts,
    el("div", { class: "boards" }, switches.node, search.node),
  ),
  tabs,
  main,
  foot,
);
follow(() => onState());
source.value = state.text;
matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => draw());
await lookAtModels(true);
controls();
await ask();
