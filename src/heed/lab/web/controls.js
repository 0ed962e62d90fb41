// Controls of the lab: pickers, the switchboard, the search.

import { KINDS, KIND_NAMES } from "heed/data.js";
import { clamp, el, onArrows, replace } from "heed/dom.js";
import { change, state } from "heed/state.js";

// A choice by name; `options` are [value, text, isDisabled].
export function picker(label, key, choose) {
  const box = el("select", { id: key, "data-key": key, on: { change: () => choose(box.value) } });
  const node = el("label", { class: "select" }, el("span", {}, label), box);
  let shown = "";
  const show = (options, chosen) => {
    const now = JSON.stringify(options);
    if (now !== shown) {
      shown = now;
      replace(
        box,
        options.map(([value, text]) => el("option", { value }, text)),
      );
    }
    box.value = String(chosen);
  };
  return { node, show };
}

export function numberField(label, key, { min, max, step }, value, set) {
  const input = el("input", { type: "number", id: key, min, max, step, "data-key": key });
  input.value = String(value);
  input.addEventListener("input", () => {
    const given = Number(input.value);
    if (input.value !== "" && Number.isFinite(given)) set(clamp(given, min, max));
  });
  return el("label", { class: "select" }, el("span", {}, label), input);
}

const listed = (text) => (text ? text.split("_") : []);

export const switchesOff = () => ({
  heads: listed(state.heads),
  layers: listed(state.layers),
  causal: Boolean(state.causal),
  positions: Boolean(state.positions),
});

export const nOff = () => {
  const { heads, layers, causal, positions } = switchesOff();
  return heads.length + layers.length + !causal + !positions;
};

// Switches for heads and layers of a model of this shape, the causal mask and the positions.
export function switchboard(onChange) {
  const body = el("div", { class: "switchboard" });
  const summary = el("summary", { "data-key": "switches" });
  const node = el("details", { id: "switches" }, summary, body);
  let shape = null;
  const set = (values) => {
    change(values, true);
    draw();
    onChange();
  };
  const flipped = (name, value) => {
    const all = new Set(listed(state[name]));
    if (!all.delete(value)) all.add(value);
    set({ [name]: [...all].sort().join("_") });
  };
  const flag = (name, label, explained) => {
    const box = el("input", { type: "checkbox", role: "switch", id: `switch-${name}`, "data-key": `switch-${name}` });
    box.checked = Boolean(state[name]);
    box.addEventListener("change", () => set({ [name]: Number(box.checked) }));
    return el("label", { class: "toggle", title: explained }, box, el("span", {}, label));
  };
  const one = (name, value, label, text, isReachable, isLayer) => {
    const isOn = !listed(state[name]).includes(value);
    const button = el(
      "button",
      {
        type: "button",
        role: "switch",
        "aria-checked": String(isOn),
        "aria-label": label,
        title: `${label}: ${isOn ? "on" : "off"}`,
        class: `switch${isLayer ? " whole" : ""}`,
        tabindex: isReachable ? 0 : -1,
        "data-key": `${name}-${value}`,
        "data-switch": value,
      },
      text,
    );
    button.addEventListener("click", () => flipped(name, value));
    return button;
  };
  const grid = (kind) => {
    const box = el("div", { class: "switches", role: "group", "aria-label": `${KIND_NAMES[kind]} switches` });
    const nLayers = kind === "encoder" ? shape.encoder : shape.decoder;
    const isStack = kind !== "cross"; // the layers of the decoder are switched at its self-attention
    box.style.setProperty("--heads", shape.h);
    for (let layer = 0; layer < nLayers; layer++) {
      const name = `${kind} layer ${layer + 1}`;
      box.append(
        isStack
          ? one("layers", `${kind}.${layer}`, `${name}, all of it`, `layer ${layer + 1}`, layer === 0, true)
          : el("span", { class: "layer" }, `layer ${layer + 1}`),
      );
      for (let head = 0; head < shape.h; head++)
        box.append(
          one(
            "heads",
            `${kind}.${layer}.${head}`,
            `${KIND_NAMES[kind]}, layer ${layer + 1}, head ${head + 1}`,
            head + 1,
            !isStack && layer === 0 && head === 0,
            false,
          ),
        );
    }
    onArrows(box, (down, right, event) => {
      const all = [...box.querySelectorAll("button")];
      const width = all.length / nLayers;
      const at = all.indexOf(event.target);
      const to = all[clamp(at + down * width + right, 0, all.length - 1)];
      if (at < 0 || !to) return false;
      to.focus();
    });
    return el(
      "div",
      {},
      el("h3", {}, KIND_NAMES[kind], el("small", {}, isStack ? " – layers and heads" : " – heads")),
      box,
    );
  };
  const draw = () => {
    const n = nOff();
    replace(summary, "Switches", el("span", { class: n ? "count" : "soft" }, n ? ` ${n} off` : " all on"));
    const focused = document.activeElement?.dataset?.key;
    replace(
      body,
      el(
        "div",
        { class: "controls" },
        flag("causal", "causal mask", "off: each position of the decoder also sees what comes after it (§3.2.3)"),
        flag("positions", "positions", "off: nothing is added to the embeddings, so word order is invisible (§3.5)"),
        el(
          "button",
          {
            type: "button",
            class: "small",
            disabled: n === 0,
            "data-key": "all-on",
            on: { click: () => set({ heads: "", layers: "", causal: 1, positions: 1 }) },
          },
          "all on",
        ),
      ),
      shape ? el("div", { class: "three" }, KINDS.map(grid)) : null,
      el(
        "p",
        { class: "status" },
        "A head that is off puts zeros into the concatenation (§3.2.2); a layer that is off hands on what it is given. ",
        "The model's own code runs without them: nothing is trained again.",
      ),
    );
    if (focused) body.querySelector(`[data-key="${CSS.escape(focused)}"]`)?.focus({ preventScroll: true });
  };
  return {
    node,
    show(newShape) {
      if (!shape && nOff()) node.open = true; // as the link says
      if (newShape) shape = newShape;
      draw();
    },
  };
}

