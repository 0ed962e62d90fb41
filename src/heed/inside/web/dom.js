// Elements made without markup: every string becomes a text node, so no text can become anything else.

const SVG = "http://www.w3.org/2000/svg";

function fill(node, props, children) {
  for (const [name, value] of Object.entries(props)) {
    if (value === undefined || value === null || value === false) continue;
    if (name === "on") for (const [event, handler] of Object.entries(value)) node.addEventListener(event, handler);
    else if (name === "style") for (const [key, one] of Object.entries(value)) node.style.setProperty(key, one);
    else if (name === "value") node.value = value;
    else node.setAttribute(name, value === true ? "" : value);
  }
  append(node, children);
  return node;
}

function append(node, children) {
  for (const child of children) {
    if (child === undefined || child === null || child === false) continue;
    if (Array.isArray(child)) append(node, child);
    else node.append(child instanceof Node ? child : document.createTextNode(String(child)));
  }
}

export function el(tag, props = {}, ...children) {
  return fill(document.createElement(tag), props, children);
}

export function svg(tag, props = {}, ...children) {
  return fill(document.createElementNS(SVG, tag), props, children);
}

export function replace(node, ...children) {
  node.replaceChildren();
  append(node, children);
  return node;
}

// A word or piece of either language: its own direction, whatever stands around it.
export function word(text, props = {}) {
  const joined = text.includes("\u200d") ? " joined" : ""; // a family of emoji falls apart when it is set upright
  return el("bdi", { dir: "auto", title: text, ...props, class: `word${joined} ${props.class || ""}` }, text);
}

// Choices of which one holds, as radio buttons: Tab reaches the group, arrow keys move within it.
let groups = 0;
export function choice(label, options, chosen, choose) {
  const name = `group-${groups++}`;
  const box = el("fieldset", { class: "choice" }, el("legend", {}, label));
  for (const [value, text] of options) {
    const input = el("input", { type: "radio", name, value, on: { change: () => choose(value) } });
    input.checked = value === chosen;
    box.append(el("label", {}, input, el("span", {}, text)));
  }
  return box;
}

export function select(label, options, chosen, choose) {
  const box = el("select", { on: { change: () => choose(Number(box.value)) } });
  for (const [value, text] of options) box.append(el("option", { value }, text));
  box.value = String(chosen);
  return el("label", { class: "select" }, el("span", {}, label), box);
}

export function toggle(label, chosen, choose) {
  const box = el("input", { type: "checkbox", on: { change: () => choose(box.checked) } });
  box.checked = chosen;
  return el("label", { class: "toggle" }, box, el("span", {}, label));
}

// Handles arrow keys where they mean something, and keeps them from scrolling the page.
export function onArrows(node, move) {
  node.addEventListener("keydown", (event) => {
    const step = { ArrowLeft: [0, -1], ArrowRight: [0, 1], ArrowUp: [-1, 0], ArrowDown: [1, 0] }[event.key];
    if (!step || event.altKey || event.ctrlKey || event.metaKey) return;
    if (event.target.closest("input, select, textarea")) return;
    if (move(step[0], step[1], event) !== false) {
      event.preventDefault();
      event.stopPropagation();
    }
  });
}

export const clamp = (value, least, most) => Math.min(Math.max(value, least), most);
