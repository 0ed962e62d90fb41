// What the page shows, which is also what its link says: #view=attention&kind=cross&layer=2 ...

const DEFAULTS = {
  view: "attention",
  kind: "cross",
  layer: -1, // the last
  head: 0,
  mode: "lines",
  merged: 1,
  overlay: "",
  column: "row",
  word: -1,
  alpha: -1,
  node: -1,
  step: 0,
  pruned: 0,
  stage: "",
  wlayer: 0,
  whead: 0,
  i: 0,
  j: 0,
  off: "",
  olayer: -1,
};

export const state = { ...DEFAULTS };

// More that the link holds, before `follow`.
export function remember(more) {
  Object.assign(DEFAULTS, more);
  Object.assign(state, more);
}
let draw = () => {};
let ours = "";

function read() {
  const given = new URLSearchParams(location.hash.slice(1));
  for (const [name, value] of Object.entries(DEFAULTS)) {
    const text = given.get(name);
    const number = Number(text);
    state[name] = text === null ? value : typeof value === "number" ? (Number.isFinite(number) ? number : value) : text;
  }
}

function write() {
  const changed = Object.entries(state).filter(([name, value]) => value !== DEFAULTS[name]);
  ours = `#${new URLSearchParams(changed)}`;
  if (location.hash !== ours) history.replaceState(null, "", ours);
}

// Changes the state and draws again; `quietly`: whoever calls has drawn what changed.
export function change(values, quietly = false) {
  Object.assign(state, values);
  write();
  if (!quietly) draw();
}

export function follow(redraw) {
  draw = redraw;
  read();
  addEventListener("hashchange", () => {
    if (location.hash !== ours) {
      read();
      draw();
    }
  });
}