// Beam search with its width and α, or drawing at random with a temperature.
export function searchControls(onChange) {
  const body = el("div", { class: "controls" });
  const summary = el("summary", { "data-key": "search" });
  const node = el("details", { id: "search" }, summary, body);
  let defaults = { beam: 4, alpha: 0.6 };
  const set = (values, again = false) => {
    change(values, true);
    title();
    if (again) draw();
    onChange();
  };
  const title = () => {
    const { beam, alpha } = chosen(defaults);
    replace(
      summary,
      "Search",
      el(
        "span",
        { class: "soft" },
        state.temp > 0 ? ` drawn at random, temperature ${state.temp}` : ` beam ${beam}, α ${alpha}`,
      ),
    );
  };
  const radio = (label, isChosen, choose) => {
    const input = el("input", { type: "radio", name: "search", "data-key": `search-${label}` });
    input.checked = isChosen;
    input.addEventListener("change", choose);
    return el("label", { class: "toggle" }, input, el("span", {}, label));
  };
  const draw = () => {
    title();
    const focused = document.activeElement?.dataset?.key;
    const isDrawn = state.temp > 0;
    const { beam, alpha } = chosen(defaults);
    replace(
      body,
      radio("beam search", !isDrawn, () => set({ temp: 0 }, true)),
      radio("draw at random", isDrawn, () => set({ temp: 1 }, true)),
      isDrawn
        ? [
            numberField("temperature", "temp", { min: 0.1, max: 5, step: 0.1 }, state.temp, (temp) => set({ temp })),
            numberField("seed", "seed", { min: 1, max: 9999, step: 1 }, state.seed, (seed) =>
              set({ seed: Math.round(seed) }),
            ),
          ]
        : [
            numberField("beam", "beam", { min: 1, max: 16, step: 1 }, beam, (value) => set({ beam: Math.round(value) })),
            numberField("α", "salpha", { min: 0, max: 5, step: 0.1 }, alpha, (salpha) => set({ salpha })),
          ],
    );
    if (focused) body.querySelector(`[data-key="${CSS.escape(focused)}"]`)?.focus({ preventScroll: true });
  };
  return {
    node,
    show(search) {
      if (search) defaults = search;
      draw();
    },
  };
}

export const chosen = (defaults) => ({
  beam: state.beam || defaults.beam,
  alpha: state.salpha < 0 ? defaults.alpha : state.salpha,
});
