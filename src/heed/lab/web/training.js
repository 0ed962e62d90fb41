// A run as it trains: its curves, and the attention of fixed sentences at every checkpoint as a film strip.

import { Refused, watched } from "heed/api.js";
import { paint, weightRgb } from "heed/colour.js";
import { clamp, el, replace, select, svg, word } from "heed/dom.js";
import { about, heatTable, number, short } from "heed/parts.js";
import { change, state } from "heed/state.js";

const EVERY = 1500; // milliseconds between two looks
const strips = new Map(); // by number of the run: its frames and the last status
let current = null; // what is shown: {number, strip, body}
let isFollowing = false;

export function trainingView(models) {
  const number = clamp(state.trun < 0 ? state.model : state.trun, 0, models.length - 1);
  if (!strips.has(number)) strips.set(number, { frames: new Map(), told: null });
  const strip = strips.get(number);
  const body = el("div", { id: "strip" });
  const runs = select(
    "run",
    models.map((one, i) => [i, one.name]),
    number,
    (trun) => change({ trun, tframe: -1 }),
  );
  runs.querySelector("select").dataset.key = "trun";
  current = { number, strip, body };
  draw();
  queueMicrotask(() => (strip.told ? follow() : look().then(follow)));
  return el(
    "div",
    {},
    about(
      "",
      "What a run has recorded so far, and the encoder-decoder attention of a few sentences of its validation text at every checkpoint, ",
      "while the model is made to write the reference, so that frames can be compared. It updates by itself; a checkpoint that the training deletes stays here as long as the lab runs.",
    ),
    el("div", { class: "controls" }, runs),
    body,
  );
}

function draw() {
  const { strip, body } = current;
  const focused = document.activeElement?.dataset?.key;
  replace(body, strip.told ? contents(strip) : el("p", {}, "Asking …"));
  if (focused) body.querySelector(`[data-key="${CSS.escape(focused)}"]`)?.focus({ preventScroll: true });
}

// Asks for news of the run that is shown, and draws them.
async function look() {
  const { number, strip } = current;
  const before = JSON.stringify(strip.told);
  try {
    const told = await watched(number, [...strip.frames.keys()]);
    for (const frame of told.frames) strip.frames.set(frame.step, unpacked(frame));
    for (const step of [...strip.frames.keys()]) if (!told.steps.includes(step)) strip.frames.delete(step);
    strip.told = { ...told, frames: null };
  } catch (error) {
    if (!(error instanceof Refused)) throw error;
    strip.told = { ...(strip.told ?? { curves: {}, sentences: [], failed: {} }), state: "", problem: error.message };
  }
  if (before !== JSON.stringify(strip.told) && current.strip === strip && current.body.isConnected) draw();
}

async function follow() {
  if (isFollowing) return;
  isFollowing = true;
  while (current.body.isConnected) {
    if (!document.hidden) await look();
    await new Promise((go) => setTimeout(go, EVERY));
  }
  isFollowing = false;
}

function unpacked(frame) {
  return {
    ...frame,
    attention: frame.attention.map(({ shape, bytes }) => ({
      shape,
      data: Uint8Array.from(atob(bytes), (one) => one.charCodeAt(0)),
    })),
  };
}

// Weights of a layer and head (-1: the mean of all) as rows of numbers from 0 to 1.
function weights({ shape, data }, layer, head) {
  const [, heads, n, m] = shape;
  const chosen = head < 0 ? Array.from({ length: heads }, (_, h) => h) : [clamp(head, 0, heads - 1)];
  const at = (h, i, j) => data[((layer * heads + h) * n + i) * m + j] / 255;
  return (i, j) => chosen.reduce((sum, h) => sum + at(h, i, j), 0) / chosen.length;
}

function contents(strip) {
  const { told, frames } = strip;
  const steps = [...frames.keys()].sort((a, b) => a - b);
  const progress = told.max_steps ? `, step ${told.step} of ${told.max_steps}` : "";
  const at = state.tframe < 0 ? steps.length - 1 : clamp(state.tframe, 0, steps.length - 1);
  const found = [
    el("p", { id: "run-state", role: "status" }, told.state ? `${told.state}${progress}` : "", told.waiting ? " – computing frames …" : ""),
  ];
  if (told.problem) found.push(el("p", { class: "problem", role: "alert" }, told.problem));
  for (const [step, message] of Object.entries(told.failed))
    found.push(el("p", { class: "problem" }, `step ${step}: ${message}`));
  found.push(
    el(
      "div",
      { class: "curves" },
      Object.entries(told.curves)
        .filter(([, points]) => points.length)
        .map(([title, points]) => curve(title, points, steps[at])),
    ),
  );
  if (told.state === "shipped")
    found.push(about("", "This model was exported to be shipped: the record of its training is not part of it."));
  else if (!told.has_text)
    found.push(about("", "The run names no validation text that can be read, so there are no sentences to follow."));
  if (steps.length && told.sentences.length) found.push(film(told, frames, steps, at));
  else if (!told.problem && told.has_text && told.state !== "shipped") found.push(about("", "No frame yet: the first appears with the first checkpoint."));
  return found;
}

function film(told, frames, steps, at) {
  const sentence = clamp(state.tsent, 0, told.sentences.length - 1);
  const { source, target, text } = told.sentences[sentence];
  const hasPictures = frames.get(steps[0]).attention.length > 0; // of a model with attention
  const [layers, heads] = hasPictures ? frames.get(steps[0]).attention[sentence].shape : [0, 0];
  const layer = state.tlayer < 0 ? layers - 1 : clamp(state.tlayer, 0, layers - 1);
  const head = clamp(state.thead, -1, heads - 1);
  const choose = (index) => change({ tframe: index >= steps.length - 1 ? -1 : index });
  const keyed = (node, key) => {
    node.querySelector("select").dataset.key = key;
    return node;
  };
  const slider = el("input", {
    type: "range",
    min: 0,
    max: steps.length - 1,
    step: 1,
    id: "frame",
    "data-key": "frame",
    "aria-label": "checkpoint",
    "aria-valuetext": `step ${steps[at]}`,
  });
  slider.value = String(at);
  slider.addEventListener("input", () => choose(Number(slider.value)));
  const thumbs = el("div", { class: "film", tabindex: -1 });
  steps.forEach((step, i) => {
    let canvas = null;
    if (hasPictures) {
      const weight = weights(frames.get(step).attention[sentence], layer, head);
      canvas = el("canvas", { "aria-hidden": "true" });
      paint(canvas, target.length, source.length, (r, c) => weightRgb(weight(r, c)));
    }
    thumbs.append(
      el(
        "button",
        {
          type: "button",
          class: i === at ? "frame chosen" : "frame",
          "aria-pressed": String(i === at),
          "aria-label": `step ${step}`,
          tabindex: -1,
          "data-step": step,
          on: { click: () => choose(i) },
        },
        canvas,
        el("span", {}, step),
      ),
    );
  });
  const frame = frames.get(steps[at]);
  const weight = hasPictures ? weights(frame.attention[sentence], layer, head) : null;
  const value = (i, j) => short(weight(i, j) || 1e-6); // to 1/255, so never exactly 0
  requestAnimationFrame(() => {
    const chosen = thumbs.querySelector(".chosen");
    if (chosen) thumbs.scrollLeft = chosen.offsetLeft - thumbs.clientWidth / 2;
  });
  return el(
    "section",
    {},
    el("h2", {}, "Film strip"),
    el(
      "div",
      { class: "controls" },
      keyed(
        select(
          "sentence",
          told.sentences.map((one, i) => [i, one.text]),
          sentence,
          (tsent) => change({ tsent }),
        ),
        "tsent",
      ),
      hasPictures && keyed(
        select(
          "layer",
          Array.from({ length: layers }, (_, l) => [l, l + 1]),
          layer,
          (tlayer) => change({ tlayer }),
        ),
        "tlayer",
      ),
      hasPictures && keyed(
        select(
          "head",
          [[-1, "mean of all"], ...Array.from({ length: heads }, (_, h) => [h, h + 1])],
          head,
          (thead) => change({ thead }),
        ),
        "thead",
      ),
    ),
    thumbs,
    el("div", { class: "slider" }, el("span", {}, `step ${steps[at]}`), slider),
    el(
      "dl",
      { class: "then" },
      el("dt", {}, "source"),
      el("dd", {}, word(text)),
      el("dt", {}, "reference"),
      el("dd", {}, word(target.slice(0, -1).join(" "))),
      el("dt", {}, `at step ${steps[at]}`),
      el("dd", { id: "then" }, word(frame.translations[sentence]), el("span", { class: "soft" }, " (greedy)")),
    ),
    !hasPictures && about("", "This model has no attention, so each frame is its translation alone."),
    hasPictures && heatTable({
      rows: target,
      columns: source,
      label: `attention at step ${steps[at]}, layer ${layer + 1}, ${head < 0 ? "mean of all heads" : `head ${head + 1}`}, to 1/255`,
      cell: (i, j) => ({
        rgb: weightRgb(weight(i, j)),
        text: value(i, j),
        title: `${target[i]} → ${source[j]}: ${weight(i, j).toFixed(3)}`,
      }),
    }),
  );
}

// A curve over steps, with the chosen step marked.
function curve(title, points, marked) {
  const [width, height, left, bottom, top] = [380, 150, 44, 20, 10];
  const steps = points.map((one) => one[0]);
  const values = points.map((one) => one[1]);
  const [first, last] = [Math.min(...steps), Math.max(...steps)];
  const [low, high] = [Math.min(...values), Math.max(...values)];
  const share = (value, from, to) => (to > from ? (value - from) / (to - from) : 0.5);
  const x = (step) => left + share(step, first, last) * (width - left - 12);
  const y = (value) => height - bottom - share(value, low, high) * (height - bottom - top);
  const label = (value) => number(value, Math.abs(value) >= 10 ? 1 : 2);
  const drawing = svg(
    "svg",
    {
      viewBox: `0 0 ${width} ${height}`,
      role: "img",
      "aria-label": `${title}: ${label(values[0])} at step ${first}, ${label(values.at(-1))} at step ${last}`,
    },
    svg("path", { class: "axis", d: `M${left} ${top}V${height - bottom}H${width - 8}` }),
    high > low ? svg("text", { x: left - 5, y: y(high) + 8, class: "end" }, label(high)) : null,
    svg("text", { x: left - 5, y: y(low) + (high > low ? 1 : 4), class: "end" }, label(low)),
    svg("text", { x: x(first), y: height - 5, class: last > first ? "" : "middle" }, first),
    last > first ? svg("text", { x: width - 10, y: height - 5, class: "end" }, last) : null,
  );
  if (marked !== undefined && marked >= first && marked <= last)
    drawing.append(svg("path", { class: "now", d: `M${x(marked)} ${top}V${height - bottom}` }));
  drawing.append(svg("path", { class: "values", d: points.map(([s, v], i) => `${i ? "L" : "M"}${x(s)} ${y(v)}`).join("") }));
  if (points.length < 30) for (const [s, v] of points) drawing.append(svg("circle", { cx: x(s), cy: y(v), r: 3 }));
  return el("figure", { class: "curve" }, el("figcaption", {}, el("b", {}, title), ` ${label(values.at(-1))}`), drawing);
}
